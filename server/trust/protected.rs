//! Files that decide what other programs do. Names are compared as the most careless file system would.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use unicode_normalization::UnicodeNormalization;

use crate::{os, vcs};

const GIT: &str = "it belongs to version control, which runs what stands there";
const OURS: &str = "it is postil's own configuration";
const EDITOR: &str = "it is an editor's configuration, which can name commands";
const AGENT: &str = "it is an agent's configuration or list of servers";
const SHELL: &str = "it is run when a shell starts";
const CI: &str = "it defines what a build machine runs";
const TOOL: &str = "it names programs that building runs";

/// What managers of git's hooks run, or are told by what to run: whole names, and beginnings of others.
const HOOKS: &[&str] = &[
    ".husky",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".githooks",
    ".overcommit.yml",
];
const LEFTHOOK: &[&str] = &["lefthook", ".lefthook"];

/// Whole components, lower case, wherever they stand.
const NAMES: &[(&str, &str)] = &[
    (".git", GIT),
    (".gitmodules", GIT),
    (".gitattributes", GIT),
    (".gitconfig", GIT),
    (".hg", GIT),
    (".hgrc", GIT),
    (".svn", GIT),
    (".jj", GIT),
    (".postil", OURS),
    ("postil.toml", OURS),
    (".vscode", EDITOR),
    (".helix", EDITOR),
    (".idea", EDITOR),
    (".zed", EDITOR),
    (".fleet", EDITOR),
    (".nvim", EDITOR),
    (".nvim.lua", EDITOR),
    (".nvimrc", EDITOR),
    (".exrc", EDITOR),
    (".vimrc", EDITOR),
    (".gvimrc", EDITOR),
    (".dir-locals.el", EDITOR),
    (".emacs", EDITOR),
    (".emacs.d", EDITOR),
    (".devcontainer", EDITOR),
    (".devcontainer.json", EDITOR),
    ("devfile.yaml", EDITOR),
    (".devfile.yaml", EDITOR),
    (".gitpod.yml", EDITOR),
    (".gitpod.yaml", EDITOR),
    (".gitpod", EDITOR),
    (".idx", EDITOR),
    (".replit", EDITOR),
    (".vim", EDITOR),
    (".lvimrc", EDITOR),
    (".local.vimrc", EDITOR),
    (".vimrc.local", EDITOR),
    ("_vimrc", EDITOR),
    ("_exrc", EDITOR),
    ("_gvimrc", EDITOR),
    ("coc-settings.json", EDITOR),
    (".vimspector.json", EDITOR),
    (".ycm_extra_conf.py", EDITOR),
    (".lazy.lua", EDITOR),
    (".neoconf.json", EDITOR),
    (".luarc.json", EDITOR),
    (".luarc.jsonc", EDITOR),
    (".kakrc", EDITOR),
    ("kakrc", EDITOR),
    (".kak", EDITOR),
    (".dir-locals-2.el", EDITOR),
    (".emacs.el", EDITOR),
    (".spacemacs", EDITOR),
    (".doom.d", EDITOR),
    (".nova", EDITOR),
    (".lapce", EDITOR),
    (".theia", EDITOR),
    (".vs", EDITOR),
    (".mcp.json", AGENT),
    ("mcp.json", AGENT),
    (".claude", AGENT),
    (".claude.json", AGENT),
    (".cursor", AGENT),
    (".cursorrules", AGENT),
    (".codex", AGENT),
    (".gemini", AGENT),
    (".opencode", AGENT),
    ("opencode.json", AGENT),
    ("opencode.jsonc", AGENT),
    (".continue", AGENT),
    (".windsurf", AGENT),
    (".windsurfrules", AGENT),
    (".clinerules", AGENT),
    (".roo", AGENT),
    (".roomodes", AGENT),
    (".kiro", AGENT),
    (".goosehints", AGENT),
    (".aider.conf.yml", AGENT),
    (".amazonq", AGENT),
    ("agents.md", AGENT),
    ("agents.override.md", AGENT),
    ("agent.md", AGENT),
    (".agent", AGENT),
    (".agents", AGENT),
    (".aiassistant", AGENT),
    (".aider.conf.yaml", AGENT),
    (".aider.model.settings.yml", AGENT),
    (".amp", AGENT),
    (".antigravity", AGENT),
    (".augment", AGENT),
    (".augment-guidelines", AGENT),
    (".cline", AGENT),
    (".codebuddy", AGENT),
    ("codebuddy.md", AGENT),
    (".coderabbit.yaml", AGENT),
    (".coderabbit.yml", AGENT),
    (".cody", AGENT),
    (".continuerules", AGENT),
    (".copilot", AGENT),
    (".crush", AGENT),
    (".crush.json", AGENT),
    ("crush.json", AGENT),
    ("crush.md", AGENT),
    (".devin", AGENT),
    (".factory", AGENT),
    (".goose", AGENT),
    (".grok", AGENT),
    (".iflow", AGENT),
    ("iflow.md", AGENT),
    (".junie", AGENT),
    (".kilo", AGENT),
    (".kilocode", AGENT),
    (".kilocodemodes", AGENT),
    (".mcp", AGENT),
    (".openhands", AGENT),
    (".openhands_instructions", AGENT),
    (".pr_agent.toml", AGENT),
    (".qodo", AGENT),
    (".qwen", AGENT),
    ("qwen.md", AGENT),
    (".roorules", AGENT),
    (".ruler", AGENT),
    (".rules", AGENT),
    (".serena", AGENT),
    (".tabnine", AGENT),
    (".trae", AGENT),
    (".vibe", AGENT),
    (".void", AGENT),
    (".voidrules", AGENT),
    (".warp", AGENT),
    ("warp.md", AGENT),
    (".zencoder", AGENT),
    ("claude.md", AGENT),
    ("claude.local.md", AGENT),
    ("gemini.md", AGENT),
    ("copilot-instructions.md", AGENT),
    (".bashrc", SHELL),
    (".bash_profile", SHELL),
    (".bash_login", SHELL),
    (".bash_logout", SHELL),
    (".bash_aliases", SHELL),
    (".profile", SHELL),
    (".zshrc", SHELL),
    (".zshenv", SHELL),
    (".zprofile", SHELL),
    (".zlogin", SHELL),
    (".zlogout", SHELL),
    (".kshrc", SHELL),
    (".mkshrc", SHELL),
    (".cshrc", SHELL),
    (".tcshrc", SHELL),
    (".login", SHELL),
    (".xprofile", SHELL),
    (".xsessionrc", SHELL),
    (".inputrc", SHELL),
    ("config.fish", SHELL),
    (".direnv", SHELL),
    (".autoenv", SHELL),
    (".autoenv.zsh", SHELL),
    (".autoenv_leave.zsh", SHELL),
    (".env", SHELL),
    (".env.local", SHELL),
    (".mise", SHELL),
    (".rtx.toml", SHELL),
    ("devbox.json", SHELL),
    ("devenv.nix", SHELL),
    ("devenv.yaml", SHELL),
    (".flox", SHELL),
    (".shrc", SHELL),
    (".ashrc", SHELL),
    (".xinitrc", SHELL),
    (".xsession", SHELL),
    ("profile.ps1", SHELL),
    ("microsoft.powershell_profile.ps1", SHELL),
    (".ssh", SHELL),
    (".gitlab-ci.yml", CI),
    (".gitlab", CI),
    (".circleci", CI),
    (".buildkite", CI),
    (".woodpecker", CI),
    (".woodpecker.yml", CI),
    (".travis.yml", CI),
    (".drone.yml", CI),
    (".cirrus.yml", CI),
    (".appveyor.yml", CI),
    ("appveyor.yml", CI),
    ("bitbucket-pipelines.yml", CI),
    ("buildspec.yml", CI),
    ("cloudbuild.yaml", CI),
    (".ci", CI),
    (".gitlab-ci.yaml", CI),
    (".build.yml", CI),
    (".build.yaml", CI),
    (".builds", CI),
    (".teamcity", CI),
    (".semaphore", CI),
    ("codemagic.yaml", CI),
    ("codemagic.yml", CI),
    ("bitrise.yml", CI),
    ("bitrise.yaml", CI),
    (".azure-pipelines", CI),
    (".azuredevops", CI),
    (".woodpecker.yaml", CI),
    (".travis.yaml", CI),
    (".drone.yaml", CI),
    (".drone.star", CI),
    (".drone.jsonnet", CI),
    (".cirrus.yaml", CI),
    (".cirrus.star", CI),
    (".appveyor.yaml", CI),
    ("appveyor.yaml", CI),
    ("bitbucket-pipelines.yaml", CI),
    ("buildspec.yaml", CI),
    ("buildkite.yml", CI),
    ("buildkite.yaml", CI),
    ("cloudbuild.yml", CI),
    ("cloudbuild.json", CI),
    (".jenkins", CI),
    (".codeship", CI),
    ("codeship-steps.yml", CI),
    ("codeship-services.yml", CI),
    ("wercker.yml", CI),
    (".scrutinizer.yml", CI),
    (".tekton", CI),
    (".prow", CI),
    (".prow.yaml", CI),
    (".zuul.yaml", CI),
    ("zuul.yaml", CI),
    (".zuul.d", CI),
    ("zuul.d", CI),
    (".space.kts", CI),
    (".onedev-buildspec.yml", CI),
    (".harness", CI),
    (".vela.yml", CI),
    (".vela.yaml", CI),
    ("bamboo-specs", CI),
    (".packit.yaml", CI),
    ("packit.yaml", CI),
    (".readthedocs.yaml", CI),
    (".readthedocs.yml", CI),
    ("netlify.toml", CI),
    ("vercel.json", CI),
    (".cargo", TOOL),
    (".npmrc", TOOL),
    (".yarnrc", TOOL),
    (".yarnrc.yml", TOOL),
    (".pypirc", TOOL),
    (".pnpmfile.cjs", TOOL),
    (".pnpmfile.mjs", TOOL),
    ("rust-toolchain", TOOL),
    ("rust-toolchain.toml", TOOL),
    (".tool-versions", TOOL),
    ("flake.nix", TOOL),
    ("shell.nix", TOOL),
];

/// What a component begins and ends with.
const PATTERNS: &[(&str, &str, &str)] = &[
    ("", ".code-workspace", EDITOR),
    ("", ".sublime-project", EDITOR),
    ("", ".run.xml", EDITOR),
    (".roorules-", "", AGENT),
    (".clinerules-", "", AGENT),
    (".envrc", "", SHELL),
    ("mise.", "toml", SHELL),
    (".mise.", "toml", SHELL),
    ("azure-pipelines", ".yml", CI),
    ("azure-pipelines", ".yaml", CI),
    (".azure-pipelines", ".yml", CI),
    ("jenkinsfile", "", CI),
];

/// Names in guarded folders that are looked at for links; more are nobody's configuration.
const LOOKED_AT: usize = 2000;

/// Two components in a row.
const PAIRS: &[(&str, &str, &str)] = &[
    (".github", "workflows", CI),
    (".github", "actions", CI),
    (".forgejo", "workflows", CI),
    (".gitea", "workflows", CI),
    (".forgejo", "actions", CI),
    (".gitea", "actions", CI),
    (".github", "instructions", AGENT),
    (".github", "prompts", AGENT),
    (".github", "chatmodes", AGENT),
    (".github", "agents", AGENT),
    (".github", "skills", AGENT),
    (".github", "hooks", AGENT),
    (".config", "mise", SHELL),
    (".config", "fish", SHELL),
    (".config", "nvim", EDITOR),
    (".config", "helix", EDITOR),
    (".config", "kak", EDITOR),
    (".config", "zed", EDITOR),
];

/// Of a repository's own folder: what makes git run something, but for [`REBASE_TODO`]. The rest is git's daily work.
pub const OF_GIT: &[&str] = &[
    "config",
    "config.worktree",
    "hooks",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "commondir",
    "gitdir",
];
/// What is still to be done of a rebase, line by line; git runs what a line has it run.
pub const REBASE_TODO: &str = "rebase-merge/git-rebase-todo";

/// Why a write to `relative` (with `/`) asks each time, whatever the grants: `.git`, `.vscode`, CI …
pub fn protected(relative: &str) -> Option<&'static str> {
    let parts: Vec<String> = relative.split(['/', '\\']).map(careless).collect();
    for part in &parts {
        if manages_hooks(part) {
            return Some(GIT);
        }
        if let Some((_, why)) = NAMES.iter().find(|(name, _)| name == part) {
            return Some(why);
        }
        let fits = |(start, end, _): &&(&str, &str, _)| {
            let rest = part.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        };
        if let Some((.., why)) = PATTERNS.iter().find(fits) {
            return Some(why);
        }
        if is_short_git(part) {
            return Some(GIT);
        }
    }
    parts.windows(2).find_map(|pair| {
        let [a, b] = pair else { return None };
        PAIRS
            .iter()
            .find(|(x, y, _)| x == a && y == b)
            .map(|(.., why)| *why)
    })
}

/// Names of an agent's own files and folders, as most programs spell them.
pub(super) fn of_agents() -> impl Iterator<Item = &'static str> {
    let of_agents = NAMES.iter().filter(|(_, why)| *why == AGENT);
    of_agents.map(|(name, _)| *name)
}

/// Whether a file or folder of this name is of a manager of git's hooks.
pub(super) fn manages_hooks(name: &str) -> bool {
    let name = careless(name);
    HOOKS.contains(&&*name) || LEFTHOOK.iter().any(|start| name.starts_with(start))
}

/// [`protected`] of a path below `root` as it was named, whatever its links lead to.
pub fn named(root: &Path, path: &Path) -> Option<&'static str> {
    let plain = os::without_dots(&root.join(path));
    let is_root = |above: &&Path| os::canonical(above).is_ok_and(|above| above == root);
    let above = plain.ancestors().skip(1).find(is_root)?;
    protected(&plain.strip_prefix(above).ok()?.to_string_lossy())
}

/// [`protected`], and what is [`Obeyed`]: of the root, or of the folder that the file stands in.
pub fn guarded(root: &Path, relative: &str) -> Option<&'static str> {
    Guard::of(root).why(relative)
}

/// [`guarded`] for several files: git is asked once what it obeys in the root, at the first that needs it.
pub struct Guard<'a> {
    root: &'a Path,
    found: OnceLock<Option<OfRoot>>,
}

struct OfRoot {
    /// Without links.
    root: PathBuf,
    top: Option<PathBuf>,
    obeyed: Option<Obeyed>,
}

impl<'a> Guard<'a> {
    pub fn of(root: &'a Path) -> Self {
        let found = OnceLock::new();
        Self { root, found }
    }

    pub fn why(&self, relative: &str) -> Option<&'static str> {
        if let Some(why) = protected(relative) {
            return Some(why);
        }
        if is_of_bare(self.root, relative) {
            return Some(GIT);
        }
        let found = self.found.get_or_init(|| {
            let root = os::canonical(self.root).ok()?;
            Some(OfRoot {
                top: vcs::top(&root),
                obeyed: Obeyed::of(&root),
                root,
            })
        });
        let OfRoot { root, top, obeyed } = found.as_ref()?;
        let file = root.join(relative);
        let folder = file.ancestors().skip(1).find(|folder| folder.is_dir())?;
        if let Some(why) = obeyed.as_ref().and_then(|obeyed| obeyed.holds(&file)) {
            return Some(why);
        }
        let obeyed = match top {
            _ if folder == root => return None,
            // Of the same repository git was asked already.
            Some(_) if vcs::top(folder) == *top => Obeyed::by_links(folder),
            _ => Obeyed::of(folder),
        };
        obeyed?.holds(&file)
    }
}

/// [`guarded`] by the name that `path` was given, or by its own below `root` (`relative`), to which its links lead.
pub fn guarded_as(root: &Path, path: &Path, relative: &str) -> Option<&'static str> {
    named(root, path).or_else(|| guarded(root, relative))
}

/// Whether the folder may be a repository of its own, whatever its name: it has a `HEAD`.
pub fn has_head(folder: &Path) -> bool {
    let head = folder.join("HEAD").symlink_metadata();
    head.is_ok_and(|head| !head.is_dir())
}

/// Whether it is what makes a folder a repository (`HEAD`), or what git obeys in one that is.
fn is_of_bare(root: &Path, relative: &str) -> bool {
    let mut folder = root.to_owned();
    for part in relative.split(['/', '\\']) {
        let name = careless(part);
        let mut obeyed = OF_GIT.iter().chain([&REBASE_TODO]);
        if obeyed.any(|path| path.split('/').next() == Some(&*name)) && has_head(&folder) {
            return true;
        }
        folder.push(part);
    }
    let name = relative.rsplit(['/', '\\']).next().unwrap_or_default();
    careless(name) == "head"
}

/// What is obeyed whatever it is called, and why: what a repository has git obey in its work tree (the folders that it
/// looks for hooks in, what links there lead to, and files that its configuration goes on in), and what guarded links
/// lead to. Names are compared as the most careless file system would.
#[derive(Clone)]
pub struct Obeyed(Vec<(Vec<String>, &'static str)>);

impl Obeyed {
    /// Of the repository at or above `folder`, and of the links in it.
    pub fn of(folder: &Path) -> Option<Self> {
        let of_git = vcs::runs(folder).obeyed.into_iter();
        Self::at(of_git.map(|place| (place, GIT)).chain(linked(folder)))
    }

    /// Of the links in `folder` alone.
    fn by_links(folder: &Path) -> Option<Self> {
        Self::at(linked(folder).into_iter())
    }

    fn at(places: impl Iterator<Item = (PathBuf, &'static str)>) -> Option<Self> {
        let places: Vec<_> = places.map(|(place, why)| (parts(&place), why)).collect();
        (!places.is_empty()).then_some(Self(places))
    }

    /// Relative to a root that they lie in, as the paths then are that they are compared with.
    pub fn below(&self, root: &Path) -> Option<Self> {
        let root = parts(&os::canonical(root).ok()?);
        let below = self.0.iter().filter_map(|(place, why)| {
            let below = place.strip_prefix(&*root).filter(|below| !below.is_empty());
            Some((below?.to_vec(), *why))
        });
        let below: Vec<_> = below.collect();
        (!below.is_empty()).then_some(Self(below))
    }

    /// Whether it is one of them.
    pub fn is(&self, path: &Path) -> bool {
        let count = path.components().count();
        let mut alike = self
            .0
            .iter()
            .filter(|(place, _)| place.len() == count)
            .peekable();
        alike.peek().is_some() && {
            let path = parts(path);
            alike.any(|(place, _)| *place == path)
        }
    }

    fn holds(&self, path: &Path) -> Option<&'static str> {
        let path = parts(path);
        let mut places = self.0.iter();
        places.find_map(|(place, why)| path.starts_with(place).then_some(*why))
    }
}

/// What guarded links lead to: those in `root`, and in guarded folders there.
fn linked(root: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    let mut left = LOOKED_AT;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten() {
            let Ok(entry) = entry else { break };
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if !folder.as_os_str().is_empty() {
                left -= 1;
                if left == 0 {
                    return found;
                }
            }
            let path = folder.join(entry.file_name());
            let name = path.to_string_lossy();
            if kind.is_symlink()
                && let Some(why) = protected(&name)
                && let Ok(target) = os::canonical(&root.join(&path))
                && !root.starts_with(&target)
            {
                found.push((target, why));
            } else if kind.is_dir() && !in_repository(&name) && may_hold(&name) {
                folders.push(path);
            }
        }
    }
    found
}

/// Whether guarded names may stand in a folder because of its own.
fn may_hold(relative: &str) -> bool {
    let last = relative.rsplit('/').next().map(careless);
    protected(relative).is_some()
        || PAIRS
            .iter()
            .any(|(first, ..)| last.as_deref() == Some(*first))
}

/// Its components as the most careless file system would compare them.
pub(super) fn parts(path: &Path) -> Vec<String> {
    let parts = path.components().map(|part| part.as_os_str());
    parts
        .map(|part| careless(&part.to_string_lossy()))
        .collect()
}

/// Whether `relative` (with `/`) is git's own folder or something in it.
pub fn in_repository(relative: &str) -> bool {
    let mut parts = relative.split(['/', '\\']).map(careless);
    parts.any(|part| part == ".git" || is_short_git(&part))
}

/// Whether it is a short name that Windows gives `.git`.
fn is_short_git(part: &str) -> bool {
    let number = part.strip_prefix("git~");
    number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
}

/// A name as a file system sees it that ignores case, invisible characters, trailing dots and blanks,
/// and what follows a colon.
fn careless(name: &str) -> String {
    let visible: String = name.chars().filter(|c| !is_ignored(*c)).nfkc().collect();
    let visible = visible.to_lowercase();
    let name = visible.split(':').next().unwrap_or_default();
    name.trim_end_matches(['.', ' ']).to_owned()
}

/// What HFS+ leaves out when it compares names, and other characters without a shape.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
}
