//! L3. Settings: defaults, the user's file, the workspace's `postil.toml`, the client's, the process's
//! environment; with the provenance of each value.
//!
//! A repository can narrow what the user allows, never widen it: what names a command, an endpoint, a
//! key or a permission counts in the user's file alone, and a limit elsewhere only where it is lower.

mod check;
mod layers;
mod node;
mod rules;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde_json::Value;

use crate::acp;
use crate::models::prices::Said;
use crate::os;
pub use check::{nearest, text};
use layers::{Layer, Layers};
pub use rules::{TOOLS, wildcard};
pub use schema::{Action, Api, Review, Rule, Share, Trigger};
pub use write::write_model;

/// The name of a workspace's settings, at its root.
pub const PROJECT_FILE: &str = "postil.toml";

/// Where data, configuration and logs lie (XDG, or the platform's folders).
#[derive(Clone, Debug)]
pub struct Folders {
    pub config: PathBuf,
    pub data: PathBuf,
    pub state: PathBuf,
    /// What can be made anew at any time; `None`: nothing is kept.
    pub cache: Option<PathBuf>,
}

impl Folders {
    /// # Errors
    /// Where the home folder is unknown.
    pub fn of_user() -> anyhow::Result<Self> {
        let unknown = || {
            let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
            anyhow::anyhow!(
                "the home folder is unknown: set {variable} to its absolute path and try again"
            )
        };
        let strategy = etcetera::choose_base_strategy().map_err(|_| unknown())?;
        let home = os::home().ok_or_else(unknown)?;
        // XDG's variables count on every platform: whoever sets them means them. A relative path is ignored, as their
        // specification says: it is another folder wherever we stand.
        let folder = |variable: &str, platform: PathBuf| {
            let set = std::env::var_os(variable).map(PathBuf::from);
            let platform = match platform.strip_prefix(strategy.home_dir()) {
                Ok(below) => home.join(below),
                Err(_) => platform,
            };
            set.filter(|p| p.is_absolute())
                .unwrap_or(platform)
                .join("postil")
        };
        Ok(Self {
            config: folder("XDG_CONFIG_HOME", strategy.config_dir()),
            data: folder("XDG_DATA_HOME", strategy.data_dir()),
            state: folder(
                "XDG_STATE_HOME",
                strategy.state_dir().unwrap_or_else(|| strategy.data_dir()),
            ),
            cache: Some(folder("XDG_CACHE_HOME", strategy.cache_dir())),
        })
    }

    /// The user's settings.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }
}

#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Deserialize,
    serde::Serialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("enumDescriptions" = [
    "Inside threads: a definition or a use of what a thread names.",
    "In the code too, for an editor that has no language server of its own.",
    "Nowhere: none is started.",
]))]
pub enum ProxyMode {
    #[default]
    Threads,
    Always,
    Off,
}

/// How a model's provider is reached.
#[derive(Clone, Debug)]
pub struct Provider {
    pub base_url: String,
    pub api_key_env: Option<String>,
    /// Program and arguments that print the key.
    pub api_key_command: Option<Vec<String>>,
    /// The key lies in the system's keyring.
    pub keyring: bool,
    /// What the endpoint speaks.
    pub api: Api,
    /// Whether anything of it was set by the user, and not known before.
    pub configured: bool,
}

/// The settings in force for one workspace folder.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `provider/model`, where one is named.
    pub model: Option<String>,
    pub providers: BTreeMap<String, Provider>,
    /// What the user says of models, by `provider/model`.
    pub models: BTreeMap<String, Said>,
    pub trigger: Trigger,
    pub review: Review,
    /// `provider/model` of second opinions.
    pub consult: Option<String>,
    pub max_rounds: u32,
    /// In and out together, in one turn.
    pub max_tokens: u64,
    /// US dollars a turn.
    pub max_cost: f64,
    pub keep_indentation: bool,
    /// Bytes.
    pub max_file_size: u64,
    /// What holds where no rule matches; `None`: by the tool's risk.
    pub permission: Option<Action>,
    /// The last one that matches holds.
    pub rules: Vec<Rule>,
    /// Names of tools that are switched off, `*` for any rest.
    pub disabled_tools: Vec<String>,
    pub proxy_mode: ProxyMode,
    /// Seconds a request.
    pub proxy_timeout: u64,
    pub proxy_max_children: usize,
    /// Seconds until an unused child ends.
    pub proxy_idle: u64,
    pub servers: Vec<crate::children::Row>,
    /// Outside agents of the user's own.
    pub agents: Vec<crate::acp::Agent>,
    pub sandbox: Sandbox,
    pub web: Web,
    pub worktrees: Worktrees,
    pub share: Share,
    pub lost: Lost,
}

/// What was said of who answers and could not be read: each by its place, as it is told to a person. Where it holds,
/// nobody is asked in the place of whom the user may have meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    pub who: Option<String>,
    /// By provider: how it is reached.
    pub providers: BTreeMap<String, String>,
}

/// What an agent's commands may use beyond the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    pub network: Network,
    /// Absolute.
    pub read: Vec<PathBuf>,
    /// Absolute.
    pub write: Vec<PathBuf>,
    /// Names of variables.
    pub environment: Vec<String>,
}

/// What an agent's commands reach of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    None,
    /// Through a proxy: these hosts alone, as [`crate::web::Pattern`] reads them.
    Hosts(Vec<String>),
    /// Through a proxy: every public host.
    Public,
    /// The machine's own network, its own services too.
    Whole,
}

impl Network {
    /// Whose network it is, for people and models: stands behind "network:".
    pub fn describe(&self) -> String {
        match self {
            Self::None => String::from("none"),
            Self::Hosts(hosts) => format!("through a proxy, {}", hosts.join(", ")),
            Self::Public => String::from("through a proxy, every public host"),
            Self::Whole => String::from(
                "whole, this machine's own services and private networks too (sandbox.network = \"whole\")",
            ),
        }
    }
}

/// What an agent's tools may ask on the web.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Web {
    /// Hosts, with a port or without, that need not be public.
    pub allow: Vec<String>,
    pub proxy: Option<String>,
}

/// Worktrees of sub-agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worktrees {
    pub enabled: bool,
    pub auto_merge: bool,
    pub require_review: bool,
    pub cleanup_on_failure: bool,
    pub max_concurrent: u32,
}

impl Default for Settings {
    fn default() -> Self {
        schema::Raw::default().into_settings()
    }
}

/// A wrong or refused setting, at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `None`: it came from the client, or from the environment.
    pub file: Option<PathBuf>,
    /// Bytes in the file; `0..0`: none was read.
    pub range: std::ops::Range<usize>,
    pub message: String,
    /// What to write over `range` instead, where one name is nearest.
    pub fix: Option<String>,
}

impl Problem {
    /// For whoever does not look at the file: with its name and the line, counted from 1.
    pub fn sentence(&self) -> String {
        match self.place() {
            Some(place) => format!("{place}: {}", self.message),
            None => self.message.clone(),
        }
    }

    /// The file, and the line in it unless it is about the file as a whole.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        if self.is_of_all() {
            return Some(file.display().to_string());
        }
        let text = std::fs::read(file).unwrap_or_default();
        let above = text.get(..self.range.start).unwrap_or_default();
        let line = above.iter().filter(|byte| **byte == b'\n').count() + 1;
        Some(format!("{}:{line}", file.display()))
    }

    /// Whether it is about the file as a whole, of which nothing was read.
    pub fn is_of_all(&self) -> bool {
        self.range == (0..0)
    }
}

/// What was read, and from where.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: Settings,
    pub problems: Vec<Problem>,
    /// Key, value, source (`default`, `user`, `workspace`, `client`, `environment`).
    pub sources: Vec<(String, Value, String)>,
}

/// Where a model is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The user's own, or the process's environment.
    Own,
    Workspace,
    /// An editor that does not tell the user's settings from those that it keeps in the workspace.
    Editor,
}

impl Place {
    /// For a sentence that goes on with what these name.
    pub fn settings(self) -> &'static str {
        match self {
            Self::Own => "your own settings",
            Self::Workspace => "this workspace's settings",
            Self::Editor => "the editor's settings",
        }
    }
}

/// What is named and not asked, for the workspace is not trusted; and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    pub model: Option<(String, Place)>,
    pub consult: Option<(String, Place)>,
}

impl Loaded {
    /// Who says what holds for this key. What an editor hands on without telling whose it is may be a workspace's:
    /// `.dir-locals.el`, `.zed/settings.json`, `.helix/languages.toml`.
    pub fn place(&self, key: &str) -> Place {
        match self.source(key) {
            Some("workspace") => Place::Workspace,
            Some("client") => Place::Editor,
            _ => Place::Own,
        }
    }

    /// Where the workspace is not trusted: a repository does not say by itself to whom code is sent, so that the models
    /// are those of `own`, what is known to be set by the user. And those that are passed over. Outside agents are asked
    /// about by name, and the built-in answers send nothing.
    pub fn untrusted(&self, own: &Settings) -> (Settings, PassedOver) {
        let mut settings = self.settings.clone();
        settings.lost = own.lost.clone();
        let mut passed = PassedOver::default();
        let agents = &self.settings.agents;
        let PassedOver { model, consult } = &mut passed;
        for (key, named, own, passed) in [
            ("model", &mut settings.model, &own.model, model),
            ("turn.consult", &mut settings.consult, &own.consult, consult),
        ] {
            let is_sent = |name: &String| {
                let name = name.trim();
                let agent = name.strip_prefix("acp/").unwrap_or(name);
                name != "offline" && acp::agent(agent, agents).is_none()
            };
            let place = self.place(key);
            if place != Place::Own && named != own && named.as_ref().is_some_and(is_sent) {
                let other = std::mem::replace(named, own.clone());
                *passed = other.map(|name| (name, place));
            }
        }
        (settings, passed)
    }

    /// Who says what holds for this key.
    pub fn source(&self, key: &str) -> Option<&str> {
        let said = self.sources.iter().find(|(known, ..)| known == key)?;
        Some(&said.2)
    }
}

/// What an editor's section may hold beside the settings: those that it knows to be the user's own, and no
/// workspace's. They count as the user's file does, and stand over it. What is beside them is the workspace's.
pub const OWN: &str = "$user";

/// `root`: the workspace; `None`: only what the user is known to have set. `client`: the editor's `postil` section.
/// Never fails: what cannot be used is a [`Problem`], and what it would have set keeps its value of the next place.
pub fn load(folders: &Folders, root: Option<&Path>, client: Option<&Value>) -> Loaded {
    load_with(folders, root, client, &|name| std::env::var(name).ok())
}

/// [`load`] with the environment given.
pub fn load_with(
    folders: &Folders,
    root: Option<&Path>,
    client: Option<&Value>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Loaded {
    let mut layers = Layers::new();
    layers.file(Layer::User, &folders.config_file());
    let mut client = client.cloned();
    let own = client.as_mut().and_then(Value::as_object_mut);
    let own = own.and_then(|client| client.remove(OWN));
    if let Some(own) = &own {
        layers.client(Layer::User, own);
    }
    if let Some(root) = root {
        layers.file(Layer::Workspace, &root.join(PROJECT_FILE));
    }
    match (client, &own) {
        // Said to be the workspace's, by leaving it beside the user's.
        (Some(client), Some(_)) if root.is_some() => layers.client(Layer::Workspace, &client),
        (Some(client), None) if root.is_some() => layers.client(Layer::Client, &client),
        _ => {}
    }
    layers.environment(environment);
    layers.finish(root)
}

/// The models that the settings of the workspace at `root` name.
pub fn models_of(root: &Path) -> Vec<String> {
    let mut layers = Layers::new();
    layers.file(Layer::Workspace, &root.join(PROJECT_FILE));
    let settings = layers.finish(None).settings;
    let named = settings.model.into_iter().chain(settings.consult);
    named.filter(|name| name != "offline").collect()
}

/// The problems of a settings file whose text is `text`, which need not be what is on disk: a workspace's
/// `postil.toml` (checked against what the user allows), or the user's own file.
pub fn check_text(folders: &Folders, path: &Path, text: &str) -> Vec<Problem> {
    let mut layers = Layers::new();
    if path == folders.config_file() {
        layers.text(Layer::User, path, text);
    } else {
        layers.file(Layer::User, &folders.config_file());
        layers.text(Layer::Workspace, path, text);
    }
    let mut problems = layers.finish(None).problems;
    problems.retain(|problem| problem.file.as_deref() == Some(path));
    problems
}

/// The first name of a setting at the top of all that an editor sends, where no section `postil` is: nothing of
/// ours would be found there.
pub fn misplaced(settings: &Value) -> Option<String> {
    let settings = settings
        .as_object()
        .filter(|all| !all.contains_key("postil"))?;
    let schema = schema();
    let names = schema.get("properties")?;
    settings
        .keys()
        .find(|name| names.get(name).is_some())
        .cloned()
}

/// The JSON schema of all settings.
pub fn schema() -> Value {
    schema::schema()
}

/// Whether a setting is read and checked, but does nothing in this version (`x-effect` in the schema).
pub fn is_without_effect(schema: &Value, key: &str) -> bool {
    let mut at = Some(schema);
    key.split('.').any(|name| {
        at = at.and_then(|node| node.get("properties")?.get(name));
        at.and_then(|node| node.get("x-effect")).is_some()
    })
}
