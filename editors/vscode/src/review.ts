// What a turn changes, in the editor's own diff, file by file: before it is made where the author asked for that
// (`turn.review = "ask"`), else what the last turn of a run made, with the file as it is now on the right.

import * as path from "node:path";
import * as vscode from "vscode";
import type { Known } from "./known";
import type { ChangedFile, Changes, ProposedChange } from "./protocol";
import { inform, warn } from "./say";
import type { Server } from "./server";

/** `postil-turn:/path?RUN`: a file as it was before a turn. */
const BEFORE = "postil-turn";
/** `postil-proposed:/path?RUN`: a file as a turn would have it, or as nothing where it is removed. */
const AFTER = "postil-proposed";
/** What the editor of several diffs is called. */
const PROPOSED = "Changes That the Agent Proposes";
/** How long to wait for the other files that are asked about together. */
const TOGETHER = 1000;

interface Review {
    is: "review";
    run: string;
    /** Nothing of it is made yet. */
    proposed: boolean;
    files: Reviewed[];
}

export interface Reviewed {
    is: "changed";
    review: Review;
    change: ChangedFile & Partial<Pick<ProposedChange, "added" | "removed">>;
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
    private readonly changed = new vscode.EventEmitter<undefined>();
    readonly onDidChangeTreeData = this.changed.event;
    private readonly view: vscode.TreeView<Node>;
    private readonly subscriptions: vscode.Disposable[];

    constructor(
        private readonly server: Server,
        private readonly known: Known,
    ) {
        this.view = vscode.window.createTreeView<Node>("postil.review", { treeDataProvider: this });
        this.subscriptions = [
            this.view,
            vscode.workspace.registerTextDocumentContentProvider(BEFORE, this),
            vscode.workspace.registerTextDocumentContentProvider(AFTER, this),
            this.changed,
            server.onLost(() => {
                // Nobody waits for an answer any more.
                for (const file of [...this.asked.values()].flatMap((review) => review.files)) {
                    void this.take(file);
                }
            }),
        ];
    }

    provideTextDocumentContent(uri: vscode.Uri): string {
        return this.texts.get(uri.toString()) ?? "";
    }

    /** Reviews with something left, what the agent waits for first. */
    private all(): Review[] {
        return [...this.asked.values(), ...(this.made ? [this.made] : [])];
    }

    private text(scheme: string, run: string, uri: string, text: string | null): vscode.Uri {
        const made = vscode.Uri.parse(uri).with({ scheme, query: run });
        this.texts.set(made.toString(), text ?? "");
        return made;
    }

    /** The agent wants to change a file and waits for the answer. */
    ask(change: ProposedChange, token: vscode.CancellationToken): Promise<boolean> {
        const { run_id: run } = change;
        let review = this.asked.get(run);
        if (!review) {
            review = { is: "review", run, proposed: true, files: [] };
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
                void this.take(file);
            });
            asked.files.push(file);
            asked.files.sort((a, b) => a.change.file.localeCompare(b.change.file));
            this.draw();
            if (asked.files.length === 1) {
                void this.tell(asked, change.of);
            }
        });
    }

    /** One message for all that are asked about together. */
    private async tell(review: Review, of: number): Promise<void> {
        const end = Date.now() + TOGETHER;
        while (review.files.length < of && Date.now() < end) {
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
        const [first, ...more] = review.files;
        if (!first) {
            return;
        }
        const what = more.length === 0 ? `${first.change.file} (${lines(first)})` : `${more.length + 1} files`;
        const [show, accept, reject] = more.length === 0 ? ["Show Change", "Accept", "Reject"] : ["Show Changes", "Accept All", "Reject All"];
        const pressed = await inform(`postil: the agent wants to change ${what}, and waits for you.`, show, accept, reject);
        if (pressed !== undefined && review.files.length === 0) {
            void inform("postil: these changes were decided on already, or the turn has ended.");
        } else if (pressed === show) {
            await this.open(review);
        } else if (pressed === accept) {
            await this.accept(review);
        } else if (pressed === reject) {
            await this.reject(review);
        }
    }

    /** What a run asks about, or else what its last turn made. */
    async show(argument: { run_id?: string; thread_id?: string }): Promise<void> {
        const run = argument.run_id ?? this.known.byId(argument.thread_id ?? "")?.thread.turn?.run_id;
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
        this.made?.files.forEach((file) => {
            this.texts.delete(file.left.toString());
        });
        const review: Review = { is: "review", run: changes.run_id, proposed: false, files: [] };
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
            await vscode.commands.executeCommand("vscode.changes", review.proposed ? PROPOSED : "Changes of the Turn", resources);
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
        const name = file.change.file.split("/").pop() ?? file.change.file;
        const what = file.review.proposed ? "proposed" : "before the turn ↔ now";
        await vscode.commands.executeCommand("vscode.diff", file.left, file.right, `${name} (${what})`);
    }

    /** The file that is meant: a row of the view, or what stands on the right of a diff. */
    file(argument: unknown): Reviewed | undefined {
        if (argument instanceof vscode.Uri) {
            const right = argument.toString();
            return this.all()
                .flatMap((review) => review.files)
                .find((file) => file.right.toString() === right);
        }
        return isNode(argument) && argument.is === "changed" && argument.review.files.includes(argument) ? argument : undefined;
    }

    /** The review that is meant: a row of the view, or the only one. */
    review(argument: unknown): Review | undefined {
        const all = this.all();
        return isNode(argument) && argument.is === "review" ? argument : all.length === 1 ? all[0] : undefined;
    }

    /** It is made, or stays as the turn left it. */
    async accept(what: Node): Promise<void> {
        for (const file of what.is === "review" ? [...what.files] : [what]) {
            file.decide?.(true);
            await this.take(file);
        }
    }

    /** It is not made, or put back as it was before the turn, unless somebody changed it since. */
    async reject(what: Node): Promise<void> {
        if (what.is === "review" && !what.proposed) {
            if (await this.server.run("undoTurn", { run_id: what.run })) {
                for (const file of [...what.files]) {
                    await this.take(file);
                }
            }
            return;
        }
        for (const file of what.is === "review" ? [...what.files] : [what]) {
            if (file.decide) {
                file.decide(false);
                await this.take(file);
            } else if (await putBack(file.change)) {
                await this.take(file);
            } else {
                void warn(
                    `postil: ${file.change.file} was changed since the turn; *Undo last turn* takes back the turn's lines alone.`,
                );
            }
        }
    }

    /** It is decided on: away with it, and on to the next one where this one was being looked at. */
    private async take(file: Reviewed): Promise<void> {
        const { review } = file;
        const at = review.files.indexOf(file);
        if (at < 0) {
            return;
        }
        review.files.splice(at, 1);
        if (review.files.length === 0) {
            if (review.proposed) {
                this.asked.delete(review.run);
                this.known.reviewing(review.run, false);
            } else if (this.made === review) {
                this.made = undefined;
            }
        }
        this.draw();
        const right = file.right.toString();
        const over = review.proposed && review.files.length === 0;
        const tabs = (): vscode.Tab[] =>
            vscode.window.tabGroups.all
                .flatMap((group) => group.tabs)
                .filter(
                    ({ input, label }) =>
                        (input instanceof vscode.TabInputTextDiff && input.modified.toString() === right && input.original.scheme === BEFORE) ||
                        (over && label.startsWith(PROPOSED)),
                );
        const looked = tabs().some((tab) => tab.isActive && tab.group.isActive);
        const next = review.files[at] ?? review.files[0];
        if (looked && next) {
            // Which may take its place.
            await this.diff(next);
        }
        await vscode.window.tabGroups.close(tabs(), true);
        this.texts.delete(file.left.toString());
        this.texts.delete(right);
    }

    getChildren(node?: Node): Node[] {
        if (node) {
            return node.is === "review" ? node.files : [];
        }
        const all = this.all();
        return all.length > 1 ? all : (all[0]?.files ?? []);
    }

    getTreeItem(node: Node): vscode.TreeItem {
        if (node.is === "review") {
            const file = this.known.turns.get(node.run)?.file ?? node.run;
            const item = new vscode.TreeItem(node.proposed ? `Proposed from ${file}` : `Made from ${file}`, vscode.TreeItemCollapsibleState.Expanded);
            item.id = `${node.proposed ? "proposed" : "made"} ${node.run}`;
            item.contextValue = "review";
            return item;
        }
        const { change, review } = node;
        const item = new vscode.TreeItem(vscode.Uri.parse(change.uri));
        item.id = `${review.proposed ? "proposed" : "made"} ${review.run} ${change.uri}`;
        item.iconPath = vscode.ThemeIcon.File;
        const by = review.proposed ? "" : " by the turn";
        const whole = change.before === null ? (review.proposed ? "new" : `made${by}`) : change.after === null ? `deleted${by}` : "";
        const folder = path.posix.dirname(change.file);
        item.description = [folder === "." ? "" : folder, lines(node), whole].filter((part) => part !== "").join(" · ");
        item.tooltip = change.file;
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

/** `+1 −2`, where it is known. */
function lines({ change: { added, removed } }: Reviewed): string {
    return added === undefined || removed === undefined ? "" : `+${added} −${removed}`;
}

function isNode(argument: unknown): argument is Node {
    return typeof argument === "object" && argument !== null && "is" in argument && (argument.is === "review" || argument.is === "changed");
}

async function putBack(file: ChangedFile): Promise<boolean> {
    const uri = vscode.Uri.parse(file.uri);
    const edit = new vscode.WorkspaceEdit();
    if (binary(file)) {
        return false;
    }
    if (file.after === null) {
        edit.createFile(uri, { overwrite: false, contents: Buffer.from(file.before ?? "") });
        return vscode.workspace.applyEdit(edit);
    }
    const document = await vscode.workspace.openTextDocument(uri).then(
        (found) => found,
        () => undefined,
    );
    if (!document || document.getText() !== file.after.replace(/\r\n|\r|\n/g, document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n")) {
        return false;
    }
    const dirty = document.isDirty;
    if (file.before === null) {
        edit.deleteFile(uri, { ignoreIfNotExists: true });
    } else {
        edit.replace(uri, new vscode.Range(0, 0, document.lineCount, 0), file.before);
    }
    const applied = await vscode.workspace.applyEdit(edit);
    if (applied && !dirty && file.before !== null) {
        // The turn wrote it to the disk, where it goes back to.
        await document.save();
    }
    return applied;
}

/** No text of UTF-8: what could not be read stands there as the replacement character. */
function binary(file: ChangedFile): boolean {
    return [file.before, file.after].some((text) => text?.includes("\ufffd"));
}
