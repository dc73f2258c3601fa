// Files that are deleted soon after their tab was shut. VS Code keeps a file open for extensions, and so for the server,
// for minutes after that where somebody asked for it; one that is open has its threads, deleted or not.

import { access } from "node:fs/promises";
import * as vscode from "vscode";

/** Milliseconds after which it is looked. */
const LOOKS = [1_000, 10_000];

/** Looks whether files are still there, in a while. */
export class Looks implements vscode.Disposable {
    private readonly timers = new Set<NodeJS.Timeout>();

    /** `gone`: there is no such file. */
    constructor(private readonly gone: (uri: vscode.Uri) => void) {}

    ask(uri: vscode.Uri): void {
        for (const after of uri.scheme === "file" ? LOOKS : []) {
            const timer = setTimeout(() => {
                this.timers.delete(timer);
                void this.look(uri);
            }, after);
            this.timers.add(timer);
        }
    }

    private async look(uri: vscode.Uri): Promise<void> {
        const why = await access(uri.fsPath).then(
            () => undefined,
            (error: unknown) => error,
        );
        if (why instanceof Error && "code" in why && why.code === "ENOENT") {
            this.gone(uri);
        }
    }

    dispose(): void {
        this.timers.forEach(clearTimeout);
    }
}

/** The files that a tab has as text. */
export function filesOf({ input }: vscode.Tab): vscode.Uri[] {
    return input instanceof vscode.TabInputText ? [input.uri] : input instanceof vscode.TabInputTextDiff ? [input.original, input.modified] : [];
}

/** Whether a tab has it. */
export function isInTab(uri: vscode.Uri): boolean {
    const all = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).flatMap(filesOf);
    return all.some((one) => one.toString() === uri.toString());
}
