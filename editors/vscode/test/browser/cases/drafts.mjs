// What was written in a reply box and not sent: it stays in its box, or is handed back.
import { readdirSync, readlinkSync } from "node:fs";
import { hang } from "../../hang.cjs";
import { plain } from "../code.mjs";
import { draft, equal, folder, glyphs, margin, ok, openThread, pressIn, titleAction, typeReply } from "../parts.mjs";

/** Waits for a message that has these words, and takes them from there into the file, at its end. */
async function takeBack(window, words, ...before) {
    await window.notice(words);
    for (const text of before) await window.notice(text);
    await window.press("Copy");
    await window.until("it is copied", async () => (await window.page.evaluate(() => navigator.clipboard.readText())) === words);
    await window.toEditor();
    await window.page.keyboard.press("Control+End");
    await window.page.keyboard.press("Control+v");
    await window.sees(words);
    await window.page.keyboard.press("Control+z");
    await window.misses(words);
}

/** The servers on this project. */
function servers() {
    const at = (pid, what) => {
        try {
            return readlinkSync(`/proc/${pid}/${what}`);
        } catch {
            // It is gone, or another user's.
            return "";
        }
    };
    return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && at(pid, "cwd") === folder && at(pid, "exe").endsWith("/postil"));
}

export async function drafts(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const { keyboard } = window.page;
    await window.file("a.rs");
    await openThread(window, 0);

    // Folded in the moment in which its messages are away.
    await typeReply(window, "said while it folds");
    const message = window.page.locator(".review-widget .review-comment .comment-body").first();
    await message.click();
    await window.page.evaluate(() => {
        const observer = new MutationObserver(() => {
            const widget = document.querySelector(".review-widget");
            if (widget?.querySelectorAll(".comment-body").length === 0) {
                observer.disconnect();
                widget.querySelector(".review-actions .action-item:last-child .action-label").click();
            }
        });
        observer.observe(document.body, { subtree: true, childList: true });
    });
    await window.goto(1);
    await keyboard.press("End");
    await keyboard.type(" now");
    await takeBack(window, "said while it folds", "a.rs");
    await window.until("its mark", async () => (await glyphs(window).count()) === 1);

    // Folded when they are back, while another thread goes.
    await openThread(window, 0);
    await window.until("what is said by now", async () => (await margin(window))[0]?.[0] === "why now");
    await window.goto(2);
    await keyboard.press("Control+End");
    await keyboard.type("// AUTHOR: another", { delay: 15 });
    await window.until("its mark", async () => (await glyphs(window).count()) === 2);
    await typeReply(window, "said while another goes");
    await message.click();
    await window.page.evaluate(() => {
        let away = false;
        const observer = new MutationObserver(() => {
            const widget = [...document.querySelectorAll(".review-widget")].find((one) => one.getBoundingClientRect().height > 0);
            const messages = widget?.querySelectorAll(".comment-body").length ?? 0;
            away ||= messages === 0;
            if (away && messages > 0) {
                observer.disconnect();
                widget.querySelector(".review-actions .action-item:last-child .action-label").click();
            }
        });
        observer.observe(document.body, { subtree: true, childList: true });
    });
    await window.goto(1);
    await keyboard.press("End");
    await keyboard.type("adays");
    await window.until("it is folded", async () => (await window.page.locator(".review-widget").filter({ visible: true }).count()) === 0);
    for (const key of ["ArrowDown", "ArrowDown"]) await keyboard.press(key);
    await window.command("postil: Resolve (Remove Thread)");
    await window.until("the other's mark is gone", async () => (await glyphs(window).count()) === 1);
    await window.page.waitForTimeout(12_000);
    equal(await window.notices(), [], "nothing is lost");
    await openThread(window, 0);
    ok((await draft(window)).includes("said while another goes"), "it is in its box");
    await typeReply(window, "");
    for (const key of ["Control+a", "Delete"]) await keyboard.press(key);
    await window.until("it is empty", async () => (await draft(window)) === "");
    await window.toEditor();
    await window.goto(1);
    await keyboard.press("End");
    for (let times = 0; times < 5; times += 1) await keyboard.press("Backspace");

    // Put away with its thread.
    await openThread(window, 0);
    await window.until("what is said by now", async () => (await margin(window))[0]?.[0] === "why now");
    await typeReply(window, "said when it was resolved");
    await titleAction(window, "Resolve", async () => !(await window.text()).includes("AUTHOR"));
    await takeBack(window, "said when it was resolved");
    await keyboard.press("Control+z");
    await window.sees("// AUTHOR: why now");

    // Its file gets another name.
    await openThread(window, 0);
    await typeReply(window, "said under the old name");
    await window.toEditor();
    await keyboard.press("Control+s");
    await window.command("File: Reveal Active File in Explorer View");
    const row = window.page.locator(".explorer-folders-view .monaco-list-row.selected", { hasText: "a.rs" });
    await row.waitFor();
    const name = window.page.locator(".explorer-folders-view .monaco-inputbox input");
    await window.again("the name", () => row.click(window.short).then(() => keyboard.press("F2")), () => name.isVisible());
    await name.fill("b.rs");
    await keyboard.press("Enter");
    await window.page.locator(".tab.active", { hasText: "b.rs" }).waitFor();
    await takeBack(window, "said under the old name", "b.rs");

    // It stays where its file is left for another, where the same words stand; the window is loaded anew.
    await window.file("d.rs");
    await openThread(window, 0);
    await typeReply(window, "said before it was loaded");
    await window.toEditor();
    await window.file("b.rs");
    await openThread(window, 0);
    await typeReply(window, "said before it was loaded");
    await window.toEditor();
    await window.file("c.rs");
    await window.sees("fn c");
    await window.file("b.rs");
    await window.until("it is there again", async () => (await draft(window).catch(() => "")).includes("said before it was loaded"));
    await window.page.waitForTimeout(4000);
    equal(await window.notices(), [], "nothing is lost where it is there again");
    await window.toEditor();
    await window.file("d.rs");
    await window.until("it is there again", async () => (await draft(window).catch(() => "")).includes("said before it was loaded"));
    await pressIn(window, "Reply");
    await window.sees("// AUTHOR: said before it was loaded");
    await window.toEditor();
    await window.file("c.rs");
    await window.page.waitForTimeout(4000);
    equal(await window.notices(), [], "nothing is lost");
    await window.page.reload();
    await window.page.waitForSelector(".monaco-workbench");
    // VS Code in a browser saves which file is shown every few seconds, and not as it goes: it may have been d.rs.
    await window.file("c.rs");
    await takeBack(window, "said before it was loaded", "b.rs", "when this window was last shut");

    // A message that is edited: given up it is no loss, and one whose window is loaded anew is.
    await window.file("b.rs");
    await openThread(window, 0);
    const edit = async (words) => {
        const box = window.page.locator(".review-widget .edit-container .monaco-editor");
        await window.again("its box", () => window.page.locator('.review-comment .action-label[aria-label="Edit"]').first().click(window.short), () => window.writes(".review-widget .edit-container"));
        await keyboard.press("Control+End");
        await keyboard.type(words, { delay: 5 });
        await window.until("the words in it", async () => plain(await box.locator(".view-lines").innerText()).includes(words));
        return box;
    };
    const given = await edit(" and given up");
    await window.page.locator(".edit-container .monaco-button").getByText("Cancel", { exact: true }).click();
    await given.waitFor({ state: "detached" });

    // Saved by a server that takes longer than a box to be drawn: not lost meanwhile.
    await edit(", late");
    const slow = servers();
    equal(slow.length, 1, "servers");
    await hang(slow[0]);
    await window.page.locator(".edit-container .monaco-button").getByText("Save", { exact: true }).click();
    await window.page.waitForTimeout(5000);
    equal(await window.notices(), [], "nothing is lost while it is saved");
    process.kill(Number(slow[0]), "SIGCONT");
    await window.sees("// AUTHOR: why now, late");
    await window.until("it is shown", async () => (await margin(window))[0]?.[0] === "why now, late");

    // What comes to words that are on their way goes with these from the box.
    await typeReply(window, "sent");
    await hang(slow[0]);
    await pressIn(window, "Reply");
    await typeReply(window, " and said on");
    process.kill(Number(slow[0]), "SIGCONT");
    await window.sees("// AUTHOR: sent");
    await takeBack(window, "and said on", "a reply in b.rs had not been sent when the words before it were");

    await edit(" or not");
    await window.page.reload();
    await window.page.waitForSelector(".monaco-workbench");
    await takeBack(window, "why now, late or not", "a message that you edited in b.rs had not been saved when this window was last shut");
    await window.page.reload();
    await window.page.waitForSelector(".monaco-workbench");
    await window.file("b.rs");
    await window.until("its mark", async () => (await glyphs(window).count()) === 1);
    await window.page.waitForTimeout(4000);
    equal(await window.notices(), [], "it is told once");

    // The window shows its folder as one of a workspace.
    await openThread(window, 0);
    await typeReply(window, "said on the folder");
    await window.toEditor();
    await window.page.waitForTimeout(1000);
    await window.page.goto("about:blank");
    const whole = await code.open(`${folder}/all.code-workspace`);
    windows.push(whole);
    await whole.notice("said on the folder");
}
