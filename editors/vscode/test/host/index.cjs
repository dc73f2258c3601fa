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
    async "the threads of an open file go with it, and are gone when it is deleted"(root) {
        const { known, comments } = vscode.extensions.getExtension("postil.postil").exports;
        const [uri, moved] = ["open.py", "moved.py"].map((name) => vscode.Uri.file(path.join(root, name)));
        writeFileSync(uri.fsPath, "# AUTHOR: where to?\nx = 1\n");
        await vscode.window.showTextDocument(uri);
        await until("its thread", () => known.threads(uri).length === 1);
        const rename = new vscode.WorkspaceEdit();
        rename.renameFile(uri, moved);
        assert.ok(await vscode.workspace.applyEdit(rename));
        await until("it goes along", () => known.threads(uri).length === 0 && known.threads(moved).length === 1);
        const [thread] = known.threads(moved);
        assert.ok(comments.viewOf(moved, thread.id), "it is in the margin there");
        assert.equal(comments.viewOf(uri, thread.id), undefined, "and no more here");
        const remove = new vscode.WorkspaceEdit();
        remove.deleteFile(moved);
        assert.ok(await vscode.workspace.applyEdit(remove));
        await until("it is gone", () => known.threads(moved).length === 0);
        assert.equal(comments.viewOf(moved, thread.id), undefined);
    },
    async "a file that is not saved has none until it is"(root) {
        const { known } = vscode.extensions.getExtension("postil.postil").exports;
        const file = vscode.Uri.file(path.join(root, "unsaved.py"));
        const document = await vscode.workspace.openTextDocument(file.with({ scheme: "untitled" }));
        const editor = await vscode.window.showTextDocument(document);
        await editor.edit((edit) => {
            edit.insert(new vscode.Position(0, 0), "# AUTHOR: not yet?\nx = 1\n");
        });
        // It tells to save it first; nothing is thrown.
        await vscode.commands.executeCommand("postil.newThread");
        assert.equal(known.threads(document.uri).length, 0);
        assert.ok(await document.save());
        await until("its thread", () => known.threads(file).length === 1);
    },
    async "a large file that is open has its threads"(root) {
        const { known } = vscode.extensions.getExtension("postil.postil").exports;
        const file = vscode.Uri.file(path.join(root, "large.py"));
        // More than `threads.maxFileSize`, which is for files that nobody opened.
        writeFileSync(file.fsPath, `# AUTHOR: why so long?\n${"x = 1\n".repeat(1_600_000)}`);
        await vscode.workspace.openTextDocument(file);
        await until("its thread", () => known.threads(file).length === 1);
        await vscode.workspace.fs.delete(file);
    },
    async "a file on no disk is left alone, in a folder of any file system"() {
        const { known } = vscode.extensions.getExtension("postil.postil").exports;
        const text = Buffer.from("// AUTHOR: where is this?\nfn a() {}\n");
        const nothing = new vscode.Disposable(() => {});
        const refuse = () => {
            throw vscode.FileSystemError.NoPermissions();
        };
        const registered = vscode.workspace.registerFileSystemProvider("elsewhere", {
            onDidChangeFile: () => nothing,
            watch: () => nothing,
            stat: () => ({ type: vscode.FileType.File, ctime: 0, mtime: 0, size: text.length }),
            readFile: () => text,
            readDirectory: () => [],
            createDirectory: refuse,
            writeFile: refuse,
            delete: refuse,
            rename: refuse,
        });
        const uri = vscode.Uri.parse("elsewhere:/a.rs");
        await vscode.window.showTextDocument(uri);
        for (const command of ["newThread", "replyAsAgent", "replyAllInFile", "clearAndCommit", "why"]) {
            await vscode.commands.executeCommand(`postil.${command}`);
        }
        assert.equal(known.threads(uri).length, 0);
        assert.equal(vscode.window.activeTextEditor.document.isDirty, false);
        await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
        registered.dispose();
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
