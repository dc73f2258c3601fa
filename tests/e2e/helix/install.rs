//! `postil editor helix`: the rows are put into the user's `languages.toml`, renewed and taken out, and Helix itself
//! reads what comes of it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::harness::Workspace;
use crate::peers;

/// What a user may have: a comment, odd spaces, no line break at the end.
const OWN: &str = "# mine\n[editor-of-mine]\nx =   1\n\n[[language]]\nname = \"rust\"\nauto-format = true\n\n[[language]]\nname = \"python\"\nlanguage-servers = [ { name = \"ruff\", only-features = [\"format\"] } ]\n\n[[language]]\nname = \"make\"\nlanguage-servers = [\"postil\"]";

struct User {
    workspace: Workspace,
    file: PathBuf,
}

impl User {
    fn new(text: Option<&str>) -> Self {
        let workspace = Workspace::new();
        let file = super::config(&workspace).join("languages.toml");
        if let Some(text) = text {
            std::fs::write(&file, text).expect("languages.toml");
        }
        Self { workspace, file }
    }

    /// Exit status, what was printed, what was complained of.
    fn editor(&self, more: &[&str]) -> (Option<i32>, String, String) {
        let output = self
            .workspace
            .postil()
            .args(["editor", "helix"])
            .args(more)
            .output()
            .expect("postil runs");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    #[track_caller]
    fn done(&self, more: &[&str]) -> (String, String) {
        let (code, out, err) = self.editor(more);
        assert_eq!(code, Some(0), "{out}{err}");
        (out, err)
    }

    /// Refused in one sentence, and the file is as it was.
    #[track_caller]
    fn refused(&self, more: &[&str], says: &str) {
        let before = std::fs::read(&self.file).ok();
        let (code, out, err) = self.editor(more);
        assert_eq!(code, Some(1), "{out}{err}");
        assert!(err.contains(says), "{says}: {err}");
        assert!(err.contains("nothing was written"), "{err}");
        assert_eq!(err.trim_end().lines().count(), 1, "{err}");
        assert_eq!(std::fs::read(&self.file).ok(), before);
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.file).expect("languages.toml")
    }

    /// What every installed Helix says of a language; none of them complains of the file.
    #[track_caller]
    fn health(&self, language: &str, servers: &[&str]) {
        for program in ["hx", "hx-new"] {
            if !peers::have(&[program]) {
                continue;
            }
            let output = self
                .workspace
                .command(peers::find(program).expect(program))
                .args(["--health", language])
                .output()
                .expect("Helix runs");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(
                String::from_utf8_lossy(&output.stderr),
                "",
                "{program} {language}"
            );
            for server in servers {
                assert!(said.contains(server), "{program} {language}: {said}");
            }
        }
    }
}

#[test]
fn rows_come_into_a_fresh_languages_toml_once_and_go_again() {
    let user = User::new(None);
    std::fs::remove_dir(user.file.parent().expect("a folder")).expect("an empty folder");
    let (out, err) = user.done(&[]);
    assert!(
        out.contains("147 languages have postil now") && err.is_empty(),
        "{out}{err}"
    );
    let first = user.text();
    user.health("rust", &["rust-analyzer", "postil"]);
    user.health("postil", &[]);
    let (out, _) = user.done(&[]);
    assert!(out.contains("is up to date"), "{out}");
    assert_eq!(user.text(), first);
    user.done(&["--remove"]);
    assert!(!user.file.exists(), "it was not there before");
    let (out, _) = user.done(&["--remove"]);
    assert!(out.contains("no rows that this command wrote"), "{out}");
}

#[test]
fn an_update_renews_what_stands_between_the_marks_and_nothing_else() {
    let user = User::new(Some("# above\n"));
    user.done(&[]);
    let first = user.text();
    let (from, to) = (
        "[\"rust-analyzer\", \"postil\"]",
        "[\"an-older-one\", \"postil\"]",
    );
    let below = "\n[[grammar]]\nname = \"postil\"\nsource = { path = \"/p\" }\n";
    assert!(first.contains(from));
    std::fs::write(&user.file, first.replace(from, to) + below).expect("languages.toml");
    user.done(&[]);
    assert_eq!(user.text(), first + below);
    user.health("rust", &["rust-analyzer", "postil"]);
    user.done(&["--remove"]);
    assert_eq!(user.text(), format!("# above\n{below}"));
}

#[test]
fn rows_of_the_users_own_stay_and_are_told_of() {
    let user = User::new(Some(OWN));
    let (out, err) = user.done(&[]);
    assert!(out.contains("144 languages have postil now"), "{out}");
    for line in [
        "2 of your own rows stay without postil",
        "  rust: language-servers = [\"rust-analyzer\", \"postil\"]",
        "  python: language-servers = [{ name = \"ruff\", only-features = [\"format\"] }, \"postil\"]",
    ] {
        assert!(err.contains(line), "{line}: {err}");
    }
    assert!(!err.contains("make"), "{err}");
    assert!(user.text().starts_with(OWN));
    user.health("go", &["gopls", "postil"]);
    user.health("make", &["postil"]);
    // What was told is what helps.
    let told = OWN.replace(
        "auto-format = true",
        "auto-format = true\nlanguage-servers = [\"rust-analyzer\", \"postil\"]",
    );
    std::fs::write(&user.file, user.text().replace(OWN, &told)).expect("languages.toml");
    let (_, err) = user.done(&[]);
    assert!(
        err.contains("1 of your own rows stays") && !err.contains("  rust:"),
        "{err}"
    );
    user.health("rust", &["rust-analyzer", "postil"]);
    let (_, err) = user.done(&["--remove"]);
    assert!(
        err.contains("name postil still") && err.contains("make, rust"),
        "{err}"
    );
    assert_eq!(user.text(), told);
}

#[test]
fn a_server_of_the_users_own_is_kept() {
    let own = "[language-server.postil]\ncommand = \"/opt/postil\"\n";
    let user = User::new(Some(own));
    user.done(&[]);
    assert_eq!(user.text().matches("[language-server.postil]").count(), 1);
    user.health("make", &["/opt/postil"]);
    user.done(&["--remove"]);
    assert_eq!(user.text(), own);
}

#[test]
fn every_text_comes_back_byte_for_byte() {
    for text in ["", "\n", "\n\n", "# a", "x = 1\r\n", "# a\n# b\n\n\n"] {
        let user = User::new(Some(text));
        user.done(&[]);
        assert_ne!(user.text(), text);
        user.done(&[]);
        user.done(&["--remove"]);
        assert_eq!(user.text(), text, "{text:?}");
    }
}

#[test]
fn what_cannot_be_read_or_changed_is_refused_and_nothing_is_written() {
    User::new(Some("a = 1\n[[language]\n")).refused(&[], "languages.toml:2: ");
    User::new(Some("a = 1\n[[language]\n")).refused(&["--remove"], "languages.toml:2: ");
    let rows = std::fs::read_to_string(super::languages::file()).expect("rows");
    User::new(Some(&rows)).refused(&[], "take out what was appended by hand");
    User::new(Some(&rows.repeat(2))).refused(&[], "take out the rows of postil");
    User::new(Some("language-server = { a = { command = \"a\" } }\n"))
        .refused(&[], "would not be TOML");
    // What is TOML, and nothing that Helix can read.
    for (text, says) in [
        ("# a\n[[language]]\nname = 3\n", "languages.toml:3: "),
        ("[[language]]\nauto-format = true\n", "languages.toml:1: "),
        ("\n[language]\nname = \"rust\"\n", "languages.toml:2: "),
        ("language = [\"rust\"]\n", "languages.toml:1: "),
        (
            "[[language]]\nname = \"go\"\nlanguage-servers = \"gopls\"\n",
            "languages.toml:3: ",
        ),
        (
            "[[language]]\nname = \"go\"\nlanguage-servers = [\"gopls\", 3]\n",
            "languages.toml:3: a language server is its name",
        ),
        (
            "[language-server]\npostil = \"/opt/postil\"\n",
            "languages.toml:2: ",
        ),
        ("grammar = 3\n", "languages.toml:1: "),
    ] {
        let user = User::new(Some(text));
        user.refused(&[], says);
        user.refused(&[], "mend that line, then run this again");
        user.refused(&["--remove"], says);
    }
    // Below the lines of postil, the place is still the file's.
    let user = User::new(Some("# a\n"));
    user.done(&[]);
    let wrong = format!("{}[[language]]\nname = 3\n", user.text());
    std::fs::write(&user.file, &wrong).expect("languages.toml");
    let line = wrong.lines().count();
    user.refused(&[], &format!("languages.toml:{line}: "));
    let user = User::new(Some("# a\n"));
    user.done(&[]);
    let half = user.text().replace("# <<< postil\n", "");
    std::fs::write(&user.file, &half).expect("languages.toml");
    user.refused(&[], "the marks of postil");
    user.refused(&["--remove"], "the marks of postil");
    let user = User::new(Some("# a\n"));
    std::fs::write(&user.file, b"# \xff\n").expect("languages.toml");
    user.refused(&[], "not valid UTF-8");
    let user = User::new(Some("# a\n"));
    std::fs::set_permissions(&user.file, std::fs::Permissions::from_mode(0o444)).expect("a mode");
    user.refused(&[], "cannot be changed");
}

#[test]
fn a_link_stays_a_link_and_a_mode_stays_a_mode() {
    let user = User::new(None);
    let real = user.workspace.write("dotfiles/languages.toml", "");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).expect("a mode");
    std::os::unix::fs::symlink(&real, &user.file).expect("a link");
    user.done(&[]);
    assert!(user.file.is_symlink());
    let read = || user.workspace.read("dotfiles/languages.toml");
    assert!(read().contains("[language-server.postil]"));
    let mode = std::fs::metadata(&real)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
    user.health("rust", &["postil"]);
    user.done(&["--remove"]);
    assert!(user.file.is_symlink());
    assert_eq!(read(), "");
    // One that leads nowhere is not made into a file.
    std::fs::remove_file(&real).expect("removed");
    user.refused(&[], "cannot be changed");
    assert!(user.file.is_symlink());
}
