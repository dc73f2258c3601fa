// What a person does in VS Code, case by case: node cases.mjs CASE FOLDER VSIX OUT. Run by tests/e2e/vscode.rs, which
// makes the folder.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as drafts from "./cases/drafts.mjs";
import * as faults from "./cases/faults.mjs";
import * as keys from "./cases/keys.mjs";
import * as margin from "./cases/margin.mjs";
import * as palette from "./cases/palette.mjs";
import * as places from "./cases/places.mjs";
import { scripts } from "./cases/scripts.mjs";
import * as speed from "./cases/speed.mjs";
import * as turns from "./cases/turns.mjs";
import { Code, attempt } from "./code.mjs";
import { scripted } from "./model.mjs";

const [, , name, , vsix, out] = process.argv;

const cases = { ...margin, ...turns, ...faults, ...places, ...palette, ...keys, ...drafts, ...speed };
const work = cases[name];
if (!work) {
    console.log(`there are: ${Object.keys(cases).join(", ")}`);
    process.exit(2);
}
const windows = [];
// Where a case puts what stands before everything else on the PATH.
const first = mkdtempSync(join(tmpdir(), "postil-first-"));
let code;
const model = scripts[name] && (await scripted(scripts[name]));
const good = await attempt(name, out, () => windows, async () => {
    const review = { "postil.turn.review": "ask" };
    const unasked = { "comments.thread.confirmOnCollapse": "never" };
    const settings = { review, overview: review, paused: { "postil.turn.maxRounds": 1 }, drafts: unasked, unsaved: { "files.autoSave": "off" } }[name] ?? {};
    // A machine on which it is not installed.
    const bare = (process.env.PATH ?? "").split(":").filter((dir) => !existsSync(join(dir, "postil")));
    const search = name === "start" ? bare : name === "faults" ? [first, process.env.PATH] : [process.env.PATH];
    // There the model is chosen.
    const chosen = name === "host" ? { POSTIL_MODEL: undefined } : {};
    const env = { PATH: search.join(":"), ...model?.env, ...chosen };
    code = await Code.start({ vsix: name === "web" ? undefined : vsix, settings, trust: name === "trust" || name === "late", env });
    code.first = first;
    await work(code, windows, model);
});
await code?.stop();
rmSync(first, { recursive: true, force: true });
model?.stop();
process.exit(good ? 0 : 1);
