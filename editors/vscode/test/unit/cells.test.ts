import assert from "node:assert/strict";
import { test } from "node:test";
import { difference, rewritten } from "../../src/cells.ts";

const file = (...sources: (string | string[])[]): string => JSON.stringify({ cells: sources.map((source) => ({ cell_type: "code", source })), nbformat: 4 });

test("a cell that has other words is found, however its lines are written", () => {
    const before = file("a = 1", ["# AUTHOR: why?\r\n", "x = 1"]);
    const after = file("a = 1", "# AUTHOR: why?\n# AGENT: So.\nx = 1");
    assert.deepEqual(rewritten(before, after), { cells: 2, changed: [{ index: 1, was: "# AUTHOR: why?\nx = 1", text: "# AUTHOR: why?\n# AGENT: So.\nx = 1" }] });
});

test("what is more than words is not", () => {
    assert.equal(rewritten(file("a"), file("a", "b")), undefined);
    assert.equal(rewritten(file("a"), file("b").replace("code", "markdown")), undefined);
    assert.equal(rewritten(file("a"), "<<<<<<<"), undefined);
});

test("a difference is what goes and what comes, by line and column", () => {
    const check = (was: string, text: string): void => {
        const { start, end, text: instead } = difference(was, text);
        const lines = was.split("\n");
        const at = ([line, column]: [number, number]): number => lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0) + column;
        assert.equal(was.slice(0, at(start)) + instead + was.slice(at(end)), text);
    };
    for (const [was, text] of [["", "a"], ["a", ""], ["a\nb\nc", "a\nB\nc"], ["a\nc", "a\nb\nc"], ["aaa", "aa"], ["a\na\n", "a\n"]] as const) {
        check(was, text);
        check(text, was);
    }
    assert.deepEqual(difference("# q\nx", "# q\n# a\nx"), { start: [1, 0], end: [1, 0], text: "# a\n" });
});
