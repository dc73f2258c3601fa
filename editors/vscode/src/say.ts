// What the author is told in a notification. The words may be a file's or a model's.

import * as vscode from "vscode";
import { asked, MORE, unadorned, unlinked } from "./threads";

export function inform(text: string, ...buttons: string[]): Thenable<string | undefined> {
    return vscode.window.showInformationMessage(unlinked(text), ...buttons);
}

export function warn(text: string, ...buttons: string[]): Thenable<string | undefined> {
    return vscode.window.showWarningMessage(unlinked(text), ...buttons);
}

export function complain(text: string, ...buttons: string[]): Thenable<string | undefined> {
    return vscode.window.showErrorMessage(unlinked(text), ...buttons);
}

/** Which of `labels` is pressed below a question of the server, where there may be more of them than a notification has room for. */
export async function press(say: typeof inform, text: string, labels: string[], token: vscode.CancellationToken): Promise<string | undefined> {
    const buttons = asked(labels);
    const isOver = (): boolean => token.isCancellationRequested;
    for (;;) {
        const pressed = await say(text, ...buttons);
        if (buttons === labels || pressed !== MORE || isOver()) {
            return pressed;
        }
        const items = labels.map((label) => ({ label: unadorned(label), title: label }));
        const picked = await vscode.window.showQuickPick(items, { title: unadorned(text), placeHolder: "Your answer", ignoreFocusOut: true }, token);
        if (picked || isOver()) {
            return picked?.title;
        }
        // Escape leads back to the question.
    }
}

/** Asked in the middle of the window, before something is done; `button` does it. */
export async function confirm(text: string, detail: string, button: string): Promise<boolean> {
    return (await vscode.window.showWarningMessage(text, { modal: true, detail }, button)) === button;
}

/** What went wrong, in words. */
export function because(error: unknown): string {
    return error instanceof Error ? error.message : String(error);
}
