// Bundles the extension: what starts with the window, what talks to the server (loaded when it is started), and
// what a web window gets instead: node esbuild.mjs [--minify] [FOLDER]. Which modules that took is written down, for
// their licences.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { build } from "esbuild";

const outdir = process.argv.slice(2).find((one) => !one.startsWith("--")) ?? "dist";
const common = {
    bundle: true,
    external: ["vscode"],
    format: "cjs",
    minify: process.argv.includes("--minify"),
    sourcemap: process.argv.includes("--minify") ? false : "linked",
    target: "es2022",
    logLevel: "warning",
    metafile: true,
    // What is loaded later is loaded as CommonJS too.
    supported: { "dynamic-import": false },
};
const local = await build({
    ...common,
    entryPoints: ["src/extension.ts", "src/client.ts"],
    // One must not carry the other along.
    external: ["vscode", "./client.js"],
    banner: { js: "const postilBegun = performance.now();" },
    outdir,
    platform: "node",
});
const web = await build({ ...common, entryPoints: ["src/web.ts"], outdir, platform: "browser" });
const read = [local, web].flatMap(({ metafile }) => Object.keys(metafile.inputs));
const modules = read.map((file) => /^.*node_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0]);
writeFileSync(join(outdir, "modules.json"), JSON.stringify([...new Set(modules.filter(Boolean))].sort()));
