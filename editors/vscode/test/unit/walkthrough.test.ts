import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface Step {
    id: string;
    description: string;
    completionEvents: string[];
}

test("a step of the walkthrough is done by each button that it has", () => {
    const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { contributes: { walkthroughs: { steps: Step[] }[] } };
    const steps = manifest.contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);
    // The first is done when the server runs.
    for (const { id, description, completionEvents } of steps.filter((step) => step.id !== "install")) {
        for (const [, command] of description.matchAll(/\(command:([\w.]+)\)/g)) {
            assert.ok(completionEvents.includes(`onCommand:${command}`), `${id}: ${command}`);
        }
    }
});
