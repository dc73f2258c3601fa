// What was written in reply boxes, and in those of messages that are edited, and not sent. VS Code loses it with the box:
// when the thread goes, when its file gets another name, when the window is loaded anew. So it is kept here until the
// author has it back.

import * as path from "node:path";
import * as vscode from "vscode";
import { Kept } from "./kept";
import { because, inform } from "./say";
import { Soon } from "./soon";
import { isEdit, isReply, threadOf } from "./tell";
import { short } from "./threads";

/** Milliseconds until what was typed is kept. */
const KEEP = 300;
/** Milliseconds in which VS Code has drawn a box again, with what stood in it. */
const DRAWN = 3000;
/** Milliseconds after which it is looked again at most what other windows left, and said that this one is there. */
const AGAIN = 30_000;

interface Draft {
    text: string;
    /** The file beside which it was written. */
    file: string | undefined;
    /** Of a message that is edited: what it said before. */
    was?: string | undefined;
    /** When its box went. */
    at?: number;
}

/** A message of which the author has opened the box. */
interface Edited {
    file: string;
    was: string;
}

/** The editors that are there, by what is in them: of files, and of boxes, folded ones too. */
function editors(): string[] {
    return vscode.window.visibleTextEditors.map(({ document }) => document.uri.toString());
}

/** The file in whose group the keyboard is. */
function tabbed(): string | undefined {
    const { input } = vscode.window.tabGroups.activeTabGroup.activeTab ?? {};
    const file = input instanceof vscode.TabInputText ? input.uri : input instanceof vscode.TabInputTextDiff ? input.modified : undefined;
    return file?.toString();
}

/** Whether a file is this one, or in this folder. */
function isBelow(file: string | undefined, uri: vscode.Uri): boolean {
    return file !== undefined && (file === uri.toString() || file.startsWith(`${uri.toString()}/`));
}

export class Drafts implements vscode.Disposable {
    /** In boxes that are there, by the names of these. */
    private readonly written = new Map<string, Draft>();
    /** The messages that are edited, by the names of their boxes; `undefined`: another extension's. */
    private readonly edits = new Map<string, Edited | undefined>();
    /** The files of threads in whose boxes something was written. */
    private readonly files = new Map<string, string>();
    /** Without a box. VS Code has those of files that are not seen ready for when these are. */
    private readonly away = new Set<Draft>();
    /** Of which nobody else has anything. */
    private readonly lost = new Set<Draft>();
    /** On their way into a file, which may take longer than a box is drawn. */
    private readonly sending = new Set<{ text: string }>();
    /** What was sent from the boxes that the window empties then, by the names of these. */
    private readonly pressed = new Map<string, string>();
    private readonly kept: Kept<Draft>;
    /** The editors that were there when that last changed. */
    private seen = editors();
    /** Since when. */
    private since = new Map<string, number>();
    private readonly keeping = new Soon(KEEP, () => {
        this.keep();
    });
    private beats = false;
    private readonly timers = new Set<NodeJS.Timeout>();
    private readonly subscriptions = [
        vscode.workspace.onDidOpenTextDocument((document) => {
            this.write(document);
        }),
        vscode.workspace.onDidChangeTextDocument(({ document }) => {
            this.write(document);
        }),
        vscode.window.onDidChangeVisibleTextEditors(() => {
            const before = this.seen;
            this.seen = editors();
            this.since = new Map(this.seen.map((one) => [one, this.since.get(one) ?? Date.now()]));
            // VS Code tells of no text in a box that it is closed.
            for (const box of [...this.written.keys(), ...this.edits.keys()]) {
                if (before.includes(box) && !this.seen.includes(box)) {
                    this.shut(box);
                }
            }
            if (this.away.size > 0) {
                this.soon();
            }
        }),
        vscode.workspace.onDidRenameFiles(({ files }) => {
            for (const draft of [...this.written.values(), ...this.away, ...this.lost]) {
                for (const { oldUri, newUri } of files) {
                    if (isBelow(draft.file, oldUri)) {
                        draft.file = newUri.toString() + (draft.file ?? "").slice(oldUri.toString().length);
                    }
                }
            }
            this.soon();
        }),
        vscode.workspace.onDidDeleteFiles(({ files }) => {
            const gone = [...this.away].filter(({ file }) => files.some((deleted) => isBelow(file, deleted)));
            this.give(gone, "when its file was deleted");
        }),
    ];

    /** `edited`: the message whose box was just opened with this in it. */
    constructor(
        context: vscode.ExtensionContext,
        private readonly log: vscode.LogOutputChannel,
        private readonly edited: (text: string) => Edited | undefined,
    ) {
        // The storage of a workspace is another one for a second window on it, and for one whose folders are saved as a
        // workspace, or that gets a second one.
        this.kept = new Kept(path.join(context.globalStorageUri.fsPath, "drafts"), () => (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.toString()));
        this.after(DRAWN, () => {
            this.take();
        });
    }

    /** What windows left that are gone. One that was loaded anew may take a while to go. */
    private take(again = DRAWN): void {
        const { items, others } = this.kept.take();
        if (items.length > 0) {
            this.give(items, "when this window was last shut");
        }
        if (others) {
            this.after(again, () => {
                this.take(Math.min(2 * again, AGAIN));
            });
        }
    }

    private after(milliseconds: number, act: () => void): void {
        const timer = setTimeout(() => {
            this.timers.delete(timer);
            act();
        }, milliseconds);
        this.timers.add(timer);
    }

    /** The message in whose box `text` stands. The box says nothing of it: it is known by the first words in it. */
    private message(key: string, text: string): Edited | undefined {
        if (text !== "" && !this.edits.has(key)) {
            // Drawn anew it has what was written in it.
            const back = [...this.away].find((draft) => draft.was !== undefined && draft.text === text);
            this.edits.set(key, back?.file !== undefined && back.was !== undefined ? { file: back.file, was: back.was } : this.edited(text));
        }
        return this.edits.get(key);
    }

    private write(document: vscode.TextDocument): void {
        const isMessage = isEdit(document);
        if (!isMessage && !isReply(document)) {
            return;
        }
        const key = document.uri.toString();
        const text = document.getText();
        const edited = isMessage ? this.message(key, text) : undefined;
        if (isMessage && !edited) {
            return;
        }
        if (text.trim() !== "" && text !== edited?.was) {
            const known = this.written.get(key);
            const thread = threadOf(document) ?? "";
            const told = edited?.file ?? this.files.get(thread);
            // Drawn anew, maybe in a group that is not the active one.
            const same = known ? [] : [...this.away].filter((draft) => draft.text === text && draft.was === edited?.was);
            const back = same.find((draft) => draft.file === told) ?? same[0];
            const file = known?.file ?? told ?? back?.file ?? tabbed();
            this.written.set(key, { text, file, was: edited?.was });
            if (thread !== "" && file !== undefined) {
                this.files.set(thread, file);
            }
            if (back) {
                this.away.delete(back);
            }
        } else if (!this.empty(key)) {
            return;
        }
        this.keeping.ask();
    }

    /** Nothing stands in a box any more; whether something did. What came to what was sent from it goes with that. */
    private empty(box: string): boolean {
        const draft = this.written.get(box);
        const sent = this.pressed.get(box);
        this.pressed.delete(box);
        this.written.delete(box);
        const more = sent === undefined ? "" : (draft?.text.startsWith(sent) ? draft.text.slice(sent.length) : (draft?.text ?? "")).trim();
        if (draft && more !== "") {
            this.give([{ ...draft, text: more }], "when the words before it were");
        }
        return draft !== undefined;
    }

    /** Its box is gone: for good, or drawn anew, or until its file is seen again. */
    private shut(box: string): void {
        this.edits.delete(box);
        this.pressed.delete(box);
        const draft = this.written.get(box);
        if (draft) {
            this.written.delete(box);
            this.away.add({ ...draft, at: Date.now() });
            this.soon();
            this.keeping.ask();
        }
    }

    /** Has `write` bring these words into a file. Meanwhile they are kept, but not handed back; afterwards where it could not. */
    async send<Done>(text: string, uri: vscode.Uri, write: () => Promise<Done>): Promise<Done> {
        const under = { text };
        this.sending.add(under);
        const boxes = [...this.written].flatMap(([box, draft]) => (draft.text === text && draft.file === uri.toString() ? [box] : []));
        for (const box of boxes) {
            this.pressed.set(box, text);
        }
        try {
            const done = await write();
            this.sent(text, uri);
            return done;
        } catch (error) {
            for (const box of boxes) {
                this.pressed.delete(box);
            }
            throw error;
        } finally {
            this.sending.delete(under);
            // Their box may come again.
            for (const draft of this.away) {
                if (draft.text === text) {
                    draft.at = Date.now();
                }
            }
            this.soon();
        }
    }

    /** These words stand in a file now, or their author wants them no more. */
    sent(sent: string, uri: vscode.Uri): void {
        const said = [...this.written.values(), ...this.away, ...this.lost].filter(({ text }) => text === sent);
        // The same words may stand in another file's box; which file a box is of is not told, but guessed.
        const draft = said.find(({ file }) => file === uri.toString()) ?? said[0];
        if (draft) {
            this.away.delete(draft);
            this.lost.delete(draft);
            for (const [box, written] of this.written) {
                if (written === draft) {
                    this.written.delete(box);
                }
            }
        }
        this.keeping.ask();
    }

    private isThere(draft: Draft): boolean {
        return [...this.written.values()].some(({ text, file }) => text === draft.text && file === draft.file);
    }

    /** Looks at those whose file is seen again, when it has been so for a while. */
    private soon(): void {
        this.after(DRAWN, () => {
            // Where it is not known, VS Code may have it still: it is handed back when the window is loaded anew.
            const going = [...this.sending].map(({ text }) => text);
            const isSeen = ({ file, text }: Draft): boolean => file !== undefined && this.since.has(file) && !going.includes(text);
            const isDrawn = ({ file = "", at = 0 }: Draft): boolean => Math.max(this.since.get(file) ?? 0, at) + DRAWN <= Date.now();
            const seen = [...this.away].filter(isSeen);
            const drawn = seen.filter(isDrawn);
            this.give(drawn, "when its box went");
            if (drawn.length < seen.length) {
                this.soon();
            }
        });
    }

    /** Hands them to the author, but for those that stand in a box again. */
    private give(drafts: Draft[], when: string): void {
        const left = drafts.filter((draft) => !this.isThere(draft));
        for (const draft of drafts) {
            this.away.delete(draft);
            if (left.includes(draft)) {
                this.lost.add(draft);
            } else {
                this.lost.delete(draft);
            }
        }
        this.keeping.ask();
        const [first] = left;
        if (!first) {
            return;
        }
        const name = first.file === undefined ? "" : ` in ${vscode.workspace.asRelativePath(vscode.Uri.parse(first.file, true))}`;
        const one = first.was === undefined ? `a reply${name} had not been sent` : `a message that you edited${name} had not been saved`;
        const what = left.length === 1 ? one : `${left.length} ${left.every(({ was }) => was === undefined) ? "replies" : "messages"} had not been sent`;
        void inform(`postil: ${what} ${when}: \u201c${short(first.text)}\u201d${left.length === 1 ? "" : " \u2026"}`, "Copy").then(async (pressed) => {
            if (pressed !== undefined) {
                await vscode.env.clipboard.writeText(left.map(({ text }) => text).join("\n\n"));
            }
            left.forEach((draft) => this.lost.delete(draft));
            this.keep();
        });
    }

    private keep(): void {
        const all = [...this.lost, ...this.away, ...this.written.values()];
        try {
            this.kept.put(all);
        } catch (error) {
            this.log.warn(`what is not sent yet is not kept: ${because(error)}`);
        }
        if (all.length > 0) {
            this.beat();
        }
    }

    /** Says from time to time, while something is kept, that this window is there: another may have taken it for gone. */
    private beat(): void {
        if (this.beats) {
            return;
        }
        this.beats = true;
        this.after(AGAIN, () => {
            this.beats = false;
            if (this.lost.size + this.away.size + this.written.size > 0) {
                this.beat();
                // A process may outlive its window, of which nobody answers then.
                void vscode.commands.executeCommand("setContext", "postil.there", true).then(() => {
                    this.keep();
                });
            }
        });
    }

    dispose(): void {
        this.keep();
        this.keeping.dispose();
        this.timers.forEach(clearTimeout);
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}
