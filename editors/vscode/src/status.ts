// The status bar: what waits, what runs, what it cost.

import * as vscode from "vscode";
import type { Known } from "./known";
import type { Models } from "./models";
import type { Turn } from "./protocol";
import type { Server } from "./server";
import { Soon } from "./soon";
import { countsLabel, money } from "./threads";

/** What the item's hover leads to. */
const LINKS: [string, string][] = [
    ["Threads", "postil.threads.focus"],
    ["Select Model", "postil.selectModel"],
    ["Settings", "postil.openSettings"],
    ["Show Log", "postil.showLog"],
    ["Check", "postil.doctor"],
    ["Restart Server", "postil.restart"],
    ["Stop Server", "postil.stop"],
];

/** The words of others as they are, and below them our own links. */
function hover(...lines: string[]): vscode.MarkdownString {
    const shown = new vscode.MarkdownString();
    shown.isTrusted = { enabledCommands: LINKS.map(([, command]) => command) };
    shown.appendText(lines.join("\n"));
    shown.appendMarkdown(`\n\n---\n\n${LINKS.map(([words, command]) => `[${words}](command:${command})`).join(" · ")}`);
    return shown;
}

/** Who answers, which the server finds among settings, keys and what is installed, and who answered last. */
function answers({ answers: now }: Models, known: Known): string[] {
    const newest = [...known.turns.values()].reduce<Turn | undefined>((one, turn) => (one && one.started > turn.started ? one : turn), undefined);
    const lines: string[] = [];
    if (now) {
        const { model, why } = now;
        lines.push(model === null ? `Nobody can be asked: ${why}` : model === "offline" ? `Answered offline, without a model: ${why}` : `${model} answers: ${why}`);
    }
    if (newest && newest.model !== now?.model) {
        lines.push(newest.model === "offline" ? "The last turn was answered offline, without a model" : `The last turn was answered by ${newest.model}`);
    }
    return lines;
}

/** Who answers, and which program runs. */
function facts({ program }: Server, known: Known, models: Models): string[] {
    return [...answers(models, known), ...(program ? [`postil ${program.version}, ${program.path}`] : [])];
}

export class Status implements vscode.Disposable {
    private readonly item: vscode.StatusBarItem;
    /** A scan tells of thousands of files at once, and each time all threads are counted. */
    private readonly soon = new Soon(50, () => {
        this.draw();
    });
    private readonly subscriptions: vscode.Disposable[];

    constructor(
        private readonly server: Server,
        private readonly known: Known,
        private readonly models: Models,
    ) {
        this.item = vscode.window.createStatusBarItem("postil", vscode.StatusBarAlignment.Left, 10);
        this.item.name = "postil";
        this.subscriptions = [
            this.item,
            server.onState(() => {
                this.draw();
            }),
            known.onFile(() => {
                this.soon.ask();
            }),
            known.onTurns(() => {
                this.soon.ask();
            }),
            models.onAnswers(() => {
                this.soon.ask();
            }),
        ];
        this.draw();
        this.item.show();
    }

    private draw(): void {
        const { item } = this;
        const state = this.server.state;
        item.backgroundColor = undefined;
        // Read out in place of the text.
        const label = (what: string): void => {
            item.accessibilityInformation = { label: `postil: ${what}` };
        };
        item.command = "postil.threads.focus";
        if (state.is === "failed") {
            item.text = "$(warning) postil";
            item.tooltip = hover(state.why);
            label(state.why);
            item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
            item.command = "postil.restart";
            return;
        }
        if (state.is !== "running") {
            item.text = state.is === "starting" ? "$(sync~spin) postil" : "$(comment-discussion) postil";
            const folders = vscode.workspace.workspaceFolders ?? [];
            const elsewhere = folders.length > 0 && folders.every(({ uri }) => uri.scheme !== "file");
            const off = elsewhere ? "postil reads files from a disk, and this folder is on none. Open it where its files are." : "postil is not running";
            const why = state.is === "starting" ? "postil is being started" : state.is === "stopped" ? "postil is stopped" : off;
            item.tooltip = hover(why);
            label(why);
            return;
        }
        const counts = this.known.count(this.known.each());
        const running = this.known.running();
        const cost = money(this.known.cost());
        const still = running.filter(({ id, waits }) => this.known.isStill(id, waits)).length;
        const working = running.length - still;
        const parts = [
            ...(still > 0 ? [`$(bell-dot) ${still} waiting for you`] : []),
            ...(working > 0 ? [`$(sync~spin) ${working} at work`] : []),
            ...(running.length > 0 ? [] : [`$(comment-discussion) ${counts.pending + counts.asking + counts.answered + counts.new}`]),
        ];
        if (cost !== "") {
            parts.push(cost);
        }
        item.text = parts.join(" · ");
        item.tooltip = hover(
            countsLabel(counts) || "No threads",
            ...running.map((turn) => `${turn.file}: ${turn.message ?? ""} · ${turn.tokens} tokens ${money(turn.cost)}`),
            ...(cost === "" ? [] : [`Turns of this window: ${cost}`]),
            ...facts(this.server, this.known, this.models),
        );
        label(`${countsLabel(counts) || "no threads"}; ${working} at work, ${still} waiting for you`);
    }

    dispose(): void {
        this.soon.dispose();
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}
