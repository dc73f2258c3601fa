import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { Lenses } from "../../src/lenses.ts";

let told = 0;
let visible = ["a"];
let lenses: Lenses;

beforeEach(() => {
    mock.timers.reset();
    mock.timers.enable({ apis: ["setTimeout", "Date"] });
    told = 0;
    visible = ["a"];
    lenses = new Lenses({ visible: () => visible, tell: () => (told += 1) });
});

const ask = (uri: string, goneAway = false): Promise<string> => lenses.asked(uri, () => Promise.resolve("lenses"), () => goneAway);

test("an editor that comes is told once", async () => {
    lenses.refresh();
    assert.equal(told, 1);
    assert.equal(await ask("a"), "lenses");
    mock.timers.tick(1_000_000);
    assert.equal(told, 1);
});

test("what goes on changing does not keep it from coming", async () => {
    for (let at = 0; at < 3; at += 1) {
        lenses.refresh();
        mock.timers.tick(250);
    }
    assert.equal(told, 1);
    await ask("a");
    lenses.refresh();
    assert.equal(told, 2);
});

test("one that forgets to come is told again, ever later, and at last left alone", () => {
    lenses.changed("a");
    const when: number[] = [];
    for (let second = 1; second < 1000; second += 1) {
        const before = told;
        mock.timers.tick(1000);
        if (told > before) {
            when.push(second);
        }
    }
    assert.deepEqual(when, [2, 6, 14, 30, 62, 126]);
});

test("it is told of a change that it has not seen, when it has its answer", async () => {
    let give: (lenses: string) => void = () => undefined;
    lenses.refresh();
    const answer = lenses.asked("a", () => new Promise<string>((resolve) => (give = resolve)), () => false);
    lenses.refresh();
    assert.equal(told, 1);
    give("old");
    await answer;
    assert.equal(told, 2);
});

test("an answer that it threw away is none", async () => {
    lenses.refresh();
    await ask("a", true);
    mock.timers.tick(2000);
    assert.equal(told, 2);
});

test("nor is one that failed", async () => {
    lenses.refresh();
    await assert.rejects(lenses.asked("a", () => Promise.reject(new Error("no")), () => false));
    mock.timers.tick(2000);
    assert.equal(told, 2);
});

test("each file that is seen is waited for, and none that is not", async () => {
    visible = ["a", "b"];
    lenses.refresh();
    await ask("a");
    mock.timers.tick(2000);
    assert.equal(told, 2);
    visible = ["a"];
    mock.timers.tick(4000);
    assert.equal(told, 2);
    visible = ["a", "b"];
    lenses.moved();
    mock.timers.tick(2000);
    assert.equal(told, 3);
    await ask("b");
    lenses.changed("c");
    mock.timers.tick(1_000_000);
    assert.equal(told, 3);
});

test("one that is slow to come is left more time", async () => {
    lenses.refresh();
    mock.timers.tick(1400);
    await ask("a");
    lenses.refresh();
    mock.timers.tick(2700);
    assert.equal(told, 2);
    mock.timers.tick(100);
    assert.equal(told, 3);
});
