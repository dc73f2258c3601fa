// Turns: what is seen while one runs, what it changed, what it asks.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plain } from "../code.mjs";
import { equal, folder, glyphs, head, inner, listens, margin, ok, openThread, pressIn, rowAction, rowTexts, rows, sendByKey, titleAction, typeReply } from "../parts.mjs";

/** A thread typed above the first function, open in the margin. */
async function askAbove(window) {
    await window.file("load.rs");
    await window.sees("fn load");
    await listens(window);
    await window.goto(1);
    await window.page.keyboard.press("Control+Shift+Enter");
    await window.page.keyboard.type("// AUTHOR: say what it gives where there is no file", { delay: 2 });
    await openThread(window, 0);
}

async function askAboveAndSave(window) {
    await askAbove(window);
    await window.toEditor();
    await window.page.keyboard.press("Control+s");
    await window.until("saved", async () => readFileSync(join(folder, "load.rs"), "utf8").includes("AUTHOR: say what"));
}

/** A turn that stops at a cap goes on from where the thread stands: its lens, its title, its row. */
export async function paused(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    await askAbove(window);
    await titleAction(window, "Reply as Agent", async () => (await window.text()).includes("Paused after 1 model round "));
    const lens = window.page.locator(".codelens-decoration a", { hasText: /^Continue$/ });
    await window.until("the lens", () => lens.isVisible());
    await window.until("the thread tells too", async () => (await head(window)).startsWith("Paused"));
    await window.command("View: Show postil");
    const row = window.page.locator(".pane-body .monaco-list-row", { hasText: "say what it gives" });
    await row.hover();
    await row.locator('.action-label[aria-label^="Continue the Turn"]').waitFor();
    await titleAction(window, "Continue the Turn", async () => (await window.text()).includes("AGENT: Looked at all of it."));
    await window.until("nothing is left of it", async () => (await lens.count()) === 0);
}

/** A run with a model: its conversation grows while it works, its changes are reviewed, one put back. */
export async function run(code, windows, model) {
    const window = await code.open(folder);
    windows.push(window);
    await askAbove(window);
    await titleAction(window, "Reply as Agent", async () => (await window.status()).includes("1 at work"));
    await window.until("the status bar tells of the turn and its cost", async () => /1 at work · (<)?\$\d/.test(await window.status()));
    await window.until("the thread tells too", async () => (await head(window)) === "Agent at work");
    await titleAction(window, "Open Conversation", () => window.page.locator(".tab", { hasText: "Conversation" }).first().isVisible());
    const frame = await inner(window, "#rounds");
    await window.until("the edit in the conversation", async () => /file_edit/.test(await frame.locator("#rounds").innerText()));
    ok(/\+.*Option<String>/.test(await frame.locator(".added").allInnerTexts().then((all) => all.join("\n"))), "an edit is shown as a diff");
    equal(await frame.locator("summary", { hasText: "file_edit" }).count(), 2, "the edits that were made are shown, and none that was only said");
    ok((await frame.locator("#rounds").innerText()).includes('file_edit {"path":"spoof.rs"'), "what was said stands as it was said");
    ok(await frame.locator("#cancel").isVisible(), "a running turn can be cancelled there");
    equal(await frame.locator("#doing").getAttribute("aria-live"), "off", "what it counts is not read out");
    const before = await frame.locator(".round").count();
    model.release();
    await window.until("it grows", async () => (await frame.locator(".round").count()) > before);
    await window.until("it has ended", async () => (await frame.locator("#facts").innerText()).startsWith("completed"));
    await window.sees("// AGENT: Gives nothing");
    await window.until("the answer in the margin", async () => (await margin(window))[0]?.at(-1) === "Gives nothing where there is no file.");

    // Without eyes: what comes is read out, each round has a heading; and its place leads to the thread.
    const log = frame.getByRole("log", { name: "Conversation" });
    equal(await log.getAttribute("aria-live"), "polite", "what comes is read out");
    equal(await log.getByRole("heading", { level: 2 }).count(), await frame.locator(".round").count(), "headings");
    await window.goto(4);
    await frame.getByRole("button", { name: "load.rs:1" }).first().click();
    await window.at(1);
    equal(await window.page.locator(".tab.active", { hasText: "Conversation" }).count(), 1, "the conversation is seen still");

    // Out of sight and back: it is read on where it was, and what was unfolded is.
    const folded = frame.locator("details:not([open]) summary");
    const unfolded = (await frame.locator("details[open]").count()) + 1;
    await folded.first().click();
    await window.page.setViewportSize({ width: 1300, height: 450 });
    const scrolled = () => {
        window.scrollTo(0, 90);
        return window.scrollY === 90;
    };
    await window.until("it is scrolled", () => frame.evaluate(scrolled));
    await window.page.waitForTimeout(200);
    await window.page.locator(".tab", { hasText: "Conversation" }).click();
    await window.file("main.rs");
    await window.until("it is out of sight", async () => (await Promise.all(window.page.frames().map((one) => one.locator("#rounds").count().catch(() => 0)))).every((many) => many === 0));
    await window.command("View: Close Editor");
    const back = await inner(window, "#rounds");
    await window.until("what was unfolded", async () => (await back.locator("details[open]").count()) === unfolded);
    await window.until("where it was read", () => back.evaluate(() => window.scrollY === 90));
    const hidden = await back.evaluate(() => {
        window.scrollTo(0, document.body.scrollHeight);
        const first = document.querySelector("summary");
        first.focus();
        return first.getBoundingClientRect().top < document.querySelector("header").getBoundingClientRect().bottom;
    });
    ok(!hidden, "what the keyboard comes to is seen");
    await window.page.setViewportSize({ width: 1300, height: 850 });

    // The native diff, file by file.
    const changed = window.page.locator('.pane:has(.pane-header[aria-label*="Review"]) .monaco-list-row');
    const row = (file) => changed.filter({ hasText: file });
    const tab = (text) => window.page.locator(".tab.active", { hasText: text });
    await titleAction(window, "Review Changes", async () => (await changed.count()) === 2);
    await window.again("its diff", () => row("main.rs").click(window.short), () => tab("main.rs (before the turn").isVisible());
    const left = await window.until("what was there before", async () => {
        const lines = await window.lines(".monaco-diff-editor .editor.original").catch(() => []);
        return lines.some((line) => line.includes('load("notes")')) && lines;
    });
    ok(!left.some((line) => line.includes("unwrap_or")), "the left side is as it was");
    await rowAction(window, row("main.rs"), "Reject File", async () => !readFileSync(join(folder, "main.rs"), "utf8").includes("unwrap_or"));
    await window.until("one file left", async () => (await changed.count()) === 1);
    // Its diff takes the place of the other, with the same buttons in its title.
    await tab("load.rs (before the turn").waitFor();
    const accept = window.page.locator('.editor-actions .action-label[aria-label^="Accept File"]');
    await accept.waitFor();
    // Git's own diff of the file has them not.
    await window.command("Git: Open Changes");
    await tab("load.rs (Working Tree)").waitFor();
    await window.page.locator('.editor-actions .action-label[aria-label^="Open File"]').waitFor();
    equal(await accept.count(), 0, "buttons of the review in Git's diff");
    await window.again("its own diff", () => row("load.rs").click(window.short), () => tab("load.rs (before the turn").isVisible());
    await window.again("the review is over", () => accept.click(window.short), async () => (await changed.count()) === 0);

    // Cancelled in the thread's title: nothing is answered, and it waits as before.
    await window.command("View: Close All Editors");
    const save = window.page.locator(".monaco-dialog-box .monaco-button", { hasText: /^Save/ });
    const shut = window.page.locator(".tab");
    await window.until("all are closed", async () => {
        if (await save.first().isVisible()) await save.first().click();
        return (await shut.count()) === 0;
    });
    await window.file("load.rs");
    await openThread(window, 0);
    await typeReply(window, "and where else?");
    await pressIn(window, "Reply as Agent");
    await window.until("it is at work", async () => (await head(window)).startsWith("Agent at work"));
    await titleAction(window, "Cancel", async () => (await head(window)).startsWith("Awaiting agent"));
    model.release();
    await window.sees("// AUTHOR: and where else?");
    ok(!(await window.text()).includes("Never said"), "nothing is answered");
}

/** A window that is loaded anew while a turn runs: its conversation is there again, and goes on with the turn. */
export async function reload(code, windows, model) {
    const window = await code.open(folder);
    windows.push(window);
    await askAboveAndSave(window);
    await titleAction(window, "Reply as Agent", async () => (await window.status()).includes("1 at work"));
    const tab = window.page.locator(".tab", { hasText: "Conversation: load.rs" });
    await titleAction(window, "Open Conversation", () => tab.first().isVisible());
    const shown = async () => (await inner(window, "#rounds")).locator("body").innerText();
    await window.until("what was read", async () => /file_read/.test(await shown()));
    await window.until("the model is asked again", () => model.requests.length === 2);

    // The view Threads: only what runs, also in the window that is loaded anew.
    await window.command("View: Show postil");
    const view = window.page.locator(".part.sidebar");
    await window.take(">postil: Filter Threads", "postil: Filter Threads");
    await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Running" }).click();
    const title = view.locator(".composite.title", { hasText: "Threads - Running" });
    await title.waitFor();
    await window.until("the one that runs", async () => (await rowTexts(window)).join().startsWith("load.rs1atwork"));

    const loaded = window.page.waitForEvent("load");
    await window.command("Developer: Reload Window");
    await loaded;
    await tab.first().waitFor();
    const again = await window.until("what was read, again", async () => {
        const text = await shown().catch(() => "");
        return /file_read/.test(text) && text;
    });
    ok(!again.includes("running"), `it does not run any more: ${again}`);
    await window.until("its thread is unfolded, as it was", async () => (await margin(window)).length === 1);
    ok(/say what it gives/.test(again), `what was asked: ${again}`);
    equal(await tab.count(), 1, "tabs of it");
    await view.locator(".welcome-view", { hasText: "No agent is at work." }).waitFor();
    await title.waitFor();
    await view.locator(".welcome-view .monaco-button", { hasText: "Show All Threads" }).click();
    await window.until("all", async () => (await rowTexts(window)).some((row) => row.includes("saywhatitgives")));
    await title.waitFor({ state: "hidden" });

    // The turn goes on, and so does its conversation.
    await window.command("View: Focus First Editor Group");
    await window.goto(1);
    await window.command("postil: Reply as Agent");
    await window.sees("// AGENT: Gives nothing");
    ok(JSON.stringify(model.requests.at(-1)).includes("tool_result"), "nothing is read twice");
    await window.until("the answer in the conversation", async () => /completed[^]*Gives nothing where there is no file/.test(await shown()));
    equal(await tab.count(), 1, "tabs of it");
    equal(await window.notices(), [], "nothing is wrong");
}

/** A turn from where the editor has its own: the code lens, the light bulb, Problems, the view Threads, the status bar, a notification. */
export async function turn(code, windows, model) {
    const window = await code.open(folder);
    windows.push(window);
    const lens = (text) => window.page.locator(".codelens-decoration a", { hasText: text }).first();
    const press = (text, seen) => window.again(`the lens ${text}`, () => lens(text).click(window.short), seen);
    const problems = async () => (await window.page.locator(".markers-panel .monaco-list-row").allInnerTexts()).map(plain);
    const view = (...wanted) =>
        window.until(`the view Threads has ${wanted.join(", ")}`, async () => {
            const all = await rowTexts(window);
            return wanted.every((row) => all.some((one) => one.startsWith(row.replaceAll(" ", ""))));
        });
    const head = (label) => window.page.locator(`.action-label[aria-label^="${label}"]`).first();

    // One that is answered is there; another one is typed.
    await listens(window);
    await window.file("load.rs");
    await window.goto(3);
    await window.page.keyboard.press("Control+Enter");
    await window.page.keyboard.type("// AUTHOR: how shall it load?", { delay: 2 });
    // Its lens comes though the keyboard leaves the text before the editor has come to it.
    await window.page.keyboard.press("F1");
    await lens("Reply as agent").waitFor();
    await window.page.keyboard.press("Escape");
    await window.until("the status bar counts it", async () => (await window.status()).trim() === "2");

    // Problems: it awaits the agent, the other one nobody; a click leads there.
    await window.goto(1);
    await window.command("Problems: Focus on Problems View");
    const listed = await window.until("it is among the problems", async () => {
        const all = await problems();
        return all.some((row) => row.includes("awaiting agent: how shall it load?")) && all;
    });
    ok(!listed.some((row) => row.includes("notes.rs")), `one that is answered is no problem: ${listed}`);
    await window.again("its line", () => window.page.locator(".markers-panel .monaco-list-row", { hasText: "awaiting agent" }).click(window.short), () => window.isAt(4));

    // The status bar leads to the view; there by what they wait for.
    await window.command("View: Show Explorer");
    await window.page.locator('.statusbar-item[id="postil.postil.postil"] a').click();
    await view("load.rs 1 awaiting agent", "notes.rs 1 answered");
    await window.again("by state", () => head("Group by State").click(window.short), () => head("Group by File").isVisible());
    await view("Awaiting agent 1", "how shall it load? load.rs:4", "Answered 1", "why? notes.rs:5");

    // Begun by its lens, and cancelled by the one that comes in its place.
    await press("Reply as agent", async () => /1 at work/.test(await window.status()));
    await view("Agent at work 1", "Answered 1");
    await press("· Cancel", async () => (await window.status()).trim() === "2");
    model.release();
    await view("Awaiting agent 1", "Answered 1");

    // Begun by the light bulb: it asks, and the answers are buttons.
    await window.toEditor();
    await window.goto(4);
    const menu = window.page.locator(".action-widget .monaco-list-row");
    await window.again("the menu of the light bulb", () => window.page.keyboard.press("Control+."), () => menu.first().isVisible());
    const offered = (await menu.allInnerTexts()).map((text) => plain(text).trim());
    for (const action of ["Reply as agent", "Plan only (read-only)", "Reply (author)", "Resolve (remove thread)"]) {
        ok(offered.includes(action), `${action} in ${JSON.stringify(offered)}`);
    }
    // In older versions something lies over the list that takes the mouse; its first row is chosen.
    await menu.filter({ hasText: "Reply as agent" }).click(window.short).catch(() => window.page.keyboard.press("Enter"));
    await window.notice("postil: Which [runtime]");
    equal(await window.page.locator(".notification-list-item-message a").count(), 0, "links in what the agent says");
    await window.sees("// AGENT: Which [runtime]");
    await window.press("(a) tokio");
    await window.sees("// AUTHOR: (a) tokio");
    await window.until("the turn and what it cost", async () => /^\s*1 at work · (<)?\$\d/.test(await window.status()));
    model.release();

    // So they are in the margin, where they are not answered twice.
    await window.sees("// AGENT: How many threads?");
    await openThread(window, 0);
    const answers = window.page.locator(".review-widget .comment-body a");
    await window.until("the answers below the question", async () => (await answers.count()) === 2);
    await window.until("the thread says so", async () => plain(await window.page.locator(".review-widget .head").first().innerText()).startsWith("Asks you"));
    await view("Asks you 1");
    await answers.getByText("(b) many").click();
    await window.sees("// AUTHOR: (b) many");
    await window.sees("// AGENT: tokio it is, with many threads.");
    await window.until("they are gone", async () => (await answers.count()) === 0);
    await window.press("(a) one");
    await window.notice("postil: this question was answered already");
    await window.command("Notifications: Clear All Notifications");
    await view("Answered 2");
    await window.until("no problem is left", async () => !(await problems()).some((row) => row.includes("postil")));
    await window.until("the status bar has the cost", async () => /^\s*2 · (<)?\$\d/.test(await window.status()));

    // By file; a click opens the thread's.
    await window.again("by file", () => head("Group by File").click(window.short), () => head("Group by State").isVisible());
    await view("load.rs 1 answered", "how shall it load? line 4", "notes.rs 1 answered", "why? line 5");
    await rows(window).filter({ hasText: "why?" }).click();
    await window.page.locator(".tab.active", { hasText: "notes.rs" }).waitFor();
    await window.at(5);

    // The lenses of one that is answered: on with it, and away.
    await press("answered · Reply", () => window.isAt(7));
    await window.until("the keyboard in the text", () => window.writes());
    await window.page.keyboard.press("End");
    await window.page.keyboard.type(" since when?", { delay: 2 });
    await window.sees("// AUTHOR: since when?");
    await view("notes.rs 1 awaiting agent");
    await press("Resolve", async () => !(await window.text()).includes("AUTHOR"));
    await window.until("it is gone", async () => !(await rowTexts(window)).some((row) => row.startsWith("notes.rs")));
}

/** `turn.review = "ask"`: what the agent wants to change is looked at before it is made, by file and whole. */
export async function review(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    const onDisk = (file) => readFileSync(join(folder, file), "utf8");
    const was = onDisk("main.rs");
    await askAbove(window);
    await titleAction(window, "Reply as Agent", async () => (await head(window)).startsWith("Agent at work"));
    await window.notice("the agent wants to change 2 files, and waits for you");
    ok(!(await window.text()).includes("Option<String>"), "nothing is made yet in the open file");
    equal(onDisk("main.rs"), was, "nor in the other");
    await window.until("the thread tells that it waits", async () => (await head(window)).startsWith("Waits for you: 2 files to be reviewed"));
    // The notification goes; the lens has the same before the end.
    const lens = (text) => window.page.locator(".codelens-decoration a", { hasText: text }).first();
    await lens(/^Cancel$/).waitFor();
    const changed = window.page.locator('.pane:has(.pane-header[aria-label*="Review"]) .monaco-list-row');
    const row = (file) => changed.filter({ hasText: file });
    await window.again("the changes", () => lens("2 files to be reviewed · Review Changes").click(window.short), async () => (await changed.count()) === 2);
    await window.until("two files to review", async () => (await changed.count()) === 2);
    ok((await changed.allInnerTexts()).every((row) => row.includes("+1 −1")), "with their counts");

    // One is accepted in its diff: it is made at once, and the next one is shown.
    const side = (which) => window.lines(`.monaco-diff-editor .editor.${which}`).catch(() => []);
    const tab = (text) => window.page.locator(".tab.active", { hasText: text });
    await window.again("its diff", () => row("main.rs").click(window.short), () => tab("main.rs (proposed)").isVisible());
    await window.until("the change", async () => (await side("modified")).some((line) => line.includes("unwrap_or_default()")));
    ok((await side("original")).some((line) => line.includes('load("notes")')), "what it is now stands on the left");
    const accept = window.page.locator('.editor-actions .action-label[aria-label^="Accept File"]');
    await window.again("it is made", () => accept.click(window.short), async () => onDisk("main.rs").includes("unwrap_or_default()"));
    await tab("load.rs (proposed)").waitFor();
    await window.until("the next one is shown", async () => (await side("modified")).some((line) => line.includes("Option<String>")));
    await window.until("one file left", async () => (await changed.count()) === 1);

    // The other is rejected in the view: the agent is told, and its answer is true to it.
    await rowAction(window, row("load.rs"), "Reject File", async () => (await changed.count()) === 0);
    await window.page.locator(".tab", { hasText: "propose" }).waitFor({ state: "detached" });
    await window.sees("// AGENT: Changed in main.rs alone.");
    ok(!(await window.text()).includes("Option<String>"), "what was rejected is not made");

    // The next turn's changes are taken as a whole.
    await openThread(window, 0);
    await typeReply(window, "in load.rs too");
    await sendByKey(window, "Reply as Agent");
    await window.notice("the agent wants to change load.rs (+1 −1)");
    // The conversation leads to them too.
    await titleAction(window, "Open Conversation", () => window.page.locator(".tab", { hasText: "Conversation" }).first().isVisible());
    const frame = await inner(window, "#rounds");
    const review = frame.locator("#review");
    await review.waitFor();
    ok(await frame.locator("#cancel").isVisible(), "beside the end");
    await window.again("its diff", () => review.click(window.short), () => window.page.locator(".tab", { hasText: "load.rs (proposed)" }).first().isVisible());
    await window.press("Accept");
    await window.page.locator(".tab", { hasText: "load.rs" }).first().click();
    await window.sees("-> Option<String> {");
    await window.sees("// AGENT: Now there too.");
}

/** A file that is deleted in the explorer while its turn runs: what is told of the end leads to what was said. */
export async function gone(code, windows, model) {
    const window = await code.open(folder);
    windows.push(window);
    await askAboveAndSave(window);
    await titleAction(window, "Reply as Agent", async () => (await window.status()).includes("1 at work"));
    await window.until("the model is asked", () => model.requests.length === 1);
    await window.command("File: Reveal Active File in Explorer View");
    const row = window.page.locator(".explorer-folders-view .monaco-list-row.selected", { hasText: "load.rs" });
    const confirm = window.page.locator(".monaco-dialog-box .monaco-button", { hasText: /^(Delete|Move to Trash)/ });
    await row.waitFor();
    await window.until("it is deleted", async () => {
        if (await confirm.first().isVisible()) await confirm.first().click(window.short).catch(() => {});
        else if (existsSync(join(folder, "load.rs"))) await row.click(window.short).then(() => window.page.keyboard.press("Shift+Delete"), () => {});
        return !existsSync(join(folder, "load.rs"));
    });
    model.release();
    await window.notice("postil: the turn in load.rs failed");
    await window.press("Show");
    await window.page.locator(".tab", { hasText: "Conversation: load.rs" }).first().waitFor();
    const frame = await inner(window, "#rounds");
    await window.until("what was said", async () => (await frame.locator("#rounds").innerText()).includes("It gives text."));
}

/** A window that is loaded anew in the middle of a review: nothing is left that would say that nothing was changed. */
export async function overview(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    await askAboveAndSave(window);
    await titleAction(window, "Reply as Agent", async () => (await head(window)).startsWith("Agent at work"));
    await window.notice("the agent wants to change 2 files, and waits for you");
    await window.press("Show Changes");
    const tab = window.page.locator(".tab", { hasText: "Changes That the Agent Proposes (2 files)" });
    await tab.waitFor();
    // The one that the cursor is in.
    const diff = window.page.locator(".multiDiffEntry", { hasText: "load.rs" }).locator(".editor.modified .view-line").first();
    await diff.click();
    await window.command("postil: Accept File");
    await window.until("one is left", async () => /1 left/.test(await window.page.locator(".pane-header", { hasText: "Review" }).innerText()));
    const loaded = window.page.waitForEvent("load");
    await window.command("Developer: Reload Window");
    await loaded;
    await window.page.locator(".tab", { hasText: "load.rs" }).first().waitFor();
    await listens(window);
    await window.page.locator(".tab", { hasText: "Changes That" }).waitFor({ state: "detached" });
}

/** What the editor asks of who opens a folder, answered. */
async function allow(window) {
    await window.command("Workspaces: Manage Workspace Trust");
    await window.page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ }).first().click();
    await window.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor({ state: "hidden" });
    const modal = window.page.locator(".monaco-modal-editor-block");
    if (await modal.isVisible()) await modal.locator('.action-label[class*="codicon-close"]').last().click();
    await modal.waitFor({ state: "hidden" });
}

/** A folder that is not trusted: shown, answered by hand, never written by an agent; trusted: at once it is. */
export async function trust(code, windows, model) {
    const window = await code.open(folder);
    windows.push(window);
    await window.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
    // Some versions of VS Code ask first.
    const dialog = window.page.locator(".monaco-dialog-box .monaco-button", { hasText: "No, I don't trust the authors" });
    if (await dialog.isVisible()) await dialog.click();
    await window.file("load.rs");
    await window.sees("fn load");
    await openThread(window, 0);
    await typeReply(window, "by hand");
    await pressIn(window, "Reply");
    await window.sees("// AUTHOR: by hand");
    await titleAction(window, "Reply as Agent", async () => (await window.text()).includes("// AGENT: Only looked."));
    const tools = (request) => (request.tools ?? []).map((tool) => tool.name);
    ok(!tools(model.requests.at(-1)).includes("file_edit"), `no tool that writes: ${tools(model.requests.at(-1))}`);
    equal(await window.notices(), [], "nothing is asked: the editor's answer counts");

    await allow(window);
    await window.page.locator(".tab", { hasText: "load.rs" }).click();
    await window.until("the thread is there again", async () => (await glyphs(window).count()) === 1);
    await openThread(window, 0);
    await typeReply(window, "and now?");
    const asked = model.requests.length;
    await pressIn(window, "Reply as Agent");
    await window.until("it asks about what came with the file", async () => (await window.notices()).some((text) => text.includes("not typed here")) || model.requests.length > asked);
    if ((await window.notices()).some((text) => text.includes("not typed here"))) await window.press("Allow edits");
    await window.sees("// AGENT: Could write.");
    ok(tools(model.requests.at(-1)).includes("file_edit"), "trusted, it may write");
}

/** Trust that is given while the server starts, which was told that there is none. */
export async function late(code, windows) {
    const [go, asked] = [join(code.dir, "go"), join(code.dir, "asked")];
    const program = join(code.dir, "late");
    // What the window told it when it began is on its way; it reads that when it may.
    writeFileSync(program, `#!/bin/sh\n[ "$1" = --version ] && exec postil --version\ntouch ${asked}\nuntil [ -e ${go} ]; do sleep 0.1; done\nexec postil "$@"\n`, { mode: 0o755 });
    writeFileSync(code.machine, JSON.stringify({ "postil.path": program }));
    const window = await code.open(folder);
    windows.push(window);
    await window.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
    await window.until("a server is being started", () => existsSync(asked));
    await allow(window);
    writeFileSync(go, "");
    await window.file("a.py", 1);
    await window.until("the thread", async () => (await glyphs(window).count()) === 1);
    await window.command("postil: Reply as Agent");
    await window.notice("This question was not typed here");
    await window.press("Allow edits");
    await window.sees("def load_rows");
}
