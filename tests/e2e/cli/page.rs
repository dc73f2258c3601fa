//! docs/settings.md is what the schema says: `UPDATE_EXPECT=1 cargo test --test e2e docs_settings` makes it anew.

use std::path::Path;

use postil::present::dollars;
use serde_json::Value;

use super::postil;
use crate::harness::Workspace;

const HEAD: &str = r#"# Settings

Every setting, with its default. This page is made from `postil config schema`
(`UPDATE_EXPECT=1 cargo test --test e2e docs_settings`), and a test keeps it equal to it.
`postil config show` prints the values that apply in a workspace, and where each comes from.

## Where a setting can be set

The first place in this table that has a value is used.

| place | what it is |
|---|---|
| environment | `POSTIL_MODEL` sets `model`. `ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL` set the `baseUrl` of these two providers |
| editor | the section `postil` of your editor's settings, for example `postil.turn.maxCost` in VS Code |
| workspace | `postil.toml` in the workspace folder |
| own | your own `~/.config/postil/config.toml` (`%APPDATA%\postil\config.toml` on Windows; `$XDG_CONFIG_HOME` is used if it is set) |

A repository can only narrow what you allow, and a model that it names is asked once you trust its folder. That goes for
`model` and `turn.consult` of an editor's settings, too: most editors also read them from files of the folder
(`.dir-locals.el`, `.zed/settings.json`, `.helix/languages.toml`, `.nvim.lua`, `coc-settings.json`) and do not say which
they come from. Until you trust the folder your own `config.toml` says who answers, and where it names nobody, what postil
finds; you are told so. So set your model in `config.toml`, where it counts in every folder and every editor. The column
*where* says, for each setting:

| where | what it means |
|---|---|
| anywhere | any place can set it |
| own only | only your own `config.toml` can set it. A workspace or an editor that tries is shown an error |
| lower | any place can set it, but a workspace or an editor cannot set more than you do (or than the default) |
| narrower | any place can set it, but a workspace or an editor can only choose your own value or one that allows less |
| adds up | the lists of all places are put together |

In VS Code, your user settings count as your own values: they override `config.toml`, and a workspace can only narrow
them. *Own only* settings cannot be set there either.

## Permission rules

A rule names a tool ([tools.md](tools.md)), a pattern and an action: `allow`, `ask` or `deny`. The pattern is compared with
what the call is about: a path relative to the workspace, a command, or an address. `*` stands for any text, also in the
name of a tool and in `tools.disabled`. A path may be written with `./` or with the workspace's own folder before it, too.
A rule without a pattern applies to every call of its tool. **The last rule that matches decides.** A file that a rule denies
to `grep` or `lsp` (or `*`) is left out as well where such a call is about its folder or another file. Rules belong in your own
`config.toml`:

```toml
[[permissions.rules]]           # tests run without a question
tool = "bash"
pattern = "cargo test*"
action = "allow"

[[permissions.rules]]           # pushing is refused
tool = "bash*"                  # also bash_background
pattern = "git push*"
action = "deny"

[[permissions.rules]]           # pages of one site are fetched without a question
tool = "web_fetch"
pattern = "https://docs.rs/*"
action = "allow"
```

If no rule matches, `permissions.default` decides. Without it, reading is allowed, writing inside the workspace is
allowed in a turn that you started, and running a program or sending something is asked about. Some calls are asked about
whatever the rules allow: changes to [guarded files](security.md#in-plain-words), commands that destroy work, and every
command on a machine without a [sandbox](sandbox.md#what-rules-and-questions-do).

A mistake in `config.toml` is told and allows nothing: a rule whose action cannot be read asks, and where a rule, the
table `permissions` or the whole file cannot be read, whatever does more than read is asked about by default. So it is
where a rule that asks or denies, or `tools.disabled`, names a tool that there is not. The tool with the nearest name is
told; it is asked about, or switched off, until you correct it.

## Who answers after a mistake

A mistake in `config.toml` does not have your code sent to somebody else. Where the whole file cannot be used, or `model`,
or something below `providers`, or a name at the top of the file that is none of the settings, turns are refused until you
correct it or name who shall answer: with `--model`, by `POSTIL_MODEL` or in an editor. A provider of which something
cannot be used is not asked at all. A `model` of your editor's settings that is no text is such a mistake, too, unless
another place names one.

## All settings

NAME stands for a name that you choose.
"#;

/// Kinds of value, as the schema names them.
fn form(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str);
        let values: Vec<String> = values.map(|value| format!("`{value}`")).collect();
        return values.join(", ");
    }
    if let Some(text) = schema["x-can"].as_str() {
        return text.to_owned();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null"),
        kind => Some(kind),
    };
    match kind.and_then(Value::as_str) {
        Some("array") if schema["items"]["type"] == "object" => String::from("list of tables"),
        Some("array") => String::from("list of texts"),
        Some("string") => String::from("text"),
        Some("boolean") => String::from("`true`, `false`"),
        Some("integer") => format!("whole number{}", range(schema)),
        Some("number") => format!("number{}", range(schema)),
        Some("object") => String::from("table of texts"),
        _ => String::from("any value"),
    }
}

fn range(schema: &Value) -> String {
    match (&schema["minimum"], &schema["maximum"]) {
        (Value::Null, Value::Null) => String::new(),
        (least, Value::Null) => format!(", at least {least}"),
        (least, most) => format!(", {least} to {most}"),
    }
}

fn place(schema: &Value, own: bool) -> &'static str {
    let has = |name: &str| !schema[name].is_null();
    match () {
        () if own => "own only",
        () if has("x-limit") => "lower",
        () if has("x-order") => "narrower",
        () if has("x-adds") => "adds up",
        () => "anywhere",
    }
}

fn sentence(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.replace('\n', " ").replace('|', "\\|")
}

fn rows(page: &mut String, schema: &Value, path: &str, own: bool) {
    let own = own || schema["x-from"] == "user";
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    let properties = schema["properties"].as_object();
    if let Some(properties) = properties {
        for (name, schema) in properties {
            rows(page, schema, &below(name), own);
        }
    } else if schema["additionalProperties"]["properties"].is_object() {
        rows(page, &schema["additionalProperties"], &below("NAME"), own);
    } else {
        let default = match &schema["default"] {
            Value::Null => String::new(),
            value => format!("`{value}`"),
        };
        let (form, place) = (form(schema), place(schema, own));
        let what = sentence(schema);
        page.push_str(&format!(
            "| `{path}` | {form} | {default} | {place} | {what} |\n"
        ));
    }
}

fn made(schema: &Value) -> String {
    let mut page = String::from(HEAD);
    for (name, schema) in schema["properties"].as_object().expect("properties") {
        page.push_str(&format!("\n### `{name}`\n\n{}\n", sentence(schema)));
        if schema["x-effect"] != "none" {
            page.push_str("\n| setting | value | default | where | |\n|---|---|---|---|---|\n");
            rows(&mut page, schema, name, false);
        }
    }
    page
}

#[test]
fn docs_settings_is_what_the_schema_says() {
    let schema = postil(&Workspace::new(), &["config", "schema"]).ok().json();
    expect_test::expect_file!["../../../docs/settings.md"].assert_eq(&made(&schema));
}

/// As the command prints them: the question on a line of its own, amounts as everywhere.
#[test]
fn runs_that_pages_show_look_as_they_are_listed() {
    let mut seen = 0;
    for page in ["models.md", "agents.md", "ci.md", "threads.md"] {
        let page = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("docs")
            .join(page);
        let text = std::fs::read_to_string(&page).expect("a page");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line != "$ postil workflow list" {
                continue;
            }
            let run = lines.next().unwrap_or_default();
            let (_, cost) = run
                .rsplit_once('$')
                .unwrap_or_else(|| panic!("{page:?}: {run}"));
            let amount = dollars(cost.parse().expect("a number"));
            assert_eq!(amount, format!("${cost}"), "{page:?}: {run}");
            let asked = lines.next().unwrap_or_default();
            assert!(asked.starts_with("    "), "{page:?}: {asked}");
            seen += 1;
        }
    }
    assert!(seen > 1, "{seen}");
}
