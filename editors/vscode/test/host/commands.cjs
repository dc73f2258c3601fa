// Commands, notifications, the status bar and the server's life. A part of ./index.cjs.
const assert = require("node:assert/strict");
const { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { hang } = require("../hang.cjs");

module.exports = ({ api, listen, never, proposed, servers, until }) => ({
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
        const begun = await server.ask("newThread", { uri: uri.toString(), position: { line: 0, character: 0 }, text: "[what](command:a.b) $(pwd)?" });
        const thread = { uri: uri.toString(), thread_id: begun.thread_id };
        await server.ask("replyAsAgent", thread);
        await until("it asks", () => asks.texts.some((text) => text.includes("wants to run")));
        // All that can be answered would be cut off.
        const at = asks.texts.findIndex((text) => text.includes("wants to run"));
        assert.deepEqual(asks.rows[at], ["Allow once", "Refuse", "More …"]);
        const { showQuickPick } = vscode.window;
        const lists = [];
        vscode.window.showQuickPick = async (items) => {
            lists.push(items.map(({ label }) => label));
            return lists.length > 1 ? items[1] : undefined;
        };
        asks.press(at, "More …");
        await until("it is asked again", () => asks.texts.filter((text) => text.includes("wants to run")).length === 2);
        asks.press(-1, "More …");
        await until("all answers, twice", () => lists.length === 2);
        vscode.window.showQuickPick = showQuickPick;
        assert.deepEqual(lists[1].slice(0, 3), ["Allow once", "Allow in this run", "Allow in this workspace"]);
        await until("what the command says", () => texts.some((text) => text.includes("[so]")));
        assert.ok(texts.some((text) => text.includes("[what]")), texts.join("\n"));
        assert.doesNotMatch(texts.join("\n"), /\]\(|\$\(/);
        await server.ask("cancelTurn", thread);
        asks.over();
        vscode.window.withProgress = withProgress;
    },
    async "what goes wrong with a lens or the light bulb is told in one sentence, in which nothing is a link"(root) {
        const said = listen("showErrorMessage");
        const uri = vscode.Uri.file(path.join(root, "notes.rs")).toString();
        await vscode.commands.executeCommand("postil.server.replyAsAgent", { uri, thread_id: "[x](command:workbench.action.quit)" });
        said.over();
        assert.equal(said.texts.length, 1);
        assert.match(said.texts[0], /no thread `\[x\]\u200b\(command/);
    },
    async "who answers can be chosen before there is a file"() {
        const { server } = api();
        await server.next(() => server.end());
        assert.equal(server.state.is, "off");
        const picks = listen("showQuickPick");
        const done = vscode.commands.executeCommand("postil.selectModel");
        await until("the list", () => picks.texts.length === 1);
        picks.press(0, undefined);
        await done;
        picks.over();
        assert.equal(server.state.is, "running");
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
        const free = /^postil\.(restart|stop|trust|showLog|doctor|openSettings|walkthrough|openFolder|showElsewhere|groupBy|filter|changeFilter|showAll|review\.|comment\.)/;
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
    async "the second press of a double click does not take back what the first began"(root) {
        const { known, server } = api();
        const { run } = server;
        const uri = vscode.Uri.file(path.join(root, "double.py")).toString();
        const at = { line: 0, character: 0 };
        const thread = (id) => ({ id, status: "pending", malformed: false, title: "t", range: { start: at, end: at }, messages: [{ role: "author", name: null, line: 0, text: "t" }], choices: [], turn: null, has_run: false, has_changes: false });
        known.told({ uri, version: null, threads: [thread("one"), thread("two")] });
        const asked = [];
        server.run = async (verb, { thread_id }) => void asked.push([verb, thread_id]);
        const press = (command, thread_id) => vscode.commands.executeCommand(`postil.${command}`, { uri, thread_id });
        await press("replyAsAgent", "one");
        // Its button is there by now, in the same place.
        await press("cancel", "one");
        await press("cancel", "two");
        await press("replyAsAgent", "two");
        assert.deepEqual(asked.splice(0), [["replyAsAgent", "one"], ["cancelTurn", "two"]]);
        await until("it is a press of its own", async () => {
            await press("cancel", "one");
            return asked.length > 0;
        });
        assert.deepEqual(asked, [["cancelTurn", "one"]]);
        // So with lenses, whose place the next one takes; and what is undone is the turn that was looked at.
        const lens = (verb, thread_id) => vscode.commands.executeCommand(`postil.server.${verb}`, { uri, thread_id });
        await lens("replyAsAgent", "two");
        await lens("cancelTurn", "two");
        assert.deepEqual(asked.slice(1), [["replyAsAgent", "two"]]);
        known.told({ uri, version: null, threads: [{ ...thread("three"), has_changes: true, changed_turn: 4 }] });
        server.run = async (...call) => void asked.push(call);
        await press("undoTurn", "three");
        await press("undoTurn", "three");
        server.run = run;
        known.told({ uri, version: null, threads: [] });
        assert.deepEqual(asked.slice(2), [["undoTurn", { uri, thread_id: "three", turn: 4 }]]);
    },
    async "where a row went the second press of a double click is not for what came there, and one elsewhere is"(root) {
        const { known, reviews, server } = api();
        const { run } = server;
        const uri = vscode.Uri.file(path.join(root, "rows.py"));
        const at = { line: 0, character: 0 };
        const ids = ["one", "two", "three", "four", "five"];
        const threads = ids.map((id) => ({ id, status: "pending", malformed: false, title: "t", range: { start: at, end: at }, messages: [{ role: "author", name: null, line: 0, text: "t" }], choices: [], turn: null, has_run: false, has_changes: false }));
        const tell = (left) => known.told({ uri: uri.toString(), version: null, threads: threads.filter(({ id }) => left.includes(id)) });
        tell(ids);
        const rows = known.threads(uri).map((thread) => ({ is: "thread", uri, thread }));
        const [one, two, , four, five] = rows;
        const asked = [];
        server.run = async (verb, { thread_id }) => void asked.push([verb, thread_id]);
        const press = (command, row) => vscode.commands.executeCommand(`postil.${command}`, row);
        const own = (command, row, done) =>
            until("it is a press of its own", async () => {
                await press(command, row);
                return done();
            });
        await own("resolve", one, () => asked.length > 0);
        tell(ids.slice(1));
        // Whatever the next one has in the same place.
        for (const command of ["resolve", "replyAsAgent", "cancel"]) await press(command, two);
        assert.deepEqual(asked, [["dismissThread", "one"]]);
        await press("resolve", four);
        assert.deepEqual(asked.slice(1), [["dismissThread", "four"]]);
        tell(["two", "three", "five"]);
        await press("replyAsAgent", five);
        assert.equal(asked.length, 2);
        await press("replyAsAgent", two);
        assert.deepEqual(asked.slice(2), [["replyAsAgent", "two"]]);
        server.run = run;
        tell([]);

        const said = listen("showInformationMessage");
        const answers = [];
        for (const name of ["k", "l", "m"]) void reviews.ask({ ...proposed(root, `${name}.txt`, "1\n"), run_id: "rows", of: 3 }, never).then((accepted) => answers.push([name, accepted]));
        const [first] = reviews.getChildren();
        await own("review.accept", first, () => answers.length > 0);
        const [next] = reviews.getChildren();
        for (const command of ["accept", "reject"]) await press(`review.${command}`, next);
        // In the title of its diff, which took the place of the other's.
        await reviews.diff(next);
        await until("its diff", () => reviews.file(next.right) === next);
        await Promise.all([press("review.reject", next.right), press("review.reject", next.right)]);
        assert.deepEqual(answers, [["k", true], ["l", false]]);
        await vscode.commands.executeCommand("postil.review.rejectAll");
        said.over();
        await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    },
    async "the doctor is asked in one terminal, which is none that something else runs in"(root) {
        const { server } = api();
        const { program } = server;
        const all = () => vscode.window.terminals.filter(({ name }) => name === "postil doctor");
        const [log, go] = [path.join(root, "asked.txt"), path.join(root, "asked.go")];
        const asked = () => (existsSync(log) ? readFileSync(log, "utf8") : "");
        const slow = path.join(root, "slow doctor");
        writeFileSync(slow, `#!/bin/sh\necho "$PWD $*" >>'${log}'\nuntil [ -e '${go}' ]; do sleep 0.05; done\necho over >>'${log}'\n`, { mode: 0o755 });
        server.program = { ...program, path: slow };
        // One of that name, in which the author works by now.
        const own = vscode.window.createTerminal("postil doctor");
        const ask = () => vscode.commands.executeCommand("postil.doctor");
        const line = `${root} doctor\n`;
        await ask();
        await until("it is asked", () => asked() === line);
        const [, terminal] = all();
        // It has not answered yet.
        await ask();
        assert.deepEqual(all(), [own, terminal]);
        writeFileSync(go, "");
        await until("it has answered", () => asked() === `${line}over\n`);
        await until("it is asked again", async () => {
            await ask();
            return asked().startsWith(`${line}over\n${line}`);
        });
        assert.deepEqual(all(), [own, terminal]);
        server.program = program;
        own.dispose();
        terminal.dispose();
        await until("it is shut", () => all().length === 0);
        // It is opened again, also to say that there is none.
        server.program = undefined;
        await ask();
        const [next] = await until("another", () => all().length === 1 && all());
        server.program = program;
        next.dispose();
        await until("it is shut", () => all().length === 0);
    },
    async "all that wait are answered from the view's title, whichever row is chosen, and those of a file from its row"(root) {
        const { known, server } = api();
        const { run } = server;
        const uri = vscode.Uri.file(path.join(root, "row.py"));
        const at = { line: 0, character: 0 };
        const before = new Map(known.files);
        known.files.clear();
        known.told({ uri: uri.toString(), version: null, threads: [{ id: "row", status: "pending", malformed: false, title: "t", range: { start: at, end: at }, messages: [{ role: "author", name: null, line: 0, text: "t" }], choices: [], turn: null, has_run: false, has_changes: false }] });
        const asked = [];
        server.run = async (...call) => void asked.push(call);
        // The window hands the chosen row to the title's buttons too.
        for (const command of ["replyAll", "replyAllInFile"]) await vscode.commands.executeCommand(`postil.${command}`, { is: "file", uri });
        server.run = run;
        known.told({ uri: uri.toString(), version: null, threads: [] });
        for (const [key, file] of before) known.files.set(key, file);
        assert.deepEqual(asked, [["replyAll", {}], ["replyAll", { uri: uri.toString() }]]);
        const menus = vscode.extensions.getExtension("postil.postil").packageJSON.contributes.menus;
        const of = (menu, command) => menus[menu].filter((one) => one.command === command).length;
        assert.deepEqual([of("view/title", "postil.replyAll"), of("view/item/context", "postil.replyAll"), of("view/item/context", "postil.replyAllInFile")], [1, 0, 2]);
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
        // One that goes on by a word has not come to its end.
        await vscode.window.showTextDocument(seen);
        const { threads } = known.files.get(farther.toString());
        known.told({ uri: farther.toString(), version: null, threads: threads.map((one) => ({ ...one, is_paused: true })) });
        ends(turn(farther, "awaiting_user"));
        await until("a word", () => infos.texts.length > 1);
        assert.equal(infos.texts.pop(), "postil: the turn in farther.py has paused: about farther.py");
        // Two together are counted; what failed is said.
        await vscode.window.showTextDocument(seen);
        ends(turn(farther, "failed"), turn(far, "awaiting_user"));
        await until("a word for both", () => warnings.texts.length > 0);
        ends(turn(farther, "failed", { error: "the key is not valid" }));
        await until("a word for one", () => warnings.texts.length > 1);
        assert.deepEqual(warnings.texts, ["postil: 2 turns have ended, 1 of them failed.", "postil: the turn in farther.py failed: the key is not valid"]);
        assert.equal(infos.texts.length, 1);
        // A file of that path is seen, in another root; and so is a thread of that id.
        const two = vscode.Uri.file(path.join(root, "two", "seen.py")).toString();
        ends(turn(seen, "awaiting_user", { id: "rooted", uri: two }));
        await until("a word of the other root", () => infos.texts.length > 1);
        assert.equal(infos.texts.pop(), "postil: the turn in seen.py has ended");
        infos.over();
        warnings.over();
        known.turns.delete("rooted");
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
        // One that stands still until the author says something is not at work.
        const text = () => status.item.text.replace(/ · <?\$\d.*$/, "");
        const begin = (id, waits) => known.toldTurns({ turns: [{ id, thread_id: id, file: "w.py", status: "running", started: "", rounds: 1, tokens: 1, cost: 0, running: true, message: null, waits, model: "m", error: null }] });
        begin("asks", true);
        await until("it waits", () => text() === "$(bell-dot) 1 waiting for you");
        assert.match(status.item.accessibilityInformation.label, /0 at work, 1 waiting for you$/);
        begin("works", false);
        await until("another works", () => text() === "$(bell-dot) 1 waiting for you · $(sync~spin) 1 at work");
        for (const id of ["asks", "works"]) known.turns.delete(id);

        await vscode.commands.executeCommand("postil.stop");
        await until("it has ended", () => !existsSync(`/proc/${pid}`));
        assert.equal(server.state.is, "stopped");
        await tells(/postil is stopped/);
        assert.equal(status.item.accessibilityInformation.label, "postil: postil is stopped");
        const said = listen("showInformationMessage");
        await vscode.window.showTextDocument(vscode.Uri.file(path.join(root, "notes.rs")));
        await vscode.commands.executeCommand("postil.newThread");
        assert.deepEqual(said.texts, ["postil is stopped."]);
        assert.deepEqual(servers(), []);
        said.press(0, "Start Server");
        said.over();
        await until("it runs", () => server.state.is === "running" && servers().length === 1);
    },
    async "one word is said where the program was replaced, and by it the server is started again"(root) {
        const { server } = api();
        const { program } = server;
        const copy = path.join(root, "updated");
        const put = () => writeFileSync(copy, `#!/bin/sh\nexec ${program.path} "$@"\n`, { mode: 0o755 });
        const said = listen("showInformationMessage");
        await server.notice();
        put();
        server.program = { ...program, path: copy };
        server.stamp = "as it was";
        rmSync(copy);
        await server.notice();
        assert.deepEqual(said.texts, [], "it is gone for a moment");
        put();
        const noticed = server.notice();
        await until("a word", () => said.texts.length > 0);
        await server.notice();
        assert.deepEqual(said.texts.map((text) => text.slice(0, 18)), ["postil was updated"]);
        const [pid] = servers();
        said.press(0, "Restart Server");
        await noticed;
        said.over();
        await until("another runs", () => server.state.is === "running" && servers().length === 1 && servers()[0] !== pid);
        assert.equal(server.program.path, program.path);
    },
    async "who answers is chosen among those that are found, and kept for every editor"(root) {
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
        await tells(/Answered offline, without a model: `model` names it/);
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
        assert.equal(said.texts.pop(), "postil: offline answers from now on.");
        await choose("Whoever Is Found");
        assert.equal(settings().inspect("model").globalValue, undefined);
        assert.equal(said.texts.pop(), "postil: anthropic/claude-sonnet-5-5 answers from now on.");
        // A workspace's goes before both.
        const own = path.join(root, "postil.toml");
        writeFileSync(own, 'model = "openai/gpt-6.1-sol"\n');
        await set("anthropic/claude-sonnet-5-5");
        await tells(/Nobody can be asked: no key for openai/);
        await choose("offline");
        assert.equal(said.texts.pop(), "postil: offline answers from now on; but here this workspace's settings name openai/gpt-6.1-sol, which goes first.");
        rmSync(own);
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
        assert.deepEqual(errors.texts, ["postil: the server ended before it answered: try again in a moment"]);
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
    async "a server that ends as soon as it has begun is not shown as running"() {
        const { server } = api();
        const files = require("node:fs/promises");
        const { stat } = files;
        // Whatever runs when the program is looked at is ended.
        files.stat = async (...asked) => {
            for (const pid of servers()) process.kill(Number(pid), "SIGKILL");
            await until("it is noticed", () => server.connection === undefined);
            return stat(...asked);
        };
        await server.restart();
        files.stat = stat;
        assert.equal(server.state.is, "running");
        assert.equal(servers().length, 1);
        server.backoff.reset();
    },
    async "a lens that is pressed while its server ends, and before there is another one, says so"(root) {
        const { server } = api();
        const uri = vscode.Uri.file(path.join(root, "notes.rs")).toString();
        await until("the server runs", () => server.state.is === "running");
        const [pid] = servers();
        await hang(pid);
        const said = ["showErrorMessage", "showInformationMessage"].map(listen);
        const texts = () => said.flatMap(({ texts }) => texts).filter((text) => text.startsWith("postil"));
        const pressed = () => vscode.commands.executeCommand("postil.server.replyAsAgent", { uri, thread_id: "0123" });
        const first = pressed();
        process.kill(Number(pid), "SIGKILL");
        await first;
        await until("it is told", () => texts().length > 0);
        assert.deepEqual(texts(), ["postil: the server ended before it answered: try again in a moment"]);
        await until("it is noticed", () => server.state.is === "starting");
        await pressed();
        assert.deepEqual(texts().slice(1), ["postil is being started: try again in a moment."]);
        for (const one of said) one.over();
        await until("the next one", () => server.state.is === "running");
        server.backoff.reset();
    },
    async "what cannot be done outside every folder leads to opening one"(root) {
        const { known, comments, server } = api();
        const uri = vscode.Uri.file(path.join(path.dirname(root), "beside.py"));
        writeFileSync(uri.fsPath, "# AUTHOR: out here?\n# AGENT: Which?\n#   (a) this\n#   (b) that\n# AUTHOR:\nx = 1\n");
        await vscode.window.showTextDocument(uri);
        const [thread] = await until("its thread", () => known.threads(uri).length === 1 && known.threads(uri));
        const view = comments.viewOf(uri, thread.id);
        assert.deepEqual([view.label, view.contextValue, view.canReply], ["Outside the workspace: open its folder to work with it", "outside", false]);
        assert.deepEqual(view.comments.map(({ contextValue }) => contextValue), ["author.fixed", "agent"]);
        assert.doesNotMatch(view.comments[1].body.value, /command:/);
        const ranges = (at) => comments.controller.commentingRangeProvider.provideCommentingRanges({ uri: at, lineCount: 3 }, never);
        assert.equal((await ranges(uri)).length, 0);
        assert.equal((await ranges(vscode.Uri.file(path.join(root, "notes.rs")))).length, 1);
        const { showOpenDialog } = vscode.window;
        const opened = [];
        vscode.window.showOpenDialog = async ({ defaultUri }) => void opened.push(defaultUri.fsPath);
        const said = listen("showErrorMessage");
        await vscode.commands.executeCommand("postil.server.replyAsAgent", { uri: uri.toString(), thread_id: thread.id });
        await until("it is told", () => said.texts.length === 1);
        assert.match(said.texts[0], /outside the workspace: open its folder/);
        assert.deepEqual(said.rows[0], ["Open Folder…"]);
        said.press(0, "Open Folder…");
        await until("it is asked which", () => opened.length === 1);
        await vscode.commands.executeCommand("postil.openFolder", view);
        // Of what is inside nothing of the kind is said.
        await server.run("replyAsAgent", { uri: vscode.Uri.file(path.join(root, "notes.rs")).toString(), thread_id: "0123" });
        await until("it is told", () => said.texts.length === 2);
        assert.deepEqual(said.rows[1], []);
        said.over();
        vscode.window.showOpenDialog = showOpenDialog;
        assert.deepEqual(opened, [path.dirname(uri.fsPath), path.dirname(uri.fsPath)]);
        await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
    },
    async "a turn that is cut off with its server is told of, unless the author stopped it"() {
        const { known, server } = api();
        const said = listen("showWarningMessage");
        const cut = () => said.texts.filter((text) => text.includes("at work"));
        const begin = (file) => known.toldTurns({ turns: [{ id: file, thread_id: file, file, running: true, message: "", cost: 0, started: "", status: "running" }] });
        begin("restarted.py");
        await server.restart();
        await until("the next one", () => server.state.is === "running");
        begin("killed.py");
        process.kill(Number(servers()[0]), "SIGKILL");
        await until("it is told", () => cut().length > 0);
        assert.deepEqual(cut(), ["postil: the server ended while the turn in killed.py was at work. Reply as Agent goes on where it stopped."]);
        said.over();
        await until("the one after", () => server.state.is === "running");
        for (const id of ["restarted.py", "killed.py"]) known.turns.delete(id);
    },
});
