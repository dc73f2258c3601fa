// Inside the real extension host: what needs no eyes. Run by the case `host` of ../browser/cases.mjs.
const assert = require("node:assert/strict");
const { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { hang } = require("../hang.cjs");

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
    const [texts, presses] = [[], []];
    vscode.window[kind] = (text) => {
        texts.push(text);
        return new Promise((resolve) => presses.push(resolve));
    };
    return {
        texts,
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
        await settings.update("threads", undefined, vscode.ConfigurationTarget.Global);
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
        for (const { uri, version, threads } of files.values()) known.told({ uri: uri.toString(), version, threads });
        assert.equal(comments.viewOf(open, known.threads(open)[0].id), views[0]);
    },
    async "a conversation that is closed before its rounds come is closed"() {
        const { server } = api();
        const { ask, run } = server;
        let come;
        const rounds = { run: { id: "closed", file: "a.py" }, rounds: [], more: false };
        server.run = async () => rounds;
        server.ask = () => new Promise((resolve) => (come = resolve));
        const failed = [];
        const fail = (error) => failed.push(error);
        process.on("unhandledRejection", fail);
        await vscode.commands.executeCommand("postil.openConversation", { run_id: "closed" });
        await until("it asks", () => come);
        const tab = await until("its tab", () => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).find(({ label }) => label === "Conversation: a.py"));
        await vscode.window.tabGroups.close(tab);
        await until("it is closed", () => vscode.window.tabGroups.all.every(({ tabs }) => tabs.every(({ label }) => label !== tab.label)));
        come(rounds);
        await new Promise((resolve) => setTimeout(resolve, 100));
        process.off("unhandledRejection", fail);
        Object.assign(server, { ask, run });
        assert.deepEqual(failed, []);
    },
    async "a conversation that one comes back to has its first rounds, and is read only while it is seen"(root) {
        const { conversations, known, server } = api();
        const { ask, run } = server;
        const reads = [];
        server.run = async () => ({ run: { id: "again", file: "again.py" }, rounds: [], more: false });
        server.ask = (verb, { after }) => new Promise((resolve) => reads.push({ after, answer: (...seqs) => resolve({ run: { id: "again", file: "again.py", running: true }, rounds: seqs.map((seq) => ({ seq, role: "agent", time: "", metadata: {}, content: `${seq}.`, cut: false })), more: false }) }));
        const show = () => vscode.commands.executeCommand("postil.openConversation", { run_id: "again" });
        const afters = () => reads.map(({ after }) => after);
        await show();
        const panel = await until("its panel", () => conversations.open.get("again"));
        const hide = async () => {
            const other = vscode.Uri.file(path.join(root, "beside.py"));
            writeFileSync(other.fsPath, "x = 1\n");
            await vscode.window.showTextDocument(other, panel.view.viewColumn);
            await until("it is hidden", () => !panel.view.visible);
        };
        await until("it asks", () => reads.length === 1);
        reads[0].answer(1, 2);
        await panel.reading;
        // A round comes while another tab is looked at.
        known.turn.fire([{ id: "again" }]);
        await until("it asks for more", () => reads.length === 2);
        await hide();
        let shown = 0;
        const { more } = panel;
        panel.more = () => {
            shown += 1;
            return more.call(panel);
        };
        panel.reveal();
        await until("its page is there again", () => shown > 0);
        reads[1].answer(3);
        await until("it asks again", () => reads.length === 3);
        assert.deepEqual(afters(), [0, 2, 0]);
        reads[2].answer(1, 2, 3);
        await panel.reading;
        await hide();
        await panel.more();
        assert.deepEqual(afters(), [0, 2, 0], "nothing is read for a page that nobody sees");
        panel.dispose();
        Object.assign(server, { ask, run });
        await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    },
    async "threads of two folders that have one id are told apart by their file"(root) {
        const { known, server } = api();
        const uris = ["one", "two"].map((folder) => vscode.Uri.file(path.join(root, folder, "same.py")).toString());
        const at = (line) => ({ line, character: 0 });
        const messages = [{ role: "agent", name: null, line: 0, text: "Which?" }];
        const thread = { id: "same", status: "awaiting_user", malformed: false, title: "Which?", range: { start: at(0), end: at(0) }, messages, choices: ["(a)", "(b)"], turn: null, has_run: true, has_changes: true };
        for (const uri of uris) known.told({ uri, version: null, threads: [structuredClone(thread)] });
        const { run } = server;
        const asked = [];
        server.run = async (verb, argument) => void asked.push([verb, argument.uri]);
        for (const uri of uris) {
            for (const command of ["choose", "openConversation", "reviewTurn", "resolve"]) {
                await vscode.commands.executeCommand(`postil.${command}`, { uri, thread_id: "same", text: "(a)" });
            }
        }
        server.run = run;
        for (const uri of uris) known.told({ uri, version: null, threads: [] });
        assert.deepEqual(asked, uris.flatMap((uri) => ["choose", "workflowRounds", "turnChanges", "dismissThread"].map((verb) => [verb, uri])));
    },
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
        assert.equal(said.texts.filter((text) => text.includes("open the diff")).length, 2);
        assert.deepEqual(rows(), ["f.txt"]);

        // In its own diff the buttons act.
        await reviews.diff(second);
        await until("its diff", () => looked() instanceof vscode.TabInputTextDiff && looked().original.path === second.left.path);
        assert.equal(reviews.file(second.right), second);

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
    async "from the view Threads a file is cleared and committed only where that is agreed to"(root) {
        const { server } = api();
        const { run } = server;
        const asked = [];
        server.run = async (verb) => void asked.push(verb);
        const said = listen("showWarningMessage");
        const row = { is: "file", uri: vscode.Uri.file(path.join(root, "notes.rs")) };
        for (const button of [undefined, "Clear and Commit"]) {
            const cleared = vscode.commands.executeCommand("postil.clearAndCommit", row);
            await until("it is asked", () => said.texts.length > 0);
            assert.match(said.texts.pop(), /^Clear the thread of notes\.rs and commit the file\?$/);
            assert.deepEqual(asked, []);
            said.press(-1, button);
            await cleared;
        }
        said.over();
        server.run = run;
        assert.deepEqual(asked, ["clearAndCommit"]);
    },
    async "nothing that an author or an agent says is a link while a turn is at work"(root) {
        const { server } = api();
        const uri = vscode.Uri.file(path.join(root, "links.py"));
        writeFileSync(uri.fsPath, "x = 1\n");
        await vscode.window.showTextDocument(uri);
        const { withProgress } = vscode.window;
        const texts = [];
        vscode.window.withProgress = (options, work) => {
            texts.push(options.title);
            return work({ report: ({ message }) => texts.push(message) }, never);
        };
        const asks = listen("showInformationMessage");
        const begun = await server.ask("newThread", { uri: uri.toString(), position: { line: 0, character: 0 }, text: "[what](command:a.b)?" });
        const thread = { uri: uri.toString(), thread_id: begun.thread_id };
        await server.ask("replyAsAgent", thread);
        await until("it asks", () => asks.texts.some((text) => text.includes("wants to run")));
        asks.press(asks.texts.findIndex((text) => text.includes("wants to run")), "Allow once");
        await until("what the command says", () => texts.some((text) => text.includes("[so]")));
        assert.ok(texts.some((text) => text.includes("[what]")), texts.join("\n"));
        assert.doesNotMatch(texts.join("\n"), /\]\(/);
        await server.ask("cancelTurn", thread);
        asks.over();
        vscode.window.withProgress = withProgress;
    },
    async "while no server runs every command says that, and what stands in a box stays there"(root) {
        const { known, comments, server } = api();
        const extension = vscode.extensions.getExtension("postil.postil");
        const uri = vscode.Uri.file(path.join(root, "down.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: anybody?\nx = 1\n");
        await vscode.window.showTextDocument(uri);
        const view = await until("its thread", () => known.threads(uri).length === 1 && comments.viewOf(uri, known.threads(uri)[0].id));
        await vscode.commands.executeCommand("postil.comment.edit", view.comments[0]);
        view.comments[0].body = "what I wrote";
        const note = () => view.comments.find((one) => one.edited);
        // These leave nothing to be said, or act on what is there already.
        const free = /^postil\.(restart|stop|trust|showLog|doctor|openSettings|walkthrough|groupBy|review\.|comment\.)/;
        const served = extension.packageJSON.contributes.commands.map(({ command }) => command).filter((command) => !free.test(command));
        const boxed = ["reply", "ask"].map((command) => `postil.comment.${command}`);
        const each = async (kind, why) => {
            const says = (what, text) => assert.match(text ?? "nothing", why, what);
            const said = listen(kind);
            const others = listen(kind === "showErrorMessage" ? "showInformationMessage" : "showErrorMessage");
            for (const command of [...served, "postil.choose"]) {
                await vscode.commands.executeCommand(command);
                says(command, said.texts.pop());
            }
            for (const command of boxed) {
                await assert.rejects(async () => vscode.commands.executeCommand(command, { thread: view, text: "and now?" }), command);
                says(command, said.texts.pop());
            }
            await vscode.commands.executeCommand("postil.comment.save", note());
            says("save", said.texts.pop());
            assert.equal(note().draft, "what I wrote");
            await vscode.commands.executeCommand("postil.comment.delete", note());
            says("delete", said.texts.at(-1));
            others.over();
            said.over();
            assert.deepEqual(others.texts, []);
            return said;
        };
        // It is not installed.
        const { PATH, HOME } = process.env;
        Object.assign(process.env, { PATH: "/nowhere", HOME: "/nowhere" });
        const once = listen("showErrorMessage");
        await server.restart();
        once.over();
        assert.equal(once.texts.length, 1);
        const failed = await each("showErrorMessage", /postil.*(not found|was not|install)/i);
        // It is, but does not come on.
        const [bin, go] = [path.join(root, "bin"), path.join(root, "go")];
        mkdirSync(bin);
        writeFileSync(path.join(bin, "postil"), `#!/bin/sh\nwhile [ ! -e ${go} ]; do sleep 0.05; done\nPATH='${PATH}' exec postil "$@"\n`, { mode: 0o755 });
        Object.assign(process.env, { PATH: `${bin}:${PATH}`, HOME });
        failed.press(-1, "Try Again");
        await until("it is being started", () => server.state.is === "starting");
        await each("showInformationMessage", /is being started/);
        writeFileSync(go, "");
        await until("it runs", () => server.state.is === "running" && known.threads(uri).length === 1);
        process.env.PATH = PATH;
        await vscode.commands.executeCommand("postil.comment.save", note());
        await until("what was written", () => known.threads(uri)[0].messages[0].text === "what I wrote");
    },
    async "another agent, a second opinion and the words of threads are asked for by command"(root) {
        const { known, server } = api();
        const { run } = server;
        const uri = vscode.Uri.file(path.join(root, "verbs.py")).toString();
        const at = { line: 0, character: 0 };
        known.told({ uri, version: null, threads: [{ id: "v", status: "awaiting_user", malformed: false, title: "t", range: { start: at, end: at }, messages: [{ role: "agent", name: null, line: 0, text: "t" }], choices: [], turn: null, has_run: true, has_changes: false }] });
        const asked = [];
        server.run = async (...call) => void asked.push(call);
        const named = { uri, thread_id: "v" };
        const row = { is: "thread", uri: vscode.Uri.parse(uri), thread: known.threads(vscode.Uri.parse(uri))[0] };
        for (const command of ["askAnother", "consult", "processActions"]) await vscode.commands.executeCommand(`postil.${command}`, row);
        server.run = run;
        known.told({ uri, version: null, threads: [] });
        assert.deepEqual(asked, [["askAnother", named], ["consult", named], ["processActions", {}]]);
    },
    async "one word is said of turns that end where nobody looks, and none of others"(root) {
        const { known } = api();
        const at = { line: 0, character: 0 };
        const uris = ["seen", "far", "farther", "asks"].map((name) => vscode.Uri.file(path.join(root, `${name}.py`)));
        const turn = (uri, status, more = {}) => ({ id: path.basename(uri.path), thread_id: path.basename(uri.path), file: path.basename(uri.path), status, started: "2026-01-01T00:00:00Z", rounds: 1, tokens: 1, cost: 0, running: status === "running", message: null, model: "anthropic/claude-sonnet-5-5", error: null, ...more });
        for (const uri of uris) {
            const id = path.basename(uri.path);
            writeFileSync(uri.fsPath, "x = 1\n");
            known.told({ uri: uri.toString(), version: null, threads: [{ id, status: "awaiting_user", malformed: false, title: `about ${id}`, range: { start: at, end: at }, messages: [{ role: "agent", name: null, line: 0, text: "t" }], choices: id === "asks.py" ? ["(a)", "(b)"] : [], turn: { run_id: id, running: false, failed: false, message: "" }, has_run: true, has_changes: false }] });
        }
        const [seen, far, farther, asks] = uris;
        await vscode.window.showTextDocument(seen);
        const [infos, warnings] = ["showInformationMessage", "showWarningMessage"].map(listen);
        const ends = (...all) => {
            known.toldTurns({ turns: all.map(({ running: _, ...one }) => ({ ...one, status: "running", running: true })) });
            known.toldTurns({ turns: all });
        };
        // What is seen, what asks, what the author ended himself; and last one that he does not see.
        ends(turn(seen, "awaiting_user"), turn(asks, "awaiting_user"), turn(farther, "cancelled"), turn(far, "awaiting_user"));
        await until("a word", () => infos.texts.length > 0);
        assert.deepEqual(infos.texts, ["postil: the turn in far.py has ended: about far.py"]);
        infos.press(0, "Show");
        await until("it is shown", () => vscode.window.activeTextEditor?.document.uri.path === far.path);
        // Two together are counted; what failed is said.
        await vscode.window.showTextDocument(seen);
        ends(turn(farther, "failed"), turn(far, "awaiting_user"));
        await until("a word for both", () => warnings.texts.length > 0);
        ends(turn(farther, "failed", { error: "the key is not valid" }));
        await until("a word for one", () => warnings.texts.length > 1);
        assert.deepEqual(warnings.texts, ["postil: 2 turns have ended, 1 of them failed.", "postil: the turn in farther.py failed: the key is not valid"]);
        assert.equal(infos.texts.length, 1);
        infos.over();
        warnings.over();
        for (const uri of uris) {
            known.told({ uri: uri.toString(), version: null, threads: [] });
            known.turns.delete(path.basename(uri.path));
        }
    },
    async "the status bar tells who answers and what runs, and the server is stopped until it is started again"(root) {
        const { known, server, status } = api();
        const tooltip = () => status.item.tooltip.value.replace(/\\/g, "").replaceAll("&nbsp;", " ");
        const [pid] = servers();
        const tells = (words) => until(String(words), () => words.test(tooltip()));
        await tells(new RegExp(`postil ${server.program.version}, .*/postil`));
        known.toldTurns({ turns: [{ id: "who", thread_id: "who", file: "who.py", status: "awaiting_user", started: "9999", rounds: 1, tokens: 1, cost: 0, running: false, message: null, model: "acp/claude-code", error: null }] });
        await tells(/The last turn was answered by acp\/claude-code/);
        known.toldTurns({ turns: [{ ...known.turns.get("who"), model: "offline" }] });
        await tells(/The last turn was answered offline/);
        known.turns.delete("who");

        await vscode.commands.executeCommand("postil.stop");
        await until("it has ended", () => !existsSync(`/proc/${pid}`));
        assert.equal(server.state.is, "stopped");
        await tells(/postil is stopped/);
        const said = listen("showInformationMessage");
        await vscode.window.showTextDocument(vscode.Uri.file(path.join(root, "notes.rs")));
        await vscode.commands.executeCommand("postil.newThread");
        assert.deepEqual(said.texts, ["postil is stopped."]);
        assert.deepEqual(servers(), []);
        said.press(0, "Start Server");
        said.over();
        await until("it runs", () => server.state.is === "running" && servers().length === 1);
    },
    async "who answers is chosen among those that are found, and kept for every editor"() {
        const { server, status } = api();
        const tooltip = () => status.item.tooltip.value.replace(/\\/g, "").replaceAll("&nbsp;", " ");
        const tells = async (words) => {
            await until(String(words), () => words.test(tooltip())).catch((error) => {
                throw new Error(`${error.message} in ${tooltip()}`);
            });
        };
        const settings = () => vscode.workspace.getConfiguration("postil");
        const set = (model) => settings().update("model", model, vscode.ConfigurationTarget.Global);
        await tells(/claude-sonnet-5-5 answers: it is configured/);
        const config = () => readFileSync(server.configFile, "utf8");
        const had = existsSync(server.configFile);
        const said = listen("showInformationMessage");
        const picks = listen("showQuickPick");
        const choose = async (label) => {
            const done = vscode.commands.executeCommand("postil.selectModel");
            const items = await until("the list", () => picks.texts.pop());
            picks.press(-1, items.find((item) => item.label.endsWith(label)));
            await done;
        };
        await choose("offline");
        assert.match(config(), /^model = "offline"$/m);
        await tells(/No model answers: `model` names it/);
        await choose("Whoever Is Found");
        assert.doesNotMatch(config(), /^model/m);
        await tells(/answers: it is configured/);
        assert.deepEqual(said.texts, ["postil: offline answers from now on.", "postil: anthropic/claude-sonnet-5-5 answers from now on."]);

        const boxes = listen("showInputBox");
        const errors = listen("showErrorMessage");
        const typed = choose("Another…");
        await until("the box", () => boxes.texts.length === 1);
        boxes.press(0, "nobody/at-all");
        await typed;
        assert.match(errors.texts[0], /the model `nobody\/at-all` is of no provider/);
        assert.doesNotMatch(config(), /nobody/);
        errors.over();
        boxes.over();

        // A setting of the editor stands over the file, so that it has to say the same.
        await set("openai/gpt-6.1-sol");
        await tells(/Nobody can be asked: no key for openai/);
        await choose("offline");
        assert.equal(settings().inspect("model").globalValue, "offline");
        await set(undefined);
        await choose("Whoever Is Found");
        await tells(/answers: it is configured/);
        picks.over();
        said.over();
        if (!had) {
            rmSync(server.configFile);
        }
    },
    async "a server that hangs is ended by a restart, and nothing waits for it any more"(root) {
        const { known, comments, server } = api();
        const uri = vscode.Uri.file(path.join(root, "hung.py"));
        writeFileSync(uri.fsPath, "x = 1\n");
        await vscode.window.showTextDocument(uri);
        const [first, ...others] = servers();
        assert.deepEqual(others, []);
        await hang(first);
        const errors = listen("showErrorMessage");
        const view = comments.controller.createCommentThread(uri, new vscode.Range(0, 0, 0, 0), []);
        const begin = () => vscode.commands.executeCommand("postil.comment.start", { thread: view, text: "on?" });
        const begun = Promise.allSettled([begin()]);
        const warnings = listen("showWarningMessage");
        const told = (times) => until("it is told", () => warnings.texts.filter((text) => text.includes("does not answer")).length === times);
        void server.check(server.connection);
        await told(1);
        warnings.press(warnings.texts.length - 1, "Restart Server");
        await begun;
        errors.over();
        assert.deepEqual(errors.texts, ["postil: the server ended before it answered"]);
        await until("it has ended", () => !existsSync(`/proc/${first}`));
        await until("the next one", () => server.state.is === "running");

        // The same box again, and the next server that hangs.
        await begin();
        await until("its thread", () => known.threads(uri).length === 1);
        const [second] = servers();
        await hang(second);
        const late = server.check(server.connection);
        await told(2);
        process.kill(Number(second), "SIGCONT");
        await late;
        warnings.over();
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

Object.assign(tests, require("./shown.cjs")({ api, listen, until }));

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
