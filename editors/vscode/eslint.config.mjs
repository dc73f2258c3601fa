import js from "@eslint/js";
import ts from "typescript-eslint";

// Of Node, and of the page that the browser's tests look into.
const names = "process console Buffer setTimeout clearTimeout setInterval clearInterval setImmediate fetch URL WebSocket AbortController AbortSignal TextDecoder TextEncoder performance structuredClone queueMicrotask MutationObserver document window navigator getComputedStyle module exports require __dirname __filename";
const globals = Object.fromEntries(names.split(" ").map((name) => [name, "readonly"]));

export default ts.config(
    { ignores: ["dist/**", "node_modules/**", "media/**"] },
    {
        files: ["src/**/*.ts", "test/unit/**/*.ts"],
        extends: [js.configs.recommended, ts.configs.strictTypeChecked],
        languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
        rules: {
            // The editor hands out what is disposable as interfaces.
            "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
            // Numbers in a text are what they look like.
            "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
            // node:test hands out promises that nobody has to wait for.
            "@typescript-eslint/no-floating-promises": [
                "error",
                { allowForKnownSafeCalls: [{ from: "package", name: ["test", "describe", "it"], package: "node:test" }] },
            ],
        },
    },
    // What runs outside the extension: plain scripts, without types.
    {
        files: ["*.mjs", "scripts/**/*.mjs", "test/**/*.mjs", "test/**/*.cjs"],
        extends: [js.configs.recommended],
        languageOptions: { globals },
        // `{ gone: _, ...rest }` is how a property is left out.
        rules: { "no-unused-vars": ["error", { ignoreRestSiblings: true }] },
    },
);
