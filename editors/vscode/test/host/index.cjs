// Inside the real extension host: what needs no eyes. Run by the case `host` of ../browser/cases.mjs.
const assert = require("node:assert/strict");
const { mkdirSync, readFileSync, readdirSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

async function until(what, look) {
    const end = Date.now() + 30_000;
    for (;;) {
        const found = await look();
        if (found) return found;
        if (Date.now() > end) throw new Error(`in vain: ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

const api = () => vscode.extensions.getExtension("postil.postil").exports;

/** Takes the place of a notification: what is said, and a press of its buttons. */
function listen(kind) {
    const shown = vscode.window[kind];
    const [texts, presses, rows] = [[], [], []];
    vscode.window[kind] = (text, ...buttons) => {
        texts.push(text);
        rows.push(buttons);
        return new Promise((resolve) => presses.push(resolve));
    };
    return {
        texts,
        /** The buttons of each. */
        rows,
        press: (at, button) => presses.at(at)(button),
        over: () => {
            vscode.window[kind] = shown;
        },
    };
}

/** The servers that run for this window. */
const servers = () =>
    readdirSync("/proc").filter((pid) => {
        try {
            const parent = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
            return parent === String(process.pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0serve\0");
        } catch {
            // No process, or none any more.
            return false;
        }
    });

/** What a turn asks about. */
const proposed = (root, file, after) => ({ run_id: "r", file, uri: vscode.Uri.file(path.join(root, file)).toString(), before: "0\n", after, added: 1, removed: 1, of: 1 });
const never = new vscode.CancellationTokenSource().token;

const tests = {
    async "a workspace cannot name the program"(root) {
        const extension = vscode.extensions.getExtension("postil.postil");
        mkdirSync(path.join(root, ".vscode"), { recursive: true });
        writeFileSync(path.join(root, ".vscode/settings.json"), JSON.stringify({ "postil.path": "/bin/false", "postil.turn.maxRounds": 7 }));
        await until("the other setting is taken", () => vscode.workspace.getConfiguration("postil").get("turn.maxRounds") === 7);
        assert.equal(vscode.workspace.getConfiguration("postil").get("path"), "");
        assert.ok(await until("the server runs", () => extension.exports.server.state.is === "running"));
    },
    async "every command that is declared is there"() {
        const extension = vscode.extensions.getExtension("postil.postil");
        const there = new Set(await vscode.commands.getCommands(true));
        for (const { command } of extension.packageJSON.contributes.commands) {
            assert.ok(there.has(command), command);
        }
    },
};

// In this order: all have one window.
const helpers = { api, listen, never, proposed, servers, until };
for (const part of ["margin", "conversations", "reviews", "commands", "files", "shown"]) {
    Object.assign(tests, require(`./${part}.cjs`)(helpers));
}

exports.run = async () => {
    const root = vscode.workspace.workspaceFolders[0].uri.fsPath;
    await vscode.extensions.getExtension("postil.postil").activate();
    for (const [name, work] of Object.entries(tests)) {
        try {
            await work(root);
            console.log(`T ok: ${name}`);
        } catch (error) {
            console.log(`T failed: ${name}: ${error.stack}`);
            throw error;
        }
    }
};
