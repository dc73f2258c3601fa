// Each thread as one of the editor's own comment threads. The text in the file is the truth: what is shown here is
// made from what the server says of it, into the same objects as before, so that a reply that is being written stays.

import * as vscode from "vscode";
import type { Message, Thread } from "./protocol";
import type { Known } from "./known";
import type { Server } from "./server";
import { CHOOSE, asMarkdown, offers, pair, said, speaker, spoken, stateLabel, stateOf } from "./threads";

/** In a file with more threads than this only those that are near what is seen have a reply box. */
const BOXES = 25;
/** How many lines around what is seen are near. */
const NEAR = 40;

/** Threads of files that are not open are shown up to here; the tree has all. */
const MOST = 2000;

interface Shown {
    id: string;
    line: number;
    label: string;
    comments: string;
    notes: Note[];
    view: vscode.CommentThread;
}

/** One message in the margin. The window knows it by its object, which so stays the same while it is edited. */
export class Note implements vscode.Comment {
    body: string | vscode.MarkdownString = "";
    mode = vscode.CommentMode.Preview;
    contextValue = "";
    /** The author was told that the file has other words by now: saved once more, theirs hold. */
    told = false;
    /** Its box was open and is shut again. */
    shut = false;

    constructor(
        readonly view: vscode.CommentThread,
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
    private readonly subscriptions: vscode.Disposable[];

    constructor(
        private readonly context: vscode.ExtensionContext,
        private readonly known: Known,
        private readonly server: Server,
    ) {
        this.controller = vscode.comments.createCommentController("postil", "postil");
        this.controller.options = {
            prompt: "Reply",
            placeHolder: "Write to the agent; it stands in the file as an AUTHOR line",
        };
        this.controller.commentingRangeProvider = {
            provideCommentingRanges: (document) =>
                document.uri.scheme === "file" && this.server.state.is === "running"
                    ? [new vscode.Range(0, 0, Math.max(0, document.lineCount - 1), 0)]
                    : [],
        };
        this.subscriptions = [
            this.controller,
            known.onFile((uri) => {
                this.update(uri);
            }),
            vscode.workspace.onDidOpenTextDocument((document) => {
                this.update(document.uri);
            }),
            vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => {
                this.boxes(textEditor.document.uri);
            }),
            vscode.window.onDidChangeVisibleTextEditors((editors) => {
                for (const { document } of editors) {
                    this.boxes(document.uri);
                }
            }),
        ];
    }

    /** The thread that a comment thread shows. */
    shown(view: vscode.CommentThread): Thread | undefined {
        const shown = this.of(view);
        return shown && this.known.threads(view.uri).find((thread) => thread.id === shown.id);
    }

    /** The comment thread that shows this thread. */
    viewOf(uri: vscode.Uri, id: string): vscode.CommentThread | undefined {
        return this.files.get(uri.toString())?.find((one) => one.id === id)?.view;
    }

    /** A thread that was begun in the margin and is being written into the file: the one that comes there is it. */
    adopt(view: vscode.CommentThread, line: number): void {
        const shown = this.files.get(view.uri.toString()) ?? [];
        shown.push({ id: "", line, label: "", comments: "", notes: [], view });
        this.files.set(view.uri.toString(), shown);
    }

    /** It was not written after all. */
    release(view: vscode.CommentThread): void {
        const shown = this.files.get(view.uri.toString()) ?? [];
        this.files.set(
            view.uri.toString(),
            shown.filter((one) => one.view !== view || one.id !== ""),
        );
    }

    private update(uri: vscode.Uri): void {
        const key = uri.toString();
        const before = this.files.get(key) ?? [];
        const now = this.known.threads(uri).filter((thread) => said(thread).length > 0);
        const open = vscode.workspace.textDocuments.some((document) => document.uri.toString() === key);
        const room = open ? now.length : MOST - this.count() + before.length;
        const threads = now.slice(0, Math.max(0, room));
        const found = pair(before, threads);
        const after = threads.map((thread, index) => {
            const shown = before[found[index] ?? -1] ?? this.show(uri, thread);
            this.refresh(shown, thread);
            return shown;
        });
        for (const [index, shown] of before.entries()) {
            if (found.includes(index)) {
                continue;
            }
            if (shown.id === "") {
                // Its lines are on their way.
                after.push(shown);
            } else if (shown.notes.some((note) => note.edited)) {
                // What is being written there is not thrown away with it.
                shown.label = shown.view.label = "No longer in the file";
                after.push(shown);
            } else {
                shown.view.dispose();
            }
        }
        if (after.length > 0) {
            this.files.set(key, after);
        } else {
            this.files.delete(key);
        }
        this.boxes(uri);
    }

    /** The window makes an editor for each reply box at once, seen or not: of hundreds it would be busy for seconds. */
    private boxes(uri: vscode.Uri): void {
        const all = this.files.get(uri.toString()) ?? [];
        const seen = vscode.window.visibleTextEditors.filter((editor) => editor.document.uri.toString() === uri.toString()).flatMap((editor) => editor.visibleRanges);
        const few = all.length <= BOXES;
        for (const { line, view } of all) {
            const near = few || seen.some((range) => range.start.line - NEAR <= line && line <= range.end.line + NEAR);
            // One that was there stays: something may be written in it.
            if (near && !view.canReply) {
                view.canReply = true;
            }
        }
    }

    private count(): number {
        let all = 0;
        for (const shown of this.files.values()) {
            all += shown.length;
        }
        return all;
    }

    private show(uri: vscode.Uri, thread: Thread): Shown {
        const view = this.controller.createCommentThread(uri, range(thread), []);
        view.canReply = false;
        view.state = vscode.CommentThreadState.Unresolved;
        const expanded = vscode.workspace.getConfiguration("postil.editor").get<string>("threads") === "expanded";
        view.collapsibleState = expanded ? vscode.CommentThreadCollapsibleState.Expanded : vscode.CommentThreadCollapsibleState.Collapsed;
        return { id: thread.id, line: thread.range.start.line, label: "", comments: "", notes: [], view };
    }

    /** Sets what differs, for each assignment is a message to the window. */
    private refresh(shown: Shown, thread: Thread): void {
        const { view } = shown;
        const [line, last] = [thread.range.start.line, thread.range.end.line];
        shown.id = thread.id;
        shown.line = line;
        if (view.range.start.line !== line || view.range.end.line !== last) {
            view.range = range(thread);
        }
        const context = contextOf(thread, this.known);
        if (view.contextValue !== context) {
            view.contextValue = context;
        }
        const label = stateLabel(thread);
        if (shown.label !== label) {
            shown.label = label;
            view.label = label;
        }
        const messages = spoken(thread);
        const newest = messages.at(-1)?.index;
        const below = (index: number): string => (index === newest ? offers(thread) : "");
        const comments = JSON.stringify(messages.map(({ message, index, context }) => [index, context, speaker(message), message.text, below(index)]));
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
            view.comments = [...shown.notes];
        }
    }

    /** Opens a box with the words of a message. */
    edit(note: Note): void {
        if (note.shut) {
            // The window is told of what changes a little later, in one: of what was shut and opened within that time it sees nothing.
            this.reopen(note, note.text);
            return;
        }
        note.edit(note.text);
        note.view.comments = [...note.view.comments];
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
            again.told = true;
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
        note.view.comments = [...shown.notes];
        return again;
    }

    /** Its box was shut: the window shows it, and what became of it meanwhile. */
    private anew(note: Note): void {
        note.shut = true;
        note.view.comments = [...note.view.comments];
        const shown = this.of(note.view);
        if (shown) {
            shown.comments = "";
        }
        this.update(note.view.uri);
    }

    private of(view: vscode.CommentThread): Shown | undefined {
        return this.files.get(view.uri.toString())?.find((one) => one.view === view);
    }

    private author(message: Message): vscode.CommentAuthorInformation {
        const icon = message.role === "agent" ? "agent.svg" : "author.svg";
        return { name: speaker(message), iconPath: vscode.Uri.joinPath(this.context.extensionUri, "resources", icon) };
    }

    dispose(): void {
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}

function range(thread: Thread): vscode.Range {
    return new vscode.Range(thread.range.start.line, 0, thread.range.end.line, 0);
}

/** `pending`, `running`, `answered`, `new`, and with a turn of this window `.turn` behind it, `.review` where it waits for one. */
export function contextOf(thread: Thread, known: Known): string {
    return stateOf(thread) + (thread.turn ? ".turn" : "") + (thread.turn && known.isReviewed(thread.turn.run_id) ? ".review" : "");
}
