// Notebooks that are open. The server hears nothing of what is typed in a cell: it reads and writes their files, and what it
// wrote under a cell that is not saved would be lost when that is.

import * as vscode from "vscode";
import { difference, plain, rewritten } from "./cells";
import { real } from "./outside";

/** Milliseconds in which the window surely has what was written into a file. Who types before that saves over it. */
const TAKEN = 3000;

/** The verbs by which a file is read or written. */
const WRITES = new Set([
    ...["replyAsAgent", "plan", "askAnother", "consult", "continue", "choose", "replyAll"],
    ...["reply", "editMessage", "dismissThread", "clearAndCommit", "processActions", "undoTurn"],
]);

/** `postil/write`: what the server would write on the disk. */
export interface Write {
    uri: string;
    before: string;
    after: string;
}

/** `written: false`: it may write itself. `changed`: it is to look at the file anew. */
export type Written = { written: boolean } | { changed: true } | { refused: string };

const saved = (notebook: vscode.NotebookDocument): Promise<boolean> =>
    Promise.resolve(notebook.save()).then(
        (done) => done && !notebook.isDirty,
        () => false,
    );

const isOnDisk = ({ uri, isClosed }: vscode.NotebookDocument): boolean => uri.scheme === "file" && !isClosed;

export class Notebooks implements vscode.Disposable {
    /** When each was saved last. */
    private readonly last = new WeakMap<vscode.NotebookDocument, number>();
    private readonly subscription = vscode.workspace.onDidSaveNotebookDocument((notebook) => {
        this.last.set(notebook, Date.now());
    });

    /** Of this file those that are open; without one, all. */
    private async of(uri: string | undefined): Promise<vscode.NotebookDocument[]> {
        const all = vscode.workspace.notebookDocuments.filter(isOnDisk);
        if (uri === undefined || all.length === 0) {
            return all;
        }
        // The server names a file without links.
        const wanted = await real(vscode.Uri.parse(uri, true).fsPath);
        const paths = await Promise.all(all.map(({ uri }) => real(uri.fsPath)));
        return all.filter((_, index) => paths[index] === wanted);
    }

    /** Before a verb: what is typed is on the disk, where the server reads and writes. Else it says why not. */
    async settle(verb: string, { uri }: { uri?: unknown }): Promise<void> {
        if (!WRITES.has(verb)) {
            return;
        }
        const open = await this.of(typeof uri === "string" ? uri : undefined);
        for (const notebook of open.filter(({ isDirty }) => isDirty)) {
            // Of all files at once the others are not held up by one, into which nothing is written that cannot be saved.
            if (!(await saved(notebook)) && typeof uri === "string") {
                throw new Error(`${vscode.workspace.asRelativePath(notebook.uri)} could not be saved, and what is typed in its cells is read and written on the disk: save it, then try again`);
            }
        }
    }

    /** Into its cells where something is typed there, or may be before the window has taken what stands on the disk. */
    async write({ uri, before, after }: Write): Promise<Written> {
        const [notebook] = await this.of(uri);
        const isTyped = notebook && (notebook.isDirty || Date.now() < (this.last.get(notebook) ?? 0) + TAKEN);
        if (!isTyped) {
            return { written: false };
        }
        if (notebook.isDirty && !(await saved(notebook))) {
            return { refused: "its notebook has changes that could not be saved; save it, then try again" };
        }
        const now = rewritten(before, after);
        const cells = notebook.getCells();
        const isAsBefore = ({ index, was }: { index: number; was: string }): boolean => plain(cells[index]?.document.getText() ?? "") === was;
        if (cells.length !== now?.cells || !now.changed.every(isAsBefore)) {
            // More than words; or the file is another by now, which who writes it finds.
            return { written: false };
        }
        const edit = new vscode.WorkspaceEdit();
        for (const { index, was, text } of now.changed) {
            const { start, end, text: instead } = difference(was, text);
            edit.replace(notebook.cellAt(index).document.uri, new vscode.Range(...start, ...end), instead);
        }
        // It compares the versions of the texts: who typed at this moment was first.
        if (!(await vscode.workspace.applyEdit(edit))) {
            return { changed: true };
        }
        // Where that fails it stands in the editor, which is to save it.
        await saved(notebook);
        return { written: true };
    }

    dispose(): void {
        this.subscription.dispose();
    }
}
