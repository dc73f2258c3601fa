// Telling the window what a thread in the margin has become, so that nobody loses the keyboard by it.
//
// VS Code gives a message that was once pressed the keyboard at every later change of its thread, wherever it is by then:
// in the text, the palette, a terminal (CommentThreadBody.updateCommentThread). It tells no extension that one was pressed,
// and forgets it only with the thread, or when the thread has no message for a moment. So a thread that is seen and
// unfolded is not changed but made anew beside itself, folded, and takes its place; unless that was done while its author
// typed, and no key since came so late after the one before that a message could have been pressed in between.

import * as vscode from "vscode";
import type { Note } from "./comments";
import { AT_WORK } from "./threads";

const { Expanded } = vscode.CommentThreadCollapsibleState;
const { Keyboard, Mouse } = vscode.TextEditorSelectionChangeKind;

/** Milliseconds between two keys in which nobody presses a message and comes back from there. */
const STREAK = 400;
/** Milliseconds without a key after which what somebody who types would notice is done. */
const PAUSE = 400;
/** The same after words were sent from a box, which the window has shut by then. */
const SHUT = 150;
/** So long VS Code gathers what is set of a thread before it tells the window. */
const GATHERS = 100;
/** The window does not answer so soon after it was told. */
const SLACK = 20;
/** What is set after so long is told apart from what was set before. */
const APART = GATHERS + 50;
/** Milliseconds in which nobody has pressed a message of a file that has just been shown; its threads are being drawn. */
const DRAWN = 700;
/** Milliseconds after which it is known where in the text one was made. */
const LATE = 500;
/** The last wait for what the window tells late. */
const LATEST = 4000;
/** So many are made anew at once. */
const AT_ONCE = 10;
/** Milliseconds after a press of a thread's own button in which its author is still there. */
const THERE = 400;

/** What is shown of a thread. */
type Look = Partial<Pick<vscode.CommentThread, "range" | "contextValue" | "label">> & { comments?: Note[] };

/** A thread of the margin, for this alone. */
export interface Told {
    view: vscode.CommentThread;
    /** What stood in its place before: a command that was begun with it is still about this one. */
    former: vscode.CommentThread | undefined;
    notes: Note[];
    /** What the window has not been told. */
    due: Look;
    /** At which line the window has it: it moves with the text there. */
    at: number;
    /** Its text was taken out and is back: it may be anywhere. */
    astray: boolean;
    /** When its author last pressed a button of it that changes it. */
    acted: number;
    /** Until it is in place: the next one; none: its messages are away for a moment. */
    busy: { next: vscode.CommentThread | undefined } | undefined;
    dropped: boolean;
    /** It was unfolded when it was last looked at. */
    open: boolean;
    /** When it was made. Before that none of its messages was pressed. */
    made: number;
}

export function told(view: vscode.CommentThread): Told {
    return { view, former: undefined, notes: [], due: {}, at: view.range.start.line, astray: false, acted: 0, busy: undefined, dropped: false, open: false, made: Date.now() };
}

/** It leaves the margin. */
export function drop(one: Told): void {
    one.dropped = true;
    one.busy?.next?.dispose();
    one.view.dispose();
}

/** The threads beside one that have a box, and VS Code's names for those of all boxes: which is which it tells nobody. */
interface Boxes {
    others: Set<vscode.CommentThread>;
    names: Set<string | undefined>;
}

/** Whether it is the text in one of our reply boxes, of which each is an editor to extensions. */
export function isReply({ uri }: vscode.TextDocument): boolean {
    return uri.scheme === "comment" && uri.toString(true).includes("postil.postil");
}

/** Whether the cursor is in one of our reply boxes. */
function isReplying(): boolean {
    const { activeTextEditor } = vscode.window;
    return activeTextEditor !== undefined && isReply(activeTextEditor.document);
}

/** Whether it is the text in the box of a message. */
export function isEdit({ uri }: vscode.TextDocument): boolean {
    return uri.scheme === "comment" && /\/commentinput-\d+-\d+\.md$/.test(uri.path);
}

/** By what VS Code knows the thread of a reply box, as long as this window is there: behind a name that each box has anew. */
export function threadOf({ uri }: vscode.TextDocument): string | undefined {
    return /\/commentinput-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-(.+)\.md$/.exec(uri.path)?.[1];
}

/** The texts of the reply boxes that are there, folded ones too. */
function replies(): vscode.TextDocument[] {
    return vscode.window.visibleTextEditors.map(({ document }) => document).filter(isReply);
}

/** Whether there is a reply box in which something stands, or in which the cursor is: with its thread it would be lost. */
function isWriting(): boolean {
    const shown = replies();
    // VS Code keeps the texts of boxes that are gone.
    const all = shown.length > 0 ? shown : vscode.workspace.textDocuments.filter(isReply);
    return isReplying() || all.some((one) => one.getText() !== "");
}

/** Whether nothing is due but where it is. */
function isPlace(due: Look): boolean {
    return Object.keys(due).every((key) => key === "range");
}

function missing<Item>(before: Set<Item>, now: Set<Item>): number {
    return [...before].filter((item) => !now.has(item)).length;
}

export class Teller implements vscode.Disposable {
    /** Until then nothing is made anew; nor while something is sent. */
    private until = 0;
    /** When somebody last typed in a text. */
    private typed = 0;
    /** Since when there has been nothing but keys, each soon after the one before. */
    private since = Infinity;
    private sends = 0;
    private timer: NodeJS.Timeout | undefined;
    /** The cursor was in a reply box when that was last told. */
    private inBox = isReplying();
    /** Since when the files are seen that are. */
    private seen = new Map<string, number>();
    private readonly subscriptions = [
        vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
            if (kind === Keyboard) {
                const now = Date.now();
                if (now > this.typed + STREAK) {
                    this.since = Infinity;
                }
                this.since = Math.min(this.since, now);
                this.typed = now;
            } else if (kind === Mouse) {
                this.since = Infinity;
            }
        }),
        // Whoever is in the box of a message has the keyboard where the window would give it; who leaves a reply box loses
        // nothing with it any more.
        vscode.window.onDidChangeActiveTextEditor((editor) => {
            this.since = Infinity;
            const isFromBox = this.inBox;
            this.inBox = isReplying();
            if ((editor && isEdit(editor.document)) || (isFromBox && !this.inBox)) {
                this.all();
            }
        }),
        vscode.window.onDidChangeVisibleTextEditors(() => {
            this.look();
            // Of what nobody sees nothing can be pressed.
            this.all();
        }),
    ];

    constructor(
        private readonly controller: vscode.CommentController,
        /** All threads of the margin. */
        private readonly threads: () => Told[],
        /** Whether the lines of a text are where the server has them. */
        private readonly isStill: (uri: vscode.Uri) => boolean,
    ) {
        this.look();
    }

    private look(): void {
        const files = vscode.window.visibleTextEditors.map(({ document }) => document.uri.toString());
        this.seen = new Map(files.map((file) => [file, this.seen.get(file) ?? Date.now()]));
    }

    private all(): void {
        for (const one of this.threads()) {
            this.tell(one);
        }
    }

    /** While `work` sends what stands in a reply box. The window shuts the box when that is done. */
    async sending<Done>(work: () => Promise<Done>): Promise<Done> {
        this.sends += 1;
        try {
            return await work();
        } finally {
            this.sends -= 1;
            this.until = Date.now() + SHUT;
            this.later(this.until);
        }
    }

    /**
     * The window will shut the box, and leave the keyboard to nobody: its author has it in the text from now on. Later, he
     * might be elsewhere already.
     */
    leave(): void {
        if (isReplying()) {
            void vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
        }
    }

    /**
     * A button in a thread's title was pressed that goes with it when the thread is made anew. By a key it has the keyboard,
     * of which no extension is told; the box of whoever pressed it with the mouse has no button.
     */
    async pressed(): Promise<void> {
        if (!isReplying()) {
            await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
        }
    }

    private later(time: number): void {
        this.timer ??= setTimeout(
            () => {
                this.timer = undefined;
                this.all();
            },
            Math.max(0, time - Date.now()),
        );
    }

    /** Tells what is due, now or as soon as it takes nothing from anybody. */
    tell(one: Told): void {
        if (one.dropped || one.busy) {
            return;
        }
        const { view, due } = one;
        if (one.notes.some((note) => note.edited)) {
            one.made = 0;
        }
        if (view.collapsibleState === Expanded && due.label?.startsWith(`${AT_WORK}:`)) {
            // What it does at each moment is not worth to take what was selected in a message.
            due.label = AT_WORK;
        }
        this.prune(one);
        if (isReplying() && isPlace(due)) {
            return;
        }
        if (this.isFree(one)) {
            if (this.isAt(one, view.range)) {
                delete due.range;
            }
            this.set(one, view);
            return;
        }
        // Where the window has moved it with the text, its panel alone is to be told, when that takes nothing from anybody.
        if (isPlace(due) && (!due.range || this.isAt(one, this.place(one)))) {
            return;
        }
        if (one.notes.some((note) => note.edited)) {
            if (this.isInIts(one)) {
                this.set(one, view);
            }
            return;
        }
        if (this.sends > 0) {
            return;
        }
        const from = this.canMake(one) ? this.until : Math.max(this.until, this.typed + PAUSE);
        if (from > Date.now()) {
            this.later(from);
        } else if (isWriting()) {
            this.empty(one);
        } else {
            this.replace(one);
        }
    }

    /** Whether it can be made anew between two keys: one at a time, where it is known at which line, and no box holds words. */
    private canMake({ view }: Told): boolean {
        return this.isStill(view.uri) && !isWriting() && this.threads().every(({ busy }) => !busy);
    }

    /** Those that were folded are made anew unseen: unfolded again, a message that was pressed before took the keyboard. */
    forget(): void {
        let left = isWriting() ? 0 : AT_ONCE;
        for (const one of this.threads()) {
            const isOpen = one.view.collapsibleState === Expanded;
            const isSeen = this.seen.has(one.view.uri.toString());
            if (isOpen || !isSeen || !one.open) {
                // Of what is not seen VS Code has forgotten it.
                one.open = isOpen && isSeen;
            } else if (left > 0 && !one.busy && !one.notes.some((note) => note.edited)) {
                left -= 1;
                one.open = false;
                one.made = Date.now();
                this.take(one, this.made(one, this.place(one), {}));
            }
        }
    }

    /** Lines came or went: of one that was just made nobody knows whether that was before or after. */
    shifted(threads: Told[]): void {
        for (const one of threads) {
            one.astray ||= one.busy !== undefined || Date.now() < one.made + LATE;
        }
    }

    /** Whether nobody writes in a box, and no thread is being made anew. */
    isCalm(): boolean {
        return !isWriting() && this.threads().every(({ busy, notes }) => !busy && !notes.some((note) => note.edited));
    }

    /** Whether it can be changed as it is. */
    private isFree({ view, acted, made }: Told): boolean {
        const now = Date.now();
        const seen = this.seen.get(view.uri.toString());
        const isUnpressed = made >= this.since && now <= this.typed + STREAK;
        const isThere = now < acted + THERE && this.typed <= acted;
        return isUnpressed || isThere || view.collapsibleState !== Expanded || view.comments.length === 0 || seen === undefined || now < seen + DRAWN;
    }

    /** Whether the cursor is in the box of one of its messages. */
    private isInIts(one: Told): boolean {
        const { activeTextEditor } = vscode.window;
        const others = this.threads().some((other) => other !== one && other.notes.some((note) => note.edited));
        return activeTextEditor !== undefined && isEdit(activeTextEditor.document) && !others;
    }

    /** Where the window has it. */
    private place({ view, at }: Told): vscode.Range {
        const lines = view.range.end.line - view.range.start.line;
        return new vscode.Range(at, 0, at + lines, 0);
    }

    /** Without what is so already. */
    private prune({ view, due }: Told): void {
        if (due.label === view.label) {
            delete due.label;
        }
        if (due.contextValue === view.contextValue) {
            delete due.contextValue;
        }
    }

    /** Whether it is to be at `range`, and the window has it there. */
    private isAt({ due, at, astray }: Told, range: vscode.Range): boolean {
        return due.range?.isEqual(range) === true && due.range.start.line === at && !astray;
    }

    private set(one: Told, view: vscode.CommentThread): void {
        const { range, ...look } = one.due;
        Object.assign(view, look);
        one.due = {};
        if (range && isReplying()) {
            // The window puts a thread that gets another place into its page anew, and with its box the keyboard is nowhere.
            one.due.range = range;
        } else if (range) {
            if (range.isEqual(view.range)) {
                // The window moved it with the text. What is equal to what it was is not sent.
                view.range = range.with(undefined, range.end.translate(0, 1));
            }
            view.range = range;
            one.at = range.start.line;
            one.astray = false;
        }
    }

    private replace(one: Told): void {
        const { view, due } = one;
        const made = Date.now();
        const next = this.made(one, due.range ?? this.place(one), due);
        next.collapsibleState = Expanded;
        one.at = next.range.start.line;
        one.astray = false;
        one.busy = { next };
        one.due = {};
        // VS Code unfolds the next one now, and folds this one away in the same breath.
        setTimeout(() => {
            if (one.dropped) {
                return;
            }
            one.busy = undefined;
            // Told late, this one was folded by the window, which has unfolded the next one; else by somebody.
            const isFolded = view.collapsibleState !== Expanded && Date.now() < made + GATHERS + SLACK;
            if (isFolded || isWriting() || one.notes.some((note) => note.edited)) {
                next.dispose();
                one.astray = true;
                one.due = { range: next.range, ...due, ...one.due };
            } else {
                this.take(one, next);
                one.made = made;
            }
            this.tell(one);
        }, GATHERS);
    }

    /** Folded, as each is at first. */
    private made({ view }: Told, range: vscode.Range, due: Look): vscode.CommentThread {
        const next = this.controller.createCommentThread(view.uri, range, due.comments ?? view.comments);
        next.canReply = view.canReply;
        const { state, label, contextValue } = { ...view, ...due };
        Object.assign(next, { state, label, contextValue });
        return next;
    }

    private take(one: Told, next: vscode.CommentThread): void {
        one.former = one.view;
        one.view = next;
        for (const note of one.notes) {
            note.view = next;
        }
        one.former.dispose();
    }

    /** Where a box would be lost the window forgets by a moment without messages, after which they are there again. */
    private empty(one: Told): void {
        const { view } = one;
        const boxes = this.boxes(one);
        view.comments = [];
        one.busy = { next: undefined };
        setTimeout(() => {
            if (one.dropped) {
                return;
            }
            one.busy = undefined;
            one.made = Date.now();
            one.due.comments ??= [...one.notes];
            if (view.collapsibleState !== Expanded) {
                // Folded without a message, VS Code has removed it.
                const next = this.made(one, this.place(one), { comments: [] });
                this.take(one, next);
            } else {
                this.rescue(one, view, boxes);
            }
            this.set(one, one.view);
        }, APART);
    }

    private boxes(one: Told): Boxes {
        const others = this.threads().filter((other) => other !== one && other.view.canReply && this.seen.has(other.view.uri.toString()));
        return { others: new Set(others.map(({ view }) => view)), names: new Set(replies().map(threadOf)) };
    }

    /** That it was folded in the moment without messages is told later, on a busy machine much later. */
    private rescue(one: Told, view: vscode.CommentThread, before: Boxes, wait = LATE): void {
        setTimeout(() => {
            if (one.view !== view || one.dropped || one.busy || !this.seen.has(view.uri.toString())) {
                return;
            }
            const now = this.boxes(one);
            // Each other thread that went took its box along: one more is its own.
            const isGone = missing(before.names, now.names) > missing(before.others, now.others);
            if (view.collapsibleState !== Expanded && isGone) {
                one.made = Date.now();
                this.take(one, this.made(one, this.place(one), {}));
            } else if (wait < LATEST) {
                this.rescue(one, view, before, 2 * wait);
            }
        }, wait);
    }

    dispose(): void {
        clearTimeout(this.timer);
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}
