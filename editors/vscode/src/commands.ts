// The commands. Each may come from the palette or a key (the thread at the cursor), from a comment thread, from the
// tree, or with the server's own argument.

import * as vscode from "vscode";
import { boxesOf } from "./boxes";
import { isInTab } from "./closed";
import type { Comments, Note } from "./comments";
import type { Conversations } from "./conversation";
import type { Drafts } from "./drafts";
import { columnOf, type Known, type Located, type Named, nameOf, open, textEditor, UNREAD } from "./known";
import type { Models } from "./models";
import { openFolderOf } from "./outside";
import { DOUBLE, Presses } from "./presses";
import { PREFIX, type Position } from "./protocol";
import type { Questions } from "./questions";
import type { Reviewed, Reviews } from "./review";
import { Doctor, openConfig, openRun, replyAll, tellRefused } from "./runs";
import { confirm, inform } from "./say";
import type { Server } from "./server";
import { CHOOSE, unfit } from "./threads";
import { isFile, isRow, isThread, type ThreadTree } from "./tree";
import type { Whys } from "./why";

/** What needs no server. The boxes in the margin ask for one themselves: what stands in them is kept where there is none. */
const ALONE = new Set(
    ["comment.reply", "comment.start", "comment.ask", "comment.startAndAsk", "comment.edit", "comment.save", "comment.cancel"]
        .concat(["review.diff", "review.accept", "review.acceptAll", "review.reject", "review.rejectAll", "groupByState", "groupByFile", "filter", "changeFilter", "showAll"])
        .concat(["openFolder", "showElsewhere", "restart", "stop", "trust", "showLog", "doctor", "openSettings", "walkthrough"])
        .map((verb) => `postil.${verb}`),
);

/** A press on a row, or in the title of a diff, lets the next one take its place: the second press of a double click would be for that. */
const TAKEN = new Set(["resolve", "replyAllInFile", "review.accept", "review.acceptAll", "review.reject", "review.rejectAll"].map((verb) => `postil.${verb}`));

/** The same of a lens: the verbs of those that take each other's place. */
const OF_TURNS = new Set(["replyAsAgent", "cancelTurn", "continue", "undoTurn"]);

/** What is of use before there is a file or a folder: the server is started for it. */
const ANYWHERE = new Set(["postil.selectModel", "postil.openConfig"]);

/** The title of a diff, in which the buttons stay where they are when the next one comes. */
const TITLE = "title";

interface Parts {
    server: Server;
    known: Known;
    comments: Comments;
    drafts: Drafts;
    tree: ThreadTree;
    conversations: Conversations;
    models: Models;
    questions: Questions;
    reviews: Reviews;
    whys: Whys;
}

interface Registered {
    commands: vscode.Disposable;
    /** A lens or an action of the light bulb was taken, with the server's own argument. */
    pressed: (verb: string, argument: object) => Promise<unknown>;
}

/** A lens runs its command in this process, and the walkthrough hears nothing of that: it sees the command's key come and go. */
async function tellWalkthrough(command: string): Promise<void> {
    for (const pressed of [true, undefined]) {
        await vscode.commands.executeCommand("setContext", command, pressed);
    }
}

export function register(parts: Parts): Registered {
    const { server, known, comments, drafts, tree, conversations, models, questions, reviews, whys } = parts;

    const doctor = new Doctor(server);

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
        const thread = editor && known.at(editor.document.uri, editor.selection.active);
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

    /** Runs a verb on a thread; pressed at one in the margin, its button may be gone as soon as it does. */
    const run = async (verb: string, argument: unknown, named: object): Promise<void> => {
        if (isCommentThread(argument)) {
            await comments.teller.pressed();
        }
        await server.run(verb, named);
    };

    const onThread =
        (verb: string) =>
        async (argument: unknown): Promise<void> => {
            const located = thread(argument);
            if (located) {
                await run(verb, argument, nameOf(located));
            }
        };

    /** The text that was looked at last. */
    let last = vscode.window.activeTextEditor;
    const looking = vscode.window.onDidChangeActiveTextEditor((editor) => {
        last = editor?.document.uri.scheme === "file" ? editor : last;
    });

    /** From a page that is no text, as the walkthrough, to the text that was looked at before it, where that is still open. */
    const backToText = async (): Promise<void> => {
        const uri = last?.document.uri;
        if (isPage() && uri && isInTab(uri)) {
            await vscode.window.showTextDocument(uri, { viewColumn: last?.viewColumn ?? vscode.ViewColumn.Active });
        }
    };

    const presses = new Presses();
    const isSecond = (argument: unknown, located?: Located): boolean => {
        const row = tree.row(argument) ?? reviews.row(argument);
        return presses.isSecond(located ? JSON.stringify(nameOf(located)) : (row?.id ?? TITLE), row?.place);
    };

    /** The buttons of these take each other's place: the second press of a double click is for none of them. */
    const onTurn =
        (verb: string) =>
        async (argument: unknown): Promise<void> => {
            const located = thread(argument);
            if (located && !isSecond(argument, located)) {
                await run(verb, argument, nameOf(located));
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
                await act(nameOf(located));
            }
        };

    /**
     * Threads that are put away at this moment, each with its file: another with the same first words has the name of the
     * first of them then. One that an undo brings back may be put away again at once.
     */
    const resolving = new Map<string, string>();
    const undone = vscode.workspace.onDidChangeTextDocument(({ document, reason }) => {
        if (reason === vscode.TextDocumentChangeReason.Undo) {
            const uri = document.uri.toString();
            for (const [key, file] of resolving) {
                if (file === uri) {
                    resolving.delete(key);
                }
            }
        }
    });

    const resolve = async (located: Located): Promise<void> => {
        const named = nameOf(located);
        const key = JSON.stringify(named);
        if (resolving.has(key)) {
            return;
        }
        resolving.set(key, located.uri.toString());
        const takeBack = comments.resolve(located.uri, located.thread.id);
        if ((await server.run("dismissThread", named)) === undefined) {
            takeBack();
        }
        setTimeout(() => resolving.delete(key), DOUBLE);
    };

    const boxes = boxesOf({ server, comments, drafts, resolve });

    /** The line that is asked about. */
    const cursor = (): { uri: string; position: Position } | undefined => {
        const uri = here();
        const line = vscode.window.activeTextEditor?.selection.active.line;
        return uri && line !== undefined ? { uri: uri.toString(), position: { line, character: 0 } } : undefined;
    };

    const reviewOf = onRun((run) => reviews.show(run));

    const reviewNewest = async (): Promise<void> => {
        const changed = [...known.all()].filter(({ thread }) => thread.has_changes && thread.has_edits !== false);
        const began = ({ thread }: Located): number => Date.parse(known.turns.get(thread.turn?.run_id ?? "")?.started ?? "") || 0;
        const [newest] = changed.sort((a, b) => began(b) - began(a));
        if (newest) {
            await reviews.show(nameOf(newest));
        } else {
            void inform("postil: no turn has changed a file that could be reviewed. Its thread has Review Changes then.");
            await vscode.commands.executeCommand("postil.threads.focus");
        }
    };

    const onFile =
        (act: (file: Reviewed) => Promise<void>) =>
        async (argument: unknown): Promise<void> => {
            const file = reviews.file(argument);
            if (file) {
                await act(file);
            } else {
                void inform("postil: put the cursor into the diff of a file that is to be reviewed, or choose the file in the view Review. Review Changes at its thread leads there.");
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

    /** Whether a file that was pressed in the view, which need not be seen, is to be cleared. */
    const agrees = (uri: vscode.Uri): Promise<boolean> => {
        const threads = known.threads(uri).length;
        const what = `Clear ${threads === 1 ? "the thread" : `all ${threads} threads`} of ${vscode.workspace.asRelativePath(uri)} and commit the file?`;
        return confirm(what, "They are taken out of the text; the conversations stay in the history.", "Clear and Commit");
    };

    const all: Record<string, (...args: never[]) => unknown> = {
        "postil.comment.reply": (reply: vscode.CommentReply) => boxes.send(reply),
        "postil.comment.start": (reply: vscode.CommentReply) => boxes.send(reply),
        "postil.comment.ask": (reply: vscode.CommentReply) => boxes.sendAndAsk(reply),
        "postil.comment.startAndAsk": (reply: vscode.CommentReply) => boxes.sendAndAsk(reply),
        "postil.comment.edit": (note: Note) => {
            comments.edit(note);
        },
        "postil.comment.save": (note: Note) => boxes.save(note),
        "postil.comment.cancel": (note: Note) => {
            boxes.cancel(note);
        },
        "postil.comment.delete": (note: Note) => boxes.takeBack(note),
        "postil.replyAsAgent": onTurn("replyAsAgent"),
        "postil.plan": onThread("plan"),
        "postil.askAnother": onThread("askAnother"),
        "postil.consult": onThread("consult"),
        "postil.processActions": () => server.run("processActions", {}),
        [CHOOSE]: (link: Parameters<Questions["follow"]>[0]) => questions.follow(link),
        "postil.reply": onThread("reply"),
        "postil.resolve": async (argument: unknown) => {
            const located = thread(argument);
            if (located) {
                await resolve(located);
            }
        },
        "postil.cancel": onTurn("cancelTurn"),
        "postil.undoTurn": async (argument: unknown) => {
            const located = thread(argument);
            if (located && !isSecond(argument, located)) {
                await run("undoTurn", argument, { ...nameOf(located), turn: located.thread.changed_turn });
                await reviews.settle();
            }
        },
        // From the view's title it comes with the row that was chosen there last.
        "postil.replyAll": () => replyAll(server, known, undefined),
        "postil.replyAllInFile": async (argument: unknown) => {
            const uri = isFile(argument) ? argument.uri : here();
            if (uri) {
                await replyAll(server, known, uri);
            }
        },
        "postil.continue": onTurn("continue"),
        "postil.newThread": async () => {
            await backToText();
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
        "postil.reviewTurn": async (argument: unknown) => {
            // A page that is no text, as the walkthrough, has no cursor at a thread.
            await (argument === undefined && isPage() ? reviewNewest() : reviewOf(argument));
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
        "postil.showElsewhere": async (argument: unknown) => {
            const there = isCommentThread(argument) && known.twin(argument.uri);
            if (there) {
                await vscode.window.showTextDocument(there, { viewColumn: columnOf(there) });
            }
        },
        "postil.openFolder": async (argument: unknown) => {
            const uri = isFile(argument) || isThread(argument) || isCommentThread(argument) ? argument.uri : here();
            if (uri) {
                await openFolderOf(uri);
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
        "postil.filter": () => tree.chooseFilter(),
        "postil.changeFilter": () => tree.chooseFilter(),
        "postil.showAll": () => {
            tree.show("all");
        },
        // Unanswered it goes behind the bell after a while, from where the window lets nobody take one alone.
        "postil.showQuestion": async () => {
            if ([...known.each()].some(({ turn }) => turn?.running && turn.waits)) {
                await vscode.commands.executeCommand("notifications.showList");
            } else {
                void inform("postil: no agent waits for an answer of yours.");
            }
        },
        "postil.restart": () => server.restart(),
        "postil.stop": () => server.halt(),
        // The editor's own answer is the one that counts here.
        "postil.trust": () => vscode.commands.executeCommand("workbench.trust.manage"),
        "postil.showLog": () => {
            server.log.show();
        },
        "postil.doctor": () => doctor.show(),
        "postil.openRun": () => openRun(server, conversations),
        "postil.selectModel": () => models.select(),
        "postil.openConfig": () => openConfig(server),
        "postil.openSettings": () => vscode.commands.executeCommand("workbench.action.openSettings", "@ext:postil.postil"),
        "postil.walkthrough": async () => {
            await vscode.commands.executeCommand("workbench.action.openWalkthrough", "postil.postil#start", false);
            // What came true before the editor first looked at the steps marks none of them as done.
            if (server.state.is === "running") {
                await vscode.commands.executeCommand("setContext", "postil.ran", true);
            }
        },
    };
    const isRunning = (): boolean => server.state.is === "running";
    const commands = Object.entries(all).map(([id, act]) => {
        const acts = act as (...args: unknown[]) => unknown;
        const onRow = (...args: unknown[]): unknown => ((isRow(args[0]) || args[0] instanceof vscode.Uri) && isSecond(args[0], isThread(args[0]) ? args[0] : undefined) ? undefined : acts(...args));
        const run = TAKEN.has(id) ? onRow : acts;
        const served = async (...args: unknown[]): Promise<unknown> => {
            if (server.state.is === "off" && ANYWHERE.has(id)) {
                await server.start();
                // Where it could not the author was told just now.
                return isRunning() ? run(...args) : undefined;
            }
            return server.runs() ? run(...args) : undefined;
        };
        return vscode.commands.registerCommand(id, ALONE.has(id) ? run : served);
    });

    /** What is more here than a word to the server. */
    const shown: Record<string, (argument: object) => Promise<unknown>> = {
        openConversation: (argument) => conversations.show(argument),
        why: (argument) => whys.show(argument as { uri: string; position: Position }),
        replyAll: async (argument) => {
            tellRefused(await server.run("replyAll", argument));
        },
        dismissThread: async (argument) => {
            const located = chosen(argument);
            await (located ? resolve(located) : server.run("dismissThread", argument));
        },
    };
    const pressed = async (verb: string, argument: object): Promise<unknown> => {
        const located = OF_TURNS.has(verb) ? chosen(argument) : undefined;
        if (located && isSecond(argument, located)) {
            return undefined;
        }
        void tellWalkthrough(PREFIX + verb);
        return shown[verb]?.(argument) ?? server.run(verb, argument);
    };
    return { commands: vscode.Disposable.from(...commands, doctor, undone, looking), pressed };
}

/** What the author looks at, also where the editor hands out no text of it. */
function looked(): vscode.Uri | undefined {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    return vscode.window.activeTextEditor?.document.uri ?? (tab instanceof vscode.TabInputText ? tab.uri : undefined);
}

/** Whether a page is looked at that is neither a file nor anything made of files: of the walkthrough the window tells no more. */
function isPage(): boolean {
    const { activeTextEditor, tabGroups } = vscode.window;
    const tab = tabGroups.activeTabGroup.activeTab;
    return !activeTextEditor && tab !== undefined && (tab.input === undefined || tab.input instanceof vscode.TabInputWebview);
}

/** Goes to a thread and opens it in the margin. */
export async function reveal({ uri, thread }: Located, comments: Comments): Promise<void> {
    const { line, character } = thread.range.start;
    await open({ uri, thread }, line, character);
    const view = comments.viewOf(uri, thread.id);
    if (view) {
        view.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    }
}

/** Where the last step in a notebook led to, which has no cursor in its own lines. */
let stepped: Located | undefined;

/** The next thread, in this file and then in the others. */
async function step(known: Known, comments: Comments, by: 1 | -1): Promise<void> {
    // `fsPath`: of one file on Windows `path` may have the drive in upper or lower case, as who told of it had it.
    const order = (a: vscode.Uri, b: vscode.Uri): number => a.fsPath.localeCompare(b.fsPath);
    const byLine = (a: Position, b: Position): number => a.line - b.line || a.character - b.character;
    const all = [...known.all()].sort((a, b) => order(a.uri, b.uri) || byLine(a.thread.range.start, b.thread.range.start));
    if (all.length === 0) {
        void inform("postil: there are no threads.");
        return;
    }
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    const notebook = tab instanceof vscode.TabInputNotebook ? tab.uri : undefined;
    const editor = textEditor();
    const uri = notebook ?? editor?.document.uri;
    const last = notebook && stepped?.uri.toString() === notebook.toString() ? stepped.thread.range.start : undefined;
    const at = notebook ? (last ?? { line: -1, character: 0 }) : editor?.selection.active;
    const current = editor && !notebook ? known.on(editor.document.uri, editor.selection.active) : undefined;
    const from = (one: Located): number => (uri && at ? order(one.uri, uri) || byLine(one.thread.range.start, at) : 1);
    const others = all.filter(({ thread }) => thread !== current);
    const next = by === 1 ? (others.find((one) => from(one) > 0) ?? all[0]) : (others.findLast((one) => from(one) < 0) ?? all.at(-1));
    if (next) {
        stepped = next;
        await reveal(next, comments);
    }
}

function isCommentThread(argument: unknown): argument is vscode.CommentThread {
    return typeof argument === "object" && argument !== null && "collapsibleState" in argument && "uri" in argument;
}

function isReply(argument: unknown): argument is vscode.CommentReply {
    return typeof argument === "object" && argument !== null && "thread" in argument && isCommentThread(argument.thread);
}

