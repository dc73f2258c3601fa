import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

interface Step {
    id: string;
    description: string;
    completionEvents: string[];
}

const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { contributes: { walkthroughs: { steps: Step[] }[] } };
const steps = manifest.contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);

test("a step of the walkthrough is done by each button that it has", () => {
    // The first is done when the server runs.
    for (const { id, description, completionEvents } of steps.filter((step) => step.id !== "install")) {
        for (const [, command] of description.matchAll(/\(command:([\w.]+)\)/g)) {
            assert.ok(completionEvents.includes(`onCommand:${command}`), `${id}: ${command}`);
        }
    }
});

test("and by the lens or the light bulb's action that does the same", () => {
    const same = { newThread: "newThread", replyAsAgent: "replyAsAgent", replyAll: "replyAll", undoTurn: "undoTurn", resolve: "dismissThread", clearAndCommit: "clearAndCommit" };
    for (const [command, verb] of Object.entries(same)) {
        const step = steps.find(({ completionEvents }) => completionEvents.includes(`onCommand:postil.${command}`));
        assert.ok(step?.completionEvents.includes(`onContext:postil.server.${verb}`), verb);
    }
});

/** Characters for which the column beside the steps has room; what is longer is cut off. */
const ROOM = 54;

test("no line of code beside a step is cut off", () => {
    const media = new URL("../../media/walkthrough/", import.meta.url);
    for (const name of readdirSync(media)) {
        const [, ...blocks] = readFileSync(new URL(name, media), "utf8").split("```");
        const code = blocks.filter((_, at) => at % 2 === 0).flatMap((block) => block.split("\n"));
        for (const line of code) {
            assert.ok(line.length <= ROOM, `${name}: ${line}`);
        }
    }
});
