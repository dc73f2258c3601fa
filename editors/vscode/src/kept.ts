// What a window keeps on the disk for the next one on the same folders: a file for each window, so that two do not take
// each other's. Knows nothing of the editor.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import * as path from "node:path";

/** Milliseconds after which a window that has not said that it is there is gone, though its process is not. */
export const STALE = 120_000;

function isAlive(pid: number): boolean {
    try {
        process.kill(pid, 0);
        return true;
    } catch (error) {
        return (error as NodeJS.ErrnoException).code === "EPERM";
    }
}

export class Kept<Item> {
    private readonly folder: string;
    private readonly pid: number;
    private readonly isThere: (pid: number) => boolean;
    private readonly prefix: string;
    /** The name of this window's file. An earlier process may have had this one's number. */
    private readonly own: string;
    /** The names of what was taken over, until it is kept as this window's. */
    private taken: string[] = [];

    /** `window`: what it shows, by which the next one on the same is known. */
    constructor(folder: string, window: string, pid = process.pid, isThere = isAlive, begun = Date.now()) {
        this.folder = folder;
        this.pid = pid;
        this.isThere = isThere;
        this.prefix = `${createHash("sha256").update(window).digest("hex").slice(0, 16)}-`;
        this.own = `${this.prefix}${pid}-${begun}.json`;
    }

    /** What windows left that are gone; each thing is given to one. `others`: there are some that are not gone. */
    take(now = Date.now()): { items: Item[]; others: boolean } {
        const items: Item[] = [];
        let others = false;
        for (const name of this.names().filter((name) => name !== this.own && !this.taken.includes(name))) {
            const file = path.join(this.folder, name);
            const of = Number(/^\d+/.exec(name.slice(this.prefix.length))?.[0]);
            try {
                if (of !== this.pid && this.isThere(of) && now - statSync(file).mtimeMs < STALE) {
                    others = true;
                    continue;
                }
                // Only one of several windows can do this.
                const taken = `${this.prefix}${this.pid}-of-${name.slice(this.prefix.length)}`;
                const mine = path.join(this.folder, taken);
                renameSync(file, mine);
                this.taken.push(taken);
                const read = JSON.parse(readFileSync(mine, "utf8")) as unknown;
                items.push(...(Array.isArray(read) ? (read as Item[]) : []));
            } catch {
                // Another window was sooner, or it was cut off as it was written.
            }
        }
        return { items, others };
    }

    private names(): string[] {
        try {
            return readdirSync(this.folder).filter((name) => name.startsWith(this.prefix) && name.endsWith(".json"));
        } catch {
            return [];
        }
    }

    /** All that is to be kept now; what was before is not any more. */
    put(items: Item[]): void {
        if (items.length > 0) {
            mkdirSync(this.folder, { recursive: true });
            const part = path.join(this.folder, `${this.own}.part`);
            writeFileSync(part, JSON.stringify(items), { mode: 0o600 });
            renameSync(part, path.join(this.folder, this.own));
        } else {
            rmSync(path.join(this.folder, this.own), { force: true });
        }
        for (const name of this.taken.splice(0)) {
            rmSync(path.join(this.folder, name), { force: true });
        }
    }

    /** This window is there. */
    touch(now = new Date()): void {
        try {
            utimesSync(path.join(this.folder, this.own), now, now);
        } catch {
            // Nothing is kept.
        }
    }
}
