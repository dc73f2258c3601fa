// The commands. Each may come from the palette or a key (the thread at the cursor), from a comment thread, from the
// tree, or with the server's own argument.

import * as vscode from "vscode";
import type { Comments, Note } from "./comments";
import type { Conversations } from "./conversation";
import type { Known, Located } from "./known";
import type { Models } from "./models";
import type { Position, Turn } from "./protocol";
import type { Questions } from "./questions";
import type { Reviewed, Reviews } from "./review";
import { because, complain, confirm, inform, warn } from "./say";
import type { Server } from "./server";
import { CHOOSE, money, place, said, short, stateOf, unfit } from "./threads";
import { isFile, isThread, type ThreadTree } from "./tree";
import type { Whys } from "./why";

/** More turns than this are not begun by one press without a word. */
const MANY = 5;
/** Milliseconds between the presses of a double click. */
const DOUBLE = 500;
/** Why nothing is known of a file's threads for a moment. */
const UNREAD = "the server was started again and has not read this file yet";
/** What needs no server. The boxes in the margin ask for one themselves: what stands in them is kept where there is none. */
const ALONE = new Set(
    ["comment.reply", "comment.start", "comment.ask", "comment.startAndAsk", "comment.edit", "comment.save", "comment.cancel"]
        .concat(["review.diff", "review.accept", "review.acceptAll", "review.reject", "review.rejectAll", "groupByState", "groupByFile"])
        .concat(["restart", "stop", "trust", "showLog", "doctor", "openSettings", "walkthrough"])
        .map((verb) => `postil.${verb}`),
);

/** How many runs can be chosen from. */
const RUNS = 200;

/** How a config.toml begins that was not there. */
const BEGUN = `# Who answers. The key comes from ANTHROPIC_API_KEY or OPENAI_API_KEY; a model of this machine needs none.
# model = "anthropic/claude-sonnet-5-5"
# model = "openai/gpt-6.1-sol"
# model = "ollama/qwen3:8b"
# model = "acp/claude-code"        # an agent that is installed
`;

interface Parts {
    server: Server;
    known: Known;
    comments: Comments;
    tree: ThreadTree;
    conversations: Conversations;
    models: Models;
    questions: Questions;
    reviews: Reviews;
    whys: Whys;
}

/** What a verb is told of the thread that it is about. */
interface Named {
    uri: string;
    thread_id: string;
}

export function register(parts: Parts): vscode.Disposable[] {
    const { server, known, comments, tree, conversations, models, questions, reviews, whys } = parts;

    /** The file that the author looks at. Where it is none, they are told why. */
    const here = (): vscode.Uri | undefined => {
        const uri = looked();
        const why = unfit(uri?.scheme, vscode.window.activeTextEditor !== undefined);
        if (why !== undefined) {
            void inform(`postil: ${why}.`);
            return undefined;
        }
        return uri;
    };

    const chosen = (argument: unknown): Located | undefined => {
        if (isReply(argument)) {
            return chosen(argument.thread);
        }
        if (isCommentThread(argument)) {
            const thread = comments.shown(argument);
            return thread && { uri: argument.uri, thread };
        }
        if (isThread(argument)) {
            return argument;
        }
        const { thread_id: id, uri } = (argument as { thread_id?: unknown; uri?: unknown } | undefined) ?? {};
        if (typeof id === "string") {
            return known.byId(id, typeof uri === "string" ? uri : undefined);
        }
        const editor = vscode.window.activeTextEditor;
        const thread = editor && known.at(editor.document.uri, editor.selection.active.line);
        return editor && thread && { uri: editor.document.uri, thread };
    };

    const thread = (argument: unknown): Located | undefined => {
        const located = chosen(argument);
        const uri = isReply(argument) ? argument.thread.uri : isCommentThread(argument) ? argument.uri : looked();
        if (!located && uri && known.isStale(uri)) {
            void inform(`postil: ${UNREAD}: try again in a moment.`);
        } else if (!located && (looked() === undefined || here())) {
            void inform("postil: there is no thread at the cursor. Put the cursor on one, or pick it in the view Threads.");
        }
        return located;
    };

    const name = ({ uri, thread: { id } }: Located): Named => ({ uri: uri.toString(), thread_id: id });

    const onThread =
        (verb: string) =>
        async (argument: unknown): Promise<void> => {
            const located = thread(argument);
            if (located) {
                await server.run(verb, name(located));
            }
        };

    /** What is about a run that is named, or about that of a thread. */
    const onRun =
        (act: (run: { run_id: string } | Named) => Promise<void>) =>
        async (argument: unknown): Promise<void> => {
            const run = (argument as { run_id?: unknown } | undefined)?.run_id;
            const located = typeof run === "string" ? undefined : thread(argument);
            if (typeof run === "string") {
                await act({ run_id: run });
            } else if (located) {
                await act(name(located));
            }
        };

    /** Threads that are put away at this moment: another with the same first words has the name of the first of them then. */
    const resolving = new Set<string>();

    const resolve = async (located: Located): Promise<void> => {
        const named = name(located);
        const key = JSON.stringify(named);
        if (resolving.has(key)) {
            return;
        }
        resolving.add(key);
        const takeBack = comments.resolve(located.uri, located.thread.id);
        if ((await server.run("dismissThread", named)) === undefined) {
            takeBack();
        }
        setTimeout(() => resolving.delete(key), DOUBLE);
    };

    /** The line that is asked about. */
    const cursor = (): { uri: string; position: Position } | undefined => {
        const uri = here();
        const line = vscode.window.activeTextEditor?.selection.active.line;
        return uri && line !== undefined ? { uri: uri.toString(), position: { line, character: 0 } } : undefined;
    };

    const onFile =
        (act: (file: Reviewed) => Promise<void>) =>
        async (argument: unknown): Promise<void> => {
            const file = reviews.file(argument);
            if (file) {
                await act(file);
            } else {
                void inform("postil: open the diff of a file that is to be reviewed first: *Review Changes* at its thread leads there.");
            }
        };

    const onReview =
        (act: (review: NonNullable<ReturnType<Reviews["review"]>>) => Promise<void>) =>
        async (argument: unknown): Promise<void> => {
            const review = reviews.review(argument);
            if (review) {
                await act(review);
            } else {
                void inform("postil: choose one of the reviews in the view Review.");
            }
        };

    /** Writes a thread that was begun in the margin. It may come to stand elsewhere: above a text over several lines, say. */
    const begin = async (view: vscode.CommentThread, text: string): Promise<Named | undefined> => {
        const uri = view.uri.toString();
        const line = view.range.start.line;
        comments.adopt(view, line);
        try {
            const done = await server.ask<{ thread_id?: string | null; line?: number | null }>("newThread", { uri, position: { line, character: 0 }, text });
            if (typeof done.thread_id === "string") {
                comments.adopted(view, done.thread_id, done.line ?? line);
                return { uri, thread_id: done.thread_id };
            }
        } catch (error) {
            comments.release(view);
            throw error;
        }
        if (comments.isElsewhere(view) === "awaited") {
            comments.release(view);
            view.dispose();
        }
        void warn("postil: your words were written into the file, but not found there as a thread: look at them in the text, and have them answered from there.");
        return undefined;
    };

    /** Writes what stands in a reply box into the file. Where it could not the author is told, and this fails. */
    const send = async (reply: vscode.CommentReply): Promise<Named | undefined> => {
        const text = reply.text.trim();
        const there = comments.shown(reply.thread);
        const uri = reply.thread.uri.toString();
        // After a command that ends well the window empties the box.
        if (!server.runs()) {
            throw new vscode.CancellationError();
        }
        try {
            if (comments.isStale(reply.thread)) {
                throw new Error(`${UNREAD}: your text stays in its box, send it once more`);
            }
            if (there) {
                // The first words of its author name a thread: where these are they, it has another name now.
                const done = text === "" ? undefined : await server.ask<{ thread_id?: string | null } | null>("reply", { uri, thread_id: there.id, text });
                return { uri, thread_id: done?.thread_id ?? there.id };
            }
            switch (comments.isElsewhere(reply.thread)) {
                case "awaited":
                    throw new Error("these words are on their way into the file already");
                case "gone":
                    throw new Error("the thread is no longer in the file; nothing was written, and your words stay here");
                case undefined:
                    return await begin(reply.thread, text);
            }
        } catch (error) {
            void complain(`postil: ${because(error)}`);
            throw new vscode.CancellationError();
        }
    };

    const sendAndAsk = async (reply: vscode.CommentReply): Promise<void> => {
        const named = await send(reply);
        if (named) {
            await server.run("replyAsAgent", named);
        }
    };

    /** Writes the words in a message's box into the file. Where it could not, they stay in the box. */
    const save = async (note: Note): Promise<void> => {
        const there = comments.shown(note.view);
        const stands = there && place(there.messages, note);
        const was = stands !== undefined && stands.text === note.told ? note.told : note.text;
        if (there && note.draft.trim() === was) {
            comments.leave(note);
            return;
        }
        if (!server.runs()) {
            comments.refused(note);
            return;
        }
        try {
            if (comments.isStale(note.view)) {
                throw new Error(`${UNREAD}: your text stays in its box, save it once more`);
            }
            if (!there) {
                throw new Error("the thread is no longer in the file; nothing was written, and your words stay here");
            }
            if (stands?.text !== was) {
                // What is told here is what may be written over, and nothing newer.
                note.told = stands?.text;
                const now = stands && `: there it says \u201c${short(stands.text)}\u201d; save again, and yours hold`;
                throw new Error(`these words were changed or taken away in the file meanwhile; nothing was written${now ?? ""}`);
            }
            await server.ask("editMessage", { uri: note.view.uri.toString(), thread_id: there.id, index: stands.index, was, text: note.draft });
            comments.saved(note);
        } catch (error) {
            comments.refused(note);
            void complain(`postil: ${because(error)}`);
        }
    };

    /** Ctrl+Z in the text brings it back. A thread in which nothing else was said goes with it. */
    const takeBack = async (note: Note): Promise<void> => {
        const there = comments.shown(note.view);
        if (!there) {
            return;
        }
        const named = name({ uri: note.view.uri, thread: there });
        if (said(there).length > 1) {
            await server.run("editMessage", { ...named, index: note.index, was: note.text, text: "" });
        } else {
            await resolve({ uri: note.view.uri, thread: there });
        }
    };

    /** Every thread that waits, of a file or of all. Each is a turn, and may be paid. */
    const replyAll = async (uri: vscode.Uri | undefined): Promise<void> => {
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
    };

    /** One of the history, though its thread may be gone. */
    const openRun = async (): Promise<void> => {
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
    };

    /** The user's own settings that no editor may set; made where they are not there yet. */
    const openConfig = async (): Promise<void> => {
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
    };

    /** Whether a file that was pressed in the view, which need not be seen, is to be cleared. */
    const agrees = (uri: vscode.Uri): Promise<boolean> => {
        const threads = known.threads(uri).length;
        const what = `Clear ${threads === 1 ? "the thread" : `all ${threads} threads`} of ${vscode.workspace.asRelativePath(uri)} and commit the file?`;
        return confirm(what, "They are taken out of the text; the conversations stay in the history.", "Clear and Commit");
    };

    const all: Record<string, (...args: never[]) => unknown> = {
        "postil.comment.reply": (reply: vscode.CommentReply) => send(reply),
        "postil.comment.start": (reply: vscode.CommentReply) => send(reply),
        "postil.comment.ask": (reply: vscode.CommentReply) => sendAndAsk(reply),
        "postil.comment.startAndAsk": (reply: vscode.CommentReply) => sendAndAsk(reply),
        "postil.comment.edit": (note: Note) => {
            comments.edit(note);
        },
        "postil.comment.save": (note: Note) => save(note),
        "postil.comment.cancel": (note: Note) => {
            comments.leave(note);
        },
        "postil.comment.delete": (note: Note) => takeBack(note),
        "postil.replyAsAgent": onThread("replyAsAgent"),
        "postil.plan": onThread("plan"),
        "postil.askAnother": onThread("askAnother"),
        "postil.consult": onThread("consult"),
        "postil.processActions": () => server.run("processActions", {}),
        [CHOOSE]: (choice: Parameters<Questions["choose"]>[0]) => questions.choose(choice),
        "postil.reply": onThread("reply"),
        "postil.resolve": async (argument: unknown) => {
            const located = thread(argument);
            if (located) {
                await resolve(located);
            }
        },
        "postil.cancel": onThread("cancelTurn"),
        "postil.undoTurn": async (argument: unknown) => {
            await onThread("undoTurn")(argument);
            await reviews.settle();
        },
        "postil.replyAll": (argument: unknown) => replyAll(isFile(argument) ? argument.uri : undefined),
        "postil.replyAllInFile": async () => {
            const uri = here();
            if (uri) {
                await replyAll(uri);
            }
        },
        "postil.continue": onThread("continue"),
        "postil.newThread": async () => {
            const at = cursor();
            if (at) {
                await server.run("newThread", at);
            }
        },
        "postil.why": async () => {
            const at = cursor();
            if (at) {
                await whys.show(at);
            }
        },
        "postil.clearAndCommit": async (argument: unknown) => {
            const uri = isFile(argument) ? argument.uri : here();
            if (!uri || (isFile(argument) && !(await agrees(uri)))) {
                return;
            }
            await server.run("clearAndCommit", { uri: uri.toString() });
        },
        "postil.openConversation": onRun((run) => conversations.show(run)),
        "postil.reviewTurn": onRun((run) => reviews.show(run)),
        "postil.review.diff": onFile((file) => reviews.diff(file)),
        "postil.review.accept": onFile((file) => reviews.accept(file)),
        "postil.review.reject": onFile((file) => reviews.reject(file)),
        "postil.review.acceptAll": onReview((review) => reviews.accept(review)),
        "postil.review.rejectAll": onReview((review) => reviews.reject(review)),
        "postil.showThread": async (argument: unknown) => {
            const located = thread(argument);
            if (located) {
                await reveal(located, comments);
            }
        },
        "postil.nextThread": () => step(known, comments, 1),
        "postil.previousThread": () => step(known, comments, -1),
        "postil.groupByState": () => {
            tree.group(true);
        },
        "postil.groupByFile": () => {
            tree.group(false);
        },
        "postil.restart": () => server.restart(),
        "postil.stop": () => server.halt(),
        // The editor's own answer is the one that counts here.
        "postil.trust": () => vscode.commands.executeCommand("workbench.trust.manage"),
        "postil.showLog": () => {
            server.log.show();
        },
        "postil.doctor": () => {
            // As a person would: the answer is for reading. The program that came along is on no PATH.
            const terminal = vscode.window.createTerminal({ name: "postil doctor", ...(process.platform === "win32" ? { shellPath: "powershell.exe" } : {}) });
            terminal.show();
            terminal.sendText(`${quoted(server.program?.path ?? "postil")} doctor`);
        },
        "postil.openRun": openRun,
        "postil.selectModel": () => models.select(),
        "postil.openConfig": openConfig,
        "postil.openSettings": () => vscode.commands.executeCommand("workbench.action.openSettings", "@ext:postil.postil"),
        "postil.walkthrough": async () => {
            await vscode.commands.executeCommand("workbench.action.openWalkthrough", "postil.postil#start", false);
            // What came true before the editor first looked at the steps marks none of them as done.
            if (server.state.is === "running") {
                await vscode.commands.executeCommand("setContext", "postil.ran", true);
            }
        },
    };
    return Object.entries(all).map(([id, act]) => {
        const run = act as (...args: unknown[]) => unknown;
        return vscode.commands.registerCommand(id, ALONE.has(id) ? run : (...args: unknown[]) => (server.runs() ? run(...args) : undefined));
    });
}

/** A program as a shell takes it, PowerShell on Windows: whatever else the author has there quotes in another way. */
function quoted(program: string): string {
    if (/^[\w./-]+$/.test(program)) {
        return program;
    }
    return process.platform === "win32" ? `& '${program.replaceAll("'", "''")}'` : `'${program.replaceAll("'", "'\\''")}'`;
}

/** What the author looks at, also where the editor hands out no text of it. */
function looked(): vscode.Uri | undefined {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    return vscode.window.activeTextEditor?.document.uri ?? (tab instanceof vscode.TabInputText ? tab.uri : undefined);
}

/** Goes to a thread and opens it in the margin. */
export async function reveal({ uri, thread }: Located, comments: Comments): Promise<void> {
    const at = new vscode.Position(thread.range.start.line, thread.range.start.character);
    await vscode.window.showTextDocument(uri, { selection: new vscode.Range(at, at) });
    const view = comments.viewOf(uri, thread.id);
    if (view) {
        view.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    }
}

/** The next thread, in this file and then in the others. */
async function step(known: Known, comments: Comments, by: 1 | -1): Promise<void> {
    // `fsPath`: of one file on Windows `path` may have the drive in upper or lower case, as who told of it had it.
    const all = [...known.all()].sort((a, b) => a.uri.fsPath.localeCompare(b.uri.fsPath) || a.thread.range.start.line - b.thread.range.start.line);
    if (all.length === 0) {
        void inform("postil: there are no threads.");
        return;
    }
    const editor = vscode.window.activeTextEditor;
    const here = editor ? { path: editor.document.uri.fsPath, line: editor.selection.active.line } : { path: "", line: -1 };
    const order = (located: Located): number => located.uri.fsPath.localeCompare(here.path) || located.thread.range.start.line - here.line;
    const next =
        by === 1
            ? (all.find((located) => order(located) > 0) ?? all[0])
            : (all.findLast((located) => order(located) < 0 && !(located.uri.fsPath === here.path && located.thread.range.end.line >= here.line)) ?? all.at(-1));
    if (next) {
        await reveal(next, comments);
    }
}

function isCommentThread(argument: unknown): argument is vscode.CommentThread {
    return typeof argument === "object" && argument !== null && "collapsibleState" in argument && "uri" in argument;
}

function isReply(argument: unknown): argument is vscode.CommentReply {
    return typeof argument === "object" && argument !== null && "thread" in argument && isCommentThread(argument.thread);
}

