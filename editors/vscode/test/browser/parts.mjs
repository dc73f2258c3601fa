// What the cases have in common: the threads in the margin, and how they are looked at.
import { fileURLToPath } from "node:url";
import { DEADLINE, plain } from "./code.mjs";

/** The project that tests/e2e/vscode.rs made for the case. */
export const folder = process.argv[3];

/** A path beside this file. */
export const here = (path) => fileURLToPath(new URL(path, import.meta.url)).replace(/\/$/, "");

export function equal(left, right, what) {
    if (JSON.stringify(left) !== JSON.stringify(right)) {
        throw new Error(`${what}: ${JSON.stringify(left)} is not ${JSON.stringify(right)}`);
    }
}

export function ok(value, what) {
    if (!value) throw new Error(`not so: ${what}`);
}

/** The marks in the margin, as the lines at which they stand. */
export const glyphs = (window) => window.page.locator(".comment-range-glyph.comment-thread-unresolved, .comment-range-glyph.comment-thread");

/** Opens the comment thread that stands at the n-th mark from above, unless it is open. */
export async function openThread(window, at) {
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
            // The mark moved away under the click, and a thread was begun on the line that came there. Where it is drawn
            // anew or gone at this moment, it is looked again.
            await discard(window, window.short).catch(() => {});
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
export const discard = (window, patience = {}) =>
    window.page.locator(".review-widget:has(.comment-form)", { hasText: "Start discussion" }).first().locator(".review-actions .action-label").last().click(patience);

/** What the margin shows: a list of texts for each open thread. */
export const margin = async (window) =>
    (await window.page.locator(".review-widget").evaluateAll((all) =>
        all.map((widget) => [...widget.querySelectorAll(".comment-body")].map((body) => (body.innerText ?? "").trim())),
    ));

/** What stands above an open thread. */
export const head = async (window, widget = 0) => plain(await window.page.locator(".review-widget .head").nth(widget).innerText());

export const box = (window, widget = 0) => window.page.locator(".review-widget").nth(widget).locator(".comment-form .monaco-editor");

/** What stands in a reply box. */
export const draft = async (window, widget = 0) => plain(await box(window, widget).locator(".view-lines").innerText()).replaceAll("\n", "");

export async function typeReply(window, text, widget = 0) {
    const form = window.page.locator(".review-widget").nth(widget).locator(".comment-form");
    await form.waitFor();
    const button = window.page.locator(".review-widget").nth(widget).locator(".review-thread-reply-button");
    await window.again(
        "the reply box",
        async () => {
            if (await button.isVisible()) await button.click(window.short);
            await box(window, widget).click(window.short);
        },
        async () => (await box(window, widget).count()) > 0 && box(window, widget).evaluate((editor) => editor.contains(document.activeElement)),
    );
    await window.page.keyboard.type(text, { delay: 5 });
    await window.until(`${text} in the reply box`, async () => (await draft(window, widget)).includes(text));
}

/** A button that has nothing to send is grey, and a click on it is lost, as its key is. */
const ready = (window, title, widget) => window.page.locator(".review-widget").nth(widget).locator(".form-actions .monaco-button:not(.disabled)").getByText(title, { exact: true });

export const pressIn = (window, title, widget = 0) => ready(window, title, widget).click();

/** The first button's key, as everywhere in the editor's comments. */
export async function sendByKey(window, title, widget = 0) {
    await ready(window, title, widget).waitFor();
    await window.page.keyboard.press("Control+Enter");
}

/** A button above an open thread. */
export const titleAction = (window, label, seen, widget = 0) => {
    const action = window.page.locator(".review-widget").nth(widget).locator(`.review-actions .action-label[aria-label^="${label}"]`);
    return window.again(`${label} in the thread's title`, () => action.click(window.short), seen);
};

/** A button that stands in a row while the mouse is over it. */
export const rowAction = (window, row, label, seen) =>
    window.again(
        `${label} in a row`,
        async () => {
            await row.hover(window.short);
            await row.locator(`.action-label[aria-label^="${label}"]`).click(window.short);
        },
        seen,
    );

/** The page inside a webview that has `selector`. */
export const inner = (window, selector) =>
    window.until(`a page with ${selector}`, async () => {
        for (const frame of window.page.frames()) {
            if ((await frame.locator(selector).count().catch(() => 0)) > 0) return frame;
        }
        return undefined;
    });

/** What stands in a file when the server opens it has come with the file, and has to be allowed. */
export const listens = (window) => window.until("the server listens", async () => /\d/.test(await window.status()));

/** The rows of the view Threads. */
export const rows = (window) => window.page.locator(".pane-body .monaco-list-row");

export const rowTexts = async (window) => (await rows(window).allInnerTexts()).map((row) => plain(row).replace(/\s+/g, ""));

/** Runs a file of ../host inside the editor's extension host: how it ended, and its lines that begin with `T`. */
export async function inHost(code, windows, file) {
    let ended;
    const exit = new Promise((resolve) => (ended = resolve));
    const said = [];
    const window = await code.open(folder, {
        host: { authority: new URL(code.url).host, extension: here("../.."), test: here(`../host/${file}`) },
        exit: (status) => ended(status),
        log: (line) => said.push(line),
    });
    windows.push(window);
    const late = new Promise((resolve) => setTimeout(() => resolve("late"), 4 * DEADLINE).unref());
    const status = await Promise.race([exit, late]);
    return { status, told: [...said, ...window.console.split("\n")].filter((line) => /T (ok|failed|activation): /.test(line)) };
}
