// The server's life: found, started, started again after it ended by itself, and one message where that fails.

import { stat } from "node:fs/promises";
import * as os from "node:os";
import * as vscode from "vscode";
import { Backoff, choose, tooOld, type Problem, type Program } from "./binary";
import type { Connection, Hooks } from "./client";
import { Notebooks, type Write } from "./notebooks";
import { refused } from "./outside";
import { PREFIX, type ThreadsParams, type TurnsParams } from "./protocol";
import { because, complain, inform, warn } from "./say";

/** Milliseconds without an answer after which the author is told. */
const SLOW = 15_000;

/** By what a file is known that another took the place of; `undefined`: there is none. */
async function stamp(path: string | undefined): Promise<string | undefined> {
    const found = path === undefined ? undefined : await stat(path).catch(() => undefined);
    return found && [found.ino, found.size, found.mtimeMs].join(" ");
}

/** "stopped": by the author; only he starts it again. */
export type State = { is: "off" | "starting" | "running" | "stopped" } | { is: "failed"; why: string };

export class Server implements vscode.Disposable {
    private connection: Connection | undefined;
    private current: State = { is: "off" };
    private readonly backoff = new Backoff();
    private again: NodeJS.Timeout | undefined;
    /** What is going on now; starts and stops come one after the other. */
    private queue: Promise<void> = Promise.resolve();
    private over = false;
    /** Gives the start up that goes on. */
    private starting = new AbortController();
    /** Why the author was told last; the same is not said twice. */
    private told = "";
    /** The file of the program as it was when this server was started. */
    private stamp: string | undefined;

    private readonly notebooks = new Notebooks();

    private readonly changed = new vscode.EventEmitter<State>();
    readonly onState = this.changed.event;
    private readonly threads = new vscode.EventEmitter<ThreadsParams>();
    readonly onThreads = this.threads.event;
    private readonly turns = new vscode.EventEmitter<TurnsParams>();
    readonly onTurns = this.turns.event;
    /** Nothing that an earlier server told of holds any more. `crashed`: nobody asked it to end. */
    private readonly lost = new vscode.EventEmitter<{ crashed: boolean }>();
    readonly onLost = this.lost.event;

    constructor(
        private readonly context: vscode.ExtensionContext,
        readonly log: vscode.LogOutputChannel,
        private readonly more: Pick<Hooks, "settings" | "shows" | "review" | "reviewed"> & {
            /** A lens or an action of the light bulb was taken. */
            pressed(verb: string, argument: object): unknown;
        },
    ) {}

    /** The program that was found last. */
    program: Program | undefined;

    get state(): State {
        return this.current;
    }

    private set(state: State): void {
        this.current = state;
        this.changed.fire(state);
        // By it the walkthrough's first step is done, and the empty view says why it is.
        void vscode.commands.executeCommand("setContext", "postil.state", state.is);
    }

    start(): Promise<void> {
        return this.next(async () => {
            if (!this.connection && this.current.is !== "stopped") {
                await this.begin();
            }
        });
    }

    restart(): Promise<void> {
        this.starting.abort();
        this.backoff.reset();
        this.told = "";
        return this.next(async () => {
            await this.end();
            await this.begin();
        });
    }

    /** The author wants none for now. */
    halt(): Promise<void> {
        this.starting.abort();
        return this.next(async () => {
            await this.end();
            this.set({ is: "stopped" });
        });
    }

    private next(work: () => Promise<void>): Promise<void> {
        clearTimeout(this.again);
        this.queue = this.queue.then(() => (this.over ? undefined : work())).catch((error: unknown) => {
            this.log.error(String(error));
        });
        return this.queue;
    }

    private async begin(): Promise<void> {
        this.set({ is: "starting" });
        // A value of a wrong type is not kept away by the editor.
        const setting = vscode.workspace.getConfiguration("postil").get<unknown>("path", "") ?? "";
        if (typeof setting !== "string") {
            this.fail(`The setting postil.path is to be a text in quotation marks; it is \`${JSON.stringify(setting)}\`.`, false);
            return;
        }
        const places = {
            setting: setting.trim(),
            extension: this.context.extensionPath,
            search: process.env["PATH"] ?? "",
            home: os.homedir(),
            workspace: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
            platform: process.platform,
            arch: process.arch,
        };
        this.starting = new AbortController();
        const givenUp = this.starting.signal;
        const slow = setTimeout(() => {
            this.slow("postil is slow to start: it has not answered yet. The editor can be used meanwhile.");
        }, SLOW);
        try {
            const connect = (program: Program): Promise<Connection | Problem> => this.connect(program, givenUp);
            const passed = ({ message }: Problem): void => {
                this.log.warn(message);
            };
            const started = await choose(places, connect, passed, givenUp);
            if ("problem" in started) {
                this.fail(started.message, started.problem === "missing" || started.problem === "too-old");
                return;
            }
            this.connection = started;
            // From here on it is asked to end.
            this.starting = new AbortController();
            // Given while it started.
            this.trustChanged();
            this.set({ is: "running" });
        } catch (error) {
            if (givenUp.aborted) {
                return;
            }
            this.log.error(`the server did not start: ${String(error)}`);
            this.retry("postil could not be started; its log says why.");
        } finally {
            clearTimeout(slow);
        }
    }

    private async connect(program: Program, givenUp: AbortSignal): Promise<Connection | Problem> {
        givenUp.throwIfAborted();
        this.program = program;
        // Before it starts: one that ended meanwhile would be told of as running.
        this.stamp = await stamp(program.path);
        this.log.info(`starting ${program.path}, version ${program.version}`);
        const { connect } = await import("./client.js");
        const hooks = {
            ...this.more,
            log: this.log,
            write: (write: Write) => this.notebooks.write(write),
            threads: (params: ThreadsParams) => {
                this.threads.fire(params);
            },
            turns: (params: TurnsParams) => {
                this.turns.fire(params);
            },
            ended: () => {
                this.crashed();
            },
            commands: (names: string[]) => {
                this.offer(names);
            },
        };
        const connected = await connect(program.path, hooks, givenUp);
        return "old" in connected ? tooOld(program, connected.protocol) : connected;
    }

    /** The commands of lenses and actions, which are still shown when their server has ended: then the author is told. */
    private readonly offered = new Map<string, vscode.Disposable>();

    private offer(names: string[]): void {
        for (const name of names.filter((name) => name.startsWith(PREFIX) && !this.offered.has(name))) {
            const press = (argument: unknown): unknown => this.more.pressed(name.slice(PREFIX.length), argument ?? {});
            this.offered.set(name, vscode.commands.registerCommand(name, press));
        }
    }

    private crashed(): void {
        this.log.error("the server ended by itself");
        const gone = this.connection;
        this.connection = undefined;
        void gone?.stop();
        this.lost.fire({ crashed: true });
        this.retry("postil ended unexpectedly, again and again, and is not started any more. Its log says why.");
    }

    private retry(giveUp: string): void {
        const wait = this.backoff.next(Date.now());
        if (wait === undefined) {
            this.fail(giveUp, false);
            return;
        }
        this.set({ is: "starting" });
        this.log.info(`it is started again in ${wait} ms`);
        this.again = setTimeout(() => void this.start(), wait);
    }

    /** Says once what is wrong; the status bar goes on saying it. */
    private fail(why: string, install: boolean): void {
        this.set({ is: "failed", why });
        if (this.told === why) {
            return;
        }
        this.told = why;
        const buttons = install ? ["How to Install", "Open Settings", "Try Again"] : ["Show Log", "Open Settings", "Try Again"];
        void complain(why, ...buttons).then((button) => {
            switch (button) {
                case "How to Install":
                    return vscode.commands.executeCommand("workbench.action.openWalkthrough", "postil.postil#start", false);
                case "Open Settings":
                    return vscode.commands.executeCommand("workbench.action.openSettings", "postil.path");
                case "Show Log":
                    this.log.show();
                    return undefined;
                case "Try Again":
                    return this.restart();
                default:
                    return undefined;
            }
        });
    }

    /** Says once that the program was replaced since: the server that runs can then start no command of an agent any more. */
    async notice(): Promise<void> {
        const now = this.connection && this.stamp !== undefined ? await stamp(this.program?.path) : undefined;
        // One that is gone may be about to come.
        if (now === undefined || this.stamp === undefined || now === this.stamp) {
            return;
        }
        this.stamp = undefined;
        if (await inform("postil was updated, and its server is still the old one.", "Restart Server")) {
            await this.restart();
        }
    }

    /** It may still come: the author is told, and nothing is ended. */
    private slow(why: string): void {
        this.log.warn(why);
        void warn(why, "Show Log", "Restart Server").then((button) => {
            if (button === "Show Log") {
                this.log.show();
            } else if (button === "Restart Server") {
                return this.restart();
            }
            return undefined;
        });
    }

    private async end(): Promise<void> {
        const connection = this.connection;
        this.connection = undefined;
        await connection?.stop();
        if (connection) {
            this.lost.fire({ crashed: false });
        }
        this.set({ is: "off" });
    }

    /** Whether there is one to ask. Where there is none the author is told why, and what can be done. */
    runs(): boolean {
        const { current } = this;
        switch (current.is) {
            case "running":
                return true;
            case "failed":
                void complain(current.why, "Try Again").then((pressed) => (pressed ? this.restart() : undefined));
                return false;
            case "starting":
                void inform("postil is being started: try again in a moment.");
                return false;
            case "stopped":
                void inform("postil is stopped.", "Start Server").then((pressed) => (pressed ? this.restart() : undefined));
                return false;
            case "off":
                void inform("postil does not run yet: open a file that is on the disk, or a folder.");
                return false;
        }
    }

    /** A verb of the server. Where it fails the author is told in one sentence, and gets `undefined`. */
    async run<T = unknown>(verb: string, argument: object): Promise<T | undefined> {
        if (!this.runs()) {
            return undefined;
        }
        try {
            return await this.ask<T>(verb, argument);
        } catch (error) {
            const why = because(error);
            this.log.info(`${verb}: ${why}`);
            void refused(why, (argument as { uri?: unknown }).uri);
            return undefined;
        }
    }

    /** The same, for who says himself what went wrong. */
    async ask<T = unknown>(verb: string, argument: object): Promise<T> {
        await this.notebooks.settle(verb, argument);
        if (!this.connection) {
            await this.start();
        }
        if (!this.connection) {
            const { current } = this;
            throw new Error(current.is === "failed" ? current.why : current.is === "stopped" ? "the server is stopped" : "the server is being started: try again");
        }
        const { connection } = this;
        // A verb may wait for the author, who is asked something: only one that answers nothing at all is told of.
        const late = setTimeout(() => void this.check(connection), SLOW);
        try {
            return (await connection.request(verb, argument)) as T;
        } finally {
            clearTimeout(late);
        }
    }

    /** The one that is asked whether it answers. Of one that is gone the client may leave that open. */
    private checking: Connection | undefined;

    private async check(connection: Connection): Promise<void> {
        if (this.checking === connection || this.connection !== connection) {
            return;
        }
        this.checking = connection;
        const alive = connection.alive();
        const late = new Promise<"late">((resolve) => setTimeout(resolve, SLOW / 3, "late"));
        if ((await Promise.race([alive, late])) === "late") {
            this.slow("postil does not answer. What you asked for is done when it does; or start it again.");
        }
        await alive;
        if (this.checking === connection) {
            this.checking = undefined;
        }
    }

    /** Where the user writes what no editor may set. */
    get configFile(): string | undefined {
        return this.connection?.configFile;
    }

    trustChanged(): void {
        const { isTrusted } = vscode.workspace;
        if (this.connection && this.connection.trusted !== isTrusted) {
            this.connection.trustChanged(isTrusted);
        }
    }

    async stop(): Promise<void> {
        this.starting.abort();
        clearTimeout(this.again);
        this.over = true;
        await this.queue;
        const connection = this.connection;
        this.connection = undefined;
        await connection?.stop();
    }

    dispose(): void {
        clearTimeout(this.again);
        vscode.Disposable.from(...this.offered.values()).dispose();
        this.notebooks.dispose();
        this.changed.dispose();
        this.threads.dispose();
        this.turns.dispose();
        this.lost.dispose();
    }
}
