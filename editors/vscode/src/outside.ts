// A file outside every folder of the window: its threads are shown, and nothing can be done with them until its folder
// is open.

import { realpath } from "node:fs/promises";
import * as vscode from "vscode";
import { complain } from "./say";
import { isWithin } from "./within";

const OPEN = "Open Folder…";

/** A file without links; one that is nowhere keeps its name. */
export const real = (place: string): Promise<string> => realpath(place).catch(() => place);

/** Whether no folder of the window has this file, also where one of both is named by a link. */
export async function isOutside(uri: vscode.Uri): Promise<boolean> {
    if (uri.scheme !== "file" || vscode.workspace.getWorkspaceFolder(uri)) {
        return false;
    }
    const file = await real(uri.fsPath);
    const folders = (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
    const roots = await Promise.all(folders.map((folder) => real(folder.uri.fsPath)));
    return !isWithin(file, roots);
}

/** The author chooses which folder it is, from that of the file on. */
export async function openFolderOf(uri: vscode.Uri): Promise<void> {
    const defaultUri = vscode.Uri.joinPath(uri, "..");
    const [folder] = (await vscode.window.showOpenDialog({ title: "postil: Open a Folder That Has This File", canSelectFiles: false, canSelectFolders: true, defaultUri, openLabel: "Open" })) ?? [];
    if (folder) {
        await vscode.commands.executeCommand("vscode.openFolder", folder);
    }
}

/** The server has refused what it was asked about `uri`. */
export async function refused(why: string, uri: unknown): Promise<void> {
    const file = typeof uri === "string" ? vscode.Uri.parse(uri) : undefined;
    const buttons = file && (await isOutside(file)) ? [OPEN] : [];
    if ((await complain(`postil: ${why}`, ...buttons)) === OPEN && file) {
        await openFolderOf(file);
    }
}
