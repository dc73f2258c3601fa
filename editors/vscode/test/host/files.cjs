// Files of every kind: unsaved, large, on no disk, outside every folder. A part of ./index.cjs.
const assert = require("node:assert/strict");
const { writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

module.exports = ({ until }) => ({
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
});
