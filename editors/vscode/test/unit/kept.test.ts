import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Kept, STALE } from "../../src/kept.ts";

function within(work: (folder: string) => void): void {
    const folder = mkdtempSync(join(tmpdir(), "postil-kept-"));
    try {
        work(join(folder, "drafts"));
    } finally {
        rmSync(folder, { recursive: true });
    }
}

test("each window keeps its own, and one that is gone leaves it to the next on the same folder", () => {
    within((folder) => {
        const there = new Set([1, 2, 3]);
        let begun = 0;
        const window = (pid: number, on = "/a") => new Kept<string>(folder, on, pid, (pid) => there.has(pid), (begun += 1));
        const [one, two] = [window(1), window(2)];
        assert.deepEqual(one.take(), { items: [], others: false });
        one.put(["said in one"]);
        two.put(["said in two"]);
        assert.deepEqual(two.take().items, []);
        assert.equal(two.take().others, true);
        two.put(["more said in two"]);

        there.delete(1);
        assert.deepEqual(window(3, "/b").take(), { items: [], others: false });
        assert.deepEqual(window(3).take(), { items: ["said in one"], others: true });
        assert.deepEqual(two.take(), { items: [], others: true });

        there.delete(2);
        const three = window(3);
        assert.deepEqual(three.take().items.sort(), ["more said in two", "said in one"], "what was taken and not kept yet is not lost");
        three.put([]);
        assert.deepEqual(readdirSync(folder), []);
    });
});

test("a window that says no more that it is there is gone", () => {
    within((folder) => {
        const window = (pid: number) => new Kept<string>(folder, "/a", pid, () => true);
        const [one, two] = [window(1), window(2)];
        one.put(["said"]);
        const late = Date.now() + STALE;
        one.touch(new Date(late));
        assert.deepEqual(two.take(late + STALE / 2), { items: [], others: true });
        assert.deepEqual(two.take(late + 2 * STALE), { items: ["said"], others: false });
    });
});
