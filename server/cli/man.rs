//! `postil man`: a page for each command, made from the definitions of the commands, and from the tables below what
//! the definitions do not say.

use std::path::Path;

use clap::Command;
use clap::builder::Resettable;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use jiff::civil::Date;

use super::args::STATUS;

/// What is told on the main page, and on the pages of the commands (and of those below them) that it is about most.
struct Row {
    name: &'static str,
    text: &'static str,
    of: &'static [&'static str],
}

/// Those that ask a model.
const ASKING: &[&str] = &[
    "acp", "consult", "demo", "doctor", "model", "reply", "serve",
];

const ENVIRONMENT: &[Row] = &[
    Row {
        name: "ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY",
        text: "The keys of these providers. `apiKeyEnv` of a provider in config.toml names another variable.",
        of: ASKING,
    },
    Row {
        name: "ANTHROPIC_BASE_URL, OPENAI_BASE_URL",
        text: "Where these two providers are asked; they go before every settings file.",
        of: ASKING,
    },
    Row {
        name: "AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE, CARGO_HOME, CLOUDSDK_CONFIG, DOCKER_CONFIG, GNUPGHOME, GOOGLE_APPLICATION_CREDENTIALS, KUBECONFIG, NETRC, NPM_CONFIG_USERCONFIG, PASSWORD_STORE_DIR",
        text: "Where the keys of other programs lie: an agent's commands cannot read them there either.",
        of: &["acp", "reply", "serve", "tools call"],
    },
    Row {
        name: "GITHUB_ACTIONS, TF_BUILD, TEAMCITY_VERSION",
        text: "Where one is set, the output goes into the log of such a service: a line that it would take for a command is printed as none.",
        of: &[],
    },
    Row {
        name: "HOME",
        text: "The home folder, below which files lie where none of the XDG variables is set. One that is no absolute path counts as unset.",
        of: &[],
    },
    Row {
        name: "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY",
        text: "The proxy to a model's server, and the servers that are asked without it. What tools ask on the web goes through `web.proxy` of config.toml alone.",
        of: ASKING,
    },
    Row {
        name: "NO_COLOR, CLICOLOR, CLICOLOR_FORCE",
        text: "Whether to colour; --color goes before them.",
        of: &[],
    },
    Row {
        name: "NVIM_APPNAME, XDG_DATA_DIRS",
        text: "Neovim's own: the name of its folders, and where the system's copies of the plugin are looked for.",
        of: &["editor neovim"],
    },
    Row {
        name: "PATH",
        text: "Where git, bubblewrap, language servers and outside agents are looked for, in absolute folders outside the workspace alone.",
        of: &[],
    },
    Row {
        name: "POSTIL_COMPLETE",
        text: "Set by the completions to the name of their shell: what could stand next on its line is printed, and nothing else done.",
        of: &["completions"],
    },
    Row {
        name: "POSTIL_LOG",
        text: "What is logged on standard error: `debug`, `postil=trace` and the like. It goes before --verbose.",
        of: &[],
    },
    Row {
        name: "POSTIL_MODEL",
        text: "Who answers, as `model` in the settings; it goes before every settings file.",
        of: ASKING,
    },
    Row {
        name: "POSTIL_TOKEN",
        text: "The token that a client of --listen shows. Without it one is made up and printed.",
        of: &["serve"],
    },
    Row {
        name: "SOURCE_DATE_EPOCH",
        text: "The date of the pages, in seconds since 1970; without it, that of the program's file.",
        of: &["man"],
    },
    Row {
        name: "SSL_CERT_FILE, SSL_CERT_DIR",
        text: "Certificates of the authorities to trust, in place of the system's.",
        of: ASKING,
    },
    Row {
        name: "XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME, XDG_CACHE_HOME",
        text: "The folders of FILES, in place of ~/.config, ~/.local/share, ~/.local/state and ~/.cache. One that is no absolute path counts as unset.",
        of: &[],
    },
    Row {
        name: "XDG_RUNTIME_DIR",
        text: "Where an editor's server has the socket by which the commands that change files, mcp and servers find it; without it, beside the history.",
        of: &[
            "clear", "dismiss", "doctor", "mcp", "new", "process", "reply", "respond", "say",
            "serve", "servers", "undo",
        ],
    },
];

const FILES: &[Row] = &[
    Row {
        name: "~/.config/postil/config.toml",
        text: "Your own settings.",
        of: &["config", "model", "permissions"],
    },
    Row {
        name: "postil.toml",
        text: "In the workspace folder: its settings, which can narrow what yours allow.",
        of: &["config"],
    },
    Row {
        name: "~/.local/share/postil/trust.json",
        text: "The folders that you trust.",
        of: &["trust"],
    },
    Row {
        name: "~/.local/share/postil/permissions.json",
        text: "What the agent may do without asking, since you allowed it when asked.",
        of: &["permissions"],
    },
    Row {
        name: "~/.local/share/postil/agents.json",
        text: "Which outside agents may answer, as you said when asked.",
        of: &[],
    },
    Row {
        name: "~/.local/share/postil/workspaces/*/rounds.db",
        text: "The history of one workspace: its runs and their rounds, and the conversations that were closed.",
        of: &["undo", "why", "workflow"],
    },
    Row {
        name: "~/.local/state/postil/postil.log",
        text: "What postil logged, without keys; at about 1 MB it becomes postil.log.1, and what was that is gone.",
        of: &["acp", "doctor", "mcp", "serve"],
    },
    Row {
        name: "~/.cache/postil/threads/",
        text: "What a scan found, so that the next reads only what changed. It may be deleted at any time.",
        of: &["check", "threads"],
    },
    Row {
        name: "~/.config/helix/languages.toml",
        text: "Helix's own file, with the lines of postil between two marks.",
        of: &["editor helix"],
    },
    Row {
        name: "~/.local/share/nvim/site/pack/postil/",
        text: "The plugin among Neovim's packages.",
        of: &["editor neovim"],
    },
];

/// What every exit status says, for commands that say nothing else of it.
const STATUSES: &str =
    "0 where it was done; 1 where it was not, and standard error says why; 2 for wrong usage.";

/// Writes the pages into `folder`, as of `date`.
pub(super) fn write(root: Command, folder: &Path, date: Date) -> std::io::Result<()> {
    let mut root = root.disable_help_subcommand(true);
    root.build();
    std::fs::create_dir_all(folder)?;
    write_below(&root, &[], folder, &date.to_string())
}

/// `path`: the names of the command and of those above it, without the program's.
fn write_below(command: &Command, path: &[&str], folder: &Path, date: &str) -> std::io::Result<()> {
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        write_below(below, &[path, &[below.get_name()]].concat(), folder, date)?;
    }
    let name = name(path);
    std::fs::write(folder.join(format!("{name}.1")), page(command, path, date)?)
}

fn name(path: &[&str]) -> String {
    [&["postil"], path].concat().join("-")
}

fn page(command: &Command, path: &[&str], date: &str) -> std::io::Result<String> {
    let long = command.get_long_about().or_else(|| command.get_about());
    let long = long.map(ToString::to_string).unwrap_or_default();
    let (told, about): (Vec<&str>, Vec<&str>) = long
        .split("\n\n")
        .partition(|part| part.starts_with(STATUS));
    let said = told.first().and_then(|part| part.strip_prefix(STATUS));
    let examples = command.get_after_help().map(ToString::to_string);
    // What the crate would put under headings that no other page has, is put under the usual ones below.
    let bare = command
        .clone()
        .long_about(about.join("\n\n"))
        .after_help(Resettable::Reset)
        .version(Resettable::Reset)
        .subcommand_help_heading("COMMANDS")
        .subcommand_value_name("command");
    let mut text = Vec::new();
    Man::new(bare)
        .title(name(path).to_uppercase())
        .date(date)
        .source(concat!("postil ", env!("CARGO_PKG_VERSION")))
        .manual("postil manual")
        .render(&mut text)?;
    let mut more = Roff::new();
    more.control("SH", ["EXIT STATUS"]);
    statuses(&mut more, said.unwrap_or(STATUSES));
    rows(&mut more, "ENVIRONMENT", ENVIRONMENT, path);
    rows(&mut more, "FILES", FILES, path);
    if let Some(example) = examples
        .as_deref()
        .and_then(|text| text.strip_prefix("Example: "))
    {
        more.control("SH", ["EXAMPLES"]);
        more.control("nf", [])
            .text([roman(example)])
            .control("fi", []);
    }
    if let Some((_, above)) = path.split_last() {
        more.control("SH", ["SEE ALSO"]);
        more.text([bold(name(above)), roman("(1)")]);
    }
    // It begins with what the text has in its head already.
    let head = Roff::new().render();
    let more = more.render();
    text.extend(more.strip_prefix(&head).unwrap_or(&more).bytes());
    Ok(clean(&String::from_utf8_lossy(&text)))
}

/// `0 where …; 1 where …`, as a list.
fn statuses(page: &mut Roff, said: &str) {
    for part in said.trim_end_matches('.').split("; ") {
        let (code, rest) = part.split_once(' ').unwrap_or((part, ""));
        let meaning = ["where ", "for "]
            .iter()
            .find_map(|word| rest.strip_prefix(word));
        let mut letters = meaning.unwrap_or(rest).chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        page.control("TP", []).text([bold(code)]);
        page.text([roman(first.chain(letters).collect::<String>() + ".")]);
    }
}

/// All on the main page; elsewhere those of the command, if any.
fn rows(page: &mut Roff, heading: &str, rows: &[Row], path: &[&str]) {
    let path = path.join(" ");
    let is_of = |of: &&str| path == *of || path.starts_with(&format!("{of} "));
    let mut told = rows
        .iter()
        .filter(|row| path.is_empty() || row.of.iter().any(is_of))
        .peekable();
    if told.peek().is_some() {
        page.control("SH", [heading]);
    }
    for row in told {
        page.control("TP", []).text([italic(row.name)]);
        page.text([roman(row.text)]);
    }
}

/// Without what readers of pages complain of: blanks at the end of a line, and an empty line as a paragraph.
fn clean(page: &str) -> String {
    let page = page
        .replace(".br\n\n.br\n", ".sp\n")
        .replace("\n\n.br\n", "\n");
    page.lines()
        .flat_map(|line| [line.trim_end(), "\n"])
        .collect()
}
