import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Kept, SILENT, STALE } from "../../src/kept.ts";

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
        const window = (pid: number, on = "/a") => new Kept<string>(folder, [on], pid, (pid) => there.has(pid), (begun += 1));
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

/** A window whose process is there, as all others are. */
const live = (folder: string, pid: number) => new Kept<string>(folder, ["/a"], pid, () => true);

/** Each file of a folder is as old as that. */
function age(folder: string, milliseconds: number): void {
    const then = new Date(Date.now() - milliseconds);
    for (const name of readdirSync(folder)) {
        utimesSync(join(folder, name), then, then);
    }
}

test("a window that says no more that it is there is gone", () => {
    within((folder) => {
        const [one, two] = [live(folder, 1), live(folder, 2)];
        one.put(["said"]);
        const late = Date.now() + STALE;
        assert.deepEqual(two.take(late - STALE / 2, 0), { items: [], others: true });
        assert.deepEqual(two.take(late + STALE, 0), { items: [], others: true });
        assert.deepEqual(two.take(late + STALE, SILENT - 1), { items: [], others: true });
        assert.deepEqual(two.take(late + STALE, SILENT), { items: ["said"], others: false });
    });
});

test("a window that says it again after the machine slept is there", () => {
    within((folder) => {
        const [one, two] = [live(folder, 1), live(folder, 2)];
        one.put(["said"]);
        age(folder, 2 * STALE);
        assert.deepEqual(two.take(Date.now(), 0), { items: [], others: true });
        one.put(["said"]);
        assert.deepEqual(two.take(Date.now(), SILENT), { items: [], others: true });
        // It slept once more.
        age(folder, 3 * STALE);
        assert.deepEqual(two.take(Date.now(), 2 * SILENT), { items: [], others: true });
    });
});

test("what one window took no other takes", () => {
    within((folder) => {
        live(folder, 1).put(["said"]);
        age(folder, 2 * STALE);
        const [two, three] = [live(folder, 2), live(folder, 3)];
        for (const window of [two, three]) {
            assert.deepEqual(window.take(Date.now(), 0).items, []);
        }
        assert.deepEqual(two.take(Date.now(), SILENT).items, ["said"]);
        for (const clock of [SILENT, 2 * SILENT]) {
            assert.deepEqual(three.take(Date.now(), clock), { items: [], others: true });
        }
    });
});

test("a window that shows other folders now has the words of before", () => {
    within((folder) => {
        const window = (windows: string[], pid: number) => new Kept<string>(folder, windows, pid, (of) => of === pid);
        window(["/a"], 1).put(["said on a"]);
        window(["/b"], 2).put(["said on b"]);
        const both = window(["/all", "/a"], 3);
        assert.deepEqual(both.take(), { items: ["said on a"], others: false });
        both.put(["said on a"]);
        assert.deepEqual(window(["/a"], 4).take().items, []);
        assert.deepEqual(window(["/all"], 5).take().items, ["said on a"]);
    });
});

test("what cannot be read now is read later, and what was cut off goes", () => {
    within((folder) => {
        const window = (pid: number) => new Kept<string>(folder, ["/a"], pid, (of) => of === pid);
        window(1).put(["said"]);
        const [name = ""] = readdirSync(folder);
        renameSync(join(folder, name), join(folder, "away"));
        mkdirSync(join(folder, name));
        const two = window(2);
        assert.deepEqual(two.take(), { items: [], others: true });
        two.put([]);
        const [taken = ""] = readdirSync(folder).filter((one) => one !== "away");
        rmSync(join(folder, taken), { recursive: true });
        renameSync(join(folder, "away"), join(folder, taken));
        assert.deepEqual(two.take(), { items: ["said"], others: false });
        two.put([]);
        assert.deepEqual(readdirSync(folder), []);
        writeFileSync(join(folder, name), '["sa');
        assert.deepEqual(two.take(), { items: [], others: false });
        two.put([]);
        assert.deepEqual(readdirSync(folder), []);
    });
});

test("what was written and not put in place yet is the newest", () => {
    within((folder) => {
        const window = (pid: number) => new Kept<string>(folder, ["/a"], pid, (of) => of === pid);
        for (const pid of [1, 2, 3]) {
            window(pid).put([`sa ${pid}`]);
        }
        const [one, two, three] = readdirSync(folder).sort((a, b) => Number(a.split("-")[1]) - Number(b.split("-")[1]));
        writeFileSync(join(folder, `${one}.part`), '["said 1"]');
        writeFileSync(join(folder, `${two}.part`), '["said');
        renameSync(join(folder, `${three}`), join(folder, `${three}.part`));
        const next = window(4);
        assert.deepEqual(next.take().items.sort(), ["sa 2", "sa 3", "said 1"]);
        next.put([]);
        assert.deepEqual(readdirSync(folder), []);
    });
});
