// No test, a measurement (../../speed).
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { plain } from "../code.mjs";
import { folder, glyphs, inHost, openThread } from "../parts.mjs";

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** No test, a measurement: how long a key takes to the margin, and how long the extension takes to start. */
export async function speed(code, windows) {
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
    await window.toEditor();
    await window.goto(1);
    await window.page.keyboard.press("End");
    await window.page.evaluate(() => {
        window.keys = [];
        let pressed;
        document.addEventListener("keydown", () => (pressed = performance.now()), { capture: true });
        // A thread that was made anew comes with its messages.
        const shows = () => [...document.querySelectorAll(".review-widget .comment-body")].some((body) => body.textContent.includes(window.typed));
        new MutationObserver(() => {
            if (pressed !== undefined && shows()) {
                window.keys.push(performance.now() - pressed);
                pressed = undefined;
            }
        }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    let typed = "question 0";
    for (let at = 0; at < 40; at += 1) {
        const key = "abcdefgh"[at % 8];
        typed += key;
        const count = await window.page.evaluate((typed) => {
            window.typed = typed;
            return window.keys.length;
        }, typed);
        await window.page.keyboard.type(key);
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
}
