// Makes the settings of package.json from the server's schema: node scripts/settings.mjs POSTIL [--check]
//
// What only the user's own configuration may set (`x-from: user`: commands, endpoints, permissions) is left out: the
// server takes it from no editor, for an editor's settings may come from a file of the repository.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const [, , program = "postil", check] = process.argv;
const schema = JSON.parse(execFileSync(program, ["config", "schema"], { encoding: "utf8" }));
const file = new URL("../package.json", import.meta.url);
const text = readFileSync(file, "utf8");
const manifest = JSON.parse(text);

const properties = {};
// The schema's order; without numbers the editor would sort by name.
let order = 0;
const walk = (path, node) => {
    if (node["x-from"] === "user") return;
    if (node.properties) {
        for (const [name, inner] of Object.entries(node.properties)) walk([...path, name], inner);
        return;
    }
    const known = Object.fromEntries(Object.entries(node).filter(([key]) => !key.startsWith("x-") && !["format", "description", "default"].includes(key)));
    const described = (node.description ?? "").replaceAll("\n", " ");
    // Shown, never sent: a default of the editor would stand before what postil.toml says.
    const fallback = node.default === undefined ? {} : { default: node.default };
    // Of a text that may be absent the editor shows a box where it is not told of `null`: an empty one is absent.
    const type = String(node.type) === "string,null" ? { type: "string" } : {};
    order += 1;
    properties[["postil", ...path].join(".")] = { ...known, ...type, ...fallback, markdownDescription: described, scope: "window", order };
};
walk([], schema);
manifest.contributes.configuration[0].properties = properties;
const made = `${JSON.stringify(manifest, null, 4)}\n`;
if (check === undefined) {
    writeFileSync(file, made);
} else if (made !== text) {
    console.error("package.json differs from the server's schema: node scripts/settings.mjs POSTIL makes it anew");
    process.exit(1);
}
