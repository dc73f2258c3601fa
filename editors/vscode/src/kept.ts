// What a window keeps on the disk for the next one that has one of its folders, or none as it: a file for each window, so
// that two do not take each other's. Knows nothing of the editor.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import * as path from "node:path";

/**
 * A window that says nothing between so many looks is gone, though its process is not. So many take longer than it does
 * to say something, also where the machine sleeps between two of them.
 */
export const LOOKS = 6;

/** How the name of what is kept ends. */
const END = "json";
/** Behind it, of what is not in place yet: cut off there, it is no more than a moment newer than what is. */
const PART = ".part";

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

interface Left<Item> {
    folders: string[];
    items: Item[];
}

export class Kept<Item> {
    private readonly folder: string;
    private readonly folders: () => string[];
    private readonly pid: number;
    private readonly isThere: (pid: number) => boolean;
    /** How the names of this window's files begin. An earlier process may have had this one's number. */
    private readonly own: string;
    /** How many files were taken over. */
    private count = 0;
    /** The names of what was taken over, until it is kept as this window's. */
    private taken: string[] = [];
    /** Files of processes that are there: of when each was, and at how many looks. */
    private readonly silent = new Map<string, { of: number; looks: number }>();

    /** `folders`: those that the window has by now. One without any has its words from another such one. */
    constructor(folder: string, folders: () => string[], pid = process.pid, isThere = isAlive, begun = Date.now()) {
        this.folder = folder;
        this.folders = () => {
            const all = folders();
            return all.length > 0 ? all : [""];
        };
        this.pid = pid;
        this.isThere = isThere;
        this.own = `${pid}-${begun}.`;
    }

    /**
     * What windows left that are gone; each thing is given to one. `others`: there is more, of windows that are not gone,
     * or that could not be read.
     */
    take(): { items: Item[]; others: boolean } {
        const items: Item[] = [];
        let others = false;
        const attempt = (act: () => void): void => {
            try {
                act();
            } catch (error) {
                // Where it is missing another window was sooner, or nothing was kept.
                others ||= !isMissing(error);
            }
        };
        attempt(() => {
            for (const name of readdirSync(this.folder).filter((name) => !name.startsWith(this.own))) {
                attempt(() => {
                    if (this.isGone(name)) {
                        items.push(...this.read(name));
                    } else {
                        others = true;
                    }
                });
            }
        });
        return { items, others };
    }

    private isGone(name: string): boolean {
        const of = Number.parseInt(name, 10);
        if (of === this.pid || !this.isThere(of)) {
            return true;
        }
        const { mtimeMs } = statSync(path.join(this.folder, name));
        const known = this.silent.get(name);
        const looks = known?.of === mtimeMs ? known.looks + 1 : 1;
        this.silent.set(name, { of: mtimeMs, looks });
        return looks >= LOOKS;
    }

    private read(name: string): Item[] {
        const file = path.join(this.folder, name);
        const left = parsed<Item>(readFileSync(file, "utf8"));
        if (!left || name.endsWith(PART)) {
            rmSync(file, { force: true });
            return [];
        }
        const folders = this.folders();
        if (!left.folders.some((folder) => folders.includes(folder))) {
            return [];
        }
        const taken = `${this.own}${(this.count += 1)}.${END}`;
        // Only one of several windows can do this.
        renameSync(file, path.join(this.folder, taken));
        this.taken.push(taken);
        return left.items;
    }

    /** All that is to be kept now, which says that this window is there too; what was before is not any more. */
    put(items: Item[]): void {
        const file = path.join(this.folder, this.own + END);
        if (items.length > 0) {
            const left: Left<Item> = { folders: this.folders(), items };
            mkdirSync(this.folder, { recursive: true });
            writeFileSync(file + PART, JSON.stringify(left), { mode: 0o600 });
            renameSync(file + PART, file);
        } else {
            rmSync(file, { force: true });
        }
        for (const name of this.taken.splice(0)) {
            rmSync(path.join(this.folder, name), { force: true });
        }
    }
}

/** `undefined`: it was cut off as it was written, or is none of ours. */
function parsed<Item>(text: string): Left<Item> | undefined {
    try {
        const left = JSON.parse(text) as Partial<Left<Item>>;
        return left.folders && left.items && { folders: left.folders, items: left.items };
    } catch {
        return undefined;
    }
}
