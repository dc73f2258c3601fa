// A server or a file that is not as it should be: one clear message, nothing lost, a usable editor.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hang } from "../../hang.cjs";
import { plain } from "../code.mjs";
import { discard, draft, equal, folder, glyphs, head, here, listens, margin, ok, openThread, pressIn, typeReply } from "../parts.mjs";

/** That one notice is there, and no other. */
async function alone(window) {
    const all = await window.notices();
    ok(all.length === 1, `one message: ${JSON.stringify(all)}`);
}

/** No server, one that is too old, one that is something else, one that crashes: one message, and a usable editor. */
export async function faults(code, windows) {
    const fake = (name, lines) => {
        const file = join(code.dir, name);
        writeFileSync(file, `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
        return file;
    };
    const set = (path) => writeFileSync(code.machine, JSON.stringify({ "postil.path": path }));
    set("/nowhere/postil");
    const window = await code.open(folder);
    windows.push(window);
    await window.file("notes.rs");
    await window.notice("The setting postil.path names /nowhere/postil, which is not there.");
    await alone(window);
    ok((await window.status()).includes("postil"), "the status bar says it too");
    await window.goto(1);
    await window.page.keyboard.press("Control+Shift+Enter");
    await window.page.keyboard.type("// the editor goes on");
    await window.sees("// the editor goes on");
    await window.command("Notifications: Clear All Notifications");

    // It answers as one of before there was a protocol for plugins; on the PATH it stands before another.
    const started = join(code.dir, "started");
    const old = `[ "$1" = --version ] && exec echo postil 0.0.1\necho $$ >>${started}\nexec ${process.execPath} ${here("old.mjs")}`;
    set(fake("old", old));
    await window.notice(`${join(code.dir, "old")} is postil 0.0.1, which is too old for this extension: it has no protocol for plugins, and 1 is needed.`);
    await alone(window);
    ok((await window.text()).includes("the editor goes on"), "the text is untouched");
    await window.command("Notifications: Clear All Notifications");
    writeFileSync(join(code.first, "postil"), `#!/bin/sh\n${old}\n`, { mode: 0o755 });
    set("");
    await window.until("the next one on the PATH", async () => (await glyphs(window).count()) === 1);
    equal(await window.notices(), [], "what is passed over is not told");
    const olds = readFileSync(started, "utf8").trim().split("\n");
    equal(olds.length, 2, "each was asked");
    await window.until("they have ended", async () => olds.every((pid) => !existsSync(`/proc/${pid}`)));
    rmSync(join(code.first, "postil"));
    set(fake("other", "echo something else"));
    await window.notice("does not answer as postil does");
    await window.command("Notifications: Clear All Notifications");

    // It dies in the middle, again and again; then it is whole.
    const log = join(code.dir, "starts");
    writeFileSync(log, "");
    set(fake("crashing", `[ "$1" = --version ] && exec postil --version\necho start >>${log}\nif [ $(wc -l <${log}) -le 2 ]; then timeout -s KILL 2 postil "$@"; else exec postil "$@"; fi`));
    await window.until("it is started a third time", async () => readFileSync(log, "utf8").split("\n").length > 3);
    await window.until("the thread is shown after all", async () => (await glyphs(window).count()) === 1);
    equal(await window.notices(), [], "what mends itself is not told");

    // Dead as soon as it has begun: one message too, and none of what the window could not write to it.
    set(fake("dying", `[ "$1" = --version ] && exec postil --version\nexec ${process.execPath} ${here("old.mjs")} dying`));
    // It could not be started, or ended again and again: that hangs on when the window hears of its end.
    await window.notice("ts log says why");
    await alone(window);
    await window.command("Notifications: Clear All Notifications");

    // Killed at each start, it is given up with one message; its button brings it back.
    const pid = join(code.dir, "pid");
    set(fake("broken", `[ "$1" = --version ] && exec postil --version\necho $$ >${pid}\n[ -e ${join(code.dir, "mended")} ] || exit 3\nwhile [ -e ${join(code.dir, "late")} ]; do sleep 0.1; done\nexec postil "$@"`));
    await window.notice("could not be started");
    await alone(window);
    ok((await window.text()).includes("the editor goes on"), "the text is untouched");
    writeFileSync(join(code.dir, "mended"), "");
    await window.press("Try Again");
    await listens(window);

    // What was not sent stays in its box when the server is killed, and can be sent to the next one.
    await openThread(window, 0);
    await typeReply(window, "still here?");
    const first = readFileSync(pid, "utf8");
    // One that is there again at once is not told of.
    writeFileSync(join(code.dir, "late"), "");
    process.kill(Number(first), "SIGKILL");
    await window.until("it is said above the thread", async () => (await head(window)).startsWith("postil is not running"));
    ok((await draft(window)).includes("still here?"), "what was not sent, while no server runs");
    rmSync(join(code.dir, "late"));
    await window.until("another server", async () => readFileSync(pid, "utf8") !== first && !(await head(window)).startsWith("postil is not running"));
    ok((await draft(window)).includes("still here?"), "what was not sent, with the next server");
    equal(await margin(window), [["why?", "Because of lod."]], "its thread");
    await pressIn(window, "Reply");
    await window.sees("// AUTHOR: still here?");
}

/** Slow, stopped or wrongly set: told once, and the editor goes on. */
export async function slow(code, windows) {
    const [go, pid] = [join(code.dir, "go"), join(code.dir, "pid")];
    const program = join(code.dir, "slow");
    writeFileSync(program, `#!/bin/sh\n[ "$1" = --version ] && exec postil --version\necho $$ >${pid}\n[ -e ${go} ] && exec postil "$@"\nexec tail -f /dev/null\n`, { mode: 0o755 });
    writeFileSync(code.machine, JSON.stringify({ "postil.path": program }));
    const window = await code.open(folder);
    windows.push(window);
    await window.file("notes.rs");
    await window.notice("postil is slow to start");
    await alone(window);
    await window.goto(1);
    await window.page.keyboard.press("Control+Shift+Enter");
    await window.page.keyboard.type("// the editor goes on");
    await window.sees("// the editor goes on");
    writeFileSync(go, "");
    await window.press("Restart Server");
    await window.until("the thread is shown", async () => (await glyphs(window).count()) === 1);
    // A thread can be begun in a file that was there before the server.
    await window.goto(1);
    await window.command("Comments: Add Comment on Current Selection");
    await window.page.locator(".review-widget .comment-form").waitFor();
    await discard(window);
    await window.toEditor();

    const id = Number(readFileSync(pid, "utf8"));
    await hang(id);
    await window.goto(1);
    await window.command("postil: New Thread Here");
    await window.notice("postil does not answer");
    await window.toEditor();
    await window.page.keyboard.type("// and on ");
    await window.sees("// and on // the editor");
    process.kill(id, "SIGCONT");
    await window.sees("// AUTHOR: \n".trim());
    await window.command("Notifications: Clear All Notifications");

    // A value of the wrong type: one message, and what else was set holds.
    writeFileSync(code.machine, JSON.stringify({ "postil.path": program, "postil.turn.maxRounds": "many" }));
    await window.notice("turn.maxRounds");
    await alone(window);
    await window.command("Notifications: Clear All Notifications");
    writeFileSync(code.machine, JSON.stringify({ "postil.path": 7 }));
    await window.notice("The setting postil.path is to be a text in quotation marks; it is `7`.");
    await alone(window);
}

/** A file that is none on the disk, far too large, outside, renamed, deleted; a folder on no disk: told once, nothing lost. */
export async function files(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    const told = async (what) => {
        await window.command("postil: New Thread Here");
        await window.notice(what);
        // VS Code says of itself what it does not do for a large file.
        equal((await window.notices()).filter((text) => text.startsWith("postil")).length, 1, "one message");
        await window.command("Notifications: Clear All Notifications");
    };
    await listens(window);
    await told("open a file that is on the disk");

    // Not saved anywhere yet.
    await window.command("File: New Untitled Text File");
    await window.until("the keyboard in the text", () => window.writes());
    await window.page.keyboard.type("# AUTHOR: why?");
    await told("save this file first");
    await window.command("View: Revert and Close Editor");

    // More than VS Code hands out.
    const huge = join(folder, "huge.txt");
    writeFileSync(huge, "AUTHOR: why?\n".repeat(4_100_000));
    await window.pick("huge.txt", "huge.txt");
    const anyway = window.page.locator(".monaco-editor-pane-placeholder .monaco-button", { hasText: "Open Anyway" });
    const shown = window.page.locator(".editor-instance .view-line", { hasText: "why?" }).first();
    await window.until("the huge file", async () => {
        if (await anyway.isVisible()) await anyway.click(window.short).catch(() => {});
        return shown.isVisible();
    });
    await told("hands neither");
    await window.command("View: Close Editor");
    rmSync(huge);

    // Renamed: the thread goes along, and so does what it is answered with.
    await window.file("notes.rs");
    await openThread(window, 0);
    await window.command("File: Reveal Active File in Explorer View");
    const row = window.page.locator(".explorer-folders-view .monaco-list-row.selected", { hasText: "notes.rs" });
    await row.waitFor();
    const name = window.page.locator(".explorer-folders-view .monaco-inputbox input");
    await window.again("the name", () => row.click(window.short).then(() => window.page.keyboard.press("F2")), () => name.isVisible());
    await name.fill("moved.rs");
    await window.page.keyboard.press("Enter");
    await window.page.locator(".tab.active", { hasText: "moved.rs" }).waitFor();
    await window.until("its mark", async () => (await glyphs(window).count()) === 1);
    await openThread(window, 0);

    // Deleted by somebody else: what is open stays, with its thread and with what is written there.
    await typeReply(window, "still here?");
    rmSync(join(folder, "moved.rs"));
    await window.page.locator(".tab.active .monaco-icon-label.strikethrough").waitFor();
    equal(await margin(window), [["why?", "Because of lod."]], "its thread");
    ok((await draft(window)).includes("still here?"), "what was not sent");
    await pressIn(window, "Reply");
    await window.sees("// AUTHOR: still here?");
    await window.toEditor();
    await window.page.keyboard.press("Control+s");
    await window.until("saved again", async () => existsSync(join(folder, "moved.rs")) && readFileSync(join(folder, "moved.rs"), "utf8").includes("// AUTHOR: still here?"));
    await window.until("its thread goes on", async () => (await head(window)).startsWith("Awaiting agent"));

    // Outside of every folder: shown, and not written.
    const outside = join(mkdtempSync(join(code.dir, "out-")), "outside.rs");
    writeFileSync(outside, "// AUTHOR: out here?\nfn a() {}\n");
    await window.file(outside);
    await openThread(window, 0);
    ok((await head(window)).startsWith("Outside the workspace: open its folder"), "what to do stands above it");
    equal(await window.page.locator(".review-widget .comment-form").filter({ visible: true }).count(), 0, "reply boxes");
    const lens = window.page.locator(".codelens-decoration a");
    await window.until("one lens", async () => (await lens.count()) === 1);
    equal(await lens.innerText(), "Outside the workspace: open its folder", "the lens");
    await lens.click();
    await window.notice("is outside the workspace");
    await alone(window);
    await window.page.locator(".notification-toast .monaco-button", { hasText: "Open Folder…" }).click();
    const dialog = window.page.locator(".quick-input-widget .quick-input-box input");
    await window.until("where it lies", async () => (await dialog.isVisible()) && (await dialog.inputValue()).startsWith(dirname(outside)));
    await window.page.keyboard.press("Escape");
    await window.command("Notifications: Clear All Notifications");
    equal(readFileSync(outside, "utf8"), "// AUTHOR: out here?\nfn a() {}\n", "the file");
    await window.close();
    windows.length = 0;

    // A folder on no disk: nothing is started, and the status bar says why.
    const nowhere = join(code.dir, "nowhere.code-workspace");
    writeFileSync(nowhere, '{"folders": [{"uri": "tmp:/", "name": "nowhere"}]}');
    const other = await code.open(nowhere);
    windows.push(other);
    const item = other.page.locator('.statusbar-item[id="postil.postil.postil"]');
    await item.waitFor();
    const hover = other.page.locator(".workbench-hover");
    await other.again("why it does nothing", () => item.hover(other.short), async () => plain((await hover.allInnerTexts()).join()).includes("this folder is on none"));
    await other.command("postil: New Thread Here");
    await other.notice("open a file that is on the disk");
}
