// Inside the real extension host: what needs no eyes. Run by the case `host` of ../browser/cases.mjs.
const assert = require("node:assert/strict");
const { writeFileSync, mkdirSync } = require("node:fs");
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
    async "threads of files that nobody opened are known, and follow what happens on the disk"(root) {
        const { known } = vscode.extensions.getExtension("postil.postil").exports;
        const uri = vscode.Uri.file(path.join(root, "other.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: from outside?\nx = 1\n");
        await until("a file that came", () => known.threads(uri).length === 1);
        const moved = vscode.Uri.file(path.join(root, "renamed.py"));
        await vscode.workspace.fs.rename(uri, moved);
        await until("one that was renamed", () => known.threads(uri).length === 0 && known.threads(moved).length === 1);
        await vscode.workspace.fs.delete(moved);
        await until("one that was deleted", () => known.threads(moved).length === 0);
    },
    async "a file outside every folder has threads while it is open"() {
        const { known } = vscode.extensions.getExtension("postil.postil").exports;
        const file = path.join(require("node:os").tmpdir(), `postil-outside-${process.pid}.rs`);
        writeFileSync(file, "// AUTHOR: out here?\nfn a() {}\n");
        const document = await vscode.workspace.openTextDocument(file);
        await until("its thread", () => known.threads(document.uri).length === 1);
    },
};

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
