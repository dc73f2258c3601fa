// Threads as plain data: which shown thread a new one is, what it is called, what its texts look like. Knows nothing
// of the editor.

import type { Message, Position, Range, Thread } from "./protocol";

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

/** The same where threads are counted and grouped: what asks the author something is apart. */
export type Group = State | "asking";

/** `waits`: its turn stands still until the author says something. */
export function groupOf(thread: Thread, waits: boolean): Group {
    const state = stateOf(thread);
    return waits || (state === "answered" && thread.asks) ? "asking" : state;
}

/** In the words that the server has for it. `reviewed`: the author looks at what its turn wants to change. */
export const AT_WORK = "Agent at work";

export function stateLabel(thread: Thread, reviewed = false): string {
    if (thread.is_outside) {
        return "Outside the workspace: open its folder to work with it";
    }
    switch (stateOf(thread)) {
        case "running":
            if (thread.turn?.waits) {
                return "Waits for your answer";
            }
            if (reviewed) {
                return `Waits for you: ${thread.turn?.message || "changes to be reviewed"}`;
            }
            return thread.turn?.message ? `${AT_WORK}: ${thread.turn.message}` : AT_WORK;
        case "pending":
            return thread.turn?.failed ? `Awaiting agent (the last turn failed: ${thread.turn.message})` : "Awaiting agent";
        case "answered":
            return thread.is_paused ? "Paused" : thread.asks ? "Asks you" : "Answered";
        case "new":
            return "New";
    }
}

/** Which threads are shown. */
export const FILTERS = ["all", "pending", "waiting", "running"] as const;
export type Filter = (typeof FILTERS)[number];

/** Whether a thread is shown; `waits`: its turn stands still until the author says something. */
export function fits(filter: Filter, thread: Thread, waits: boolean): boolean {
    const state = stateOf(thread);
    switch (filter) {
        case "all":
            return true;
        case "pending":
            return state === "pending";
        // The agent has spoken last, also to say that it paused; or it is for the author to write the first word.
        case "waiting":
            return waits || state === "answered" || state === "new";
        case "running":
            return state === "running";
    }
}

/** The path of a file that is in one root with a turn's own, which is at `path`; `undefined`: that one is called otherwise there. */
export function besides(path: string, own: string, file: string): string | undefined {
    if (file === own) {
        return path;
    }
    return path.endsWith(`/${own}`) ? path.slice(0, -own.length) + file : undefined;
}

/** Messages that say something: an empty AUTHOR line is where the author goes on. */
export function said(thread: Thread): Message[] {
    return thread.messages.filter((message) => message.text !== "");
}

/** What may be done with a message; "author.fixed": one's own, of which nothing may be changed now. */
type Context = "agent" | "author" | "author.last" | "author.fixed";

/** The same, each with its place among all messages, and what may be done with it: `contextValue`, on which menus depend. */
export function spoken(thread: Thread): { message: Message; index: number; context: Context }[] {
    const last = thread.messages.findLastIndex((message) => message.text !== "");
    const own = (index: number): Context => (stateOf(thread) === "running" || thread.is_outside ? "author.fixed" : index === last ? "author.last" : "author");
    return thread.messages.flatMap((message, index) =>
        message.text === "" ? [] : [{ message, index, context: message.role === "agent" ? "agent" : own(index) }],
    );
}

/** The author's message that a box was opened for, and where it stands by now. `undefined`: it is not there any more. */
export function place(messages: Message[], was: { index: number; text: string }): { index: number; text: string } | undefined {
    const own = messages.flatMap(({ role, text }, index) => (role === "author" ? [{ index, text }] : []));
    const same = own.filter(({ text }) => text === was.text);
    const [only] = same;
    return same.find(({ index }) => index === was.index) ?? (same.length === 1 ? only : own.find(({ index }) => index === was.index));
}

export function speaker(message: Message): string {
    const role = message.role === "author" ? "AUTHOR" : "AGENT";
    return message.name ? `${role} (${message.name})` : role;
}

/** The agent's newest words in one line of a notification. */
export function question(thread: Thread): string {
    return short(thread.messages.findLast((message) => message.role === "agent")?.text ?? "");
}

/** What was said, in one line of a notification. */
export function short(text: string): string {
    const line = text.split(/\s+/).join(" ").trim();
    return line.length > QUESTION ? `${line.slice(0, QUESTION - 1)}…` : line;
}

/** Characters of what was said in a notification. */
const QUESTION = 300;

/** Characters for which the buttons of a notification have room. */
const ROOM = 36;

const fitting = (labels: string[]): boolean => labels.join("").length + 4 * labels.length <= ROOM;

/** The button that leads to a list. */
export const MORE = "More …";

/** The buttons of a question that the server asks. Cut off by the window nobody could read them: then the first, the last, which refuses, and a list of all. */
export function asked(labels: string[]): string[] {
    const [first, last] = [labels[0], labels.at(-1)];
    return labels.length < 3 || fitting(labels) || first === undefined || last === undefined ? labels : [first, last, MORE];
}

/**
 * What the buttons say under which a question's answers are chosen: the answers, or their letters where there is no room
 * and the question has them whole. `undefined`: they want a list.
 */
export function buttons(thread: Thread): string[] | undefined {
    const choices = thread.choices ?? [];
    const letters = choices.map((choice) => choice.slice(0, 3));
    return fitting(choices) ? choices : fitting(letters) && !question(thread).endsWith("…") ? letters : undefined;
}

/** What a question offers, below it: a link for each answer that gives it. Empty: nothing. */
export function offers(uri: string, thread: Thread): string {
    const links = (thread.choices ?? []).map((text) => {
        // The editor decodes it twice.
        const choice = encodeURIComponent(encodeURIComponent(JSON.stringify([{ uri, thread_id: thread.id, text, key: KEY }])));
        const whole = choice.replace(/[()]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
        return `[${label(text)}](command:${CHOOSE}?${whole})`;
    });
    return links.length > 0 ? `\n\n${links.join(" · ")}` : "";
}

/** The one command that a message in the margin may run. */
export const CHOOSE = "postil.choose";

/** What a link that was made here holds, and no text can. */
export const KEY = crypto.randomUUID();

/** The words of a link. In these the editor takes the escapes of brackets away before it reads what is inside: none are used. */
function label(text: string): string {
    return text.replace(/[!-/:-@[-`{-~]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** The editor makes a link of `[words](command:…)` in a notification, and a click on it runs the command: not of what others say. */
export function unlinked(text: string): string {
    return text.replaceAll("](", "]\u200b(");
}

/** The editor makes an icon of `$(name)` in lists, lenses and the status bar, or nothing where there is none: not of what others say. */
export function unadorned(text: string): string {
    return text.replaceAll("$(", "$\u200b(");
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
        case "comment":
            return "this is a box of the margin: Escape leads back to the text, where the thread at the cursor is meant";
        case "vscode-notebook-cell":
            return "write the thread into the cell as a comment, `AUTHOR:` and your question, and save the notebook; the view Threads has what can be done with it";
        default:
            return `this text is on no disk (${scheme}:), where postil reads and writes: open the file itself`;
    }
}

/** A thread as it is shown. */
export interface Placed {
    id: string;
    line: number;
    /** [`content`] of it. */
    said?: string;
    /** Begun in the margin. */
    awaited?: boolean;
    /** It was taken out of the text, for good or for a moment. */
    gone?: boolean;
}

/** What is said in a thread, to tell it from others. */
export function content(thread: Thread): string {
    return JSON.stringify(thread.messages.map(({ role, text }) => [role, text]));
}

/**
 * For each of `now` the index of the shown thread that it is, or -1. By id first, of which only what stands for the first
 * words is lasting: threads with the same are numbered as they stand in the file. One whose first words are being typed
 * is known by its line.
 */
export function pair(shown: Placed[], now: Thread[]): number[] {
    const found = now.map(() => -1);
    const threads = now.map((thread, at) => ({ at, thread, base: base(thread.id), line: thread.range.start.line }));
    const free = new Set(shown.map((one, index) => ({ index, base: base(one.id), ...one })));
    type Free = typeof free extends Set<infer One> ? One : never;
    type Sought = (typeof threads)[number];
    const take = ({ at }: Sought, one: Free): void => {
        found[at] = one.index;
        free.delete(one);
    };
    const sought = (): Sought[] => threads.filter(({ at }) => found[at] === -1);
    const distance = (one: Free, { line }: Sought): number => Math.abs(one.line - line);
    const isFree = (one: Free): boolean => free.has(one);
    const isSought = ({ at }: Sought): boolean => found[at] === -1;
    // What left the text comes back to what nothing else is.
    for (const gone of [false, true]) {
        const left = (): Free[] => [...free].filter((one) => (one.gone ?? false) === gone);
        const named = grouped(left(), (one) => one.base);
        const placed = grouped(left(), (one) => `${one.line} ${one.base}`);
        for (const thread of sought()) {
            const there = (placed.get(`${thread.line} ${thread.base}`) ?? []).filter(isFree);
            const one = there.find(({ awaited }) => awaited) ?? there[0];
            if (one) {
                take(thread, one);
            }
        }
        for (const [name, these] of grouped(sought(), (thread) => thread.base)) {
            const ones = (named.get(name) ?? []).filter(isFree);
            if (ones.length === 0) {
                continue;
            }
            if (ones.length + these.length > 2) {
                const same = grouped(ones, (one) => one.said ?? "");
                for (const [said, [thread, ...others]] of grouped(these, ({ thread }) => content(thread))) {
                    const [one, ...more] = same.get(said) ?? [];
                    if (thread && one && others.length === 0 && more.length === 0) {
                        take(thread, one);
                    }
                }
            }
            const [olds, news] = [ones.filter(isFree).sort((a, b) => a.line - b.line), these.filter(isSought)];
            if (olds.length === news.length) {
                for (const [at, thread] of news.entries()) {
                    const one = olds[at];
                    if (one) {
                        take(thread, one);
                    }
                }
                continue;
            }
            // The others can take at most so many that are nearer.
            const about = (one: Free): Sought[] => {
                const at = news.findIndex(({ line }) => line >= one.line);
                const middle = at < 0 ? news.length : at;
                return news.slice(Math.max(0, middle - olds.length), middle + olds.length);
            };
            const near = olds.flatMap((one) => about(one).map((thread) => ({ one, thread }))).sort((a, b) => distance(a.one, a.thread) - distance(b.one, b.thread));
            for (const { one, thread } of near) {
                if (isFree(one) && isSought(thread)) {
                    take(thread, one);
                }
            }
        }
        const byLine = new Map(left().map((one) => [one.line, one]));
        for (const thread of sought()) {
            const one = byLine.get(thread.line);
            if (one && free.has(one)) {
                take(thread, one);
            }
        }
    }
    return found;
}

/** What `key` says the same of, together, in the order in which they came. */
function grouped<Item>(items: Iterable<Item>, key: (item: Item) => string): Map<string, Item[]> {
    const groups = new Map<string, Item[]>();
    for (const item of items) {
        const group = groups.get(key(item));
        if (group) {
            group.push(item);
        } else {
            groups.set(key(item), [item]);
        }
    }
    return groups;
}

/**
 * Those of `now` that are shown, each with the index of what shows it already, or -1: these and those that are wanted, and
 * of the others the first, up to `most` in all.
 */
export function pick(now: Thread[], found: number[], isWanted: (thread: Thread) => boolean, most: number): { thread: Thread; index: number }[] {
    const all = now.map((thread, at) => ({ thread, index: found[at] ?? -1 }));
    const sure = new Set(all.filter(({ thread, index }) => index >= 0 || isWanted(thread)));
    let room = most - sure.size;
    return all.filter((one) => sure.has(one) || room-- > 0);
}

/** Without the number by which threads with the same first words are told apart. */
function base(id: string): string {
    return id.replace(/-\d+$/, "");
}

/** One of the changes that are made to a text together, all in terms of what it was before. */
export interface Change {
    range: Range;
    text: string;
}

/** To which line these changes move what begins at `at`; `cut`: they take its begin away. */
export function moved(at: Position, changes: readonly Change[]): { line: number; cut: boolean } {
    const isBefore = (one: Position): boolean => one.line < at.line || (one.line === at.line && one.character <= at.character);
    let { line } = at;
    let cut = false;
    for (const { range, text } of changes) {
        if (isBefore(range.end)) {
            line += text.split("\n").length - 1 - (range.end.line - range.start.line);
        } else if (isBefore(range.start)) {
            line += range.start.line - at.line;
            cut = true;
        }
    }
    return { line, cut };
}

/**
 * A text of a file as Markdown that shows it as it stands: code spans and fences stay code, nothing becomes a link, an
 * image, a heading or HTML. An image alone would tell its host that somebody reads this file.
 */
export function asMarkdown(text: string): string {
    const out: string[] = [];
    let fence: { mark: string; language: string; lines: string[] } | undefined;
    const close = (): void => {
        if (fence) {
            // Readers of Markdown differ in what closes a fence. One that is longer than any in the text nothing of it does.
            const runs = fence.lines.join("\n").match(/`+/g) ?? [];
            const mark = "`".repeat(runs.reduce((longest, run) => Math.max(longest, run.length), 2) + 1);
            out.push(mark + fence.language, ...fence.lines, mark);
            fence = undefined;
        }
    };
    for (const line of text.split(/\r\n?|\n/)) {
        // What has a back quote behind it is code in a line.
        const mark = /^\s*(```+(?!.*`)|~~~+)/.exec(line)?.[1];
        if (fence !== undefined) {
            if (mark?.startsWith(fence.mark) && line.trim() === mark) {
                close();
            } else {
                fence.lines.push(line);
            }
        } else if (mark !== undefined) {
            // The word behind a fence names a language; anything else of it is text that could end it.
            fence = { mark, language: /^\s*[`~]+\s*([\w+#-]*)/.exec(line)?.[1] ?? "", lines: [] };
        } else {
            out.push(`${inline(line)}  `);
        }
    }
    close();
    return out.join("\n").trimEnd();
}

/** One line: what stands between back quotes as code, the rest escaped. */
function inline(line: string): string {
    const trimmed = line.trimStart();
    const indent = "&nbsp;".repeat(line.length - trimmed.length);
    const parts = trimmed.split(/(`[^`]+`)/);
    const shown = parts.map((part, index) => (index % 2 === 1 ? part : escape(part)));
    return indent + begun(shown.join(""));
}

/** Only what would mean something, for a screen reader reads the escapes too. A `_` inside a word means nothing. */
function escape(text: string): string {
    return (
        text
            .replace(/[`*[\]~|$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|\\(?=[!-/:-@[-`{-~]|$)|<(?=\S)|&(?=#?\w+;)/g, "\\$&")
            // A bare address would become a link: what is clicked should have been meant so.
            .replace(/:(?=\/\/)|(?<=mailto|xmpp):|(?<=www)\.|(?<=\S)@(?=\S)/gi, "\\$&")
    );
}

/** What means something at the begin of a line alone: a heading, a list, a quotation, a rule, a table. */
function begun(line: string): string {
    return line.replace(/^(?:#{1,6}(?=\s|$)|[-+=>:])/, "\\$&").replace(/^(\d{1,9})([.)])(?=\s|$)/, "$1\\$2");
}

export type Counts = Record<Group, number>;

export function count(threads: Iterable<Thread>, waits: (thread: Thread) => boolean): Counts {
    const counts: Counts = { pending: 0, running: 0, asking: 0, answered: 0, new: 0 };
    for (const thread of threads) {
        counts[groupOf(thread, waits(thread))] += 1;
    }
    return counts;
}

/** `2 awaiting agent · 1 answered`. */
export function countsLabel(counts: Counts): string {
    const parts: [number, string][] = [
        [counts.running, "at work"],
        [counts.pending, "awaiting agent"],
        [counts.asking, counts.asking === 1 ? "asks you" : "ask you"],
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
