// What the palette offers: a command about threads stands there while there is one that it can do something with.

import * as vscode from "vscode";
import { contextOf } from "./comments";
import type { Known } from "./known";
import { Soon } from "./soon";

/** What a thread may be or have, as in its `contextValue`; the palette asks for `postil.has.pending` and so on. */
const PARTS = ["threads", "pending", "running", "answered", "run", "paused", "asks", "changes", "edits", "review", "outside"];

export class Offered implements vscode.Disposable {
    private readonly told = new Set<string>();
    /** A scan tells of thousands of files at once, and each time all threads are looked at. */
    private readonly soon = new Soon(50, () => {
        this.tell();
    });
    private readonly subscription: vscode.Disposable;

    constructor(private readonly known: Known) {
        this.subscription = vscode.Disposable.from(
            known.onFile(() => {
                this.soon.ask();
            }),
            known.onTurns(() => {
                this.soon.ask();
            }),
        );
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
        this.soon.dispose();
        this.subscription.dispose();
    }
}
