// Reviews of what turns have changed. A part of ./index.cjs.
const assert = require("node:assert/strict");
const { writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

module.exports = ({ api, listen, never, proposed, until }) => ({
    async "a button of a review is for the files that its message named"(root) {
        const { reviews } = api();
        const said = listen("showInformationMessage");
        const first = reviews.ask(proposed(root, "a.py", "1\n"), never);
        await until("it is told", () => said.texts.length === 1);
        let late;
        const second = reviews.ask(proposed(root, "b.py", "1\n"), never).then((accepted) => (late = accepted));
        await until("the other is told", () => said.texts.length === 2);
        assert.match(said.texts[0], /wants to change a\.py /);
        assert.match(said.texts[1], /wants to change b\.py /);
        said.press(0, "Accept");
        assert.equal(await first, true);
        assert.equal(late, undefined);
        said.press(1, "Reject");
        assert.equal(await second, false);
        said.over();
    },
    async "a review shows its own texts, though its run had one of the same file before"(root) {
        const { reviews, server } = api();
        const said = listen("showInformationMessage");
        const text = async (uri) => (await vscode.workspace.openTextDocument(uri)).getText();
        const looked = () => vscode.window.tabGroups.activeTabGroup.activeTab?.input;
        // Decided, and asked about anew while the diff is still being closed.
        const first = reviews.ask(proposed(root, "c.py", "1\n"), never);
        const [file] = reviews.getChildren();
        assert.equal(reviews.getTreeItem(file).accessibilityInformation.label, "c.py, +1 \u22121");
        await reviews.diff(file);
        assert.equal(await text(file.right), "1\n");
        const closing = reviews.accept(file);
        assert.equal(await first, true);
        const second = reviews.ask(proposed(root, "c.py", "2\n"), never);
        await closing;
        const [again] = reviews.getChildren();
        assert.equal(await text(again.right), "2\n");
        await reviews.reject(again);
        assert.equal(await second, false);
        said.over();

        // Two turns of a run, looked at one after the other.
        writeFileSync(path.join(root, "d.py"), "3\n");
        const { run } = server;
        const lefts = [];
        for (const before of ["1\n", "2\n"]) {
            server.run = async () => ({ run_id: "r", thread_id: "t", files: [{ ...proposed(root, "d.py", "3\n"), before }] });
            await vscode.commands.executeCommand("postil.reviewTurn", { run_id: "r" });
            const { original } = await until("the diff", () => looked() instanceof vscode.TabInputTextDiff && looked());
            lefts.push(original.toString());
            assert.equal(await text(original), before);
        }
        server.run = run;
        const diffs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).filter(({ input }) => input instanceof vscode.TabInputTextDiff);
        assert.deepEqual(diffs.map(({ input }) => input.original.toString()), lefts.slice(1), "the diff of the turn before is gone");
        await reviews.accept(reviews.getChildren()[0]);
    },
    async "a file that is renamed is one row, which tells both names"(root) {
        const { reviews } = api();
        const said = listen("showInformationMessage");
        const answer = reviews.ask({ ...proposed(root, "sub/new.py", "1\n"), from: "old.py" }, never);
        await until("it is told", () => said.texts.length === 1);
        assert.match(said.texts[0], /wants to change old\.py \u2192 sub\/new\.py \(\+1 \u22121\)/);
        const [file, ...more] = reviews.getChildren();
        assert.deepEqual(more, []);
        const item = reviews.getTreeItem(file);
        assert.equal(item.description, "sub \u00b7 +1 \u22121 \u00b7 renamed from old.py");
        assert.equal(item.tooltip, "old.py \u2192 sub/new.py");
        await reviews.diff(file);
        const { label } = vscode.window.tabGroups.activeTabGroup.activeTab;
        assert.equal(label, "old.py \u2192 new.py (proposed)");
        await reviews.accept(file);
        assert.equal(await answer, true);
        said.over();
    },
    async "a text that is not UTF-8 is shown as a diff, and bytes are not"(root) {
        const { reviews } = api();
        const said = listen("showInformationMessage");
        const looked = () => vscode.window.tabGroups.activeTabGroup.activeTab?.input;
        const ask = (name, after) => reviews.ask({ ...proposed(root, name, after), run_id: name }, never);
        const answers = [ask("latin.txt", "caf\ufffd\n"), ask("bytes.bin", "\0\ufffd\n")];
        await until("both are told", () => said.texts.length === 2);
        const at = (name) => said.texts.findIndex((text) => text.includes(name));
        said.press(at("latin.txt"), "Show Change");
        const { modified } = await until("the diff", () => looked() instanceof vscode.TabInputTextDiff && looked());
        assert.equal(path.basename(modified.path), "latin.txt");
        await vscode.commands.executeCommand("workbench.action.closeAllEditors");
        said.press(at("bytes.bin"), "Show Change");
        said.over();
        for (const review of reviews.getChildren()) {
            await reviews.reject(review);
        }
        assert.deepEqual(await Promise.all(answers), [false, false]);
    },
    async "what is rejected of a turn is what is listed of it, and what is left of that stays"(root) {
        const { reviews, server } = api();
        const { run, ask } = server;
        const files = ["a", "b", "c", "d"].map((name) => proposed(root, `${name}.txt`, "1\n"));
        for (const { uri } of files) writeFileSync(vscode.Uri.parse(uri).fsPath, "1\n");
        const undone = [];
        let changes = { run_id: "r", thread_id: "t", turn: 2, files };
        let answer = { success: true };
        server.run = async (verb, argument) => {
            if (verb === "turnChanges") return changes;
            undone.push(argument);
            return answer;
        };
        server.ask = async () => changes;
        await vscode.commands.executeCommand("postil.reviewTurn", { run_id: "r" });
        const rows = () => reviews.getChildren().map(({ change }) => change.file);
        const row = (file) => reviews.getChildren().find(({ change }) => change.file === file);
        await until("its files", () => rows().length === 4);
        await reviews.accept(row("a.txt"));
        await reviews.reject(row("b.txt"));
        assert.deepEqual(undone, [{ run_id: "r", turn: 2, files: ["b.txt"] }]);
        assert.deepEqual(rows(), ["c.txt", "d.txt"]);

        // Of two one is left, and so is its row.
        answer = { success: false };
        changes = { ...changes, files: [files[0], files[3]] };
        await reviews.reject(reviews.review());
        assert.deepEqual(undone[1], { run_id: "r", turn: 2, files: ["c.txt", "d.txt"] });
        assert.deepEqual(rows(), ["d.txt"]);
        // Refused, for the run has a newer turn.
        answer = undefined;
        changes = { ...changes, turn: 3 };
        await reviews.reject(reviews.review());
        assert.deepEqual(rows(), ["d.txt"]);
        // Undone elsewhere.
        changes = { ...changes, turn: 1 };
        await reviews.reject(row("d.txt"));
        assert.deepEqual(rows(), []);
        Object.assign(server, { run, ask });
        await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    },
    async "of a review that is taken as a whole no diff is opened on the way"(root) {
        const { reviews } = api();
        const said = listen("showInformationMessage");
        const answers = ["h", "i", "j"].map((name) => reviews.ask({ ...proposed(root, `${name}.txt`, "1\n"), run_id: "whole", of: 3 }, never));
        const [first] = reviews.getChildren();
        await reviews.diff(first);
        const looked = () => vscode.window.tabGroups.activeTabGroup.activeTab?.input;
        await until("its diff", () => looked() instanceof vscode.TabInputTextDiff && looked().modified.toString() === first.right.toString());
        const { diff } = reviews;
        const opened = [];
        reviews.diff = (file) => {
            opened.push(file.change.file);
            return diff.call(reviews, file);
        };
        await vscode.commands.executeCommand("postil.review.acceptAll");
        reviews.diff = diff;
        said.over();
        assert.deepEqual(await Promise.all(answers), [true, true, true]);
        assert.deepEqual(opened, []);
        assert.ok(vscode.window.tabGroups.all.every(({ tabs }) => tabs.every(({ label }) => !label.includes("(proposed)"))));
    },
    async "the editor of several diffs shows what is left to be decided on, and goes where it is not looked at"(root) {
        const { reviews } = api();
        const own = path.join(root, "Changes That the Agent Proposes.md");
        writeFileSync(own, "mine\n");
        await vscode.window.showTextDocument(vscode.Uri.file(own), { preview: false });
        const isThere = () => vscode.window.tabGroups.all.some(({ tabs }) => tabs.some(({ label }) => label === path.basename(own)));
        const said = listen("showInformationMessage");
        const answers = ["o", "p", "q", "r"].map((name) => reviews.ask({ ...proposed(root, `${name}.txt`, "1\n"), run_id: "several", of: 4 }, never));
        await until("it is told", () => said.texts.length === 1);
        said.press(0, "Show Changes");
        said.over();
        const looked = () => vscode.window.tabGroups.activeTabGroup.activeTab;
        const labels = () => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ label }) => label)).filter((label) => label.startsWith("Changes That") && !label.endsWith(".md"));
        const shows = (count) => until(`${count} files`, () => labels().join() === `Changes That the Agent Proposes (${count} files)` && looked().label === labels()[0]);
        await shows(4);
        const acceptFirst = () => reviews.accept(reviews.getChildren()[0]);
        await acceptFirst();
        await shows(3);
        const code = await vscode.window.showTextDocument(vscode.Uri.file(path.join(root, "notes.rs")));
        await acceptFirst();
        await until("it is gone", () => labels().length === 0);
        assert.equal(vscode.window.activeTextEditor, code);
        await reviews.open(reviews.review());
        await shows(2);
        await acceptFirst();
        await until("the diff of the last one", () => looked().label === "r.txt (proposed)" && labels().length === 0);
        await reviews.reject(reviews.getChildren()[0]);
        assert.deepEqual(await Promise.all(answers), [true, true, true, false]);
        assert.ok(isThere(), "a file of the author's that is called so");
    },
    async "a review is decided on in its own diffs alone, which keep their texts, and ends where it was undone elsewhere"(root) {
        const { known, reviews, server } = api();
        const { run, ask } = server;
        const files = ["e", "f"].map((name) => proposed(root, `${name}.txt`, "1\n"));
        for (const { uri } of files) writeFileSync(vscode.Uri.parse(uri).fsPath, "1\n");
        let changes = { run_id: "mine", thread_id: "t", turn: 1, files };
        server.run = async () => changes;
        server.ask = async () => changes;
        const rows = () => reviews.getChildren().map(({ change }) => change.file);
        await vscode.commands.executeCommand("postil.reviewTurn", { run_id: "mine" });
        await until("its files", () => rows().length === 2);
        const [first] = reviews.getChildren();
        const looked = () => vscode.window.tabGroups.activeTabGroup.activeTab?.input;
        const read = async (uri) => (await vscode.workspace.openTextDocument(uri)).getText();

        const editor = vscode.window.tabGroups.activeTabGroup.activeTab;
        // One is decided on in the view, while the editor of both is still there.
        await reviews.accept(first);
        assert.deepEqual(rows(), ["f.txt"]);
        assert.equal(reviews.provideTextDocumentContent(first.left), "0\n");
        assert.ok(editor.label.startsWith("Changes of the Turn") && editor.group.tabs.some(({ label }) => label === editor.label));
        const [second] = reviews.getChildren();

        // As Git has it: the same file on the right, another text on the left.
        const other = vscode.Uri.file(path.join(root, "g.txt"));
        writeFileSync(other.fsPath, "of the index\n");
        await vscode.commands.executeCommand("vscode.diff", other, second.right, "f.txt (Index)");
        await until("that diff", () => looked() instanceof vscode.TabInputTextDiff && looked().original.path === other.path);
        const said = listen("showInformationMessage");
        for (const argument of [[], [second.right]]) await vscode.commands.executeCommand("postil.review.reject", ...argument);
        said.over();
        assert.equal(said.texts.filter((text) => text.includes("put the cursor into the diff")).length, 2);
        assert.deepEqual(rows(), ["f.txt"]);

        // In its own diff the buttons act.
        await reviews.diff(second);
        await until("its diff", () => looked() instanceof vscode.TabInputTextDiff && looked().original.path === second.left.path);
        assert.equal(reviews.file(second.right), second);
        // Also those of a group that is not the active one, and there is none that is looked at then.
        await vscode.window.showTextDocument(other, { viewColumn: vscode.ViewColumn.Beside });
        assert.equal(reviews.file(second.right), second);
        assert.equal(reviews.file(undefined), undefined);
        await vscode.commands.executeCommand("workbench.action.closeEditorsInGroup");

        // Undone at its thread, or by another window: nothing is left.
        const uri = vscode.Uri.file(path.join(root, "undone.py")).toString();
        const at = { line: 0, character: 0 };
        const thread = { id: "u", status: "pending", malformed: false, title: "t", range: { start: at, end: at }, messages: [{ role: "author", name: null, line: 0, text: "t" }], choices: [], turn: { run_id: "mine", running: false, failed: false, message: "" }, has_run: true, has_changes: true };
        known.told({ uri, version: null, threads: [thread] });
        assert.deepEqual(rows(), ["f.txt"]);
        changes = { ...changes, turn: 0, files: [] };
        known.told({ uri, version: null, threads: [{ ...thread, has_changes: false }] });
        await until("it is over", () => rows().length === 0);
        known.told({ uri, version: null, threads: [] });
        Object.assign(server, { run, ask });
        await vscode.commands.executeCommand("workbench.action.closeAllEditors");
        await until("nothing is kept", () => reviews.texts.size === 0);
        // As after the window was loaded anew, whose tabs are there again.
        assert.match(await read(first.left.with({ query: "mine.99" })), /^This review is over/);
    },
});
