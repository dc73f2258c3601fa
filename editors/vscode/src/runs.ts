// Commands about many turns, past runs and this machine's settings.

import * as vscode from "vscode";
import type { Conversations } from "./conversation";
import type { Known } from "./known";
import type { Turn } from "./protocol";
import { complain, inform, warn } from "./say";
import type { Server } from "./server";
import { money, stateOf } from "./threads";

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
    const waiting = (uri ? known.threads(uri) : [...known.all()].map(({ thread }) => thread)).filter((thread) => stateOf(thread) === "pending").length;
    if (waiting === 0) {
        void inform("postil: no thread waits for an answer.");
        return;
    }
    const go = `Start ${waiting} Turns`;
    if (waiting > MANY && (await warn(`postil: ${waiting} threads wait. Each is answered by a turn of its own.`, go, "Not Now")) !== go) {
        return;
    }
    const done = await server.run<{ refused: { error: string }[] }>("replyAll", uri ? { uri: uri.toString() } : {});
    const [first, ...others] = done?.refused ?? [];
    if (first) {
        void complain(`postil: ${first.error}${others.length > 0 ? ` (and ${others.length} more)` : ""}`);
    }
}

/** One of the history, though its thread may be gone. */
export async function openRun(server: Server, conversations: Conversations): Promise<void> {
    const runs = await server.run<Turn[]>("workflowList", { limit: RUNS });
    if (!runs) {
        return;
    }
    if (runs.length === 0) {
        void inform("postil: there is no run yet.");
        return;
    }
    const items = runs.map((run) => ({
        label: run.file,
        description: [run.status.replaceAll("_", " "), `${run.rounds} rounds`, money(run.cost)].filter((part) => part !== "").join(" · "),
        detail: new Date(run.started).toLocaleString(),
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

/** Runs `postil doctor` in a terminal, as a person would: the answer is for reading. In the one of the last time, if it is there. */
export function doctor(server: Server): void {
    const name = "postil doctor";
    // By its name, which it keeps in a window that is loaded anew; and its shell has not ended.
    const last = vscode.window.terminals.find((one) => one.name === name && one.exitStatus === undefined);
    const terminal = last ?? vscode.window.createTerminal({ name, ...(process.platform === "win32" ? { shellPath: "powershell.exe" } : {}) });
    terminal.show();
    // The program that came along is on no PATH.
    terminal.sendText(`${quoted(server.program?.path ?? "postil")} doctor`);
}

/** A program as a shell takes it, PowerShell on Windows: whatever else the author has there quotes in another way. */
function quoted(program: string): string {
    if (/^[\w./-]+$/.test(program)) {
        return program;
    }
    return process.platform === "win32" ? `& '${program.replaceAll("'", "''")}'` : `'${program.replaceAll("'", "'\\''")}'`;
}
