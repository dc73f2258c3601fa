// Threads in the margin and what stands in their boxes. A part of ./index.cjs.
const assert = require("node:assert/strict");
const { rmSync, symlinkSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

module.exports = ({ api, listen, until }) => ({
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
    async "a file that is deleted as soon as its tab is shut leaves no threads behind"(root) {
        const { known } = api();
        const uri = vscode.Uri.file(path.join(root, "brief.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: for a moment?\nx = 1\n");
        await vscode.window.showTextDocument(uri);
        await until("its thread", () => known.threads(uri).length === 1);
        await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
        rmSync(uri.fsPath);
        await until("its thread is gone", () => known.threads(uri).length === 0);
        // For extensions it is open for minutes. Shown again, it has what it had.
        assert.ok(vscode.workspace.textDocuments.some((one) => one.uri.path === uri.path));
        writeFileSync(uri.fsPath, "# AUTHOR: for a moment?\nx = 1\n");
        await vscode.window.showTextDocument(uri);
        await until("its thread is back", () => known.threads(uri).length === 1);
        await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
        rmSync(uri.fsPath);
        await until("its thread is gone again", () => known.threads(uri).length === 0);
    },
    async "threads are unfolded where the settings say so"(root) {
        const { known, comments } = api();
        const settings = vscode.workspace.getConfiguration("postil.editor");
        const { Collapsed, Expanded } = vscode.CommentThreadCollapsibleState;
        for (const [name, value, state] of [["folded.py", undefined, Collapsed], ["unfolded.py", "expanded", Expanded]]) {
            await settings.update("threads", value, vscode.ConfigurationTarget.Global);
            const uri = vscode.Uri.file(path.join(root, name));
            writeFileSync(uri.fsPath, "# AUTHOR: seen?\nx = 1\n");
            await vscode.window.showTextDocument(uri);
            const [thread] = await until("its thread", () => known.threads(uri).length === 1 && known.threads(uri));
            assert.equal(comments.viewOf(uri, thread.id).collapsibleState, state, name);
        }
        // At once, those too that are there already.
        const all = () => [...comments.files.values()].flat().map(({ view }) => view.collapsibleState);
        assert.deepEqual([...new Set(all())], [Expanded]);
        await settings.update("threads", undefined, vscode.ConfigurationTarget.Global);
    },
    async "a thread that was unfolded is so again, wherever it comes from"(root) {
        const { known, comments } = api();
        const uri = vscode.Uri.file(path.join(root, "unfold.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: still open?\nx = 1\n");
        const editor = await vscode.window.showTextDocument(uri);
        const [{ id }] = await until("its thread", () => known.threads(uri).length === 1 && known.threads(uri));
        const { Collapsed, Expanded } = vscode.CommentThreadCollapsibleState;
        const kept = () => new Map(comments.context.workspaceState.get("folds")).get(`${id} ${uri.toString()}`);
        const anew = () => {
            const { view } = comments.files.get(uri.toString())[0];
            comments.release(view);
            view.dispose();
            known.file.fire(uri);
            return comments.viewOf(uri, id);
        };
        const view = anew();
        assert.equal(view.collapsibleState, Collapsed);
        view.collapsibleState = Expanded;
        editor.selection = new vscode.Selection(1, 1, 1, 1);
        await until("it is kept", () => kept() === true);
        const again = anew();
        assert.equal(again.collapsibleState, Expanded);
        again.collapsibleState = Collapsed;
        editor.selection = new vscode.Selection(1, 2, 1, 2);
        await until("so is the other", () => kept() === undefined);
        assert.equal(anew().collapsibleState, Collapsed);
    },
    async "a thread that comes to stand elsewhere than where it was begun is shown by the box that it was begun in"(root) {
        const { known, comments, server } = api();
        const uri = vscode.Uri.file(path.join(root, "elsewhere.py"));
        writeFileSync(uri.fsPath, '"""Words\nof a module\n"""\nx = 1\n');
        await vscode.window.showTextDocument(uri);
        const box = () => comments.controller.createCommentThread(uri, new vscode.Range(1, 0, 1, 0), []);
        const begin = (view, text) => vscode.commands.executeCommand("postil.comment.start", { thread: view, text });
        const texts = (view) => view.comments.map(({ body }) => body.value.trim());
        const ask = server.ask;
        // The thread is told of before the verb answers.
        server.ask = async (...asked) => {
            const done = await ask.apply(server, asked);
            await until("its thread", () => known.threads(uri).length === 1);
            return done;
        };
        const view = box();
        await begin(view, "what for?");
        server.ask = ask;
        assert.equal(comments.viewOf(uri, known.threads(uri)[0].id), view, "one box shows it");
        assert.deepEqual(texts(view), ["what for?"]);
        assert.equal(view.range.start.line, 0);
        assert.equal(comments.files.get(uri.toString()).length, 1);

        // A server that does not know where it stands: no empty box stays behind, and the author is told.
        server.ask = async (...asked) => ({ ...(await ask.apply(server, asked)), thread_id: null });
        const said = listen("showWarningMessage");
        const lost = box();
        await begin(lost, "and this?");
        server.ask = ask;
        said.over();
        assert.match(said.texts.join(), /written into the file, but not found/);
        await until("both threads", () => known.threads(uri).length === 2);
        assert.ok(comments.files.get(uri.toString()).every((shown) => shown.id !== "" && shown.view !== lost));
    },
    async "a reply below a thread that is gone from the file stays in its box"(root) {
        const { known, comments } = api();
        const uri = vscode.Uri.file(path.join(root, "gone.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: still there?\nx = 1\n");
        const editor = await vscode.window.showTextDocument(uri);
        const [thread] = await until("its thread", () => known.threads(uri).length === 1 && known.threads(uri));
        const view = comments.viewOf(uri, thread.id);
        await vscode.commands.executeCommand("postil.comment.edit", view.comments[0]);
        await editor.edit((edit) => edit.delete(new vscode.Range(0, 0, 1, 0)));
        await until("it is said above it", () => view.label === "No longer in the file");
        const said = listen("showErrorMessage");
        await assert.rejects(async () => vscode.commands.executeCommand("postil.comment.reply", { thread: view, text: "and now?" }));
        said.over();
        assert.match(said.texts.join(), /no longer in the file; nothing was written/);
        assert.equal(editor.document.getText(), "x = 1\n");
        await vscode.commands.executeCommand("postil.comment.cancel", view.comments[0]);
        await editor.document.save();
    },
    async "what a double click sends is sent once"(root) {
        const { known, comments, server } = api();
        const uri = vscode.Uri.file(path.join(root, "twice.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: why?\n# AGENT: So.\n# AUTHOR:\nx = 1\n");
        await vscode.window.showTextDocument(uri);
        const [thread] = await until("its thread", () => known.threads(uri).length === 1 && known.threads(uri));
        const view = comments.viewOf(uri, thread.id);
        const { ask, run } = server;
        const asked = [];
        server.ask = (verb, ...more) => {
            asked.push(verb);
            return ask.call(server, verb, ...more);
        };
        server.run = async (verb) => void asked.push(verb);
        const said = listen("showErrorMessage");
        const press = (command, argument) => vscode.commands.executeCommand(`postil.comment.${command}`, argument);
        const twice = (command, view, text) => Promise.all([press(command, { thread: view, text }), press(command, { thread: view, text })]);
        await twice("ask", view, "and now?");
        assert.deepEqual(asked.splice(0), ["reply", "replyAsAgent"]);
        // Just after it was written the window may not have emptied the box.
        await press("ask", { thread: view, text: "and now?" });
        assert.deepEqual(asked.splice(0), []);
        await twice("start", comments.controller.createCommentThread(uri, new vscode.Range(3, 0, 3, 0), []), "and this?");
        assert.deepEqual(asked, ["newThread"]);
        await until("both threads", () => known.threads(uri).length === 2);
        said.over();
        Object.assign(server, { ask, run });
        assert.deepEqual(said.texts, []);
        await vscode.window.activeTextEditor.document.save();
        await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
        rmSync(uri.fsPath);
        await until("they are gone", () => known.threads(uri).length === 0);
    },
    async "words that came into the file, and were not told of, are not written over by Save"(root) {
        const { known, comments, server } = api();
        const uri = vscode.Uri.file(path.join(root, "saved.py"));
        const at = (line) => ({ line, character: 0 });
        const tell = (...texts) => {
            const messages = texts.map((text, line) => ({ role: "author", name: null, line, text }));
            known.told({ uri: uri.toString(), version: null, threads: [{ id: "saved", status: "pending", malformed: false, title: "t", range: { start: at(0), end: at(texts.length) }, messages, choices: [], turn: null, has_run: false, has_changes: false }] });
        };
        const { ask } = server;
        const asked = [];
        let fails = "the server is being started";
        server.ask = async (verb, { index, was }) => {
            asked.push([index, was]);
            if (fails) throw new Error(fails);
        };
        const said = listen("showErrorMessage");
        const note = () => comments.viewOf(uri, "saved").comments.find((one) => one.edited);
        const save = () => vscode.commands.executeCommand("postil.comment.save", note());
        tell("one", "two");
        await vscode.commands.executeCommand("postil.comment.edit", comments.viewOf(uri, "saved").comments[1]);
        note().body = "mine";
        await save();
        assert.match(said.texts.at(-1), /being started/);
        // What failed told nothing of other words. While they are typed the window draws nothing anew, or the box took the keyboard.
        const drawn = comments.viewOf(uri, "saved").comments;
        tell("one", "theirs");
        assert.equal(comments.viewOf(uri, "saved").comments, drawn);
        await save();
        assert.match(said.texts.at(-1), /changed or taken away.*theirs/);
        // Nor are newer ones known by the older.
        tell("one", "newer");
        await save();
        assert.match(said.texts.at(-1), /changed or taken away.*newer/);
        assert.deepEqual(asked, [[1, "two"]]);
        // Told of: theirs may go. It fails for another reason, and what was told holds on.
        await save();
        await save();
        assert.deepEqual(asked.splice(0), [[1, "two"], [1, "newer"], [1, "newer"]]);
        await vscode.commands.executeCommand("postil.comment.cancel", note());

        // Another message came to its place: its own words are followed.
        await vscode.commands.executeCommand("postil.comment.edit", comments.viewOf(uri, "saved").comments[1]);
        note().body = "mine";
        tell("one", "between", "newer");
        fails = "";
        await save();
        server.ask = ask;
        said.over();
        assert.deepEqual(asked, [[2, "newer"]]);
        known.told({ uri: uri.toString(), version: null, threads: [] });
    },
    async "threads with the same first words keep their boxes when one goes, comes, or leaves the text for a moment"(root) {
        const { known, comments, server } = api();
        const uri = vscode.Uri.file(path.join(root, "same.py"));
        const [first, second] = ["# AUTHOR: why?\n", "# AUTHOR: why?\n"];
        writeFileSync(uri.fsPath, `a = 1\n${first}b = 2\n${second}c = 3\n`);
        const editor = await vscode.window.showTextDocument(uri);
        const at = (line) => comments.files.get(uri.toString())?.find(({ view, gone }) => !gone && view.range.start.line === line)?.view;
        const lines = () => known.threads(uri).map(({ range }) => range.start.line).join();
        await until("both", () => lines() === "1,3");
        const [above, below] = [at(1), at(3)];
        // The first is cut and pasted at the end. The other has its name meanwhile.
        await editor.edit((edit) => edit.delete(new vscode.Range(1, 0, 2, 0)));
        await until("one", () => lines() === "2");
        assert.equal(at(2), below, "the second is the second");
        assert.equal(above.label, "No longer in the file");
        assert.equal(comments.shown(above), undefined, "it shows no other thread");
        await editor.edit((edit) => edit.insert(new vscode.Position(4, 0), first));
        await until("pasted", () => lines() === "2,4");
        assert.deepEqual([at(2), at(4)], [below, above]);
        assert.notEqual(above.label, "No longer in the file");
        // Undone and done again.
        await vscode.commands.executeCommand("undo");
        await until("it left", () => lines() === "2");
        await vscode.commands.executeCommand("redo");
        await until("it is back", () => lines() === "2,4");
        assert.deepEqual([at(2), at(4)], [below, above]);
        // Another is begun above both.
        const begun = comments.controller.createCommentThread(uri, new vscode.Range(0, 0, 0, 0), []);
        await vscode.commands.executeCommand("postil.comment.start", { thread: begun, text: "why?" });
        await until("it stands above", () => lines() === "0,3,5");
        assert.deepEqual([at(0), at(3), at(5)], [begun, below, above]);
        // Resolved by a double click: once, and its box goes at once.
        const { run } = server;
        let asked = 0;
        server.run = (...call) => {
            asked += 1;
            return run.apply(server, call);
        };
        const { id } = known.threads(uri)[0];
        const press = () => vscode.commands.executeCommand("postil.resolve", { uri: uri.toString(), thread_id: id });
        await press();
        await until("the others are left", () => lines() === "2,4");
        await press();
        server.run = run;
        assert.equal(asked, 1);
        assert.deepEqual(comments.files.get(uri.toString()).map(({ view }) => view), [below, above]);
        await editor.document.save();
    },
    async "the version that was told of a document counts for no other that is opened in its place"(root) {
        const { known } = api();
        const uri = vscode.Uri.file(path.join(root, "reopened.py"));
        writeFileSync(uri.fsPath, "x = 1\n# AUTHOR: why?\ny = 1\n");
        const editor = await vscode.window.showTextDocument(uri);
        const { document } = editor;
        await until("its thread", () => known.version(uri) === document.version);
        await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "\n"));
        await until("it goes down", () => known.version(uri) === document.version);
        const closed = new Promise((resolve) => {
            const heard = vscode.workspace.onDidCloseTextDocument((one) => {
                if (one === document) {
                    heard.dispose();
                    resolve(known.version(uri));
                }
            });
        });
        // For every extension it is closed and opened again.
        await vscode.languages.setTextDocumentLanguage(document, "plaintext");
        assert.equal(await closed, null);
        await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "\n"));
        await until("its own is told", () => known.version(uri) === document.version);
        await document.save();
    },
    async "a thread that was not written is not said to be without a server when there is another one"(root) {
        const { known, comments, server } = api();
        const uri = vscode.Uri.file(path.join(root, "unwritten.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: there?\nx = 1\n");
        await vscode.window.showTextDocument(uri);
        const [{ id }] = await until("its thread", () => known.threads(uri).length === 1 && known.threads(uri));
        const shown = comments.viewOf(uri, id);
        const files = new Map(known.files);
        const { ask } = server;
        let fail;
        server.ask = () => new Promise((_, reject) => (fail = reject));
        const errors = listen("showErrorMessage");
        const view = comments.controller.createCommentThread(uri, new vscode.Range(1, 0, 1, 0), []);
        const begun = Promise.allSettled([vscode.commands.executeCommand("postil.comment.start", { thread: view, text: "on?" })]);
        await until("it is to be written", () => fail);
        known.forget();
        fail(new Error("the server ended before it answered"));
        await begun;
        server.ask = ask;
        errors.over();
        assert.equal(shown.label, "postil is not running");
        assert.deepEqual([view.label, view.contextValue], [undefined, undefined]);
        for (const { uri, version, threads } of files.values()) known.told({ uri: uri.toString(), version, threads });
        assert.equal(shown.label, "Awaiting agent");
        view.dispose();
    },
    async "a thread that is begun in a second name of a file stands in the first, and leaves no box behind"(root) {
        const { known, comments, server } = api();
        const [uri, alias] = ["named.py", "alias.py"].map((name) => vscode.Uri.file(path.join(root, name)));
        writeFileSync(uri.fsPath, "x = 1\n");
        symlinkSync("named.py", alias.fsPath);
        for (const name of [uri, alias]) await vscode.window.showTextDocument(name);
        const { run } = server;
        const asked = [];
        server.run = async (...call) => void asked.push(call);
        const said = listen("showInformationMessage");
        const view = comments.controller.createCommentThread(alias, new vscode.Range(0, 0, 0, 0), []);
        let disposed = 0;
        const { dispose } = view;
        Object.defineProperty(view, "dispose", { value: () => (disposed += 1, dispose.call(view)) });
        await vscode.commands.executeCommand("postil.comment.startAndAsk", { thread: view, text: "which one?" });
        server.run = run;
        said.over();
        assert.deepEqual(said.texts, ["postil: alias.py and named.py are one file, whose threads are shown in named.py, which was opened first: your words stand there."]);
        const [{ id }] = await until("its thread", () => known.threads(uri).length === 1 && known.threads(uri));
        assert.deepEqual(asked, [["replyAsAgent", { uri: uri.toString(), thread_id: id }]]);
        assert.ok(comments.viewOf(uri, id));
        assert.equal(disposed, 1);
        assert.equal(comments.files.has(alias.toString()), false);
        // At the second name a sentence stands, and leads to the first.
        const sign = await until("where its threads are", () => comments.signs.get(alias.toString()));
        assert.deepEqual([sign.label, sign.canReply, sign.contextValue], ["Shown in named.py", false, "elsewhere"]);
        assert.match(sign.comments[0].body.value, /named\.py too, which was opened first/);
        assert.equal(vscode.window.activeTextEditor.document.uri.path, alias.path);
        await vscode.commands.executeCommand("postil.showElsewhere", sign);
        assert.equal(vscode.window.activeTextEditor.document.uri.path, uri.path);
        await vscode.workspace.textDocuments.find((one) => one.uri.path === uri.path).save();
    },
    async "nothing is written into a text that the window holds to be read-only, for nobody would save it"(root) {
        const { known, comments } = api();
        const uri = vscode.Uri.file(path.join(root, "fixed.py"));
        const text = "# AUTHOR: why?\nx = 'é'\n";
        writeFileSync(uri.fsPath, text, "latin1");
        const files = vscode.workspace.getConfiguration("files");
        await files.update("encoding", "iso88591", vscode.ConfigurationTarget.Global);
        await files.update("readonlyInclude", { "**/fixed.py": true }, vscode.ConfigurationTarget.Global);
        const { document } = await vscode.window.showTextDocument(uri);
        const [{ id }] = await until("its thread", () => known.threads(uri).length === 1 && known.threads(uri));
        const errors = listen("showErrorMessage");
        const reply = () => vscode.commands.executeCommand("postil.comment.reply", { thread: comments.viewOf(uri, id), text: "and on?" });
        await assert.rejects(reply);
        await until("it is told", () => errors.texts.length > 0);
        assert.deepEqual(errors.texts, ["postil: fixed.py: the editor refused the edit: it is read-only in this window; nothing was written"]);
        assert.deepEqual([document.getText(), document.isDirty], [text, false]);
        errors.over();
        // It can be written from here on.
        await vscode.commands.executeCommand("workbench.action.files.setActiveEditorWriteableInSession");
        await reply();
        assert.ok(document.getText().includes("# AUTHOR: and on?"));
        await document.save();
        await files.update("readonlyInclude", undefined, vscode.ConfigurationTarget.Global);
        await files.update("encoding", undefined, vscode.ConfigurationTarget.Global);
    },
    async "a thread that an undo brings back is resolved again at once"(root) {
        const { known } = api();
        const uri = vscode.Uri.file(path.join(root, "again.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: once more?\nx = 1\n");
        const editor = await vscode.window.showTextDocument(uri);
        const there = () => known.threads(uri).length;
        await until("its thread", () => there() === 1);
        const { id } = known.threads(uri)[0];
        const resolve = () => vscode.commands.executeCommand("postil.resolve", { uri: uri.toString(), thread_id: id });
        await resolve();
        await until("it is gone", () => there() === 0);
        await vscode.commands.executeCommand("undo");
        await until("it is back", () => there() === 1);
        await resolve();
        await until("it is gone again", () => there() === 0);
        await editor.document.save();
    },
    async "a thread that left the text for good leaves the margin"(root) {
        const { known, comments } = api();
        const uri = vscode.Uri.file(path.join(root, "left.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: for how long?\nx = 1\n");
        const editor = await vscode.window.showTextDocument(uri);
        await until("its thread", () => known.threads(uri).length === 1);
        await editor.edit((edit) => edit.delete(new vscode.Range(0, 0, 1, 0)));
        await until("it is gone", () => known.threads(uri).length === 0);
        assert.equal(comments.files.get(uri.toString()).length, 1);
        await until("in the margin too", () => !comments.files.has(uri.toString()));
        await editor.document.save();
    },
    async "what stands in a box is not given up for an error of a server that was started again"(root) {
        const { known, comments, server } = api();
        const [open, closed] = ["opened.py", "shut.py"].map((name) => vscode.Uri.file(path.join(root, name)));
        for (const uri of [open, closed]) writeFileSync(uri.fsPath, "# AUTHOR: still there?\nx = 1\n");
        await vscode.window.showTextDocument(open);
        await until("their threads", () => [open, closed].every((uri) => known.threads(uri).length === 1));
        const files = new Map(known.files);
        const { ask } = server;
        server.ask = async () => {
            throw new Error("not now");
        };
        known.forget();
        const views = [open, closed].map((uri) => comments.files.get(uri.toString())[0].view);
        await comments.settle();
        server.ask = ask;
        assert.equal(comments.files.get(open.toString())[0].view, views[0]);
        assert.ok(comments.isStale(views[0]));
        assert.equal(comments.files.has(closed.toString()), false);
        const tell = () => [...files.values()].forEach(({ uri, version, threads }) => known.told({ uri: uri.toString(), version, threads }));
        tell();
        assert.equal(comments.viewOf(open, known.threads(open)[0].id), views[0]);
        // Of what the server tells meanwhile it is not asked: there may be thousands.
        known.forget();
        const asked = [];
        server.ask = async (_, { uri }) => {
            asked.push(uri);
            tell();
            return { threads: [{}] };
        };
        await comments.settle();
        server.ask = ask;
        assert.equal(asked.length, 1);
    },
});
