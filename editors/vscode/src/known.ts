// What the server has told: threads by file, turns by run. Everything that is shown is made from this.

import * as vscode from "vscode";
import { Looks, filesOf, isInTab } from "./closed";
import type { Thread, ThreadsParams, Turn, TurnsParams } from "./protocol";
import { besides, count, type Counts, type Group, groupOf, stateLabel, stateOf } from "./threads";
import type { Server } from "./server";

export interface Located {
    uri: vscode.Uri;
    thread: Thread;
}

/** What a verb is told of the thread that it is about. */
export interface Named {
    uri: string;
    thread_id: string;
}

export function nameOf({ uri, thread: { id } }: Located): Named {
    return { uri: uri.toString(), thread_id: id };
}

/** Where a file is that a turn names: in the root of the turn's own, or in any where the server does not tell which that is. */
export function placesOf(turn: Turn | undefined, file: string): vscode.Uri[] {
    const uri = turn?.uri === undefined ? undefined : vscode.Uri.parse(turn.uri);
    const path = turn && uri && besides(uri.path, turn.file, file);
    return uri && path !== undefined ? [uri.with({ path })] : (vscode.workspace.workspaceFolders ?? []).map((folder) => vscode.Uri.joinPath(folder.uri, file));
}

export function isOnDisk(uri: vscode.Uri): Promise<boolean> {
    return Promise.resolve(vscode.workspace.fs.stat(uri)).then(
        () => true,
        () => false,
    );
}

/** The text that the author looks at: from a box of the margin the one beside it. */
export function textEditor(): vscode.TextEditor | undefined {
    const { activeTextEditor: active, tabGroups, visibleTextEditors } = vscode.window;
    if (active?.document.uri.scheme !== "comment") {
        return active;
    }
    const tab = tabGroups.activeTabGroup.activeTab?.input;
    const uri = tab instanceof vscode.TabInputText ? tab.uri : tab instanceof vscode.TabInputTextDiff ? tab.modified : undefined;
    return visibleTextEditors.find(({ document }) => document.uri.toString() === uri?.toString());
}

/** Where a file is shown: where it is seen already, and not over a page of ours. */
export function columnOf(uri: vscode.Uri): vscode.ViewColumn {
    const { activeTextEditor, visibleTextEditors, tabGroups } = vscode.window;
    const seen = [activeTextEditor, ...visibleTextEditors].find((editor) => editor?.document.uri.toString() === uri.toString());
    const isPage = tabGroups.activeTabGroup.activeTab?.input instanceof vscode.TabInputWebview;
    return seen?.viewColumn ?? (isPage ? vscode.ViewColumn.One : vscode.ViewColumn.Active);
}

/** Shows a thread, or the line where it stood, in the editor in which a person would open the file. */
export async function open({ uri, thread }: { uri: vscode.Uri; thread?: Thread }, line: number, character = 0): Promise<void> {
    const viewColumn = columnOf(uri);
    if (!uri.path.endsWith(".ipynb")) {
        const at = new vscode.Position(line, character);
        await vscode.window.showTextDocument(uri, { selection: new vscode.Range(at, at), viewColumn });
        return;
    }
    // As a text it would be its JSON, whose lines these are.
    const notebook = await vscode.workspace.openNotebookDocument(uri);
    const words = thread?.messages.find(({ text }) => text !== "")?.text.split("\n")[0];
    const cell = notebook.getCells().find(({ document }) => words !== undefined && document.getText().includes(words))?.index ?? 0;
    const seen = vscode.window.visibleNotebookEditors.find((editor) => editor.notebook === notebook)?.viewColumn;
    await vscode.window.showNotebookDocument(notebook, { selections: [new vscode.NotebookRange(cell, cell + 1)], viewColumn: seen ?? viewColumn });
}

/** Why nothing is known of a file's threads for a moment. */
export const UNREAD = "the server was started again and has not read this file yet";

export class Known implements vscode.Disposable {
    /** By URI as the editor writes it; files without threads are not here. */
    readonly files = new Map<string, { uri: vscode.Uri; version: number | null; threads: Thread[] }>();
    /** Those that run and those that ran in this window. */
    readonly turns = new Map<string, Turn>();

    /** What those had cost, in US dollars, when they were first told of here: other windows spent it. */
    private readonly spent = new Map<string, number>();
    private readonly since = Date.now();

    /** Files whose threads a server told of that is gone, and of which the one now has not said a word. */
    private readonly stale = new Set<string>();

    /** Other names of files that are open already, and under which name the threads of each are told of. */
    private readonly twins = new Map<string, vscode.Uri>();

    /** What was told of files that are deleted and in no tab, and that VS Code keeps open all the same. */
    private readonly hidden = new Map<string, { uri: vscode.Uri; version: number | null; threads: Thread[] }>();
    private readonly looks = new Looks((uri) => {
        const file = this.files.get(uri.toString());
        if (file && !isInTab(uri)) {
            this.files.delete(uri.toString());
            this.hidden.set(uri.toString(), file);
            this.file.fire(uri);
        }
    });

    /** Runs that wait for the author to look at their changes. */
    private readonly reviewed = new Set<string>();

    private readonly file = new vscode.EventEmitter<vscode.Uri>();
    /** The threads of this file changed. */
    readonly onFile = this.file.event;
    private readonly review = new vscode.EventEmitter<string>();
    /** This run waits for the author to look at its changes, or does no longer. */
    readonly onReview = this.review.event;
    private readonly question = new vscode.EventEmitter<Located>();
    /** A turn of this window has stopped with a question that has answers to choose from. */
    readonly onQuestion = this.question.event;
    private readonly turn = new vscode.EventEmitter<Turn[]>();
    readonly onTurns = this.turn.event;
    private readonly subscriptions: vscode.Disposable[];

    constructor(server: Server) {
        this.subscriptions = [
            server.onThreads((params) => {
                this.told(params);
            }),
            server.onTurns((params) => {
                this.toldTurns(params);
            }),
            server.onLost(() => {
                this.forget();
            }),
            vscode.window.tabGroups.onDidChangeTabs(({ opened, closed, changed }) => {
                closed.flatMap(filesOf).forEach((uri) => {
                    this.looks.ask(uri);
                });
                for (const uri of [...opened, ...changed].flatMap(filesOf)) {
                    const file = this.hidden.get(uri.toString());
                    if (file) {
                        this.hidden.delete(uri.toString());
                        this.files.set(uri.toString(), file);
                        this.file.fire(uri);
                    }
                }
            }),
            // The versions of a document that is opened again begin anew.
            vscode.workspace.onDidCloseTextDocument(({ uri }) => {
                const file = this.files.get(uri.toString());
                if (file) {
                    file.version = null;
                }
            }),
        ];
    }

    private told(params: ThreadsParams): void {
        const uri = vscode.Uri.parse(params.uri, true);
        this.stale.delete(uri.toString());
        this.hidden.delete(uri.toString());
        if (params.shown_in) {
            this.twins.set(uri.toString(), vscode.Uri.parse(params.shown_in, true));
        } else {
            this.twins.delete(uri.toString());
        }
        const atWork = new Set(this.threads(uri).flatMap((thread) => (this.isRunning(thread) ? [thread.id] : [])));
        if (params.threads.length > 0) {
            this.files.set(uri.toString(), { uri, version: params.version, threads: params.threads });
        } else {
            this.files.delete(uri.toString());
        }
        this.file.fire(uri);
        for (const thread of params.threads) {
            if (atWork.has(thread.id) && !this.isRunning(thread) && (thread.choices ?? []).length > 0) {
                this.question.fire({ uri, thread });
            }
        }
    }

    private toldTurns(params: TurnsParams): void {
        for (const turn of params.turns) {
            if (!this.turns.has(turn.id)) {
                // It may be told of only when it has ended.
                this.spent.set(turn.id, Date.parse(turn.started) < this.since ? turn.cost : 0);
            }
            this.turns.set(turn.id, turn);
        }
        const running = new Map(this.running().map((turn) => [turn.id, turn]));
        for (const { uri, threads } of this.files.values()) {
            let moved = false;
            for (const thread of threads) {
                const turn = thread.turn?.running ? running.get(thread.turn.run_id) : undefined;
                const [message, waits] = [turn?.message ?? "", turn?.waits ?? false];
                if (thread.turn && turn && (thread.turn.message !== message || thread.turn.waits !== waits)) {
                    Object.assign(thread.turn, { message, waits });
                    moved = true;
                }
            }
            if (moved) {
                this.file.fire(uri);
            }
        }
        this.turn.fire(params.turns);
    }

    private forget(): void {
        const files = [...this.files.values(), ...[...this.twins.keys()].map((key) => ({ uri: vscode.Uri.parse(key, true) }))];
        this.twins.clear();
        this.hidden.clear();
        for (const key of this.files.keys()) {
            this.stale.add(key);
        }
        this.files.clear();
        for (const [id, turn] of this.turns) {
            this.turns.set(id, { ...turn, running: false });
        }
        for (const { uri } of files) {
            this.file.fire(uri);
        }
        this.turn.fire([]);
    }

    /** The name under which the threads of a file are shown, where that is another than `uri`. */
    twin(uri: vscode.Uri): vscode.Uri | undefined {
        return this.twins.get(uri.toString());
    }

    /** Whether what is known of a file is what a server told that is gone. */
    isStale(uri: vscode.Uri): boolean {
        return this.stale.has(uri.toString());
    }

    staleFiles(): vscode.Uri[] {
        return [...this.stale].map((key) => vscode.Uri.parse(key, true));
    }

    /** The server now knows no thread of this file. */
    settle(uri: vscode.Uri): void {
        if (this.stale.delete(uri.toString())) {
            this.file.fire(uri);
        }
    }

    /** Whether a run waits for the author to look at its changes. */
    isReviewed(run: string): boolean {
        return this.reviewed.has(run);
    }

    reviewing(run: string, waits: boolean): void {
        if (waits) {
            this.reviewed.add(run);
        } else {
            this.reviewed.delete(run);
        }
        for (const { uri, threads } of this.files.values()) {
            if (threads.some((thread) => thread.turn?.run_id === run)) {
                this.file.fire(uri);
            }
        }
        this.review.fire(run);
    }

    running(): Turn[] {
        return [...this.turns.values()].filter((turn) => turn.running);
    }

    /** What the turns of this window have cost, in US dollars; of one that goes on here, since then. */
    cost(): number {
        return [...this.turns.values()].reduce((sum, turn) => sum + turn.cost - (this.spent.get(turn.id) ?? 0), 0);
    }

    threads(uri: vscode.Uri): Thread[] {
        return this.files.get(uri.toString())?.threads ?? [];
    }

    /** Of the text that its threads were read in; `null`: of none that is open. */
    version(uri: vscode.Uri): number | null {
        return this.files.get(uri.toString())?.version ?? null;
    }

    *all(): Generator<Located> {
        for (const { uri, threads } of this.files.values()) {
            for (const thread of threads) {
                yield { uri, thread };
            }
        }
    }

    *each(): Generator<Thread> {
        for (const { threads } of this.files.values()) {
            yield* threads;
        }
    }

    /** What it waits for, in words. */
    labelOf(thread: Thread): string {
        return stateLabel(thread, this.waits(thread) && this.isReviewed(thread.turn?.run_id ?? ""));
    }

    /** What it is counted and grouped as. */
    groupOf(thread: Thread): Group {
        return groupOf(thread, this.waits(thread));
    }

    count(threads: Iterable<Thread>): Counts {
        return count(threads, (thread) => this.waits(thread));
    }

    /** Whether its turn stands still until the author has answered a question or looked at its changes. */
    waits({ turn }: Thread): boolean {
        return turn?.running === true && this.isStill(turn.run_id, turn.waits);
    }

    /** The same of a turn that runs. */
    isStill(run: string, waits: boolean | undefined): boolean {
        return waits === true || this.isReviewed(run);
    }

    /** The thread on whose lines a place is: of several on one line the one that begins before it. */
    on(uri: vscode.Uri, { line, character }: vscode.Position): Thread | undefined {
        const there = this.threads(uri).filter(({ range }) => range.start.line <= line && line <= range.end.line);
        return there.findLast(({ range: { start } }) => start.line < line || start.character <= character) ?? there[0];
    }

    /** The same, also on the line of code that a thread stands above; `undefined`: none. */
    at(uri: vscode.Uri, place: vscode.Position): Thread | undefined {
        return this.on(uri, place) ?? this.threads(uri).find(({ range }) => range.end.line + 1 === place.line);
    }

    /** Two roots may have the same words in files of the same path, and so the same id: `uri` tells which is meant. */
    byId(id: string, uri?: string): Located | undefined {
        const file = uri === undefined ? undefined : vscode.Uri.parse(uri).toString();
        for (const located of this.all()) {
            if (located.thread.id === id && (file === undefined || located.uri.toString() === file)) {
                return located;
            }
        }
        return undefined;
    }

    isRunning(thread: Thread): boolean {
        return stateOf(thread) === "running";
    }

    dispose(): void {
        this.file.dispose();
        this.question.dispose();
        this.turn.dispose();
        this.looks.dispose();
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}
