// Conversations, and threads of one id. A part of ./index.cjs.
const assert = require("node:assert/strict");
const { mkdirSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

module.exports = ({ api, listen, until }) => ({
    async "of several threads on one line that is meant in which the cursor is, and each is gone to"(root) {
        const { known, server } = api();
        const uri = vscode.Uri.file(path.join(root, "line.js"));
        writeFileSync(uri.fsPath, "let x;\nf(/* AUTHOR: one $(pwd)? */ 1, /* AUTHOR: two? */ 2);\n");
        const editor = await vscode.window.showTextDocument(uri);
        const [one, two] = await until("both", () => known.threads(uri).length === 2 && known.threads(uri));
        assert.deepEqual([one, two].map(({ range }) => range.start.line), [1, 1]);
        const put = (character, line = 1) => {
            editor.selection = new vscode.Selection(line, character, line, character);
        };
        const at = () => [editor.selection.active.line, editor.selection.active.character];
        const { run } = server;
        const asked = [];
        server.run = async (_, { thread_id }) => void asked.push(thread_id);
        for (const character of [0, one.range.start.character + 3, two.range.start.character, 60]) {
            put(character);
            await vscode.commands.executeCommand("postil.plan");
        }
        server.run = run;
        assert.deepEqual(asked, [one.id, one.id, two.id, two.id]);
        const go = async (command) => {
            await vscode.commands.executeCommand(`postil.${command}Thread`);
            return at();
        };
        put(0, 0);
        assert.deepEqual(await go("next"), [1, one.range.start.character]);
        assert.deepEqual(await go("next"), [1, two.range.start.character]);
        assert.deepEqual(await go("previous"), [1, one.range.start.character]);
        // A lens that says whose it is has their words, and makes no icon of them.
        const lenses = await until("lenses", async () => {
            const found = await vscode.commands.executeCommand("vscode.executeCodeLensProvider", uri);
            return found.length > 0 && found.map(({ command }) => command.title);
        });
        assert.ok(lenses.some((title) => title.startsWith("one $\u200b(pwd)?")), lenses.join());
        await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
    },
    async "a conversation does not say that a turn runs when no server does"() {
        const { conversations, server } = api();
        const { ask, run } = server;
        server.run = async () => ({ run: { id: "cut", file: "cut.py" }, rounds: [], more: false });
        server.ask = async () => ({ run: { id: "cut", file: "cut.py", running: true }, rounds: [{ seq: 1, role: "user", time: "", metadata: {}, content: "?", cut: false }], more: false });
        await vscode.commands.executeCommand("postil.openConversation", { run_id: "cut" });
        const panel = await until("its panel", () => conversations.open.get("cut"));
        await until("its rounds", () => panel.last === 1);
        await panel.reading;
        Object.assign(server, { ask, run });
        const told = [];
        panel.tell = (why) => told.push(why);
        await server.halt();
        assert.deepEqual(told, ["postil is not running"]);
        panel.dispose();
        await server.restart();
        await until("it runs", () => server.state.is === "running");
    },
    async "the answers of a question are listed as they stand"(root) {
        const { known, server } = api();
        const uri = vscode.Uri.file(path.join(root, "listed.py")).toString();
        const at = { line: 0, character: 0 };
        const choices = Array.from("abcdefgh", (letter) => `(${letter}) run $(pwd)`);
        const turn = { run_id: "listed", running: true, failed: false, message: "" };
        const thread = { id: "listed", status: "awaiting_user", malformed: false, title: "t", range: { start: at, end: at }, messages: [{ role: "agent", name: null, line: 0, text: "Which?" }], choices, turn, has_run: true, has_changes: false };
        const said = listen("showInformationMessage");
        const picks = listen("showQuickPick");
        const { run } = server;
        const asked = [];
        server.run = async (verb, { text }) => void asked.push([verb, text]);
        known.told({ uri, version: null, threads: [{ ...thread, status: "pending", choices: [] }] });
        known.told({ uri, version: null, threads: [{ ...thread, turn: { ...turn, running: false } }] });
        await until("it is asked", () => said.texts.length > 0);
        assert.deepEqual(said.rows[0], ["Choose …", "Show Thread"]);
        said.press(0, "Choose …");
        const items = await until("the list", () => picks.texts[0]);
        assert.equal(items[1].label, "(b) run $\u200b(pwd)");
        picks.press(0, items[1]);
        await until("the answer", () => asked.length > 0);
        server.run = run;
        said.over();
        picks.over();
        assert.deepEqual(asked, [["choose", "(b) run $(pwd)"]]);
        known.told({ uri, version: null, threads: [] });
    },
    async "a link that was not made for a question answers none"(root) {
        const { known, server } = api();
        const uri = vscode.Uri.file(path.join(root, "linked.py")).toString();
        const at = { line: 0, character: 0 };
        const messages = [{ role: "agent", name: null, line: 0, text: "Which?" }];
        known.told({ uri, version: null, threads: [{ id: "linked", status: "awaiting_user", malformed: false, title: "t", range: { start: at, end: at }, messages, choices: ["(a)", "(b)"], turn: null, has_run: true, has_changes: false }] });
        const { run } = server;
        const asked = [];
        server.run = async (verb) => void asked.push(verb);
        const said = listen("showInformationMessage");
        // What a file can know of a thread.
        const link = { uri, thread_id: "linked", text: "(a)" };
        for (const wrong of [link, { ...link, key: "" }, { ...link, uri: undefined }]) {
            await vscode.commands.executeCommand("postil.choose", wrong);
            assert.match(said.texts.pop() ?? "nothing", /answered already/);
        }
        server.run = run;
        said.over();
        assert.deepEqual(asked, []);
        known.told({ uri, version: null, threads: [] });
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
        const { webview } = panel.view;
        const { postMessage } = webview;
        const sent = [];
        webview.postMessage = (message) => {
            sent.push([message.first, ...message.rounds.map(({ seq }) => seq)]);
            return postMessage.call(webview, message);
        };
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
        assert.deepEqual(afters(), [0, 2, 2], "what was read is kept, and an answer for the page before is not for this one");
        reads[2].answer(3);
        await panel.reading;
        assert.deepEqual(sent, [[true, 1, 2], [true, 1, 2], [false, 3]]);
        await hide();
        await panel.more();
        assert.deepEqual(afters(), [0, 2, 2], "nothing is read for a page that nobody sees");
        panel.dispose();
        Object.assign(server, { ask, run });
        await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    },
    async "a conversation leads to the file of its own root, also under the name that it had before"(root) {
        const { conversations, server } = api();
        const { ask, run } = server;
        const two = path.join(root, "two");
        mkdirSync(two, { recursive: true });
        for (const folder of [root, two]) for (const name of ["new.py", "old.py"]) writeFileSync(path.join(folder, name), "x = 1\n");
        const facts = { id: "rooted", thread_id: "gone", file: "new.py", uri: vscode.Uri.file(path.join(two, "new.py")).toString(), running: false };
        server.run = async () => ({ run: facts, rounds: [], more: false });
        server.ask = async () => ({ run: facts, rounds: [{ seq: 1, role: "user", time: "", metadata: { file: "old.py", line: 1 }, content: "?", cut: false }], more: false });
        await vscode.commands.executeCommand("postil.openConversation", { run_id: "rooted" });
        const panel = await until("its panel", () => conversations.open.get("rooted"));
        await until("its rounds", () => panel.last === 1);
        const goTo = async (file, turn = panel.turn) => {
            await conversations.goTo(turn, file, 1);
            const { uri } = vscode.window.activeTextEditor.document;
            await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
            return uri.fsPath;
        };
        assert.deepEqual([await goTo("new.py"), await goTo("old.py")], ["new.py", "old.py"].map((name) => path.join(two, name)));
        // Of a server that does not tell it is looked for in each root.
        assert.equal(await goTo("old.py", { ...panel.turn, uri: undefined }), path.join(root, "old.py"));
        panel.dispose();
        Object.assign(server, { ask, run });
        await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    },
    async "an old place of a conversation leads to its thread in the file as it is called now"(root) {
        const { conversations, known, server } = api();
        const [old, now] = ["before.py", "after.py"].map((name) => vscode.Uri.file(path.join(root, name)));
        writeFileSync(old.fsPath, "x = 1\ny = 2\n");
        await vscode.window.showTextDocument(old);
        const asked = await server.ask("newThread", { uri: old.toString(), position: { line: 1, character: 0 }, text: "list todos" });
        await server.ask("replyAsAgent", { uri: old.toString(), thread_id: asked.thread_id, model: "offline" });
        await until("its answer", () => known.threads(old)[0]?.has_run && known.threads(old)[0].turn?.running !== true);
        await vscode.commands.executeCommand("postil.openConversation", { uri: old.toString(), thread_id: asked.thread_id });
        const panel = await until("its panel", () => conversations.open.get(known.threads(old)[0].turn.run_id));
        await until("its rounds", () => panel.last > 0);
        await vscode.workspace.textDocuments.find(({ uri }) => uri.path === old.path).save();
        const edit = new vscode.WorkspaceEdit();
        edit.renameFile(old, now);
        await vscode.workspace.applyEdit(edit);
        await until("it is there", () => known.threads(now)[0]?.has_run);
        const place = () => {
            const { document, selection } = vscode.window.activeTextEditor;
            return [path.basename(document.uri.path), selection.active.line];
        };
        const goTo = conversations.goTo.bind(conversations);
        await panel.lead(goTo, "before.py", 2);
        assert.deepEqual(place(), ["after.py", 1]);
        // Where the thread is gone, too.
        known.told({ uri: now.toString(), version: null, threads: [] });
        await panel.lead(goTo, "before.py", 3);
        assert.deepEqual(place(), ["after.py", 2]);
        panel.dispose();
        await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    },
    async "threads of two folders that have one id are told apart by their file"(root) {
        const { known, questions, server } = api();
        const uris = ["one", "two"].map((folder) => vscode.Uri.file(path.join(root, folder, "same.py")).toString());
        const at = (line) => ({ line, character: 0 });
        const messages = [{ role: "agent", name: null, line: 0, text: "Which?" }];
        const thread = { id: "same", status: "awaiting_user", malformed: false, title: "Which?", range: { start: at(0), end: at(0) }, messages, choices: ["(a)", "(b)"], turn: null, has_run: true, has_changes: true };
        for (const uri of uris) known.told({ uri, version: null, threads: [structuredClone(thread)] });
        const { run } = server;
        const asked = [];
        server.run = async (verb, argument) => void asked.push([verb, argument.uri]);
        for (const uri of uris) {
            await questions.choose({ uri, thread_id: "same", text: "(a)" });
            for (const command of ["openConversation", "reviewTurn", "resolve"]) {
                await vscode.commands.executeCommand(`postil.${command}`, { uri, thread_id: "same" });
            }
        }
        server.run = run;
        for (const uri of uris) known.told({ uri, version: null, threads: [] });
        assert.deepEqual(asked, uris.flatMap((uri) => ["choose", "workflowRounds", "turnChanges", "dismissThread"].map((verb) => [verb, uri])));
    },
});
