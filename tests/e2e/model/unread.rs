//! Who answers where the settings cannot be read: nobody whom the user has not chosen.

use serde_json::{Value, json};

use super::bench::{CODE, FILE};
use super::choosing::{doctor, project, reply, text};
use super::{Model, Step, call};
use crate::harness::{Editor, Options, Workspace};

/// What would be asked where nothing is configured.
fn environment(model: &Model) -> Vec<(String, String)> {
    [
        ("OPENAI_API_KEY", String::from("sk-canary-0123456789")),
        ("OPENAI_BASE_URL", model.v1()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn replied(workspace: &Workspace, model: &Model, more: &[(&str, &str)]) -> (bool, String) {
    let known = environment(model);
    let known = known.iter().map(|(name, value)| (&**name, &**value));
    let all: Vec<(&str, &str)> = known.chain(more.iter().copied()).collect();
    let output = reply(workspace, &all);
    (output.status.success(), text(&output))
}

const UNKNOWN: &str = "it is not known who shall answer, and nobody was asked";

/// Mistakes in a `config.toml`, and where they are.
const MISTAKES: &[(&str, &str)] = &[
    ("model = \"offline\"\n[turn\n", "config.toml:2 "),
    (
        "model = \"ollama/secret-local\"\n[turn]\nmaxCost = 1\nmaxCost = 2\n",
        "config.toml:4 ",
    ),
    ("model = 5\n", "config.toml:1 "),
    ("model = 2026-11-29\n", "config.toml:1 "),
    ("[model]\nname = \"offline\"\n", "config.toml:1 "),
    ("# mine\nmodle = \"offline\"\n", "config.toml:2 "),
    ("llm = \"offline\"\n", "config.toml:1 "),
    ("agent = \"codex\"\n", "config.toml:1 "),
    (
        "[provider.box]\nbaseUrl = \"http://127.0.0.1:9/v1\"\n",
        "config.toml:1 ",
    ),
    ("[providers.box]\nbaseUrl = 5\n", "config.toml:2 "),
    (
        "[providers.box]\nbase_url = \"http://127.0.0.1:9/v1\"\n",
        "config.toml:2 ",
    ),
    // Below the head of another table.
    ("[turn]\nmodel = \"offline\"\n", "config.toml:2 "),
];

#[test]
fn a_mistake_in_the_settings_sends_the_code_to_nobody() {
    let model = Model::start(vec![Step::text("It is fine.")]);
    for (toml, place) in MISTAKES {
        let workspace = project(toml);
        let (well, said) = replied(&workspace, &model, &[]);
        assert!(!well && said.contains(UNKNOWN), "{toml}: {said}");
        assert!(said.contains(&format!("{place}cannot be used")), "{said}");
        assert_eq!(workspace.read(FILE), CODE);
        let known = environment(&model);
        let known: Vec<(&str, &str)> = known.iter().map(|(n, v)| (&**n, &**v)).collect();
        let found = doctor(&workspace, false, &known);
        assert!(
            found
                .lines()
                .any(|line| line.starts_with("false ") && line.contains(UNKNOWN)),
            "{toml}: {found}"
        );
        // Who is named answers all the same.
        let (well, said) = replied(&workspace, &model, &[("POSTIL_MODEL", "offline")]);
        assert!(well && workspace.read(FILE).contains("AGENT: "), "{said}");
    }
    assert!(model.requests().is_empty(), "{}", model.requests().len());
    // What has nothing to do with models stops nothing.
    let workspace = project("[threads]\nmodes = 1\n[tool]\ndisabled = []\n");
    let (well, said) = replied(&workspace, &model, &[]);
    assert!(well && model.requests().len() == 1, "{said}");
}

#[test]
fn a_provider_of_which_something_cannot_be_read_is_not_asked_elsewhere() {
    let model = Model::start(Vec::new());
    for mistake in [
        "base_url = \"http://127.0.0.1:9/v1\"",
        "baseUrl = 5",
        "api = 1",
    ] {
        let workspace = project(&format!(
            "model = \"openai/gpt-6.1-sol\"\n[providers.openai]\n{mistake}\n"
        ));
        for named in [None, Some(("POSTIL_MODEL", "openai/gpt-x"))] {
            let (well, said) = replied(&workspace, &model, named.as_slice());
            assert!(
                !well
                    && said.contains(
                        "config.toml:3 cannot be used, so it is not known how openai is reached"
                    ),
                "{mistake}: {said}"
            );
        }
    }
    assert!(model.requests().is_empty());
}

/// As `--model "$MODEL"` has it where there is no such variable.
#[test]
fn an_empty_name_is_none() {
    let model = Model::start(Vec::new());
    let workspace = project("model = \"offline\"\n");
    let mut command = workspace.postil();
    command.args(["reply", "--all", "--yes", "--model", ""]);
    let output = command.envs(environment(&model)).output();
    let said = text(&output.expect("postil runs"));
    assert!(workspace.read(FILE).contains("AGENT: "), "{said}");
    let (well, said) = replied(&project("model = 5\n"), &model, &[("POSTIL_MODEL", " ")]);
    assert!(!well && said.contains(UNKNOWN), "{said}");
    assert!(model.requests().is_empty());
}

/// Where the one that began it was reached is not known any more.
#[test]
fn a_turn_that_stopped_does_not_go_on_elsewhere() {
    let look = call("call_1", "file_read", json!({"path": FILE}));
    let model = Model::start(vec![Step::calls(vec![look]), Step::text("It is fine.")]);
    let workspace = project("[turn]\nmaxRounds = 1\n");
    let (well, said) = replied(&workspace, &model, &[]);
    assert!(!well && model.requests().len() == 1, "{said}");
    let run = workspace.runs()[0]["id"].clone();
    let goes_on = || {
        let mut command = workspace.postil();
        let run = run.as_str().expect("an id");
        command.args(["reply", "--resume", run, "--yes"]);
        let output = command.envs(environment(&model)).output();
        text(&output.expect("postil runs"))
    };
    workspace.configure("[turn]\nmaxRounds = 1\n[providers\n");
    let said = goes_on();
    assert!(
        said.contains(UNKNOWN) && model.requests().len() == 1,
        "{said}"
    );
    workspace.configure("");
    let said = goes_on();
    assert_eq!(model.requests().len(), 2, "{said}");
}

/// What became of *Reply as agent* in an editor with these settings.
fn through_an_editor(workspace: &Workspace, model: &Model, settings: Value) -> Result<(), String> {
    let options = Options {
        env: environment(model),
        // It sends them along, so that they are there before the file is.
        capabilities: json!({"workspace": {"configuration": false}}),
        ..Options::default()
    };
    let mut editor = Editor::start_with(workspace, options);
    let settings = json!({"settings": {"postil": settings}});
    editor.notify("workspace/didChangeConfiguration", settings);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"]);
    let begun = editor.take_action(FILE, 0, "Reply as agent");
    let begun = begun.map_err(|error| error["message"].to_string());
    if begun.is_ok() {
        editor.wait_text(FILE, |text| text.contains("AGENT: "));
    }
    begun.map(drop)
}

#[test]
fn nor_does_an_editor_send_it_where_its_own_or_the_users_settings_cannot_be_read() {
    let model = Model::start(Vec::new());
    for (toml, _) in [MISTAKES[0], MISTAKES[2], MISTAKES[5]] {
        let refused = through_an_editor(&project(toml), &model, json!({}));
        let refused = refused.expect_err("nobody is named");
        assert!(refused.contains(UNKNOWN), "{toml}: {refused}");
    }
    for settings in [
        json!({"model": 5}),
        json!({"model": ["offline"]}),
        json!({"modle": "offline"}),
        json!({"providers": {"box": {"baseUrl": "http://127.0.0.1:9/v1"}}}),
    ] {
        let refused = through_an_editor(&project(""), &model, settings.clone());
        let refused = refused.expect_err("nobody is named");
        assert!(
            refused.contains(UNKNOWN) && refused.contains("of the editor's settings"),
            "{settings}: {refused}"
        );
    }
    // The user's own choice answers, and so does the editor's.
    let own = project("model = \"offline\"\n");
    through_an_editor(&own, &model, json!({"model": 5})).expect("one is named");
    let named = json!({"model": "offline"});
    through_an_editor(&project("model = 5\n"), &model, named).expect("one is named");
    assert!(model.requests().is_empty());
}
