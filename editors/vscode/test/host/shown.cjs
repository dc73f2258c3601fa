// What is seen of files and their threads, and what is told. A part of ./index.cjs.
const assert = require("node:assert/strict");
const { writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

module.exports = ({ api, listen, servers, until }) => ({
    async "a file has the folds, the colours and the outline that it has without postil"(root) {
        const { known, server } = api();
        const shell = "run() {\n    if true; then\n        echo\n    fi\n}\n";
        const script = "export class A {\n    constructor(readonly a: number) {}\n    twice(): number {\n        return this.a * 2;\n    }\n}\n";
        const texts = { "plain.sh": shell, "asked.sh": `# AUTHOR: why?\n# AGENT: So.\n# AUTHOR:\n${shell}`, "plain.ts": script, "asked.ts": `// AUTHOR: why?\n// AGENT: So.\n// AUTHOR:\n${script}` };
        const uris = Object.keys(texts).map((name) => vscode.Uri.file(path.join(root, name)));
        for (const uri of uris) {
            writeFileSync(uri.fsPath, texts[path.basename(uri.path)]);
            await vscode.window.showTextDocument(uri);
        }
        const look = async () => {
            const seen = {};
            for (const uri of uris) {
                const folds = (await vscode.commands.executeCommand("vscode.executeFoldingRangeProvider", uri)) ?? [];
                const tokens = await vscode.commands.executeCommand("vscode.provideDocumentRangeSemanticTokens", uri, new vscode.Range(0, 0, 20, 0));
                const legend = await vscode.commands.executeCommand("vscode.provideDocumentRangeSemanticTokensLegend", uri);
                const outline = (await vscode.commands.executeCommand("vscode.executeDocumentSymbolProvider", uri)) ?? [];
                seen[path.basename(uri.path)] = [folds.map(({ start, end }) => [start, end]), [...(tokens?.data ?? [])], outline.map(({ name }) => name), legend?.tokenTypes];
            }
            return seen;
        };
        // The language's own server comes a while after its file.
        const has = (all) => all.slice(0, 3).every((seen) => seen.length > 0);
        await server.next(() => server.end());
        const without = await until("TypeScript tells of its files", async () => {
            const seen = await look();
            return has(seen["plain.ts"]) && has(seen["asked.ts"]) && seen;
        });
        assert.ok(without["plain.sh"][0].length > 0, "the shell's, by indentation");
        await server.restart();
        await until("the threads", () => ["asked.sh", "asked.ts"].every((name) => known.threads(vscode.Uri.file(path.join(root, name))).length === 1));
        assert.deepEqual(await look(), without);
    },
    async "of a file with very many threads those are shown that came near what is seen"(root) {
        const { known, comments } = api();
        const uri = vscode.Uri.file(path.join(root, "many.py"));
        const many = 1000;
        writeFileSync(uri.fsPath, Array.from({ length: many }, (_, at) => `# AUTHOR: ${at % 2 ? "why?" : `question ${at}`}\nx = ${at}\n`).join(""));
        await until("its threads, while it is shut", () => known.threads(uri).length === many);
        const shown = () => comments.files.get(uri.toString()) ?? [];
        const stands = (line) => shown().find((one) => one.view.range.start.line === line && one.label !== "No longer in the file");
        const editor = await vscode.window.showTextDocument(uri);
        await until("those at its begin", () => stands(0)?.view.canReply);
        const few = shown().length;
        assert.ok(few >= 100 && few < 400, `${few}`);
        const begun = stands(0).view;
        const reveal = (line) => editor.revealRange(new vscode.Range(line, 0, line, 0), vscode.TextEditorRevealType.InCenter);
        reveal(1500);
        await until("those in the middle", () => stands(1500)?.view.canReply && stands(1502)?.view.canReply);
        assert.equal(stands(0).view, begun, "what was there stays: something may stand in its box");
        assert.ok(shown().length < few + 200, `${shown().length}`);
        // What is typed moves those that are shown, and shows what comes near.
        const middle = stands(1500).view;
        await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "# AUTHOR: before all?\ny = 1\n"));
        await until("it is told", () => known.threads(uri).length === many + 1);
        await until("all moved along", () => stands(1502)?.view === middle && stands(2)?.view === begun);
        // One that is gone to from elsewhere is there.
        const { id } = known.threads(uri)[900];
        assert.equal(comments.viewOf(uri, id).range.start.line, 1800);
        const sum = [...comments.files.values()].reduce((sum, { length }) => sum + length, 0);
        assert.equal(comments.total, sum);
        await editor.document.save();
        await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
        await vscode.workspace.fs.delete(uri);
        await until("all are gone", () => !comments.files.has(uri.toString()));
    },
    async "what other windows spent on a run is not counted in this one"() {
        const { known } = api();
        const cents = () => Math.round(known.cost() * 100);
        const before = cents();
        const spent = () => cents() - before;
        const tell = (id, started, cost) => known.toldTurns({ turns: [{ id, running: false, message: "", started, cost }] });
        tell("theirs", "2020-01-02T03:04:05Z", 4);
        assert.equal(spent(), 0);
        tell("theirs", "2020-01-02T03:04:05Z", 4.25);
        assert.equal(spent(), 25, "it went on here");
        tell("ours", new Date().toISOString(), 0.5);
        assert.equal(spent(), 75);
        known.turns.delete("theirs");
        known.turns.delete("ours");
    },
    async "the view Threads shows and counts what its filter lets through"(root) {
        const { known, tree } = api();
        const before = new Map(known.files);
        known.files.clear();
        const told = (name, threads) => known.told({ uri: vscode.Uri.file(path.join(root, "filter", name)).toString(), version: null, threads });
        const thread = (id, status, turn) => ({
            ...{ id, status, malformed: false, title: id, turn: turn && { run_id: id, running: true, failed: false, message: "", ...turn } },
            range: { start: { line: 0, character: 0 }, end: { line: 0, character: 9 } },
            messages: [{ role: status === "pending" ? "author" : "agent", name: null, line: 0, text: id }],
        });
        told("a.py", [thread("asked", "pending"), thread("asks", "pending", { waits: true }), thread("answered", "awaiting_user")]);
        told("b.py", [thread("works", "pending", {})]);
        await until("what waits is counted beside the view", () => tree.view.badge?.value === 2);
        // The window asks for those of each file: of thousands none is to be gone through for all the others.
        const looked = [];
        const { threads } = known;
        known.threads = (uri) => {
            looked.push(path.basename(uri.path));
            return threads.call(known, uri);
        };
        tree.getChildren({ is: "file", uri: vscode.Uri.file(path.join(root, "filter", "b.py")) });
        known.threads = threads;
        assert.deepEqual(looked, ["b.py"]);
        const shown = () => {
            const files = tree.getChildren();
            const counts = files.map((file) => tree.getTreeItem(file).description);
            return [tree.view.title, counts, files.flatMap((file) => tree.getChildren(file)).map((one) => one.thread.id)];
        };
        const kept = () => tree.context.workspaceState.get("filter");
        const all = (first) => ["Threads", [`filter · ${first} · 1 answered`, "filter · 1 at work"], ["asked", "asks", "answered", "works"]];
        assert.deepEqual(shown(), all("1 awaiting agent · 1 asks you"));
        tree.show("waiting");
        assert.deepEqual(shown(), ["Threads - Waiting for Me", ["filter · 1 asks you · 1 answered"], ["asks", "answered"]]);
        assert.equal(kept(), "waiting");
        // Answered, its turn goes on.
        known.toldTurns({ turns: [{ id: "asks", running: true, message: "thinking", waits: false, cost: 0, started: "" }] });
        assert.deepEqual(shown()[2], ["answered"]);
        known.reviewing("works", true);
        assert.deepEqual(shown()[2], ["answered", "works"]);
        known.reviewing("works", false);
        tree.show("running");
        assert.deepEqual(shown(), ["Threads - Running", ["filter · 1 at work", "filter · 1 at work"], ["asks", "works"]]);
        tree.group(true);
        assert.deepEqual(tree.getChildren().map((state) => tree.getTreeItem(state).description), ["2"]);
        tree.group(false);
        tree.show("pending");
        assert.deepEqual(shown(), ["Threads - Awaiting Agent", ["filter · 1 awaiting agent"], ["asked"]]);
        await vscode.commands.executeCommand("postil.showAll");
        assert.deepEqual(shown(), all("1 at work · 1 awaiting agent"));
        assert.equal(kept(), "all");
        known.turns.delete("asks");
        for (const name of ["a.py", "b.py"]) told(name, []);
        for (const [key, file] of before) known.files.set(key, file);
        tree.group(false);
    },
    async "of many files that are told of at once the threads are counted once"(root) {
        const { known } = api();
        const { each } = known;
        let counted = 0;
        known.each = function* () {
            counted += 1;
            yield* each.call(known);
        };
        const files = Array.from({ length: 200 }, (_, at) => vscode.Uri.file(path.join(root, "flood", `${at}.py`)).toString());
        for (const uri of files) known.told({ uri, version: null, threads: [] });
        await until("they are counted", () => counted > 0);
        known.each = each;
        assert.ok(counted < 5, `${counted} times`);
    },
    async "words that name their thread anew are answered there"(root) {
        const { known, comments, server } = api();
        const uri = vscode.Uri.file(path.join(root, "named.py"));
        writeFileSync(uri.fsPath, "# AGENT: So it is.\n# AUTHOR:\nx = 1\n");
        await vscode.window.showTextDocument(uri);
        const [thread] = await until("its thread", () => known.threads(uri).length === 1 && known.threads(uri));
        const { ask, run } = server;
        const asked = [];
        server.ask = async (verb, argument) => {
            asked.push([verb, argument.thread_id]);
            return { thread_id: "after" };
        };
        server.run = async (verb, argument) => void asked.push([verb, argument.thread_id]);
        const reply = { thread: comments.viewOf(uri, thread.id), text: "more?" };
        await vscode.commands.executeCommand("postil.comment.ask", reply);
        // Of a server that names none, as it was.
        server.ask = async () => null;
        await vscode.commands.executeCommand("postil.comment.ask", { ...reply, text: "and more?" });
        Object.assign(server, { ask, run });
        assert.deepEqual(asked, [["reply", thread.id], ["replyAsAgent", "after"], ["replyAsAgent", thread.id]]);
    },
    async "a question whose turn was cancelled is told to be over when it is answered"(root) {
        const { known, server } = api();
        const uri = vscode.Uri.file(path.join(root, "cancelled.py"));
        writeFileSync(uri.fsPath, "x = 1\n");
        await vscode.window.showTextDocument(uri);
        const said = listen("showInformationMessage");
        const begun = await server.ask("newThread", { uri: uri.toString(), position: { line: 0, character: 0 }, text: "what?" });
        const thread = { uri: uri.toString(), thread_id: begun.thread_id };
        await server.ask("replyAsAgent", thread);
        const asks = () => said.texts.findIndex((text) => text.includes("wants to run"));
        await until("it asks", () => asks() >= 0);
        await server.ask("cancelTurn", thread);
        await until("it is cancelled", () => known.threads(uri).every((one) => one.turn && !one.turn.running));
        said.press(asks(), "Allow once");
        await until("it says so", () => said.texts.some((text) => text.includes("no longer asked")));
        said.over();
    },
    async "so is one of a server that ended"(root) {
        const { known, server } = api();
        const uri = vscode.Uri.file(path.join(root, "ended.py"));
        writeFileSync(uri.fsPath, "x = 1\n");
        await vscode.window.showTextDocument(uri);
        const said = listen("showInformationMessage");
        const begun = await server.ask("newThread", { uri: uri.toString(), position: { line: 0, character: 0 }, text: "what?" });
        await server.ask("replyAsAgent", { uri: uri.toString(), thread_id: begun.thread_id });
        const asks = () => said.texts.findIndex((text) => text.includes("wants to run"));
        await until("it asks", () => asks() >= 0);
        const [pid] = servers();
        process.kill(Number(pid), "SIGKILL");
        await until("another one", () => ![undefined, pid].includes(servers()[0]) && server.state.is === "running" && known.threads(uri).length === 1);
        said.press(asks(), "Allow once");
        await until("it says so", () => said.texts.some((text) => text.includes("no longer asked")));
        said.over();
    },
});
