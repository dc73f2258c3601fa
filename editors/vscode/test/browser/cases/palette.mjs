// What is done from the palette and by the settings, without a mouse in the margin.
import { writeFileSync } from "node:fs";
import { plain } from "../code.mjs";
import { equal, folder, glyphs, inner, listens, ok, rows } from "../parts.mjs";

/** From thread to thread, all at once, the history, the user's own settings, and what is shown switched off and on. */
export async function palette(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    const told = async (command, what) => {
        await window.command(command);
        await window.notice(what);
        await window.command("Notifications: Clear All Notifications");
    };
    await window.file("notes.rs");
    await listens(window);
    await told("postil: Reply to All Pending in This File", "no thread waits for an answer");
    await told("postil: Resolve (Remove Thread)", "postil: there is no thread at the cursor");
    await told("postil: Open a Run of the History", "there is no run yet");

    // What is for threads as there is none by now is not offered.
    const offers = async (title) => {
        await window.page.keyboard.press("F1");
        await window.page.locator(".quick-input-widget .quick-input-box input").fill(`>${title}`);
        const list = window.page.locator(".quick-input-list .monaco-list-row");
        // Something always is like it.
        await list.first().waitFor();
        const found = (await list.allInnerTexts()).some((row) => plain(row).includes(title));
        await window.page.keyboard.press("Escape");
        return found;
    };
    ok(!(await offers("postil: Cancel Turn")), "no turn runs");
    ok(!(await offers("postil: Open Conversation")), "nor has one run");
    ok(await offers("postil: Reply as Agent"), "one waits");

    // From one to the next, over the end of the file, and back.
    await window.goto(1);
    await window.command("postil: Go to Next Thread");
    await window.at(5);
    await window.command("postil: Go to Next Thread");
    await window.page.locator(".tab.active", { hasText: "a.rs" }).waitFor();
    await window.at(1);
    await window.command("postil: Go to Previous Thread");
    await window.page.locator(".tab.active", { hasText: "notes.rs" }).waitFor();
    await window.at(5);

    // All that wait: the one in the other file, which then has a run to be read.
    await window.file("a.rs");
    await window.toEditor();
    await window.goto(3);
    await window.page.keyboard.type("// AUTHOR: list todos", { delay: 2 });
    await window.until("both wait", async () => (await window.status()).trim() === "3");
    await window.command("postil: Reply to All Pending");
    // One question is for both: the words that were typed came with the file, too.
    await window.notice("2 threads of a.rs have messages that were not typed here");
    await window.press("Allow edits");
    await window.until("the answers", async () => ((await window.text()).match(/\/\/ AGENT: Found/g) ?? []).length === 2);
    ok(await offers("postil: Open Conversation"), "by now one has run");
    await window.take(">postil: Open a Run of the History", "postil: Open a Run of the History");
    const run = window.page.locator(".quick-input-list .monaco-list-row", { hasText: "list todos" }).first();
    const conversation = window.page.locator(".tab", { hasText: "Conversation" });
    await window.again("a run", () => run.click(window.short), () => conversation.isVisible());
    await window.until("its conversation", async () => /list todos/.test(await (await inner(window, "#rounds")).locator("#rounds").innerText()));
    await window.command("View: Close Editors in Other Groups");
    await conversation.waitFor({ state: "hidden" });

    // What is shown is switched off and on, and comes and goes with the press.
    const lenses = window.page.locator(".codelens-decoration a");
    await window.file("a.rs");
    await window.until("code lenses", async () => (await lenses.count()) > 0);
    writeFileSync(code.machine, JSON.stringify({ "postil.editor.codeLens": false }));
    await window.until("no code lens", async () => (await lenses.count()) === 0);
    // What is neither on nor off is as if it were not set.
    writeFileSync(code.machine, JSON.stringify({ "postil.editor.codeLens": null }));
    await window.until("code lenses again", async () => (await lenses.count()) > 0);

    // What no editor may set is written where it counts.
    await window.command("postil: Open config.toml");
    await window.page.locator(".tab.active", { hasText: "config.toml" }).waitFor();
    await window.sees("# Who answers.");
    await window.command("View: Revert and Close Editor");

    // Wider than the default, by the author's own setting: nothing to complain of.
    writeFileSync(code.machine, JSON.stringify({ "postil.turn.maxCost": 20, "postil.turn.trigger": "onSave" }));
    await window.command("postil: Restart Server");
    await window.until("it is back", async () => (await window.status()).trim() === "3");
    equal((await window.notices()).filter((text) => text.includes("postil")), [], "nothing is refused");
    await window.command("View: Show postil");
    await window.until("the view Threads", async () => (await rows(window).count()) > 0);
    const panel = window.page.locator(".part.panel");
    equal(await panel.isVisible(), false, "a panel");
    await window.command("postil: Show Log");
    await panel.waitFor();
    await window.file("notes.rs");
    await window.until("its mark", async () => (await glyphs(window).count()) === 1);
}
