// The language client. In a bundle of its own: the window does not wait for it.

import { spawn } from "node:child_process";
import * as vscode from "vscode";
import {
    CloseAction,
    CodeLensRefreshRequest,
    CodeLensRequest,
    DocumentDiagnosticRequest,
    ErrorAction,
    ErrorCodes,
    ExecuteCommandRequest,
    FoldingRangeRequest,
    LanguageClient,
    MessageType,
    ResponseError,
    RevealOutputChannelOn,
    SemanticTokensRegistrationType,
    ShowMessageNotification,
    ShowMessageRequest,
    vsdiag,
    type ApplyWorkspaceEditResult,
    type LanguageClientOptions,
    type ServerCapabilities,
    type ServerOptions,
} from "vscode-languageclient/node";
import { NEEDED } from "./binary";
import { PREFIX, type ProposedChange, type ThreadsParams, type TurnsParams } from "./protocol";
import { Lenses } from "./lenses";
import type { Write, Written } from "./notebooks";
import { applied } from "./readonly";
import { complain, inform, press, warn } from "./say";
import { unadorned, unlinked } from "./threads";

export interface Hooks {
    log: vscode.LogOutputChannel;
    threads(params: ThreadsParams): void;
    turns(params: TurnsParams): void;
    /** Whether a change that the agent wants to make is to be made. */
    review(change: ProposedChange, token: vscode.CancellationToken): Promise<boolean>;
    /** What the server would write into a notebook's file. */
    write(write: Write): Promise<Written>;
    /** The run of a thread, while it waits for the author to look at its changes. */
    readonly reviewed: (argument: unknown) => string | undefined;
    /** The server ended though nobody asked it to. */
    ended(): void;
    /** The settings as the server reads them. */
    settings(): unknown;
    shows(what: "codeLens" | "diagnostics"): boolean;
    /** What lenses and actions are going to name. */
    commands(names: string[]): void;
}

export interface Connection {
    request(verb: string, argument: object): Promise<unknown>;
    /** Comes back when the server has answered anything, or is gone. */
    alive(): Promise<void>;
    /** What it was told last. */
    readonly trusted: boolean;
    trustChanged(trusted: boolean): void;
    /** The user's own settings that no editor may set. */
    configFile: string | undefined;
    stop(): Promise<void>;
}

/** What the client itself answers for a server that is gone. */
const UNANSWERED: number[] = [ErrorCodes.PendingResponseRejected, ErrorCodes.ConnectionInactive, ErrorCodes.MessageWriteError];

/** Milliseconds that a server has to end when it is asked to. */
const PATIENCE = 2000;

/** What the server says of itself beside the protocol. */
interface Experimental {
    postil?: { protocol?: number; configFile?: string };
}

const said = (capabilities: ServerCapabilities | undefined): Experimental["postil"] => (capabilities?.experimental as Experimental | undefined)?.postil;

/** A server that lacks what is relied on here: it was ended again. */
export interface Old {
    old: true;
    protocol: number | undefined;
}

/**
 * Of the first two the window takes one answer alone, an empty one too: a language's own would be gone from every file.
 * Commands are made here: the client's are gone while there is no server, and say nothing where one ends meanwhile.
 */
const WITHOUT: string[] = [FoldingRangeRequest.method, SemanticTokensRegistrationType.method, ExecuteCommandRequest.method];

/** What goes wrong here is told by who asked for it, once and in a sentence. */
class Client extends LanguageClient {
    override registerFeature(feature: Parameters<LanguageClient["registerFeature"]>[0]): void {
        if (!("registrationType" in feature && WITHOUT.includes(feature.registrationType.method))) {
            super.registerFeature(feature);
        }
    }

    override error(message: string, data?: unknown): void {
        super.error(message, data, false);
    }
}

/** A lens says what an agent does, or whose thread it is: in their words. */
function plain(lens: vscode.CodeLens): vscode.CodeLens {
    return lens.command ? Object.assign(lens, { command: { ...lens.command, title: unadorned(lens.command.title) } }) : lens;
}

/** Where a turn waits for a review, that is what is offered first: the server, which does not know what is shown here, offers the end. */
function reviewable(lens: vscode.CodeLens, reviewed: Hooks["reviewed"]): vscode.CodeLens[] {
    const command = lens.command?.command === `${PREFIX}cancelTurn` ? lens.command : undefined;
    const run = command && reviewed(command.arguments?.[0]);
    if (!command || run === undefined) {
        return [lens];
    }
    const title = `${command.title.replace(/ · Cancel$/, "")} · Review Changes`;
    const review = { title, command: "postil.reviewTurn", arguments: [{ run_id: run }] };
    return [new vscode.CodeLens(lens.range, review), new vscode.CodeLens(lens.range, { ...command, title: "Cancel" })];
}

/** `givenUp`: nobody waits for it any more. */
export async function connect(program: string, hooks: Hooks, givenUp: AbortSignal): Promise<Connection | Old> {
    // A process of ours, for one that hangs at its start cannot be stopped by the client.
    let kill = (): void => undefined;
    let asked = false;
    const server: ServerOptions = () => {
        if (asked) {
            // The client starts it again for what comes while it ends.
            return Promise.reject(new Error("it was asked to end"));
        }
        const child = spawn(program, ["serve"], { stdio: "pipe", windowsHide: true });
        kill = () => {
            child.kill("SIGKILL");
            // Where `program` only starts another one, that holds on to them.
            child.stdin.destroy();
            child.stdout.destroy();
        };
        givenUp.addEventListener("abort", kill, { once: true });
        return new Promise((resolve, reject) => {
            child.once("spawn", () => {
                resolve(child);
            });
            child.once("error", reject);
        });
    };
    /** Nobody waits any more for what this server has asked. */
    const over = new vscode.CancellationTokenSource();
    let started = false;
    let trusted = vscode.workspace.isTrusted;
    const options: LanguageClientOptions = {
        // Every language has comments.
        documentSelector: [{ scheme: "file" }],
        initializationOptions: {
            commandPrefix: PREFIX,
            threads: true,
            reviews: true,
            notebooks: true,
            ownSettings: true,
            trusted,
        },
        diagnosticCollectionName: "postil",
        outputChannel: hooks.log,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        markdown: { isTrusted: false, supportHtml: false },
        errorHandler: {
            error: () => ({ action: ErrorAction.Continue, handled: true }),
            closed: () => {
                over.cancel();
                if (!asked && started) {
                    hooks.ended();
                }
                return { action: CloseAction.DoNotRestart, handled: true };
            },
        },
        initializationFailedHandler: () => false,
        middleware: {
            workspace: {
                handleApplyEdit: async (params, next) => {
                    const { changes = {}, documentChanges = [] } = params.edit;
                    const uris = [...Object.keys(changes), ...documentChanges.flatMap((change) => ("edits" in change ? [change.textDocument.uri] : []))];
                    let result: ApplyWorkspaceEditResult | ResponseError = { applied: false };
                    const done = await applied(
                        uris.map((uri) => client.protocol2CodeConverter.asUri(uri)),
                        async () => {
                            result = await next(params, new vscode.CancellationTokenSource().token);
                            return "applied" in result && result.applied;
                        },
                    );
                    return typeof done === "string" ? Object.assign({ applied: false, failureReason: done }, { readOnly: true }) : result;
                },
                configuration: (params) => params.items.map((item) => (item.section === "postil" ? hooks.settings() : null)),
            },
            provideCodeLenses: (document, token, next) =>
                lenses.asked(
                    document.uri.toString(),
                    async () => (hooks.shows("codeLens") ? ((await next(document, token)) ?? []).map(plain).flatMap((lens) => reviewable(lens, hooks.reviewed)) : []),
                    () => token.isCancellationRequested,
                ),
            // Threads have views of their own. The window makes an outline of each extension's symbols where there are several,
            // and sticky scroll takes one of them; with `proxy.mode = "always"` the language's come from here.
            provideDocumentSymbols: async (document, token, next) => {
                const symbols = (await next(document, token)) ?? [];
                return symbols.some(({ kind }) => kind !== vscode.SymbolKind.Event) ? symbols : [];
            },
            handleDiagnostics: (uri, diagnostics, next) => {
                next(uri, hooks.shows("diagnostics") ? diagnostics : []);
            },
            // Switched off, what was shown goes; and nothing is known any more that could be the same when it is switched on.
            provideDiagnostics: (document, previous, token, next) =>
                hooks.shows("diagnostics") ? next(document, previous, token) : { kind: vsdiag.DocumentDiagnosticReportKind.full, items: [] },
            provideWorkspaceDiagnostics: (previous, token, report, next) => {
                if (hooks.shows("diagnostics")) {
                    return next(previous, token, report);
                }
                report({ items: previous.map(({ uri }) => ({ kind: vsdiag.DocumentDiagnosticReportKind.full, uri, version: null, items: [] })) });
                return { items: [] };
            },
            // It is shown in a notification, as it stands here: `next` takes no other words.
            handleWorkDoneProgress: (token, params, next) => {
                if ("title" in params) {
                    params.title = unadorned(unlinked(params.title));
                }
                if (params.message !== undefined) {
                    params.message = unadorned(unlinked(params.message));
                }
                next(token, params);
            },
        },
    };
    const client = new Client("postil", "postil", server, options);
    let old: Old | undefined;
    // Before it is told of anything that is open.
    client.registerFeature({
        fillClientCapabilities: () => undefined,
        preInitialize: (capabilities) => {
            const protocol = said(capabilities)?.protocol;
            if ((protocol ?? 0) < NEEDED) {
                old = { old: true, protocol };
                throw new Error("it is too old");
            }
        },
        initialize: ({ executeCommandProvider }) => {
            hooks.commands(executeCommandProvider?.commands ?? []);
        },
        getState: () => ({ kind: "static" }),
        clear: () => undefined,
    });
    const lenses = new Lenses({
        visible: () => vscode.window.visibleTextEditors.map(({ document }) => document.uri).flatMap((uri) => (uri.scheme === "file" ? uri.toString() : [])),
        tell: () => {
            const feature = client.getFeature(CodeLensRequest.method);
            for (const provider of new Set(vscode.workspace.textDocuments.map((document) => feature.getProvider(document)))) {
                provider?.onDidChangeCodeLensEmitter.fire();
            }
        },
    });
    const watching = vscode.Disposable.from(
        lenses,
        vscode.window.onDidChangeVisibleTextEditors(() => {
            lenses.moved();
        }),
        vscode.workspace.onDidChangeConfiguration((change) => {
            if (change.affectsConfiguration("postil.editor.codeLens")) {
                lenses.refresh();
            }
            if (change.affectsConfiguration("postil.editor.diagnostics")) {
                client.getFeature(DocumentDiagnosticRequest.method).refresh();
            }
        }),
        vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
            if (contentChanges.length > 0) {
                lenses.changed(document.uri.toString());
            }
        }),
    );
    // In place of the client's own, which show the server's words as they come.
    const say = (kind: MessageType): typeof inform => (kind === MessageType.Error ? complain : kind === MessageType.Warning ? warn : inform);
    client.onNotification(ShowMessageNotification.type, ({ type, message }) => void say(type)(message));
    client.onRequest(ShowMessageRequest.type, async ({ type, message, actions = [] }, token) => {
        const labels = actions.map(({ title }) => title);
        const gone = new vscode.CancellationTokenSource();
        const ends = [token, over.token].map((one) =>
            one.onCancellationRequested(() => {
                gone.cancel();
            }),
        );
        const pressed = await press(say(type), message, labels, gone.token);
        vscode.Disposable.from(...ends).dispose();
        // The window takes no notification back.
        if (pressed !== undefined && gone.token.isCancellationRequested) {
            void inform("postil: this was no longer asked: its turn was cancelled or has ended. Nothing was done.");
        }
        return actions.find(({ title }) => title === pressed) ?? null;
    });
    client.onNotification("postil/threads", (params: ThreadsParams) => {
        hooks.threads(params);
        lenses.changed(client.protocol2CodeConverter.asUri(params.uri).toString());
    });
    client.onNotification("postil/turns", (params: TurnsParams) => {
        hooks.turns(params);
    });
    client.onRequest("postil/review", async (change: ProposedChange, token: vscode.CancellationToken) => {
        const decided = hooks.review(change, token);
        // What the thread tells may have come before.
        lenses.refresh();
        return { accepted: await decided };
    });
    client.onRequest("postil/write", (write: Write) => hooks.write(write));
    try {
        await client.start();
    } catch (error) {
        watching.dispose();
        await client.dispose().catch(() => undefined);
        if (old) {
            return old;
        }
        throw error;
    }
    started = true;
    // In place of the client's own, which tells the editor each time.
    client.onRequest(CodeLensRefreshRequest.type, () => {
        lenses.refresh();
    });
    return {
        request: (verb, argument) =>
            client.sendRequest("workspace/executeCommand", { command: PREFIX + verb, arguments: [argument] }).catch((error: unknown) => {
                const answered = error instanceof ResponseError && !UNANSWERED.includes(error.code);
                throw answered ? error : new Error("the server ended before it answered: try again in a moment");
            }),
        alive: () =>
            // It does not know this, and says so.
            client.sendRequest("$/alive").then(
                () => undefined,
                () => undefined,
            ),
        get trusted() {
            return trusted;
        },
        trustChanged: (now) => {
            trusted = now;
            void client.sendNotification("postil/didChangeTrust", { trusted });
        },
        configFile: said(client.initializeResult?.capabilities)?.configFile,
        stop: async () => {
            asked = true;
            over.cancel();
            watching.dispose();
            // Killed while the client waits for it, it takes all with it that was asked; later the client leaves that open.
            const hung = setTimeout(kill, PATIENCE);
            await client.dispose(2 * PATIENCE).catch((error: unknown) => {
                hooks.log.info(`the server was not stopped in order: ${String(error)}`);
            });
            clearTimeout(hung);
        },
    };
}
