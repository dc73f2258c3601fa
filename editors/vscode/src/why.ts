// Why a line is so: the closed conversations that are tied to it, as a page to read beside the code.

import * as vscode from "vscode";
import type { Position, Why } from "./protocol";
import { inform } from "./say";
import type { Server } from "./server";

const SCHEME = "postil-why";
/** Pages that are kept for who goes back to them. */
const MOST = 50;

export class Whys implements vscode.TextDocumentContentProvider, vscode.Disposable {
    private readonly pages = new Map<string, string>();
    private readonly changed = new vscode.EventEmitter<vscode.Uri>();
    readonly onDidChange = this.changed.event;
    private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

    constructor(private readonly server: Server) {}

    provideTextDocumentContent(uri: vscode.Uri): string {
        return this.pages.get(uri.toString()) ?? "# Ask again\n\nThis page was asked for before the window was loaded anew.\n";
    }

    async show(argument: { uri: string; position: Position }): Promise<void> {
        const { uri, position } = argument;
        const asked = this.server.run<Why>("why", { uri, position });
        const why = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: "postil: looking through the history" }, () => asked);
        if (!why) {
            return;
        }
        if (why.conversations.length === 0) {
            const [last] = why.commits;
            const changed = last ? `; it was last changed by ${last.author} in “${last.summary}”` : why.notes[0] ? `: ${why.notes[0]}` : "";
            void inform(`postil: no closed conversation is tied to line ${why.line} of ${why.file}${changed}.`);
            return;
        }
        // The name of the page is the title of its tab.
        const page = vscode.Uri.from({ scheme: SCHEME, path: `/${process.platform === "win32" ? why.file.replaceAll("\\", "/") : why.file}/Why line ${why.line} is so.md` });
        this.pages.delete(page.toString());
        this.pages.set(page.toString(), why.markdown);
        const [oldest] = this.pages.keys();
        if (this.pages.size > MOST && oldest !== undefined) {
            this.pages.delete(oldest);
        }
        this.changed.fire(page);
        await vscode.commands.executeCommand("markdown.showPreviewToSide", page);
    }

    dispose(): void {
        this.registration.dispose();
        this.changed.dispose();
    }
}
