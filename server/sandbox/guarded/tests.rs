use super::*;

fn root(files: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        write(root.path(), file, "old");
    }
    root
}

fn look(root: &Path, is_mounted: bool) -> Guarded {
    Guarded::look(root, is_mounted, &Arc::default())
}

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn what_exists_is_known_and_of_git_only_what_makes_it_run_something() {
    let root = root(&[
        ".git/config",
        ".git/hooks/x",
        ".git/HEAD",
        ".git/refs/heads/main",
        ".mcp.json",
        "src/.vscode/tasks.json",
        ".github/workflows/ci.yml",
        ".github/README.md",
        "node_modules/a/.npmrc",
        "src/main.rs",
    ]);
    let guarded = look(root.path(), true);
    let names = [
        ".git/config",
        ".git/hooks",
        ".github/workflows",
        ".mcp.json",
        "src/.vscode",
    ];
    assert_eq!(guarded.held(), names.map(|name| root.path().join(name)));
    assert_eq!(guarded.fixed(), [root.path().join(".git")]);
    assert!(guarded.set_aside().agent.is_empty());
}

#[test]
fn the_folder_of_hooks_is_guarded_in_whatever_case() {
    let root = root(&[".git/objects/x", ".git/refs/x", "a.rs"]);
    write(root.path(), ".git/HEAD", "ref: refs/heads/main\n");
    write(
        root.path(),
        ".git/config",
        "[core]\n\thooksPath = Tools/Hooks\n",
    );
    let guarded = look(root.path(), false);
    // A file system that ignores case has one folder of these names.
    write(root.path(), "tools/hooks/pre-commit", "evil");
    write(root.path(), "hooks/pre-commit", "fine");
    let told = guarded.set_aside();
    assert_eq!(told.agent.len(), 1, "{told:?}");
    assert!(!root.path().join("tools/hooks/pre-commit").exists());
    assert!(root.path().join("hooks/pre-commit").exists());
}

#[test]
fn what_comes_into_being_is_set_aside_under_another_name() {
    let root = root(&[".git/config", "a.rs"]);
    let guarded = look(root.path(), false);
    for file in [
        ".mcp.json",
        ".mcp.json.refused",
        "sub/.vscode/tasks.json",
        ".git/hooks/pre-commit",
        "sub/.git/config",
        "sub/.git/HEAD",
        "b.rs",
    ] {
        write(root.path(), file, "new");
    }
    let said = guarded.set_aside().agent.join("\n");
    assert_eq!(said.lines().count(), 4, "{said}");
    for gone in [".mcp.json", "sub/.vscode", ".git/hooks"] {
        assert!(!root.path().join(gone).exists(), "{gone}\n{said}");
    }
    for there in [
        ".mcp.json.refused-2",
        "sub/.vscode.refused/tasks.json",
        ".git/hooks.refused/pre-commit",
        "sub/.git.refused/HEAD",
        "b.rs",
        ".git/config",
    ] {
        assert!(root.path().join(there).exists(), "{there}\n{said}");
    }
    assert!(guarded.set_aside().agent.is_empty());
    // What stands for a repository stays as long as any command runs.
    let stop = root.path().join("sub/.git");
    let other = look(root.path(), false);
    drop(guarded);
    assert!(stop.is_file());
    assert!(other.put_back().agent.is_empty());
    drop(other);
    assert!(!stop.exists());
}

/// A repository that a command made is set aside while another runs, which is not to gain by what stands there then.
#[test]
fn what_takes_the_place_of_what_stands_for_anothers_repository_is_new() {
    let root = root(&["a.rs"]);
    let first = look(root.path(), false);
    write(root.path(), "sub/.git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(first.set_aside().agent.len(), 1);
    let second = look(root.path(), false);
    first.put_back();
    drop(first);
    let stop = root.path().join("sub/.git");
    fs::remove_file(&stop).unwrap();
    write(root.path(), "sub/.git", "gitdir: ../target/x\n");
    let told = second.put_back();
    assert_eq!(told.agent.len(), 1, "{told:?}");
    assert!(!stop.exists());
}

/// It began while the repository stood there, and took it for the author's.
#[test]
fn a_command_that_ends_writes_nothing_of_anothers_repository_again() {
    let root = root(&["a.rs"]);
    let first = look(root.path(), false);
    write(root.path(), "sub/.git/HEAD", "ref: refs/heads/main\n");
    write(root.path(), "sub/.git/config", "[core]\n");
    let second = look(root.path(), false);
    assert_eq!(first.set_aside().agent.len(), 1);
    let told = second.put_back();
    assert!(told.agent.is_empty(), "{told:?}");
    drop(second);
    assert!(root.path().join("sub/.git").is_file(), "it still stops git");
    first.put_back();
    drop(first);
    assert!(!root.path().join("sub/.git").exists());
}

#[test]
fn a_name_as_of_what_was_set_aside_hides_no_repository() {
    let root = root(&["a.rs"]);
    let guarded = look(root.path(), false);
    let bare = ".git.x.refused/y";
    for file in ["config", "HEAD", "refs/x", "objects/x"] {
        write(root.path(), &format!("{bare}/{file}"), "x");
    }
    let told = guarded.put_back();
    assert!(!root.path().join(bare).join("HEAD").exists(), "{told:?}");
}

#[test]
fn a_link_in_the_way_is_not_followed() {
    let outside = root(&[".vscode/settings.json"]);
    let root = root(&["a/.vscode/x"]);
    let guarded = look(root.path(), false);
    fs::remove_dir_all(root.path().join("a")).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("a")).unwrap();
    assert_eq!(
        guarded.put_away(Path::new("a/.vscode"), false).unwrap(),
        None
    );
    assert!(outside.path().join(".vscode/settings.json").exists());
}

/// Another command of the run goes on while one is put right.
#[test]
fn attack_07_nothing_is_read_or_written_by_a_link_that_came_in_between() {
    let outside = root(&[".ssh/id", ".envrc"]);
    let root = root(&["a/.ssh/id", "a/.envrc", "a/CLAUDE.md"]);
    let guarded = look(root.path(), true);
    let file = Path::new("a/.envrc");
    let before = Kept::read(root.path(), file).unwrap();
    assert!(guarded.number(&root.path().join("a/.ssh")).is_some());
    fs::rename(root.path().join("a"), root.path().join("b")).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("a")).unwrap();
    assert_eq!(Kept::read(root.path(), file), None);
    assert_eq!(guarded.number(&root.path().join("a/.ssh")), None);
    let place = Path::new("a/.ssh");
    assert!(Kept::all(root.path(), place, &mut 100).0.is_empty());
    fs::remove_file(outside.path().join(".envrc")).unwrap();
    assert!(before.write(root.path(), file).is_err());
    assert!(!outside.path().join(".envrc").exists());
    // Nor is a pipe waited for.
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.path().join("b/.mcp.json"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let pipe = Kept::read(root.path(), Path::new("b/.mcp.json"));
    assert_eq!(pipe, Some(Kept::Other));
}

#[test]
fn without_bubblewrap_what_changed_is_put_back() {
    let root = root(&[
        ".git/config",
        ".git/hooks/a",
        ".vscode/settings.json",
        ".envrc",
    ]);
    let guarded = look(root.path(), false);
    write(root.path(), ".git/config", "evil");
    write(root.path(), ".git/hooks/post-commit", "evil");
    fs::remove_dir_all(root.path().join(".vscode")).unwrap();
    let said = guarded.put_back().agent.join("\n");
    let read = |file: &str| fs::read_to_string(root.path().join(file)).unwrap();
    assert_eq!(read(".git/config"), "old", "{said}");
    assert_eq!(read(".git/config.refused"), "evil");
    assert_eq!(read(".vscode/settings.json"), "old");
    assert_eq!(read(".envrc"), "old");
    assert!(!root.path().join(".git/hooks/post-commit").exists());
    assert!(guarded.put_back().agent.is_empty(), "{said}");
}

fn read(root: &Path, file: &str) -> String {
    fs::read_to_string(root.join(file)).unwrap_or_else(|error| error.to_string())
}

#[test]
fn what_stands_where_a_folder_was_moved_away_with_its_mounts_is_set_aside_and_put_back() {
    let root = root(&["sub/CLAUDE.md", "sub/.vscode/tasks.json", "a.rs"]);
    let guarded = look(root.path(), true);
    fs::rename(root.path().join("sub"), root.path().join("other")).unwrap();
    write(root.path(), "sub/CLAUDE.md", "evil");
    write(root.path(), "sub/.vscode/more.json", "evil");
    let told = guarded.set_aside();
    assert_eq!(read(root.path(), "sub/CLAUDE.md.refused"), "evil");
    assert_eq!(read(root.path(), "sub/.vscode/more.json.refused"), "evil");
    assert_eq!(read(root.path(), "other/CLAUDE.md.refused"), "old");
    assert!(told.author.join(" ").contains("`sub/CLAUDE.md.refused`"));
    guarded.put_back();
    assert_eq!(read(root.path(), "sub/CLAUDE.md"), "old");
    assert_eq!(read(root.path(), "sub/.vscode/tasks.json"), "old");
    assert!(guarded.put_back().agent.is_empty());
}

#[test]
fn nothing_is_put_back_through_a_link() {
    for is_mounted in [true, false] {
        let outside = root(&["x"]);
        write(outside.path(), "CLAUDE.md", "outside");
        let root = root(&["sub/CLAUDE.md"]);
        let guarded = look(root.path(), is_mounted);
        fs::remove_dir_all(root.path().join("sub")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("sub")).unwrap();
        if is_mounted {
            guarded.set_aside();
            assert!(!root.path().join("sub").exists());
        }
        guarded.put_back();
        assert_eq!(read(outside.path(), "CLAUDE.md"), "outside");
        assert_eq!(read(root.path(), "sub/CLAUDE.md"), "old");
        assert!(root.path().join("sub.refused").is_symlink());
    }
}

#[test]
fn a_link_is_put_back_and_what_it_leads_to_in_the_root_is_guarded() {
    use std::os::unix::fs::symlink;
    let root = root(&["docs/a", "AGENTS.md", "src/a.rs"]);
    let links = [
        (".vscode", "docs"),
        ("CLAUDE.md", "AGENTS.md"),
        (".envrc", "nowhere"),
        (".idea", "/etc"),
        (".zed", ".zed"),
        (".claude", "."),
    ];
    for (link, target) in links {
        symlink(target, root.path().join(link)).unwrap();
    }
    for is_mounted in [true, false] {
        let guarded = look(root.path(), is_mounted);
        let held = ["AGENTS.md", "docs"].map(|name| root.path().join(name));
        assert_eq!(guarded.held(), &held[..if is_mounted { 2 } else { 0 }]);
        for (link, _) in links {
            fs::remove_file(root.path().join(link)).unwrap();
        }
        write(root.path(), ".vscode/tasks.json", "evil");
        write(root.path(), "CLAUDE.md", "evil");
        if !is_mounted {
            write(root.path(), "docs/tasks.json", "evil");
        }
        let told = guarded.put_back();
        for (link, target) in links {
            let leads = fs::read_link(root.path().join(link));
            assert_eq!(leads.unwrap(), Path::new(target), "{told:?}");
        }
        assert!(!root.path().join("docs/tasks.json").exists());
        assert!(guarded.put_back().agent.is_empty());
    }
}

#[test]
fn more_places_than_can_be_mounted_are_compared() {
    let files: Vec<String> = (0..MOUNTS + 20).map(|n| format!("p{n}/.npmrc")).collect();
    let mut all: Vec<&str> = files.iter().map(String::as_str).collect();
    all.push("AGENTS.md");
    let root = root(&all);
    let guarded = look(root.path(), true);
    let held = guarded.held();
    assert_eq!(held.len(), MOUNTS);
    assert!(held.contains(&root.path().join("AGENTS.md")));
    let open = files
        .iter()
        .filter(|f| !held.contains(&root.path().join(f)));
    let open: Vec<&String> = open.collect();
    assert_eq!(open.len(), 21);
    for file in &open {
        write(root.path(), file, "evil");
    }
    guarded.put_back();
    for file in open {
        assert_eq!(read(root.path(), file), "old");
    }
}

#[test]
fn in_folders_that_were_left_out_nothing_counts_as_new() {
    let root = root(&[
        "a/1",
        "a/2",
        "a/3",
        "a/4",
        "a/5",
        "b/.npmrc",
        "b/c/.npmrc",
        "d/x",
        "AGENTS.md",
    ]);
    // The root's own names are seen whatever is in the folders beside them.
    let first = Look::new(root.path(), &Look::default(), 1);
    assert_eq!(first.known, BTreeSet::from([PathBuf::from("AGENTS.md")]));
    // The tree has shrunk, and a folder has another name.
    fs::remove_dir_all(root.path().join("a")).unwrap();
    fs::rename(root.path().join("b"), root.path().join("e")).unwrap();
    for new in ["f/.npmrc", ".envrc"] {
        write(root.path(), new, "new");
    }
    let known = Look::new(root.path(), &first, 100).known;
    let names = [".envrc", "AGENTS.md", "f/.npmrc"].map(PathBuf::from);
    assert_eq!(known, BTreeSet::from(names));
}

#[test]
fn folders_that_were_looked_through_are_so_again_whatever_else_came() {
    let root = root(&["src/a.rs"]);
    let first = Look::new(root.path(), &Look::default(), 10);
    for number in 0..20 {
        write(root.path(), &format!("a{number}/x"), "");
    }
    write(root.path(), "src/.envrc", "evil");
    let again = Look::new(root.path(), &first, 1);
    assert!(again.known.contains(Path::new("src/.envrc")));
}

#[test]
fn of_a_place_with_more_than_is_kept_nothing_is_set_aside() {
    let root = root(&[".claude/first"]);
    for number in 0..600 {
        write(root.path(), &format!(".claude/x{number}"), "");
    }
    let guarded = look(root.path(), false);
    for number in 0..300 {
        write(root.path(), &format!(".claude/y{number}"), "");
    }
    let told = guarded.put_back();
    assert!(told.agent.is_empty(), "{told:?}");
}

#[test]
fn worktrees_and_the_daily_work_of_submodules_are_left_alone() {
    let names = [
        ".git/config",
        ".git/worktrees/w/gitdir",
        ".git/worktrees/w/commondir",
        ".git/worktrees/w/HEAD",
        ".git/worktrees/gone/gitdir",
        ".git/modules/m/config",
        ".git/modules/m/HEAD",
        ".git/modules/m/refs/heads/config",
    ];
    for is_mounted in [true, false] {
        let root = root(&names);
        let guarded = look(root.path(), is_mounted);
        for own in [
            ".git/worktrees/new/gitdir",
            ".git/worktrees/new/config.worktree",
            ".git/worktrees/w/HEAD",
            ".git/modules/m/HEAD",
            ".git/modules/m/refs/heads/config",
            ".git/modules/m/objects/config",
        ] {
            write(root.path(), own, "new");
        }
        fs::remove_dir_all(root.path().join(".git/worktrees/gone")).unwrap();
        let told = guarded.put_back();
        assert!(told.agent.is_empty() && told.author.is_empty(), "{told:?}");
        // There, mounts keep a command from these.
        if is_mounted {
            continue;
        }
        for evil in [
            ".git/worktrees/w/commondir",
            ".git/worktrees/w/config.worktree",
            ".git/modules/m/config",
            ".git/modules/m/hooks/pre-commit",
        ] {
            write(root.path(), evil, "evil");
        }
        let told = guarded.put_back();
        assert_eq!(told.agent.len(), 4, "{told:?}");
        assert_eq!(read(root.path(), ".git/worktrees/w/commondir"), "old");
    }
    // Where there were none.
    let root = root(&[".git/config"]);
    let guarded = look(root.path(), true);
    write(root.path(), ".git/worktrees/new/gitdir", "new");
    assert!(guarded.put_back().agent.is_empty());
}

#[test]
fn what_the_author_saved_stays() {
    let root = root(&["CLAUDE.md", ".git/config"]);
    let buffers = Arc::new(Buffers::default());
    let guarded = Guarded::look(root.path(), false, &buffers);
    let save = |file: &str| {
        write(root.path(), file, "the author's");
        buffers.touched.note(&root.path().join(file));
    };
    save("CLAUDE.md");
    save(".vscode/settings.json");
    save(".envrc");
    write(root.path(), ".vscode/tasks.json", "evil");
    let told = guarded.set_aside();
    assert_eq!(told.agent.len(), 1, "{told:?}");
    assert_eq!(read(root.path(), ".vscode/tasks.json.refused"), "evil");
    // Written by somebody else since.
    write(root.path(), ".envrc", "evil");
    let told = guarded.put_back();
    assert_eq!(read(root.path(), ".envrc.refused"), "evil", "{told:?}");
    for file in ["CLAUDE.md", ".vscode/settings.json"] {
        assert_eq!(read(root.path(), file), "the author's", "{told:?}");
    }
}

#[test]
fn what_a_mount_kept_from_the_command_stays_and_a_replaced_one_is_told() {
    let root = root(&["CLAUDE.md", "AGENTS.md", ".vscode/settings.json"]);
    let guarded = look(root.path(), true);
    for file in ["CLAUDE.md", ".vscode/settings.json", ".vscode/tasks.json"] {
        write(root.path(), file, "the author's");
    }
    write(root.path(), "new", "the author's");
    fs::rename(root.path().join("new"), root.path().join("AGENTS.md")).unwrap();
    let told = guarded.put_back();
    assert!(told.agent.is_empty(), "{told:?}");
    assert_eq!(told.author.len(), 1, "{told:?}");
    assert!(told.author[0].starts_with("`AGENTS.md` was replaced"));
    for file in ["CLAUDE.md", "AGENTS.md", ".vscode/tasks.json"] {
        assert_eq!(read(root.path(), file), "the author's");
    }
}

#[test]
fn what_is_kept_of_all_places_has_a_limit_that_takes_nothing_from_repositories() {
    let root = root(&[".git/config", ".git/hooks/a"]);
    for folder in ["a", "b"] {
        let folder = root.path().join(folder).join(".claude");
        fs::create_dir_all(&folder).unwrap();
        for number in 0..200 {
            let file = fs::File::create(folder.join(number.to_string())).unwrap();
            file.set_len(250 << 10).unwrap();
        }
    }
    let guarded = look(root.path(), false);
    let kept = guarded
        .places
        .values()
        .flat_map(|place| place.kept.values());
    let bytes: usize = kept
        .map(|kept| match kept {
            Kept::File(bytes, _) => bytes.len(),
            _ => 0,
        })
        .sum();
    assert!((60 << 20..65 << 20).contains(&bytes), "{bytes}");
    write(root.path(), ".git/hooks/a", "evil");
    write(root.path(), "a/.claude/0", "evil");
    guarded.put_back();
    assert_eq!(read(root.path(), ".git/hooks/a"), "old");
    assert_ne!(read(root.path(), "a/.claude/0"), "evil");
    // What mounts hold where it cannot be moved is not read at all.
    let root = self::root(&["sub/.git/config", "sub/.claude/a"]);
    let guarded = look(root.path(), true);
    assert!(guarded.places[Path::new("sub/.claude")].kept.is_empty());
}

#[test]
fn a_repositorys_worktrees_beside_it_are_worked_in_and_lead_nowhere_else() {
    let root = root(&[
        "store/HEAD",
        "store/refs/a",
        "store/config",
        "store/worktrees/w/commondir",
        "store/worktrees/w/HEAD",
        "w/.git",
    ]);
    for is_mounted in [true, false] {
        let guarded = look(root.path(), is_mounted);
        let held = ["store/config", "w/.git"].map(|name| root.path().join(name));
        assert_eq!(guarded.held(), &held[..if is_mounted { 2 } else { 0 }]);
        write(root.path(), "store/worktrees/w/HEAD", "new");
        write(root.path(), "store/worktrees/w/index", "new");
        write(
            root.path(),
            "store/worktrees/w/rebase-merge/git-rebase-todo",
            "pick a\n",
        );
        let told = guarded.put_back();
        assert!(told.agent.is_empty(), "{told:?}");
        write(root.path(), "store/worktrees/w/commondir", "evil");
        write(
            root.path(),
            "store/worktrees/w/rebase-merge/git-rebase-todo",
            "x evil\n",
        );
        let told = guarded.put_back();
        assert_eq!(told.agent.len(), 2, "{told:?}");
        assert_eq!(read(root.path(), "store/worktrees/w/commondir"), "old");
    }
}
