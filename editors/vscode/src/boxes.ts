// The boxes in the margin: what the author writes there goes into the file, and stays in its box if it cannot.

import * as vscode from "vscode";
import type { Comments, Note } from "./comments";
import type { Drafts } from "./drafts";
import { type Located, type Named, nameOf, UNREAD } from "./known";
import { because, complain, inform, warn } from "./say";
import { refused } from "./outside";
import { DOUBLE } from "./presses";
import type { Server } from "./server";
import { place, said, short } from "./threads";

interface Parts {
    server: Server;
    comments: Comments;
    drafts: Drafts;
    /** Removes a thread from the file. */
    resolve: (located: Located) => Promise<void>;
}

export interface Boxes {
    send: (reply: vscode.CommentReply) => Promise<Named | undefined>;
    sendAndAsk: (reply: vscode.CommentReply) => Promise<void>;
    save: (note: Note) => Promise<void>;
    cancel: (note: Note) => void;
    takeBack: (note: Note) => Promise<void>;
}

/** The window empties a box when its words are written: until then a second press sends the same, and is for the first. */
function once<T>(act: (reply: vscode.CommentReply) => Promise<T>): (reply: vscode.CommentReply) => Promise<T> {
    const sent = new Map<vscode.CommentThread, { text: string; done: Promise<T> }>();
    return ({ thread, text }) => {
        const before = sent.get(thread);
        if (before?.text === text) {
            return before.done;
        }
        const one = { text, done: act({ thread, text }) };
        sent.set(thread, one);
        const forget = (): void => {
            if (sent.get(thread) === one) {
                sent.delete(thread);
            }
        };
        // A press may be on its way still. What was refused stays in the box, to be sent again.
        one.done.then(() => setTimeout(forget, DOUBLE), forget);
        return one.done;
    };
}

export function boxesOf({ server, comments, drafts, resolve }: Parts): Boxes {
    /** Writes a thread that was begun in the margin. It may come to stand elsewhere: above a text over several lines, say. */
    const begin = async (view: vscode.CommentThread, text: string): Promise<Named | undefined> => {
        const uri = view.uri.toString();
        const line = view.range.start.line;
        comments.adopt(view, line);
        try {
            const done = await server.ask<{ thread_id?: string | null; line?: number | null; uri?: string }>("newThread", { uri, position: { line, character: 0 }, text });
            const there = vscode.Uri.parse(done.uri ?? uri, true);
            if (there.toString() !== uri) {
                // Under this name no thread is ever told of.
                comments.release(view);
                view.dispose();
                const [here, other] = [view.uri, there].map((one) => vscode.workspace.asRelativePath(one));
                void inform(`postil: ${here} and ${other} are one file, whose threads are shown in ${other}, which was opened first: your words stand there.`);
                return typeof done.thread_id === "string" ? { uri: there.toString(), thread_id: done.thread_id } : undefined;
            }
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
    const write = async (reply: vscode.CommentReply): Promise<Named | undefined> => {
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
            comments.teller.leave();
            if (there) {
                // The first words of its author name a thread: where these are they, it has another name now.
                const done = text === "" ? undefined : await server.ask<{ thread_id?: string | null } | null>("reply", { uri, thread_id: there.id, text });
                return { uri, thread_id: done?.thread_id ?? there.id };
            }
            switch (comments.isElsewhere(reply.thread)) {
                case "awaited":
                    throw new Error("what you sent here before is on its way into the file: send this in a moment");
                case "gone":
                    throw new Error("the thread is no longer in the file; nothing was written, and your words stay here");
                case undefined:
                    return await begin(reply.thread, text);
            }
        } catch (error) {
            void refused(because(error), uri);
            throw new vscode.CancellationError();
        }
    };

    const send = once((reply) => comments.teller.sending(() => drafts.send(reply.text, reply.thread.uri, () => write(reply))));

    const sendAndAsk = once((reply) =>
        comments.teller.sending(async () => {
            const named = await send(reply);
            if (named) {
                await server.run("replyAsAgent", named);
            }
        }),
    );

    /** The box of a message goes, by its author. */
    const cancel = (note: Note): void => {
        drafts.sent(note.draft, note.view.uri);
        comments.leave(note);
    };

    /** Writes the words in a message's box into the file. Where it could not, they stay in the box. */
    const save = async (note: Note): Promise<void> => {
        const there = comments.shown(note.view);
        const stands = there && place(there.messages, note);
        const was = stands !== undefined && stands.text === note.told ? note.told : note.text;
        if (there && note.draft.trim() === was) {
            cancel(note);
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
            const text = note.draft;
            const edit = { uri: note.view.uri.toString(), thread_id: there.id, index: stands.index, was, text };
            await drafts.send(text, note.view.uri, () => server.ask("editMessage", edit));
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
            void inform(`postil: ${comments.isStale(note.view) ? `${UNREAD}: try again in a moment` : "the thread is no longer in the file"}.`);
            return;
        }
        const named = nameOf({ uri: note.view.uri, thread: there });
        if (said(there).length > 1) {
            await server.run("editMessage", { ...named, index: note.index, was: note.text, text: "" });
        } else {
            await resolve({ uri: note.view.uri, thread: there });
        }
    };

    return {
        send,
        sendAndAsk,
        save,
        cancel,
        takeBack,
    };
}
