// What a person does in VS Code, case by case: node cases.mjs CASE FOLDER VSIX OUT. Run by tests/e2e/vscode.rs, which
// makes the folder and plays the model; a line `@word` asks it for something and its answer comes on standard input.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Code, attempt, plain } from "./code.mjs";

const [, , name, folder, vsix, out] = process.argv;
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Asks whoever started this for something, and waits until it is done. */
async function demand(what) {
    console.log(`@${what}`);
    return (await input.next()).value;
}

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

/** Opens the comment thread that stands at the n-th mark from above. */
async function openThread(window, at) {
    const marks = glyphs(window);
    await window.until(`${at + 1} marks`, async () => (await marks.count()) > at);
    const tops = await marks.evaluateAll((all) => all.map((mark) => mark.getBoundingClientRect().top));
    const order = tops.map((top, index) => [top, index]).sort((a, b) => a[0] - b[0]);
    const before = await window.page.locator(".review-widget").count();
    await marks.nth(order[at][1]).click();
    await window.until("the thread opens", async () => (await window.page.locator(".review-widget").count()) > before);
}

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
    window.page.locator(".review-widget").nth(widget).locator(".form-actions .monaco-button", { hasText: title }).first().click();

const titleAction = async (window, label, widget = 0) => {
    const action = window.page.locator(".review-widget").nth(widget).locator(`.review-actions .action-label[aria-label^="${label}"]`);
    await action.click();
};

const toEditor = (window) => window.command("View: Focus Active Editor Group").catch(() => window.page.keyboard.press("Control+1"));

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

        // From the + beside a line.
        const line = window.page.locator(".editor-instance .view-line", { hasText: "fn load" }).first();
        const place = await line.boundingBox();
        const gutter = await window.page.locator(".editor-instance .margin").first().boundingBox();
        await window.page.mouse.move(place.x + 10, place.y + place.height / 2);
        const plus = window.page.locator(".comment-range-glyph.comment-diff-added, .comment-range-glyph.line-hover, .comment-range-glyph.multiline-add").first();
        await window.until("the +", async () => {
            await window.page.mouse.move(gutter.x + gutter.width - 20 + Math.random() * 4, place.y + place.height / 2);
            return (await plus.count()) > 0;
        });
        await window.page.mouse.click(gutter.x + gutter.width - 20, place.y + place.height / 2);
        const fresh = await window.until("an empty thread", async () => {
            const now = await margin(window);
            const at = now.findIndex((texts) => texts.length === 0);
            return at >= 0 && [at];
        });
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

        // The last turn is taken back, and nothing that was written since.
        await window.page.locator(".editor-instance .view-line", { hasText: "Found 1 to-do" }).first().click();
        await window.command("postil: Undo Last Turn");
        await window.misses("Found 1 to-do");
        await window.sees("// AUTHOR: what is load");
        await window.sees("// AUTHOR: list todos");
    },
};

const work = cases[name];
if (!work) {
    console.log(`there are: ${Object.keys(cases).join(", ")}`);
    process.exit(2);
}
const windows = [];
const options = work.options ?? {};
let code;
const good = await attempt(name, out, () => windows, async () => {
    code = await Code.start({ vsix, ...options });
    await work.call(cases, code, windows);
});
await code?.stop();
process.exit(good ? 0 : 1);
