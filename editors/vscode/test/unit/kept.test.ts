import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Kept, LOOKS } from "../../src/kept.ts";

function within(work: (folder: string) => void): void {
    const folder = mkdtempSync(join(tmpdir(), "postil-kept-"));
    try {
        work(join(folder, "drafts"));
    } finally {
        rmSync(folder, { recursive: true });
    }
}

let begun = 0;

/** A window on these folders; with a process that is there, as all others are, unless `there` says otherwise. */
function window(folder: string, pid: number, on = ["/a"], there: (pid: number) => boolean = () => true): Kept<string> {
    return new Kept<string>(folder, () => on, pid, there, (begun += 1));
}

/** The same, where no process but its own is there. */
const alone = (folder: string, pid: number, on = ["/a"]) => window(folder, pid, on, (of) => of === pid);

test("each window keeps its own, and one that is gone leaves it to the next on the same folder", () => {
    within((folder) => {
        const there = new Set([1, 2, 3]);
        const open = (pid: number, on = ["/a"]) => window(folder, pid, on, (of) => there.has(of));
        const [one, two] = [open(1), open(2)];
        assert.deepEqual(one.take(), { items: [], others: false });
        one.put(["said in one"]);
        two.put(["said in two"]);
        assert.deepEqual(two.take().items, []);
        assert.equal(two.take().others, true);
        two.put(["more said in two"]);

        there.delete(1);
        assert.deepEqual(open(3, ["/b"]).take().items, []);
        assert.deepEqual(open(3).take(), { items: ["said in one"], others: true });
        assert.deepEqual(two.take(), { items: [], others: true });

        there.delete(2);
        const three = open(3);
        assert.deepEqual(three.take().items.sort(), ["more said in two", "said in one"], "what was taken and not kept yet is not lost");
        three.put([]);
        assert.deepEqual(readdirSync(folder), []);
    });
});

test("a window that says no more that it is there is gone", () => {
    within((folder) => {
        const [one, two] = [window(folder, 1), window(folder, 2)];
        one.put(["said"]);
        for (let look = 1; look < LOOKS; look += 1) {
            assert.deepEqual(two.take(), { items: [], others: true });
        }
        assert.deepEqual(two.take(), { items: ["said"], others: false });
    });
});

test("a window that says it again is there, however long nobody looked", () => {
    within((folder) => {
        const [one, two] = [window(folder, 1), window(folder, 2)];
        for (let day = 1; day < 4; day += 1) {
            one.put(["said"]);
            for (const name of readdirSync(folder)) {
                utimesSync(join(folder, name), day, day);
            }
            for (let look = 1; look < LOOKS; look += 1) {
                assert.deepEqual(two.take(), { items: [], others: true });
            }
        }
    });
});

test("what one window took no other takes", () => {
    within((folder) => {
        window(folder, 1).put(["said"]);
        const [two, three] = [window(folder, 2), window(folder, 3)];
        for (let look = 1; look < LOOKS; look += 1) {
            assert.deepEqual([two.take().items, three.take().items], [[], []]);
        }
        assert.deepEqual(two.take().items, ["said"]);
        for (let look = 1; look < LOOKS; look += 1) {
            assert.deepEqual(three.take(), { items: [], others: true });
        }
    });
});

test("a window that shows other folders now has the words of before", () => {
    within((folder) => {
        const open = (pid: number, ...on: string[]) => alone(folder, pid, on);
        open(1, "/a").put(["said on a"]);
        open(2, "/b").put(["said on b"]);
        // A second folder came, and what has both was saved as a workspace.
        const both = open(3, "/a", "/c");
        assert.deepEqual(both.take(), { items: ["said on a"], others: false });
        both.put(["said on a"]);
        assert.deepEqual(open(4, "/d").take().items, []);
        assert.deepEqual(open(5, "/c", "/a").take().items, ["said on a"]);
    });
});

test("a window without a folder has the words of one without", () => {
    within((folder) => {
        const open = (pid: number, ...on: string[]) => alone(folder, pid, on);
        open(1).put(["said on none"]);
        open(2, "/a").put(["said on a"]);
        assert.deepEqual(open(3, "/a").take().items, ["said on a"]);
        const next = open(4);
        assert.deepEqual(next.take(), { items: ["said on none"], others: false });
        next.put([]);
        assert.deepEqual(open(5).take(), { items: [], others: false });
    });
});

test("what cannot be read now is read later, and what was cut off goes", () => {
    within((folder) => {
        alone(folder, 1).put(["said"]);
        const [name = ""] = readdirSync(folder);
        renameSync(join(folder, name), join(folder, "..", "away"));
        mkdirSync(join(folder, name));
        const two = alone(folder, 2);
        assert.deepEqual(two.take(), { items: [], others: true });
        rmSync(join(folder, name), { recursive: true });
        renameSync(join(folder, "..", "away"), join(folder, name));
        assert.deepEqual(two.take(), { items: ["said"], others: false });
        two.put([]);
        assert.deepEqual(readdirSync(folder), []);
        for (const text of ['{"folders": ["/a"], "items": ["sa', "[]", "null"]) {
            writeFileSync(join(folder, name), text);
            assert.deepEqual(two.take(), { items: [], others: false });
            assert.deepEqual(readdirSync(folder), []);
        }
    });
});

test("what was not put in place goes, and what is there stays", () => {
    within((folder) => {
        alone(folder, 1).put(["said"]);
        const [name = ""] = readdirSync(folder);
        writeFileSync(join(folder, `${name}.part`), '{"folders": ["/a"], "items": ["said m');
        const next = alone(folder, 2);
        assert.deepEqual(next.take(), { items: ["said"], others: false });
        next.put([]);
        assert.deepEqual(readdirSync(folder), []);
    });
});
