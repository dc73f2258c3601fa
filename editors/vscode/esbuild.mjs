// Bundles the extension: what starts with the window, what talks to the server (loaded when it is started), and
// what a web window gets instead.
import { build } from "esbuild";

const common = {
    bundle: true,
    external: ["vscode"],
    format: "cjs",
    minify: process.argv.includes("--minify"),
    sourcemap: process.argv.includes("--minify") ? false : "linked",
    target: "es2022",
    logLevel: "warning",
    // What is loaded later is loaded as CommonJS too.
    supported: { "dynamic-import": false },
};
await build({
    ...common,
    entryPoints: ["src/extension.ts", "src/client.ts"],
    // One must not carry the other along.
    external: ["vscode", "./client.js"],
    banner: { js: "const postilBegun = performance.now();" },
    outdir: "dist",
    platform: "node",
});
await build({ ...common, entryPoints: ["src/web.ts"], outdir: "dist", platform: "browser" });
