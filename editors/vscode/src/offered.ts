// What the palette offers: a command about threads stands there while there is one that it can do something with.

import * as vscode from "vscode";
import { contextOf } from "./comments";
import type { Known } from "./known";

/** What a thread may be or have, as in its `contextValue`; the palette asks for `postil.has.pending` and so on. */
const PARTS = ["threads", "pending", "running", "answered", "run", "paused", "asks", "changes", "edits", "review"];

export class Offered implements vscode.Disposable {
    private readonly told = new Set<string>();
    private due: NodeJS.Timeout | undefined;
    private readonly subscription: vscode.Disposable;

    constructor(private readonly known: Known) {
        this.subscription = vscode.Disposable.from(
            known.onFile(() => {
                this.soon();
            }),
            known.onTurns(() => {
                this.soon();
            }),
        );
    }

    /** A scan tells of thousands of files at once, and each time all threads are looked at. */
    private soon(): void {
        this.due ??= setTimeout(() => {
            this.due = undefined;
            this.tell();
        }, 50);
    }

    private tell(): void {
        const there = new Set<string>();
        for (const thread of this.known.each()) {
            there.add("threads");
            for (const part of contextOf(thread, this.known).split(".")) {
                there.add(part);
            }
        }
        for (const part of PARTS.filter((part) => there.has(part) !== this.told.has(part))) {
            this.told[there.has(part) ? "add" : "delete"](part);
            void vscode.commands.executeCommand("setContext", `postil.has.${part}`, there.has(part));
        }
    }

    dispose(): void {
        clearTimeout(this.due);
        this.subscription.dispose();
    }
}
