// The real editor: code-server with the packaged extension, in headless Chromium. Where nothing but a program's own
// words tell that something has come to be, it is waited for on the screen.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const peers = process.env.POSTIL_PEERS_DIR;
const { chromium } = createRequire(join(peers, "code-server/node_modules/"))("playwright-core");
const entry = join(peers, "code-server/node_modules/code-server/out/node/entry.js");

/** How long anything may take before a test fails. */
export const DEADLINE = Number(process.env.POSTIL_DEADLINE ?? 60_000);

const SETTINGS = {
    "workbench.startupEditor": "none",
    "telemetry.telemetryLevel": "off",
    // Or it tells of each port that anything on this machine opens.
    "remote.autoForwardPorts": false,
    "update.mode": "none",
    "extensions.autoUpdate": false,
    "extensions.autoCheckUpdates": false,
    "extensions.ignoreRecommendations": true,
    "workbench.enableExperiments": false,
    "workbench.settings.enableNaturalLanguageSearch": false,
    "chat.disableAIFeatures": true,
    "chat.commandCenter.enabled": false,
    "workbench.tips.enabled": false,
    "window.commandCenter": false,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.layoutControl.enabled": false,
    "editor.minimap.enabled": false,
    // As text, that can be read here.
    "terminal.integrated.gpuAcceleration": "off",
    // Room for the text.
    "comments.openView": "never",
    "git.openRepositoryInParentFolders": "never",
    // Ctrl+Z in a test takes back what it sees, not what it fears.
    "files.hotExit": "off",
    "editor.occurrencesHighlight": "off",
};

/** A code-server of its own, with the extension installed as a user installs it. */
export class Code {
    /**
     * options: `vsix` (none: not installed), `settings` (the user's), `machine` (the machine's), `trust` (ask for
     * Workspace Trust), `env`
     */
    static async start(options = {}) {
        const code = new Code();
        code.dir = mkdtempSync(join(tmpdir(), "postil-code-"));
        const user = join(code.dir, "user");
        mkdirSync(join(user, "User"), { recursive: true });
        mkdirSync(join(user, "Machine"), { recursive: true });
        code.machine = join(user, "Machine/settings.json");
        code.user = join(user, "User/settings.json");
        writeFileSync(code.user, JSON.stringify({ ...SETTINGS, "security.workspace.trust.enabled": options.trust === true, ...options.settings }));
        writeFileSync(code.machine, JSON.stringify(options.machine ?? {}));
        writeFileSync(join(code.dir, "config.yaml"), "");
        const env = {
            ...process.env,
            ...options.env,
            // Nothing is fetched: a port on which nobody listens.
            EXTENSIONS_GALLERY: '{"serviceUrl": "http://127.0.0.1:9"}',
        };
        // What this process was started with would make the server a child of another VS Code.
        delete env.VSCODE_IPC_HOOK_CLI;
        // The PATH is that of this process, not what a login shell would make of it.
        env.VSCODE_CLI = "1";
        const common = (code.common = ["--config", join(code.dir, "config.yaml"), "--user-data-dir", user, "--extensions-dir", join(code.dir, "ext")]);
        code.env = env;
        if (options.vsix) code.install(options.vsix);
        const trust = options.trust ? [] : ["--disable-workspace-trust"];
        code.server = spawn(
            process.execPath,
            [entry, ...common, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override", ...trust],
            // A group of its own, so that its children end with it.
            { env, stdio: ["ignore", "pipe", "pipe"], detached: true },
        );
        code.log = "";
        code.url = await new Promise((resolve, reject) => {
            const late = setTimeout(() => reject(new Error(`code-server did not start: ${code.log}`)), DEADLINE);
            const heard = (bytes) => {
                code.log += bytes;
                const found = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(code.log);
                if (found) {
                    clearTimeout(late);
                    resolve(found[1]);
                }
            };
            code.server.stdout.on("data", heard);
            code.server.stderr.on("data", heard);
            code.server.on("exit", (status) => reject(new Error(`code-server ended with ${status}: ${code.log}`)));
        });
        code.browser = await chromium.launch({
            executablePath: process.env.POSTIL_CHROMIUM ?? "/usr/bin/chromium",
            headless: true,
            args: [
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                // Every host but this one is unknown at once.
                "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
            ],
        });
        return code;
    }

    install(vsix) {
        const installed = spawnSync(process.execPath, [entry, ...this.common, "--install-extension", vsix], { env: this.env, encoding: "utf8" });
        if (!/successfully installed/.test(installed.stdout)) {
            throw new Error(`the extension was not installed: ${installed.stdout}${installed.stderr}`);
        }
    }

    /** A window on a folder, or on the folders of a `.code-workspace`. */
    async open(folder, options = {}) {
        const context = await this.browser.newContext({ viewport: options.viewport ?? { width: 1300, height: 850 }, deviceScaleFactor: options.scale ?? 1, bypassCSP: options.web !== undefined });
        const page = await context.newPage();
        page.setDefaultTimeout(DEADLINE);
        const window = new Window(page, this);
        page.on("console", (message) => {
            window.console += `${message.type()}: ${message.text()}\n`;
        });
        if (options.host) {
            await page.exposeFunction("codeAutomationLog", (_, words) => options.log(words.join(" ")));
            await page.exposeFunction("codeAutomationExit", options.exit);
            // What the workbench is told of a test, put into its configuration as the page loads.
            await page.addInitScript(({ authority, extension, test }) => {
                new MutationObserver((_, observer) => {
                    const meta = document.getElementById("vscode-workbench-web-configuration");
                    if (!meta) return;
                    observer.disconnect();
                    const configuration = JSON.parse(meta.getAttribute("data-settings"));
                    const at = (path) => ({ $mid: 1, scheme: "vscode-remote", authority, path });
                    configuration.developmentOptions = { ...configuration.developmentOptions, extensions: [at(extension)], extensionTestsPath: at(test) };
                    meta.setAttribute("data-settings", JSON.stringify(configuration));
                }).observe(document, { childList: true, subtree: true });
            }, options.host);
        }
        if (options.web) {
            // No machine behind the window: the extension is fetched from `web` and runs in a worker of the browser.
            await page.route(/\/workbench\.js$/, async (route) => {
                const response = await route.fetch();
                await route.fulfill({ response, body: (await response.text()).replace("remoteAuthority:location.host", "remoteAuthority:void 0") });
            });
            await page.addInitScript((web) => {
                new MutationObserver((_, observer) => {
                    const meta = document.getElementById("vscode-workbench-web-configuration");
                    if (!meta) return;
                    observer.disconnect();
                    const { folderUri, workspaceUri, ...configuration } = JSON.parse(meta.getAttribute("data-settings"));
                    const { protocol, host } = new URL(web);
                    configuration.additionalBuiltinExtensions = [{ $mid: 1, scheme: protocol.slice(0, -1), authority: host, path: "/" }];
                    meta.setAttribute("data-settings", JSON.stringify(configuration));
                }).observe(document, { childList: true, subtree: true });
            }, options.web);
        }
        const what = options.web ? "ew=true" : `${folder.endsWith(".code-workspace") ? "workspace" : "folder"}=${folder}`;
        const url = `${this.url}/?${what}`;
        await page.goto(url);
        await page.waitForSelector(".monaco-workbench");
        if (what.startsWith("workspace")) {
            // A busy VS Code now and then reads nothing of a workspace file when it opens it, with and without
            // extensions: a person loads it again.
            await window.again(
                "the folders of the workspace",
                async () => {
                    await options.anew?.();
                    await page.goto(url);
                },
                () => page.locator(".explorer-folders-view .monaco-list-row").first().waitFor(window.short).then(() => true, () => false),
            );
        }
        return window;
    }

    async stop() {
        await this.browser?.close();
        if (this.server?.exitCode === null) {
            const gone = new Promise((resolve) => this.server.on("exit", resolve));
            // Asked to end, it takes its time; there is nothing that it should save.
            process.kill(-this.server.pid, "SIGKILL");
            await gone;
        }
        rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
    }
}

/** How long VS Code shows a notice with buttons: milliseconds. */
const PURGED = 10_000;

/** Text of the screen has non-breaking spaces. */
export const plain = (text) => text.replaceAll("\u00a0", " ");

/** One window, and what a person does in it. */
export class Window {
    console = "";

    constructor(page, code) {
        this.page = page;
        this.code = code;
    }

    /** Waits until `look` gives something; fails with what it gave last. */
    async until(what, look, limit = DEADLINE) {
        const end = Date.now() + limit;
        let last;
        for (;;) {
            last = await look();
            if (last) return last;
            if (Date.now() > end) {
                const seen = await this.page.evaluate(() => document.body.innerText).catch(() => "");
                throw new Error(`in vain: ${what}\n${seen}`);
            }
            await this.page.waitForTimeout(30);
        }
    }

    /** For what is tried again. */
    short = { timeout: 5_000 };

    /**
     * Does `act` until `seen`. Where the text moves away under the mouse, or what takes the focus at that moment shuts a
     * list, a person sees that nothing came of it and does it again.
     */
    async again(what, act, seen, patience = 10_000) {
        await this.until(what, async () => {
            if (await seen()) return true;
            const end = Date.now() + patience;
            const failed = await act().then(
                () => undefined,
                (error) => String(error).split("\n")[0],
            );
            while (!(await seen())) {
                if (failed !== undefined || Date.now() > end) {
                    console.log(`again: ${what}${failed === undefined ? "" : `: ${failed}`}`);
                    return false;
                }
                await this.page.waitForTimeout(30);
            }
            return true;
        });
    }

    /** Whether what is typed goes into `place`; into the text itself where none is named. */
    writes(place = ".editor-instance .monaco-editor") {
        const inside = (place) => {
            const at = document.activeElement;
            return Boolean(at?.closest(place)) && (place.includes("review-widget") || !at.closest(".review-widget"));
        };
        return this.page.evaluate(inside, place);
    }

    /** From the margin, a view or a message back to the text. */
    async toEditor() {
        await this.again("the keyboard is in the text", () => this.command("View: Focus Active Editor Group"), () => this.writes());
    }

    /** Opens a list by `key`, types there, and takes the row with `row`. */
    async pick(typed, row, key = "F1") {
        await this.take(typed, row, key);
        await this.page.locator(".quick-input-widget .quick-input-box input").waitFor({ state: "hidden" });
    }

    /** The same, where another list follows. */
    async take(typed, row, key = "F1") {
        const input = this.page.locator(".quick-input-widget .quick-input-box input");
        const found = this.page.locator(".quick-input-list .monaco-list-row", { hasText: row }).first();
        // What takes the focus at this moment, as a file that is shown does, shuts the list: a person opens it again. A
        // click is on the row or nowhere; an Enter would by then go into the text.
        await this.until(`${row} in the list`, async () => {
            await this.page.keyboard.press(key);
            const open = { state: "visible", timeout: 5_000 };
            return input
                .waitFor(open)
                .then(() => input.fill(typed, open))
                .then(() => found.waitFor(open))
                .then(() => found.click(open))
                .then(() => true)
                .catch(async () => {
                    // What may be done by now is looked up when the list is opened.
                    if (await input.isVisible()) await this.page.keyboard.press("Escape");
                    return false;
                });
        });
    }

    /** A command by the palette. */
    async command(title) {
        await this.pick(`>${title}`, title);
    }

    /** Opens a file as Ctrl+P does. */
    async file(name, line) {
        const shown = name.split("/").pop();
        await this.pick(name, shown);
        await this.page.locator(".tab.active", { hasText: shown }).waitFor();
        await this.page.locator(".editor-instance .view-line").first().waitFor();
        if (line !== undefined) {
            await this.goto(line);
        }
    }

    /** Puts the cursor at the begin of a 1-based line of the active editor. */
    async goto(line) {
        await this.pick(`:${line}`, new RegExp(`go to line ${line}\\b`, "i"), "Control+g");
        await this.at(line);
        await this.until("the keyboard in the text", () => this.writes());
    }

    /** Waits until the cursor is on a line, as the status bar has it. */
    async at(line) {
        await this.until(`the cursor on line ${line}`, () => this.isAt(line));
    }

    async isAt(line) {
        const place = this.page.locator('.statusbar-item[id="status.editor.selection"]').first();
        return new RegExp(`Ln ${line},`).test(plain(await place.innerText(this.short).catch(() => "")));
    }

    /** The lines that are on the screen, from top to bottom. */
    async lines(editor = ".editor-instance") {
        const lines = await this.page
            .locator(`${editor} .lines-content > .view-lines > .view-line`)
            // Those of a reply box stand among them.
            .evaluateAll((all) => all.filter((line) => !line.closest(".review-widget")).map((line) => [parseFloat(line.style.top), line.textContent ?? ""]));
        return lines.sort((a, b) => a[0] - b[0]).map(([, text]) => plain(text));
    }

    async text() {
        return (await this.lines()).join("\n");
    }

    async sees(text) {
        await this.until(`the text ${JSON.stringify(text)}`, async () => (await this.text()).includes(text));
    }

    async misses(text) {
        await this.until(`the text without ${JSON.stringify(text)}`, async () => !(await this.text()).includes(text));
    }

    /** What the notifications say. */
    async notices() {
        // Behind the bell, shut, a list may have rows of what was cleared since.
        const seen = (all) => all.filter((one) => one.checkVisibility()).map((one) => one.innerText);
        return (await this.page.locator(".notification-list-item-message").evaluateAll(seen)).map(plain);
    }

    async notice(text) {
        let from = Date.now();
        return this.until(`a notice with ${JSON.stringify(text)}`, async () => {
            const found = (await this.notices()).find((one) => one.includes(text));
            if (!found && Date.now() - from > PURGED) {
                await this.bell();
                from = Date.now();
            }
            return found;
        });
    }

    /** A notice goes behind the bell after ten seconds. */
    async bell() {
        await this.command("Notifications: Show Notifications");
    }

    async press(button) {
        const found = this.page.locator(".notifications-toasts .monaco-button, .notification-list-item .monaco-button").getByText(button, { exact: true });
        await this.until(`the button ${button}`, async () => {
            if (!(await found.first().isVisible())) await this.bell();
            return found.first().click(this.short).then(
                () => true,
                () => false,
            );
        });
    }

    async status() {
        return plain((await this.page.locator('.statusbar-item[id="postil.postil.postil"]').first().textContent().catch(() => "")) ?? "");
    }

    async picture(file) {
        await this.page.screenshot({ path: file });
    }

    async close() {
        await this.page.context().close();
    }
}

/** Runs a case; of one that fails there is a picture and what the window said. */
export async function attempt(name, out, windows, work) {
    try {
        await work();
        console.log(`ok: ${name}`);
        return true;
    } catch (error) {
        mkdirSync(out, { recursive: true });
        console.log(`failed: ${name}: ${error.stack ?? error}`);
        for (const [index, window] of windows().entries()) {
            const file = join(out, `${name}-${index}`);
            await window.picture(`${file}.png`).catch(() => {});
            writeFileSync(`${file}.log`, window.console);
        }
        return false;
    }
}
