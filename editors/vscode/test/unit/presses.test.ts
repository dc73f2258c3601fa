import assert from "node:assert/strict";
import { test } from "node:test";
import { DOUBLE, Presses, rowOf } from "../../src/presses.ts";

const place = (rows: string[], id: string) => rowOf("threads", rows, id).place;

/** Whether the second press is dropped, after `before` became `after`. */
function second(before: string[], one: string, after: string[], two: string): boolean {
    const presses = new Presses();
    assert.equal(presses.isSecond(one, place(before, one), 1000), false);
    return presses.isSecond(two, place(after, two), 1000 + DOUBLE - 1);
}

test("the second press of a double click is for nothing", () => {
    const presses = new Presses();
    const at = (now: number, on = "a") => presses.isSecond(on, undefined, now);
    assert.deepEqual([at(1000), at(1000 + DOUBLE - 1), at(1000 + DOUBLE), at(1000 + DOUBLE + 1, "b")], [false, true, false, false]);
});

test("nor is it for the row that came where the first was", () => {
    const all = ["file", "a", "b", "c", "d"];
    assert.ok(second(all, "b", ["file", "a", "c", "d"], "c"));
    // Scrolled to its end, it shows the row before there.
    assert.ok(second(all, "b", ["file", "a", "c", "d"], "a"));
    // The last one of a file takes the file's row along.
    assert.ok(second(["one", "a", "two", "b", "c"], "a", ["two", "b", "c"], "b"));
    // It went to another place of the view, which a heading of its own may have made longer.
    assert.ok(second(["Waits", "a", "b"], "b", ["Works", "b", "Waits", "a"], "Waits"));
});

test("a row elsewhere, or in another view, was pressed on purpose", () => {
    const all = ["file", "a", "b", "c", "d"];
    assert.ok(!second(all, "b", ["file", "a", "c", "d"], "d"));
    assert.ok(!second(all, "b", ["file", "a", "c", "d"], "file"));
    assert.ok(!second(all, "b", all, "c"));
    assert.ok(!second(all, "b", all, "a"));
    const presses = new Presses();
    presses.isSecond("b", place(all, "b"), 1000);
    assert.ok(!presses.isSecond("x", rowOf("review", ["v", "w", "x"], "x").place, 1001));
    // A row that is not in the view any more has no place.
    assert.equal(place(all, "gone"), undefined);
});
