// The conversation of a run beside the code: what was asked, which tools were called, what they answered, what it
// took. It grows while the turn runs.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Known } from "./known";
import type { Rounds } from "./protocol";
import type { Server } from "./server";

export class Conversations implements vscode.Disposable {
    private readonly open = new Map<string, Panel>();
    private readonly subscription: vscode.Disposable;

    constructor(
        private readonly context: vscode.ExtensionContext,
        private readonly server: Server,
        known: Known,
    ) {
        this.subscription = known.onTurns((turns) => {
            for (const turn of turns) {
                void this.open.get(turn.id)?.more();
            }
        });
    }

    /** `id`: of a run, or of a thread, whose newest run it is. */
    async show(argument: { run_id?: string; thread_id?: string }): Promise<void> {
        const first = await this.server.run<Rounds>("workflowRounds", { ...argument, after: 0 });
        if (!first?.run) {
            return;
        }
        const { id, file } = first.run;
        const known = this.open.get(id);
        if (known) {
            known.reveal();
            await known.more();
            return;
        }
        const view = vscode.window.createWebviewPanel(
            "postil.conversation",
            `Conversation: ${file.split("/").pop() ?? file}`,
            { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
            { enableScripts: true, retainContextWhenHidden: false, localResourceRoots: [vscode.Uri.joinPath(this.context.extensionUri, "media")] },
        );
        view.iconPath = vscode.Uri.joinPath(this.context.extensionUri, "resources", "agent.svg");
        const panel = new Panel(view, this.server, id, this.context.extensionUri);
        this.open.set(id, panel);
        view.onDidDispose(() => this.open.delete(id));
    }

    dispose(): void {
        this.subscription.dispose();
        for (const panel of this.open.values()) {
            panel.dispose();
        }
    }
}

class Panel {
    /** The last round that the page has. */
    private last = 0;
    private reading: Promise<void> = Promise.resolve();
    private ready = false;

    constructor(
        private readonly view: vscode.WebviewPanel,
        private readonly server: Server,
        private readonly run: string,
        extension: vscode.Uri,
    ) {
        view.webview.onDidReceiveMessage((message: { is?: unknown }) => {
            switch (message.is) {
                case "ready":
                    // A page that was hidden begins anew.
                    this.ready = true;
                    this.last = 0;
                    void this.more();
                    break;
                case "cancel":
                    void this.server.run("cancelTurn", { run_id: this.run });
                    break;
                case "review":
                    void vscode.commands.executeCommand("postil.reviewTurn", { run_id: this.run });
                    break;
            }
        });
        view.webview.html = page(view.webview, extension);
    }

    reveal(): void {
        this.view.reveal(undefined, true);
    }

    /** Sends the page what it does not have yet. */
    more(): Promise<void> {
        this.reading = this.reading
            .then(async () => {
                let more = this.ready;
                while (more) {
                    const read = await this.server.ask<Rounds>("workflowRounds", { run_id: this.run, after: this.last });
                    await this.view.webview.postMessage({ is: "rounds", first: this.last === 0, ...read });
                    this.last = read.rounds.at(-1)?.seq ?? this.last;
                    more = read.more;
                }
            })
            .catch((error: unknown) => {
                this.server.log.info(`the conversation of ${this.run}: ${String(error)}`);
            });
        return this.reading;
    }

    dispose(): void {
        this.view.dispose();
    }
}

function page(webview: vscode.Webview, extension: vscode.Uri): string {
    const nonce = randomBytes(16).toString("base64");
    const media = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(extension, "media", name)).toString();
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'">
<link rel="stylesheet" href="${media("conversation.css")}">
<title>Conversation</title>
</head>
<body>
<header><h1 id="title"></h1><p id="facts"></p><p id="doing" role="status"></p><p><button id="cancel" hidden>Cancel</button><button id="review" hidden>Review changes</button></p></header>
<main id="rounds"></main>
<script nonce="${nonce}" src="${media("conversation.js")}"></script>
</body>
</html>`;
}
