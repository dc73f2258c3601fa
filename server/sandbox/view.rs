//! What a command sees of the file system: a list of paths, of which the deepest that covers a place holds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::order::{Bytes, Rules};
use crate::os;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    Hidden,
    Read,
    Write,
    /// The run's own temporary folder stands in its place.
    Private,
}

/// What a view is made from.
pub(super) struct Wanted<'a> {
    pub root: &'a Path,
    pub private: &'a Path,
    pub policy: &'a super::Policy,
    pub homes: &'a [PathBuf],
    /// Of the system's, and where variables say that keys lie: not to be read.
    pub secrets: &'a [PathBuf],
    /// Folders of cargo's that lie elsewhere than in a home.
    pub cargo: &'a [PathBuf],
    /// Folders of programs.
    pub programs: &'a [PathBuf],
    /// Inside the root, without links, not to be written.
    pub guarded: &'a [PathBuf],
    /// The same, used as the root is, and not to be moved from where they are.
    pub fixed: &'a [PathBuf],
    /// Of other programs: they lead out of what a command is kept in.
    pub sockets: &'a [PathBuf],
    /// Without bubblewrap: nothing can be put in the place of something else.
    pub alone: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct View(BTreeMap<PathBuf, Access>);

/// Of a home's names that begin with a dot, those that hold programs, their parts, and no keys.
const TOOLS: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".cargo",
    ".deno/bin",
    ".dotnet",
    ".elan",
    ".fnm",
    ".ghcup",
    ".gradle/caches",
    ".gradle/wrapper",
    ".jenv",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".mix",
    ".nix-profile",
    ".npm/_cacache",
    ".nuget/packages",
    ".nvm",
    ".opam",
    ".pub-cache",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".stack",
    ".swiftly",
    ".volta",
];

/// What is secret in them all the same.
const KEYS: &[&str] = &[
    ".dotnet/corefx/cryptography/x509stores/my",
    ".local/share/uv/credentials",
    ".opam/plugins/opam-publish",
    ".pub-cache/credentials.json",
    ".stack/upload/credentials.json",
];

/// Where sockets of other programs lie, and what lies there besides.
const RUN: &[&str] = &["/run", "/var/run"];
const OF_RUN: &[&str] = &[
    "/run/current-system",
    "/run/opengl-driver",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
];

impl View {
    pub fn new(wanted: &Wanted) -> Self {
        let mut view = Self::default();
        view.0.insert(PathBuf::from("/"), Access::Read);
        for folder in ["/tmp", "/var/tmp"] {
            view.put(Path::new(folder), Access::Private);
        }
        let temporary = std::env::temp_dir();
        if view.at(&temporary) == Access::Read {
            view.put(&temporary, Access::Private);
        }
        for path in RUN {
            view.put(Path::new(path), Access::Hidden);
        }
        for path in OF_RUN {
            view.put(Path::new(path), Access::Read);
        }
        for home in wanted.homes {
            view.hide_home(home);
        }
        for folder in wanted.cargo {
            view.hide_cargo(folder);
        }
        // What lies in the root is what the agent works on.
        for path in wanted.secrets {
            if !path.starts_with(wanted.root) {
                view.put(path, Access::Hidden);
            }
        }
        for folder in wanted.programs {
            if view.at(folder) == Access::Hidden {
                view.put(folder, Access::Read);
            }
        }
        for path in &wanted.policy.ours {
            view.put(path, Access::Hidden);
        }
        for path in &wanted.policy.read {
            view.put(path, Access::Read);
        }
        for path in &wanted.policy.write {
            view.put(path, Access::Write);
        }
        if wanted.policy.reviewed {
            // What was granted inside it too.
            view.0
                .retain(|path, access| *access != Access::Write || !path.starts_with(wanted.root));
            view.put(wanted.root, Access::Read);
        } else {
            // What is written with the root needs no mount of its own, which a command could lead astray.
            let inside = view.0.iter().filter(|(path, access)| {
                let mut above = path
                    .ancestors()
                    .skip(1)
                    .take_while(|a| a.starts_with(wanted.root));
                **access == Access::Write
                    && path.starts_with(wanted.root)
                    && above.all(|a| view.0.get(a).is_none_or(|access| *access == Access::Write))
            });
            for path in inside.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
                view.0.remove(&path);
            }
            view.put(wanted.root, Access::Write);
        }
        if wanted.alone {
            view.put(wanted.private, Access::Write);
            view.put(Path::new("/dev"), Access::Hidden);
        } else {
            let access = view.at(wanted.root);
            // What is hidden stays so, where the root holds a home.
            for (paths, access) in [(wanted.fixed, access), (wanted.guarded, Access::Read)] {
                for path in paths {
                    if view.at(path) != Access::Hidden {
                        view.0.insert(path.clone(), access);
                    }
                }
            }
            let granted = wanted.policy.read.iter().chain(&wanted.policy.write);
            let granted: Vec<PathBuf> = granted.map(|place| os::resolved(place)).collect();
            for path in os::resolved_all(wanted.sockets.iter().cloned()) {
                if !granted.iter().any(|place| path.starts_with(place)) {
                    view.put(&path, Access::Hidden);
                }
            }
        }
        // Through bubblewrap we start ourselves.
        if let Ok(own) = std::env::current_exe()
            && matches!(view.at(&own), Access::Hidden | Access::Private)
        {
            view.put(&own, Access::Read);
        }
        view
    }

    /// What begins with a dot is the user's own, but for the folders of tools.
    fn hide_home(&mut self, home: &Path) {
        let names = std::fs::read_dir(home).into_iter().flatten().flatten();
        for entry in names {
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                self.put(&entry.path(), Access::Hidden);
            }
        }
        for tool in TOOLS {
            self.put(&home.join(tool), Access::Read);
        }
        for key in KEYS {
            self.put(&home.join(key), Access::Hidden);
        }
        self.hide_cargo(&home.join(".cargo"));
    }

    fn hide_cargo(&mut self, folder: &Path) {
        for name in ["credentials", "credentials.toml"] {
            self.put(&folder.join(name), Access::Hidden);
        }
        // What cargo needs, and where a token may stand as well.
        for config in ["config", "config.toml"].map(|name| folder.join(name)) {
            if holds_token(&config) {
                self.put(&config, Access::Hidden);
            }
        }
    }

    /// Where it is; what is not there needs nothing.
    fn put(&mut self, path: &Path, access: Access) {
        if let Ok(path) = os::canonical(path) {
            self.0.insert(path, access);
        }
    }

    pub fn at(&self, path: &Path) -> Access {
        let path = os::canonical(path).unwrap_or_else(|_| path.to_owned());
        path.ancestors()
            .find_map(|above| self.0.get(above).copied())
            .unwrap_or(Access::Hidden)
    }

    /// Each path from the outside in, with its access and that of what is around it.
    pub fn entries(&self) -> impl Iterator<Item = (&Path, Access, Option<Access>)> {
        self.0.iter().map(|(path, access)| {
            let around = path
                .ancestors()
                .skip(1)
                .find_map(|above| self.0.get(above).copied());
            (path.as_path(), *access, around)
        })
    }

    /// For Landlock inside bubblewrap, which hides what is hidden.
    pub fn writable(&self) -> Rules {
        let kept = |access| matches!(access, Access::Write | Access::Private);
        // What is written with what is around it needs no rule.
        let written = self
            .entries()
            .filter(|(_, access, around)| kept(*access) && !around.is_some_and(kept));
        let own = ["/dev", "/proc"].map(Path::new);
        Rules {
            read: vec![Path::new("/").into()],
            write: written
                .map(|(path, ..)| path)
                .chain(own)
                .map(Bytes::from)
                .collect(),
        }
    }

    /// For Landlock by itself: it can only allow, so the way to what is hidden is allowed name by name.
    pub fn allowed(&self) -> Rules {
        let mut rules = Rules::default();
        self.allow(Path::new("/"), &mut rules);
        // Devices are everybody's here: those that all programs need.
        let devices = ["null", "zero", "full", "random", "urandom", "tty"];
        let devices = devices.map(|name| Path::new("/dev").join(name));
        rules
            .write
            .extend(devices.iter().map(|device| device.as_path().into()));
        rules
    }

    fn allow(&self, path: &Path, rules: &mut Rules) {
        // What stands for the temporary folders of all is of no use to anybody here.
        let access = match self.at(path) {
            Access::Private => Access::Hidden,
            access => access,
        };
        let below = |kinds: &'static [Access]| {
            self.0.iter().filter(move |(inner, inside)| {
                inner.starts_with(path) && inner.as_path() != path && kinds.contains(inside)
            })
        };
        // What is allowed above is allowed below.
        let less: &[Access] = match access {
            Access::Write => &[Access::Hidden, Access::Private, Access::Read],
            _ => &[Access::Hidden, Access::Private],
        };
        let hides = below(less).next().is_some();
        match access {
            Access::Hidden | Access::Private => {
                let next: Vec<&PathBuf> = below(&[Access::Read, Access::Write])
                    .map(|(inner, _)| inner)
                    .collect();
                for inner in &next {
                    // Deeper ones come with those above them.
                    if !next.iter().any(|o| inner.starts_with(o) && o != inner) {
                        self.allow(inner, rules);
                    }
                }
            }
            Access::Write if !hides => rules.write.push(path.into()),
            Access::Read if !hides => {
                rules.read.push(path.into());
                let more = below(&[Access::Write]).map(|(inner, _)| Bytes::from(inner.as_path()));
                rules.write.extend(more);
            }
            Access::Read | Access::Write => {
                for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
                    // A link would open what it leads to.
                    if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                        self.allow(&entry.path(), rules);
                    }
                }
            }
        }
    }
}

/// Whether a value of it is a token, or a key that makes some.
fn holds_token(config: &Path) -> bool {
    let text = config
        .is_file()
        .then(|| std::fs::read(config).ok())
        .flatten();
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).to_lowercase();
    ["token", "secret-key"].iter().any(|key| {
        let mut rests = text.split(key).skip(1);
        rests.any(|rest| {
            rest.trim_start_matches(['"', '\'', ' ', '\t'])
                .starts_with('=')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_guarded_in_a_root_that_holds_the_home_stays_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let root = os::canonical(folder.path()).unwrap();
        let home = root.join("home");
        let [keys, tokens, nested, own] = [
            ".ssh",
            ".npmrc",
            ".config/nvim/.git/config",
            "src/.git/config",
        ]
        .map(|n| home.join(n));
        for file in [&keys.join("id"), &tokens, &nested, &own] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let view = View::new(&Wanted {
            root: &root,
            private: Path::new("/nowhere"),
            policy: &super::super::Policy::default(),
            homes: std::slice::from_ref(&home),
            secrets: &[],
            cargo: &[],
            programs: &[],
            guarded: &[keys.clone(), tokens.clone(), nested.clone(), own.clone()],
            fixed: &[
                home.join(".config"),
                home.join(".config/nvim"),
                home.join("src"),
            ],
            sockets: &[],
            alone: false,
        });
        for path in [&keys, &tokens, &nested, &home.join(".config")] {
            assert_eq!(view.at(path), Access::Hidden, "{}", path.display());
        }
        assert_eq!(view.at(&own), Access::Read);
        assert_eq!(view.at(&home.join("src")), Access::Write);
    }
}
