// What the last turn of a run changed, in the editor's own diff: before on the left, the file as it is now on the
// right. Each file is kept or put back by a button.

import * as vscode from "vscode";
import type { ChangedFile, Changes } from "./protocol";
import type { Server } from "./server";

/** `postil-turn:/path?{"run":…,"file":…}`: a file as it was before a turn. */
const SCHEME = "postil-turn";

interface Review {
    run: string;
    files: ChangedFile[];
}

export class Reviews implements vscode.TextDocumentContentProvider, vscode.TreeDataProvider<ChangedFile>, vscode.Disposable {
    private review: Review | undefined;
    private readonly texts = new Map<string, string>();
    private readonly changed = new vscode.EventEmitter<undefined>();
    readonly onDidChangeTreeData = this.changed.event;
    private readonly view: vscode.TreeView<ChangedFile>;
    private readonly subscriptions: vscode.Disposable[];

    constructor(private readonly server: Server) {
        this.view = vscode.window.createTreeView("postil.review", { treeDataProvider: this });
        this.subscriptions = [this.view, vscode.workspace.registerTextDocumentContentProvider(SCHEME, this), this.changed];
    }

    provideTextDocumentContent(uri: vscode.Uri): string {
        return this.texts.get(uri.toString()) ?? "";
    }

    private before(run: string, file: ChangedFile): vscode.Uri {
        const uri = vscode.Uri.parse(file.uri).with({ scheme: SCHEME, query: run });
        this.texts.set(uri.toString(), file.before ?? "");
        return uri;
    }

    async show(argument: { run_id?: string; thread_id?: string }): Promise<void> {
        const changes = await this.server.run<Changes>("turnChanges", argument);
        if (!changes) {
            return;
        }
        if (changes.files.length === 0) {
            void vscode.window.showInformationMessage("postil: this turn changed no file that could be reviewed.");
            return;
        }
        this.set({ run: changes.run_id, files: changes.files });
        const resources = changes.files
            .filter((file) => !binary(file))
            .map((file) => [vscode.Uri.parse(file.uri), file.before === null ? undefined : this.before(changes.run_id, file), file.after === null ? undefined : vscode.Uri.parse(file.uri)]);
        const [only] = changes.files;
        if (resources.length === 1 && only && !binary(only)) {
            await this.diff(only);
        } else {
            await vscode.commands.executeCommand("vscode.changes", "Changes of the turn", resources);
        }
        // The buttons are there.
        await vscode.commands.executeCommand("postil.review.focus", { preserveFocus: true });
    }

    private set(review: Review | undefined): void {
        this.review = review;
        if (!review) {
            this.texts.clear();
        }
        void vscode.commands.executeCommand("setContext", "postil.reviewing", review !== undefined);
        this.view.description = review ? `${review.files.length} left` : "";
        this.changed.fire(undefined);
    }

    async diff(file: ChangedFile): Promise<void> {
        const { review } = this;
        if (!review) {
            return;
        }
        const name = file.file.split("/").pop() ?? file.file;
        const now = vscode.Uri.parse(file.uri);
        if (file.after === null) {
            await vscode.commands.executeCommand("vscode.open", this.before(review.run, file), undefined, `${name} (deleted)`);
        } else {
            await vscode.commands.executeCommand("vscode.diff", this.before(review.run, file), now, `${name} (before the turn ↔ now)`);
        }
    }

    /** It stays as the turn left it. */
    accept(file: ChangedFile | undefined): void {
        const { review } = this;
        if (review) {
            const files = file ? review.files.filter((other) => other.uri !== file.uri) : [];
            this.set(files.length > 0 ? { ...review, files } : undefined);
        }
    }

    /** Put back as it was before the turn, unless somebody changed it since. */
    async reject(file: ChangedFile | undefined): Promise<void> {
        const { review } = this;
        if (!review) {
            return;
        }
        if (!file) {
            if (await this.server.run("undoTurn", { run_id: review.run })) {
                this.set(undefined);
            }
            return;
        }
        if (await this.putBack(file)) {
            this.accept(file);
        } else {
            void vscode.window.showWarningMessage(
                `postil: ${file.file} was changed since the turn; *Undo last turn* takes back the turn's lines alone.`,
            );
        }
    }

    private async putBack(file: ChangedFile): Promise<boolean> {
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

    getChildren(node?: ChangedFile): ChangedFile[] {
        return node ? [] : (this.review?.files ?? []);
    }

    getTreeItem(file: ChangedFile): vscode.TreeItem {
        const item = new vscode.TreeItem(vscode.Uri.parse(file.uri));
        item.iconPath = vscode.ThemeIcon.File;
        item.description = file.before === null ? "made by the turn" : file.after === null ? "deleted by the turn" : true;
        item.contextValue = "changed";
        item.command = { command: "postil.review.diff", title: "Show Changes", arguments: [file] };
        return item;
    }

    dispose(): void {
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}

/** No text of UTF-8: what could not be read stands there as the replacement character. */
function binary(file: ChangedFile): boolean {
    return [file.before, file.after].some((text) => text?.includes("\ufffd"));
}
