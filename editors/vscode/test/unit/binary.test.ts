import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { Backoff, candidates, find, older, type Places } from "../../src/binary.ts";

const base = await mkdtemp(path.join(tmpdir(), "postil-find-"));
after(() => rm(base, { recursive: true, force: true }));

async function program(name: string, says: string): Promise<string> {
    const file = path.join(base, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, `#!/bin/sh\n${says}\n`);
    await chmod(file, 0o755);
    return file;
}

function places(more: Partial<Places>): Places {
    return { setting: "", extension: path.join(base, "none"), search: "", home: path.join(base, "home"), workspace: [], platform: "linux", ...more };
}

test("the setting, then the one that came along, then the PATH", async () => {
    const bundled = await program("ext/server/postil", "echo postil 0.1.0");
    const onPath = await program("bin/postil", "echo postil 0.2.0");
    const set = await program("set/it", "echo postil 1.0.0");
    const all = { extension: path.join(base, "ext"), search: path.join(base, "bin") };
    assert.deepEqual(await find(places({ ...all, setting: set })), { path: set, version: "1.0.0" });
    assert.deepEqual(await find(places(all)), { path: bundled, version: "0.1.0" });
    assert.deepEqual(await find(places({ search: path.join(base, "bin") })), { path: onPath, version: "0.2.0" });
});

test("nothing inside the workspace, and nothing relative, is run", () => {
    const search = ["", ".", "bin", "/work/project/bin", "/work/project", "/work/project2", "/usr/bin"].join(path.delimiter);
    const found = candidates(places({ search, workspace: ["/work/project"] }));
    assert.deepEqual(found.slice(1, -1), ["/work/project2/postil", "/usr/bin/postil"]);
});

test("each thing that can be wrong has a sentence of its own", async () => {
    const old = await program("old/postil", "echo postil 0.0.9");
    const other = await program("other/postil", "echo postal 3.0");
    const broken = await program("broken/postil", "exit 3");
    const problem = async (more: Partial<Places>): Promise<string> => {
        const found = await find(places(more));
        assert.ok("problem" in found, JSON.stringify(found));
        return `${found.problem}: ${found.message}`;
    };
    assert.match(await problem({}), /^missing: .*neither on the PATH/);
    assert.match(await problem({ setting: "/nowhere/postil" }), /^missing: .*postil\.path.*not there/);
    assert.match(await problem({ setting: "postil" }), /^missing: .*absolute path/);
    assert.match(await problem({ setting: old }), /^too-old: .*0\.0\.9.*0\.1\.0/);
    assert.match(await problem({ setting: other }), /^not-postil: /);
    assert.match(await problem({ setting: broken }), /^not-postil: /);
    await chmod(broken, 0o644);
    assert.match(await problem({ setting: broken }), /^not-executable: /);
});

test("versions are numbers, not words", () => {
    assert.deepEqual(
        [older("0.9.0", "0.10.0"), older("0.10.0", "0.9.0"), older("1.0.0", "1.0.0"), older("0.1", "0.1.1")],
        [true, false, false, true],
    );
});

test("a server that ends is started again, later and later, and not for ever", () => {
    const backoff = new Backoff();
    assert.deepEqual(
        [0, 1, 2, 3, 4].map((at) => backoff.next(at)),
        [250, 1000, 4000, 16000, undefined],
    );
    assert.equal(backoff.next(1_000_000), 250, "after a quiet time it counts anew");
    backoff.reset();
    assert.equal(backoff.next(1_000_001), 250);
});
