//! The settings as they are written. The schema that editors complete from, and the checks of each
//! layer, are made from these types; `x-` keywords say what a repository or an editor may not set:
//! `x-from: user` not at all, `x-limit` not higher, `x-order` not further to the right (what stands in
//! a list there is as wide as its neighbours).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Lost, Network, Provider, ProxyMode, Sandbox, Settings, Web, Worktrees};
use crate::acp::Agent;
use crate::children::Row;
use crate::models::prices::Said;
use crate::os;

/// Settings of postil. The first place that has a value wins: the environment, the editor's settings,
/// `postil.toml` at the workspace root, the user's `config.toml`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(title = "postil")]
pub(super) struct Raw {
    /// Who answers: `provider/model`, such as `anthropic/claude-sonnet-5-5`, or `offline`. Absent: the
    /// first that works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where models are reached, by provider: `anthropic`, `openai`, `openai-compatible`, `ollama` …, or a
    /// name of your own.
    #[schemars(extend("x-from" = "user"))]
    pub providers: BTreeMap<String, RawProvider>,
    /// What a model holds and costs, by `provider/model`: goes before what postil knows of it.
    #[schemars(extend("x-from" = "user"))]
    pub models: BTreeMap<String, RawModel>,
    /// An agent's turn.
    pub turn: Turn,
    /// Threads in comments.
    pub threads: Threads,
    /// What an agent may do without asking.
    #[schemars(extend("x-from" = "user"))]
    pub permissions: Permissions,
    /// What an agent's commands may use beyond the workspace.
    #[schemars(extend("x-from" = "user"))]
    pub sandbox: RawSandbox,
    /// What an agent's tools may ask on the web.
    #[schemars(extend("x-from" = "user"))]
    pub web: RawWeb,
    /// The agent's tools.
    pub tools: Tools,
    /// Language servers as children.
    pub proxy: Proxy,
    /// Language servers by language: adds to, or replaces, the built-in row.
    #[schemars(extend("x-from" = "user"))]
    pub servers: BTreeMap<String, Server>,
    /// Outside agents by name, for `model = "acp/NAME"`: programs that speak the Agent Client Protocol.
    #[schemars(extend("x-from" = "user"))]
    pub agents: BTreeMap<String, OutsideAgent>,
    /// Sub-agents. None of these has an effect yet: there are no sub-agents.
    #[schemars(extend("x-effect" = "none"))]
    pub subagent: Subagent,
    /// The history of runs.
    pub workflow: Workflow,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct RawProvider {
    /// The endpoint; requests go to paths below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that has the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Program and arguments that print the key; run without a shell, when the key is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_command: Option<Vec<String>>,
    /// Whether the key lies in the system's keyring, under the service `postil` and the provider's name as
    /// the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyring: Option<bool>,
    /// What the endpoint speaks: `messages` (Anthropic's), `responses` (OpenAI's), or `chat` (OpenAI's
    /// older one, which most other servers speak). Absent: `chat`, and each provider's own where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<Api>,
}

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Api {
    Messages,
    Responses,
    Chat,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct RawModel {
    /// Tokens that fit, prompt and answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1024, max = 100_000_000))]
    pub context_window: Option<u64>,
    /// Most tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16, max = 100_000_000))]
    pub max_output: Option<u32>,
    /// Whether it takes images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// US dollars a million tokens. A cost is told where this and `outputPrice` are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub input_price: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub output_price: Option<f64>,
    /// Into the provider's cache; absent: `inputPrice`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cache_write_price: Option<f64>,
    /// Out of the provider's cache; absent: `inputPrice`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cache_read_price: Option<f64>,
}

/// When a turn begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("enumDescriptions" = [
    "When you ask for it.",
    "Saving a file answers the threads that you typed in it.",
]))]
pub enum Trigger {
    #[default]
    Manual,
    OnSave,
}

/// Whether a turn's edits are shown before they are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("enumDescriptions" = [
    "Edits are made at once; they can be reviewed and undone afterwards.",
    "Nothing is changed until you have seen it.",
]))]
pub enum Review {
    #[default]
    Off,
    Ask,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Turn {
    /// What begins a turn: `manual`, you do; `onSave`, saving by hand does, for the threads that were typed here.
    #[schemars(extend("x-order" = ["manual", "onSave"]))]
    pub trigger: Trigger,
    /// Whether the edits of a turn are shown before they are made: `off` or `ask`. A turn that runs keeps
    /// what held when it began.
    #[schemars(extend("x-order" = ["ask", "off"]))]
    pub review: Review,
    /// Who gives an agent second opinions (its tool `consult`): `provider/model`. Absent: nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consult: Option<String>,
    /// Most requests to the model in one turn; then it pauses. A turn that runs keeps what held when it began.
    #[schemars(extend("x-limit" = true), range(min = 1, max = 10_000))]
    pub max_rounds: u32,
    /// Most tokens of one turn, those in and those out together; then it pauses. A turn that runs keeps what held when
    /// it began.
    #[schemars(extend("x-limit" = true), range(min = 1, max = 1_000_000_000_000_u64))]
    pub max_tokens: u64,
    /// Most US dollars that one turn may cost; then it pauses. A turn that runs keeps what held when it began.
    #[schemars(extend("x-limit" = true), range(min = 0))]
    pub max_cost: f64,
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            trigger: Trigger::default(),
            review: Review::default(),
            consult: None,
            max_rounds: 60,
            max_tokens: 10_000_000,
            max_cost: 5.0,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("enumDescriptions" = [
    "A thread begins at the left margin.",
    "A thread keeps the indentation of its code.",
]))]
pub(super) enum Indentation {
    #[default]
    None,
    Keep,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Threads {
    /// How far a thread is indented: `none`, or `keep`, as its code is.
    pub indentation: Indentation,
    /// Most bytes of a file that is searched for threads; a larger one is named as skipped.
    #[schemars(extend("x-limit" = true), range(min = 1, max = 4_294_967_296_u64))]
    pub max_file_size: u64,
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            indentation: Indentation::default(),
            max_file_size: 8 * 1024 * 1024,
        }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-can" = "`true`, `false`, `\"whole\"` or a list of hosts"))]
pub(super) enum RawNetwork {
    Switch(bool),
    Hosts(Vec<Host>),
    Word(Word),
}

impl Default for RawNetwork {
    fn default() -> Self {
        Self::Switch(false)
    }
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Word {
    Whole,
}

/// A host, with a port or without, or all below one.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-host" = "any"))]
pub(super) struct Host(String);

/// A host, with a port or without.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-host" = "one"))]
pub(super) struct OneHost(String);

impl RawNetwork {
    fn into_settings(self) -> Network {
        match self {
            // An empty list is no host, and not every one.
            Self::Hosts(hosts) if hosts.is_empty() => Network::None,
            Self::Hosts(hosts) => Network::Hosts(hosts.into_iter().map(|host| host.0).collect()),
            Self::Switch(false) => Network::None,
            Self::Switch(true) => Network::Public,
            Self::Word(Word::Whole) => Network::Whole,
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct RawSandbox {
    /// What commands reach, by HTTP and through a proxy: `false`, nothing; `true`, every public host; a list, these
    /// hosts alone (`crates.io`, `*.crates.io`, `localhost:3000`). `"whole"`: the network as this machine has it, its
    /// own services and private networks too, with no proxy between.
    pub network: RawNetwork,
    /// Hidden files and folders that may be read; `~/` is the home folder.
    pub read: Vec<String>,
    /// Files and folders outside the workspace that may be written.
    pub write: Vec<String>,
    /// Environment variables that are handed on.
    pub environment: Vec<String>,
}

impl RawSandbox {
    fn into_settings(self) -> Sandbox {
        let home = os::home().unwrap_or_default();
        let absolute = |path: String| match path.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => path.into(),
        };
        let all = |paths: Vec<String>| {
            let paths = paths.into_iter().map(absolute);
            paths.filter(|path| path.is_absolute()).collect()
        };
        Sandbox {
            network: self.network.into_settings(),
            read: all(self.read),
            write: all(self.write),
            environment: self.environment,
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct RawWeb {
    /// Hosts that may be asked though they are no public ones: `localhost:3000`, `10.0.0.7`,
    /// `wiki.example.org`. A name stands for this machine and private networks; a cloud's metadata service and
    /// the like only where their address stands here.
    pub allow: Vec<OneHost>,
    /// The proxy that all requests of these tools go through, and what commands ask through `sandbox.network`:
    /// `http://proxy.example.org:3128`. It resolves names itself. Absent: none, whatever the environment says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
}

/// What becomes of a tool call.
// In the order of strictness: of two the stricter is the greater.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    Allow,
    Ask,
    Deny,
}

/// `pattern` is matched against what the call is about (a path, a command, an address), `*` for
/// anything; without it every call of the tool is meant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// The tool's name, `*` for any.
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    pub action: Action,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Permissions {
    /// What holds where no rule matches. Absent: reading and, in a turn that you started, writing inside
    /// the workspace are allowed, running and sending are asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Action>,
    /// The last rule that matches holds.
    pub rules: Vec<Rule>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Tools {
    /// Names of tools that no agent gets. Each place adds to the list of the others.
    #[schemars(extend("x-adds" = true))]
    pub disabled: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Proxy {
    /// Where language servers answer: in `threads`, `always` (in the code too, by the same programs), or not at all
    /// (`off`).
    #[schemars(extend("x-order" = ["off", ["threads", "always"]]))]
    pub mode: ProxyMode,
    /// Seconds that a request to a language server may take.
    #[schemars(extend("x-limit" = true), range(min = 1, max = 3600))]
    pub timeout: u64,
    /// Most language servers that run at the same time.
    #[schemars(extend("x-limit" = true), range(min = 0, max = 1000))]
    pub max_children: u64,
    /// Seconds until a language server that nobody uses is ended.
    #[schemars(extend("x-limit" = true), range(min = 1, max = 604_800))]
    pub idle: u64,
}

impl Default for Proxy {
    fn default() -> Self {
        Self {
            mode: ProxyMode::default(),
            timeout: 10,
            max_children: 8,
            idle: 600,
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-requires" = "command"))]
pub(super) struct Server {
    /// The program, found on PATH.
    pub command: String,
    pub args: Vec<String>,
    /// Without the dot. Of several servers for a file, that of its language is asked; NAME is the language's id, and one of
    /// another name (a linter's) is asked where the language's own is not there.
    pub extensions: Vec<String>,
    /// Files that mark a project's root.
    pub root_markers: Vec<String>,
    /// Passed on as they are. A server that runs begins anew when they change.
    pub initialization_options: Value,
    /// Added to the child's environment.
    pub env: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-requires" = "command"))]
pub(super) struct OutsideAgent {
    /// The program, found on PATH; it speaks the protocol on its standard input and output.
    pub command: String,
    pub args: Vec<String>,
    /// Added to its environment.
    pub env: BTreeMap<String, String>,
    /// Names of variables of your own environment that it gets, `*` at the end for any rest.
    pub pass_env: Vec<String>,
    /// Seconds without a sign of life until the turn is given up; a tool of its own may take six times as long.
    #[schemars(range(min = 1, max = 86_400))]
    pub idle: u64,
}

impl Default for OutsideAgent {
    fn default() -> Self {
        Self {
            command: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            idle: crate::acp::IDLE.as_secs(),
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Subagent {
    /// Worktrees of sub-agents. No effect yet.
    pub worktree: Worktree,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Worktree {
    /// A sub-agent works in a worktree of its own. No effect yet.
    #[schemars(extend("x-order" = [true, false]))]
    pub enabled: bool,
    /// A sub-agent's work is merged when it ends. No effect yet.
    #[schemars(extend("x-order" = [false, true]))]
    pub auto_merge: bool,
    /// A sub-agent's work is merged after you have seen it. No effect yet.
    #[schemars(extend("x-order" = [true, false]))]
    pub require_review: bool,
    /// A failed sub-agent's worktree is removed if nothing is lost by it. No effect yet.
    #[schemars(extend("x-order" = [false, true]))]
    pub cleanup_on_failure: bool,
    /// Most sub-agents that work in worktrees of their own at the same time. No effect yet.
    #[schemars(extend("x-limit" = true), range(min = 1, max = 100))]
    pub max_concurrent: u32,
}

impl Default for Worktree {
    fn default() -> Self {
        Self {
            enabled: true,
            auto_merge: true,
            require_review: false,
            cleanup_on_failure: false,
            max_concurrent: 3,
        }
    }
}

/// Whether the history leaves this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("enumDescriptions" = [
    "Conversations stay on this machine.",
    "Conversations are shared as git notes.",
]))]
pub enum Share {
    #[default]
    Off,
    Notes,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Workflow {
    /// Whether conversations are shared: `off`, or `notes`, as git notes.
    #[schemars(extend("x-order" = ["off", "notes"]))]
    pub share: Share,
}

pub(super) fn schema() -> Value {
    let settings =
        schemars::generate::SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
    settings
        .into_generator()
        .into_root_schema_for::<Raw>()
        .to_value()
}

/// What is known of the providers; the user's file goes before. Name, endpoint, variable of the key, wire
/// format.
const PROVIDERS: &[(&str, &str, Option<&str>, Api)] = &[
    (
        "anthropic",
        "https://api.anthropic.com",
        Some("ANTHROPIC_API_KEY"),
        Api::Messages,
    ),
    (
        "openai",
        "https://api.openai.com/v1",
        Some("OPENAI_API_KEY"),
        Api::Responses,
    ),
    (
        "openai-compatible",
        "http://localhost:11434/v1",
        None,
        Api::Chat,
    ),
    ("ollama", "http://127.0.0.1:11434/v1", None, Api::Chat),
    ("llama-cpp", "http://127.0.0.1:8080/v1", None, Api::Chat),
    ("lmstudio", "http://127.0.0.1:1234/v1", None, Api::Chat),
    ("vllm", "http://127.0.0.1:8000/v1", None, Api::Chat),
    (
        "openrouter",
        "https://openrouter.ai/api/v1",
        Some("OPENROUTER_API_KEY"),
        Api::Chat,
    ),
];

impl Raw {
    /// Adds what is known of the providers.
    pub(super) fn complete(&mut self) {
        for (name, base_url, key, api) in PROVIDERS {
            let provider = self.providers.entry((*name).to_owned()).or_default();
            provider
                .base_url
                .get_or_insert_with(|| (*base_url).to_owned());
            provider.api.get_or_insert(*api);
            if provider.api_key_command.is_none() && provider.api_key_env.is_none() {
                provider.api_key_env = key.map(str::to_owned);
            }
        }
    }

    pub(super) fn into_settings(mut self) -> Settings {
        let named: Vec<String> = self.providers.keys().cloned().collect();
        self.complete();
        let providers = self.providers.into_iter().map(|(name, p)| {
            let provider = Provider {
                base_url: p
                    .base_url
                    .unwrap_or_default()
                    .trim_end_matches('/')
                    .to_owned(),
                api_key_env: p.api_key_env,
                api_key_command: p.api_key_command,
                keyring: p.keyring.unwrap_or(false),
                api: p.api.unwrap_or(Api::Chat),
                configured: named.contains(&name),
            };
            (name, provider)
        });
        let models = self.models.into_iter().map(|(name, m)| {
            let said = Said {
                window: m.context_window,
                max_output: m.max_output,
                images: m.images,
                input: m.input_price,
                output: m.output_price,
                cache_write: m.cache_write_price,
                cache_read: m.cache_read_price,
            };
            (name, said)
        });
        let servers = self.servers.into_iter().map(|(language, s)| Row {
            install: format!("set servers.{language}.command in config.toml"),
            language,
            command: s.command,
            args: s.args,
            extensions: s.extensions,
            root_markers: s.root_markers,
            initialization_options: s.initialization_options,
            env: s.env.into_iter().collect(),
        });
        let agents = self.agents.into_iter().map(|(name, a)| Agent {
            env: a.env.into_iter().collect(),
            pass: a.pass_env,
            idle: std::time::Duration::from_secs(a.idle),
            ..Agent::own(&name, &a.command, a.args)
        });
        let worktree = self.subagent.worktree;
        Settings {
            model: self.model.filter(|m| !m.trim().is_empty()),
            providers: providers.collect(),
            models: models.collect(),
            trigger: self.turn.trigger,
            review: self.turn.review,
            consult: self.turn.consult.filter(|m| !m.trim().is_empty()),
            max_rounds: self.turn.max_rounds,
            max_tokens: self.turn.max_tokens,
            max_cost: self.turn.max_cost,
            keep_indentation: self.threads.indentation == Indentation::Keep,
            max_file_size: self.threads.max_file_size,
            permission: self.permissions.default,
            rules: self.permissions.rules,
            disabled_tools: self.tools.disabled,
            proxy_mode: self.proxy.mode,
            proxy_timeout: self.proxy.timeout,
            proxy_max_children: usize::try_from(self.proxy.max_children).unwrap_or(usize::MAX),
            proxy_idle: self.proxy.idle,
            servers: servers.filter(|row| !row.command.is_empty()).collect(),
            agents: agents.filter(|a| !a.programs.is_empty()).collect(),
            sandbox: self.sandbox.into_settings(),
            web: Web {
                allow: self.web.allow.into_iter().map(|host| host.0).collect(),
                proxy: self.web.proxy.filter(|proxy| !proxy.trim().is_empty()),
            },
            worktrees: Worktrees {
                enabled: worktree.enabled,
                auto_merge: worktree.auto_merge,
                require_review: worktree.require_review,
                cleanup_on_failure: worktree.cleanup_on_failure,
                max_concurrent: worktree.max_concurrent,
            },
            share: self.workflow.share,
            lost: Lost::default(),
        }
    }
}
