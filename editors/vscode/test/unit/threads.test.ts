import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message, Thread } from "../../src/protocol.ts";
import { asMarkdown, buttons, count, countsLabel, money, offers, pair, question, spoken, stateLabel, stateOf, unfit, unlinked } from "../../src/threads.ts";

function thread(id: string, line: number, ...messages: [Message["role"], string][]): Thread {
    return {
        id,
        status: messages.at(-1)?.[0] === "author" && messages.at(-1)?.[1] !== "" ? "pending" : "awaiting_user",
        malformed: false,
        title: id,
        range: { start: { line, character: 0 }, end: { line: line + messages.length - 1, character: 0 } },
        messages: messages.map(([role, text], index) => ({ role, name: null, line: line + index, text })),
        turn: null,
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

test("only the author's last words can be taken back", () => {
    const contexts = (...messages: [Message["role"], string][]) => spoken(thread("a", 0, ...messages)).map(({ index, context }) => [index, context]);
    assert.deepEqual(contexts(["author", "x"], ["agent", "y"], ["author", ""]), [[0, "author"], [1, "agent"]]);
    assert.deepEqual(contexts(["author", ""], ["author", "x"], ["author", ""]), [[1, "author.last"]]);
    const working = thread("a", 0, ["author", "x"], ["agent", "y"], ["author", "z"]);
    working.turn = { run_id: "r", running: true, failed: false, message: "thinking" };
    assert.deepEqual(spoken(working).map(({ context }) => context), ["author.fixed", "agent", "author.fixed"]);
});

test("states and their words", () => {
    const pending = thread("p", 0, ["author", "why?"]);
    assert.equal(stateOf(pending), "pending");
    assert.equal(stateOf(thread("n", 0, ["author", ""])), "new");
    const answered = thread("a", 0, ["author", "why?"], ["agent", "so"], ["author", ""]);
    assert.equal(stateOf(answered), "answered");
    pending.turn = { run_id: "r", running: true, failed: false, message: "thinking" };
    assert.equal(stateLabel(pending), "Agent at work: thinking");
    pending.turn = { run_id: "r", running: false, failed: true, message: "no key" };
    assert.match(stateLabel(pending), /failed: no key/);
    assert.equal(countsLabel(count([pending, answered, answered])), "1 awaiting agent · 2 answered");
});

test("each answer that a question offers is a link that gives it, whatever stands in it", () => {
    const asked = thread("a", 0, ["author", "x"], ["agent", "Which\none?"], ["author", ""]);
    assert.equal(offers(asked), "");
    assert.equal(question(asked), "Which one?");
    asked.choices = ["(a) f(x)](command:evil)", "(b) [y](https://z)"];
    const links = [...offers(asked).matchAll(/\[((?:\\.|[^\]])*)\]\(([^)]*)\)/g)];
    assert.equal(links.length, 2);
    for (const [index, [, , target]] of links.entries()) {
        const [command, argument] = (target ?? "").split("?");
        assert.equal(command, "command:postil.choose");
        assert.deepEqual(JSON.parse(decodeURIComponent(argument ?? "")), [{ thread_id: "a", text: asked.choices[index] }]);
    }
});

test("a notification's buttons are the answers where these fit, else their letters, else a list", () => {
    const asked = (text: string, ...choices: string[]) => ({ ...thread("a", 0, ["agent", text]), choices });
    assert.deepEqual(buttons(asked("Which?", "(a) tokio", "(b) smol")), ["(a) tokio", "(b) smol"]);
    assert.deepEqual(buttons(asked("Which?", "(a) tokio", "(b) smol", "(c) no runtime at all")), ["(a)", "(b)", "(c)"]);
    assert.equal(buttons(asked("Which? ".repeat(60), "(a) tokio", "(b) smol", "(c) no runtime at all")), undefined);
    assert.equal(buttons(asked("Which?", ..."abcdefgh".split("").map((letter) => `(${letter}) one`))), undefined);
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
    const all = [unfit(undefined, false), unfit("file", false), unfit("untitled", true), unfit("git", true), unfit("vscode-notebook-cell", true)];
    assert.equal(new Set(all).size, all.length);
});

test("money is told where some was spent", () => {
    assert.deepEqual([0, 0.001, 0.1234, 12].map(money), ["", "<$0.01", "$0.12", "$12.00"]);
});

test("a text is shown as it stands: code as code, and nothing that loads or leads somewhere", () => {
    assert.equal(asMarkdown("uses `a_b`"), "uses `a_b`  ");
    for (const bad of ["![x](https://example.org/p.png)", "[x](command:rm)", "<img src=x>", "# title", "a_b_c *d*", "https://example.org", "1. x", "- x", "> x", "a | b"]) {
        // What is put between the parts of an address is not to be seen.
        const shown = asMarkdown(bad).replaceAll("&#8203;", "\u200b");
        assert.doesNotMatch(shown, /(^|[^\\])[![<#*_>|]/, shown);
        assert.doesNotMatch(shown, /https:\/\//, shown);
    }
    assert.equal(asMarkdown("```rust\nlet a_b = 1;\n```"), "```rust\nlet a_b = 1;\n```");
    assert.equal(asMarkdown("```\n![x](y)"), "```\n![x](y)\n```", "a fence that is left open is closed");
    assert.equal(asMarkdown("``` ![x](https://x)\ncode\n```").split("\n")[0], "```");
});
