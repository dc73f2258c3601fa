//! docs/tools.md is what the registry says: `UPDATE_EXPECT=1 cargo test --test e2e docs_tools` makes it anew.

use serde_json::Value;

use crate::harness::Workspace;

const HEAD: &str = "# The agent's tools

What an agent can call in a turn, as `postil tools list` tells it. This page is made from the program
(`UPDATE_EXPECT=1 cargo test --test e2e docs_tools`); a test holds it to it.

| risk | what it means |
|---|---|
| `read` | reads inside the workspace, or keeps something of the run's own; never asked about |
| `write` | changes files inside the workspace: in a trusted one, in a turn that may write; guarded files are asked about |
| `run` | runs a program in the [sandbox](sandbox.md); asked about |
| `send` | sends something outward; asked about, to [public addresses](security.md#requests-to-the-web) only |

Rules of yours (`permissions`) can allow, ask or deny by tool and pattern, and `tools.disabled` takes a tool away. An
answer of a tool is 50 KB at most unless its description says otherwise, and says when something was cut.
";

/// Kinds of a parameter, as its schema names them.
fn form(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values
            .iter()
            .filter(|value| !value.is_null())
            .map(|value| format!("`{}`", value.as_str().unwrap_or_default()))
            .collect();
        return values.join(", ");
    }
    if let Some(kinds) = schema
        .get("anyOf")
        .or_else(|| schema.get("oneOf"))
        .and_then(Value::as_array)
    {
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|s| s["type"] != "null")
            .map(|s| match s.get("const").and_then(Value::as_str) {
                Some(value) => format!("`{value}`"),
                None => form(s),
            })
            .collect();
        return kinds.join(", ");
    }
    let kind_of = |kind: &str| match kind {
        "array" => format!("list of {}", form(&schema["items"])),
        "object" if schema["properties"].is_object() => {
            let names = schema["properties"].as_object().expect("properties").keys();
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            format!("object with {}", names.join(", "))
        }
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(kind) => kind_of(kind),
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .filter(|kind| *kind != "null")
            .map(kind_of)
            .collect::<Vec<_>>()
            .join(" or "),
        _ => String::from("anything"),
    }
}

fn made(tools: &Value) -> String {
    let mut page = String::from(HEAD);
    for tool in tools.as_array().expect("tools") {
        let text = |name: &str| tool[name].as_str().expect("a text").to_owned();
        page.push_str(&format!(
            "\n## `{}` · {}\n\n{}\n",
            text("name"),
            text("risk"),
            text("description")
        ));
        let parameters = &tool["parameters"];
        let properties = parameters["properties"].as_object().expect("properties");
        if properties.is_empty() {
            page.push_str("\nIt takes no parameters.\n");
            continue;
        }
        page.push_str("\n| parameter | | |\n|---|---|---|\n");
        for (name, schema) in properties {
            let required = parameters["required"].as_array();
            let optional = !required.is_some_and(|all| all.iter().any(|known| known == name));
            let description = schema["description"].as_str().unwrap_or_default();
            let description = description.replace('\n', " ").replace('|', "\\|");
            page.push_str(&format!(
                "| `{name}`{} | {} | {description} |\n",
                if optional { "?" } else { "" },
                form(schema),
            ));
        }
    }
    page
}

#[test]
fn docs_tools_is_what_the_registry_says() {
    let workspace = Workspace::new();
    let output = workspace
        .postil()
        .args(["tools", "list", "--json"])
        .output();
    let tools = output.expect("postil runs").stdout;
    let tools: Value = serde_json::from_slice(&tools).expect("JSON");
    expect_test::expect_file!["../../../docs/tools.md"].assert_eq(&made(&tools));
}
