// Each thread as one of the editor's own comment threads. The text in the file is the truth: what is shown here is
// made from what the server says of it, into the same objects as before, so that a reply that is being written stays.

import * as vscode from "vscode";
import { Folds } from "./folds";
import type { Message, Thread } from "./protocol";
import type { Known } from "./known";
import { Ranges } from "./ranges";
import type { Server } from "./server";
import { Soon } from "./soon";
import { type Told, Teller, drop, told } from "./tell";
import { CHOOSE, type Change, asMarkdown, content, moved, offers, pair, pick, said, speaker, spoken, stateOf } from "./threads";

/** In a file with more threads than this only those that are near what is seen have a reply box. */
const BOXES = 25;
/** How many lines around what is seen are near. */
const NEAR = 40;
/** A file with more threads than this shows so many, and those that came near what is seen: each costs the window milliseconds. */
const ALL = 200;
/** Milliseconds without scrolling after which what is seen is looked at. */
const REST = 100;

/** Milliseconds in which it is not looked again which threads are unfolded. */
const LOOK = 1000;

/** Threads of files that are not open are shown up to here; the tree has all. */
const MOST = 2000;

/**
 * Milliseconds that a thread which left the text stays in the margin: cut, it may be pasted; undone, it may be done again.
 * VS Code tells of no reply box at which thread it is.
 */
const STAYS = 10_000;

const GONE = "No longer in the file";

/** Changes of a text that are remembered until the server tells of a newer one. */
const CHANGES = 1000;

interface Shown extends Told {
    id: string;
    /** Begun in the margin and not told of by the server yet. */
    awaited: boolean;
    line: number;
    /** Where it begins in that line; -1: its begin was taken out of the text. */
    column: number;
    /** Of the text in which it begins there; 0: as on the disk. */
    version: number;
    said: string;
    /** The text is without it; until the timer ends it may come back. */
    gone: { timer: NodeJS.Timeout; late: boolean } | undefined;
    /** The author put it away. */
    resolved: boolean;
    comments: string;
}

/** One message in the margin. The window knows it by its object, which so stays the same while it is edited. */
export class Note implements vscode.Comment {
    body: string | vscode.MarkdownString = "";
    mode = vscode.CommentMode.Preview;
    contextValue = "";
    /** The other words that the author was told stand in the file by now: saved once more over these, theirs hold. */
    told: string | undefined;
    /** Its box was open and is shut again. */
    shut = false;

    constructor(
        public view: vscode.CommentThread,
        readonly author: vscode.CommentAuthorInformation,
        readonly index: number,
        readonly role: Message["role"],
        /** As it stands in the file; of one that is edited, as it stood when that began. */
        public text: string,
    ) {}

    get edited(): boolean {
        return this.mode === vscode.CommentMode.Editing;
    }

    /** What stands in its box. */
    get draft(): string {
        return typeof this.body === "string" ? this.body : this.body.value;
    }

    /** `below`: links to answer it, made here. */
    show(text: string, below = ""): void {
        this.text = text;
        this.mode = vscode.CommentMode.Preview;
        const body = new vscode.MarkdownString(asMarkdown(text) + below);
        body.isTrusted = below === "" ? false : { enabledCommands: [CHOOSE] };
        body.supportHtml = false;
        this.body = body;
    }

    /** A box with `draft` in it. */
    edit(draft: string): void {
        this.mode = vscode.CommentMode.Editing;
        this.body = draft;
    }
}

export class Comments implements vscode.Disposable {
    private readonly controller: vscode.CommentController;
    private readonly files = new Map<string, Shown[]>();
    /** How many there are in all files. */
    private total = 0;
    /** Files of which not all threads are shown; with a timer where they were scrolled. */
    private readonly partly = new Map<string, NodeJS.Timeout | undefined>();
    /** Of files with threads: what the server has not told of yet. */
    private readonly changes = new Map<string, { version: number; changes: readonly Change[] }[]>();
    /** In other names of files that are open already: where their threads are. */
    private readonly signs = new Map<string, vscode.CommentThread>();
    private readonly folds: Folds;
    readonly teller: Teller;
    /** Which threads are unfolded. */
    private readonly folding = new Soon(LOOK, () => {
        this.folds.keep([...this.files.values()].flat().filter(({ id, gone }) => id !== "" && !gone));
        this.teller.forget();
    });
    private readonly subscriptions: vscode.Disposable[];

    constructor(
        private readonly context: vscode.ExtensionContext,
        private readonly known: Known,
        private readonly server: Server,
    ) {
        this.folds = new Folds(context.workspaceState);
        this.controller = vscode.comments.createCommentController("postil", "postil");
        this.controller.options = {
            prompt: "Reply",
            placeHolder: "Write to the agent; it stands in the file as an AUTHOR line",
        };
        this.teller = new Teller(
            this.controller,
            () => [...this.files.values()].flat(),
            (uri) => this.isStill(uri),
        );
        this.subscriptions = [
            this.controller,
            this.teller,
            new Ranges(this.controller, () => this.teller.isCalm()),
            known.onFile((uri) => {
                this.update(uri);
                this.folding.ask();
            }),
            server.onState(({ is }) => {
                if (is === "running") {
                    void this.settle();
                }
            }),
            vscode.workspace.onDidOpenTextDocument((document) => {
                this.update(document.uri);
            }),
            vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
                const key = document.uri.toString();
                if (contentChanges.length > 0 && this.files.has(key)) {
                    const before = this.changes.get(key) ?? [];
                    this.changes.set(key, [...before.slice(1 - CHANGES), { version: document.version, changes: contentChanges }]);
                    if (!contentChanges.every(isInLine)) {
                        this.teller.shifted(this.files.get(key) ?? []);
                    }
                }
            }),
            vscode.workspace.onDidCloseTextDocument(({ uri }) => {
                this.sign(uri);
                this.changes.delete(uri.toString());
                for (const shown of this.files.get(uri.toString()) ?? []) {
                    shown.version = 0;
                }
            }),
            vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => {
                this.scrolled(textEditor.document.uri);
                this.folding.ask();
            }),
            // Of a thread that is folded or unfolded the window tells nobody: it is looked when something else is done.
            vscode.window.onDidChangeTextEditorSelection(() => {
                this.folding.ask();
            }),
            vscode.window.onDidChangeWindowState(() => {
                this.folding.ask();
            }),
            vscode.workspace.onDidChangeConfiguration((change) => {
                if (change.affectsConfiguration("postil.editor.threads")) {
                    this.folds.forget();
                    for (const { id, view } of [...this.files.values()].flat()) {
                        view.collapsibleState = this.folds.of(view.uri, id);
                    }
                }
            }),
            vscode.window.onDidChangeVisibleTextEditors((editors) => {
                for (const { document } of editors) {
                    this.scrolled(document.uri);
                }
            }),
        ];
    }

    /** The thread that a comment thread shows. */
    shown(view: vscode.CommentThread): Thread | undefined {
        const shown = this.of(view);
        // Another with the same first words may have its id by now.
        return shown && !shown.gone ? this.known.threads(view.uri).find((thread) => thread.id === shown.id) : undefined;
    }

    /** The comment thread that shows this thread. */
    viewOf(uri: vscode.Uri, id: string): vscode.CommentThread | undefined {
        if (this.partly.has(uri.toString()) && !this.live(uri, id)) {
            this.update(uri, id);
        }
        return this.live(uri, id)?.view;
    }

    private live(uri: vscode.Uri, id: string): Shown | undefined {
        return this.files.get(uri.toString())?.find((one) => one.id === id && !one.gone);
    }

    /** The author puts this thread away: its box goes with it. The answer takes that back. */
    resolve(uri: vscode.Uri, id: string): () => void {
        const shown = this.live(uri, id);
        if (shown) {
            shown.resolved = true;
        }
        return () => {
            if (shown) {
                shown.resolved = false;
            }
        };
    }

    /** A thread that was begun in the margin and is being written into the file: the one that comes there is it. */
    adopt(view: vscode.CommentThread, line: number): void {
        const key = view.uri.toString();
        const version = document(view.uri)?.version ?? 0;
        this.put(key, [...(this.files.get(key) ?? []), { ...fresh(view), awaited: true, line, version }]);
    }

    /** It is written, as the thread `id`, which may stand elsewhere than where it was begun. */
    adopted(view: vscode.CommentThread, id: string, line: number): void {
        const shown = this.of(view);
        if (!shown || shown.id === id) {
            return;
        }
        shown.id = id;
        shown.line = line;
        shown.version = document(view.uri)?.version ?? 0;
        shown.awaited = true;
        // A box of its own that it got meanwhile, or that of another thread, which is shown anew.
        if (this.known.threads(view.uri).some((thread) => thread.id === id && thread.range.start.line === line)) {
            this.remove(view.uri, (one) => {
                const twin = one !== shown && one.id === id;
                if (twin) {
                    drop(one);
                }
                return twin;
            });
        }
        this.update(view.uri);
    }

    /** It was not written after all. */
    release(view: vscode.CommentThread): void {
        this.remove(view.uri, (one) => one === this.of(view));
    }

    /** Whether it shows a thread that is not in the file: one that is being written there, or was taken out of it. */
    isElsewhere(view: vscode.CommentThread): "awaited" | "gone" | undefined {
        const shown = this.of(view);
        return !shown || this.shown(view) ? undefined : shown.awaited ? "awaited" : "gone";
    }

    private remove(uri: vscode.Uri, which: (shown: Shown) => boolean): void {
        const key = uri.toString();
        this.put(
            key,
            (this.files.get(key) ?? []).filter((one) => !which(one)),
        );
    }

    private put(key: string, all: Shown[]): void {
        this.total += all.length - (this.files.get(key)?.length ?? 0);
        if (all.length > 0) {
            this.files.set(key, all);
        } else {
            this.files.delete(key);
        }
    }

    /** Whether the server that told of this thread is gone, and the next has not read its file yet. */
    isStale(view: vscode.CommentThread): boolean {
        return this.of(view) !== undefined && this.known.isStale(view.uri);
    }

    /** Of files without threads the next server does not tell. */
    private async settle(): Promise<void> {
        for (const uri of this.known.staleFiles()) {
            // Told of while the others were asked about.
            if (!this.known.isStale(uri)) {
                continue;
            }
            let left: number;
            try {
                left = (await this.server.ask<{ threads: unknown[] }>("listThreads", { uri: uri.toString() })).threads.length;
            } catch (error) {
                // Gone from the disk, unless it is the server that is gone again; of one that is open it is another error.
                this.server.log.info(`${uri.toString()}: ${String(error)}`);
                left = document(uri) ? 1 : 0;
            }
            if (this.server.state.is !== "running") {
                return;
            }
            if (left === 0) {
                this.known.settle(uri);
            }
        }
    }

    /** Says at the top of a text under which other name its threads are shown. */
    private sign(uri: vscode.Uri): void {
        const key = uri.toString();
        const first = document(uri) ? this.known.twin(uri) : undefined;
        const name = first && vscode.workspace.asRelativePath(first);
        const label = `Shown in ${name}`;
        const there = this.signs.get(key);
        if (there && there.label !== label) {
            there.dispose();
            this.signs.delete(key);
        }
        if (name !== undefined && !this.signs.has(key)) {
            const body = new vscode.MarkdownString(asMarkdown(`This file is open as ${name} too, which was opened first: its threads are shown and answered there.`));
            const sign = this.controller.createCommentThread(uri, new vscode.Range(0, 0, 0, 0), [{ author: { name: "postil" }, body, mode: vscode.CommentMode.Preview }]);
            sign.label = label;
            sign.contextValue = "elsewhere";
            sign.canReply = false;
            sign.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
            this.signs.set(key, sign);
        }
    }

    /** `also`: a thread that is to be shown wherever it stands. */
    private update(uri: vscode.Uri, also?: string): void {
        const key = uri.toString();
        this.sign(uri);
        const before = this.files.get(key) ?? [];
        if (this.known.isStale(uri)) {
            // What is being written in a box would be gone with its thread. Of one that is begun it is told otherwise.
            for (const shown of before.filter(({ awaited }) => !awaited)) {
                this.say(shown, "postil is not running");
            }
            return;
        }
        const now = this.known.threads(uri).filter((thread) => said(thread).length > 0);
        const open = document(uri) !== undefined;
        this.move(uri, before);
        const known = pair(
            before.map((one) => ({ ...one, gone: one.gone !== undefined || one.column < 0 })),
            now,
        );
        const near = this.near(uri);
        const picked = pick(now, known, (thread) => thread.id === also || (open && near(thread.range.start.line)), open ? ALL : Math.min(ALL, MOST - this.total + before.length));
        clearTimeout(this.partly.get(key));
        if (picked.length < now.length) {
            this.partly.set(key, undefined);
        } else {
            this.partly.delete(key);
        }
        const threads = picked.map(({ thread }) => thread);
        const found = new Set(picked.map(({ index }) => index));
        const after = picked.map(({ thread, index }) => {
            const shown = before[index] ?? this.show(uri, thread);
            this.refresh(shown, thread);
            return shown;
        });
        for (const [index, shown] of before.entries()) {
            if (found.has(index)) {
                continue;
            }
            const stands = (thread: Thread): boolean => thread.id === shown.id && thread.range.start.line <= shown.line && shown.line <= thread.range.end.line;
            if (shown.awaited && !threads.some(stands)) {
                // Its lines are on their way.
                after.push(shown);
            } else if (!shown.awaited && this.stays(uri, shown, open)) {
                after.push(shown);
            } else {
                clearTimeout(shown.gone?.timer);
                drop(shown);
            }
        }
        this.put(key, after);
        if (after.length === 0) {
            this.changes.delete(key);
        }
        this.boxes(uri);
    }

    /** Whether no line came or went since the text that the server told of. */
    private isStill(uri: vscode.Uri): boolean {
        const now = this.known.version(uri) ?? 0;
        const since = (this.changes.get(uri.toString()) ?? []).filter(({ version }) => version > now);
        return since.every(({ changes }) => changes.every(isInLine));
    }

    /** To where the threads have come by what was typed up to the text that the server told of. */
    private move(uri: vscode.Uri, all: Shown[]): void {
        const now = this.known.version(uri);
        const known = this.changes.get(uri.toString());
        if (now === null || !known) {
            return;
        }
        for (const { version, changes } of known.filter(({ version }) => version <= now)) {
            for (const shown of all.filter((one) => one.version < version)) {
                const { line, cut } = moved({ line: shown.line, character: shown.column }, changes);
                shown.at = Math.max(0, shown.at + line - shown.line);
                shown.line = line;
                shown.column = cut ? -1 : shown.column;
            }
        }
        for (const shown of all) {
            shown.version = Math.max(shown.version, now);
        }
        this.changes.set(
            uri.toString(),
            known.filter(({ version }) => version > now),
        );
    }

    /** Whether a thread that left the text stays in the margin, which then says so. */
    private stays(uri: vscode.Uri, shown: Shown, open: boolean): boolean {
        const edited = shown.notes.some((note) => note.edited);
        if (!edited && (!open || shown.resolved || shown.gone?.late)) {
            return false;
        }
        if (!shown.gone) {
            const gone = {
                late: false,
                timer: setTimeout(() => {
                    gone.late = true;
                    this.update(uri);
                }, STAYS),
            };
            shown.gone = gone;
        }
        this.say(shown, GONE);
        return true;
    }

    /** The window makes an editor for each reply box at once, seen or not: of hundreds it would be busy for seconds. */
    private boxes(uri: vscode.Uri): void {
        const all = this.files.get(uri.toString()) ?? [];
        const near = this.near(uri);
        const few = all.length <= BOXES;
        for (const { line, view } of all) {
            // One that was there stays: something may be written in it.
            if ((few || near(line)) && !view.canReply && view.contextValue !== "outside") {
                view.canReply = true;
            }
        }
    }

    /** Whether a line is near what is seen of its file. */
    private near(uri: vscode.Uri): (line: number) => boolean {
        const key = uri.toString();
        const seen = vscode.window.visibleTextEditors.filter((editor) => editor.document.uri.toString() === key).flatMap((editor) => editor.visibleRanges);
        return (line) => seen.some((range) => range.start.line - NEAR <= line && line <= range.end.line + NEAR);
    }

    private scrolled(uri: vscode.Uri): void {
        const key = uri.toString();
        this.boxes(uri);
        if (this.partly.has(key)) {
            clearTimeout(this.partly.get(key));
            this.partly.set(
                key,
                setTimeout(() => {
                    this.update(uri);
                }, REST),
            );
        }
    }

    private show(uri: vscode.Uri, thread: Thread): Shown {
        const view = this.controller.createCommentThread(uri, range(thread), []);
        view.canReply = false;
        view.state = vscode.CommentThreadState.Unresolved;
        view.collapsibleState = this.folds.of(uri, thread.id);
        return fresh(view);
    }

    /** Nothing can be done with it, and why. */
    private say(shown: Shown, label: string): void {
        Object.assign(shown.due, { label, contextValue: "" });
        this.teller.tell(shown);
    }

    /** What it has become, for the window. */
    private refresh(shown: Shown, thread: Thread): void {
        const { view } = shown;
        const line = thread.range.start.line;
        const back = shown.gone !== undefined || shown.column < 0;
        clearTimeout(shown.gone?.timer);
        shown.gone = undefined;
        shown.id = thread.id;
        shown.awaited = false;
        shown.line = line;
        shown.column = thread.range.start.character;
        shown.version = this.known.version(view.uri) ?? 0;
        shown.said = content(thread);
        if (back) {
            // The window moved it with the text that was taken out.
            shown.astray = true;
        }
        shown.due = { ...shown.due, range: range(thread), contextValue: contextOf(thread, this.known), label: this.known.labelOf(thread) };
        const messages = spoken(thread);
        const newest = messages.at(-1)?.index;
        const below = (index: number): string => (index === newest ? offers(view.uri.toString(), thread) : "");
        // Of a message that has a box nothing is shown that its text could change; told of it, the window gives the box the keyboard.
        const boxed = (message: Message, index: number): boolean => shown.notes.some((note) => note.edited && note.index === index && note.role === message.role);
        const comments = JSON.stringify(
            messages.map(({ message, index, context }) => [index, context, speaker(message), boxed(message, index) ? "" : message.text, below(index)]),
        );
        if (shown.comments !== comments) {
            shown.comments = comments;
            const edited = shown.notes.filter((note) => note.edited);
            shown.notes = messages.map(({ message, index, context }) => {
                // The window gives a message its buttons when it first shows it, or never: one that was without is made anew.
                const fits = (note: Note) => note.edited || (note.contextValue === "author.fixed") === (context === "author.fixed");
                const there = shown.notes.find((note) => note.index === index && note.role === message.role && note.author.name === speaker(message) && fits(note));
                const note = there ?? new Note(view, this.author(message), index, message.role, message.text);
                note.contextValue = context;
                if (!note.edited) {
                    note.show(message.text, below(index));
                }
                return note;
            });
            // What is being written stays, though its message is gone.
            for (const note of edited.filter((note) => !shown.notes.includes(note))) {
                shown.notes.splice(Math.min(note.index, shown.notes.length), 0, note);
            }
            shown.due.comments = [...shown.notes];
        }
        this.teller.tell(shown);
    }

    /** The message that is edited and has this in its box, and what it said before. */
    edited(draft: string): { file: string; was: string } | undefined {
        for (const { notes } of [...this.files.values()].flat()) {
            const note = notes.find((one) => one.edited && one.draft === draft);
            if (note) {
                return { file: note.view.uri.toString(), was: note.text };
            }
        }
        return undefined;
    }

    /** Opens a box with the words of a message. */
    edit(note: Note): void {
        if (note.shut) {
            // The window is told of what changes a little later, in one: of what was shut and opened within that time it sees nothing.
            this.reopen(note, note.text);
            return;
        }
        note.edit(note.text);
        this.draw(note);
        this.update(note.view.uri);
    }

    /** The box goes; what stands in the file is shown. */
    leave(note: Note): void {
        note.show(note.text);
        this.anew(note);
    }

    /** The words in the box stand in the file. */
    saved(note: Note): void {
        note.show(note.draft.trim());
        this.anew(note);
    }

    /** They do not: the box, which the window has taken away, comes again with all that was written in it. */
    refused(note: Note): void {
        const again = this.reopen(note, note.draft);
        if (again) {
            again.told = note.told;
        }
    }

    /** A box with `draft` in a message made anew, where the window has shut that of the one it knows. */
    private reopen(note: Note, draft: string): Note | undefined {
        const shown = this.of(note.view);
        const at = shown?.notes.indexOf(note) ?? -1;
        if (!shown || at < 0) {
            return undefined;
        }
        const again = new Note(note.view, note.author, note.index, note.role, note.text);
        again.contextValue = note.contextValue;
        again.edit(draft);
        shown.notes[at] = again;
        this.draw(again);
        this.update(note.view.uri);
        return again;
    }

    /** Its box was shut: the window shows it, and what became of it meanwhile. */
    private anew(note: Note): void {
        note.shut = true;
        this.draw(note);
        const shown = this.of(note.view);
        if (shown) {
            shown.comments = "";
        }
        this.update(note.view.uri);
    }

    /** A box opened or shut by the author, who is there: shown at once. */
    private draw(note: Note): void {
        const shown = this.of(note.view);
        if (shown) {
            shown.acted = Date.now();
            delete shown.due.comments;
        }
        note.view.comments = [...(shown?.notes ?? note.view.comments)];
    }

    private of(view: vscode.CommentThread): Shown | undefined {
        const all = this.files.get(view.uri.toString());
        return all?.find((one) => one.view === view) ?? all?.find((one) => one.former === view);
    }

    private author(message: Message): vscode.CommentAuthorInformation {
        const icon = message.role === "agent" ? "agent.svg" : "author.svg";
        return { name: speaker(message), iconPath: vscode.Uri.joinPath(this.context.extensionUri, "resources", icon) };
    }

    dispose(): void {
        this.folding.dispose();
        for (const timer of this.partly.values()) {
            clearTimeout(timer);
        }
        for (const shown of [...this.files.values()].flat()) {
            clearTimeout(shown.gone?.timer);
        }
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}

/** Nothing is shown in it yet. */
function fresh(view: vscode.CommentThread): Shown {
    return { ...told(view), id: "", awaited: false, line: 0, column: 0, version: 0, said: "", gone: undefined, resolved: false, comments: "" };
}

/** Its text, where it is open. */
function document(uri: vscode.Uri): vscode.TextDocument | undefined {
    return vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
}

/** Whether no line comes or goes by it. */
function isInLine({ range, text }: Change): boolean {
    return range.start.line === range.end.line && !text.includes("\n");
}

function range(thread: Thread): vscode.Range {
    return new vscode.Range(thread.range.start.line, 0, thread.range.end.line, 0);
}

/**
 * `pending`, `running`, `answered`, `new`; behind it `.run` where there is a conversation to read, `.changes` where its last
 * turn changed files, `.edits` where it did more than write its answer, `.asks` where it stands still until a question is answered, and `.review` where it waits for one.
 * `outside` alone where nothing can be done with it.
 */
export function contextOf(thread: Thread, known: Known): string {
    if (thread.is_outside) {
        return "outside";
    }
    const waits = thread.turn && known.isReviewed(thread.turn.run_id);
    const asks = thread.turn?.running && thread.turn.waits;
    return stateOf(thread) + (thread.has_run ? ".run" : "") + (thread.is_paused ? ".paused" : "") + (asks ? ".asks" : "") + (thread.has_changes ? ".changes" : "") + ((thread.has_edits ?? thread.has_changes) ? ".edits" : "") + (waits ? ".review" : "");
}
