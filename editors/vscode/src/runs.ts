// Commands about many turns, past runs and this machine's settings.

import { spawn, type ChildProcess } from "node:child_process";
import * as os from "node:os";
import * as vscode from "vscode";
import type { Conversations } from "./conversation";
import { type Known, textEditor } from "./known";
import type { PastRun } from "./protocol";
import { complain, inform, warn } from "./say";
import type { Server } from "./server";
import { money, stateOf, unadorned } from "./threads";

/** More turns than this are not begun by one press without a word. */
const MANY = 5;
/** How many runs can be chosen from. */
const RUNS = 200;

/** How a config.toml begins that was not there. */
const BEGUN = `# Who answers. The key comes from ANTHROPIC_API_KEY or OPENAI_API_KEY; a model of this machine needs none.
# model = "anthropic/claude-sonnet-5-5"
# model = "openai/gpt-6.1-sol"
# model = "ollama/qwen3:8b"
# model = "acp/claude-code"        # an agent that is installed
`;

/** Every thread that waits, of a file or of all. Each is a turn, and may be paid. */
export async function replyAll(server: Server, known: Known, uri: vscode.Uri | undefined): Promise<void> {
    const waiting = (uri ? known.threads(uri) : [...known.all()].map(({ thread }) => thread)).filter((thread) => stateOf(thread) === "pending" && !thread.is_outside).length;
    if (waiting === 0) {
        void inform("postil: no thread waits for an answer.");
        return;
    }
    const go = `Start ${waiting} Turns`;
    if (waiting > MANY && (await warn(`postil: ${waiting} threads wait. Each is answered by a turn of its own.`, go, "Not Now")) !== go) {
        return;
    }
    tellRefused(await server.run("replyAll", uri ? { uri: uri.toString() } : {}));
}

interface Begun {
    refused?: { error: string }[];
}

/** Which of several turns could not be begun, and why. */
export function tellRefused(begun: Begun | undefined): void {
    const [first, ...others] = begun?.refused ?? [];
    if (first) {
        void complain(`postil: ${first.error}${others.length > 0 ? ` (and ${others.length} more)` : ""}`);
    }
}

/** One of the history, though its thread may be gone. */
export async function openRun(server: Server, conversations: Conversations): Promise<void> {
    const runs = await server.run<PastRun[]>("workflowList", { limit: RUNS });
    if (!runs) {
        return;
    }
    if (runs.length === 0) {
        void inform("postil: there is no run yet.");
        return;
    }
    const items = runs.map((run) => ({
        label: unadorned(run.question || run.file),
        description: run.question ? unadorned(run.file) : "",
        detail: [new Date(run.started).toLocaleString(), run.status.replaceAll("_", " "), `${run.rounds} rounds`, money(run.cost)]
            .filter((part) => part !== "")
            .join(" · "),
        id: run.id,
    }));
    const picked = await vscode.window.showQuickPick(items, { placeHolder: "A run, the newest first", matchOnDescription: true, matchOnDetail: true });
    if (picked) {
        await conversations.show({ run_id: picked.id });
    }
}

/** The user's own settings that no editor may set; made where they are not there yet. */
export async function openConfig(server: Server): Promise<void> {
    const file = server.configFile;
    if (file === undefined) {
        void inform("postil: `postil doctor` in a terminal tells where config.toml is.");
        return;
    }
    const uri = vscode.Uri.file(file);
    const there = await vscode.workspace.fs.stat(uri).then(
        () => true,
        () => false,
    );
    const document = await vscode.workspace.openTextDocument(there ? uri : uri.with({ scheme: "untitled" }));
    const editor = await vscode.window.showTextDocument(document);
    if (!there && document.getText() === "") {
        await editor.edit((edit) => {
            edit.insert(new vscode.Position(0, 0), BEGUN);
        });
    }
}

/**
 * Shows what `postil doctor` says, in a terminal of its own that is there again the next time. It is started here and not
 * typed into a shell, in which something else may run by then; and so it finds what the server finds, which has the same
 * environment.
 */
export class Doctor implements vscode.Disposable {
    private terminal: vscode.Terminal | undefined;
    private readonly written = new vscode.EventEmitter<string>();
    private asked: ChildProcess | undefined;

    constructor(private readonly server: Server) {}

    async show(): Promise<void> {
        if (!this.server.program) {
            // Before there is a file nobody has looked for it.
            await this.server.start();
        }
        if (this.terminal) {
            this.terminal.show();
            this.ask();
            return;
        }
        const pty: vscode.Pseudoterminal = {
            onDidWrite: this.written.event,
            open: () => {
                this.ask();
            },
            close: () => {
                this.asked?.kill();
                this.asked = undefined;
                this.terminal = undefined;
            },
        };
        this.terminal = vscode.window.createTerminal({ name: "postil doctor", iconPath: new vscode.ThemeIcon("pulse"), pty });
        this.terminal.show();
    }

    private ask(): void {
        if (this.asked) {
            return;
        }
        const editor = textEditor();
        const folder = (editor && vscode.workspace.getWorkspaceFolder(editor.document.uri)) ?? vscode.workspace.workspaceFolders?.[0];
        const cwd = folder?.uri.scheme === "file" ? folder.uri.fsPath : os.homedir();
        const write = (text: string): void => {
            this.written.fire(text.replace(/\r?\n/g, "\r\n"));
        };
        // Away with what was said before, also above what is seen.
        write("\x1b[2J\x1b[3J\x1b[H");
        const { program, state } = this.server;
        if (!program) {
            write(`${state.is === "failed" ? state.why : "The program postil was not found."}\n`);
            return;
        }
        const child = spawn(program.path, ["doctor"], { cwd, env: { ...process.env, CLICOLOR_FORCE: "1" }, stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
        this.asked = child;
        for (const stream of [child.stdout, child.stderr]) {
            stream.setEncoding("utf8").on("data", write);
        }
        child.on("error", (error) => {
            write(`${program.path}: ${error.message}\n`);
        });
        child.on("close", () => {
            if (this.asked === child) {
                this.asked = undefined;
            }
        });
    }

    dispose(): void {
        this.terminal?.dispose();
        this.written.dispose();
    }
}
