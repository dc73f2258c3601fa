//! `postil editor neovim`: the plugin that goes with this program, as a package (`:help packages`) in the user's data
//! folder of Neovim. A list of what was written lies beside it: what is not on it, or was changed since, is the user's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use serde_json::json;

use crate::cli::out::{BOLD, DIM};
use crate::cli::{Cx, Outcome};
use crate::files::hash;
use crate::present::visible;
use crate::session::Error;
use crate::text::hex;

static PLUGIN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/editors/neovim");
/// What Neovim reads of it.
const PARTS: &[&str] = &["doc", "lsp", "lua", "plugin", "queries"];
const HELP: &str = "doc/postil.txt";
/// Below the plugin: each file that was written, with its hash.
const LIST: &str = ".written-by-postil";

pub(super) fn run(cx: &Cx, remove: bool) -> Outcome {
    let homes = Homes::of(cx)?;
    let folder = homes.data.join("site").join("pack");
    let folder = folder.join("postil").join("start").join("postil");
    let there = There::look(&folder)?;
    if remove {
        without(cx, &folder, &there)
    } else {
        with(cx, &homes, &folder, &there)
    }
}

fn with(cx: &Cx, homes: &Homes, folder: &Path, there: &There) -> Outcome {
    if let Some(other) = homes.other(folder) {
        return Err(Error::Other(format!(
            "the plugin is in {} already; nothing was written: take that away, then run this again",
            shown(&other)
        ))
        .into());
    }
    let files = files();
    let list = listed(&files);
    let changed = match there {
        There::Ours(known) => *known != list,
        There::Nothing => true,
    };
    if changed {
        put(folder, &files, &list, there)?;
    }
    if cx.out.json {
        cx.out.data(
            &json!({"folder": folder.to_string_lossy(), "changed": changed, "files": files.len()}),
        );
        return Ok(true);
    }
    let name = shown(folder);
    cx.out.note(match changed {
        true => format!("{BOLD}{name}{BOLD:#}: the plugin is there; start Neovim anew to have it"),
        false => format!("{BOLD}{name}{BOLD:#} is up to date"),
    });
    // It takes packages off Neovim's paths.
    if homes.data.join("lazy").join("lazy.nvim").exists() {
        cx.out
            .note("lazy.nvim passes over it until it is named among your plugins:");
        cx.out.note(format!(
            "  {{ dir = {}, name = \"postil\", lazy = false }},",
            json!(name)
        ));
    }
    cx.out
        .note(format!("{DIM}`:checkhealth postil` shows it{DIM:#}"));
    Ok(true)
}

fn without(cx: &Cx, folder: &Path, there: &There) -> Outcome {
    let had = matches!(there, There::Ours(_));
    if had {
        std::fs::remove_dir_all(folder).map_err(|error| failed(folder, &error))?;
        // The folders that were made for it, where nothing else is in them.
        for above in folder.ancestors().skip(1).take(2) {
            if std::fs::remove_dir(above).is_err() {
                break;
            }
        }
    }
    if cx.out.json {
        cx.out
            .data(&json!({"folder": folder.to_string_lossy(), "changed": had}));
        return Ok(true);
    }
    let name = shown(folder);
    cx.out.note(match had {
        true => format!("{BOLD}{name}{BOLD:#}: the plugin is gone"),
        false => format!("{BOLD}{name}{BOLD:#}: this command has put no plugin there"),
    });
    Ok(true)
}

/// The user's folders of Neovim.
struct Homes {
    /// What its folders are called.
    name: OsString,
    config: PathBuf,
    data: PathBuf,
}

impl Homes {
    fn of(cx: &Cx) -> Result<Self, Error> {
        let folders = cx.folders()?;
        // `:help $NVIM_APPNAME`
        let name = std::env::var_os("NVIM_APPNAME").filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| OsString::from("nvim"));
        if !cfg!(windows) {
            return Ok(Self {
                config: folders.config.with_file_name(&name),
                data: folders.data.with_file_name(&name),
                name,
            });
        }
        // `:help standard-path`
        let local = |variable: &str| {
            let set = std::env::var_os(variable).map(PathBuf::from);
            set.filter(|folder| folder.is_absolute())
        };
        let home = |variable| local(variable).or_else(|| local("LOCALAPPDATA"));
        let unknown = || {
            Error::Other(String::from(
                "%LOCALAPPDATA% is not set to an absolute path: set it and try again",
            ))
        };
        let mut data = name.clone();
        data.push("-data");
        Ok(Self {
            config: home("XDG_CONFIG_HOME").ok_or_else(unknown)?.join(&name),
            data: home("XDG_DATA_HOME").ok_or_else(unknown)?.join(data),
            name,
        })
    }

    /// Another copy of the plugin among Neovim's packages: with two, each would be there by half.
    fn other(&self, folder: &Path) -> Option<PathBuf> {
        let mut packs = vec![self.config.join("pack"), self.data.join("site/pack")];
        // That of a system's package.
        let system = std::env::var_os("XDG_DATA_DIRS").filter(|dirs| !dirs.is_empty());
        let system = system.unwrap_or_else(|| OsString::from("/usr/local/share:/usr/share"));
        let system = std::env::split_paths(&system).filter(|dir| dir.is_absolute());
        packs.extend(system.map(|dir| dir.join(&self.name).join("site/pack")));
        let all = packs.iter().flat_map(|pack| below(pack));
        let all = all.flat_map(|pack| ["start", "opt"].map(|kind| pack.join(kind)));
        let mut all = all.flat_map(|kind| below(&kind));
        all.find(|plugin| plugin != folder && plugin.join("plugin/postil.lua").exists())
    }
}

/// What a folder holds; nothing where it cannot be read.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// What stands where the plugin is to be.
enum There {
    Nothing,
    /// What this command wrote, as it wrote it; its list.
    Ours(String),
}

impl There {
    fn look(folder: &Path) -> Result<Self, Error> {
        let refused = |why: String| {
            Err(Error::Other(format!(
                "{}: {why}; nothing was changed: take it away, then run this again",
                shown(folder)
            )))
        };
        match folder.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::Nothing),
            Err(error) => return Err(failed(folder, &error)),
            Ok(found) if !found.is_dir() => {
                return refused(String::from(
                    "this is a link or a file, which postil did not make",
                ));
            }
            Ok(_) => {}
        }
        let Ok(list) = std::fs::read_to_string(folder.join(LIST)) else {
            return refused(String::from("this folder is not one that postil made"));
        };
        let known: BTreeMap<&str, &str> = list
            .lines()
            .filter_map(|line| line.split_once("  "))
            .map(|(hash, path)| (path, hash))
            .collect();
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            for path in below(&next) {
                let name = path.strip_prefix(folder).unwrap_or(&path);
                let name = name.to_string_lossy().replace('\\', "/");
                let found = path
                    .symlink_metadata()
                    .map_err(|error| failed(&path, &error))?;
                if found.is_dir() {
                    open.push(path);
                    continue;
                }
                let as_written =
                    |bytes: Vec<u8>| known.get(name.as_str()) == Some(&hex(&hash(&bytes)).as_str());
                if name != LIST && !(found.is_file() && std::fs::read(&path).is_ok_and(as_written))
                {
                    return refused(format!(
                        "{} in it is not as postil wrote it",
                        visible(&name)
                    ));
                }
            }
        }
        Ok(Self::Ours(list))
    }
}

/// Puts the whole plugin there at once, in the place of what was there.
fn put(
    folder: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    list: &str,
    there: &There,
) -> Result<(), Error> {
    let failed = |error: std::io::Error| failed(folder, &error);
    let start = folder.parent().unwrap_or(folder);
    std::fs::create_dir_all(start).map_err(failed)?;
    // Beside `start`, for Neovim loads whatever is in it.
    let pack = start.parent().unwrap_or(start);
    let new = tempfile::tempdir_in(pack).map_err(failed)?;
    let inside = new.path().join("new");
    for (name, bytes) in files {
        let path = inside.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&inside)).map_err(failed)?;
        std::fs::write(path, bytes).map_err(failed)?;
    }
    std::fs::write(inside.join(LIST), list).map_err(failed)?;
    let old = new.path().join("old");
    if matches!(there, There::Ours(_)) {
        std::fs::rename(folder, &old).map_err(failed)?;
    }
    std::fs::rename(&inside, folder).map_err(|error| {
        // As it was, if there was one.
        let _ = std::fs::rename(&old, folder);
        failed(error)
    })
}

/// What is written: each file by its path with `/`.
fn files() -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open: Vec<&Dir> = PARTS
        .iter()
        .filter_map(|part| PLUGIN.get_dir(part))
        .collect();
    while let Some(next) = open.pop() {
        open.extend(next.dirs());
        for file in next.files() {
            let name = file.path().to_string_lossy().replace('\\', "/");
            all.insert(name, file.contents().to_vec());
        }
    }
    let help = all.get(HELP).cloned().unwrap_or_default();
    let tags = tags(&String::from_utf8_lossy(&help));
    all.insert(String::from("doc/tags"), tags.into_bytes());
    all
}

/// What `:helptags` makes of the help: nobody runs it for a package that a program has put there.
fn tags(help: &str) -> String {
    let words = help.split([' ', '\t', '\n']);
    let names = words.filter_map(|word| word.strip_prefix('*')?.strip_suffix('*'));
    let names = names.filter(|name| !name.is_empty() && !name.contains(['*', '|']));
    let mut lines: Vec<String> = names
        .map(|name| format!("{name}\tpostil.txt\t/*{name}*\n"))
        .collect();
    lines.sort();
    lines.concat()
}

fn listed(files: &BTreeMap<String, Vec<u8>>) -> String {
    let lines = files
        .iter()
        .map(|(name, bytes)| format!("{}  {name}\n", hex(&hash(bytes))));
    lines.collect()
}

fn shown(path: &Path) -> String {
    visible(&path.display().to_string())
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::Other(format!("{} cannot be changed: {error}", shown(path)))
}
