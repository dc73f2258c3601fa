// What the server has told: threads by file, turns by run. Everything that is shown is made from this.

import * as vscode from "vscode";
import type { Thread, ThreadsParams, Turn, TurnsParams } from "./protocol";
import { stateOf } from "./threads";
import type { Server } from "./server";

export interface Located {
    uri: vscode.Uri;
    thread: Thread;
}

export class Known implements vscode.Disposable {
    /** By URI as the editor writes it; files without threads are not here. */
    readonly files = new Map<string, { uri: vscode.Uri; threads: Thread[] }>();
    /** Those that run and those that ran in this window. */
    readonly turns = new Map<string, Turn>();

    /** Runs that wait for the author to look at their changes. */
    private readonly reviewed = new Set<string>();

    private readonly file = new vscode.EventEmitter<vscode.Uri>();
    /** The threads of this file changed. */
    readonly onFile = this.file.event;
    private readonly question = new vscode.EventEmitter<Located>();
    /** A turn of this window has stopped with a question that has answers to choose from. */
    readonly onQuestion = this.question.event;
    private readonly turn = new vscode.EventEmitter<Turn[]>();
    readonly onTurns = this.turn.event;
    private readonly subscriptions: vscode.Disposable[];

    constructor(server: Server) {
        this.subscriptions = [
            server.onThreads((params) => {
                this.told(params);
            }),
            server.onTurns((params) => {
                this.toldTurns(params);
            }),
            server.onLost(() => {
                this.forget();
            }),
        ];
    }

    private told(params: ThreadsParams): void {
        const uri = vscode.Uri.parse(params.uri, true);
        const atWork = new Set(this.threads(uri).flatMap((thread) => (this.isRunning(thread) ? [thread.id] : [])));
        if (params.threads.length > 0) {
            this.files.set(uri.toString(), { uri, threads: params.threads });
        } else {
            this.files.delete(uri.toString());
        }
        this.file.fire(uri);
        for (const thread of params.threads) {
            if (atWork.has(thread.id) && !this.isRunning(thread) && (thread.choices ?? []).length > 0) {
                this.question.fire({ uri, thread });
            }
        }
    }

    private toldTurns(params: TurnsParams): void {
        for (const turn of params.turns) {
            this.turns.set(turn.id, turn);
        }
        const running = new Map(this.running().map((turn) => [turn.id, turn]));
        for (const { uri, threads } of this.files.values()) {
            let moved = false;
            for (const thread of threads) {
                const turn = thread.turn?.running ? running.get(thread.turn.run_id) : undefined;
                if (thread.turn && turn && thread.turn.message !== (turn.message ?? "")) {
                    thread.turn.message = turn.message ?? "";
                    moved = true;
                }
            }
            if (moved) {
                this.file.fire(uri);
            }
        }
        this.turn.fire(params.turns);
    }

    private forget(): void {
        const files = [...this.files.values()];
        this.files.clear();
        for (const [id, turn] of this.turns) {
            this.turns.set(id, { ...turn, running: false });
        }
        for (const { uri } of files) {
            this.file.fire(uri);
        }
        this.turn.fire([]);
    }

    /** Whether a run waits for the author to look at its changes. */
    isReviewed(run: string): boolean {
        return this.reviewed.has(run);
    }

    reviewing(run: string, waits: boolean): void {
        if (waits) {
            this.reviewed.add(run);
        } else {
            this.reviewed.delete(run);
        }
        for (const { uri, threads } of this.files.values()) {
            if (threads.some((thread) => thread.turn?.run_id === run)) {
                this.file.fire(uri);
            }
        }
    }

    running(): Turn[] {
        return [...this.turns.values()].filter((turn) => turn.running);
    }

    /** What the turns of this window have cost. */
    cost(): number {
        return [...this.turns.values()].reduce((sum, turn) => sum + turn.cost, 0);
    }

    threads(uri: vscode.Uri): Thread[] {
        return this.files.get(uri.toString())?.threads ?? [];
    }

    *all(): Generator<Located> {
        for (const { uri, threads } of this.files.values()) {
            for (const thread of threads) {
                yield { uri, thread };
            }
        }
    }

    /** The thread at a line, or the nearest below it within the same block of lines; `undefined`: none. */
    at(uri: vscode.Uri, line: number): Thread | undefined {
        const threads = this.threads(uri);
        return (
            threads.find((thread) => thread.range.start.line <= line && line <= thread.range.end.line) ??
            // On the line of code that a thread stands above.
            threads.find((thread) => thread.range.end.line + 1 === line)
        );
    }

    byId(id: string): Located | undefined {
        for (const located of this.all()) {
            if (located.thread.id === id) {
                return located;
            }
        }
        return undefined;
    }

    isRunning(thread: Thread): boolean {
        return stateOf(thread) === "running";
    }

    dispose(): void {
        this.file.dispose();
        this.question.dispose();
        this.turn.dispose();
        for (const subscription of this.subscriptions) {
            subscription.dispose();
        }
    }
}
