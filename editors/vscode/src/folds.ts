// Which threads stand otherwise than the settings say, unfolded or folded, so that they do again in a window that is
// loaded anew.

import * as vscode from "vscode";

/** So many are kept, the newest. */
const MOST = 200;
const KEY = "folds";

/** How threads are first shown. */
function byDefault(): boolean {
    return vscode.workspace.getConfiguration("postil.editor").get<string>("threads") === "expanded";
}

const name = (uri: vscode.Uri, id: string): string => `${id} ${uri.toString()}`;

export class Folds {
    private readonly kept: Map<string, boolean>;

    constructor(private readonly memory: vscode.Memento) {
        this.kept = new Map(memory.get<[string, boolean][]>(KEY, []));
    }

    /** How a thread is to stand: folded or not. */
    of(uri: vscode.Uri, id: string): vscode.CommentThreadCollapsibleState {
        const isOpen = this.kept.get(name(uri, id)) ?? byDefault();
        return isOpen ? vscode.CommentThreadCollapsibleState.Expanded : vscode.CommentThreadCollapsibleState.Collapsed;
    }

    /** The settings say otherwise now, and that is meant for all. */
    forget(): void {
        this.kept.clear();
        void this.memory.update(KEY, []);
    }

    /** How threads stand now. Of others it stays as it was. */
    keep(threads: Iterable<{ id: string; view: vscode.CommentThread }>): void {
        const before = JSON.stringify([...this.kept]);
        const usual = byDefault();
        for (const { id, view } of threads) {
            const key = name(view.uri, id);
            const isOpen = view.collapsibleState === vscode.CommentThreadCollapsibleState.Expanded;
            this.kept.delete(key);
            if (isOpen !== usual) {
                this.kept.set(key, isOpen);
            }
        }
        for (const key of [...this.kept.keys()].slice(0, -MOST)) {
            this.kept.delete(key);
        }
        if (JSON.stringify([...this.kept]) !== before) {
            void this.memory.update(KEY, [...this.kept]);
        }
    }
}
