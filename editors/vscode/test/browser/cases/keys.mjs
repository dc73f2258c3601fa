// Without a mouse: where the keyboard is after what was done with it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { plain } from "../code.mjs";
import { draft, equal, folder, head, inner, listens, margin, ok } from "../parts.mjs";

/** What has the keyboard, and what that is in. */
const has = (window, place) => window.page.evaluate((place) => Boolean(document.activeElement?.closest(place)), place);

/** Presses a key until what has the keyboard matches. */
async function walk(window, key, place) {
    for (let steps = 0; steps < 20; steps += 1) {
        await window.page.keyboard.press(key);
        await window.page.waitForTimeout(100);
        if (await has(window, place)) return;
    }
    throw new Error(`${key} does not lead to ${place}`);
}

/** Into the thread of the row with `words` in the Comments panel. */
async function enter(window, words) {
    const thread = ".review-widget .comments-container";
    await window.again(
        "the keyboard in the thread",
        async () => {
            await window.command("Comments: Focus on Comments View");
            await window.page.keyboard.press("Home");
            const row = window.page.locator(".comments-panel .monaco-list-row.focused", { hasText: words });
            for (let steps = 0; steps < 20 && !(await row.isVisible()); steps += 1) {
                await window.page.keyboard.press("ArrowDown");
                await window.page.waitForTimeout(60);
            }
            await window.page.keyboard.press("Enter");
        },
        () => has(window, thread),
    );
}

/** One of the menu of the row that has the keyboard. */
async function choose(window, label) {
    const item = window.page.locator(".monaco-menu .action-item.focused", { hasText: label });
    await window.page.keyboard.press("Shift+F10");
    await window.page.locator(".monaco-menu").waitFor();
    await window.until(`${label} in the menu`, async () => {
        if (await item.isVisible()) return true;
        await window.page.keyboard.press("ArrowDown");
        await window.page.waitForTimeout(60);
        return false;
    });
    await window.page.keyboard.press("Enter");
}

const inText = (window, after) => window.until(`the keyboard in the text after ${after}`, () => window.writes());
const pane = (name) => `.pane:has(.pane-header[aria-label*="${name}"])`;

/** Written, edited, answered, reviewed and resolved by keys: what was pressed goes, and the keyboard is somewhere. */
export async function keyboard(code, windows, model) {
    const window = await code.open(folder);
    windows.push(window);
    await listens(window);
    const type = async (text) => {
        await window.page.keyboard.type(text, { delay: 5 });
    };
    // The text may be scrolled away.
    const last = (words) => window.until(`${words} in the margin`, async () => (await margin(window))[0]?.at(-1) === words);
    await enter(window, "why?");
    await walk(window, "Tab", ".comment-form");
    await type("and what then?");
    await window.until("it is in the box", async () => (await draft(window)).includes("what then?"));
    // Tab writes in the box until it is told to lead on.
    await window.page.keyboard.press("Control+m");
    await walk(window, "Tab", '.form-actions [aria-label^="Reply"]:not([aria-label^="Reply as"])');
    await window.page.keyboard.press("Enter");
    await window.sees("// AUTHOR: and what then?");
    await inText(window, "a reply");
    await window.page.keyboard.press("Control+m");

    // Sent with a question: the turn runs, the author goes on in the text.
    await enter(window, "why?");
    await walk(window, "Tab", ".comment-form");
    await type("Give nothing instead.");
    await window.page.keyboard.press("Control+Enter");
    await window.sees("// AUTHOR: Give nothing instead.");
    await inText(window, "a question");
    await window.notice("Answer with edits allowed?");
    await window.command("postil: Show What Is Asked");
    await walk(window, "Tab", ".notification-list-item .monaco-button");
    const button = () => window.page.evaluate(() => document.activeElement.textContent);
    while (!(await button()).includes("Allow edits")) await window.page.keyboard.press("Tab");
    await window.page.keyboard.press("Enter");

    // What it wants to change is decided on in the view, where the keyboard stays, and in a diff.
    await window.notice("the agent wants to change 3 files, and waits for you");
    await window.command("postil: Focus on Review View");
    const rows = window.page.locator(`${pane("Review")} .monaco-list-row`);
    const onDisk = (file) => readFileSync(join(folder, file), "utf8");
    const tab = (text) => window.page.locator(".tab.active", { hasText: text });
    await window.until("the keyboard in the view", () => has(window, pane("Review")));
    await rows.filter({ hasText: "a.rs" }).click();
    await tab("a.rs (proposed)").waitFor();
    ok(await has(window, pane("Review")), "a look leaves the keyboard in the view");
    await choose(window, "Accept File");
    await window.until("it is made", () => onDisk("a.rs").includes("Option"));
    await tab("b.rs (proposed)").waitFor();
    await window.until("two files left", async () => (await rows.count()) === 2);
    await window.until("the keyboard in the view after one was accepted", () => has(window, pane("Review")));
    await window.page.keyboard.press("Home");
    await window.page.keyboard.press("Enter");
    await window.until("the keyboard in the diff", () => has(window, ".monaco-diff-editor"));
    await window.command("postil: Reject File");
    await tab("c.rs (proposed)").waitFor();
    await window.until("the keyboard in the next diff", () => has(window, ".monaco-diff-editor"));
    await window.command("postil: Accept File");
    await window.until("it is made", () => onDisk("c.rs").includes("Option"));
    await inText(window, "the last file of a review");
    model.release();
    await last("Changed in two.");

    // In the conversation the button that goes hands it on.
    await enter(window, "why?");
    await walk(window, "Tab", ".comment-form");
    await type("Go on.");
    // Pressed while the window draws the box anew, it does nothing.
    await window.again(
        "it is sent",
        () => window.page.keyboard.press("Control+Enter"),
        async () => (await margin(window)).flat().includes("Go on."),
    );
    await last("Go on.");
    await inText(window, "a question");
    await window.command("postil: Open Conversation");
    equal(await head(window), "Agent at work", "each word of what it does would take the keyboard");
    const page = await inner(window, "#cancel:not([hidden])");
    await window.page.keyboard.press("Control+2");
    const at = () => page.evaluate(() => document.activeElement.id || document.activeElement.closest("[id]")?.id);
    await window.until("the button has the keyboard", async () => {
        if ((await at()) === "cancel") return true;
        await window.page.keyboard.press("Tab");
        await window.page.waitForTimeout(100);
        return false;
    });
    await window.page.keyboard.press("Enter");
    await window.until("it is cancelled", () => page.locator("#cancel").isHidden());
    await window.until("its heading has it", async () => (await at()) === "title");
    // An error that is longer than the window: what is below is read all the same.
    await window.page.setViewportSize({ width: 650, height: 425 });
    const room = await page.evaluate(() => {
        document.getElementById("doing").textContent = "It does not answer. ".repeat(200);
        window.scrollTo(0, 1e6);
        return window.innerHeight - Math.max(0, document.querySelector("header").getBoundingClientRect().bottom);
    });
    ok(room > 60, `there is room below the header: ${room}`);
    await window.page.setViewportSize({ width: 1300, height: 850 });

    // Who pressed a message once and wrote in the text goes on there, whatever the thread tells.
    await enter(window, "why?");
    await window.page.locator(".review-comment .comment-body").nth(1).click();
    await window.toEditor();
    await window.page.keyboard.press("Control+Home");
    await type("1;\n");
    await window.until("the thread has moved", async () => plain(await window.page.locator(".comments-panel").innerText()).includes("[Ln 2-"));
    await inText(window, "a pause");

    // One's own words, edited and left.
    await enter(window, "why?");
    const edit = async () => {
        await walk(window, "Tab", ".review-comment:last-child .codicon-edit");
        await window.page.keyboard.press("Enter");
        await window.until("the box", () => has(window, ".edit-textarea"));
    };
    await edit();
    await window.page.keyboard.press("End");
    await type(" Tell.");
    await window.page.keyboard.press("Control+Enter");
    await last("Go on. Tell.");
    await inText(window, "an edit");
    await enter(window, "why?");
    await edit();
    await window.page.keyboard.press("Control+m");
    await walk(window, "Tab", '.edit-container [aria-label^="Cancel"]');
    await window.page.keyboard.press("Enter");
    await inText(window, "an edit that was left");
    await window.page.keyboard.press("Control+m");

    // Resolved in its title, with its last reply in its box: gone, and the keyboard is in the text.
    await enter(window, "why?");
    await walk(window, "Shift+Tab", ".review-actions .action-label");
    await walk(window, "ArrowRight", ".review-actions .codicon-check");
    await window.page.keyboard.press("Enter");
    await window.until("it is gone", async () => (await margin(window)).length === 0);
    await inText(window, "what was resolved");
}
