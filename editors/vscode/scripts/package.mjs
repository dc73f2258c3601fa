// dist/postil.vsix: node scripts/package.mjs [POSTIL TARGET]
//
// With a program and a platform (`linux-x64`, `darwin-arm64` …) the program comes along as server/postil. Made in a folder
// of its own and put in place whole, so that two that are made at the same time do not disturb each other.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [, , program, target] = process.argv;
const root = fileURLToPath(new URL("..", import.meta.url));
const staged = mkdtempSync(join(tmpdir(), "postil-package-"));
const run = (cwd, file, ...args) => execFileSync(process.execPath, [join(root, file), ...args], { cwd, stdio: ["ignore", "ignore", "inherit"] });

/** A file of `dist`, which is there whole or as it was. */
const put = (name, make) => {
    const part = join(root, "dist", `${process.pid}-${name}`);
    try {
        make(part);
        renameSync(part, join(root, "dist", name));
    } finally {
        rmSync(part, { force: true });
    }
};

try {
    for (const part of ["package.json", "README.md", ".vscodeignore", "media", "resources", "syntaxes"]) {
        cpSync(join(root, part), join(staged, part), { recursive: true });
    }
    for (const file of ["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"]) {
        copyFileSync(join(root, "../..", file), join(staged, file));
    }
    if (program) {
        const server = join(staged, "server");
        const name = target.startsWith("win32") ? "postil.exe" : "postil";
        mkdirSync(server);
        copyFileSync(program, join(server, name));
        chmodSync(join(server, name), 0o755);
    }
    const built = join(staged, "dist");
    run(root, "esbuild.mjs", "--minify", built);
    const modules = JSON.parse(readFileSync(join(built, "modules.json"), "utf8"));
    const carried = program ? ["crates", ...modules] : modules;
    writeFileSync(join(staged, "LICENSE-THIRD-PARTY"), execFileSync(process.execPath, ["../../packaging/licenses.mjs", ...carried], { cwd: root, maxBuffer: 64 << 20 }));
    mkdirSync(join(root, "dist"), { recursive: true });
    // Started from its sources the extension is this one too.
    for (const file of readdirSync(built)) {
        put(file, (part) => copyFileSync(join(built, file), part));
    }
    const name = program ? `postil-${target}.vsix` : "postil.vsix";
    put(name, (part) => {
        run(staged, "node_modules/@vscode/vsce/vsce", "package", "--no-dependencies", "--skip-license", "--allow-missing-repository", "--out", part, ...(target ? ["--target", target] : []));
    });
    console.log(`made editors/vscode/dist/${name}`);
} finally {
    rmSync(staged, { recursive: true, force: true });
}
