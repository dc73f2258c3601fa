import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { explicit } from "../../src/settings.ts";

test("only what somebody set is sent, and apart what they set for themselves", () => {
    const set: Record<string, object> = {
        "turn.maxCost": { defaultValue: 5, globalValue: 2 },
        "turn.review": { defaultValue: "off" },
        model: { globalValue: "offline", workspaceValue: "anthropic/x" },
        "turn.consult": { globalValue: "", workspaceValue: null },
        "proxy.timeout": { globalValue: 7, workspaceValue: "" },
    };
    assert.deepEqual(
        explicit(["model", "turn.maxCost", "turn.review", "turn.consult", "proxy.mode", "proxy.timeout"], (key) => set[key]),
        { model: "anthropic/x", $user: { model: "offline", turn: { maxCost: 2 }, proxy: { timeout: 7 } } },
    );
});

interface Manifest {
    contributes: { commands: { command: string }[]; configuration: { properties: Record<string, { scope: string }> }[]; menus: Record<string, { command: string }[]>; walkthroughs: { steps: { description: string; completionEvents: string[]; media: { markdown: string } }[] }[] };
}
const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as Manifest;

test("no workspace names a program, an endpoint or a permission", () => {
    const all = Object.assign({}, ...manifest.contributes.configuration.map((one) => one.properties)) as Record<string, { scope: string }>;
    assert.equal(all["postil.path"]?.scope, "machine");
    const names = Object.keys(all).filter((key) => /^postil\.(providers|servers|permissions)/.test(key));
    assert.deepEqual(names, []);
});

test("every command in a menu is declared, and every one declared is there", () => {
    const declared = new Set(manifest.contributes.commands.map(({ command }) => command));
    for (const { command } of Object.values(manifest.contributes.menus).flat()) {
        assert.ok(declared.has(command), command);
    }
    const source = readFileSync(new URL("../../src/commands.ts", import.meta.url), "utf8");
    for (const { steps } of manifest.contributes.walkthroughs) {
        for (const { description, completionEvents, media } of steps) {
            const named = [...description.matchAll(/\(command:([\w.]+)\)/g), ...completionEvents.join(" ").matchAll(/onCommand:([\w.]+)/g)];
            for (const [, command] of named) {
                assert.ok(declared.has(command ?? ""), command);
            }
            assert.ok(existsSync(new URL(`../../${media.markdown}`, import.meta.url)), media.markdown);
        }
    }
    for (const command of declared) {
        assert.ok(source.includes(`"${command}"`), command);
    }
});
