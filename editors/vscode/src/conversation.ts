// The conversation of a run beside the code: what was asked, which tools were called, what they answered, what it
// took. It grows while the turn runs, and is there again after the window was loaded anew.

import { randomBytes } from "node:crypto";
import * as path from "node:path";
import * as vscode from "vscode";
import { isOnDisk, type Known, type Located, open, placesOf } from "./known";
import type { Rounds, Turn } from "./protocol";
import { because, inform } from "./say";
import type { Server } from "./server";

const KIND = "postil.conversation";

export class Conversations implements vscode.Disposable {
    private readonly open = new Map<string, Panel>();
    private readonly subscriptions: vscode.Disposable[];

    constructor(
        private readonly context: vscode.ExtensionContext,
        private readonly server: Server,
        private readonly known: Known,
        private readonly reveal: (located: Located) => Promise<void>,
    ) {
        this.subscriptions = [
            known.onTurns((turns) => {
                for (const turn of turns) {
                    void this.open.get(turn.id)?.more();
                }
            }),
            known.onReview((run) => void this.open.get(run)?.more()),
            // What another server left running does not run any more.
            server.onState(({ is }) => {
                for (const panel of this.open.values()) {
                    if (is === "running") {
                        void panel.more();
                    } else if (is === "stopped" || is === "failed") {
                        panel.tell("postil is not running");
                    }
                }
            }),
            vscode.window.registerWebviewPanelSerializer(KIND, {
                deserializeWebviewPanel: (view, state: unknown) => {
                    const run = (state as { run?: unknown } | undefined)?.run;
                    if (typeof run === "string" && !this.open.has(run)) {
                        this.fill(view, run);
                    } else {
                        view.dispose();
                    }
                    return Promise.resolve();
                },
            }),
        ];
    }

    /** `id`: of a run, or of a thread, whose newest run it is. */
    async show(argument: { run_id?: string; uri?: string; thread_id?: string }): Promise<void> {
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
            KIND,
            `Conversation: ${path.basename(file)}`,
            { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
            { enableFindWidget: true, retainContextWhenHidden: false },
        );
        this.fill(view, id);
    }

    /** Whether the conversation of this run is before the author's eyes. */
    isSeen(run: string): boolean {
        return this.open.get(run)?.seen ?? false;
    }

    private fill(view: vscode.WebviewPanel, id: string): void {
        view.webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(this.context.extensionUri, "media")] };
        view.iconPath = vscode.Uri.joinPath(this.context.extensionUri, "resources", "agent.svg");
        const panel = new Panel(view, this.server, this.known, id, this.context.extensionUri, (turn, file, line) => this.goTo(turn, file, line));
        this.open.set(id, panel);
        view.onDidDispose(() => this.open.delete(id));
    }

    /** To the thread, wherever it stands by now; else to the line of the file where it stood. */
    private async goTo(turn: Turn | undefined, file: string, line: number): Promise<void> {
        // A round from before its file was renamed names the old one.
        const now = turn?.uri === undefined ? [] : [vscode.Uri.parse(turn.uri)];
        const places = [...placesOf(turn, file), ...now];
        const named = places.map((uri) => uri.toString());
        const located = [...this.known.all()].find((one) => one.thread.id === turn?.thread_id && named.includes(one.uri.toString()));
        if (located) {
            await this.reveal(located);
            return;
        }
        for (const uri of places) {
            if (await isOnDisk(uri)) {
                await open({ uri }, Math.max(0, line - 1));
                return;
            }
        }
        void inform(`postil: ${file} is not in this workspace any more.`);
    }

    dispose(): void {
        vscode.Disposable.from(...this.subscriptions).dispose();
        for (const panel of this.open.values()) {
            panel.dispose();
        }
    }
}

type GoTo = (turn: Turn | undefined, file: string, line: number) => Promise<void>;

class Panel {
    /** What was told of the run last. */
    private turn: Turn | undefined;
    /** What was read of it, for the page that is there when it is seen again: a round that was told stays as it is. */
    private readonly rounds: Rounds["rounds"] = [];
    /** The last round that the page has. */
    private last = 0;
    /** Which page it is: each time it is shown it begins anew, and an answer for the one before is not for it. */
    private page = 0;
    private reading: Promise<void> = Promise.resolve();
    private ready = false;
    /** It was closed: what is sent to it fails. */
    private gone = false;

    constructor(
        private readonly view: vscode.WebviewPanel,
        private readonly server: Server,
        private readonly known: Known,
        private readonly run: string,
        extension: vscode.Uri,
        goTo: GoTo,
    ) {
        view.webview.onDidReceiveMessage((message: { is?: unknown; file?: unknown; line?: unknown }) => {
            switch (message.is) {
                case "ready":
                    this.ready = true;
                    this.page += 1;
                    this.last = 0;
                    void this.more();
                    break;
                case "cancel":
                    void this.server.run("cancelTurn", { run_id: this.run });
                    break;
                case "open":
                    if (typeof message.file === "string") {
                        void this.lead(goTo, message.file, typeof message.line === "number" ? message.line : 1);
                    }
                    break;
                case "review":
                    void vscode.commands.executeCommand("postil.reviewTurn", { run_id: this.run });
                    break;
            }
        });
        view.onDidChangeViewState(() => {
            // What is hidden is no page any more, and reads nothing.
            this.ready &&= view.visible;
        });
        view.onDidDispose(() => {
            this.gone = true;
        });
        view.webview.html = page(view.webview, extension, run);
    }

    get seen(): boolean {
        return this.view.visible;
    }

    reveal(): void {
        this.view.reveal(undefined, true);
    }

    /** Sends the page what it does not have yet. */
    more(): Promise<void> {
        this.reading = this.reading
            .then(async () => {
                let more = true;
                while (more && this.ready && !this.gone) {
                    const { page, last, turn: run } = this;
                    const kept = this.rounds.at(-1);
                    if (last === 0 && kept && run) {
                        this.last = kept.seq;
                        await this.view.webview.postMessage({ is: "rounds", first: true, run, rounds: this.rounds, more: true, reviewed: this.known.isReviewed(this.run) });
                        continue;
                    }
                    const read = await this.server.ask<Rounds>("workflowRounds", { run_id: this.run, after: last });
                    if (page !== this.page) {
                        // It has asked for its own.
                        return;
                    }
                    if (last === (kept?.seq ?? 0)) {
                        this.rounds.push(...read.rounds);
                    }
                    this.last = read.rounds.at(-1)?.seq ?? last;
                    more = read.more;
                    this.turn = read.run ?? undefined;
                    await this.view.webview.postMessage({ is: "rounds", first: last === 0, ...read, reviewed: this.known.isReviewed(this.run) });
                }
            })
            .catch((error: unknown) => {
                const why = because(error);
                this.server.log.info(`the conversation of ${this.run}: ${why}`);
                if (this.last === 0) {
                    this.tell(why);
                }
            });
        return this.reading;
    }

    private async lead(goTo: GoTo, file: string, line: number): Promise<void> {
        // Its file may have been renamed since the page was drawn, of which nothing is told.
        await this.more();
        await goTo(this.turn, file, line);
    }

    /** Says on the page why nothing comes. */
    tell(why: string): void {
        if (this.ready && !this.gone) {
            void this.view.webview.postMessage({ is: "failed", why });
        }
    }

    dispose(): void {
        this.view.dispose();
    }
}

function page(webview: vscode.Webview, extension: vscode.Uri, run: string): string {
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
<body data-run="${run.replace(/[^\w-]/g, "")}">
<header><h1 id="title"></h1><p id="facts"></p><p id="doing" role="status"></p><p><button id="cancel" hidden>Cancel Turn</button><button id="review" hidden>Review Changes</button></p></header>
<main><div id="rounds" role="log" aria-label="Conversation" aria-live="off"></div></main>
<script nonce="${nonce}" src="${media("conversation.js")}"></script>
</body>
</html>`;
}
