// The language client. In a bundle of its own: the window does not wait for it.

import { spawn } from "node:child_process";
import * as vscode from "vscode";
import {
    CloseAction,
    ErrorAction,
    LanguageClient,
    MessageType,
    RevealOutputChannelOn,
    ShowMessageNotification,
    ShowMessageRequest,
    type LanguageClientOptions,
    type ServerOptions,
} from "vscode-languageclient/node";
import { PREFIX, type ProposedChange, type ThreadsParams, type TurnsParams } from "./protocol";
import { complain, inform, warn } from "./say";

export interface Hooks {
    log: vscode.LogOutputChannel;
    threads(params: ThreadsParams): void;
    turns(params: TurnsParams): void;
    /** Whether a change that the agent wants to make is to be made. */
    review(change: ProposedChange, token: vscode.CancellationToken): Promise<boolean>;
    /** The server ended though nobody asked it to. */
    ended(): void;
    /** The settings as the server reads them. */
    settings(): unknown;
    shows(what: "codeLens" | "diagnostics"): boolean;
    openConversation(argument: unknown): Promise<void>;
    why(argument: unknown): Promise<void>;
}

export interface Connection {
    request(verb: string, argument: object): Promise<unknown>;
    /** Comes back when the server has answered anything, or is gone. */
    alive(): Promise<void>;
    trustChanged(trusted: boolean): void;
    stop(): Promise<void>;
}

/** `givenUp`: nobody waits for it any more. */
export async function connect(program: string, hooks: Hooks, givenUp: AbortSignal): Promise<Connection> {
    // A process of ours, for one that hangs at its start cannot be stopped by the client.
    const server: ServerOptions = () => {
        const child = spawn(program, ["serve"], { stdio: "pipe", windowsHide: true });
        givenUp.addEventListener("abort", () => child.kill("SIGKILL"), { once: true });
        return new Promise((resolve, reject) => {
            child.once("spawn", () => {
                resolve(child);
            });
            child.once("error", reject);
        });
    };
    let asked = false;
    let started = false;
    const options: LanguageClientOptions = {
        // Every language has comments.
        documentSelector: [{ scheme: "file" }],
        initializationOptions: {
            commandPrefix: PREFIX,
            threads: true,
            reviews: true,
            trusted: vscode.workspace.isTrusted,
        },
        diagnosticCollectionName: "postil",
        outputChannel: hooks.log,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        markdown: { isTrusted: false, supportHtml: false },
        errorHandler: {
            error: () => ({ action: ErrorAction.Continue, handled: true }),
            closed: () => {
                if (!asked && started) {
                    hooks.ended();
                }
                return { action: CloseAction.DoNotRestart, handled: true };
            },
        },
        initializationFailedHandler: () => false,
        middleware: {
            workspace: {
                configuration: (params) => params.items.map((item) => (item.section === "postil" ? hooks.settings() : null)),
            },
            provideCodeLenses: (document, token, next) => (hooks.shows("codeLens") ? next(document, token) : []),
            handleDiagnostics: (uri, diagnostics, next) => {
                next(uri, hooks.shows("diagnostics") ? diagnostics : []);
            },
            provideDiagnostics: async (document, previous, token, next) => {
                const report = await next(document, previous, token);
                return report && "items" in report && !hooks.shows("diagnostics") ? { ...report, items: [] } : report;
            },
            executeCommand: async (command, args, next) => {
                if (command === `${PREFIX}openConversation`) {
                    await hooks.openConversation(args[0]);
                    return;
                }
                if (command === `${PREFIX}why`) {
                    await hooks.why(args[0]);
                    return;
                }
                return (await next(command, args)) as unknown;
            },
        },
    };
    const client = new LanguageClient("postil", "postil", server, options);
    // In place of the client's own, which show the server's words as they come.
    const say = (kind: MessageType): typeof inform => (kind === MessageType.Error ? complain : kind === MessageType.Warning ? warn : inform);
    client.onNotification(ShowMessageNotification.type, ({ type, message }) => void say(type)(message));
    client.onRequest(ShowMessageRequest.type, async ({ type, message, actions = [] }) => {
        const pressed = await say(type)(message, ...actions.map(({ title }) => title));
        return actions.find(({ title }) => title === pressed) ?? null;
    });
    client.onNotification("postil/threads", (params: ThreadsParams) => {
        hooks.threads(params);
    });
    client.onNotification("postil/turns", (params: TurnsParams) => {
        hooks.turns(params);
    });
    client.onRequest("postil/review", async (change: ProposedChange, token: vscode.CancellationToken) => ({ accepted: await hooks.review(change, token) }));
    try {
        await client.start();
    } catch (error) {
        await client.dispose().catch(() => undefined);
        throw error;
    }
    started = true;
    return {
        request: (verb, argument) =>
            client.sendRequest("workspace/executeCommand", { command: PREFIX + verb, arguments: [argument] }),
        alive: () =>
            // It does not know this, and says so.
            client.sendRequest("$/alive").then(
                () => undefined,
                () => undefined,
            ),
        trustChanged: (trusted) => {
            void client.sendNotification("postil/didChangeTrust", { trusted });
        },
        stop: async () => {
            asked = true;
            await client.dispose(2000).catch((error: unknown) => {
                hooks.log.info(`the server was not stopped in order: ${String(error)}`);
            });
        },
    };
}
