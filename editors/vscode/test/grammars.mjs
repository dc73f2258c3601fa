// Where the grammars of threads find a marker, in the languages that code-server brings and with its own tokenizer:
// node grammars.mjs PEERS. Run by tests/e2e/vscode.rs.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const vscode = resolve(process.argv[2], "code-server/node_modules/code-server/lib/vscode");
const require = createRequire(join(vscode, "package.json"));
const { INITIAL, Registry, parseRawGrammar } = require("vscode-textmate");
const { OnigScanner, OnigString, loadWASM } = require("vscode-oniguruma");
await loadWASM(readFileSync(join(vscode, "node_modules/vscode-oniguruma/release/onig.wasm")).buffer);

const paths = new Map();
const injections = new Map();
const own = fileURLToPath(new URL("..", import.meta.url));
for (const folder of [own, ...readdirSync(join(vscode, "extensions")).map((name) => join(vscode, "extensions", name))]) {
    const manifest = join(folder, "package.json");
    for (const { scopeName, path, injectTo = [] } of (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).contributes?.grammars) || []) {
        paths.set(scopeName, join(folder, path));
        for (const scope of injectTo) injections.set(scope, [...(injections.get(scope) ?? []), scopeName]);
    }
}
const registry = new Registry({
    onigLib: { createOnigScanner: (sources) => new OnigScanner(sources), createOnigString: (text) => new OnigString(text) },
    loadGrammar: (scope) => (paths.has(scope) ? parseRawGrammar(readFileSync(paths.get(scope), "utf8"), paths.get(scope)) : null),
    // As the editor does it.
    getInjections: (scope) => scope.split(".").flatMap((_, at, all) => injections.get(all.slice(0, at + 1).join(".")) ?? []),
});

/** The words that are coloured as a marker's, and whether the comment is over on the line after the text. */
async function look(scope, text) {
    const grammar = await registry.loadGrammar(scope);
    const found = [];
    let stack = INITIAL;
    for (const line of text.split("\n")) {
        const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
        stack = ruleStack;
        found.push(...tokens.filter(({ scopes }) => /^(keyword|variable).*\.postil$/.test(scopes.at(-1))).map(({ startIndex, endIndex }) => line.slice(startIndex, endIndex)));
    }
    return { found: found.join(" "), over: !grammar.tokenizeLine("x", stack).tokens[0].scopes.some((one) => one.startsWith("comment")) };
}

const [slashes, hash, dashes, semicolon, markup] = ["// @", "# @", "-- @", "; @", "<!-- @ -->"];
const braces = [slashes, "x(); // @", "/* @ */", "/*\n * @\n */", "/**\n * @\n */", "/*\n@\n*/"];
const marked = {
    "source.batchfile": ["REM @", ":: @"],
    "source.c": braces,
    "source.clojure": [semicolon, ";; @"],
    "source.coffee": [hash, "###\n@\n###"],
    "source.cpp": [...braces, "/// @", "//! @"],
    "source.cs": [...braces.slice(0, 4), "/// @"],
    "source.css": braces.slice(2),
    "source.css.less": braces,
    "source.css.scss": braces,
    "source.dart": [...braces, "/// @"],
    "source.dockerfile": [hash],
    "source.dotenv": [hash],
    "source.fsharp": [slashes, "(* @ *)"],
    "source.go": braces,
    "source.groovy": braces,
    "source.hlsl": [slashes],
    "source.ini": [semicolon, hash],
    "source.java": braces,
    "source.js": braces,
    "source.js.jsx": [...braces, "const a = <b>{/* @ */}</b>"],
    "source.json.comments": [slashes, "{ // @"],
    "source.julia": [hash],
    "source.lua": [dashes, "--- @", "--[[ @ ]]"],
    "source.makefile": [hash],
    "source.objc": braces,
    "source.perl": [hash],
    "source.powershell": [hash],
    "source.python": [hash, "## @", "x = 1  # @"],
    "source.r": [hash, "#' @"],
    "source.rst": [".. @"],
    "source.ruby": [hash],
    "source.rust": [...braces, "/// @", "//! @", "    // @"],
    "source.shaderlab": [slashes],
    "source.shell": [hash, "x  # @", "    # @"],
    "source.sql": [dashes, "/* @ */"],
    "source.swift": [...braces, "/// @"],
    "source.ts": [...braces, "    // @"],
    "source.tsx": braces,
    "source.yaml": [hash, "a: 1 # @"],
    "text.html.cshtml": ["@* \0 *@"],
    "text.html.derivative": [markup, "<!--\n@\n-->", "<script>\n// @\n</script>"],
    "text.html.handlebars": [markup, "{{!-- @ --}}"],
    "text.html.markdown": [markup],
    "text.html.php": ["<?php\n// @\n# @\n/* @ */"],
    "text.tex.latex": ["% @"],
    "text.xml": [markup],
};
const unmarked = {
    "source.rust": ['let a = "\n// @\n";', 'let a = r#"\n// @\n"#;', "// the @", "// x // @"],
    "source.shell": ["cat <<E\n# @\nE", "echo 'a\n# @'", "a=${x#@}", "# the @"],
    "source.ts": ["const a = `\n// @\n`;", "/**/ @", "// AUTHORS: a", "// AUTHOR (jane): a", "// AUTHOR(): a", "// Author: a"],
    "text.html.markdown": ["```rust\n// @\n```"],
};
const bad = [];
for (const [scope, texts] of Object.entries(marked)) {
    for (const text of texts) {
        for (const [marker, words] of [["AUTHOR: why?", "AUTHOR"], ["AGENT(claude):so", "AGENT claude"]]) {
            const whole = text.includes("\0") ? text.replace("\0", marker) : text.replaceAll("@", marker);
            const { found, over } = await look(scope, whole);
            const wanted = Array(whole.split(marker).length - 1).fill(words).join(" ");
            if (found !== wanted || !over) bad.push(`${scope} ${JSON.stringify(whole)}: ${found || "nothing"}${over ? "" : ", and its comment goes on"}`);
        }
    }
}
for (const [scope, texts] of Object.entries(unmarked)) {
    for (const text of texts) {
        const { found } = await look(scope, text.replaceAll("@", "AUTHOR: why?"));
        if (found !== "") bad.push(`${scope} ${JSON.stringify(text)}: ${found}, which is no marker`);
    }
}
console.error(bad.join("\n"));
process.exit(bad.length > 0 ? 1 : 0);
