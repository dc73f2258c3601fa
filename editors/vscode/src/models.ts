// Who answers: whom the server finds, and the author's choice among them.

import * as vscode from "vscode";
import { textEditor } from "./known";
import type { Answers, Found, Selected } from "./protocol";
import { because, complain, inform } from "./say";
import type { Server } from "./server";

/** Milliseconds within which a server reads settings anew. */
const HEARD = 500;

interface Item extends vscode.QuickPickItem {
    /** `null`: whoever is found; none: the author writes a name. */
    model?: string | null;
}

export class Models implements vscode.Disposable {
    private due: NodeJS.Timeout | undefined;
    /** Of which it was asked last. */
    private folder: string | undefined;
    private looks = 0;
    private known: Answers | undefined;
    private readonly changed = new vscode.EventEmitter<undefined>();
    readonly onAnswers = this.changed.event;
    private readonly subscriptions: vscode.Disposable[];

    constructor(private readonly server: Server) {
        this.subscriptions = [
            this.changed,
            server.onState(({ is }) => {
                if (is === "running") {
                    void this.look();
                } else {
                    this.told(undefined);
                }
            }),
            vscode.workspace.onDidChangeConfiguration((change) => {
                if (change.affectsConfiguration("postil")) {
                    this.lookSoon();
                }
            }),
            // What a repository chooses counts once it is trusted, and each folder may have a choice of its own.
            vscode.workspace.onDidGrantWorkspaceTrust(() => {
                this.lookSoon();
            }),
            vscode.workspace.onDidChangeWorkspaceFolders(() => {
                this.lookSoon();
            }),
            vscode.window.onDidChangeActiveTextEditor(() => {
                const folder = folderHere();
                if (folder !== undefined && folder !== this.folder) {
                    this.lookSoon();
                }
            }),
            vscode.workspace.onDidSaveTextDocument(({ uri }) => {
                if (uri.fsPath === server.configFile || uri.path.endsWith("/postil.toml")) {
                    this.lookSoon();
                }
            }),
        ];
    }

    /** Who answers where a turn names nobody, as far as the server has said. */
    get answers(): Answers | undefined {
        return this.known;
    }

    private told(answers: Answers | undefined): void {
        this.known = answers;
        this.changed.fire(undefined);
    }

    /** When the server has heard of the change, too. */
    private lookSoon(): void {
        clearTimeout(this.due);
        this.due = setTimeout(() => void this.look(), HEARD);
    }

    /** In the background: a server that cannot tell is older than this. */
    private async look(): Promise<void> {
        if (this.server.state.is !== "running") {
            return;
        }
        this.folder = folderHere() ?? this.folder;
        const look = ++this.looks;
        try {
            const { answers } = await this.server.ask<Found>("models", here());
            if (look === this.looks) {
                this.told(answers);
            }
        } catch (error) {
            this.server.log.info(`models: ${because(error)}`);
        }
    }

    /** The author says who answers from now on. */
    async select(): Promise<void> {
        const found = await this.server.run<Found>("models", here());
        if (!found) {
            return;
        }
        this.told(found.answers);
        const { model, why } = found.answers;
        const items: Item[] = found.models.map((offer) => ({
            label: `${offer.model === model ? "$(check) " : ""}${offer.model}`,
            description: offer.about,
            model: offer.model,
        }));
        items.push(
            { label: "", kind: vscode.QuickPickItemKind.Separator },
            { label: "$(search) Whoever Is Found", description: "a key in the environment, Ollama, an agent on PATH, else no model", model: null },
            { label: "$(edit) Another…", description: "provider/model or acp/agent" },
            { label: "$(gear) Open config.toml", description: "providers, keys, agents of your own" },
        );
        const config = items.at(-1);
        const placeHolder = model === null ? `Nobody can be asked: ${why}` : `${model} answers, because ${why}. Who shall?`;
        const picked = await vscode.window.showQuickPick(items, { title: "postil: Select Model", placeHolder, matchOnDescription: true });
        if (!picked) {
            return;
        }
        if (picked === config) {
            await vscode.commands.executeCommand("postil.openConfig");
            return;
        }
        const name =
            picked.model === undefined
                ? await vscode.window.showInputBox({ title: "postil: Select Model", prompt: "provider/model, acp/agent or offline", value: model ?? "" })
                : picked.model;
        if (name !== undefined) {
            await this.take(name === null ? null : name.trim());
        }
    }

    private async take(model: string | null): Promise<void> {
        try {
            const select = (): Promise<Selected> => this.server.ask<Selected>("selectModel", { ...here(), model });
            let selected = await select();
            // The editor's own setting stands over the file: where there is one it says the same.
            const settings = vscode.workspace.getConfiguration("postil");
            if ((settings.inspect<string>("model")?.globalValue ?? "") !== "") {
                await settings.update("model", model ?? undefined, vscode.ConfigurationTarget.Global);
                await new Promise((resolve) => setTimeout(resolve, HEARD));
                // Who answers now, and what goes before it still.
                selected = await select();
            }
            this.told(selected.answers);
            const who = model ?? selected.answers.model ?? "nobody";
            void inform(`postil: ${who} answers from now on${selected.note === null ? "" : `; but ${selected.note}`}.`);
        } catch (error) {
            void complain(`postil: ${because(error)}`);
        }
    }

    dispose(): void {
        clearTimeout(this.due);
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}

/** The file that is looked at: each folder may have settings of its own. */
function here(): { uri?: string } {
    const uri = textEditor()?.document.uri;
    return uri?.scheme === "file" ? { uri: uri.toString() } : {};
}

function folderHere(): string | undefined {
    const uri = textEditor()?.document.uri;
    return uri && vscode.workspace.getWorkspaceFolder(uri)?.uri.toString();
}
