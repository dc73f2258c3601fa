// What the author is told in a notification. The words may be a file's or a model's.

import * as vscode from "vscode";
import { unlinked } from "./threads";

export function inform(text: string, ...buttons: string[]): Thenable<string | undefined> {
    return vscode.window.showInformationMessage(unlinked(text), ...buttons);
}

export function warn(text: string, ...buttons: string[]): Thenable<string | undefined> {
    return vscode.window.showWarningMessage(unlinked(text), ...buttons);
}

export function complain(text: string, ...buttons: string[]): Thenable<string | undefined> {
    return vscode.window.showErrorMessage(unlinked(text), ...buttons);
}

/** Asked in the middle of the window, before something is done; `button` does it. */
export async function confirm(text: string, detail: string, button: string): Promise<boolean> {
    return (await vscode.window.showWarningMessage(text, { modal: true, detail }, button)) === button;
}

/** What went wrong, in words. */
export function because(error: unknown): string {
    return error instanceof Error ? error.message : String(error);
}
