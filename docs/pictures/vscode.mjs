// The pictures of VS Code: node vscode.mjs FOLDER VSIX OUT [--check]. Run by docs/pictures/make. What they say stands in
// vscode.txt, and is what is compared: fonts are not the same everywhere.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Code, plain } from "../../editors/vscode/test/browser/code.mjs";
import { scripted } from "../../editors/vscode/test/browser/model.mjs";

const [, , folder, vsix, out, check] = process.argv;

const FETCH = `//! What the weather service says.

use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

pub fn forecast(city: &str) -> Result<String, Error> {
    let url = format!("{SERVICE}/forecast?city={city}");
    get(&url, TIMEOUT)
}
`;
const MAIN = `mod fetch;

fn main() -> Result<(), Error> {
    let city = std::env::args().nth(1).unwrap_or_default();
    println!("{}", fetch::forecast(&city)?);
    Ok(())
}
`;
const NOTES = `# AUTHOR: is this still needed?
# AGENT: Yes: \`main\` reads the city from the first argument, which CI leaves out.
# AUTHOR:
CITY ?= Bern

run:
\tcargo run -- $(CITY)
`;

mkdirSync(join(folder, "src"), { recursive: true });
writeFileSync(join(folder, "src/fetch.rs"), FETCH);
writeFileSync(join(folder, "src/main.rs"), MAIN);
writeFileSync(join(folder, "Makefile"), NOTES);
const git = (...args) => execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", ...args]);
git("init", "-q");
git("add", "-A");
git("commit", "-q", "-m", "Begin");

const model = await scripted([
    { calls: [["file_read", { path: "src/fetch.rs" }]], tokens: 3100 },
    {
        text: "The city goes into the address as it is, so a blank or an & in it breaks the request.",
        calls: [
            ["file_edit", { path: "src/fetch.rs", old_string: '    let url = format!("{SERVICE}/forecast?city={city}");', new_string: '    let city = urlencoding::encode(city);\n    let url = format!("{SERVICE}/forecast?city={city}");' }],
            ["file_edit", { path: "src/main.rs", old_string: ".nth(1).unwrap_or_default()", new_string: '.nth(1).unwrap_or("Bern".into())' }],
        ],
        tokens: 4300,
    },
    { text: "Encoded it with `urlencoding::encode`: `São Paulo` works now.\nWithout an argument it is Bern, as in the Makefile.", tokens: 5200, held: true },
]);
const PARTS = {
    tabs: ".tab .monaco-icon-label-container",
    lenses: ".codelens-decoration",
    "above the thread": ".review-widget .head",
    "in the thread": ".review-widget .comment-body",
    "its buttons": ".review-widget .form-actions .monaco-button",
    views: ".pane-header .title",
    "in the views": ".pane-body .monaco-list-row",
    "status bar": '.statusbar-item[id="postil.postil.postil"]',
};
const text = join(out, "vscode.txt");
const written = check ? readFileSync(text, "utf8") : "";
const heard = [];
const code = await Code.start({ vsix, env: model.env, settings: { "editor.wordWrap": "on", "diffEditor.wordWrap": "on" } });
try {
    const window = await code.open(folder, { viewport: { width: 1280, height: 760 } });
    const { page } = window;
    // Conversation, threads, views, status bar: what the extension has put there, without what is another each time.
    const said = async () => {
        const texts = [];
        for (const [what, where] of Object.entries(PARTS)) {
            const all = await page.locator(where).evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => (one.closest(".tab") ? one.textContent : one.innerText)));
            texts.push(`${what}:`, ...all.map((text) => `    ${plain(text).replace(/\s+/g, " ").trim()}`));
        }
        for (const frame of page.frames()) {
            const rounds = frame.locator("#rounds");
            if ((await rounds.count().catch(() => 0)) > 0) {
                texts.push("conversation:", ...(await frame.locator("body").innerText()).split("\n").map((line) => `    ${line.trimEnd()}`));
            }
        }
        return texts.join("\n").replaceAll(/\d+(\.\d+)? m?s\b/g, "LONG").replaceAll(/\b[0-9a-f]{32}\b/g, "ID");
    };
    const picture = async (name) => {
        if (check) {
            // It may still come to be.
            const [, known] = written.split(`== ${name}\n`);
            const end = Date.now() + 20_000;
            let now;
            do now = `${await said()}\n`;
            while (now !== known?.split("== ")[0] && Date.now() < end && (await page.waitForTimeout(200), true));
            heard.push(`== ${name}\n${now}`);
            return;
        }
        // Where nothing is told of what is below.
        await page.mouse.move(26, 500);
        await window.command("Notifications: Clear All Notifications");
        // The cursor blinks, and what is drawn moves into place.
        await page.waitForTimeout(700);
        await window.picture(join(out, `${name}.png`));
        heard.push(`== ${name}\n${await said()}\n`);
    };
    await window.file("fetch.rs");
    await window.sees("pub fn forecast");
    await window.goto(7);
    await page.keyboard.press("Control+Shift+Enter");
    await page.keyboard.type("// AUTHOR: what about cities with a blank in their name?", { delay: 3 });
    const mark = page.locator(".comment-range-glyph.comment-thread-unresolved");
    await mark.first().waitFor();
    const body = page.locator(".review-widget .comment-body").first();
    await window.again("the thread", () => mark.first().click(window.short), () => body.isVisible());
    await window.command("View: Show postil");
    await page.locator(".pane-body .monaco-list-row", { hasText: "Makefile" }).first().waitFor();
    await page.locator('.review-widget .review-actions .action-label[aria-label^="Reply as Agent"]').click();
    await window.until("it works", async () => /at work/.test(await window.status()) && model.requests.length === 3);
    await page.locator('.review-widget .review-actions .action-label[aria-label^="Open Conversation"]').click();
    const frame = await window.until("the conversation", async () => {
        for (const one of page.frames()) {
            if ((await one.locator(".added").count().catch(() => 0)) > 0) return one;
        }
        return undefined;
    });
    await frame.locator("body").evaluate(() => window.scrollTo(0, 0));
    await picture("vscode-conversation");
    model.release();
    await window.until("it has ended", async () => (await frame.locator("#facts").innerText()).startsWith("completed"));
    await window.command("View: Focus First Editor Group");
    await window.command("View: Close Editors in Other Groups");
    await window.sees("// AGENT: Encoded");
    // The editor asks for it when it finds the time.
    await page.locator(".codelens-decoration", { hasText: "answered" }).waitFor();
    await picture("vscode-thread");
    await page.locator('.review-widget .review-actions .action-label[aria-label^="Review Changes"]').click();
    const rows = page.locator('.pane:has(.pane-header[aria-label*="Review"]) .monaco-list-row');
    await window.until("two files to review", async () => (await rows.count()) === 2);
    await rows.filter({ hasText: "main.rs" }).click();
    await page.locator(".monaco-diff-editor").first().waitFor();
    await window.until("the diff", async () => (await page.locator(".monaco-diff-editor .line-insert").count()) > 0);
    // What is typed into a list while the diff takes the keyboard would stand in the file.
    await window.until("the keyboard in the diff", () => window.writes(".monaco-diff-editor"));
    await picture("vscode-review");
} finally {
    await code.stop();
    model.stop();
}
const now = heard.join("");
if (!check) {
    writeFileSync(text, now);
} else if (now !== written) {
    const [was, is] = [written.split("\n"), now.split("\n")];
    for (const line of was) if (!is.includes(line)) console.log(`-${line}`);
    for (const line of is) if (!was.includes(line)) console.log(`+${line}`);
    console.log("no longer as the picture shows it: vscode");
    process.exitCode = 1;
}
