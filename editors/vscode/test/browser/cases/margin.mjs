// Threads in the margin: asked, answered, edited, resolved, undone.
import { appendFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { plain } from "../code.mjs";
import { discard, draft, equal, folder, glyphs, inner, margin, ok, openThread, pressIn, titleAction, typeReply } from "../parts.mjs";

/** What a file says loads nothing and leads nowhere, though it ends its code in the middle of a thread. */
export async function texts(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    const asked = [];
    window.page.on("request", (request) => asked.push(request.url()));
    await window.file("notes.rs");
    await window.until("a mark in the margin", async () => (await glyphs(window).count()) === 1);
    await openThread(window, 0);
    const body = window.page.locator(".review-widget .comment-body");
    const shown = await window.until("the whole text, and what it is answered with", async () => {
        const text = plain(await body.nth(1).innerText());
        return text.includes("the end") && text.includes("tokio") && text;
    });
    ok(shown.includes("![x](https://evil.example/p.png)") && shown.includes("[Show details](command:"), `as it stands: ${shown}`);
    equal(await body.locator("img").count(), 0, "images");
    equal(await body.locator("a").allInnerTexts(), ["(a) tokio", "(b) ![i](https://evil.example/q.png) [No](https://evil.example)"], "its links are its answers");
    equal(asked.filter((url) => url.includes("evil.example")), [], "what was asked of the image's host");
}

/** A file that was shut and is opened again: what is being written in a box stays at its thread, wherever that goes. */
export async function reopened(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    const { keyboard } = window.page;
    const marks = (many) => window.until(`${many} marks`, async () => (await glyphs(window).count()) === many);
    await window.file("dup.rs", 1);
    await marks(2);
    await keyboard.press("End");
    for (const key of ["Enter", "Backspace"]) {
        for (let times = 0; times < 6; times += 1) await keyboard.press(key);
        await window.until(key, async () => (await window.lines()).findIndex((line) => line.includes("use z;")) === (key === "Enter" ? 7 : 1));
    }
    // A tab looks saved while it is still being written.
    const written = () => statSync(join(folder, "dup.rs")).mtimeMs;
    const before = written();
    await keyboard.press("Control+s");
    await window.until("the file is saved", () => written() > before);
    await window.command("View: Close Editor");
    await window.page.locator(".tab", { hasText: "dup.rs" }).waitFor({ state: "detached" });
    appendFileSync(join(folder, "dup.rs"), "// from elsewhere\n");
    await window.file("dup.rs");
    await window.sees("// from elsewhere");
    await marks(2);
    await openThread(window, 0);
    await typeReply(window, "a draft");
    // Both go down by as much as they are apart.
    await window.toEditor();
    await window.goto(1);
    for (let times = 0; times < 2; times += 1) await keyboard.press("Shift+ArrowDown");
    await window.command("Copy Line Down");
    await window.until("two lines more", async () => (await window.lines()).filter((line) => line.includes("use z;")).length === 2);
    await keyboard.press("Control+End");
    await keyboard.type("// AUTHOR: last?");
    await marks(3);
    const above = await window.page.evaluate(() => {
        const top = (element) => element.getBoundingClientRect().top;
        const box = [...document.querySelectorAll(".review-widget")].find((widget) => widget.getBoundingClientRect().height > 0);
        return [...document.querySelectorAll(".comment-range-glyph.comment-thread-unresolved")].filter((mark) => top(mark) < top(box)).length;
    });
    equal(above, 1, "marks above the box");
    ok((await draft(window)).includes("a draft"), "what was not sent");
}

/** The main job: ask in the margin, have it answered, edit both, resolve, undo. */
export async function main(code, windows) {
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
    await window.notice("was not typed here");
    await titleAction(window, "Show What Is Asked", () => window.page.locator(".notifications-center.visible", { hasText: "was not typed here" }).isVisible());
    await window.press("Allow edits");
    await window.sees("// AGENT: Found 1 to-do");
    await window.until("the answer in the margin", async () => (await margin(window))[0]?.some((text) => text.includes("Found 1 to-do")));
    equal((await margin(window)).length, 1, "one thread, still open");
    // It changed nothing but that.
    const above = (label) => window.page.locator(`.review-widget .review-actions .action-label[aria-label^="${label}"]`);
    await above("Undo Last Turn").waitFor();
    equal(await above("Review Changes").count(), 0, "something to review");
    equal((await margin(window))[0][2], "list todos", "the reply in the margin");

    // What is typed in the text is in the margin at once, and an unsent reply is not lost by it.
    await typeReply(window, "half a rep");
    await window.toEditor();
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
    let typed = both.findIndex((texts) => texts.includes("where used lod"));
    ok(typed >= 0, `the thread that was typed: ${JSON.stringify(both)}`);
    const unsent = await draft(window, 1 - typed);
    ok(unsent.includes("half a rep"), `the unsent reply stays: ${unsent}`);
    // Nor where its thread leaves the text and comes back.
    const gone = async () => (await window.page.locator(".review-widget .head").allInnerTexts()).map((text) => plain(text).startsWith("No longer in the file")).join();
    await window.toEditor();
    await window.page.keyboard.press("Control+a");
    await window.page.keyboard.press("Delete");
    await window.until("both threads say that they are gone", async () => (await gone()) === "true,true");
    await window.page.keyboard.press("Control+z");
    await window.until("both are there again", async () => (await gone()) === "false,false");
    // The editor draws them anew, in another order.
    typed = (await margin(window)).findIndex((texts) => texts.includes("where used lod"));
    const kept = await draft(window, 1 - typed);
    ok(kept.includes("half a rep"), `the unsent reply is still there: ${kept}`);
    await window.goto(2);
    await window.toEditor();
    await window.page.keyboard.press("End");
    await window.page.keyboard.type(" now");
    await window.until("the margin follows the text", async () => (await margin(window)).some((texts) => texts.includes("where used lod now")));
    // While its first words are typed a thread gets ever new ids; it stays one object.
    equal((await margin(window)).length, 2, "open threads");

    // Resolved: gone in both. Undone: back in both.
    await titleAction(window, "Resolve", async () => !(await window.text()).includes("where used lod"), typed);
    await window.until("its mark is gone", async () => (await glyphs(window).count()) === 1);
    await window.toEditor();
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
        const empty = async () => (await margin(window)).findIndex((texts) => texts.length === 0);
        const at = await plus.boundingBox();
        await window.again("an empty thread", () => window.page.mouse.click(at.x + at.width / 2, place.y + place.height / 2), async () => (await empty()) >= 0);
        return empty();
    };
    await begin();
    await discard(window);
    await window.until("it is gone", async () => (await margin(window)).every((texts) => texts.length > 0));
    const fresh = await begin();
    await typeReply(window, "what is load", fresh);
    await pressIn(window, "Add Thread", fresh);
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
    await window.toEditor();
    await window.goto(4);
    await window.command("postil: Why Is This So?");
    const page = await inner(window, "body.vscode-body .code-line");
    await window.until("what was said", async () => (await page.locator("body").innerText()).includes("AUTHOR: where used lod now"));
    await window.page.locator(".tab", { hasText: "notes.rs" }).first().click();
    await window.toEditor();
    await window.goto(13);
    await window.command("postil: Why Is This So?");
    await window.notice("no closed conversation is tied to line 13 of notes.rs; it was last changed by");
    await window.command("Notifications: Clear All Notifications");

    // The last turn is taken back, and nothing that was written since.
    await window.toEditor();
    await window.goto(9);
    await window.command("postil: Undo Last Turn");
    await window.misses("Found 1 to-do");
    await window.sees("// AUTHOR: what is load");
    await window.sees("// AUTHOR: list todos");
}

/** One's own words, edited and taken back in the margin; nobody else's; and nothing of them is lost. */
export async function edit(code, windows) {
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
        const open = async () => {
            await comment(0).hover(window.short);
            await action(0, "Edit").click(window.short);
        };
        await window.again("a box for one's own words", open, () => draft.isVisible());
        await window.again("the keyboard is in it", () => draft.click(window.short), () => window.writes(".review-widget .edit-container"));
        await window.page.keyboard.press("Control+End");
    };
    const press = (label) => comment(0).locator(".edit-container .monaco-button").getByText(label, { exact: true }).click();

    // The agent's words are the agent's.
    await window.again("the pencil", () => comment(0).hover(window.short), () => action(0, "Edit").isVisible());
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

    // Given up and begun again in one breath: as it was.
    await begin();
    await window.page.keyboard.type(" No.", { delay: 5 });
    await press("Cancel");
    // The buttons are drawn anew at this moment: a press and a release on two of them are no click.
    await window.again("the box again", () => action(0, "Edit").click(window.short), () => draft.isVisible());
    await window.until("the box, as it was", async () => (await words()).trim() === "why? And since when?");
    await press("Cancel");
    await draft.waitFor({ state: "detached" });
    equal((await margin(window))[0][0], "why? And since when?", "given up");

    // The file changed meanwhile: refused, and the words are still there; saved again, they hold.
    await begin();
    await window.page.keyboard.type(" At last?", { delay: 5 });
    await window.toEditor();
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
    const bin = async () => {
        await comment(2).hover(window.short);
        await action(2, "Delete").click(window.short);
    };
    await window.again("the bin", bin, async () => !(await window.text()).includes("by the way"));
    await window.until("gone in the margin", async () => (await margin(window))[0]?.length === 2);
    ok((await window.lines()).includes("// AUTHOR:"), "the line for the author waits again");
    await window.toEditor();
    await window.page.keyboard.press("Control+z");
    await window.sees("// AUTHOR: by the way");
    await window.until("back in the margin", async () => (await margin(window))[0]?.[2] === "by the way");

    // A thread that goes while one's words are in a box: the box stays.
    await begin();
    await window.page.keyboard.type(" Unsent", { delay: 5 });
    await window.toEditor();
    await window.goto(5);
    await window.command("postil: Resolve (Remove Thread)");
    await window.misses("AUTHOR");
    // The window would give the box the keyboard, so it is told when the box has it.
    ok(await window.writes(), "the keyboard is in the text");
    await draft.click();
    await window.until("the thread says so", async () => plain(await window.page.locator(".review-widget .head").first().innerText()).startsWith("No longer in the file"));
    ok((await words()).includes("Unsent"), "the words in the box stay");
    await press("Save");
    await window.notice("the thread is no longer in the file; nothing was written");
    await draft.waitFor();
    ok((await words()).includes("Unsent"), "and are not lost by saving");
    await press("Cancel");
    await window.page.locator(".review-widget").waitFor({ state: "detached" });
}

/** Two windows on one folder: what is saved in one is in the margin of the other. */
export async function windows(code, windows) {
    const [one, two] = [await code.open(folder), await code.open(folder)];
    windows.push(one, two);
    await one.file("notes.rs");
    await two.file("notes.rs");
    await openThread(one, 0);
    await openThread(two, 0);
    await typeReply(one, "seen over there?");
    await pressIn(one, "Reply");
    await one.sees("// AUTHOR: seen over there?");
    await one.toEditor();
    await one.page.keyboard.press("Control+s");
    await two.sees("// AUTHOR: seen over there?");
    await two.until("in the other margin", async () => (await margin(two))[0]?.includes("seen over there?"));
    await titleAction(two, "Resolve", async () => !(await two.text()).includes("seen over there?"));
    await two.toEditor();
    await two.page.keyboard.press("Control+s");
    await one.misses("seen over there?");
    await one.until("its mark is gone", async () => (await glyphs(one).count()) === 0);
}
