//! The agents that are known by name, and where their programs are.

use std::path::{Path, PathBuf};

use super::{Agent, IDLE};
use crate::{children, os};

/// Name, title, programs, arguments, variables, how to install, how to log in, ways to log in by a variable.
type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// In the order in which one is proposed where nothing is configured.
const KNOWN: &[Row] = &[
    (
        "claude-code",
        "Claude Code",
        &["claude-agent-acp", "claude-code-acp"],
        &[],
        &["ANTHROPIC_*", "CLAUDE_*"],
        "install its adapter with `npm install -g @agentclientprotocol/claude-agent-acp`",
        "run `claude` in a terminal and log in there with `/login`",
        &[],
    ),
    (
        "codex",
        "Codex",
        &["codex-acp"],
        &[],
        &["OPENAI_*", "CODEX_*"],
        "install its adapter with `npm install -g @agentclientprotocol/codex-acp`",
        "run `codex login` in a terminal",
        &[
            ("openai-api-key", "OPENAI_API_KEY"),
            ("codex-api-key", "CODEX_API_KEY"),
            ("api-key", "OPENAI_API_KEY"),
        ],
    ),
    (
        "gemini",
        "Gemini CLI",
        &["gemini"],
        &["--acp"],
        &["GEMINI_*", "GOOGLE_*"],
        "install it with `npm install -g @google/gemini-cli`",
        "run `gemini` in a terminal and log in there",
        &[("gemini-api-key", "GEMINI_API_KEY")],
    ),
    (
        "opencode",
        "opencode",
        &["opencode"],
        &["acp"],
        &["OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "OPENROUTER_*"],
        "install it with `npm install -g opencode-ai`",
        "run `opencode auth login` in a terminal",
        &[],
    ),
    (
        "goose",
        "goose",
        &["goose"],
        &["acp"],
        &["GOOSE_*", "ANTHROPIC_*", "OPENAI_*", "OPENROUTER_*"],
        "install goose as its own page says",
        "run `goose configure` in a terminal",
        &[],
    ),
    (
        "copilot",
        "GitHub Copilot",
        &["copilot"],
        &["--acp"],
        &["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"],
        "install it with `npm install -g @github/copilot`",
        "run `copilot` in a terminal and log in there with `/login`",
        &[],
    ),
    (
        "qwen",
        "Qwen Code",
        &["qwen"],
        &["--acp"],
        &["QWEN_*", "DASHSCOPE_*", "OPENAI_*"],
        "install it with `npm install -g @qwen-code/qwen-code`",
        "run `qwen` in a terminal and log in there",
        &[("openai", "OPENAI_API_KEY")],
    ),
    (
        "kimi",
        "Kimi CLI",
        &["kimi"],
        &["acp"],
        &["KIMI_*", "MOONSHOT_*"],
        "install Kimi CLI as its own page says",
        "run `kimi` in a terminal and log in there",
        &[],
    ),
    (
        "vibe",
        "Mistral Vibe",
        &["vibe-acp"],
        &[],
        &["MISTRAL_*", "VIBE_*"],
        "install Mistral Vibe as its own page says",
        "run `vibe --setup` in a terminal",
        &[],
    ),
];

/// What every program needs to find its way: the person, the language, the folders, the network's shape.
const USUAL: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
];

impl Agent {
    /// One of the user's own; without a command it has no program.
    pub fn own(name: &str, command: &str, args: Vec<String>) -> Self {
        let programs = [command.trim()];
        Self {
            name: name.to_owned(),
            title: name.to_owned(),
            programs: programs
                .into_iter()
                .filter(|p| !p.is_empty())
                .map(str::to_owned)
                .collect(),
            args,
            env: Vec::new(),
            pass: Vec::new(),
            install: format!("see `command` of `[agents.{name}]` in config.toml"),
            login: String::from("log in with its own program in a terminal"),
            keys: Vec::new(),
            idle: IDLE,
        }
    }

    fn known(row: &Row) -> Self {
        let (name, title, programs, args, pass, install, login, keys) = *row;
        let owned = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect();
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            programs: owned(programs),
            args: owned(args),
            env: Vec::new(),
            pass: owned(pass),
            install: install.to_owned(),
            login: login.to_owned(),
            keys: keys
                .iter()
                .map(|(method, variable)| ((*method).to_owned(), (*variable).to_owned()))
                .collect(),
            idle: IDLE,
        }
    }

    /// The program on the person's PATH, never one of a workspace.
    pub fn program(&self, workspaces: &[PathBuf]) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = os::search_path(&path, workspaces);
        let inside = |program: &Path| {
            let real = os::canonical(program).unwrap_or_else(|_| program.to_owned());
            workspaces
                .iter()
                .any(|w| program.starts_with(w) || real.starts_with(w))
        };
        self.programs
            .iter()
            .flat_map(|name| children::programs(name, &path))
            .find(|program| !inside(program))
    }

    /// Its environment: what every program needs, what this one needs for its login, what the user adds.
    pub(super) fn environment(
        &self,
        workspaces: &[PathBuf],
    ) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        let given = |name: &std::ffi::OsStr| {
            let text = name.to_string_lossy();
            let fits = |pattern: &str| match pattern.strip_suffix('*') {
                Some(start) => text.starts_with(start),
                None => os::is_same_variable(name, pattern),
            };
            let mut usual = USUAL.iter().chain(os::SYSTEM_VARIABLES);
            usual.any(|p| fits(p)) || self.pass.iter().any(|p| fits(p))
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(os::search_path(&path, workspaces)).unwrap_or_default();
        std::env::vars_os()
            .filter(|(name, _)| given(name))
            .chain([("PATH".into(), path)])
            .chain(self.env.iter().map(|(n, v)| (n.into(), v.into())))
            .collect()
    }
}

/// The agent of this name: the user's own go before those that are known.
pub fn agent(name: &str, own: &[Agent]) -> Option<Agent> {
    let own = own.iter().find(|a| a.name == name).cloned();
    own.or_else(|| KNOWN.iter().find(|row| row.0 == name).map(Agent::known))
}

/// Every name, the user's own first.
pub fn names(own: &[Agent]) -> Vec<String> {
    let known = KNOWN.iter().map(|row| row.0.to_owned());
    let mut names: Vec<String> = own.iter().map(|a| a.name.clone()).collect();
    names.extend(known.filter(|name| own.iter().all(|a| a.name != *name)));
    names
}

/// The agents whose programs are there.
pub fn found(own: &[Agent], workspaces: &[PathBuf]) -> Vec<Agent> {
    names(own)
        .iter()
        .filter_map(|name| agent(name, own))
        .filter(|agent| agent.program(workspaces).is_some())
        .collect()
}

/// The first of them.
pub fn installed(own: &[Agent], workspaces: &[PathBuf]) -> Option<Agent> {
    names(own)
        .iter()
        .filter_map(|name| agent(name, own))
        .find(|agent| agent.program(workspaces).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_goes_before_the_known() {
        let own = [Agent::own("codex", "/opt/codex", vec!["x".into()])];
        assert_eq!(agent("codex", &own).unwrap().programs, ["/opt/codex"]);
        assert_eq!(agent("gemini", &own).unwrap().args, ["--acp"]);
        assert!(agent("nobody", &own).is_none());
        let names = names(&own);
        assert_eq!(names.first().map(String::as_str), Some("codex"));
        assert_eq!(names.iter().filter(|n| *n == "codex").count(), 1);
    }

    #[test]
    fn a_program_inside_the_workspace_is_none() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("agent");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let own = Agent::own("mine", &program.display().to_string(), Vec::new());
        assert!(own.program(&[]).is_some());
        assert!(own.program(&[folder.path().to_owned()]).is_none());
    }

    #[test]
    fn secrets_of_others_stay_here() {
        let names = |agent: &Agent| -> Vec<String> {
            let given = agent.environment(&[]).into_iter();
            given
                .map(|(n, _)| n.to_string_lossy().into_owned())
                .collect()
        };
        let mut own = Agent::own("mine", "mine", Vec::new());
        assert!(names(&own).iter().all(|n| !n.starts_with("CARGO_")));
        assert!(names(&own).iter().any(|n| n == "PATH"));
        own.pass.push("CARGO_PKG_*".into());
        assert!(names(&own).iter().any(|n| n == "CARGO_PKG_NAME"));
        assert!(names(&own).iter().all(|n| n != "CARGO_MANIFEST_DIR"));
    }
}
