// The licences of the libraries that come along in what is shipped, as most of them ask for.
//
//   node packaging/licenses.mjs [crates] [FOLDER ...]     prints those of the crates that the program is linked with on
//                                                         this platform (or CARGO_BUILD_TARGET), and those of the npm
//                                                         modules in these folders
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const LICENSE = /^(licen[cs]e|copying|notice|unlicense|copyright)/i;

/** What the program is linked with: neither what builds it nor what tests it. */
function crates() {
    const run = (program, ...args) => {
        try {
            return execFileSync(program, args, { cwd: root, encoding: "utf8", maxBuffer: 64 << 20, stdio: ["ignore", "pipe", "pipe"] });
        } catch (error) {
            const [why] = (error.stderr || error.message).trim().split("\n");
            process.stderr.write(`packaging/licenses.mjs: the licences of the libraries need cargo and rustc, and the sources of the crates (\`cargo fetch --locked\` gets them): ${program}: ${why}\n`);
            process.exit(1);
        }
    };
    const host = process.env.CARGO_BUILD_TARGET ?? /^host: (.*)$/m.exec(run("rustc", "-vV"))[1];
    const { packages, resolve } = JSON.parse(run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host));
    const byId = new Map(packages.map((one) => [one.id, one]));
    const linked = new Set([resolve.root]);
    for (const id of linked) {
        const { deps } = resolve.nodes.find((node) => node.id === id);
        for (const { pkg, dep_kinds: kinds } of deps) {
            if (kinds.some(({ kind }) => kind === null)) {
                linked.add(pkg);
            }
        }
    }
    return [...linked]
        .map((id) => byId.get(id))
        .filter(({ source }) => source !== null)
        .map(({ name, version, license, repository, manifest_path: manifest }) => ({ name, version, license, repository, folder: path.dirname(manifest) }));
}

function module(folder) {
    const { name, version, license, repository } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    return { name, version, license, repository: repository?.url ?? repository, folder };
}

/** The licence files of a folder and of the sources in C that it carries; where one may choose, those of the MIT licence. */
function textsOf({ folder, license }) {
    const inside = (place) => readdirSync(place, { withFileTypes: true });
    const files = (place) => inside(place).filter((entry) => entry.isFile() && LICENSE.test(entry.name) && !/\.(rs|js|ts|h|c)$/.test(entry.name)).map(({ name }) => path.join(place, name));
    const own = files(folder);
    const mit = own.filter((file) => /mit|notice/i.test(path.basename(file)));
    const chosen = /\bMIT\b/.test(license ?? "") && mit.some((file) => /mit/i.test(path.basename(file))) ? mit : own;
    const carried = inside(folder).filter((entry) => entry.isDirectory()).flatMap(({ name }) => files(path.join(folder, name)));
    return [...chosen, ...carried].map((file) => readFileSync(file, "utf8").replaceAll("\r\n", "\n").trim());
}

const [, , ...asked] = process.argv;
const all = asked.flatMap((what) => (what === "crates" ? crates() : module(what))).sort((a, b) => (a.name < b.name ? -1 : 1));
const byText = new Map();
const bare = [];
for (const library of all) {
    const { name, version, license, repository } = library;
    const told = `${name} ${version}${license ? ` (${license})` : ""}`;
    const texts = textsOf(library);
    if (texts.length === 0) {
        bare.push(`${told}${repository ? `, ${repository}` : ""}`);
    }
    for (const text of new Set(texts)) {
        byText.set(text, [...(byText.get(text) ?? []), told]);
    }
}
const LINE = "=".repeat(78);
const parts = [...byText].map(([text, names]) => `${names.join("\n")}\n\n${text}`);
process.stdout.write(
    [`What postil carries along of other libraries, and their licences.`, ...parts, ...(bare.length > 0 ? [`These came without a text of their licence:\n\n${bare.join("\n")}`] : [])].join(`\n\n${LINE}\n`) + "\n",
);
