// Where `postil` is: the setting, the one that came with the extension, the PATH. Knows nothing of the editor.

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, readFile, realpath, stat } from "node:fs/promises";
import * as path from "node:path";
import { isWithin } from "./within.ts";

/** The protocol for plugins that this extension needs (docs/editors/protocol.md). */
export const NEEDED = 1;

export interface Program {
    path: string;
    version: string;
}

export interface Problem {
    problem: "missing" | "not-executable" | "too-old" | "not-postil" | "silent" | "inside";
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
    /** Folders of the workspace: nothing inside them is run, unless the home is too: then the author's own programs are. */
    workspace: string[];
    platform: NodeJS.Platform;
    arch: string;
}

/** What is asked of the machine. Nothing of it fails: what cannot be had is not there. */
export interface Disk {
    isFile(file: string): Promise<boolean>;
    runs(file: string): Promise<boolean>;
    read(file: string): Promise<string>;
    /** Without links. */
    real(file: string): Promise<string>;
    /** What the program answers to `--version`; `undefined`: it does not end. */
    version(file: string): Promise<string | undefined>;
}

/** Milliseconds that a program has for its version. */
const PATIENCE = 10_000;

const machine: Disk = {
    isFile: (file) =>
        stat(file).then(
            (found) => found.isFile(),
            () => false,
        ),
    runs: (file) =>
        access(file, constants.X_OK).then(
            () => true,
            () => false,
        ),
    read: (file) => readFile(file, "utf8").catch(() => ""),
    real: (file) => realpath(file).catch(() => file),
    version: (file) => version(file),
};

export function version(file: string, patience = PATIENCE): Promise<string | undefined> {
    return new Promise((resolve) => {
        // One that obeys no request to end would be waited for.
        const options = { timeout: patience, killSignal: "SIGKILL", windowsHide: true } as const;
        execFile(file, ["--version"], options, (error, stdout) => {
            resolve(error?.killed ? undefined : error ? "" : stdout);
        });
    });
}

const paths = (places: Places): path.PlatformPath => (places.platform === "win32" ? path.win32 : path.posix);

/** Every place that is looked at, best first. */
export function candidates(places: Places): string[] {
    const at = paths(places);
    const folders = ofOthers(places.workspace, [places.home], at);
    return looked(places).flatMap(({ file, searched }) => (searched && isWithin(at.dirname(file), folders, at) ? [] : [file]));
}

/** Those of the workspace's folders that the author's home is not in. */
function ofOthers(folders: string[], homes: string[], at: path.PlatformPath): string[] {
    return folders.filter((folder) => !homes.some((home) => isWithin(home, [folder], at)));
}

/** `searched`: the PATH leads there, on which a folder of the workspace may be. */
function looked(places: Places): { file: string; searched: boolean }[] {
    const at = paths(places);
    const onWindows = places.platform === "win32";
    if (places.setting !== "") {
        const set = (onWindows ? unquoted(places.setting) : places.setting).replace(/^~(?=$|[/\\])/, () => places.home);
        // As a shell takes it there; without any, npm has put a script for another shell at that name.
        const ends = onWindows && !/\.(?:exe|cmd)$/i.test(set) ? [".exe", ".cmd", ""] : [""];
        return ends.map((end) => ({ file: set + end, searched: false }));
    }
    const entries = places.search.split(at.delimiter).map((dir) => (onWindows ? unquoted(dir) : dir));
    const search = entries.filter((dir) => at.isAbsolute(dir));
    const dirs = [
        { dir: at.join(places.extension, "server"), searched: false },
        ...search.map((dir) => ({ dir, searched: true })),
        // Where cargo puts it, which a window that was not started from a shell may not have on its PATH.
        { dir: at.join(places.home, ".cargo", "bin"), searched: false },
    ];
    const names = onWindows ? ["postil.exe", "postil.cmd"] : ["postil"];
    return dirs.flatMap(({ dir, searched }) => names.map((name) => ({ file: at.join(dir, name), searched })));
}

/** Without the quotation marks that Explorer copies a path with, and that some write into the PATH. */
function unquoted(place: string): string {
    return place.replace(/^"(.*)"$/, "$1");
}

/**
 * The program behind what npm puts on the PATH: a script for Windows' shell, elsewhere a link to one for Node. Neither is
 * started: the first would need a shell, which reads more out of arguments than is meant, the second a Node. The
 * program lies where Node would look for it from `postil.js`. `undefined`: it is not there.
 */
async function behind(file: string, places: Places, disk: Disk): Promise<string | undefined> {
    const at = paths(places);
    let script = await disk.real(file);
    if (/\.cmd$/i.test(file)) {
        const named = /"%(?:~dp0|dp0%)\\?([^"%]*\bpostil\.js)"/i.exec(await disk.read(file))?.[1];
        if (named === undefined) {
            return undefined;
        }
        script = await disk.real(at.join(at.dirname(file), named));
    }
    if (at.basename(script) !== "postil.js") {
        return file;
    }
    const name = places.platform === "win32" ? "postil.exe" : "postil";
    for (let dir = at.dirname(script), last = ""; dir !== last; last = dir, dir = at.dirname(dir)) {
        const program = at.join(dir, "node_modules", `postil-${places.platform}-${places.arch}`, "bin", name);
        if (await disk.isFile(program)) {
            return program;
        }
    }
    return undefined;
}

/** What is found at each place, best first. */
async function* look(places: Places, disk: Disk): AsyncGenerator<Program | Problem> {
    const seen = new Set<string>();
    const at = paths(places);
    const led = await Promise.all(places.workspace.map((folder) => disk.real(folder)));
    const folders = ofOthers([...places.workspace, ...led], [places.home, await disk.real(places.home)], at);
    // Links lead into the workspace too.
    const isInside = async (place: string): Promise<boolean> => isWithin(place, folders, at) || isWithin(await disk.real(place), folders, at);
    const inside = (file: string): Problem => ({
        problem: "inside",
        message: `${file} is on the PATH but inside the workspace, where nothing is run. Install postil elsewhere, or set postil.path.`,
    });
    for (const { file: candidate, searched } of looked(places)) {
        if (!(await disk.isFile(candidate))) {
            continue;
        }
        if (searched && (await isInside(at.dirname(candidate)))) {
            yield inside(candidate);
            continue;
        }
        const file = await behind(candidate, places, disk);
        if (file === undefined) {
            yield {
                problem: "not-executable",
                message: `${candidate} is a script, and the program that npm puts beside it for ${places.platform} on ${places.arch} is not there. Install postil another way, or set postil.path to the program.`,
            };
            continue;
        }
        // Folders of the PATH may be links to each other.
        const real = await disk.real(file);
        if (seen.has(real)) {
            continue;
        }
        seen.add(real);
        if (searched && (await isInside(real))) {
            yield inside(candidate);
            continue;
        }
        if (await disk.runs(file)) {
            yield await check(file, disk);
        } else if (places.setting !== "") {
            yield { problem: "not-executable", message: `The setting postil.path names ${file}, which cannot be executed.` };
        }
    }
}

/** Asks a program for its version. */
async function check(file: string, disk: Disk): Promise<Program | Problem> {
    const said = await disk.version(file);
    if (said === undefined) {
        return {
            problem: "silent",
            message: `${file} was asked for its version and has not answered for ${PATIENCE / 1000} s. Try again, or set postil.path to another program.`,
        };
    }
    const number = /^postil (\d+\.\d+\.\d+\S*)/.exec(said)?.[1];
    return number === undefined
        ? {
              problem: "not-postil",
              message: `${file} does not answer as postil does when it is asked for its version. Set postil.path to the right program.`,
          }
        : { path: file, version: number };
}

/** What comes of `work`, as long as nobody gives it up. */
function until<T>(givenUp: AbortSignal, work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
        const giveUp = (): void => {
            reject(givenUp.reason as Error);
        };
        givenUp.addEventListener("abort", giveUp, { once: true });
        void work.then(resolve, reject).finally(() => {
            givenUp.removeEventListener("abort", giveUp);
        });
    });
}

/** `protocol`: what its server says; `undefined`: it does not know of one. */
export function tooOld({ path: file, version }: Program, protocol: number | undefined): Problem {
    const has = protocol === undefined ? "no protocol for plugins" : `protocol ${protocol}`;
    return {
        problem: "too-old",
        message: `${file} is postil ${version}, which is too old for this extension: it has ${has}, and ${NEEDED} is needed. Install a newer postil, then try again.`,
    };
}

/**
 * Starts the best program that fits. What does not fit is passed over, and told where no other does: what was wrong
 * with the first. A program that is set is the only one. An error where it is given up.
 */
export async function choose<T extends object>(
    places: Places,
    start: (program: Program) => Promise<T | Problem>,
    passed: (problem: Problem) => void,
    givenUp: AbortSignal,
    disk: Disk = machine,
): Promise<T | Problem> {
    const set = places.setting !== "";
    if (set && !paths(places).isAbsolute(candidates(places)[0] ?? "")) {
        return {
            problem: "missing",
            message: `The setting postil.path is to be an absolute path; it is \`${places.setting}\`.`,
        };
    }
    let first: Problem | undefined;
    const all = look(places, disk);
    for (;;) {
        // A disk, and a program, may give no answer.
        const next = await until(givenUp, all.next());
        if (next.done) {
            break;
        }
        const found = next.value;
        const started = "problem" in found ? found : await start(found);
        if (!("problem" in started)) {
            return started;
        }
        passed(started);
        first ??= started;
    }
    return (
        first ?? {
            problem: "missing",
            message: set
                ? `The setting postil.path names ${places.setting}, which is not there.`
                : "The program postil is neither on the PATH nor set by postil.path. Install it, then try again.",
        }
    );
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
