//! Which language server speaks which language: the built-in rows, the names a language goes by, and
//! where a server's program and its root folder are.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Row;
use crate::os;
use table::SERVERS;

mod table;

/// The built-in rows, one for each server and language.
pub fn built_in() -> Vec<Row> {
    let strings = |list: &[&str]| {
        list.iter()
            .map(ToString::to_string)
            .collect::<Vec<String>>()
    };
    let mut rows = Vec::new();
    for server in SERVERS {
        for (language, extensions) in server.languages {
            rows.push(Row {
                language: (*language).to_string(),
                command: server.command.to_string(),
                args: strings(server.args),
                extensions: strings(extensions),
                root_markers: strings(server.markers),
                initialization_options: Value::Null,
                env: Vec::new(),
                install: server.install.to_string(),
            });
        }
    }
    rows
}

/// The user's rows, each completed from the built-in ones where it is silent, then the built-in ones.
/// A language that the user named a command for has no built-in row any more.
pub fn merge(user: Vec<Row>) -> Vec<Row> {
    let mut built_in = built_in();
    let mut rows = Vec::new();
    for mut row in user {
        row.language = canonical(&row.language).to_string();
        let of_language: Vec<&Row> = built_in
            .iter()
            .filter(|b| b.language == row.language)
            .collect();
        let like = of_language
            .iter()
            .find(|b| b.command == row.command)
            .or(of_language.first());
        if let Some(like) = like {
            if row.extensions.is_empty() {
                row.extensions.clone_from(&like.extensions);
            }
            if row.root_markers.is_empty() {
                row.root_markers.clone_from(&like.root_markers);
            }
            if row.install.is_empty() && like.command == row.command {
                row.install.clone_from(&like.install);
            }
        }
        if row.command.is_empty() {
            // Options for whichever server of the language is there.
            for like in built_in.iter_mut().filter(|b| b.language == row.language) {
                like.initialization_options
                    .clone_from(&row.initialization_options);
                like.env.clone_from(&row.env);
                like.extensions.clone_from(&row.extensions);
                like.root_markers.clone_from(&row.root_markers);
            }
            continue;
        }
        if row.install.is_empty() {
            row.install = String::from(
                "install it, or correct `command` in the section `servers` of the settings",
            );
        }
        built_in.retain(|b| b.language != row.language);
        rows.push(row);
    }
    rows.extend(built_in);
    rows
}

/// The id of a language that goes by several names.
pub fn canonical(name: &str) -> &str {
    const NAMES: &[(&str, &[&str])] = &[
        ("go", &["golang"]),
        ("typescript", &["ts"]),
        ("typescriptreact", &["tsx"]),
        ("javascript", &["js", "node"]),
        ("javascriptreact", &["jsx"]),
        ("python", &["py", "python3"]),
        ("cpp", &["c++", "cc", "cxx"]),
        ("rust", &["rs"]),
        ("csharp", &["c#", "cs"]),
        ("shellscript", &["sh", "bash", "shell", "zsh"]),
        ("objective-c", &["objc"]),
        ("objective-cpp", &["objc++", "objcpp"]),
        ("cuda-cpp", &["cuda"]),
        ("ruby", &["rb"]),
        ("kotlin", &["kt"]),
        ("haskell", &["hs"]),
        ("markdown", &["md"]),
        ("yaml", &["yml"]),
        ("elixir", &["ex"]),
        ("terraform", &["tf"]),
    ];
    let lower = name.trim().to_ascii_lowercase();
    for (id, others) in NAMES {
        if *id == lower || others.contains(&lower.as_str()) {
            return id;
        }
    }
    SERVERS
        .iter()
        .flat_map(|s| s.languages)
        .map(|(id, _)| *id)
        .find(|id| *id == lower)
        .unwrap_or(name)
}

/// The row by which a server would be started now that `row` started.
pub fn row_of<'a>(rows: &'a [Row], row: &Row) -> Option<&'a Row> {
    rows.iter()
        .find(|r| r.language == row.language && r.command == row.command)
}

/// Whether a row's `extensions` name this file.
pub fn matches(row: &Row, file: &Path) -> bool {
    let name = file
        .file_name()
        .map(|n| n.to_string_lossy())
        .unwrap_or_default();
    let extension = file
        .extension()
        .map(|e| e.to_string_lossy())
        .unwrap_or_default();
    row.extensions
        .iter()
        .map(|e| e.trim_start_matches('.'))
        .any(|e| e.eq_ignore_ascii_case(&extension) && !extension.is_empty() || e == name)
}

/// The language of which the built-in rows take a file to be.
fn named_language(file: &Path) -> Option<&'static str> {
    let name = file.file_name()?.to_str()?;
    let extension = file.extension().and_then(|e| e.to_str()).unwrap_or(name);
    let mut all = SERVERS.iter().flat_map(|server| server.languages);
    let is_of = |names: &[&str]| {
        names
            .iter()
            .any(|n| n.eq_ignore_ascii_case(extension) || *n == name)
    };
    all.find(|(_, names)| is_of(names)).map(|(id, _)| *id)
}

/// The rows for a file, best first: those of `language`, else those that its name tells, of its own language first, else
/// those of the id that the editor gave.
pub fn rows_for<'a>(
    rows: &'a [Row],
    file: &Path,
    language: Option<&str>,
    editor: Option<&str>,
) -> Vec<&'a Row> {
    let of = |language: &str| {
        rows.iter()
            .filter(|r| r.language == canonical(language))
            .collect::<Vec<_>>()
    };
    if let Some(language) = language {
        let mut found = of(language);
        // A server's other languages (tsx for typescript) where the file tells which.
        let command = found.first().map(|f| f.command.clone());
        let fitting = rows
            .iter()
            .find(|r| Some(&r.command) == command.as_ref() && matches(r, file));
        if let Some(row) = fitting.filter(|r| !found.iter().any(|f| f.language == r.language)) {
            found.insert(0, row);
        }
        return found;
    }
    let mut by_name: Vec<&Row> = rows.iter().filter(|r| matches(r, file)).collect();
    if by_name.is_empty() {
        return editor.map(of).unwrap_or_default();
    }
    // Those of the file's own language before others that are for such files too, as linters are.
    let own = editor.map(canonical).or_else(|| named_language(file));
    by_name.sort_by_key(|row| Some(row.language.as_str()) != own);
    by_name
}

/// The nearest folder above `file` (or `file` itself where it is a folder) with one of the markers,
/// inside `workspace`, else `workspace`. A member of a Cargo workspace belongs to the workspace's root: the nearest one,
/// as Cargo has it, for a folder with a workspace of its own may lie in another's. A package that was put into a project
/// for it to use belongs to that project: a server of its own would know none of its uses.
pub fn root(file: &Path, workspace: &Path, markers: &[String]) -> PathBuf {
    user_of(file, workspace)
        .and_then(|user| marked_root(user, workspace, markers))
        .or_else(|| marked_root(file, workspace, markers))
        .unwrap_or_else(|| workspace.to_path_buf())
}

/// The folder that the outermost folder of packages above `file` was put into.
fn user_of<'a>(file: &'a Path, workspace: &Path) -> Option<&'a Path> {
    const PACKAGES: [&str; 3] = ["node_modules", "site-packages", "vendor"];
    let folders = file.ancestors().take_while(|f| *f != workspace);
    let holds_packages = |folder: &&Path| {
        let name = folder.file_name();
        name.is_some_and(|name| PACKAGES.iter().any(|packages| name == *packages))
    };
    folders.filter(holds_packages).last()?.parent()
}

fn marked_root(file: &Path, workspace: &Path, markers: &[String]) -> Option<PathBuf> {
    let cargo = markers.iter().any(|m| m == "Cargo.toml");
    let mut found: Option<&Path> = None;
    for folder in file.ancestors().take_while(|f| f.starts_with(workspace)) {
        if cargo && is_cargo_workspace(folder) {
            found = Some(folder);
            break;
        }
        if found.is_none() && folder.is_dir() && markers.iter().any(|m| has(folder, m)) {
            found = Some(folder);
            if !cargo {
                break;
            }
        }
    }
    found.map(Path::to_path_buf)
}

fn has(folder: &Path, marker: &str) -> bool {
    let Some(suffix) = marker.strip_prefix('*') else {
        return folder.join(marker).exists();
    };
    std::fs::read_dir(folder).is_ok_and(|entries| {
        entries
            .flatten()
            .take(10_000)
            .any(|e| e.file_name().to_string_lossy().ends_with(suffix))
    })
}

fn is_cargo_workspace(folder: &Path) -> bool {
    let manifest = folder.join("Cargo.toml");
    manifest
        .metadata()
        .is_ok_and(|m| m.is_file() && m.len() < 1 << 20)
        && std::fs::read_to_string(manifest).is_ok_and(|text| {
            text.lines()
                .any(|l| l.trim_start().starts_with("[workspace"))
        })
}

/// Every program of that name on PATH, in order; nothing relative, nothing inside a workspace. An
/// absolute path stands for itself.
pub fn programs(command: &str, path: &[PathBuf]) -> Vec<PathBuf> {
    let named = Path::new(command);
    let names = os::program_names(command);
    if named.is_absolute() {
        let files = names.into_iter().map(PathBuf::from);
        return files.filter(|file| is_program(file)).take(1).collect();
    }
    if named.components().count() != 1 || command == ".." || command == "." {
        return Vec::new();
    }
    path.iter()
        .flat_map(|folder| names.iter().map(|name| folder.join(name)))
        .filter(|p| is_program(p))
        .fold(Vec::new(), |mut all, p| {
            if !all.contains(&p) {
                all.push(p);
            }
            all
        })
}

fn is_program(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else {
        return false;
    };
    #[cfg(unix)]
    let runs = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let runs = true;
    metadata.is_file() && runs
}

/// Whether the program is rustup, which runs a component of the toolchain, if that is installed.
pub fn is_rustup_proxy(program: &Path) -> bool {
    let stem = |p: &Path| p.file_stem().map(|s| s.to_string_lossy().into_owned());
    if stem(program).as_deref() == Some("rustup") {
        return false;
    }
    let real = os::canonical(program).unwrap_or_else(|_| program.to_path_buf());
    if stem(&real).as_deref() == Some("rustup") {
        return true;
    }
    // rustup's installer may link the names hard.
    let beside = program.with_file_name(format!("rustup{}", std::env::consts::EXE_SUFFIX));
    match (real.metadata(), beside.metadata()) {
        #[cfg(unix)]
        (Ok(a), Ok(b)) => {
            use std::os::unix::fs::MetadataExt as _;
            a.ino() == b.ino() && a.dev() == b.dev()
        }
        #[cfg(not(unix))]
        (Ok(a), Ok(b)) => a.len() == b.len(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(language: &str, command: &str) -> Row {
        Row {
            language: language.into(),
            command: command.into(),
            args: Vec::new(),
            extensions: Vec::new(),
            root_markers: Vec::new(),
            initialization_options: Value::Null,
            env: Vec::new(),
            install: String::new(),
        }
    }

    fn commands(rows: &[Row], file: &str, language: Option<&str>) -> Vec<String> {
        rows_for(rows, Path::new(file), language, None)
            .iter()
            .map(|r| format!("{}:{}", r.language, r.command))
            .collect()
    }

    #[test]
    fn the_language_comes_from_the_file_or_its_names() {
        let rows = built_in();
        assert_eq!(commands(&rows, "/w/a.rs", None), ["rust:rust-analyzer"]);
        assert_eq!(
            commands(&rows, "/w/a.tsx", Some("ts"))[0],
            "typescriptreact:typescript-language-server"
        );
        assert_eq!(commands(&rows, "/w", Some("golang")), ["go:gopls"]);
        assert_eq!(commands(&rows, "/w", Some("C++")), ["cpp:clangd"]);
        assert_eq!(commands(&rows, "/w/Gemfile", None), ["ruby:ruby-lsp"]);
        assert_eq!(commands(&rows, "/w/a.py", None).len(), 4);
        assert!(commands(&rows, "/w/a.unknown", None).is_empty());
    }

    #[test]
    fn a_users_row_replaces_the_built_in_ones_and_inherits() {
        let rows = merge(vec![row("py", "my-pylsp"), row("cobol", "cobol-ls")]);
        assert_eq!(commands(&rows, "/w/a.py", None), ["python:my-pylsp"]);
        assert_eq!(rows[0].root_markers[0], "pyproject.toml");
        // One beside them, as a linter's, is asked where there is none of the language's own.
        let mut linter = row("a-linter", "lint");
        linter.extensions = vec![String::from("py")];
        let rows = merge(vec![linter.clone(), row("python", "my-pylsp")]);
        let both = ["python:my-pylsp", "a-linter:lint"];
        assert_eq!(commands(&rows, "/w/a.py", None), both);
        let rows = merge(vec![linter]);
        assert_eq!(commands(&rows, "/w/a.py", None)[4], "a-linter:lint");
        let rows = merge(vec![row("py", "my-pylsp"), row("cobol", "cobol-ls")]);
        assert_eq!(commands(&rows, "/w/a", Some("cobol")), ["cobol:cobol-ls"]);
        let mut options = row("python", "");
        options.initialization_options = serde_json::json!({"a": 1});
        assert_eq!(
            merge(vec![options])
                .iter()
                .filter(|r| r.initialization_options["a"] == 1)
                .count(),
            4
        );
    }

    #[test]
    fn the_root_is_the_nearest_folder_with_a_marker() {
        let top = tempfile::tempdir().unwrap();
        let workspace = top.path().join("w");
        std::fs::create_dir_all(workspace.join("a/b/src")).unwrap();
        std::fs::write(top.path().join("Cargo.toml"), "[workspace]").unwrap();
        let file = workspace.join("a/b/src/lib.rs");
        let of = |markers: &[&str]| {
            root(
                &file,
                &workspace,
                &markers.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )
        };
        assert_eq!(of(&["Cargo.toml"]), workspace);
        std::fs::write(workspace.join("a/b/Cargo.toml"), "[package]").unwrap();
        assert_eq!(of(&["Cargo.toml"]), workspace.join("a/b"));
        std::fs::write(
            workspace.join("a/Cargo.toml"),
            "[workspace]\nmembers = ['b']",
        )
        .unwrap();
        assert_eq!(of(&["Cargo.toml"]), workspace.join("a"));
        std::fs::write(workspace.join("Cargo.toml"), "[workspace]").unwrap();
        assert_eq!(of(&["Cargo.toml"]), workspace.join("a"), "the nearest");
        std::fs::write(workspace.join("a/x.sln"), "").unwrap();
        assert_eq!(of(&["*.sln"]), workspace.join("a"));
    }

    #[test]
    fn a_package_that_a_project_uses_has_the_projects_root() {
        let top = tempfile::tempdir().unwrap();
        let workspace = top.path().join("w");
        let inner = workspace.join("app/node_modules/one/node_modules/two");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("package.json"), "{}").unwrap();
        let markers = [String::from("package.json")];
        let of = || root(&inner.join("index.d.ts"), &workspace, &markers);
        assert_eq!(of(), inner, "whose it is, nothing tells");
        std::fs::write(workspace.join("app/package.json"), "{}").unwrap();
        assert_eq!(of(), workspace.join("app"));
    }

    #[cfg(unix)]
    #[test]
    fn programs_are_found_on_absolute_folders_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("x-ls");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let path = [folder.path().to_path_buf()];
        assert!(programs("x-ls", &path).is_empty(), "it may not be executed");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(programs("x-ls", &path), std::slice::from_ref(&program));
        assert_eq!(programs(program.to_str().unwrap(), &[]), [program]);
        assert!(programs("./x-ls", &path).is_empty());
        assert!(programs("../x-ls", &path).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn rustups_proxies_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let at = |n: &str| folder.path().join(n);
        std::fs::write(at("rustup"), "x").unwrap();
        std::fs::hard_link(at("rustup"), at("rust-analyzer")).unwrap();
        std::os::unix::fs::symlink("rustup", at("rls")).unwrap();
        std::fs::write(at("other"), "x").unwrap();
        assert!(is_rustup_proxy(&at("rust-analyzer")) && is_rustup_proxy(&at("rls")));
        assert!(!is_rustup_proxy(&at("other")) && !is_rustup_proxy(&at("rustup")));
    }
}
