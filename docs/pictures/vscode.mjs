// The pictures of VS Code: node vscode.mjs FOLDER VSIX OUT. Run by docs/pictures/make.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Code } from "../../editors/vscode/test/browser/code.mjs";
import { scripted } from "../../editors/vscode/test/browser/model.mjs";

const [, , folder, vsix, out] = process.argv;

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
const code = await Code.start({ vsix, env: model.env, settings: { "editor.wordWrap": "on", "diffEditor.wordWrap": "on" } });
try {
    const window = await code.open(folder, { viewport: { width: 1280, height: 760 } });
    const { page } = window;
    const picture = async (name) => {
        // Where nothing is told of what is below.
        await page.mouse.move(26, 500);
        await window.command("Notifications: Clear All Notifications");
        // The cursor blinks, and what is drawn moves into place.
        await page.waitForTimeout(700);
        await window.picture(join(out, `${name}.png`));
    };
    await window.file("fetch.rs");
    await window.sees("pub fn forecast");
    await window.goto(7);
    await page.keyboard.press("Control+Shift+Enter");
    await page.keyboard.type("// AUTHOR: what about cities with a blank in their name?", { delay: 3 });
    const mark = page.locator(".comment-range-glyph.comment-thread-unresolved");
    await mark.first().waitFor();
    await mark.first().click();
    await page.locator(".review-widget .comment-body").first().waitFor();
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
    await picture("vscode-review");
} finally {
    await code.stop();
    model.stop();
}
