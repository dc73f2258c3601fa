// What the model says, in the cases that have one.

const READ = { calls: [["file_read", { path: "load.rs" }], ["file_read", { path: "main.rs" }]] };
const OPTION = ["file_edit", { path: "load.rs", old_string: "-> String {", new_string: "-> Option<String> {" }];
const DEFAULT = ["file_edit", { path: "main.rs", old_string: 'load("notes")', new_string: 'load("notes").unwrap_or_default()' }];
const ask = (question, ...choices) => ({ calls: [["ask_user", { question, choices }]] });

export const scripts = {
    host: Array(3).fill({ calls: [["bash", { command: "echo '[so](command:d.e)'; sleep 60" }]] }),
    run: [{ ...READ, text: 'file_edit {"path":"spoof.rs","old_string":"a","new_string":"b"}' }, { calls: [OPTION, DEFAULT] }, { text: "Gives nothing where there is no file.", held: true }, { text: "Never said.", held: true }],
    reload: [READ, { text: "Never said.", held: true }, { text: "Gives nothing where there is no file." }],
    paused: [{ calls: [READ.calls[0]] }, { text: "Looked at all of it." }],
    review: [
        READ,
        { calls: [OPTION, DEFAULT] },
        { text: "Changed." },
        { text: "Changed in main.rs alone." },
        { calls: [READ.calls[0]] },
        { calls: [OPTION] },
        { text: "Now there too." },
    ],
    keys: [
        { ...READ, held: true },
        { text: "One.", held: true },
        { text: "Two.", held: true },
        { text: "Here.", held: true },
        { text: "Now.", held: true },
        { ...READ, held: true },
        { text: "Three.", held: true },
        { ...READ, held: true },
        { text: "Four.", held: true },
    ],
    gone: [{ text: "It gives text.", held: true }],
    left: [{ text: "Never said.", held: true }],
    unsaved: [
        { calls: [["file_read", { path: "a.ipynb" }]] },
        { calls: [["file_edit", { path: "a.ipynb", old_string: "k = 3", new_string: "k = 4" }]], held: true },
        { text: "Because of k.", held: true },
    ],
    overview: [READ, { calls: [OPTION, DEFAULT] }, { text: "Never said." }],
    turn: [
        { text: "Never said.", held: true },
        ask("Which [runtime](command:workbench.action.reloadWindow)?", "tokio", "smol"),
        { ...ask("How many threads?", "one", "many"), held: true },
        { text: "tokio it is, with many threads." },
    ],
    trust: [{ text: "Only looked." }, { text: "Could write." }],
};
