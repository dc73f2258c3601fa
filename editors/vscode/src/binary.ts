// Where `postil` is: the setting, the one that came with the extension, the PATH. Knows nothing of the editor.

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import * as path from "node:path";

/** The oldest server that says what this extension shows. */
export const OLDEST = "0.1.0";

export type Found = { path: string; version: string } | Problem;

export interface Problem {
    problem: "missing" | "not-executable" | "too-old" | "not-postil";
    /** One sentence: what is wrong and what to do. */
    message: string;
}

export interface Places {
    /** The setting `postil.path`; empty: not set. */
    setting: string;
    /** The extension's own folder. */
    extension: string;
    /** The variable PATH. */
    search: string;
    home: string;
    /** Folders of the workspace: nothing inside them is run. */
    workspace: string[];
    platform: NodeJS.Platform;
}

/** Every place that is looked at, best first. */
export function candidates(places: Places): string[] {
    const name = places.platform === "win32" ? "postil.exe" : "postil";
    if (places.setting !== "") {
        const home = places.setting.replace(/^~(?=$|[/\\])/, places.home);
        return [home];
    }
    const dirs = places.search
        .split(path.delimiter)
        .filter((dir) => path.isAbsolute(dir) && !places.workspace.some((folder) => isInside(folder, dir)));
    // Where cargo puts it, which a window that was not started from a shell may not have on its PATH.
    dirs.push(path.join(places.home, ".cargo", "bin"));
    return [path.join(places.extension, "server", name), ...dirs.map((dir) => path.join(dir, name))];
}

function isInside(folder: string, dir: string): boolean {
    const relative = path.relative(folder, dir);
    return relative === "" || (!relative.startsWith("..") && !path.isAbsolute(relative));
}

export async function find(places: Places): Promise<Found> {
    const set = places.setting !== "";
    if (set && !path.isAbsolute(candidates(places)[0] ?? "")) {
        return {
            problem: "missing",
            message: `The setting postil.path is to be an absolute path; it is \`${places.setting}\`.`,
        };
    }
    for (const file of candidates(places)) {
        const there = await stat(file).then(
            (found) => found.isFile(),
            () => false,
        );
        if (!there) {
            continue;
        }
        const runs = await access(file, constants.X_OK).then(
            () => true,
            () => false,
        );
        if (runs) {
            return check(file);
        }
        if (set) {
            return { problem: "not-executable", message: `The setting postil.path names ${file}, which cannot be executed.` };
        }
    }
    return {
        problem: "missing",
        message: set
            ? `The setting postil.path names ${places.setting}, which is not there.`
            : "The program postil is neither on the PATH nor set by postil.path. Install it, then try again.",
    };
}

/** Asks a program for its version. */
async function check(file: string): Promise<Found> {
    const said = await new Promise<string | undefined>((resolve) => {
        execFile(file, ["--version"], { timeout: 10_000, windowsHide: true }, (error, stdout) => {
            resolve(error ? undefined : stdout);
        });
    });
    const version = /^postil (\d+\.\d+\.\d+)/.exec(said ?? "")?.[1];
    if (version === undefined) {
        return {
            problem: "not-postil",
            message: `${file} does not answer as postil does when it is asked for its version. Set postil.path to the right program.`,
        };
    }
    if (older(version, OLDEST)) {
        return {
            problem: "too-old",
            message: `${file} is postil ${version}, and this extension needs ${OLDEST} or newer. Install the newer one.`,
        };
    }
    return { path: file, version };
}

export function older(version: string, than: string): boolean {
    const numbers = (text: string): number[] => text.split(".").map(Number);
    const [left, right] = [numbers(version), numbers(than)];
    for (const [index, number] of right.entries()) {
        const mine = left[index] ?? 0;
        if (mine !== number) {
            return mine < number;
        }
    }
    return false;
}

/** More ends than this within so many milliseconds are too many. */
const MOST = 4;
const WINDOW = 180_000;

/** How long to wait before the server is started again after it ended by itself; `undefined`: no more. */
export class Backoff {
    private ends: number[] = [];

    next(now: number): number | undefined {
        this.ends = this.ends.filter((end) => now - end < WINDOW);
        this.ends.push(now);
        return this.ends.length > MOST ? undefined : 250 * 4 ** (this.ends.length - 1);
    }

    reset(): void {
        this.ends = [];
    }
}
