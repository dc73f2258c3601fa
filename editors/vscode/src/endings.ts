// A word when a turn has ended whose file is not seen: its answer would wait unread. One for all that end together.

import * as vscode from "vscode";
import { isInTab } from "./closed";
import { isOnDisk, type Known, type Located, placesOf } from "./known";
import type { Turn } from "./protocol";
import { inform, warn } from "./say";
import type { Server } from "./server";
import { short } from "./threads";

/** Milliseconds for which those that end at the same time are gathered. */
const TOGETHER = 500;
/** The same, while others are at work: what is begun by one press is told of together. */
const LONGEST = 30_000;

/** Whether the folder of its file was taken out of the workspace. */
function hasLeft({ status, uri }: Turn): boolean {
    return status === "interrupted" && uri !== undefined && !vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri));
}

export class Endings implements vscode.Disposable {
    private readonly running = new Set<string>();
    private ended: Turn[] = [];
    /** Those that their server left when it went. */
    private left: Turn[] = [];
    private due: { timer: NodeJS.Timeout; alone: boolean } | undefined;
    private readonly subscription: vscode.Disposable;

    constructor(
        server: Server,
        private readonly known: Known,
        private readonly reveal: (located: Located) => Promise<void>,
        /** Whether the conversation of this run is seen. */
        private readonly isRead: (run: string) => boolean,
    ) {
        const turns = known.onTurns((turns) => {
            for (const turn of turns) {
                this.told(turn);
            }
            for (const id of this.running) {
                const turn = this.known.turns.get(id);
                if (turn?.running !== true) {
                    this.running.delete(id);
                    this.left.push(...(turn ? [turn] : []));
                }
            }
        });
        // Which turns these are was found out just before: what is known has heard of it first.
        const lost = server.onLost(({ crashed }) => {
            const left = this.left.splice(0);
            // Who stops a server, or starts it again, knows.
            if (crashed && left.length > 0) {
                void this.cutOff(left);
            }
        });
        this.subscription = vscode.Disposable.from(turns, lost);
    }

    private async cutOff(left: Turn[]): Promise<void> {
        const [only, ...more] = left;
        const what = only && more.length === 0 ? `the turn in ${only.file} was` : `${left.length} turns were`;
        if (await warn(`postil: the server ended while ${what} at work. Reply as Agent goes on where it stopped.`, "Show")) {
            const located = only && more.length === 0 ? this.located(only) : undefined;
            await (located ? this.reveal(located) : vscode.commands.executeCommand("postil.threads.focus"));
        }
    }

    private told(turn: Turn): void {
        if (turn.running) {
            this.running.add(turn.id);
        } else if (this.running.delete(turn.id) && turn.status !== "cancelled") {
            this.ended.push(turn);
        }
        const alone = this.running.size === 0;
        if (this.ended.length > 0 && (!this.due || (alone && !this.due.alone))) {
            clearTimeout(this.due?.timer);
            this.due = { alone, timer: setTimeout(() => void this.tell(), alone ? TOGETHER : LONGEST) };
        }
    }

    private located(turn: Turn): Located | undefined {
        for (const located of this.known.all()) {
            if (located.thread.turn?.run_id === turn.id) {
                return located;
            }
        }
        return this.known.byId(turn.thread_id, turn.uri);
    }

    /** Whether the author has it before his eyes, or is told of it by a question with answers to choose from. */
    private isSeen(turn: Turn): boolean {
        const located = this.located(turn);
        const files = (located ? [located.uri] : placesOf(turn, turn.file)).map((uri) => uri.toString());
        const { visibleNotebookEditors, visibleTextEditors } = vscode.window;
        const seen = [...visibleTextEditors.map(({ document }) => document.uri), ...visibleNotebookEditors.map(({ notebook }) => notebook.uri)];
        return seen.some((uri) => files.includes(uri.toString())) || this.isRead(turn.id) || (located?.thread.choices ?? []).length > 0;
    }

    private async tell(): Promise<void> {
        this.due = undefined;
        // One that was cut off has written nothing that could be seen.
        const ended = this.ended.splice(0).filter((turn) => turn.status === "interrupted" || !this.isSeen(turn));
        const failed = ended.filter(({ status }) => status === "failed").length;
        const cutOff = ended.filter(({ status }) => status === "interrupted").length;
        const say = failed + cutOff > 0 ? warn : inform;
        const [only, ...more] = ended;
        if (only && more.length === 0 && hasLeft(only)) {
            // Nothing can be shown of it until the folder is back.
            void warn(`postil: the turn in ${only.file} was cut off: its folder is not in this window any more. Reply as Agent goes on with it when the folder is back.`);
        } else if (only && more.length === 0) {
            const thread = this.located(only)?.thread;
            const end = thread?.is_paused ? "has paused" : only.status === "interrupted" ? "was cut off" : "has ended";
            const what = failed > 0 ? `the turn in ${only.file} failed${only.error ? `: ${short(only.error)}` : ""}` : `the turn in ${only.file} ${end}${thread ? `: ${short(thread.title)}` : ""}`;
            if (await say(`postil: ${what}`, "Show")) {
                const located = this.located(only);
                // A file that was deleted is known for a while, and cannot be shown.
                const isThere = located && (isInTab(located.uri) || (await isOnDisk(located.uri)));
                await (isThere ? this.reveal(located) : vscode.commands.executeCommand("postil.openConversation", { run_id: only.id }));
            }
        } else if (only) {
            const parts = [...(failed > 0 ? [`${failed} of them failed`] : []), ...(cutOff > 0 ? [`${cutOff} of them ${cutOff === 1 ? "was" : "were"} cut off`] : [])];
            const what = `${[`${ended.length} turns have ended`, ...parts].join(", ")}.`;
            if (await say(`postil: ${what}`, "Show")) {
                await vscode.commands.executeCommand("postil.threads.focus");
            }
        }
    }

    dispose(): void {
        clearTimeout(this.due?.timer);
        this.subscription.dispose();
    }
}
