// dist/postil.vsix: node scripts/package.mjs [POSTIL TARGET]
//
// With a program and a platform (`linux-x64`, `darwin-arm64` …) the program comes along as server/postil.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [, , program, target] = process.argv;
const root = fileURLToPath(new URL("..", import.meta.url));
const run = (file, ...args) => execFileSync(process.execPath, [file, ...args], { cwd: root, stdio: "inherit" });

const shared = ["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"];
const others = "LICENSE-THIRD-PARTY";
const away = () => {
    // Started from its sources, the extension is to find the program that is on the PATH.
    rmSync(`${root}server`, { recursive: true, force: true });
    for (const file of [...shared, others]) {
        rmSync(root + file, { force: true });
    }
};

away();
for (const file of shared) {
    copyFileSync(`${root}../../${file}`, root + file);
}
if (program) {
    const name = target.startsWith("win32") ? "postil.exe" : "postil";
    mkdirSync(`${root}server`);
    copyFileSync(program, `${root}server/${name}`);
    chmodSync(`${root}server/${name}`, 0o755);
}
run("esbuild.mjs", "--minify");
const modules = JSON.parse(readFileSync(`${root}dist/modules.json`, "utf8"));
const carried = program ? ["crates", ...modules] : modules;
writeFileSync(root + others, execFileSync(process.execPath, ["../../packaging/licenses.mjs", ...carried], { cwd: root, maxBuffer: 64 << 20 }));
const out = program ? `dist/postil-${target}.vsix` : "dist/postil.vsix";
try {
    run("node_modules/@vscode/vsce/vsce", "package", "--no-dependencies", "--skip-license", "--allow-missing-repository", "--out", out, ...(target ? ["--target", target] : []));
} finally {
    away();
}
