// The view Threads: by file, or by what they wait for, with counts.

import * as path from "node:path";
import * as vscode from "vscode";
import { contextOf } from "./comments";
import type { Known, Located } from "./known";
import { type Row, rowOf } from "./presses";
import type { Thread } from "./protocol";
import { Soon } from "./soon";
import { countsLabel, type Filter, FILTERS, fits, type Group, stateOf } from "./threads";

export type Node =
    | { is: "file"; uri: vscode.Uri }
    | { is: "state"; state: Group }
    | ({ is: "thread" } & Located);

/** Whether a command was given a row of one of the views. */
export function isRow(argument: unknown): argument is { is: unknown } {
    return typeof argument === "object" && argument !== null && "is" in argument;
}

/** The same, and which kind of row it is. */
export function is(argument: unknown, kind: string): boolean {
    return isRow(argument) && argument.is === kind;
}

export const isFile = (argument: unknown): argument is Node & { is: "file" } => is(argument, "file");
export const isThread = (argument: unknown): argument is Node & { is: "thread" } => is(argument, "thread");

/** By it the editor knows a row again. */
function idOf(node: Node): string {
    switch (node.is) {
        case "file":
            return `file ${node.uri.toString()}`;
        case "state":
            return `state ${node.state}`;
        case "thread":
            return `thread ${node.uri.toString()} ${node.thread.id}`;
    }
}

const STATES: [Group, string, string][] = [
    ["running", "Agent at work", "sync~spin"],
    ["pending", "Awaiting agent", "comment-unresolved"],
    ["asking", "Asks you", "question"],
    ["answered", "Answered", "comment-discussion"],
    ["new", "New", "comment-draft"],
];

/** What each filter is called, its icon, and what it shows. */
const SHOWN: Record<Filter, [string, string, string]> = {
    all: ["All", "comment-discussion", "Every thread"],
    pending: ["Awaiting Agent", "comment-unresolved", "Your words are the last, and no agent is at work"],
    waiting: ["Waiting for Me", "account", "The agent's words are the last, or its turn is paused or asks you something"],
    running: ["Running", "sync", "An agent is at work"],
};

export class ThreadTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
    private readonly changed = new vscode.EventEmitter<undefined>();
    readonly onDidChangeTreeData = this.changed.event;
    readonly view: vscode.TreeView<Node>;
    private byState: boolean;
    private filter: Filter;
    /** A scan tells of many files at once, and a turn of each step. */
    private readonly soon = new Soon(50, () => {
        this.follow();
    });
    /** What the rows were made from. */
    private drawn = "";
    private readonly subscriptions: vscode.Disposable[];

    constructor(
        private readonly context: vscode.ExtensionContext,
        private readonly known: Known,
    ) {
        this.byState = context.workspaceState.get("byState", false);
        const kept = context.workspaceState.get<unknown>("filter");
        this.filter = FILTERS.find((one) => one === kept) ?? "all";
        this.view = vscode.window.createTreeView<Node>("postil.threads", { treeDataProvider: this, showCollapseAll: true });
        this.subscriptions = [
            this.view,
            known.onFile(() => {
                this.soon.ask();
            }),
            known.onTurns(() => {
                this.soon.ask();
            }),
        ];
        this.group(this.byState);
        this.show(this.filter);
    }

    /** Drawn where something shown has changed: a row that is drawn anew loses the mouse. */
    private follow(): void {
        const all = [...this.known.all()];
        const drawn = JSON.stringify(all.map(({ uri, thread }) => [uri.toString(), thread.id, thread.title, thread.range.start.line, contextOf(thread, this.known), thread.asks, this.known.waits(thread)]));
        if (drawn === this.drawn) {
            return;
        }
        this.drawn = drawn;
        this.redraw();
        const waiting = all.filter(({ thread }) => stateOf(thread) === "answered" || this.known.waits(thread)).length;
        this.view.badge = waiting > 0 ? { value: waiting, tooltip: `${waiting} answered or asking, awaiting you` } : undefined;
    }

    group(byState: boolean): void {
        this.byState = byState;
        void this.context.workspaceState.update("byState", byState);
        void vscode.commands.executeCommand("setContext", "postil.byState", byState);
        this.redraw();
    }

    /** Those threads alone that the filter lets through. */
    show(filter: Filter): void {
        this.filter = filter;
        void this.context.workspaceState.update("filter", filter);
        void vscode.commands.executeCommand("setContext", "postil.filter", filter);
        // Of a view that stands alone in the side bar its description is not shown.
        this.view.title = filter === "all" ? "Threads" : `Threads - ${SHOWN[filter][0]}`;
        this.redraw();
    }

    async chooseFilter(): Promise<void> {
        const all = [...this.known.each()];
        const picker = vscode.window.createQuickPick<vscode.QuickPickItem & { filter: Filter }>();
        picker.title = "Filter Threads";
        picker.placeholder = "Which threads does the view show?";
        picker.items = FILTERS.map((filter) => {
            const [label, icon, detail] = SHOWN[filter];
            const description = String(all.filter((thread) => fits(filter, thread, this.known.waits(thread))).length);
            return { filter, label: `$(${icon}) ${label}`, description, detail };
        });
        picker.activeItems = picker.items.filter(({ filter }) => filter === this.filter);
        const chosen = await new Promise<Filter | undefined>((resolve) => {
            picker.onDidAccept(() => {
                resolve(picker.activeItems[0]?.filter);
                picker.hide();
            });
            picker.onDidHide(() => {
                resolve(undefined);
            });
            picker.show();
        });
        picker.dispose();
        if (chosen) {
            this.show(chosen);
        }
    }

    private redraw(): void {
        // What stands in the empty view says which filter it is that lets nothing through.
        const nothing = this.known.files.size > 0 && this.getChildren().length === 0;
        void vscode.commands.executeCommand("setContext", "postil.nothing", nothing ? this.filter : "");
        this.changed.fire(undefined);
    }

    /** Those of a file that are shown. */
    private threads(uri: vscode.Uri): Thread[] {
        return this.known.threads(uri).filter((thread) => fits(this.filter, thread, this.known.waits(thread)));
    }

    getChildren(node?: Node): Node[] {
        // The window asks for those of each file: nothing is gone through for it that is not of that file.
        if (node?.is === "file") {
            return this.threads(node.uri).map((thread) => ({ is: "thread", uri: node.uri, thread }));
        }
        if (node?.is === "thread") {
            return [];
        }
        const files = [...this.known.files.values()].map(({ uri }) => ({ uri, threads: this.threads(uri) }));
        const all = files.flatMap(({ uri, threads }) => threads.map((thread) => ({ uri, thread })));
        const byPlace = (a: Located, b: Located): number =>
            a.uri.fsPath.localeCompare(b.uri.fsPath) || a.thread.range.start.line - b.thread.range.start.line;
        if (!node) {
            if (this.byState) {
                return STATES.filter(([state]) => all.some(({ thread }) => this.known.groupOf(thread) === state)).map(([state]) => ({ is: "state", state }));
            }
            return files
                .filter(({ threads }) => threads.length > 0)
                .sort((a, b) => a.uri.fsPath.localeCompare(b.uri.fsPath))
                .map(({ uri }) => ({ is: "file", uri }));
        }
        return all
            .filter(({ thread }) => this.known.groupOf(thread) === node.state)
            .sort(byPlace)
            .map((located) => ({ is: "thread", ...located }));
    }

    /** The row that a command was given, if it is one of this view. */
    row(argument: unknown): Row | undefined {
        if (!isFile(argument) && !isThread(argument)) {
            return undefined;
        }
        const rows = this.getChildren().flatMap((node) => [node, ...this.getChildren(node)]);
        return rowOf("threads", rows.map(idOf), idOf(argument));
    }

    getTreeItem(node: Node): vscode.TreeItem {
        switch (node.is) {
            case "file": {
                const item = new vscode.TreeItem(node.uri, vscode.TreeItemCollapsibleState.Expanded);
                item.id = idOf(node);
                item.iconPath = vscode.ThemeIcon.File;
                // The label is the name alone, which several roots and folders may have in common.
                const folder = path.posix.dirname(vscode.workspace.asRelativePath(node.uri));
                const counts = this.known.count(this.threads(node.uri));
                const label = countsLabel(counts);
                item.description = folder === "." ? label : `${folder} · ${label}`;
                item.contextValue = this.known.threads(node.uri).some((thread) => thread.is_outside) ? "outside" : counts.pending > 0 ? "file.pending" : "file";
                return item;
            }
            case "state": {
                const [, label, icon] = STATES.find(([state]) => state === node.state) ?? ["", "", ""];
                const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Expanded);
                item.id = idOf(node);
                item.iconPath = new vscode.ThemeIcon(icon);
                item.description = String(this.getChildren(node).length);
                return item;
            }
            case "thread": {
                const { thread, uri } = node;
                const state = this.known.groupOf(thread);
                const item = new vscode.TreeItem(thread.title);
                item.id = idOf(node);
                const waits = this.known.waits(thread);
                item.iconPath = new vscode.ThemeIcon(waits ? "bell-dot" : (STATES.find(([one]) => one === state)?.[2] ?? "comment"));
                const line = thread.range.start.line + 1;
                const place = this.byState ? `${vscode.workspace.asRelativePath(uri)}:${line}` : `line ${line}`;
                item.description = waits ? `${place} · waits for you` : place;
                item.contextValue = `thread.${contextOf(thread, this.known)}`;
                // The icon has the state for who sees it.
                item.accessibilityInformation = { label: `${thread.title}, ${this.known.labelOf(thread)}, ${item.description}` };
                const options: vscode.TextDocumentShowOptions = {
                    selection: new vscode.Range(thread.range.start.line, thread.range.start.character, thread.range.start.line, thread.range.start.character),
                };
                // In a notebook it is the cell that is gone to.
                const isCell = uri.path.endsWith(".ipynb");
                item.command = isCell ? { command: "postil.showThread", title: "Show", arguments: [node] } : { command: "vscode.open", title: "Open", arguments: [uri, options] };
                return item;
            }
        }
    }

    /** What it does at this moment is read when the mouse asks for it. */
    resolveTreeItem(item: vscode.TreeItem, node: Node): vscode.TreeItem {
        if (node.is === "thread") {
            const thread = this.known.byId(node.thread.id, node.uri.toString())?.thread ?? node.thread;
            item.tooltip = `${this.known.labelOf(thread)}\n${vscode.workspace.asRelativePath(node.uri)}:${thread.range.start.line + 1}`;
        }
        return item;
    }

    dispose(): void {
        this.soon.dispose();
        this.changed.dispose();
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}
