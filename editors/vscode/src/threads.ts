// Threads as plain data: which shown thread a new one is, what it is called, what its texts look like. Knows nothing
// of the editor.

import type { Message, Thread } from "./protocol";

/** What a thread waits for; the first part of `contextValue`, on which menus depend. */
export type State = "running" | "pending" | "answered" | "new";

export function stateOf(thread: Thread): State {
    if (thread.turn?.running) {
        return "running";
    }
    if (thread.status === "pending") {
        return "pending";
    }
    return thread.messages.some((message) => message.role === "agent") ? "answered" : "new";
}

/** In the words that the server has for it. */
export function stateLabel(thread: Thread): string {
    switch (stateOf(thread)) {
        case "running":
            return thread.turn?.message ? `Agent at work: ${thread.turn.message}` : "Agent at work";
        case "pending":
            return thread.turn?.failed ? `Awaiting agent (the last turn failed: ${thread.turn.message})` : "Awaiting agent";
        case "answered":
            return "Answered";
        case "new":
            return "New";
    }
}

/** Messages that say something: an empty AUTHOR line is where the author goes on. */
export function said(thread: Thread): Message[] {
    return thread.messages.filter((message) => message.text !== "");
}

/** What may be done with a message; "author.fixed": one's own, while an agent is at work. */
type Context = "agent" | "author" | "author.last" | "author.fixed";

/** The same, each with its place among all messages, and what may be done with it: `contextValue`, on which menus depend. */
export function spoken(thread: Thread): { message: Message; index: number; context: Context }[] {
    const last = thread.messages.findLastIndex((message) => message.text !== "");
    const own = (index: number): Context => (stateOf(thread) === "running" ? "author.fixed" : index === last ? "author.last" : "author");
    return thread.messages.flatMap((message, index) =>
        message.text === "" ? [] : [{ message, index, context: message.role === "agent" ? "agent" : own(index) }],
    );
}

export function speaker(message: Message): string {
    const role = message.role === "author" ? "AUTHOR" : "AGENT";
    return message.name ? `${role} (${message.name})` : role;
}

/** The agent's newest words in one line of a notification. */
export function question(thread: Thread): string {
    const text = thread.messages.findLast((message) => message.role === "agent")?.text ?? "";
    const line = text.split(/\s+/).join(" ").trim();
    return line.length > QUESTION ? `${line.slice(0, QUESTION - 1)}…` : line;
}

/** Characters of a question in a notification. */
const QUESTION = 300;

/** Characters for which the buttons of a notification have room. */
const ROOM = 36;

/**
 * What the buttons say under which a question's answers are chosen: the answers, or their letters where there is no room
 * and the question has them whole. `undefined`: they want a list.
 */
export function buttons(thread: Thread): string[] | undefined {
    const choices = thread.choices ?? [];
    const fits = (labels: string[]): boolean => labels.join("").length + 4 * labels.length <= ROOM;
    const letters = choices.map((choice) => choice.slice(0, 3));
    return fits(choices) ? choices : fits(letters) && !question(thread).endsWith("…") ? letters : undefined;
}

/** What a question offers, below it: a link for each answer that gives it. Empty: nothing. */
export function offers(thread: Thread): string {
    const links = (thread.choices ?? []).map((text) => {
        const choice = encodeURIComponent(JSON.stringify([{ thread_id: thread.id, text }]));
        const whole = choice.replace(/[()]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
        return `[${escape(text)}](command:${CHOOSE}?${whole})`;
    });
    return links.length > 0 ? `\n\n${links.join(" · ")}` : "";
}

/** The one command that a message in the margin may run. */
export const CHOOSE = "postil.choose";

/** The editor makes a link of `[words](command:…)` in a notification, and a click on it runs the command: not of what others say. */
export function unlinked(text: string): string {
    return text.replaceAll("](", "]\u200b(");
}

/** Why nothing can be asked in what the author looks at; `undefined`: it can. `open`: the editor hands out its text. */
export function unfit(scheme: string | undefined, open: boolean): string | undefined {
    switch (scheme) {
        case undefined:
            return "open a file that is on the disk, and put the cursor on the line that you ask about";
        case "file":
            return open ? undefined : "VS Code hands neither binary files nor those of more than 50 MB to its extensions: ask in another file";
        case "untitled":
            return "save this file first: a thread stands in a file on the disk";
        case "vscode-notebook-cell":
            return "write the thread into the cell as a comment, `AUTHOR:` and your question, and save the notebook";
        default:
            return `this text is on no disk (${scheme}:), where postil reads and writes: open the file itself`;
    }
}

/**
 * For each of `now` the index of the shown thread that it is, or -1. By id first; the id of a thread changes with its
 * first words, so that one that is being typed is known by where it stands.
 */
export function pair(shown: { id: string; line: number }[], now: Thread[]): number[] {
    const byId = new Map(shown.map((one, index) => [one.id, index]));
    const free = new Set(shown.keys());
    const found = now.map((thread) => {
        const index = byId.get(thread.id);
        return index !== undefined && free.delete(index) ? index : -1;
    });
    const byLine = new Map<number, number>();
    for (const index of free) {
        const one = shown[index];
        if (one) {
            byLine.set(one.line, index);
        }
    }
    return found.map((index, at) => {
        const line = now[at]?.range.start.line;
        const same = line === undefined ? undefined : byLine.get(line);
        if (index >= 0 || same === undefined || line === undefined) {
            return index;
        }
        byLine.delete(line);
        return same;
    });
}

/**
 * A text of a file as Markdown that shows it as it stands: code spans and fences stay code, nothing becomes a link, an
 * image, a heading or HTML. An image alone would tell its host that somebody reads this file.
 */
export function asMarkdown(text: string): string {
    const out: string[] = [];
    let fence: string | undefined;
    for (const line of text.split("\n")) {
        const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
        if (fence !== undefined) {
            out.push(line);
            if (mark?.startsWith(fence) && line.trim() === mark) {
                fence = undefined;
            }
        } else if (mark !== undefined) {
            fence = mark;
            // The word behind a fence names a language; anything else of it is text that could end it.
            out.push(mark + (/^\s*[`~]+\s*([\w+#-]*)/.exec(line)?.[1] ?? ""));
        } else {
            out.push(`${inline(line)}  `);
        }
    }
    if (fence !== undefined) {
        out.push(fence);
    }
    return out.join("\n");
}

/** One line: what stands between back quotes as code, the rest escaped. */
function inline(line: string): string {
    const trimmed = line.trimStart();
    const indent = "&nbsp;".repeat(line.length - trimmed.length);
    const parts = trimmed.split(/(`[^`]+`)/);
    const shown = parts.map((part, index) => (index % 2 === 1 ? part : escape(part)));
    return indent + shown.join("");
}

function escape(text: string): string {
    return (
        text
            .replace(/&/g, "&amp;")
            .replace(/</g, "&lt;")
            .replace(/[\\`*_{}[\]()#+\-.!|~>$]/g, "\\$&")
            // A bare address would become a link: what is clicked should have been meant so.
            .replace(/(https?|www|ftp|mailto)(?=[:\\])/gi, "$1&#8203;")
    );
}

export interface Counts {
    pending: number;
    running: number;
    answered: number;
    new: number;
}

export function count(threads: Iterable<Thread>): Counts {
    const counts: Counts = { pending: 0, running: 0, answered: 0, new: 0 };
    for (const thread of threads) {
        counts[stateOf(thread)] += 1;
    }
    return counts;
}

/** `2 awaiting agent · 1 answered`. */
export function countsLabel(counts: Counts): string {
    const parts: [number, string][] = [
        [counts.running, "at work"],
        [counts.pending, "awaiting agent"],
        [counts.answered, "answered"],
        [counts.new, "new"],
    ];
    return parts
        .filter(([many]) => many > 0)
        .map(([many, what]) => `${many} ${what}`)
        .join(" · ");
}

/** `$0.12`; nothing where nothing was spent. */
export function money(dollars: number): string {
    if (dollars <= 0) {
        return "";
    }
    return dollars < 0.01 ? "<$0.01" : `$${dollars.toFixed(2)}`;
}
