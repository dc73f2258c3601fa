// Who has the keyboard while a thread in the margin changes. A part of ./index.cjs.
const assert = require("node:assert/strict");
const { writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

module.exports = ({ api, until }) => ({
    async "while the author writes nothing is set of a thread that is unfolded, and after it the keyboard is in the text"(root) {
        const { known, comments } = api();
        const uri = vscode.Uri.file(path.join(root, "written.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: why?\nx = 1\n");
        await vscode.window.showTextDocument(uri);
        const [thread] = await until("its thread", () => known.threads(uri).length === 1 && known.threads(uri));
        const view = comments.viewOf(uri, thread.id);
        view.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
        const { executeCommand } = vscode.commands;
        const run = [];
        vscode.commands.executeCommand = (name, ...more) => {
            run.push(name);
            return executeCommand.call(vscode.commands, name, ...more);
        };
        const given = () => run.filter((name) => name === "workbench.action.focusActiveEditorGroup").length;
        /** A key, when it was pressed, that moves the thread to `line`. */
        const write = (line, when = Date.now()) => {
            comments.keyboard.typed = when;
            const at = (place) => ({ ...place, line });
            known.told({ uri: uri.toString(), version: null, threads: [{ ...thread, range: { start: at(thread.range.start), end: at(thread.range.end) } }] });
            return view.range.start.line;
        };
        assert.equal(write(1), 0, "held back");
        assert.equal(write(2), 0, "still");
        await until("it follows in a pause", () => view.range.start.line === 2);
        await until("the keyboard is given back", () => given() > 1);
        // What is done with it meanwhile is done with what stands in the file.
        assert.equal(write(3), 2);
        assert.equal(comments.viewOf(uri, thread.id).range.start.line, 3);
        await until("it is given back then too", () => given() > 3);
        // Nobody writes: it follows at once, and the keyboard stays where it is.
        run.length = 0;
        assert.equal(write(4, 0), 4);
        await new Promise((resolve) => setTimeout(resolve, 200));
        vscode.commands.executeCommand = executeCommand;
        assert.equal(given(), 0, "nothing is taken from elsewhere");
    },
});
