// Where it runs: workspaces of several roots, notebooks, the first minutes, a web window, the extension host.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { plain } from "../code.mjs";
import { equal, folder, glyphs, here, inHost, inner, ok, pressIn, rowAction, typeReply } from "../parts.mjs";

/** A workspace of several roots, one of them on no disk: one server, and the threads of each. */
export async function roots(code, windows) {
    const starts = join(code.dir, "starts");
    const program = join(code.dir, "counted");
    writeFileSync(program, `#!/bin/sh\n[ "$1" = --version ] || echo start >>${starts}\nexec postil "$@"\n`, { mode: 0o755 });
    writeFileSync(code.machine, JSON.stringify({ "postil.path": program }));
    const window = await code.open(join(folder, "all.code-workspace"), { anew: () => rmSync(starts, { force: true }) });
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
    // The same words at the same place: the threads have one id.
    await window.page.locator(".pane-body .monaco-list-row", { hasText: "list todos" }).nth(1).click();
    await window.sees("// AUTHOR: list todos");
    await window.command("postil: Reply as Agent");
    await window.notice("This question was not typed here");
    await window.press("Allow edits");
    await window.sees("// AGENT: Found 1 to-do");
    await window.until("the state in the view", async () => (await rows()).some((row) => row.includes("two · 1 answered")));
    ok((await rows()).some((row) => row.includes("one · 1 awaiting agent")), `the other waits on: ${JSON.stringify(await rows())}`);
    ok(!readFileSync(join(folder, "one/notes.rs"), "utf8").includes("AGENT"), "and is not answered");
    equal(readFileSync(starts, "utf8"), "start\n", "servers that were started");
    // And in the editor's own panel, of each root.
    await window.command("Comments: Focus on Comments View");
    await window.until("both in the panel", async () => {
        const all = plain(await window.page.locator(".comments-panel").innerText());
        return all.split("list todos").length === 3;
    });
    // Where its thread is gone a conversation leads to the file of its root, though the other has one of that path.
    await window.toEditor();
    await window.command("postil: Open Conversation");
    const page = await inner(window, "#rounds .link");
    await window.command("postil: Resolve (Remove Thread)");
    await window.misses("list todos");
    await window.page.keyboard.press("Control+s");
    await window.command("View: Close Editor");
    await page.getByRole("button", { name: "notes.rs:1" }).first().click();
    await window.sees("fn b()");
    ok(!(await window.text()).includes("list todos"), "it is the file of the other root");
    equal((await window.notices()).filter((text) => text.includes("postil")), [], "nothing is wrong");

    // A file outside, whose folder comes while it is seen.
    const third = mkdtempSync(join(code.dir, "third-"));
    writeFileSync(join(third, "late.rs"), "fn late() {}\n");
    await window.file(join(third, "late.rs"));
    const line = await window.page.locator(".editor-instance .view-line", { hasText: "fn late" }).first().boundingBox();
    const gutter = await window.page.locator(".editor-instance .margin").first().boundingBox();
    const at = [gutter.x + gutter.width - 18, line.y + line.height / 2];
    const plus = window.page.locator(".comment-range-glyph.comment-diff-added, .comment-range-glyph.line-hover, .comment-range-glyph.multiline-add");
    const hover = async () => {
        await window.page.mouse.move(at[0] + Math.random() * 4, at[1]);
        return (await plus.count()) > 0;
    };
    // As long as it takes where there is one.
    for (let times = 0; times < 30; times += 1) {
        ok(!(await hover()), "no + outside of every folder");
        await window.page.waitForTimeout(50);
    }
    const all = JSON.parse(readFileSync(join(folder, "all.code-workspace"), "utf8"));
    writeFileSync(join(folder, "all.code-workspace"), JSON.stringify({ folders: [...all.folders, { path: third }] }));
    await window.until("a +", hover);
    const box = window.page.locator(".review-widget .comment-form");
    await window.again("a thread is begun", () => window.page.mouse.click(...at), () => box.isVisible());
    await typeReply(window, "list todos");
    await pressIn(window, "Add Thread");
    await window.sees("// AUTHOR: list todos");
}

/** A folder that is taken out of the workspace while a turn runs in a file that is seen: nothing in its text tells of that. */
export async function left(code, windows, model) {
    const workspace = join(folder, "all.code-workspace");
    const window = await code.open(workspace);
    windows.push(window);
    await window.until("it is counted", async () => (await window.status()).trim() === "1");
    await window.command("View: Show postil");
    await window.page.locator(".pane-body .monaco-list-row", { hasText: "what is it?" }).click();
    await window.sees("// AUTHOR: what is it?");
    await window.command("postil: Reply as Agent");
    await window.press("Allow edits");
    await window.until("the model is asked", () => model.requests.length === 1);
    writeFileSync(workspace, JSON.stringify({ folders: [{ path: "one" }] }));
    await window.notice("the turn in notes.rs was cut off: its folder is not in this window any more.");
}

/** A thread in a cell of a notebook: in the view, and answered on the disk, from where the editor takes it. */
export async function notebook(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    await window.until("it is counted", async () => (await window.status()).trim() === "1");
    await window.command("View: Show postil");
    const row = window.page.locator(".pane-body .monaco-list-row", { hasText: "list todos" });
    await row.click();
    const cells = async () => (await window.lines(".notebook-editor .monaco-editor")).join("\n");
    await window.until("the cell", async () => (await cells()).includes("# AUTHOR: list todos"));
    await rowAction(window, row, "Reply as Agent", async () => (await window.notices()).some((text) => text.includes("no editor tells what is typed in a notebook's cells; it stands in a.ipynb:")));
    await window.press("Allow edits");
    await window.until("the answer in the cell", async () => (await cells()).includes("# AGENT: Found 1 to-do"));
    const read = JSON.parse(readFileSync(join(folder, "a.ipynb"), "utf8"));
    equal(read.cells.length, 2, "cells");
    ok(read.cells[1].source.join("").startsWith("# AUTHOR: list todos\n# AGENT: Found 1 to-do"), "and in its file");
    await window.until("the state in the view", async () => /1 answered/.test((await window.page.locator(".pane-body .monaco-list-row").allInnerTexts()).join()));

    // Gone to, it is the notebook and not its JSON; and from there on.
    writeFileSync(join(folder, "b.py"), "# AUTHOR: and here?\nx = 1\n");
    await window.until("both are counted", async () => (await window.status()).trim() === "2");
    const active = (name) => window.page.locator(".tab.active", { hasText: name });
    for (const name of ["a.ipynb", "b.py", "a.ipynb", "b.py"]) {
        await window.command("postil: Go to Next Thread");
        await active(name).waitFor();
        if (name === "a.ipynb") await window.until("the cell", async () => (await cells()).includes("# AUTHOR: list todos"));
    }
    // Nor is it told that a turn has ended whose answer is seen.
    equal((await window.notices()).filter((text) => !text.includes("kernel")), [], "nothing is wrong");
}

/** A notebook in which is typed and not saved: what a verb and a turn write there is kept, and so is what was typed. */
export async function unsaved(code, windows, model) {
    const window = await code.open(folder);
    windows.push(window);
    await window.until("both are counted", async () => (await window.status()).trim() === "2");
    await window.command("View: Show postil");
    const row = (words) => window.page.locator(".pane-body .monaco-list-row", { hasText: words });
    await row("and this?").click();
    const cells = async () => (await window.lines(".notebook-editor .monaco-editor")).join("\n");
    const disk = () => JSON.parse(readFileSync(join(folder, "a.ipynb"), "utf8")).cells.map(({ source }) => [source].flat().join(""));
    await window.until("the cells", async () => (await cells()).includes("y = 2"));
    const type = async (words) => {
        const line = window.page.locator(".notebook-editor .monaco-editor .view-line", { hasText: "y = 2" }).first();
        await window.again("the keyboard is in the cell", () => line.click(window.short), () => window.writes(".notebook-editor .monaco-editor"));
        await window.page.keyboard.press("Control+End");
        await window.page.keyboard.type(words, { delay: 5 });
        await window.until(`${words} in the cell`, async () => (await cells()).includes(words.trim()));
    };
    const saves = async (words) => {
        await window.page.keyboard.press("Control+s");
        await window.until(`${words} on the disk`, () => disk()[1].endsWith(words));
    };

    await type(" + 5");
    await rowAction(window, row("why one?"), "Resolve", async () => (await row("why one?").count()) === 0);
    await window.until("the cell without it", async () => !(await cells()).includes("why one?"));
    await type(" + 6");
    await saves("y = 2 + 5 + 6");
    ok(!disk()[0].includes("why one?"), `it is resolved: ${JSON.stringify(disk())}`);

    await rowAction(window, row("and this?"), "Reply as Agent", async () => (await window.notices()).some((text) => text.includes("no editor tells what is typed")));
    await window.press("Allow edits");
    await window.until("the agent has read it", () => model.requests.length === 2);
    await type(" + 7");
    model.release();
    await window.until("its edit in the cell", async () => (await cells()).includes("k = 4"));
    await type(" + 8");
    model.release();
    await window.until("its answer in the cell", async () => (await cells()).includes("# AGENT: Because of k."));
    await type(" + 9");
    await saves("y = 2 + 5 + 6 + 7 + 8 + 9");
    const [, , last] = disk();
    ok(last.startsWith("# AUTHOR: and this?\n# AGENT: Because of k.") && last.includes("k = 4"), `it is on the disk: ${JSON.stringify(disk())}`);
    equal((await window.notices()).filter((text) => !text.includes("kernel")), [], "nothing is wrong");
}

/** The first minutes: no program, what to do about it, the walkthrough; then the package that brings it along. */
export async function start(code, windows) {
    const window = await code.open(folder);
    windows.push(window);
    await window.notice("The program postil is neither on the PATH nor set by postil.path.");
    await window.press("How to Install");
    const steps = window.page.locator(".gettingStartedContainer .getting-started-step");
    await window.until("the walkthrough's steps", async () => (await steps.count()) === 6);
    for (const title of ["Ask beside your code", "Choose who answers", "Have it answered", "See what changed", "Resolve it"]) {
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
    const pressed = (step, name, seen) => again.again(`${name} of the walkthrough`, () => step.getByRole("button", { name }).click(again.short), seen);
    await pressed(ask, "New Thread Here", () => again.page.locator(".tab.active", { hasText: "notes.rs" }).isVisible());
    await again.until("an empty thread, and the cursor in it", async () => (await again.lines())[0]?.trim() === "// AUTHOR:" && /Ln 1, Col 1[0-2]/.test(await again.page.locator(".statusbar").innerText()));
    // Answered by its lens, which the window does not take for the command of that name.
    await again.page.keyboard.type("list todos", { delay: 5 });
    const lens = again.page.locator(".codelens-decoration a", { hasText: "Reply as agent" }).first();
    await again.again("the lens", () => lens.click(again.short), async () => (await again.text()).includes("// AGENT: Found 1 to-do"));
    await again.command("postil: Open Walkthrough");
    const done = (step) => step.locator(".codicon-getting-started-step-checked.complete");
    await again.until("the step is done", async () => (await done(ask).count()) > 0);
    const answer = again.page.locator(".gettingStartedContainer .getting-started-step", { hasText: "Have it answered" });
    await again.until("so is the one of the lens", async () => (await done(answer).count()) > 0);
    const install = again.page.locator(".gettingStartedContainer .getting-started-step", { hasText: "Install the server" });
    await again.until("the program runs, so that its step is done too", async () => (await done(install).count()) > 0);
    const review = again.page.locator(".gettingStartedContainer .getting-started-step", { hasText: "See what changed" });
    await review.click();
    await pressed(review, "Review Changes", async () => (await again.notices()).some((text) => text.includes("no turn has changed a file that could be reviewed")));
    ok(!(await again.page.locator(".gettingStartedContainer").innerText()).includes("`"), "no back quotes are left to be read");

    // Checked by the program that came along, which is on no PATH.
    await again.command("postil: Check the Installation");
    const terminal = again.page.locator(".terminal-wrapper.active .xterm-rows");
    await again.until("the doctor's words", async () => /history/i.test(plain(await terminal.innerText().catch(() => ""))));
}

/** A window without a machine behind it: why it cannot work is where it is looked for. */
export async function web(code, windows) {
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
}

/** The tests of ../host, inside the editor's extension host. */
export async function host(code, windows) {
    const { status, told } = await inHost(code, windows, "index.cjs");
    ok(status === 0, `${status}\n${told.join("\n")}`);
}
