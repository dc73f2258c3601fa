//! Starts postil in Zed as one more language server of each language. It downloads nothing, runs nothing itself, and
//! starts no program that the project brought along.

use zed_extension_api::settings::{CommandSettings, LspSettings};
use zed_extension_api::{self as zed, LanguageServerId, Result, Worktree, serde_json};

use serde_json::{Value, json};

struct Postil;

impl zed::Extension for Postil {
    fn new() -> Self {
        Self
    }

    fn language_server_command(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<zed::Command> {
        let settings = settings(id, worktree)?;
        let place = Place {
            root: worktree.root_path(),
            env: worktree.shell_env(),
        };
        command(settings.binary, &place, || worktree.which("postil"))
    }

    fn language_server_initialization_options(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<Value>> {
        Ok(settings(id, worktree)?.initialization_options)
    }

    fn language_server_workspace_configuration(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<Value>> {
        Ok(Some(section(settings(id, worktree)?.settings)))
    }
}

zed::register_extension!(Postil);

fn settings(id: &LanguageServerId, worktree: &Worktree) -> Result<LspSettings> {
    LspSettings::for_worktree(id.as_ref(), worktree)
        .map_err(|error| format!("Zed's settings \"lsp\": {{\"{id}\": …}} cannot be read: {error}"))
}

/// Where a project lies, and what its shell knows.
struct Place {
    root: String,
    env: Vec<(String, String)>,
}

/// The program and how it is started: what the settings name, else what `find` has on the PATH.
fn command(
    binary: Option<CommandSettings>,
    place: &Place,
    find: impl FnOnce() -> Option<String>,
) -> Result<zed::Command> {
    let (path, arguments, env) = match binary {
        Some(binary) => (binary.path, binary.arguments, binary.env),
        None => (None, None, None),
    };
    let command = match path.filter(|path| !path.is_empty()) {
        Some(path) => path,
        None => on_the_path(place, find())?,
    };
    Ok(zed::Command {
        command,
        args: arguments.unwrap_or_default(),
        env: env.unwrap_or_default().into_iter().collect(),
    })
}

const NAME_IT: &str = "or name it in your own settings: \
     \"lsp\": {\"postil\": {\"binary\": {\"path\": \"…/postil\"}}}; then `editor: restart language server`.";

/// A PATH may name folders of the project, by itself or through direnv.
fn on_the_path(place: &Place, found: Option<String>) -> Result<String> {
    let found = found.ok_or_else(|| {
        format!("postil is not on the PATH that Zed has. Install it (docs/install.md), {NAME_IT}")
    })?;
    // Who opens their home folder as a project has their own programs in there.
    let home = place.env.iter().any(|(name, value)| {
        (name == "HOME" || name == "USERPROFILE") && lies_in(&place.root, value)
    });
    if !home && lies_in(&place.root, &found) {
        return Err(format!(
            "The postil that comes first on the PATH, {found}, is a file of this project, and is not started. \
             Install postil outside of it, {NAME_IT}"
        ));
    }
    Ok(found)
}

/// Whether `path` is `folder` or below it; with the separators of any system, for an extension is the same on all.
fn lies_in(folder: &str, path: &str) -> bool {
    let folder = folder.trim_end_matches(['/', '\\']);
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
}

/// The server asks for its section by name. Empty where there are none, so that settings that were removed go.
fn section(settings: Option<Value>) -> Value {
    match settings {
        // Written with the section's name, as some servers want it.
        Some(Value::Object(named)) if named.get("postil").is_some_and(Value::is_object) => {
            Value::Object(named)
        }
        settings => json!({ "postil": settings.unwrap_or_else(|| json!({})) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(root: &str) -> Place {
        Place {
            root: root.into(),
            env: vec![("HOME".into(), "/home/ann".into())],
        }
    }

    fn found(root: &str, path: &str) -> Result<String> {
        command(None, &place(root), || Some(path.into())).map(|command| command.command)
    }

    #[test]
    fn what_the_settings_name_is_started() {
        let binary = json!({"path": "/opt/postil", "arguments": ["--log"], "env": {"A": "b"}});
        let binary = serde_json::from_value(binary).expect("settings");
        let made = command(Some(binary), &place("/p"), || {
            panic!("it is not looked for")
        });
        let made = made.expect("a command");
        assert_eq!(made.command, "/opt/postil");
        assert_eq!(made.args, ["--log"]);
        assert_eq!(made.env, [("A".into(), "b".into())]);
    }

    #[test]
    fn without_a_path_the_arguments_and_the_environment_are_kept() {
        let binary = json!({"path": "", "arguments": ["--log"], "env": {"A": "b"}});
        let binary = serde_json::from_value(binary).expect("settings");
        let made = command(Some(binary), &place("/p"), || {
            Some("/usr/bin/postil".into())
        });
        let made = made.expect("a command");
        assert_eq!(made.command, "/usr/bin/postil");
        assert_eq!(made.args, ["--log"]);
        assert_eq!(made.env.len(), 1);
    }

    #[test]
    fn a_missing_program_is_told_with_what_to_do() {
        let error = command(None, &place("/p"), || None).expect_err("there is none");
        assert!(error.contains("not on the PATH"), "{error}");
        assert!(error.contains("binary"), "{error}");
        assert!(error.contains("restart language server"), "{error}");
    }

    #[test]
    fn a_program_of_the_project_is_not_started() {
        for (root, path) in [
            ("/work/p", "/work/p/bin/postil"),
            ("/work/p/", "/work/p/postil"),
            ("C:\\p", "C:\\p\\bin\\postil.exe"),
        ] {
            let error = found(root, path).expect_err("it lies in the project");
            assert!(error.contains(path), "{error}");
        }
        for (root, path) in [
            ("/work/p", "/work/p2/postil"),
            ("/work/p", "/usr/bin/postil"),
            ("/home/ann/p", "/home/ann/.cargo/bin/postil"),
            ("/home/ann", "/home/ann/.cargo/bin/postil"),
            ("/", "/usr/bin/postil"),
        ] {
            assert_eq!(found(root, path).as_deref(), Ok(path));
        }
    }

    #[test]
    fn the_settings_go_under_their_section() {
        let model = json!({"model": "offline"});
        assert_eq!(section(Some(model.clone())), json!({"postil": model}));
        let named = json!({"postil": model});
        assert_eq!(section(Some(named.clone())), named);
        assert_eq!(section(None), json!({"postil": {}}));
    }
}
