// Who has the keyboard while an agent answers in a thread whose message was pressed before: whoever had it.
import { draft, equal, folder, head, listens, margin, ok, openThread, typeReply } from "../parts.mjs";

/** Whether what has the keyboard is in `place`. */
const has = (window, place) => window.page.evaluate((place) => Boolean(document.activeElement?.closest(place)), place);

/** Presses a message, and then the text. */
async function pressMessage(window, at = 0) {
    const message = window.page.locator(".review-widget .review-comment .comment-body").nth(at);
    await window.again("a message has the keyboard", () => message.click(window.short), () => has(window, ".review-comment"));
    const line = window.page.locator(".editor-instance .view-line", { hasText: "fn load" }).first();
    await window.again("the text has it", () => line.click(window.short), () => window.writes());
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
    const window = await code.open(folder);
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
}
