import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { Backoff, candidates, choose, tooOld, version, type Disk, type Places, type Problem, type Program } from "../../src/binary.ts";

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
    return { setting: "", extension: path.join(base, "none"), search: "", home: path.join(base, "home"), workspace: [], platform: "linux", arch: "x64", ...more };
}

const never = new AbortController().signal;

/** What is started where all that is found fits. */
const find = (where: Places, disk?: Disk): Promise<Program | Problem> => choose(where, (program) => Promise.resolve(program), () => undefined, never, disk);

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
    const search = ["", ".", "bin", "/work/project/bin", "/work/project", "/work/project/..tools/bin", "/work/project2", "/work", "/usr/bin"].join(path.delimiter);
    const found = candidates(places({ search, workspace: ["/work/project"] }));
    assert.deepEqual(found.slice(1, -1), ["/work/project2/postil", "/work/postil", "/usr/bin/postil"]);
});

test("nor where a link hides that it is inside", async () => {
    const inside = await program("real/tools/postil", "echo postil 0.1.0");
    const along = await program("real/server/postil", "echo postil 0.3.0");
    const outside = await program("away/postil", "echo postil 0.2.0");
    const link = async (name: string, to: string): Promise<string> => {
        await mkdir(path.dirname(path.join(base, name)), { recursive: true });
        await symlink(to, path.join(base, name));
        return path.join(base, name);
    };
    const opened = await link("opened", path.join(base, "real"));
    const folder = await link("links/tools", path.dirname(inside));
    const file = path.dirname(await link("files/postil", inside));
    const found = async (workspace: string, search: string): Promise<string> => {
        const chosen = await find(places({ workspace: [workspace], search: [search, path.dirname(outside)].join(path.delimiter) }));
        return "problem" in chosen ? chosen.message : chosen.path;
    };
    assert.equal(await found(opened, path.dirname(inside)), outside, "the folder was opened by a link");
    assert.equal(await found(path.join(base, "real"), folder), outside, "a link leads into it");
    assert.equal(await found(path.join(base, "real"), file), outside, "and one to the program itself");
    assert.equal(await found(path.join(base, "else"), path.dirname(inside)), inside);
    // The author's own word, and what came along where the home is the workspace.
    assert.deepEqual(await find(places({ workspace: [opened], extension: path.join(base, "real") })), { path: along, version: "0.3.0" });
    assert.deepEqual(await find(places({ workspace: [opened], setting: inside })), { path: inside, version: "0.1.0" });
});

test("a home, or all there is, is no project of others when it is opened as a folder", async () => {
    const home = path.join(base, "me");
    const own = await program("me/.local/bin/postil", "echo postil 0.1.0");
    const search = path.dirname(own);
    for (const workspace of [home, base, "/"]) {
        assert.deepEqual(await find(places({ home, search, workspace: [workspace] })), { path: own, version: "0.1.0" }, workspace);
    }
    assert.ok(candidates(places({ home, search, workspace: [home] })).includes(own));
    await symlink(home, path.join(base, "me too"));
    assert.deepEqual(await find(places({ home: path.join(base, "me too"), search, workspace: [home] })), { path: own, version: "0.1.0" });
    // One that is a part of it is.
    const inside = await find(places({ home, search, workspace: [path.join(home, ".local")] }));
    assert.ok("problem" in inside && inside.problem === "inside", JSON.stringify(inside));
    assert.equal(inside.message, `${own} is on the PATH but inside the workspace, where nothing is run. Install postil elsewhere, or set postil.path.`);
});

test("a program that does not answer is told as such", async () => {
    const silent: Disk = { isFile: () => Promise.resolve(true), runs: () => Promise.resolve(true), read: () => Promise.resolve(""), real: (file) => Promise.resolve(file), version: () => Promise.resolve(undefined) };
    const found = await find(places({ setting: "/opt/postil" }), silent);
    assert.ok("problem" in found && found.problem === "silent", JSON.stringify(found));
    assert.match(found.message, /^\/opt\/postil was asked for its version and has not answered for 10 s\./);
});

test("nor is one waited for that will not end", { timeout: 20_000 }, async () => {
    const deaf = await program("deaf/postil", `trap '' TERM; while test -e "$0"; do sleep 0.05; done`);
    assert.equal(await version(deaf, 50), undefined);
});

test("a search that is given up is over, whatever it waits for", { timeout: 20_000 }, async () => {
    const stuck: Disk = { ...windows({}), isFile: () => new Promise(() => undefined) };
    const given = new AbortController();
    const search = choose(places({ search: "/bin" }), (program) => Promise.resolve(program), () => undefined, given.signal, stuck);
    given.abort(new Error("given up"));
    await assert.rejects(search, /given up/);
});

test("each thing that can be wrong has a sentence of its own", async () => {
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
    assert.match(await problem({ setting: other }), /^not-postil: /);
    assert.match(await problem({ setting: broken }), /^not-postil: /);
    await chmod(broken, 0o644);
    assert.match(await problem({ setting: broken }), /^not-executable: /);
});

test("what does not fit on the PATH is passed over, and told where nothing else does", async () => {
    const other = await program("p1/postil", "echo postal 3.0");
    const old = await program("p2/postil", "echo postil 0.1.0");
    const good = await program("p3/postil", "echo postil 0.1.0");
    const folders = ["p1", "p2", "p2", "p3"].map((dir) => path.join(base, dir));
    const tried: string[] = [];
    const passed: string[] = [];
    const start = (found: Program): Promise<Program | Problem> => {
        tried.push(found.path);
        return Promise.resolve(found.path === old ? tooOld(found, undefined) : found);
    };
    const chosen = (more: Partial<Places>): Promise<Program | Problem> => choose(places(more), start, ({ problem }) => passed.push(problem), never);
    assert.deepEqual(await chosen({ search: folders.join(path.delimiter) }), { path: good, version: "0.1.0" });
    assert.deepEqual(tried, [old, good], "each once");
    assert.deepEqual(passed, ["not-postil", "too-old"]);
    // The first of those that do not fit.
    const none = await chosen({ search: folders.slice(0, 3).join(path.delimiter) });
    assert.ok("problem" in none && none.message.startsWith(`${other} does not answer`), JSON.stringify(none));
    // What is set is meant.
    const set = await chosen({ setting: old, search: path.dirname(good) });
    assert.ok("problem" in set && set.problem === "too-old", JSON.stringify(set));
    assert.match(set.message, /p2\/postil is postil 0\.1\.0, which is too old for this extension: it has no protocol for plugins, and 1 is needed\. Install/);
});

test("a version may be of a build", async () => {
    const next = await program("next/postil", "echo 'postil 1.2.0-rc.1 (abc)'");
    assert.deepEqual(await find(places({ setting: next })), { path: next, version: "1.2.0-rc.1" });
});

/** A disk of Windows: its files and what is in them. What is a program is one. */
function windows(files: Record<string, string>): Disk {
    const has = (file: string): Promise<boolean> => Promise.resolve(file in files);
    return { isFile: has, runs: has, read: (file) => Promise.resolve(files[file] ?? ""), real: (file) => Promise.resolve(file), version: (file) => Promise.resolve(file.endsWith(".exe") ? (files[file] ?? "") : "") };
}

const SHIM = `@ECHO off\r\nGOTO start\r\n:find_dp0\r\nSET dp0=%~dp0\r\nEXIT /b\r\n:start\r\nIF EXIST "%dp0%\\node.exe" (\r\n  SET "_prog=%dp0%\\node.exe"\r\n)\r\n"%_prog%"  "%dp0%\\node_modules\\postil\\postil.js" %*\r\n`;

test("on Windows npm's script leads to the program beside it, and no shell is started", async () => {
    const npm = "C:\\Users\\me\\AppData\\Roaming\\npm";
    const where = (more: Partial<Places> = {}): Places =>
        places({ platform: "win32", extension: "C:\\ext", home: "C:\\Users\\me", workspace: ["D:\\Work"], search: `d:\\work\\bin;relative;${npm}`, ...more });
    assert.deepEqual(candidates(where()), [
        "C:\\ext\\server\\postil.exe",
        "C:\\ext\\server\\postil.cmd",
        `${npm}\\postil.exe`,
        `${npm}\\postil.cmd`,
        "C:\\Users\\me\\.cargo\\bin\\postil.exe",
        "C:\\Users\\me\\.cargo\\bin\\postil.cmd",
    ]);
    const files = { [`${npm}\\postil.cmd`]: SHIM, [`${npm}\\node_modules\\postil\\postil.js`]: "" };
    for (const beside of ["postil\\node_modules\\postil-win32-x64", "postil-win32-x64"]) {
        const exe = `${npm}\\node_modules\\${beside}\\bin\\postil.exe`;
        const disk = windows({ ...files, [exe]: "postil 0.1.0\r\n" });
        assert.deepEqual(await find(where(), disk), { path: exe, version: "0.1.0" });
        assert.deepEqual(await find(where({ setting: `${npm}\\postil.cmd` }), disk), { path: exe, version: "0.1.0" });
        const other = await find(where({ arch: "arm64" }), disk);
        assert.ok("problem" in other && other.problem === "not-executable" && other.message.includes("win32 on arm64"), JSON.stringify(other));
    }
    // As a project has it, and as pnpm writes it.
    const local = "C:\\tools\\node_modules";
    const disk = windows({
        [`${local}\\.bin\\postil.cmd`]: `@"%~dp0\\node.exe"  "%~dp0\\..\\postil\\postil.js" %*`,
        [`${local}\\postil-win32-x64\\bin\\postil.exe`]: "postil 0.2.0",
        "C:\\odd\\postil.cmd": "@echo postil 9.9.9",
    });
    const search = `C:\\odd;${local}\\.bin`;
    assert.deepEqual(await find(where({ search }), disk), { path: `${local}\\postil-win32-x64\\bin\\postil.exe`, version: "0.2.0" });
    const odd = await find(where({ search: "C:\\odd" }), disk);
    assert.ok("problem" in odd && odd.problem === "not-executable", JSON.stringify(odd));
});

test("on Windows a path is taken as it is copied and typed there", async () => {
    const where = (more: Partial<Places>): Places => places({ platform: "win32", extension: "C:\\ext", home: "C:\\Users\\me", ...more });
    const exe = "C:\\My Tools\\postil.exe";
    const npm = "C:\\npm\\postil";
    const disk = windows({
        [exe]: "postil 0.1.0\r\n",
        [npm]: "#!/bin/sh",
        [`${npm}.cmd`]: SHIM,
        "C:\\npm\\node_modules\\postil\\postil.js": "",
        "C:\\npm\\node_modules\\postil-win32-x64\\bin\\postil.exe": "postil 0.2.0\r\n",
    });
    for (const setting of [exe, `"${exe}"`, "C:\\My Tools\\postil"]) {
        assert.deepEqual(await find(where({ setting }), disk), { path: exe, version: "0.1.0" }, setting);
    }
    // Beside npm's own there is one for another shell, which is not it.
    assert.deepEqual(await find(where({ setting: npm }), disk), { path: "C:\\npm\\node_modules\\postil-win32-x64\\bin\\postil.exe", version: "0.2.0" });
    assert.deepEqual(await find(where({ search: 'C:\\Windows;"C:\\My Tools"' }), disk), { path: exe, version: "0.1.0" });
    // It came along, in the folder of the extension.
    const bundled = windows({ "C:\\ext\\server\\postil.exe": "postil 0.3.0", [exe]: "postil 0.1.0" });
    assert.deepEqual(await find(where({ search: "C:\\My Tools" }), bundled), { path: "C:\\ext\\server\\postil.exe", version: "0.3.0" });
    for (const setting of ["postil.exe", "\"tools\\postil\""]) {
        const wrong = await find(where({ setting }), disk);
        assert.ok("problem" in wrong && wrong.message.includes("absolute path"), JSON.stringify(wrong));
    }
    const gone = await find(where({ setting: "D:\\postil" }), disk);
    assert.ok("problem" in gone && gone.message === "The setting postil.path names D:\\postil, which is not there.", JSON.stringify(gone));
    // The drive and its folders in another case are still the workspace.
    const inside = await find(where({ search: "c:\\MY TOOLS", workspace: ["C:\\My Tools"] }), windows({ "c:\\MY TOOLS\\postil.exe": "postil 0.1.0" }));
    assert.ok("problem" in inside && inside.problem === "inside", JSON.stringify(inside));
});

test("elsewhere npm's link leads to the program too, which needs no Node", async () => {
    const modules = path.join(base, "npm/lib/node_modules/postil");
    await mkdir(modules, { recursive: true });
    await writeFile(path.join(modules, "postil.js"), "");
    const real = await program("npm/lib/node_modules/postil/node_modules/postil-linux-x64/bin/postil", "echo postil 0.1.0");
    await mkdir(path.join(base, "npm/bin"));
    await symlink("../lib/node_modules/postil/postil.js", path.join(base, "npm/bin/postil"));
    assert.deepEqual(await find(places({ search: path.join(base, "npm/bin") })), { path: real, version: "0.1.0" });
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
