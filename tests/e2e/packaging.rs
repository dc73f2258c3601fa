//! What packaging/ makes of a program: pages, completions, a Debian package and npm's, from any folder.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::Workspace;
use crate::peers;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn made(workspace: &Workspace, script: &str, arguments: &[&Path]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("packaging")
        .join(script);
    let mut command = workspace.command(&script);
    // A program with all that a debugger wants is large, and how well it is packed is not what is asked.
    command
        .env("DPKG_DEB_COMPRESSOR_TYPE", "gzip")
        .env("DPKG_DEB_COMPRESSOR_LEVEL", "1");
    said(command.args(arguments));
}

/// What a command that must go well writes.
fn said(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    text(&output.stdout)
}

/// What most libraries ask of whoever hands them on.
fn has_licenses(folder: &Path) {
    let text = std::fs::read_to_string(folder.join("LICENSE-THIRD-PARTY")).expect("the licences");
    for (library, words) in [
        ("tokio ", "Permission is hereby granted"),
        ("tree-sitter-rust ", "Permission is hereby granted"),
        (
            "libgit2-sys ",
            "libgit2 is Copyright (C) the libgit2 contributors",
        ),
    ] {
        assert!(text.contains(&format!("\n{library}")), "{library}");
        assert!(text.contains(words), "{words}");
    }
    // What tests use alone does not come along.
    assert!(!text.contains("\nproptest "));
}

/// Every file below `folder` in the repository, by its path below it.
fn kept(folder: &str) -> Vec<String> {
    let mut git = Command::new("git");
    git.current_dir(env!("CARGO_MANIFEST_DIR"));
    let list = said(git.args(["ls-files", "-z", "--", folder]));
    let below = |path: &str| {
        path.strip_prefix(folder)?
            .strip_prefix('/')
            .map(String::from)
    };
    let files: Vec<String> = list.split('\0').filter_map(below).collect();
    assert!(!files.is_empty(), "nothing in {folder}");
    files
}

/// What docs/install.md promises of it, as it lies there once it is unpacked.
#[test]
fn the_debian_package_has_all_that_its_page_promises() {
    if !peers::on_path("dpkg-deb") {
        return;
    }
    let workspace = Workspace::new();
    let program = Path::new(env!("CARGO_BIN_EXE_postil"));
    let out = workspace.path("out");
    std::fs::create_dir(&out).expect("a folder");
    made(&workspace, "deb", &[program, &out]);
    let architecture = said(Command::new("dpkg").arg("--print-architecture"));
    let architecture = architecture.trim();
    let package = out.join(format!("postil_{VERSION}_{architecture}.deb"));
    let tool = |what: &str| said(Command::new("dpkg-deb").arg(what).arg(&package));

    let about = tool("--field");
    for line in [
        "Package: postil",
        &format!("Version: {VERSION}"),
        &format!("Architecture: {architecture}"),
        "Recommends: git, bubblewrap",
    ] {
        assert!(about.lines().any(|l| l == line), "no `{line}`: {about}");
    }
    // The libraries that it was linked with say which.
    assert!(about.contains("\nDepends: libc6 (>= 2."), "{about}");
    for line in tool("--contents").lines() {
        let mode = &line[..10];
        let right = ["drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"].contains(&mode);
        assert!(right && line.contains(" root/root "), "{line}");
        assert!(line.contains(" ./usr/") || line.ends_with(" ./"), "{line}");
    }

    let root = workspace.path("root");
    said(Command::new("dpkg-deb").arg("-x").args([&package, &root]));
    let version = said(
        workspace
            .command(root.join("usr/bin/postil"))
            .arg("--version"),
    );
    assert_eq!(version.trim(), format!("postil {VERSION}"));
    let share = root.join("usr/share");
    let copy = |folder: &str, to: &str| {
        for file in kept(folder) {
            let path = share.join(to).join(&file);
            let source = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join(folder)
                .join(&file);
            let read = |path: &Path| std::fs::read(path).ok();
            assert!(read(&path) == read(&source), "{}", path.display());
        }
    };
    copy("editors/neovim", "nvim/site/pack/dist/start/postil");
    copy("editors/helix", "doc/postil/helix");
    copy(
        "grammars/tree-sitter-postil",
        "doc/postil/tree-sitter-postil",
    );
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let there = std::fs::read(share.join("doc/postil").join(file));
        assert_eq!(there.ok(), std::fs::read(source).ok(), "{file}");
    }
    has_licenses(&share.join("doc/postil"));
    let copyright = std::fs::read_to_string(share.join("doc/postil/copyright")).expect("it");
    assert!(copyright.contains("\nLicense: MIT\n Permission is hereby granted"));

    // The same pages and completions as the program makes itself, where man and the shells look for them.
    let own = workspace.path("own");
    made(&workspace, "files", &[program, &own]);
    let mut pages = 0;
    for page in std::fs::read_dir(own.join("man")).expect("pages") {
        let page = page.expect("a page").path();
        let name = page.file_name().expect("a name").to_string_lossy();
        let packed = share.join(format!("man/man1/{name}.gz"));
        let text = said(Command::new("gzip").arg("-dc").arg(packed));
        assert_eq!(text, std::fs::read_to_string(&page).expect("a page"));
        pages += 1;
    }
    assert!(pages > 10, "{pages} pages");
    for (made, place) in [
        ("postil.bash", "bash-completion/completions/postil"),
        ("_postil", "zsh/vendor-completions/_postil"),
        ("postil.fish", "fish/vendor_completions.d/postil.fish"),
    ] {
        let read = |path: &Path| std::fs::read_to_string(path).expect("a file");
        assert_eq!(read(&share.join(place)), read(&own.join(made)), "{place}");
    }

    // Neovim finds the plugin and its help below a folder of the system's, without a word in a configuration.
    for nvim in ["nvim", "nvim-new"] {
        if !peers::have(&[nvim]) {
            continue;
        }
        let ask = "lua io.write(vim.fn.expand('%:t'), ' ', vim.fn.exists(':Postil'))";
        let mut command = workspace.command(peers::bin().join(nvim));
        command
            .env("XDG_DATA_DIRS", &share)
            .args(["--headless", "+help :Postil"]);
        let seen = said(command.args([&format!("+{ask}"), "+qa!"]));
        assert_eq!(seen, "postil.txt 2", "{nvim}");
    }
}

#[test]
fn every_command_has_a_page_and_completions() {
    let workspace = Workspace::new();
    let out = workspace.path("made");
    made(
        &workspace,
        "files",
        &[Path::new(env!("CARGO_BIN_EXE_postil")), &out],
    );
    let help = workspace.postil().arg("--help").output().expect("it runs");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        // A line that goes on is indented further.
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !["", "help"].contains(name))
        .collect();
    assert!(commands.len() > 10, "{help}");
    for name in commands {
        let page = workspace.read(&format!("made/man/postil-{name}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    for file in ["postil.bash", "_postil", "postil.fish", "_postil.ps1"] {
        let text = workspace.read(&format!("made/{file}"));
        assert!(text.contains("POSTIL_COMPLETE"), "{file} does not ask");
        // Made where the package is built, and run where it is installed.
        let built = env!("CARGO_BIN_EXE_postil");
        assert!(!text.contains(built), "{file}: {text}");
    }
    let page = workspace.read("made/man/postil.1");
    assert!(page.contains(VERSION), "{page}");
}

/// What a release has for every system, and for Windows under the names that are known there.
#[test]
fn the_archive_has_the_program_under_its_name_and_the_editors_beside_it() {
    let workspace = Workspace::new();
    let out = workspace.path("out");
    std::fs::create_dir(&out).expect("a folder");
    let ours = env!("CARGO_BIN_EXE_postil");
    for (file, packed, tools) in [
        ("postil", "it.tar.gz", ["tar", "tar"]),
        ("postil.exe", "it.zip", ["zip", "unzip"]),
    ] {
        if !tools.iter().all(|tool| peers::on_path(tool)) {
            continue;
        }
        let script = format!("#!/bin/sh\nexec '{ours}' \"$@\"\n");
        let program = workspace.write(&format!("built/{file}"), script);
        executable(&program);
        made(&workspace, "archive", &[&program, Path::new("it"), &out]);
        let root = workspace.path(&format!("{file}-unpacked"));
        std::fs::create_dir(&root).expect("a folder");
        let mut unpack = Command::new(tools[1]);
        match tools[1] {
            "tar" => unpack.arg("-xzf").arg(out.join(packed)).arg("-C"),
            _ => unpack.arg("-q").arg(out.join(packed)).arg("-d"),
        };
        said(unpack.arg(&root));

        let root = root.join("it");
        let version = said(workspace.command(root.join(file)).arg("--version"));
        assert_eq!(version.trim(), format!("postil {VERSION}"));
        let share = root.join("share");
        for name in ["postil.bash", "_postil", "postil.fish", "_postil.ps1"] {
            let text = std::fs::read_to_string(share.join(name)).expect(name);
            assert!(text.contains("POSTIL_COMPLETE"), "{name}: {text}");
        }
        assert!(share.join("man/postil.1").is_file());
        let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
        for folder in [
            "editors/neovim",
            "editors/helix",
            "grammars/tree-sitter-postil",
        ] {
            for file in kept(folder) {
                let path = Path::new(folder).join(file);
                let read = |from: &Path| std::fs::read(from.join(&path)).ok();
                assert!(read(&root) == read(sources), "{}", path.display());
            }
        }
        for (folder, name) in [
            ("", "LICENSE-MIT"),
            ("", "LICENSE-APACHE"),
            ("editors/zed", "LICENSE-MIT"),
            ("editors/zed", "LICENSE-APACHE"),
        ] {
            let there = std::fs::read(root.join(folder).join(name)).ok();
            let here = std::fs::read(sources.join(name)).ok();
            assert!(there == here, "{folder}/{name}");
        }
        has_licenses(&root);
    }
}

fn executable(program: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(program, mode).expect("a program");
}

/// A small program in the place of ours: what it is started with, and what becomes of its end, is to be seen.
#[test]
fn npm_starts_the_program_that_it_carries() {
    let workspace = Workspace::new();
    workspace.write("program", "#!/bin/sh\necho \"asked: $*\"\nexit 7\n");
    let out = workspace.path("node_modules");
    made(
        &workspace,
        "npm/make",
        &["program", "linux", "x64", "node_modules"].map(Path::new),
    );
    let package = |name: &str| -> Value {
        let text = workspace.read(&format!("node_modules/{name}/package.json"));
        serde_json::from_str(&text).expect("JSON")
    };
    let (platform, launcher) = (package("postil-linux-x64"), package("postil"));
    // npm leaves it out where that is another, as on Alpine.
    assert_eq!(platform["libc"], serde_json::json!(["glibc"]));
    has_licenses(&out.join("postil-linux-x64"));
    assert_eq!(
        (&platform["version"], &launcher["version"]),
        (&VERSION.into(), &VERSION.into())
    );
    let needed = &launcher["optionalDependencies"];
    assert_eq!(needed["postil-linux-x64"], VERSION);
    assert_eq!(needed["postil-win32-x64"], VERSION);
    for (name, package) in [("postil-linux-x64", &platform), ("postil", &launcher)] {
        for file in package["files"].as_array().into_iter().flatten() {
            let file = file.as_str().unwrap_or_default().replace('*', "MIT");
            let path = workspace.path(&format!("node_modules/{name}/{file}"));
            assert!(path.exists(), "no {}", path.display());
        }
    }

    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) || !peers::have(&["code-server"]) {
        return;
    }
    // The Node of that peer, and the machine's npm.
    let with_node = |program: &str| {
        let mut command =
            workspace.command(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers"));
        if let Some(peers) = std::env::var_os("POSTIL_PEERS_DIR") {
            command.env("POSTIL_PEERS_DIR", peers);
        }
        command.args(["with", "code-server", program]);
        command
    };
    let starts = |mut command: Command| {
        let output = command.args(["threads", "a b"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "asked: threads a b\n"
        );
    };
    let mut command = with_node("node");
    command.arg(workspace.path("node_modules/postil/postil.js"));
    starts(command);

    // One whose loader is not there, as of a program that was linked with another libc.
    let program = "node_modules/postil-linux-x64/bin/postil";
    let good = workspace.read(program);
    workspace.write(program, "#!/lib/no-such-loader\n");
    let mut command = with_node("node");
    command.arg(workspace.path("node_modules/postil/postil.js"));
    let none = command.output().expect("it runs");
    let told = String::from_utf8_lossy(&none.stderr).into_owned();
    assert_eq!(none.status.code(), Some(2), "{told}");
    assert!(told.contains("made for another libc"), "{told}");
    workspace.write(program, good);

    // The same where Node says that it is Windows: the package of that platform, and its program's name there.
    let windows = workspace.write(
        "windows.cjs",
        "Object.defineProperty(process, 'platform', { value: 'win32' });",
    );
    let on_windows = || {
        let mut command = with_node("node");
        command.arg("--require").arg(&windows);
        command.arg(workspace.path("node_modules/postil/postil.js"));
        command
    };
    let none = on_windows().output().expect("it runs");
    let told = String::from_utf8_lossy(&none.stderr).into_owned();
    assert_eq!(none.status.code(), Some(2), "{told}");
    assert!(told.contains("no package postil-win32-x64"), "{told}");
    let program = workspace.write("postil.exe", "#!/bin/sh\necho \"asked: $*\"\nexit 7\n");
    made(
        &workspace,
        "npm/make",
        &[&program, Path::new("win32"), Path::new("x64"), &out],
    );
    assert_eq!(package("postil-win32-x64")["os"][0], "win32");
    assert_eq!(package("postil-win32-x64")["libc"], Value::Null);
    assert!(
        workspace
            .path("node_modules/postil-win32-x64/bin/postil.exe")
            .exists()
    );
    starts(on_windows());

    // As docs/install.md has it: packed, and installed without a registry.
    let mut pack = with_node("npm");
    said(pack.args([
        "pack",
        "./node_modules/postil-linux-x64",
        "./node_modules/postil",
    ]));
    let home = workspace.path("global");
    let tarballs = [
        format!("./postil-linux-x64-{VERSION}.tgz"),
        format!("./postil-{VERSION}.tgz"),
    ];
    let npm = |verb: &[&str]| {
        let mut command = with_node("npm");
        command.args(verb).arg("-g").arg("--prefix").arg(&home);
        command
    };
    said(npm(&["install", "--offline", "--omit=optional"]).args(&tarballs));
    let mut installed = with_node("env");
    installed.arg(home.join("bin/postil"));
    starts(installed);
    said(
        npm(&["uninstall"])
            .args(["postil", "postil-linux-x64"])
            .args(["--offline"]),
    );
    assert!(!home.join("bin/postil").exists());
    let left = std::fs::read_dir(home.join("lib/node_modules")).map_or(0, |left| {
        left.filter(|e| {
            e.as_ref()
                .is_ok_and(|e| !e.file_name().to_string_lossy().starts_with('.'))
        })
        .count()
    });
    assert_eq!(left, 0);
}

#[test]
fn licences_without_a_toolchain_are_one_sentence() {
    if !peers::on_path("node") {
        return;
    }
    let workspace = Workspace::new();
    // As rustup has it where no toolchain is chosen.
    let rustc = workspace.write(
        "bin/rustc",
        "#!/bin/sh\necho 'error: rustup could not choose a version of rustc' >&2\nseq 60 >&2\nexit 1\n",
    );
    said(Command::new("chmod").arg("755").arg(&rustc));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", workspace.path("bin").display());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/licenses.mjs");
    let mut command = workspace.command("node");
    command.arg(script).arg("crates").env("PATH", path);
    let output = command.output().expect("node runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(
        errors.contains("need cargo and rustc") && errors.contains("rustup could not choose"),
        "{errors}"
    );
}
