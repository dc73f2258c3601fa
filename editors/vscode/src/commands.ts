// The commands. Each may come from the palette or a key (the thread at the cursor), from a comment thread, from the
// tree, or with the server's own argument.

import * as vscode from "vscode";
import type { Comments, Note } from "./comments";
import type { Conversations } from "./conversation";
import type { Known, Located } from "./known";
import type { Position } from "./protocol";
import type { Questions } from "./questions";
import type { Reviewed, Reviews } from "./review";
import { complain, inform } from "./say";
import type { Server } from "./server";
import { CHOOSE, said, unfit } from "./threads";
import type { Node, ThreadTree } from "./tree";
import type { Whys } from "./why";

interface Parts {
    server: Server;
    known: Known;
    comments: Comments;
    tree: ThreadTree;
    conversations: Conversations;
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
    const { server, known, comments, tree, conversations, questions, reviews, whys } = parts;

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
        if (isNode(argument) && argument.is === "thread") {
            return argument;
        }
        const id = (argument as { thread_id?: unknown } | undefined)?.thread_id;
        if (typeof id === "string") {
            return known.byId(id);
        }
        const editor = vscode.window.activeTextEditor;
        const thread = editor && known.at(editor.document.uri, editor.selection.active.line);
        return editor && thread && { uri: editor.document.uri, thread };
    };

    const thread = (argument: unknown): Located | undefined => {
        const located = chosen(argument);
        if (!located && (looked() === undefined || here())) {
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
            }
        };

    const onReview =
        (act: (review: NonNullable<ReturnType<Reviews["review"]>>) => Promise<void>) =>
        async (argument: unknown): Promise<void> => {
            const review = reviews.review(argument);
            if (review) {
                await act(review);
            }
        };

    /** Writes what stands in a reply box into the file. `undefined`: it could not, the text stays in the box. */
    const send = async (reply: vscode.CommentReply): Promise<Named | undefined> => {
        const text = reply.text.trim();
        const there = comments.shown(reply.thread);
        const uri = reply.thread.uri.toString();
        try {
            if (there) {
                if (text !== "") {
                    await server.ask("reply", { uri, thread_id: there.id, text });
                }
                return { uri, thread_id: there.id };
            }
            const line = reply.thread.range.start.line;
            comments.adopt(reply.thread, line);
            const done = await server.ask<{ thread_id?: string }>("newThread", { uri, position: { line, character: 0 }, text });
            return done.thread_id === undefined ? undefined : { uri, thread_id: done.thread_id };
        } catch (error) {
            comments.release(reply.thread);
            const why = error instanceof Error ? error.message : String(error);
            // The box is empty by now: what was typed must not be lost with it.
            const again = "Copy My Text";
            if ((await complain(`postil: ${why}`, again)) === again) {
                await vscode.env.clipboard.writeText(reply.text);
            }
            return undefined;
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
        const stands = there?.messages[note.index];
        const was = note.told && stands?.role === note.role ? stands.text : note.text;
        if (there && note.draft.trim() === was) {
            comments.leave(note);
            return;
        }
        try {
            if (!there) {
                throw new Error("the thread is no longer in the file; nothing was written, and your words stay here");
            }
            await server.ask("editMessage", { uri: note.view.uri.toString(), thread_id: there.id, index: note.index, was, text: note.draft });
            comments.saved(note);
        } catch (error) {
            comments.refused(note);
            void complain(`postil: ${error instanceof Error ? error.message : String(error)}`);
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
            await server.run("dismissThread", named);
        }
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
        [CHOOSE]: (choice: Parameters<Questions["choose"]>[0]) => questions.choose(choice),
        "postil.reply": onThread("reply"),
        "postil.resolve": onThread("dismissThread"),
        "postil.cancel": onThread("cancelTurn"),
        "postil.undoTurn": onThread("undoTurn"),
        "postil.replyAll": async (argument: unknown) => {
            const uri = isNode(argument) && argument.is === "file" ? argument.uri : undefined;
            await server.run("replyAll", uri ? { uri: uri.toString() } : {});
        },
        "postil.replyAllInFile": async () => {
            const uri = here();
            if (uri) {
                await server.run("replyAll", { uri: uri.toString() });
            }
        },
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
            const uri = isNode(argument) && argument.is === "file" ? argument.uri : here();
            if (uri) {
                await server.run("clearAndCommit", { uri: uri.toString() });
            }
        },
        "postil.openConversation": async (argument: unknown) => {
            const run = (argument as { run_id?: unknown } | undefined)?.run_id;
            if (typeof run === "string") {
                await conversations.show({ run_id: run });
                return;
            }
            const located = thread(argument);
            if (located) {
                await conversations.show({ thread_id: located.thread.id });
            }
        },
        "postil.reviewTurn": async (argument: unknown) => {
            const run = (argument as { run_id?: unknown } | undefined)?.run_id;
            if (typeof run === "string") {
                await reviews.show({ run_id: run });
                return;
            }
            const located = thread(argument);
            if (located) {
                await reviews.show({ thread_id: located.thread.id });
            }
        },
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
        "postil.showLog": () => {
            server.log.show();
        },
        "postil.doctor": () => {
            // As a person would: the answer is for reading. The program that came along is on no PATH.
            const terminal = vscode.window.createTerminal({ name: "postil doctor" });
            terminal.show();
            terminal.sendText(`${quoted(server.program ?? "postil")} doctor`);
        },
        "postil.openSettings": () => vscode.commands.executeCommand("workbench.action.openSettings", "@ext:postil.postil"),
        "postil.walkthrough": async () => {
            await vscode.commands.executeCommand("workbench.action.openWalkthrough", "postil.postil#start", false);
            // What came true before the editor first looked at the steps marks none of them as done.
            if (server.state.is === "running") {
                await vscode.commands.executeCommand("setContext", "postil.ran", true);
            }
        },
    };
    return Object.entries(all).map(([id, run]) => vscode.commands.registerCommand(id, run as (...args: unknown[]) => unknown));
}

/** A program as a shell takes it, PowerShell on Windows. */
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

/** The next thread that waits, in this file and then in the others. */
async function step(known: Known, comments: Comments, by: 1 | -1): Promise<void> {
    const all = [...known.all()].sort((a, b) => a.uri.path.localeCompare(b.uri.path) || a.thread.range.start.line - b.thread.range.start.line);
    if (all.length === 0) {
        void inform("postil: there are no threads.");
        return;
    }
    const editor = vscode.window.activeTextEditor;
    const here = editor ? { path: editor.document.uri.path, line: editor.selection.active.line } : { path: "", line: -1 };
    const order = (located: Located): number => located.uri.path.localeCompare(here.path) || located.thread.range.start.line - here.line;
    const next =
        by === 1
            ? (all.find((located) => order(located) > 0) ?? all[0])
            : (all.findLast((located) => order(located) < 0 && !(located.uri.path === here.path && located.thread.range.end.line >= here.line)) ?? all.at(-1));
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

function isNode(argument: unknown): argument is Node {
    return typeof argument === "object" && argument !== null && "is" in argument;
}

