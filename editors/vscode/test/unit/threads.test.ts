import assert from "node:assert/strict";
import { test } from "node:test";
import { marked } from "marked";
import { marked as older } from "marked-14";
import type { Message, Thread } from "../../src/protocol.ts";
import { asked as below, asMarkdown, besides, buttons, content, count, countsLabel, FILTERS, fits, groupOf, money, moved, offers, pair, pick, place, question, spoken, stateLabel, stateOf, unfit, unlinked } from "../../src/threads.ts";

function thread(id: string, line: number, ...messages: [Message["role"], string][]): Thread {
    return {
        id,
        status: messages.at(-1)?.[0] === "author" && messages.at(-1)?.[1] !== "" ? "pending" : "awaiting_user",
        malformed: false,
        title: id,
        range: { start: { line, character: 0 }, end: { line: line + messages.length - 1, character: 0 } },
        messages: messages.map(([role, text], index) => ({ role, name: null, line: line + index, text })),
        turn: null,
        has_run: false,
        has_changes: false,
    };
}

test("a thread is known by its id, wherever it stands", () => {
    const shown = [
        { id: "a", line: 1 },
        { id: "b", line: 5 },
    ];
    assert.deepEqual(pair(shown, [thread("b", 1, ["author", "x"]), thread("a", 9, ["author", "y"])]), [1, 0]);
});

test("one whose first words are being typed is known by its line", () => {
    const shown = [
        { id: "a", line: 1 },
        { id: "b", line: 5 },
    ];
    assert.deepEqual(pair(shown, [thread("a2", 1, ["author", "x"]), thread("b", 6, ["author", "y"])]), [0, 1]);
    assert.deepEqual(pair(shown, [thread("c", 3, ["author", "x"])]), [-1]);
});

test("no shown thread is given away twice", () => {
    assert.deepEqual(pair([{ id: "a", line: 1 }], [thread("a", 1, ["author", "x"]), thread("a", 1, ["author", "x"])]), [0, -1]);
});

test("threads with the same first words are told apart by where they stand, then by what is said, then by their order", () => {
    const why = (id: string, line: number, ...more: [Message["role"], string][]) => thread(id, line, ["author", "why?"], ...more);
    const was = (one: Thread, more = {}) => ({ id: one.id, line: one.range.start.line, said: content(one), ...more });
    // The first is put away: the second has its name now.
    assert.deepEqual(pair([was(why("x", 1), { gone: true }), was(why("x-2", 4))], [why("x", 4)]), [1]);
    // One is begun above, in a box of its own or without one.
    assert.deepEqual(pair([was(why("x", 6))], [why("x", 1), why("x-2", 6)]), [-1, 0]);
    assert.deepEqual(pair([was(why("x", 6)), { id: "", line: 1, awaited: true }], [why("x", 1), why("x-2", 6)]), [1, 0]);
    assert.deepEqual(pair([was(why("x", 1)), was(why("x-2", 6)), { id: "x", line: 1, awaited: true }], [why("x", 1), why("x-2", 6)]), [2, 1]);
    // Changed on the disk, where nobody knows how the lines moved.
    const [first, second] = [was(why("x", 1)), was(why("x-2", 3, ["agent", "so"]))];
    assert.deepEqual(pair([first, second], [why("x", 20, ["agent", "so"])]), [1]);
    assert.deepEqual(pair([first, second], [why("x", 21), why("x-2", 30)]), [0, 1]);
    assert.deepEqual(pair([was(why("x", 1)), was(why("x-2", 9))], [why("x", 8)]), [1]);
});

test("of very many with the same first words each is the nearest", () => {
    const why = (at: number, line: number) => thread(at === 0 ? "x" : `x-${at + 1}`, line, ["author", "why?"]);
    const shown = Array.from({ length: 300 }, (_, at) => ({ id: `x-${at + 2}`, line: 10 * at + 4 }));
    const now = Array.from({ length: 3000 }, (_, at) => why(at, at % 10 === 4 ? 10_000 + at : at)).sort((a, b) => a.range.start.line - b.range.start.line);
    const found = pair(shown, now);
    for (const [index, one] of shown.entries()) {
        const at = found.indexOf(index);
        assert.equal(Math.abs((now[at]?.range.start.line ?? 0) - one.line), 1, `${index}`);
    }
});

test("those are shown that were, those that are wanted, and then the first", () => {
    const now = Array.from({ length: 10 }, (_, at) => thread(`t${at}`, at, ["author", "x"]));
    const found = now.map((_, at) => (at === 7 ? 3 : -1));
    const lines = (most: number, wanted: number[]) => pick(now, found, ({ range }) => wanted.includes(range.start.line), most).map(({ thread, index }) => [thread.range.start.line, index]);
    assert.deepEqual(lines(4, [5]), [[0, -1], [1, -1], [5, -1], [7, 3]]);
    assert.deepEqual(lines(0, [5, 7]), [[5, -1], [7, 3]], "these in any case");
    assert.equal(lines(99, []).length, 10);
});

test("a thread that left the text comes back to its box, but takes that of no other", () => {
    const shown = [
        { id: "x", line: 1, gone: true },
        { id: "x-2", line: 4 },
    ];
    assert.deepEqual(pair(shown, [thread("x", 1, ["author", "why?"]), thread("x-2", 5, ["author", "why?"])]), [0, 1]);
    assert.deepEqual(pair(shown, [thread("x", 4, ["author", "why?"]), thread("x-2", 30, ["author", "why?"])]), [1, 0]);
    // Its first words are typed anew where they stood; and another comes to have those that are gone.
    assert.deepEqual(pair(shown, [thread("y", 1, ["author", "how?"]), thread("x", 4, ["author", "why?"])]), [0, 1]);
    assert.deepEqual(pair([{ id: "x", line: 1, gone: true }, { id: "y", line: 4 }], [thread("x", 4, ["author", "why?"])]), [1]);
});

test("a line is where the changes of a text move it", () => {
    const at = { line: 5, character: 3 };
    const change = (from: [number, number], to: [number, number], text = "") => ({ range: { start: { line: from[0], character: from[1] }, end: { line: to[0], character: to[1] } }, text });
    const moves = (...changes: ReturnType<typeof change>[]) => moved(at, changes);
    assert.deepEqual(moves(change([2, 0], [4, 0], "a\nb\nc\n"), change([1, 4], [1, 4], "\n")), { line: 7, cut: false });
    assert.deepEqual(moves(change([5, 0], [5, 0], "a\r\n")), { line: 6, cut: false });
    assert.deepEqual(moves(change([5, 9], [8, 0], "x"), change([5, 9], [5, 9], "\n")), { line: 5, cut: false }, "below its begin");
    assert.deepEqual(moves(change([3, 0], [6, 0]), change([1, 0], [2, 0])), { line: 2, cut: true });
    // What is put in where it was cut may be it.
    assert.deepEqual(moved({ line: 5, character: -1 }, [change([5, 0], [5, 0], "a\n")]), { line: 5, cut: false });
});

test("only the author's last words can be taken back", () => {
    const contexts = (...messages: [Message["role"], string][]) => spoken(thread("a", 0, ...messages)).map(({ index, context }) => [index, context]);
    assert.deepEqual(contexts(["author", "x"], ["agent", "y"], ["author", ""]), [[0, "author"], [1, "agent"]]);
    assert.deepEqual(contexts(["author", ""], ["author", "x"], ["author", ""]), [[1, "author.last"]]);
    const working = thread("a", 0, ["author", "x"], ["agent", "y"], ["author", "z"]);
    working.turn = { run_id: "r", running: true, failed: false, message: "thinking" };
    assert.deepEqual(spoken(working).map(({ context }) => context), ["author.fixed", "agent", "author.fixed"]);
});

test("one's own words are found again where they stand by now", () => {
    const { messages } = thread("a", 0, ["author", "x"], ["agent", "y"], ["author", "z"], ["author", "x"]);
    assert.deepEqual(place(messages, { index: 2, text: "z" }), { index: 2, text: "z" });
    assert.deepEqual(place(messages, { index: 0, text: "z" }), { index: 2, text: "z" }, "other lines came before them");
    assert.deepEqual(place(messages, { index: 3, text: "x" }), { index: 3, text: "x" }, "said twice");
    assert.deepEqual(place(messages, { index: 2, text: "x" }), { index: 2, text: "z" }, "which of them is not known");
    assert.deepEqual(place(messages, { index: 0, text: "w" }), { index: 0, text: "x" }, "changed");
    assert.equal(place(messages, { index: 1, text: "w" }), undefined, "taken away");
});

test("states and their words", () => {
    const pending = thread("p", 0, ["author", "why?"]);
    assert.equal(stateOf(pending), "pending");
    assert.equal(stateOf(thread("n", 0, ["author", ""])), "new");
    const answered = thread("a", 0, ["author", "why?"], ["agent", "so"], ["author", ""]);
    assert.equal(stateOf(answered), "answered");
    const asking = { ...answered, asks: true };
    assert.deepEqual([stateOf(asking), groupOf(asking, false), stateLabel(asking)], ["answered", "asking", "Asks you"]);
    assert.equal(countsLabel(count([asking, answered], () => false)), "1 asks you · 1 answered");
    pending.turn = { run_id: "r", running: true, failed: false, message: "thinking" };
    assert.equal(stateLabel(pending), "Agent at work: thinking");
    assert.deepEqual([stateLabel(pending, true), groupOf(pending, true)], ["Waits for you: thinking", "asking"]);
    pending.turn.waits = true;
    assert.equal(stateLabel(pending), "Waits for your answer");
    pending.turn = { run_id: "r", running: false, failed: true, message: "no key" };
    assert.match(stateLabel(pending), /failed: no key/);
    assert.equal(countsLabel(count([pending, answered, answered], () => false)), "1 awaiting agent · 2 answered");
});

test("a file that a turn names is in the root of the turn's own", () => {
    assert.equal(besides("/two/src/a.rs", "src/a.rs", "src/a.rs"), "/two/src/a.rs");
    assert.equal(besides("/two/src/a.rs", "src/a.rs", "lib/b.rs"), "/two/lib/b.rs", "it was renamed since");
    assert.equal(besides("/elsewhere/b.rs", "src/a.rs", "src/a.rs"), "/elsewhere/b.rs", "the editor has another name for it");
    assert.equal(besides("/elsewhere/b.rs", "src/a.rs", "lib/b.rs"), undefined);
    assert.equal(besides("/two/other_a.rs", "a.rs", "b.rs"), undefined, "it ends with it, and is called otherwise");
});

test("which threads a filter lets through", () => {
    const turn = { run_id: "r", running: true, failed: false, message: "" };
    const all = {
        asked: thread("p", 0, ["author", "why?"]),
        failed: { ...thread("f", 0, ["author", "why?"]), turn: { ...turn, running: false, failed: true } },
        answered: thread("a", 0, ["author", "why?"], ["agent", "so"], ["author", ""]),
        paused: { ...thread("s", 0, ["author", "why?"], ["agent", "Paused"], ["author", ""]), is_paused: true },
        empty: thread("n", 0, ["author", ""]),
        running: { ...thread("r", 0, ["author", "why?"]), turn },
        asks: { ...thread("q", 0, ["author", "why?"]), turn },
    };
    const shown = FILTERS.map((filter) => [filter, Object.entries(all).flatMap(([name, one]) => (fits(filter, one, name === "asks") ? [name] : []))]);
    assert.deepEqual(Object.fromEntries(shown), {
        all: Object.keys(all),
        pending: ["asked", "failed"],
        waiting: ["answered", "paused", "empty", "asks"],
        running: ["running", "asks"],
    });
});

test("each answer that a question offers is a link that gives it, whatever stands in it", () => {
    const asked = thread("a", 0, ["author", "x"], ["agent", "Which\none?"], ["author", ""]);
    const uri = "file:///c%23%20100%25%20%5Bx%5D/a%3F.rs";
    assert.equal(offers(uri, asked), "");
    assert.equal(question(asked), "Which one?");
    asked.choices = ["(a) f(x)](command:evil)", "(b) [y](https://z)", "(c) ![i](https://evil.example/p.png) one", "(d) <img src=https://x.y> `[z](a:b)` \\[w\\](c:d)", "(e) https://x.y www.x.y a@b.c *x* &lt; $(zap)"];
    for (const reader of ["older", "newest"] as const) {
        const html = readers[reader](offers(uri, asked));
        const links = [...html.matchAll(/<a href="([^"]*)">([^<]*)<\/a>/g)];
        assert.equal(links.length, asked.choices.length, html);
        assert.deepEqual([...new Set([...html.matchAll(/<(\w+)/g)].map(([, element]) => element))].sort(), ["a", "p"], html);
        for (const [index, [, target, words]] of links.entries()) {
            assert.equal(unwritten(words ?? ""), asked.choices[index]);
            const [command, argument] = unwritten(target ?? "").split("?");
            assert.equal(command, "command:postil.choose");
            // As VS Code does: of the link, and of what is behind its `?`.
            const [{ key, ...choice }] = JSON.parse(decodeURIComponent(decodeURIComponent(argument ?? ""))) as [Record<string, string>];
            assert.deepEqual(choice, { uri, thread_id: "a", text: asked.choices[index] });
            assert.match(key ?? "", /^[0-9a-f-]{36}$/, "nobody else can make one");
        }
    }
});

test("a notification's buttons are the answers where these fit, else their letters, else a list", () => {
    const asked = (text: string, ...choices: string[]) => ({ ...thread("a", 0, ["agent", text]), choices });
    assert.deepEqual(buttons(asked("Which?", "(a) tokio", "(b) smol")), ["(a) tokio", "(b) smol"]);
    assert.deepEqual(buttons(asked("Which?", "(a) tokio", "(b) smol", "(c) no runtime at all")), ["(a)", "(b)", "(c)"]);
    assert.equal(buttons(asked("Which? ".repeat(60), "(a) tokio", "(b) smol", "(c) no runtime at all")), undefined);
    assert.equal(buttons(asked("Which?", ..."abcdefgh".split("").map((letter) => `(${letter}) one`))), undefined);
});

test("a question that the server asks has buttons that can be read", () => {
    assert.deepEqual(below(["Allow edits", "Read-only"]), ["Allow edits", "Read-only"]);
    assert.deepEqual(below(["Allow once", "No", "Refuse"]), ["Allow once", "No", "Refuse"]);
    assert.deepEqual(below(["Allow once", "Allow in this run", "Allow in this workspace", "Always allow", "Refuse"]), ["Allow once", "Refuse", "More …"]);
});

test("what others say has no links in a notification", () => {
    // As the editor finds them.
    const link = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)/i;
    const bad = "may it run `echo [ok](command:workbench.action.quit)`?";
    assert.match(bad, link);
    assert.doesNotMatch(unlinked(bad), link);
    assert.equal(unlinked("a (b) [c]"), "a (b) [c]");
});

test("why nothing can be asked in what is looked at", () => {
    assert.equal(unfit("file", true), undefined);
    const all = [unfit(undefined, false), unfit("file", false), unfit("untitled", true), unfit("git", true), unfit("comment", true), unfit("vscode-notebook-cell", true)];
    assert.equal(new Set(all).size, all.length);
    assert.match(all.at(-1) ?? "", /the view Threads has/, "what stands in a cell already is answered there");
});

test("money is told where some was spent", () => {
    assert.deepEqual([0, 0.001, 0.1234, 12].map(money), ["", "<$0.01", "$0.12", "$12.00"]);
});

/** VS Code 1.96 to 1.139 read Markdown as `older` does, which closes a fence at more than the newest. */
const readers = {
    older: (text: string) => older.parse(text, { async: false, gfm: true }),
    newest: (text: string) => marked.parse(text, { async: false, gfm: true }),
};

/** HTML without elements as the text that is shown. */
function unwritten(html: string): string {
    const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', amp: "&", nbsp: " " };
    return html.replace(/&(?:(lt|gt|quot|amp|nbsp)|#(\d+));/g, (_, name?: string, code?: string) => (name ? (entities[name] ?? "") : String.fromCharCode(Number(code))));
}

/** The text that the editor shows, and in which elements. */
function drawn(text: string, reader: keyof typeof readers): { shown: string; elements: string[] } {
    const html = readers[reader](asMarkdown(text));
    const elements = [...html.matchAll(/<(\w+)/g)].map(([, element]) => element ?? "");
    const shown = unwritten(html.replace(/<[^>]+>/g, ""));
    return { shown, elements: [...new Set(elements)].sort() };
}

/** Of a code span the editor shows no back quotes, and no blanks at its ends. */
const plain = (all: string): string => all.replace(/[`\s]/g, "");

test("a text is shown as it stands: code as code, and nothing that loads or leads somewhere", () => {
    assert.equal(asMarkdown("Because of `a_b`, a_b (c) - 1.5!"), "Because of `a_b`, a_b (c) - 1.5!");
    for (const bad of ["![x](https://example.org/p.png)", "[x](command:rm)", "<img src=x>", "<https://x.y>", "# title", "x\n===", "x\n---", "a_b_c *d* _e_ __f__", "https://example.org", "WWW.example.org", "a@example.org", "mailto:a@b.c", "1. x", "2) x", "- x", "+ x", "* x", "> x", "a | b\n-|-\n1 | 2", "~~x~~", "&amp; &#42; &&", "a\\", "\\*x\\*", "[x]: https://y", "    x", "***", "```` ` ````x`"]) {
        for (const reader of ["older", "newest"] as const) {
            const { shown, elements } = drawn(bad, reader);
            assert.equal(plain(shown), plain(bad), bad);
            assert.deepEqual(elements.filter((element) => !["p", "br", "code", "pre"].includes(element)), [], bad);
        }
    }
    assert.equal(asMarkdown("```rust\nlet a_b = 1;\n```"), "```rust\nlet a_b = 1;\n```");
    assert.equal(asMarkdown("```\n![x](y)"), "```\n![x](y)\n```", "a fence that is left open is closed");
    assert.equal(asMarkdown("``` ![x](https://x)\ncode\n```").split("\n")[0], "```");
});

test("what closes a fence for some closes none that is shown", () => {
    const bad = "![x](https://evil.example/p.png)\n[Show](command:postil.choose?x) <img src=x> # title";
    for (const fence of ["```", "````", "~~~", "~~~~~"]) {
        for (const end of ["```~", "~~~`", "```", "````", "``````````", "~~~", "    ```", "```\u00a0", "\t~~~", "```\r# x\r```~", "` `` ``` ````~"]) {
            for (const text of [`so:\n${fence}js\ncode\n${end}\n${bad}`, `${fence}\n${end}\n${bad}\n${fence}\n${bad}`]) {
                for (const reader of ["older", "newest"] as const) {
                    const { elements } = drawn(text, reader);
                    assert.deepEqual(elements.filter((element) => !["p", "br", "code", "pre"].includes(element)), [], JSON.stringify([reader, text]));
                }
            }
        }
    }
});

test("whatever it is made of", () => {
    const pieces = ["a", "b1", " ", " ", "\n", "\n", "\r", "*", "_", "`", "```", "\n```", "\n~~~", "~~~", "[", "]", "(", ")", "!", "![x](y)", "<b>", "<", ">", "&amp;", "&", "#", "-", "+", "1.", "2)", "http://x.y", "www.x.y", "a@b.c", "mailto:", "~", "|", "\\", "=", ":", "$", "\t"];
    let seed = 1;
    const next = (many: number): number => (seed = (seed * 48271) % 2147483647) % many;
    for (let round = 0; round < 20_000; round += 1) {
        const text = Array.from({ length: 1 + next(9) }, () => pieces[next(pieces.length)]).join("");
        const fenced = /^\s*(```|~~~)/m.test(text);
        for (const reader of ["older", "newest"] as const) {
            const { shown, elements } = drawn(text, reader);
            // Of a fence its own lines are not shown.
            if (!fenced) {
                assert.equal(plain(shown), plain(text), JSON.stringify([reader, text]));
            }
            assert.deepEqual(elements.filter((element) => !["p", "br", "code", "pre"].includes(element)), [], JSON.stringify([reader, text]));
        }
    }
});
