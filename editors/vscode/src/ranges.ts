// In which files, and on which of their lines, a thread can be begun in the margin.

import * as vscode from "vscode";
import { isOutside } from "./outside";
import { Soon } from "./soon";

/** Milliseconds after which the folders of the window are looked at that came: threads come with them. */
const CALM = 1000;

export class Ranges implements vscode.Disposable {
    /** Outside of every folder, when the window asked about them. */
    private readonly outside = new Map<string, vscode.Uri>();
    private readonly soon = new Soon(CALM, () => void this.look());
    private readonly subscription = vscode.workspace.onDidChangeWorkspaceFolders(() => {
        this.soon.ask();
    });

    /** `isCalm`: no box is open, which would take the keyboard when it is drawn anew. */
    constructor(
        private readonly controller: vscode.CommentController,
        private readonly isCalm: () => boolean,
    ) {
        this.offer();
    }

    /**
     * The window asks once for each file that it shows, which may be before there is a server; who begins a thread then is
     * told. It asks again when it is told so, and then draws all threads anew: only for what a folder brings along.
     */
    private offer(): void {
        this.controller.commentingRangeProvider = {
            provideCommentingRanges: async ({ uri, lineCount }) => {
                if (uri.scheme !== "file") {
                    return [];
                }
                const key = uri.toString();
                if (await isOutside(uri)) {
                    this.outside.set(key, uri);
                    return [];
                }
                this.outside.delete(key);
                return [new vscode.Range(0, 0, Math.max(0, lineCount - 1), 0)];
            },
        };
    }

    private async look(): Promise<void> {
        const seen = new Set(vscode.window.visibleTextEditors.map(({ document }) => document.uri.toString()));
        const left = [...this.outside].flatMap(([key, uri]) => (seen.has(key) ? [uri] : []));
        if ((await Promise.all(left.map(isOutside))).every(Boolean)) {
            return;
        }
        if (this.isCalm()) {
            this.offer();
        } else {
            this.soon.ask();
        }
    }

    dispose(): void {
        this.soon.dispose();
        this.subscription.dispose();
    }
}
