import js from "@eslint/js";
import ts from "typescript-eslint";

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
);
