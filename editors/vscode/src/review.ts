// What a turn changes, in the editor's own diff, file by file: before it is made where the author asked for that
// (`turn.review = "ask"`), else what the last turn of a run made, with the file as it is now on the right.

import * as path from "node:path";
import * as vscode from "vscode";
import type { Known } from "./known";
import { type Row, rowOf } from "./presses";
import type { ChangedFile, Changes, ProposedChange } from "./protocol";
import { inform } from "./say";
import type { Server } from "./server";
import { is } from "./tree";

/** `postil-turn:/path?RUN.N`: a file as it was before a turn. `N` counts on: an editor reads a URI once, and a run has several turns. */
const BEFORE = "postil-turn";
/** `postil-proposed:/path?RUN.N`: a file as a turn would have it, or as nothing where it is removed. */
const AFTER = "postil-proposed";
/** What the editor of several diffs is called. */
const PROPOSED = "Changes That the Agent Proposes";
const MADE = "Changes of the Turn";
/** What stands in a text of a review of which nothing is left, or which the window forgot when it was loaded anew. */
const OVER = "This review is over. *Review Changes* at its thread shows what there is to be seen by now.\n";
/** How long to wait for the other files that are asked about together. */
const TOGETHER = 1000;

interface Review {
    is: "review";
    run: string;
    /** Nothing of it is made yet. */
    proposed: boolean;
    /** The one of the run's turns that made it. */
    turn?: number;
    files: Reviewed[];
    /** How many were asked about so far, and those of which the author was not told yet. */
    came: number;
    untold: Reviewed[];
}

export interface Reviewed {
    is: "changed";
    review: Review;
    change: ChangedFile & Partial<Pick<ProposedChange, "added" | "removed" | "from">>;
    left: vscode.Uri;
    right: vscode.Uri;
    /** Answers the agent's question, where it is one. */
    decide?: (accepted: boolean) => void;
}

type Node = Review | Reviewed;

export class Reviews implements vscode.TextDocumentContentProvider, vscode.TreeDataProvider<Node>, vscode.Disposable {
    /** What is asked about, by run. */
    private readonly asked = new Map<string, Review>();
    private made: Review | undefined;
    private readonly texts = new Map<string, string>();
    private shown = 0;
    private readonly changed = new vscode.EventEmitter<undefined>();
    readonly onDidChangeTreeData = this.changed.event;
    private readonly view: vscode.TreeView<Node>;
    private readonly subscriptions: vscode.Disposable[];

    constructor(
        private readonly server: Server,
        private readonly known: Known,
    ) {
        this.view = vscode.window.createTreeView<Node>("postil.review", { treeDataProvider: this });
        // Of before the window was loaded anew: without their texts they say that nothing was changed.
        void vscode.window.tabGroups.close(several(PROPOSED, MADE), true);
        this.subscriptions = [
            this.view,
            vscode.workspace.registerTextDocumentContentProvider(BEFORE, this),
            vscode.workspace.registerTextDocumentContentProvider(AFTER, this),
            this.changed,
            server.onLost(() => {
                // Nobody waits for an answer any more.
                for (const { files } of [...this.asked.values()]) {
                    void this.take(files);
                }
            }),
            vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
                if (closed.length > 0) {
                    this.sweep();
                }
            }),
            known.onFile((uri) => {
                const turn = known.threads(uri).find((thread) => thread.turn?.run_id === this.made?.run);
                if (this.made && turn?.has_changes === false) {
                    void this.settle();
                }
            }),
        ];
    }

    provideTextDocumentContent(uri: vscode.Uri): string {
        return this.texts.get(uri.toString()) ?? OVER;
    }

    /** A text is kept while a tab may ask for it: the window forgets one that is not looked at. */
    private sweep(): void {
        // Which texts the editor of several has is not told.
        if (several(PROPOSED, MADE).length > 0) {
            return;
        }
        const files = this.all().flatMap((review) => review.files.flatMap(({ left, right }) => [left, right]));
        const seen = allTabs().flatMap(({ input }) => (input instanceof vscode.TabInputTextDiff ? [input.original, input.modified] : []));
        const kept = new Set([...files, ...seen].map((uri) => uri.toString()));
        for (const key of this.texts.keys()) {
            if (!kept.has(key)) {
                this.texts.delete(key);
            }
        }
    }

    /** Reviews with something left, what the agent waits for first. */
    private all(): Review[] {
        return [...this.asked.values(), ...(this.made ? [this.made] : [])];
    }

    private text(scheme: string, run: string, uri: string, text: string | null): vscode.Uri {
        const made = vscode.Uri.parse(uri).with({ scheme, query: `${run}.${(this.shown += 1)}` });
        this.texts.set(made.toString(), text ?? "");
        return made;
    }

    /** The agent wants to change a file and waits for the answer. */
    ask(change: ProposedChange, token: vscode.CancellationToken): Promise<boolean> {
        const { run_id: run } = change;
        let review = this.asked.get(run);
        if (!review) {
            review = { is: "review", run, proposed: true, files: [], came: 0, untold: [] };
            this.asked.set(run, review);
            this.known.reviewing(run, true);
        }
        const asked = review;
        return new Promise((resolve) => {
            const file: Reviewed = {
                is: "changed",
                review: asked,
                change,
                left: this.text(BEFORE, run, change.uri, change.before),
                right: this.text(AFTER, run, change.uri, change.after),
                decide: resolve,
            };
            token.onCancellationRequested(() => {
                resolve(false);
                void this.take([file]);
            });
            asked.files.push(file);
            asked.files.sort((a, b) => a.change.file.localeCompare(b.change.file));
            asked.came += 1;
            asked.untold.push(file);
            this.draw();
            if (asked.untold.length === 1) {
                void this.tell(asked, change.of);
            }
        });
    }

    /** One message for all that are asked about together. What comes later is told in one of its own: a button is for what its message named. */
    private async tell(review: Review, of: number): Promise<void> {
        const end = Date.now() + TOGETHER;
        while (review.came < of && Date.now() < end) {
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
        const told = review.untold.splice(0).filter((file) => review.files.includes(file));
        const [first, ...more] = told;
        if (!first) {
            return;
        }
        const what = more.length === 0 ? `${named(first)} (${lines(first)})` : `${more.length + 1} files`;
        const [show, accept, reject] = more.length === 0 ? ["Show Change", "Accept", "Reject"] : ["Show Changes", "Accept All", "Reject All"];
        const pressed = await inform(`postil: the agent wants to change ${what}, and waits for you.`, show, accept, reject);
        const left = told.filter((file) => review.files.includes(file));
        if (pressed !== undefined && left.length === 0) {
            void inform("postil: these changes were decided on already, or the turn has ended.");
        } else if (pressed === show) {
            await this.open(review);
        } else if (pressed === accept || pressed === reject) {
            await (pressed === accept ? this.accept(left) : this.reject(left));
        }
    }

    /** What a run asks about, or else what its last turn made. */
    async show(argument: { run_id?: string; uri?: string; thread_id?: string }): Promise<void> {
        const run = argument.run_id ?? this.known.byId(argument.thread_id ?? "", argument.uri)?.thread.turn?.run_id;
        const asked = run === undefined ? undefined : this.asked.get(run);
        if (asked) {
            await this.open(asked);
            return;
        }
        const changes = await this.server.run<Changes>("turnChanges", argument);
        if (!changes) {
            return;
        }
        if (changes.files.length === 0) {
            void inform("postil: this turn changed no file that could be reviewed.");
            return;
        }
        await this.leave();
        const review: Review = { is: "review", run: changes.run_id, proposed: false, turn: changes.turn, files: [], came: 0, untold: [] };
        review.files = changes.files.map((change) => ({
            is: "changed",
            review,
            change,
            left: this.text(BEFORE, review.run, change.uri, change.before),
            right: change.after === null ? this.text(AFTER, review.run, change.uri, null) : vscode.Uri.parse(change.uri),
        }));
        this.made = review;
        this.draw();
        await this.open(review);
    }

    /** What an earlier turn made is not looked at any more: its diffs would show what is no longer so. */
    private async leave(): Promise<void> {
        const gone = this.made?.files ?? [];
        this.made = undefined;
        const lefts = new Set(gone.map(({ left }) => left.toString()));
        const tabs = allTabs().filter(({ input }) => input instanceof vscode.TabInputTextDiff && lefts.has(input.original.toString()));
        await vscode.window.tabGroups.close([...tabs, ...(lefts.size > 0 ? several(MADE) : [])], true);
        this.sweep();
    }

    private async open(review: Review): Promise<void> {
        const readable = review.files.filter(({ change }) => !binary(change));
        const [only] = readable;
        if (only && readable.length === 1) {
            await this.diff(only);
        } else if (only) {
            const resources = readable.map(({ change, left, right }) => [
                vscode.Uri.parse(change.uri),
                change.before === null ? undefined : left,
                change.after === null ? undefined : right,
            ]);
            await vscode.commands.executeCommand("vscode.changes", review.proposed ? PROPOSED : MADE, resources);
        }
        // The buttons are there.
        await vscode.commands.executeCommand("postil.review.focus", { preserveFocus: true });
    }

    private draw(): void {
        const all = this.all();
        const files = all.flatMap((review) => review.files);
        const several = all.length > 1 ? "several" : "one";
        void vscode.commands.executeCommand("setContext", "postil.reviewing", all.length === 0 ? undefined : several);
        void vscode.commands.executeCommand(
            "setContext",
            "postil.reviewed",
            // Paths, for in a remote window the editor has other URIs than this process.
            files.flatMap(({ right }) => [right.path, right.fsPath]),
        );
        this.view.description = files.length > 0 ? `${files.length} left` : "";
        const waiting = files.filter(({ decide }) => decide).length;
        this.view.badge = waiting > 0 ? { value: waiting, tooltip: `${waiting} to be accepted or rejected` } : undefined;
        this.changed.fire(undefined);
    }

    async diff(file: Reviewed): Promise<void> {
        const name = named(file, (name) => path.basename(name));
        const what = file.review.proposed ? "proposed" : "before the turn ↔ now";
        await vscode.commands.executeCommand("vscode.diff", file.left, file.right, `${name} (${what})`);
    }

    /** The file that is meant: a row of the view, or that of the diff that is looked at. */
    file(argument: unknown): Reviewed | undefined {
        if (argument === undefined || argument instanceof vscode.Uri) {
            const { all, activeTabGroup } = vscode.window.tabGroups;
            const isMeant = (tab: unknown): tab is vscode.TabInputTextDiff =>
                tab instanceof vscode.TabInputTextDiff && (!argument || tab.modified.toString() === argument.toString());
            // A button in a title may be that of a group that is not the active one.
            const groups = [activeTabGroup, ...(argument ? all : [])];
            const tab = groups.map(({ activeTab }) => activeTab?.input).find(isMeant);
            const files = this.all().flatMap((review) => review.files);
            // Git's diff of a file has the same on the right.
            const sides = tab && [tab.original, tab.modified].join("\n");
            return files.find(({ left, right }) => [left, right].join("\n") === sides) ?? (argument ? undefined : this.amongSeveral(files));
        }
        return isReviewed(argument) && argument.review.files.includes(argument) ? argument : undefined;
    }

    /** The one whose text the cursor is in, in the editor of several diffs: no extension is told what its tab has. */
    private amongSeveral(files: Reviewed[]): Reviewed | undefined {
        const uri = vscode.window.activeTextEditor?.document.uri.toString();
        const tab = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
        const one = tab instanceof vscode.TabInputText || tab instanceof vscode.TabInputTextDiff;
        return one ? undefined : files.find(({ left, right }) => [left, right].some((side) => side.toString() === uri));
    }

    /** The review that is meant: a row of the view, or the only one. */
    review(argument: unknown): Review | undefined {
        const all = this.all();
        return isReview(argument) ? argument : all.length === 1 ? all[0] : undefined;
    }

    /** It is made, or stays as the turn left it. */
    async accept(what: Node | Reviewed[]): Promise<void> {
        const files = filesOf(what);
        for (const file of files) {
            file.decide?.(true);
        }
        await this.take(files);
    }

    /** It is not made, or put back as it was before the turn, but for the lines that somebody changed since. */
    async reject(what: Node | Reviewed[]): Promise<void> {
        const files = filesOf(what);
        const review = files[0]?.review;
        const rejected = review?.proposed === false ? await this.putBack(review, files) : files;
        for (const file of rejected) {
            file.decide?.(false);
        }
        await this.take(rejected);
    }

    /** Those of `files` in which nothing of the turn is left. What was accepted, and what other turns made, stays. */
    private async putBack({ run: run_id, turn = 0 }: Review, files: Reviewed[]): Promise<Reviewed[]> {
        const uris = new Set(files.map(({ change }) => vscode.Uri.parse(change.uri).toString()));
        // What is the same on the disk goes back there too.
        const saved = vscode.workspace.textDocuments.filter(({ isDirty, uri }) => !isDirty && uris.has(uri.toString()));
        const undone = await this.server.run<{ success: boolean }>("undoTurn", { run_id, turn, files: files.map(({ change }) => change.file) });
        for (const document of saved.filter(({ isDirty }) => isDirty)) {
            await document.save();
        }
        if (undone?.success) {
            return files;
        }
        // Refused as a whole or for some, of which the author was told.
        return this.undone({ run: run_id, turn }, files);
    }

    /** Of what the turn made, what was undone elsewhere is not left to be decided on. */
    async settle(): Promise<void> {
        const { made } = this;
        await this.take(made ? await this.undone(made, [...made.files]) : []);
    }

    /** Those of `files` in which nothing of the turn is left. */
    private async undone({ run: run_id, turn = 0 }: Pick<Review, "run" | "turn">, files: Reviewed[]): Promise<Reviewed[]> {
        const now = await this.server.ask<Changes>("turnChanges", { run_id }).catch(() => undefined);
        if (!now || now.turn > turn) {
            return [];
        }
        const left = new Set(now.turn === turn ? now.files.map(({ file }) => file) : []);
        return files.filter(({ change }) => !left.has(change.file));
    }

    /** Files of one review are decided on: away with them, and on to the next one where one of them was being looked at. */
    private async take(files: Reviewed[]): Promise<void> {
        const taken = files.filter((file) => file.review.files.includes(file));
        const [first] = taken;
        if (!first) {
            return;
        }
        const { review } = first;
        const at = review.files.indexOf(first);
        const left = review.files.filter((file) => !taken.includes(file));
        review.files = left;
        // What was decided on is no longer so in the editor of several, if that is this one's.
        const stale = review.proposed && (left.length === 0 || this.asked.size === 1) ? several(PROPOSED) : [];
        if (review.files.length === 0) {
            if (review.proposed) {
                this.asked.delete(review.run);
                this.known.reviewing(review.run, false);
            } else if (this.made === review) {
                this.made = undefined;
            }
        }
        this.draw();
        const rights = new Set(taken.map(({ right }) => right.toString()));
        const isDecided = ({ input }: vscode.Tab): boolean => input instanceof vscode.TabInputTextDiff && rights.has(input.modified.toString()) && input.original.scheme === BEFORE;
        const tabs = (): vscode.Tab[] => allTabs().filter((tab) => isDecided(tab) || stale.includes(tab));
        const anew = stale.some(isLookedAt);
        const next = left[at] ?? left[0];
        if (tabs().some((tab) => isDecided(tab) && isLookedAt(tab)) && next) {
            // Which may take its place.
            await this.diff(next);
        }
        await vscode.window.tabGroups.close(tabs(), true);
        // Unless more was decided on meanwhile.
        if (anew && next && review.files === left) {
            await this.open(review);
        }
        this.sweep();
    }

    getChildren(node?: Node): Node[] {
        if (node) {
            return node.is === "review" ? node.files : [];
        }
        const all = this.all();
        return all.length > 1 ? all : (all[0]?.files ?? []);
    }

    /** The row that a command was given, if it is one of this view. */
    row(argument: unknown): Row | undefined {
        if (!isReview(argument) && !isReviewed(argument)) {
            return undefined;
        }
        const rows = this.getChildren().flatMap((node) => [node, ...this.getChildren(node)]);
        return rowOf("review", rows.map(idOf), idOf(argument));
    }

    getTreeItem(node: Node): vscode.TreeItem {
        if (node.is === "review") {
            const file = this.known.turns.get(node.run)?.file ?? node.run;
            const item = new vscode.TreeItem(node.proposed ? `Proposed from ${file}` : `Made from ${file}`, vscode.TreeItemCollapsibleState.Expanded);
            item.id = idOf(node);
            item.contextValue = "review";
            return item;
        }
        const { change, review } = node;
        const item = new vscode.TreeItem(vscode.Uri.parse(change.uri));
        item.id = idOf(node);
        item.iconPath = vscode.ThemeIcon.File;
        const by = review.proposed ? "" : " by the turn";
        const made = change.before === null ? (review.proposed ? "new" : `made${by}`) : change.after === null ? `deleted${by}` : "";
        const whole = change.from ? `renamed from ${change.from}` : made;
        const folder = path.dirname(change.file);
        item.description = [folder === "." ? "" : folder, lines(node), whole].filter((part) => part !== "").join(" · ");
        item.tooltip = named(node);
        // In place of the tooltip, which does not say what is changed.
        item.accessibilityInformation = { label: [change.file, lines(node), whole].filter((part) => part !== "").join(", ") };
        item.contextValue = "changed";
        item.command = { command: "postil.review.diff", title: "Show Changes", arguments: [node] };
        return item;
    }

    dispose(): void {
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}

function allTabs(): vscode.Tab[] {
    return vscode.window.tabGroups.all.flatMap((group) => group.tabs);
}

/** The editors of several diffs that are called so, of which no more is told. A file may be called so too. */
function several(...names: string[]): vscode.Tab[] {
    return allTabs().filter(({ input, label }) => !(input instanceof vscode.TabInputText) && names.some((name) => label.startsWith(name)));
}

function isLookedAt(tab: vscode.Tab): boolean {
    return tab.isActive && tab.group.isActive;
}

/** By it the editor knows a row again. */
function idOf(node: Node): string {
    const { proposed, run } = node.is === "review" ? node : node.review;
    const review = `${proposed ? "proposed" : "made"} ${run}`;
    return node.is === "review" ? review : `${review} ${node.change.uri}`;
}

/** Those that are meant by a row, or by several. */
function filesOf(what: Node | Reviewed[]): Reviewed[] {
    return Array.isArray(what) ? what : what.is === "review" ? [...what.files] : [what];
}

/** The file, with its old name where it is renamed. */
function named({ change: { file, from } }: Reviewed, as = (name: string) => name): string {
    return from ? `${as(from)} → ${as(file)}` : as(file);
}

/** `+1 −2`, where it is known. */
function lines({ change: { added, removed } }: Reviewed): string {
    return added === undefined || removed === undefined ? "" : `+${added} −${removed}`;
}

const isReview = (argument: unknown): argument is Review => is(argument, "review");
const isReviewed = (argument: unknown): argument is Reviewed => is(argument, "changed");

/** No text. One that is not UTF-8 is: what could not be read of it stands there as the replacement character. */
function binary(file: ChangedFile): boolean {
    return [file.before, file.after].some((text) => text?.includes("\0"));
}
