// What a window keeps on the disk for the next one on the same folders: a file for each window, so that two do not take
// each other's. Knows nothing of the editor.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import * as path from "node:path";

/** Milliseconds after which a window that has not said that it is there is gone, though its process is not. */
export const STALE = 120_000;
/** Milliseconds in which a window that is there says so, also after the machine was suspended and all are stale. */
export const SILENT = 45_000;

function isAlive(pid: number): boolean {
    try {
        process.kill(pid, 0);
        return true;
    } catch (error) {
        return (error as NodeJS.ErrnoException).code === "EPERM";
    }
}

function isMissing(error: unknown): boolean {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
}

function prefixOf(window: string): string {
    return `${createHash("sha256").update(window).digest("hex").slice(0, 16)}-`;
}

export class Kept<Item> {
    private readonly folder: string;
    private readonly pid: number;
    private readonly isThere: (pid: number) => boolean;
    /** How the names of files begin in which it looks. */
    private readonly prefixes: readonly string[];
    /** The name of this window's file. An earlier process may have had this one's number. */
    private readonly own: string;
    /** How many files were taken over. */
    private count = 0;
    /** The names of what was taken over, until it is kept as this window's. */
    private taken: string[] = [];
    /** The names of what nobody else takes any more, but could not be read yet. */
    private readonly unread = new Set<string>();
    /** Files that were stale when they were looked at: of when they are, and since when that is known. */
    private readonly silent = new Map<string, { of: number; since: number }>();

    /** `windows`: what it shows, by which the next one on the same is known, and what windows showed whose words are its too. */
    constructor(folder: string, [window = "", ...others]: readonly string[], pid = process.pid, isThere = isAlive, begun = Date.now()) {
        this.folder = folder;
        this.pid = pid;
        this.isThere = isThere;
        this.prefixes = [window, ...others].map(prefixOf);
        this.own = `${prefixOf(window)}${pid}-${begun}.json`;
    }

    /**
     * What windows left that are gone; each thing is given to one. `others`: there is more, of windows that are not gone,
     * or that could not be read. `clock`: milliseconds that go on evenly.
     */
    take(now = Date.now(), clock = performance.now()): { items: Item[]; others: boolean } {
        const items: Item[] = [];
        let others = false;
        const each = (suffix: string, act: (name: string) => void): void => {
            for (const name of this.names(suffix)) {
                try {
                    if (this.unread.has(name) || this.isGone(name, now, clock)) {
                        act(name);
                    } else {
                        others = true;
                    }
                } catch (error) {
                    // Where it is missing another window was sooner.
                    others ||= !isMissing(error);
                }
            }
        };
        try {
            each(".json.part", (name) => {
                this.finish(name);
            });
            each(".json", (name) => {
                items.push(...this.read(name, now));
            });
        } catch (error) {
            others ||= !isMissing(error);
        }
        return { items, others };
    }

    private isGone(name: string, now: number, clock: number): boolean {
        const of = Number(/-(\d+)/.exec(name)?.[1]);
        if (of === this.pid || !this.isThere(of)) {
            return true;
        }
        const { mtimeMs } = statSync(path.join(this.folder, name));
        if (now - mtimeMs < STALE) {
            this.silent.delete(name);
            return false;
        }
        const known = this.silent.get(name);
        if (known?.of !== mtimeMs) {
            this.silent.set(name, { of: mtimeMs, since: clock });
            return false;
        }
        return clock - known.since >= SILENT;
    }

    /** What a window had written and not put in place when it went is newer than what is there. */
    private finish(name: string): void {
        const part = path.join(this.folder, name);
        if (parsed(readFileSync(part, "utf8")) === undefined) {
            rmSync(part, { force: true });
        } else {
            renameSync(part, part.slice(0, -".part".length));
        }
    }

    private read(name: string, now: number): Item[] {
        let taken = name;
        if (!this.unread.has(name)) {
            const file = path.join(this.folder, name);
            // Or other windows would find it stale still, and take it again.
            utimesSync(file, new Date(now), new Date(now));
            taken = `${name.slice(0, name.indexOf("-"))}-${this.own.slice(this.own.indexOf("-") + 1, -".json".length)}-${(this.count += 1)}.json`;
            // Only one of several windows can do this.
            renameSync(file, path.join(this.folder, taken));
            this.unread.add(taken);
        }
        const read = parsed(readFileSync(path.join(this.folder, taken), "utf8"));
        this.unread.delete(taken);
        this.taken.push(taken);
        return Array.isArray(read) ? (read as Item[]) : [];
    }

    private names(suffix: string): string[] {
        const ours = [this.own, `${this.own}.part`, ...this.taken];
        const isKnown = (name: string): boolean => name.endsWith(suffix) && this.prefixes.some((prefix) => name.startsWith(prefix));
        return readdirSync(this.folder).filter((name) => isKnown(name) && !ours.includes(name));
    }

    /** All that is to be kept now, which says that this window is there too; what was before is not any more. */
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
}

/** `undefined`: it was cut off as it was written. */
function parsed(text: string): unknown {
    try {
        return JSON.parse(text) as unknown;
    } catch {
        return undefined;
    }
}
