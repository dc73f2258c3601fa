// A text that the window holds to be read-only takes an edit of ours, and is never saved: what was written would be gone
// with its tab. No extension is told which texts these are; one shows itself by not being dirty after an edit.

import * as vscode from "vscode";

/** Milliseconds in which a text that can be saved is marked as to be saved, or was. */
const MARKED = 500;

/** As bytes: in which encoding the window reads them is not told. */
async function onDisk(uri: vscode.Uri): Promise<Uint8Array | undefined> {
    return vscode.workspace.fs.readFile(uri).then(
        (bytes) => bytes,
        () => undefined,
    );
}

async function isStill(disk: Uint8Array | undefined, uri: vscode.Uri): Promise<boolean> {
    const now = await onDisk(uri);
    return disk !== undefined && now !== undefined && Buffer.compare(disk, now) === 0;
}

/** Whether the edit that `before` was the text before, and `disk` what the file held, is one that nobody is going to save. */
async function isLost(document: vscode.TextDocument, before: string, disk: Uint8Array | undefined): Promise<boolean> {
    const end = Date.now() + MARKED;
    for (;;) {
        if (document.isDirty || document.isClosed || document.getText() === before || !(await isStill(disk, document.uri))) {
            return false;
        }
        if (Date.now() > end) {
            return true;
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

/** Applies an edit of these files. Where one of them is read-only it is taken back: then the answer says why. */
export async function applied(uris: readonly vscode.Uri[], apply: () => Promise<boolean>): Promise<string | boolean> {
    const names = new Set(uris.map((uri) => uri.toString()));
    const open = vscode.workspace.textDocuments.filter(({ uri }) => names.has(uri.toString()));
    const disks = new Map(await Promise.all(open.map(async (document) => [document, document.isDirty ? undefined : await onDisk(document.uri)] as const)));
    const all = open.map((document) => ({ document, saved: !document.isDirty, before: document.getText(), version: document.version }));
    if (!(await apply())) {
        return false;
    }
    for (const one of all) {
        one.version = one.document.version;
    }
    for (const { document, before } of all.filter(({ saved }) => saved)) {
        if (await isLost(document, before, disks.get(document))) {
            // All of them or none.
            const back = new vscode.WorkspaceEdit();
            for (const { document, before } of all.filter(({ document, version }) => document.version === version)) {
                back.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), before);
            }
            await vscode.workspace.applyEdit(back);
            return `${all.length === 1 ? "it" : vscode.workspace.asRelativePath(document.uri)} is read-only in this window`;
        }
    }
    return true;
}
