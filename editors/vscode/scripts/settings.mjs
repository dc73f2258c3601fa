// Makes the settings of package.json from the server's schema, and the menus of threads and reviews from the tables
// below: node scripts/settings.mjs POSTIL [--check]
//
// What only the user's own configuration may set (`x-from: user`: commands, endpoints, permissions) is left out: the
// server takes it from no editor, for an editor's settings may come from a file of the repository. So is what has no
// effect yet (`x-effect: none`).
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
    if (node["x-from"] === "user" || node["x-effect"] === "none") return;
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

/** Of threads: the command, where it fits (what `contextValue` is to be), its icon's place in the margin and in the row, and its place in the row's menu. */
const THREADS = [
    ["showThread", "^", 0, 0, "1_show@1"],
    ["openConversation", "\\.run(\\.|$)", 3, 2, "1_show@2"],
    ["replyAsAgent", "^pending", 1, 1, "2_turn@1"],
    ["cancel", "^running", 1, 1, "2_turn@1"],
    ["showQuestion", "^running.*\\.asks", 2, 2, "2_turn@2"],
    ["continue", "^(answered|new).*\\.paused", 1, 1, "2_turn@1"],
    ["plan", "^pending", 0, 0, "2_turn@2"],
    ["reviewTurn", "^(pending|answered|new).*\\.edits|review$", 2, 0, "2_turn@3"],
    ["undoTurn", "^(pending|answered|new).*\\.changes", 4, 0, "2_turn@4"],
    ["askAnother", "^(pending|answered)", 0, 0, "2_turn@5"],
    ["consult", "^pending.*\\.run(\\.|$)|^answered", 0, 0, "2_turn@6"],
    ["resolve", "^(pending|answered|new)", 5, 3, "3_end@1"],
    ["openFolder", "^outside$", 1, 1, "2_file@1"],
    // Of a file's other name, which has no row.
    ["showElsewhere", "^elsewhere$", 1, 0, undefined],
];
/** Of the other rows: the command, the view, where it fits, its icon's place in the row, and its place in the row's menu. */
const ROWS = [
    ["replyAllInFile", "threads", "== file.pending", 1, "2_file@1"],
    ["clearAndCommit", "threads", "=~ /^file/", 0, "2_file@2"],
    ["openFolder", "threads", "== outside", 1, "2_file@1"],
    ["review.accept", "review", "== changed", 1, "1_decide@1"],
    ["review.reject", "review", "== changed", 2, "1_decide@2"],
    ["review.acceptAll", "review", "== review", 1, "1_decide@1"],
    ["review.rejectAll", "review", "== review", 2, "1_decide@2"],
];
const rows = [...THREADS.map(([verb, fits, , icon, group]) => [verb, "threads", `=~ /${fits.replaceAll("^", "^thread\\.")}/`, icon, group]), ...ROWS];
manifest.contributes.menus["comments/commentThread/title"] = THREADS.filter(([, , icon]) => icon > 0)
    .sort(([, , a], [, , b]) => a - b)
    .map(([verb, fits, icon]) => ({ command: `postil.${verb}`, group: `navigation@${icon}`, when: `commentController == postil && commentThread =~ /${fits}/` }));
manifest.contributes.menus["view/item/context"] = rows.flatMap(([verb, view, fits, icon, group]) => {
    const when = `view == postil.${view} && viewItem ${fits}`;
    return [...(icon > 0 ? [`inline@${icon}`] : []), ...(group ? [group] : [])].map((group) => ({ command: `postil.${verb}`, group, when }));
});
/** What is done in a place alone is not in the palette. */
const PLACED = /^postil\.(comment\.|changeFilter$|showElsewhere$|review\.diff$)/;
const palette = manifest.contributes.menus.commandPalette.filter(({ when }) => when !== "false");
const placed = manifest.contributes.commands.filter(({ command }) => PLACED.test(command));
manifest.contributes.menus.commandPalette = [...placed.map(({ command }) => ({ command, when: "false" })), ...palette];
const made = `${JSON.stringify(manifest, null, 4)}\n`;
if (check === undefined) {
    writeFileSync(file, made);
} else if (made !== text) {
    console.error("package.json differs from the server's schema, or from the tables of its menus: node scripts/settings.mjs POSTIL makes it anew");
    process.exit(1);
}
