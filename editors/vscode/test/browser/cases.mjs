// What a person does in VS Code, case by case: node cases.mjs CASE FOLDER VSIX OUT. Run by tests/e2e/vscode.rs, which
// makes the folder.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Code, DEADLINE, attempt, plain } from "./code.mjs";
import { scripted } from "./model.mjs";

const [, , name, folder, vsix, out] = process.argv;

const here = (path) => fileURLToPath(new URL(path, import.meta.url)).replace(/\/$/, "");

function equal(left, right, what) {
    if (JSON.stringify(left) !== JSON.stringify(right)) {
        throw new Error(`${what}: ${JSON.stringify(left)} is not ${JSON.stringify(right)}`);
    }
}

function ok(value, what) {
    if (!value) throw new Error(`not so: ${what}`);
}

/** The marks in the margin, as the lines at which they stand. */
const glyphs = (window) => window.page.locator(".comment-range-glyph.comment-thread-unresolved, .comment-range-glyph.comment-thread");

/** Opens the comment thread that stands at the n-th mark from above, unless it is open. */
async function openThread(window, at) {
    // A click on a mark folds a thread that is open; so it is looked at which ones are: each stands below its mark.
    const look = () =>
        window.page.evaluate((at) => {
            const box = (element) => element.getBoundingClientRect();
            const marks = [...document.querySelectorAll(".comment-range-glyph.comment-thread-unresolved, .comment-range-glyph.comment-thread")].map(box).sort((a, b) => a.top - b.top);
            const mark = marks[at];
            if (!mark) return undefined;
            const boxes = [...document.querySelectorAll(".review-widget")].filter((widget) => box(widget).height > 0);
            const fresh = boxes.some((widget) => widget.textContent.includes("Start discussion"));
            const open = boxes.map(box).some((widget) => Math.abs(widget.top - mark.bottom) < mark.height);
            return { x: mark.left + mark.width / 2, y: mark.top + mark.height / 2, fresh, open };
        }, at);
    let still = 0;
    let last = {};
    let pressed = 0;
    await window.until(`the ${at + 1}. thread opens`, async () => {
        const now = await look();
        if (now?.fresh) {
            // The mark moved away under the click, and a thread was begun on the line that came there.
            await discard(window);
            pressed = 0;
            return false;
        }
        if (now?.open) return true;
        // A code lens that comes moves the lines: a press and a release at two lines are no click.
        still = now && now.x === last.x && now.y === last.y ? still + 1 : 0;
        last = now ?? {};
        if (still >= 10 && Date.now() - pressed > 10_000) {
            await window.page.mouse.click(now.x, now.y);
            pressed = Date.now();
            still = 0;
        }
        return false;
    });
}

/** Away with a thread that was begun and has no words: by the bin that the editor puts into its title. */
const discard = (window) => window.page.locator(".review-widget:has(.comment-form)", { hasText: "Start discussion" }).first().locator(".review-actions .action-label").last().click();

/** What the margin shows: a list of texts for each open thread. */
const margin = async (window) =>
    (await window.page.locator(".review-widget").evaluateAll((all) =>
        all.map((widget) => [...widget.querySelectorAll(".comment-body")].map((body) => (body.innerText ?? "").trim())),
    ));

const box = (window, widget = 0) => window.page.locator(".review-widget").nth(widget).locator(".comment-form .monaco-editor");

async function typeReply(window, text, widget = 0) {
    const form = window.page.locator(".review-widget").nth(widget).locator(".comment-form");
    await form.waitFor();
    const button = window.page.locator(".review-widget").nth(widget).locator(".review-thread-reply-button");
    if (await button.isVisible().catch(() => false)) {
        await button.click();
    }
    await box(window, widget).click();
    await window.page.keyboard.type(text, { delay: 5 });
}

const pressIn = (window, title, widget = 0) =>
    window.page.locator(".review-widget").nth(widget).locator(".form-actions .monaco-button").getByText(title, { exact: true }).click();

const titleAction = async (window, label, widget = 0) => {
    const action = window.page.locator(".review-widget").nth(widget).locator(`.review-actions .action-label[aria-label^="${label}"]`);
    await action.click();
};

/** The page inside a webview that has `selector`. */
const inner = (window, selector) =>
    window.until(`a page with ${selector}`, async () => {
        for (const frame of window.page.frames()) {
            if ((await frame.locator(selector).count().catch(() => 0)) > 0) return frame;
        }
        return undefined;
    });

/** What stands in a file when the server opens it has come with the file, and has to be allowed. */
const listens = (window) => window.until("the server listens", async () => /\d/.test(await window.status()));

const toEditor = (window) => window.command("View: Focus Active Editor Group").catch(() => window.page.keyboard.press("Control+1"));

/** Runs a file of ../host inside the editor's extension host: how it ended, and its lines that begin with `T`. */
async function inHost(code, windows, file) {
    let ended;
    const exit = new Promise((resolve) => (ended = resolve));
    const said = [];
    const window = await code.open(folder, {
        host: { authority: new URL(code.url).host, extension: here("../.."), test: here(`../host/${file}`) },
        exit: (status) => ended(status),
        log: (line) => said.push(line),
    });
    windows.push(window);
    const late = new Promise((resolve) => setTimeout(() => resolve("late"), DEADLINE).unref());
    const status = await Promise.race([exit, late]);
    return { status, told: [...said, ...window.console.split("\n")].filter((line) => /T (ok|failed|activation): /.test(line)) };
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

const cases = {
    /** The main job: ask in the margin, have it answered, edit both, resolve, undo. */
    async main(code, windows) {
        const window = await code.open(folder);
        windows.push(window);
        await window.file("notes.rs");
        await window.sees("// AUTHOR: why?");
        // A thread that was there: at its line, folded, with what was said.
        await window.until("a mark in the margin", async () => (await glyphs(window).count()) === 1);
        equal(await margin(window), [], "folded at first");
        await window.until("the status bar counts it", async () => (await window.status()).trim() === "1");
        await openThread(window, 0);
        equal(await margin(window), [["why?", "Because of lod."]], "what was said");

        // The reply goes into the file; the answer comes to both.
        await typeReply(window, "list todos");
        await pressIn(window, "Reply as Agent");
        await window.sees("// AUTHOR: list todos");
        // A question is a notification with buttons: half of this thread came with the file.
        await window.notice("This question was not typed here");
        await window.press("Allow edits");
        await window.sees("// AGENT: Found 1 to-do");
        await window.until("the answer in the margin", async () => (await margin(window))[0]?.some((text) => text.includes("Found 1 to-do")));
        equal((await margin(window)).length, 1, "one thread, still open");
        equal((await margin(window))[0][2], "list todos", "the reply in the margin");

        // What is typed in the text is in the margin at once, and an unsent reply is not lost by it.
        await typeReply(window, "half a rep");
        await toEditor(window);
        await window.goto(1);
        await window.page.keyboard.press("End");
        await window.page.keyboard.press("Enter");
        await window.page.keyboard.type("// AUTHOR: where used lod", { delay: 15 });
        await window.until("a second mark", async () => (await glyphs(window).count()) === 2);
        await openThread(window, 0);
        const both = await window.until("both threads", async () => {
            const now = await margin(window);
            return now.length === 2 && now.some((texts) => texts.includes("where used lod")) && now;
        });
        const typed = both.findIndex((texts) => texts.includes("where used lod"));
        ok(typed >= 0, `the thread that was typed: ${JSON.stringify(both)}`);
        const draft = plain((await box(window, 1 - typed).locator(".view-lines").innerText()));
        ok(draft.includes("half a rep"), `the unsent reply stays: ${draft}`);
        await toEditor(window);
        await window.page.keyboard.press("End");
        await window.page.keyboard.type(" now");
        await window.until("the margin follows the text", async () => (await margin(window)).some((texts) => texts.includes("where used lod now")));
        // While its first words are typed a thread gets ever new ids; it stays one object.
        equal((await margin(window)).length, 2, "open threads");

        // Resolved: gone in both. Undone: back in both.
        await titleAction(window, "Resolve", typed);
        await window.misses("where used lod");
        await window.until("its mark is gone", async () => (await glyphs(window).count()) === 1);
        await toEditor(window);
        await window.page.keyboard.press("Control+z");
        await window.sees("// AUTHOR: where used lod now");
        await window.until("its mark is back", async () => (await glyphs(window).count()) === 2);
        await window.command("postil: Resolve (Remove Thread)");
        await window.misses("where used lod");

        // From the + beside a line; begun and given up, nothing is left of it.
        const line = window.page.locator(".editor-instance .view-line", { hasText: "fn load" }).first();
        const place = await line.boundingBox();
        const gutter = await window.page.locator(".editor-instance .margin").first().boundingBox();
        await window.page.mouse.move(place.x + 10, place.y + place.height / 2);
        const plus = window.page.locator(".comment-range-glyph.comment-diff-added, .comment-range-glyph.line-hover, .comment-range-glyph.multiline-add").first();
        const begin = async () => {
            await window.until("the +", async () => {
                await window.page.mouse.move(gutter.x + gutter.width - 20 + Math.random() * 4, place.y + place.height / 2);
                return (await plus.count()) > 0;
            });
            await window.page.mouse.click(gutter.x + gutter.width - 20, place.y + place.height / 2);
            return window.until("an empty thread", async () => {
                const now = await margin(window);
                const at = now.findIndex((texts) => texts.length === 0);
                return at >= 0 && [at];
            });
        };
        await begin();
        await discard(window);
        await window.until("it is gone", async () => (await margin(window)).every((texts) => texts.length > 0));
        const fresh = await begin();
        await typeReply(window, "what is load", fresh[0]);
        await pressIn(window, "Add Thread", fresh[0]);
        await window.sees("// AUTHOR: what is load");
        await window.until("the new thread has its words", async () => (await margin(window)).some((texts) => texts.includes("what is load")));
        equal((await margin(window)).filter((texts) => texts.length === 0), [], "it is the same thread");

        // By file in the view.
        await window.command("View: Show postil");
        const rows = await window.until("the view Threads", async () => {
            const all = (await window.page.locator(".pane-body .monaco-list-row").allInnerTexts()).map(plain);
            return all.some((row) => row.includes("notes.rs")) && all.length >= 3 && all;
        });
        ok(rows[0].includes("1 awaiting agent · 1 answered"), `counts: ${JSON.stringify(rows)}`);

        // Why a line is so: the conversation that was resolved above it; of another line nothing is told.
        await toEditor(window);
        await window.goto(4);
        await window.command("postil: Why Is This So?");
        const page = await inner(window, "body.vscode-body .code-line");
        await window.until("what was said", async () => (await page.locator("body").innerText()).includes("AUTHOR: where used lod now"));
        await window.page.locator(".tab", { hasText: "notes.rs" }).first().click();
        await toEditor(window);
        await window.goto(13);
        await window.command("postil: Why Is This So?");
        await window.notice("no closed conversation is tied to line 13 of notes.rs; it was last changed by");
        await window.command("Notifications: Clear All Notifications");

        // The last turn is taken back, and nothing that was written since.
        await toEditor(window);
        await window.goto(9);
        await window.command("postil: Undo Last Turn");
        await window.misses("Found 1 to-do");
        await window.sees("// AUTHOR: what is load");
        await window.sees("// AUTHOR: list todos");
    },

    /** One's own words, edited and taken back in the margin; nobody else's; and nothing of them is lost. */
    async edit(code, windows) {
        const window = await code.open(folder);
        windows.push(window);
        await window.file("notes.rs");
        await openThread(window, 0);
        await window.until("what was said", async () => (await margin(window))[0]?.length === 2);
        const comment = (at) => window.page.locator(".review-widget .review-comment").nth(at);
        const action = (at, label) => comment(at).locator(`.comment-actions .action-label[aria-label^="${label}"]`);
        const draft = comment(0).locator(".edit-container .monaco-editor");
        const words = async () => plain(await draft.locator(".view-lines").innerText());
        const begin = async () => {
            await comment(0).hover();
            await action(0, "Edit").click();
            await draft.waitFor();
            await draft.click();
            await window.page.keyboard.press("Control+End");
        };
        const press = (label) => comment(0).locator(".edit-container .monaco-button").getByText(label, { exact: true }).click();

        // The agent's words are the agent's.
        await comment(0).hover();
        await action(0, "Edit").waitFor();
        await comment(1).hover();
        equal(await action(1, "Edit").count(), 0, "buttons to edit what the agent said");
        equal(await action(0, "Delete").count(), 0, "buttons to take back what was answered");

        // Edited, by keyboard; several lines; the file has the same.
        await begin();
        await window.page.keyboard.type(" And since when?", { delay: 5 });
        await window.page.keyboard.press("Control+Enter");
        await window.sees("// AUTHOR: why? And since when?");
        await window.until("in the margin too", async () => (await margin(window))[0]?.[0] === "why? And since when?");
        await draft.waitFor({ state: "detached" });
        equal((await margin(window))[0].length, 2, "what was said");

        // Given up: as it was.
        await begin();
        await window.page.keyboard.type(" No.", { delay: 5 });
        await press("Cancel");
        await draft.waitFor({ state: "detached" });
        equal((await margin(window))[0][0], "why? And since when?", "given up");

        // The file changed meanwhile: refused, and the words are still there; saved again, they hold.
        await begin();
        await window.page.keyboard.type(" At last?", { delay: 5 });
        await toEditor(window);
        await window.goto(5);
        await window.page.keyboard.press("End");
        await window.page.keyboard.type(" Or not", { delay: 15 });
        await window.sees("// AUTHOR: why? And since when? Or not");
        await press("Save");
        await window.notice("these words were changed or taken away in the file meanwhile; nothing was written");
        await draft.waitFor();
        equal((await words()).trim(), "why? And since when? At last?", "the words in the box");
        ok((await window.text()).includes("// AUTHOR: why? And since when? Or not"), "the file is as it was");
        await window.until("saved", async () => {
            if (await draft.isVisible()) await press("Save").catch(() => {});
            return (await window.text()).includes("// AUTHOR: why? And since when? At last?");
        });
        await draft.waitFor({ state: "detached" });
        await window.command("Notifications: Clear All Notifications");

        // The last words are taken back, and Ctrl+Z in the text brings them again.
        await typeReply(window, "by the way");
        await pressIn(window, "Reply");
        await window.sees("// AUTHOR: by the way");
        await window.until("in the margin", async () => (await margin(window))[0]?.length === 3);
        await comment(2).hover();
        await action(2, "Delete").click();
        await window.misses("by the way");
        await window.until("gone in the margin", async () => (await margin(window))[0]?.length === 2);
        ok((await window.lines()).includes("// AUTHOR:"), "the line for the author waits again");
        await toEditor(window);
        await window.page.keyboard.press("Control+z");
        await window.sees("// AUTHOR: by the way");
        await window.until("back in the margin", async () => (await margin(window))[0]?.[2] === "by the way");

        // A thread that goes while one's words are in a box: the box stays.
        await begin();
        await window.page.keyboard.type(" Unsent", { delay: 5 });
        await toEditor(window);
        await window.goto(5);
        await window.command("postil: Resolve (Remove Thread)");
        await window.misses("AUTHOR");
        await window.until("the thread says so", async () => plain(await window.page.locator(".review-widget .head").first().innerText()).startsWith("No longer in the file"));
        ok((await words()).includes("Unsent"), "the words in the box stay");
        await press("Save");
        await window.notice("the thread is no longer in the file; nothing was written");
        await draft.waitFor();
        ok((await words()).includes("Unsent"), "and are not lost by saving");
        await press("Cancel");
        await window.page.locator(".review-widget").waitFor({ state: "detached" });
    },

    /** A run with a model: its conversation grows while it works, its changes are reviewed, one put back. */
    async run(code, windows, model) {
        const window = await code.open(folder);
        windows.push(window);
        await window.file("load.rs");
        await window.sees("fn load");
        await listens(window);
        await window.goto(1);
        await window.page.keyboard.press("Control+Shift+Enter");
        await window.page.keyboard.type("// AUTHOR: say what it gives where there is no file", { delay: 2 });
        await openThread(window, 0);
        await titleAction(window, "Reply as Agent");
        await window.until("the status bar tells of the turn and its cost", async () => /1 at work · (<)?\$\d/.test(await window.status()));
        await window.until("the thread tells too", async () =>
            plain(await window.page.locator(".review-widget .head").first().innerText()).startsWith("Agent at work:"));
        await titleAction(window, "Open Conversation");
        const frame = await inner(window, "#rounds");
        await window.until("the edit in the conversation", async () => /file_edit/.test(await frame.locator("#rounds").innerText()));
        ok(/\+.*Option<String>/.test(await frame.locator(".added").allInnerTexts().then((all) => all.join("\n"))), "an edit is shown as a diff");
        ok(await frame.locator("#cancel").isVisible(), "a running turn can be cancelled there");
        const before = await frame.locator(".round").count();
        model.release();
        await window.until("it grows", async () => (await frame.locator(".round").count()) > before);
        await window.until("it has ended", async () => (await frame.locator("#facts").innerText()).startsWith("completed"));
        await window.sees("// AGENT: Gives nothing");
        await window.until("the answer in the margin", async () => (await margin(window))[0]?.at(-1) === "Gives nothing where there is no file.");

        // The native diff, file by file.
        await titleAction(window, "Review Changes");
        const rows = window.page.locator('.pane:has(.pane-header[aria-label*="Review"]) .monaco-list-row');
        await window.until("two files to review", async () => (await rows.count()) === 2);
        await rows.filter({ hasText: "main.rs" }).click();
        await window.page.locator(".monaco-diff-editor").first().waitFor();
        const left = await window.until("what was there before", async () => {
            const lines = await window.lines(".monaco-diff-editor .editor.original").catch(() => []);
            return lines.some((line) => line.includes('load("notes")')) && lines;
        });
        ok(!left.some((line) => line.includes("unwrap_or")), "the left side is as it was");
        await rows.filter({ hasText: "main.rs" }).hover();
        await rows.filter({ hasText: "main.rs" }).locator('.action-label[aria-label^="Reject File"]').click();
        await window.until("it is put back", async () => !readFileSync(join(folder, "main.rs"), "utf8").includes("unwrap_or"));
        await window.until("one file left", async () => (await rows.count()) === 1);
        // Its diff takes the place of the other, with the same buttons in its title.
        await window.page.locator(".tab.active", { hasText: "load.rs (before the turn" }).waitFor();
        await window.page.locator('.editor-actions .action-label[aria-label^="Accept File"]').click();
        await window.until("the review is over", async () => (await rows.count()) === 0);

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
        const head = async () => plain(await window.page.locator(".review-widget .head").first().innerText());
        await window.until("it is at work", async () => (await head()).startsWith("Agent at work"));
        await titleAction(window, "Cancel");
        await window.until("it waits again", async () => (await head()).startsWith("Awaiting agent"));
        model.release();
        await window.sees("// AUTHOR: and where else?");
        ok(!(await window.text()).includes("Never said"), "nothing is answered");
    },

    /** `turn.review = "ask"`: what the agent wants to change is looked at before it is made, by file and whole. */
    async review(code, windows) {
        const window = await code.open(folder);
        windows.push(window);
        const onDisk = (file) => readFileSync(join(folder, file), "utf8");
        const was = onDisk("main.rs");
        await window.file("load.rs");
        await window.sees("fn load");
        await listens(window);
        await window.goto(1);
        await window.page.keyboard.press("Control+Shift+Enter");
        await window.page.keyboard.type("// AUTHOR: say what it gives where there is no file", { delay: 2 });
        await openThread(window, 0);
        await titleAction(window, "Reply as Agent");
        await window.notice("the agent wants to change 2 files, and waits for you");
        ok(!(await window.text()).includes("Option<String>"), "nothing is made yet in the open file");
        equal(onDisk("main.rs"), was, "nor in the other");
        await window.until("the thread tells that it waits", async () =>
            plain(await window.page.locator(".review-widget .head").first().innerText()).startsWith("Agent at work: 2 files to be reviewed"));
        await window.press("Show Changes");
        const rows = window.page.locator('.pane:has(.pane-header[aria-label*="Review"]) .monaco-list-row');
        await window.until("two files to review", async () => (await rows.count()) === 2);
        ok((await rows.allInnerTexts()).every((row) => row.includes("+1 −1")), "with their counts");

        // One is accepted in its diff: it is made at once, and the next one is shown.
        const side = (which) => window.lines(`.monaco-diff-editor .editor.${which}`).catch(() => []);
        const tab = (text) => window.page.locator(".tab.active", { hasText: text });
        await rows.filter({ hasText: "main.rs" }).click();
        await tab("main.rs (proposed)").waitFor();
        await window.until("the change", async () => (await side("modified")).some((line) => line.includes("unwrap_or_default()")));
        ok((await side("original")).some((line) => line.includes('load("notes")')), "what it is now stands on the left");
        await window.page.locator('.editor-actions .action-label[aria-label^="Accept File"]').click();
        await window.until("it is made", async () => onDisk("main.rs").includes("unwrap_or_default()"));
        await tab("load.rs (proposed)").waitFor();
        await window.until("the next one is shown", async () => (await side("modified")).some((line) => line.includes("Option<String>")));
        await window.until("one file left", async () => (await rows.count()) === 1);

        // The other is rejected in the view: the agent is told, and its answer is true to it.
        await rows.filter({ hasText: "load.rs" }).hover();
        await rows.filter({ hasText: "load.rs" }).locator('.action-label[aria-label^="Reject File"]').click();
        await window.until("the review is over", async () => (await rows.count()) === 0);
        await window.page.locator(".tab", { hasText: "propose" }).waitFor({ state: "detached" });
        await window.sees("// AGENT: Changed in main.rs alone.");
        ok(!(await window.text()).includes("Option<String>"), "what was rejected is not made");

        // The next turn's changes are taken as a whole.
        await openThread(window, 0);
        await typeReply(window, "in load.rs too");
        // The first button's key, as everywhere in the editor's comments.
        await window.page.keyboard.press("Control+Enter");
        await window.notice("the agent wants to change load.rs (+1 −1)");
        await window.press("Accept");
        await window.sees("-> Option<String> {");
        await window.sees("// AGENT: Now there too.");
    },

    /** A folder that is not trusted: shown, answered by hand, never written by an agent; trusted: at once it is. */
    async trust(code, windows, model) {
        const window = await code.open(folder);
        windows.push(window);
        await window.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
        await window.file("load.rs");
        await window.sees("fn load");
        await openThread(window, 0);
        await typeReply(window, "by hand");
        await pressIn(window, "Reply");
        await window.sees("// AUTHOR: by hand");
        await titleAction(window, "Reply as Agent");
        await window.sees("// AGENT: Only looked.");
        const tools = (request) => (request.tools ?? []).map((tool) => tool.name);
        ok(!tools(model.requests.at(-1)).includes("file_edit"), `no tool that writes: ${tools(model.requests.at(-1))}`);
        equal(await window.notices(), [], "nothing is asked: the editor's answer counts");

        await window.command("Workspaces: Manage Workspace Trust");
        await window.page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ }).first().click();
        await window.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor({ state: "hidden" });
        await window.page.locator('.monaco-modal-editor-block .action-label[class*="codicon-close"]').last().click();
        await window.page.locator(".monaco-modal-editor-block").waitFor({ state: "hidden" });
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
    },

    /** Two windows on one folder: what is saved in one is in the margin of the other. */
    async windows(code, windows) {
        const [one, two] = [await code.open(folder), await code.open(folder)];
        windows.push(one, two);
        await one.file("notes.rs");
        await two.file("notes.rs");
        await openThread(one, 0);
        await openThread(two, 0);
        await typeReply(one, "seen over there?");
        await pressIn(one, "Reply");
        await one.sees("// AUTHOR: seen over there?");
        await toEditor(one);
        await one.page.keyboard.press("Control+s");
        await two.sees("// AUTHOR: seen over there?");
        await two.until("in the other margin", async () => (await margin(two))[0]?.includes("seen over there?"));
        await titleAction(two, "Resolve");
        await two.misses("seen over there?");
        await toEditor(two);
        await two.page.keyboard.press("Control+s");
        await one.misses("seen over there?");
        await one.until("its mark is gone", async () => (await glyphs(one).count()) === 0);
    },

    /** No server, one that is too old, one that is something else, one that crashes: one message, and a usable editor. */
    async faults(code, windows) {
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
        equal((await window.notices()).length, 1, "one message");
        ok((await window.status()).includes("postil"), "the status bar says it too");
        await window.goto(1);
        await window.page.keyboard.press("Control+Shift+Enter");
        await window.page.keyboard.type("// the editor goes on");
        await window.sees("// the editor goes on");
        await window.command("Notifications: Clear All Notifications");

        set(fake("old", "echo postil 0.0.1"));
        await window.notice("is postil 0.0.1, and this extension needs");
        await window.command("Notifications: Clear All Notifications");
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

        // Killed at each start, it is given up with one message; its button brings it back.
        set(fake("broken", `[ "$1" = --version ] && exec postil --version\n[ -e ${join(code.dir, "mended")} ] && exec postil "$@"\nexit 3`));
        await window.notice("could not be started");
        ok((await window.text()).includes("the editor goes on"), "the text is untouched");
        writeFileSync(join(code.dir, "mended"), "");
        await window.press("Try Again");
        await window.until("it is back", async () => (await glyphs(window).count()) === 1);
    },

    /** Slow, stopped or wrongly set: told once, and the editor goes on. */
    async slow(code, windows) {
        const [go, pid] = [join(code.dir, "go"), join(code.dir, "pid")];
        const program = join(code.dir, "slow");
        writeFileSync(program, `#!/bin/sh\n[ "$1" = --version ] && exec postil --version\necho $$ >${pid}\n[ -e ${go} ] && exec postil "$@"\nexec tail -f /dev/null\n`, { mode: 0o755 });
        writeFileSync(code.machine, JSON.stringify({ "postil.path": program }));
        const window = await code.open(folder);
        windows.push(window);
        await window.file("notes.rs");
        await window.notice("postil is slow to start");
        equal((await window.notices()).length, 1, "one message");
        await window.goto(1);
        await window.page.keyboard.press("Control+Shift+Enter");
        await window.page.keyboard.type("// the editor goes on");
        await window.sees("// the editor goes on");
        writeFileSync(go, "");
        await window.press("Restart Server");
        await window.until("the thread is shown", async () => (await glyphs(window).count()) === 1);

        const id = Number(readFileSync(pid, "utf8"));
        process.kill(id, "SIGSTOP");
        await window.goto(1);
        await window.command("postil: New Thread Here");
        await window.notice("postil does not answer");
        await toEditor(window);
        await window.page.keyboard.type("// and on ");
        await window.sees("// and on // the editor");
        process.kill(id, "SIGCONT");
        await window.sees("// AUTHOR: \n".trim());
        await window.command("Notifications: Clear All Notifications");

        // A value of the wrong type: one message, and what else was set holds.
        writeFileSync(code.machine, JSON.stringify({ "postil.path": program, "postil.turn.maxRounds": "many" }));
        await window.notice("turn.maxRounds");
        equal((await window.notices()).length, 1, "one message");
        await window.command("Notifications: Clear All Notifications");
        writeFileSync(code.machine, JSON.stringify({ "postil.path": 7 }));
        await window.notice("The setting postil.path is to be a text in quotation marks; it is `7`.");
        equal((await window.notices()).length, 1, "one message");
    },

    /** A workspace of several roots, one of them on no disk: one server, and the threads of each. */
    async roots(code, windows) {
        const starts = join(code.dir, "starts");
        const program = join(code.dir, "counted");
        writeFileSync(program, `#!/bin/sh\n[ "$1" = --version ] || echo start >>${starts}\nexec postil "$@"\n`, { mode: 0o755 });
        writeFileSync(code.machine, JSON.stringify({ "postil.path": program }));
        const window = await code.open(join(folder, "all.code-workspace"));
        windows.push(window);
        await window.until("both are counted", async () => (await window.status()).trim() === "2");
        await window.command("View: Show postil");
        const rows = () => window.page.locator(".pane-body .monaco-list-row").allInnerTexts().then((all) => all.map(plain));
        const shown = await window.until("a thread of each root", async () => {
            const all = await rows();
            return all.length >= 4 && all;
        });
        ok(shown[0].includes("one · 1 awaiting agent"), `the root is named: ${JSON.stringify(shown)}`);
        ok(shown[2].includes("two · 1 awaiting agent"), `so is the other: ${JSON.stringify(shown)}`);
        await window.page.locator(".pane-body .monaco-list-row", { hasText: "list todos" }).click();
        await window.sees("// AUTHOR: list todos");
        await window.command("postil: Reply as Agent");
        await window.notice("This question was not typed here");
        await window.press("Allow edits");
        await window.sees("// AGENT: Found 1 to-do");
        await window.until("the state in the view", async () => (await rows()).some((row) => row.includes("two · 1 answered")));
        equal(readFileSync(starts, "utf8"), "start\n", "servers that were started");
        // And in the editor's own panel, of each root.
        await window.command("Comments: Focus on Comments View");
        await window.until("both in the panel", async () => {
            const all = plain(await window.page.locator(".comments-panel").innerText());
            return all.includes("why?") && all.includes("list todos");
        });
        equal((await window.notices()).filter((text) => text.includes("postil")), [], "nothing is wrong");
    },

    /** A thread in a cell of a notebook: in the view, and answered on the disk, from where the editor takes it. */
    async notebook(code, windows) {
        const window = await code.open(folder);
        windows.push(window);
        await window.until("it is counted", async () => (await window.status()).trim() === "1");
        await window.command("View: Show postil");
        const row = window.page.locator(".pane-body .monaco-list-row", { hasText: "list todos" });
        await row.click();
        const cells = async () => (await window.lines(".notebook-editor .monaco-editor")).join("\n");
        await window.until("the cell", async () => (await cells()).includes("# AUTHOR: list todos"));
        await row.hover();
        await row.locator('.action-label[aria-label^="Reply as Agent"]').click();
        await window.notice("This question was not typed here");
        await window.press("Allow edits");
        await window.until("the answer in the cell", async () => (await cells()).includes("# AGENT: Found 1 to-do"));
        const read = JSON.parse(readFileSync(join(folder, "a.ipynb"), "utf8"));
        equal(read.cells.length, 2, "cells");
        ok(read.cells[1].source.join("").startsWith("# AUTHOR: list todos\n# AGENT: Found 1 to-do"), "and in its file");
        await window.until("the state in the view", async () => /1 answered/.test((await window.page.locator(".pane-body .monaco-list-row").allInnerTexts()).join()));
        equal((await window.notices()).filter((text) => !text.includes("kernel")), [], "nothing is wrong");
    },

    /** The first minutes: no program, what to do about it, the walkthrough; then the package that brings it along. */
    async start(code, windows) {
        const window = await code.open(folder);
        windows.push(window);
        await window.notice("The program postil is neither on the PATH nor set by postil.path.");
        await window.press("How to Install");
        const steps = window.page.locator(".gettingStartedContainer .getting-started-step");
        await window.until("the walkthrough's steps", async () => (await steps.count()) === 5);
        for (const title of ["Ask beside your code", "Have it answered", "See what changed", "Resolve it"]) {
            const step = steps.filter({ hasText: title });
            await step.click();
            await window.until(`the step ${title}`, async () => /expanded/.test((await step.getAttribute("class")) ?? ""));
            await inner(window, ".getting-started-media, pre, p");
        }
        await window.close();
        windows.length = 0;

        const target = `${process.platform}-${process.arch}`;
        execFileSync(process.execPath, [here("../../scripts/package.mjs"), process.env.POSTIL_BINARY, target], { stdio: "ignore" });
        const bundled = here(`../../dist/postil-${target}.vsix`);
        code.install(bundled);
        rmSync(bundled);
        const again = await code.open(folder);
        windows.push(again);
        await again.file("notes.rs");
        await again.until("a thread, by the program that came along", async () => (await glyphs(again).count()) === 1);
        equal(await again.notices(), [], "nothing is wrong");
        await again.goto(1);
        await again.command("postil: Open Walkthrough");
        const ask = again.page.locator(".gettingStartedContainer .getting-started-step", { hasText: "Ask beside your code" });
        await ask.click();
        await again.page.locator(".tab", { hasText: "notes.rs" }).click();
        await again.command("postil: New Thread Here");
        await again.until("an empty thread, and the cursor in it", async () => (await again.lines())[0]?.trim() === "// AUTHOR:" && /Ln 1, Col 1[0-2]/.test(await again.page.locator(".statusbar").innerText()));
        await again.command("postil: Open Walkthrough");
        const done = (step) => step.locator(".codicon-getting-started-step-checked.complete");
        await again.until("the step is done", async () => (await done(ask).count()) > 0);
        const install = again.page.locator(".gettingStartedContainer .getting-started-step", { hasText: "Install the server" });
        await again.until("the program runs, so that its step is done too", async () => (await done(install).count()) > 0);
        ok(!(await again.page.locator(".gettingStartedContainer").innerText()).includes("`"), "no back quotes are left to be read");

        // Checked by the program that came along, which is on no PATH.
        await again.command("postil: Check the Installation");
        const terminal = again.page.locator(".terminal-wrapper.active .xterm-rows");
        await again.until("the doctor's words", async () => /history/i.test(plain(await terminal.innerText().catch(() => ""))));
    },

    /** A window without a machine behind it: why it cannot work is where it is looked for. */
    async web(code, windows) {
        const served = createServer((request, response) => {
            const file = join(here("../.."), new URL(request.url, "http://x").pathname);
            response.setHeader("access-control-allow-origin", "*");
            try {
                response.end(readFileSync(file));
            } catch {
                response.writeHead(404).end();
            }
        });
        await new Promise((resolve) => served.listen(0, "127.0.0.1", resolve));
        try {
            const window = await code.open(folder, { web: `http://127.0.0.1:${served.address().port}` });
            windows.push(window);
            await window.until("the status bar has it", async () => (await window.status()).includes("postil"));
            await window.command("postil: New Thread Here");
            await window.notice("postil starts a program on your machine, which a web window cannot do.");
            equal((await window.notices()).length, 1, "one message");
        } finally {
            served.closeAllConnections();
            served.close();
        }
    },

    /** The tests of ../host, inside the editor's extension host. */
    async host(code, windows) {
        const { status, told } = await inHost(code, windows, "index.cjs");
        ok(status === 0, `${status}\n${told.join("\n")}`);
    },

    /** No test, a measurement: how long a key takes to the margin, and how long the extension takes to start. */
    async speed(code, windows) {
        const many = Array.from({ length: 200 }, (_, index) => `// AUTHOR: question ${index}\nfn f${index}() {}\n`).join("\n");
        writeFileSync(join(folder, "many.rs"), many);
        const window = await code.open(folder);
        windows.push(window);
        await window.file("notes.rs");
        await window.until("a mark", async () => (await glyphs(window).count()) === 1);
        await window.page.evaluate(() => {
            window.opened = [];
            new MutationObserver(() => {
                if (document.querySelector(".tab.active")?.textContent.includes("many.rs")) {
                    const marks = document.querySelectorAll(".comment-range-glyph.comment-thread-unresolved").length;
                    const lines = document.querySelectorAll(".editor-instance .view-line").length;
                    if (lines > 5) window.opened.push([performance.now(), marks]);
                }
            }).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["class"] });
        });
        await window.file("many.rs");
        await window.until("the marks of many threads", async () => (await glyphs(window).count()) > 5);
        const opened = await window.page.evaluate(() => {
            const [begin] = window.opened[0];
            return window.opened.find(([, marks]) => marks > 5)[0] - begin;
        });
        await openThread(window, 0);
        await toEditor(window);
        await window.goto(1);
        await window.page.keyboard.press("End");
        await window.page.evaluate(() => {
            window.keys = [];
            let pressed;
            document.addEventListener("keydown", () => (pressed = performance.now()), { capture: true });
            new MutationObserver((changes) => {
                if (pressed !== undefined && changes.some(({ target }) => (target.nodeType === 1 ? target : target.parentElement)?.closest?.(".review-widget .comments-container"))) {
                    window.keys.push(performance.now() - pressed);
                    pressed = undefined;
                }
            }).observe(document.body, { subtree: true, childList: true, characterData: true });
        });
        for (let at = 0; at < 40; at += 1) {
            const count = await window.page.evaluate(() => window.keys.length);
            await window.page.keyboard.type("abcdefgh"[at % 8]);
            await window.until("the key in the margin", () => window.page.evaluate((count) => window.keys.length > count, count));
        }
        const keys = (await window.page.evaluate(() => window.keys)).sort((a, b) => a - b);
        // As VS Code itself measured it; the list draws what has room.
        await window.page.setViewportSize({ width: 1300, height: 4000 });
        await window.command("Developer: Show Running Extensions");
        const rows = await window.until("the running extensions", async () => {
            const all = (await window.page.locator(".runtime-extensions-editor .monaco-list-row").allInnerTexts()).map(plain);
            return all.some((row) => row.startsWith("postil")) && all;
        });
        const told = (name) => Number(/Activation: (\d+)\s*ms/.exec(rows.find((row) => row.startsWith(name)) ?? "")?.[1]);
        const [activation, git] = [told("postil"), told("Git")];
        await window.close();
        windows.length = 0;
        const own = [];
        for (let at = 0; at < 5; at += 1) {
            const { told } = await inHost(code, windows, "speed.cjs");
            own.push(Number(/T activation: ([\d.]+)/.exec(told.join("\n"))?.[1]));
            await windows.pop().close();
        }
        const ms = (number) => `${number.toFixed(number < 10 ? 1 : 0)} ms`;
        console.log(`activation, by the extension's own clock: ${ms(median(own))} (median of ${own.length}: ${own.map(ms).join(", ")})`);
        console.log(`activation with loading, as VS Code tells it: ${ms(activation)}; its own Git extension on the same page: ${ms(git)}`);
        console.log(`a file with 200 threads, from its text on the screen to its marks: ${ms(opened)}`);
        console.log(`a key to the margin of that file: ${ms(keys[20])} median, ${ms(keys[37])} at the 95th percentile, of ${keys.length}`);
    },
};

const work = cases[name];
if (!work) {
    console.log(`there are: ${Object.keys(cases).join(", ")}`);
    process.exit(2);
}
/** What the model says, where a case has one; whether VS Code asks for trust. */
const scripts = {
    run: [
        { calls: [["file_read", { path: "load.rs" }], ["file_read", { path: "main.rs" }]] },
        {
            calls: [
                ["file_edit", { path: "load.rs", old_string: "-> String {", new_string: "-> Option<String> {" }],
                ["file_edit", { path: "main.rs", old_string: 'load("notes")', new_string: 'load("notes").unwrap_or_default()' }],
            ],
        },
        { text: "Gives nothing where there is no file.", held: true },
        { text: "Never said.", held: true },
    ],
    review: [
        { calls: [["file_read", { path: "load.rs" }], ["file_read", { path: "main.rs" }]] },
        {
            calls: [
                ["file_edit", { path: "load.rs", old_string: "-> String {", new_string: "-> Option<String> {" }],
                ["file_edit", { path: "main.rs", old_string: 'load("notes")', new_string: 'load("notes").unwrap_or_default()' }],
            ],
        },
        { text: "Changed." },
        { text: "Changed in main.rs alone." },
        { calls: [["file_read", { path: "load.rs" }]] },
        { calls: [["file_edit", { path: "load.rs", old_string: "-> String {", new_string: "-> Option<String> {" }]] },
        { text: "Now there too." },
    ],
    trust: [{ text: "Only looked." }, { text: "Could write." }],
};

const windows = [];
let code;
const model = scripts[name] && (await scripted(scripts[name]));
const good = await attempt(name, out, () => windows, async () => {
    const settings = name === "review" ? { "postil.turn.review": "ask" } : {};
    // A machine on which it is not installed.
    const bare = (process.env.PATH ?? "").split(":").filter((dir) => !existsSync(join(dir, "postil")));
    const env = name === "start" ? { PATH: bare.join(":") } : (model?.env ?? {});
    code = await Code.start({ vsix: name === "web" ? undefined : vsix, settings, trust: name === "trust", env });
    await work.call(cases, code, windows, model);
});
await code?.stop();
model?.stop();
process.exit(good ? 0 : 1);
