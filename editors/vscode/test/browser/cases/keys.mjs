// Who has the keyboard while an agent answers in a thread whose message was pressed before: whoever had it.
import { plain } from "../code.mjs";
import { draft, equal, folder, head, listens, margin, ok, openThread, typeReply } from "../parts.mjs";

/** Whether what has the keyboard is in `place`. */
const has = (window, place) => window.page.evaluate((place) => Boolean(document.activeElement?.closest(place)), place);

/** Presses a message, and then the text. */
async function pressMessage(window, at = 0) {
    const message = window.page.locator(".review-widget .review-comment .comment-body").nth(at);
    await window.again("a message has the keyboard", () => message.click(window.short), () => has(window, ".review-comment"));
    const line = window.page.locator(".editor-instance .view-line", { hasText: "AUTHOR: what is it?" }).first();
    await window.again("the text has it", () => line.click(window.short), () => window.writes());
}

/** The line with `words`, as it stands. */
const line = async (window, words) => (await window.lines()).find((line) => line.includes(words));

/** Who presses a message, goes back by a key and types at once, in the very thread. */
export async function back(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    const { keyboard } = window.page;
    await window.file("a.rs");
    await openThread(window, 0);
    await window.until("what was said", async () => (await margin(window))[0]?.[0] === "why");
    await window.goto(1);
    await keyboard.press("End");
    const message = window.page.locator(".review-widget .review-comment .comment-body").first();
    let typed = "";
    for (const word of [" one", " two", " three", " four", " five", " six"]) {
        // A key that the margin will be told of.
        await keyboard.type(word.slice(0, 2));
        await window.page.waitForTimeout(600);
        const place = await message.boundingBox();
        await window.page.mouse.click(place.x + 5, place.y + 5);
        await window.until("a message has the keyboard", () => has(window, ".review-comment"));
        await keyboard.press("Control+1");
        await keyboard.type(word.slice(2), { delay: 30 });
        for (let at = 0; at < 5; at += 1) {
            await window.page.waitForTimeout(70);
            await keyboard.type(String(at));
        }
        typed += `${word}01234`;
        await window.page.waitForTimeout(300);
        equal(await line(window, "AUTHOR"), `// AUTHOR: why${typed}`, "what was typed");
    }
    await window.until("in the margin", async () => (await margin(window))[0]?.[0] === `why${typed}`);
}

/** Goes on in the text, and has it answered. */
async function ask(window, words) {
    const line = (await window.lines()).lastIndexOf("// AUTHOR:") + 1;
    await window.goto(line);
    await window.page.keyboard.press("End");
    await window.page.keyboard.type(` ${words}`, { delay: 5 });
    await window.sees(`// AUTHOR: ${words}`);
    await window.until("in the margin", async () => (await margin(window))[0]?.at(-1) === words);
}

/** Has an agent answer, by the palette. */
async function begin(window) {
    await window.goto((await window.lines()).findLastIndex((line) => line.startsWith("// AUTHOR:")) + 1);
    await window.command("postil: Reply as Agent");
    await window.until("it is at work", async () => (await head(window)).startsWith("Agent at work"));
    ok(await window.writes(), "the keyboard is in the text while it works");
}

const answered = (window, words) => window.until(`${words} in the margin`, async () => (await margin(window))[0]?.at(-1) === words);

/** Types `text` slowly, and has the model go on in the midst of it. */
async function typeWhile(window, model, text) {
    for (const [at, key] of [...text].entries()) {
        if (at === 20 || at === 50) model.release();
        await window.page.keyboard.type(key);
        await window.page.waitForTimeout(60);
    }
}

export async function keys(code, windows, model) {
    const window = await code.open(folder, { viewport: { width: 1300, height: 1500 } });
    windows.push(window);
    const { keyboard } = window.page;
    await window.file("load.rs");
    await window.sees("fn load");
    await listens(window);
    await window.goto(1);
    await keyboard.press("Control+Shift+Enter");
    await keyboard.type("// AUTHOR: what is it?", { delay: 2 });
    await openThread(window, 0);
    await window.until("what was asked", async () => (await margin(window))[0]?.[0] === "what is it?");

    // Written in the text meanwhile.
    await pressMessage(window);
    await begin(window);
    await keyboard.press("Control+End");
    const typed = "// one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
    await typeWhile(window, model, typed);
    await window.sees(typed);
    await answered(window, "One.");
    ok(await window.writes(), "the keyboard is still in the text");
    await keyboard.type(" end");
    await window.sees(`${typed} end`);

    // Lines above it move it, and nothing more.
    await pressMessage(window, 1);
    await keyboard.press("Control+Home");
    for (const key of ["a", "b", "c"]) {
        await keyboard.type(`use ${key};\n`, { delay: 20 });
        await window.page.waitForTimeout(700);
    }
    equal((await window.lines()).slice(0, 4), ["use a;", "use b;", "use c;", "// AUTHOR: what is it?"], "what was typed above it");

    // The Comments panel has where it is now as soon as its file is not seen.
    await window.file("main.rs");
    await window.command("Comments: Focus on Comments View");
    await window.until("its line in the panel", async () => /what is it\?[^]*Ln 4\b/.test(plain(await window.page.locator(".comments-panel").innerText())));
    await window.command("View: Hide Panel");
    await window.file("load.rs");
    await window.until("it is shown again", async () => (await margin(window))[0]?.at(-1) === "One.");

    // Folded by Escape and unfolded again.
    const message = window.page.locator(".review-widget .review-comment .comment-body").first();
    const fold = async () => {
        await message.click(window.short);
        await keyboard.press("Escape");
    };
    await window.again("it is folded", fold, async () => (await window.page.locator(".review-widget").filter({ visible: true }).count()) === 0);
    await window.again("the text has it", () => window.command("View: Focus Active Editor Group"), () => window.writes());
    await keyboard.press("Control+Home");
    await window.page.waitForTimeout(1500);
    await openThread(window, 0);
    await window.page.waitForTimeout(300);
    ok(await window.writes(), "the keyboard is in the text when it is unfolded");

    // In the palette.
    await ask(window, "and now?");
    await pressMessage(window, 1);
    await begin(window);
    model.release();
    const input = window.page.locator(".quick-input-widget .quick-input-box input");
    await keyboard.press("F1");
    await input.waitFor();
    await keyboard.type("toggle ", { delay: 40 });
    await window.until("the text has the answer", async () => (await window.text()).includes("// AGENT: Two."));
    await answered(window, "Two.");
    await keyboard.type("word wrap", { delay: 40 });
    equal(await input.inputValue(), ">toggle word wrap", "all of it is in the palette");
    await keyboard.press("Escape");

    // In the find widget.
    await ask(window, "and where?");
    await pressMessage(window, 1);
    await begin(window);
    await keyboard.press("Control+f");
    const find = window.page.locator(".find-widget.visible .find-part textarea").first();
    await window.until("the find widget has it", () => find.evaluate((area) => area === document.activeElement).catch(() => false));
    await keyboard.press("Control+a");
    model.release();
    await keyboard.type("no such ", { delay: 40 });
    await answered(window, "Here.");
    await keyboard.type("words", { delay: 40 });
    equal(await find.inputValue(), "no such words", "all of it is in the find widget");
    await keyboard.press("Escape");

    // In a terminal.
    await ask(window, "and when?");
    await pressMessage(window, 1);
    await begin(window);
    await keyboard.press("Control+Backquote");
    const terminal = window.page.locator(".terminal-wrapper.active .xterm-rows");
    await window.until("a prompt", async () => /[$#]\s*$/.test(plain(await terminal.innerText(window.short).catch(() => "")).trim()));
    ok(await has(window, ".terminal-wrapper"), "the terminal has the keyboard");
    model.release();
    await keyboard.type("echo said-", { delay: 40 });
    await answered(window, "Now.");
    await keyboard.type("$((40 + 2))\n", { delay: 40 });
    await window.until("all of it is in the terminal", async () => plain(await terminal.innerText()).includes("said-42"));
    await keyboard.press("Control+Backquote");
    await window.toEditor();

    // With words in the reply box that were not sent.
    await ask(window, "and then?");
    await typeReply(window, "not sent yet");
    await pressMessage(window, 1);
    await begin(window);
    await keyboard.press("Control+End");
    await keyboard.type("\n");
    await typeWhile(window, model, typed.toUpperCase());
    await window.sees(typed.toUpperCase());
    await answered(window, "Three.");
    ok(await window.writes(), "the keyboard is in the text");
    ok((await draft(window)).includes("not sent yet"), "the draft stays");

    // In that box, in which an answer changes its thread; begun by a key in the thread's title.
    await ask(window, "and at last?");
    const action = window.page.locator('.review-widget .review-actions .action-label[aria-label^="Reply as Agent"]').first();
    await window.again("the button has it", () => action.focus(window.short), () => action.evaluate((one) => one === document.activeElement));
    await keyboard.press("Enter");
    await window.until("it is at work", async () => (await head(window)).startsWith("Agent at work"));
    ok(await window.writes(), "the keyboard is in the text when the button goes");
    await typeReply(window, ", one");
    const more = " two three four five six seven eight nine ten eleven twelve thirteen fourteen";
    await typeWhile(window, model, more);
    await answered(window, "Four.");
    await keyboard.type(" end", { delay: 40 });
    ok((await draft(window)).includes(`, one${more} end`), "all of it is in the box");
    ok(await window.writes(".review-widget .comment-form"), "the keyboard is still in the box");
    await window.toEditor();
}
