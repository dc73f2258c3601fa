//! What a child is told of its client: what can be passed on and followed here, in the editor's own
//! shape where an editor is connected.

use serde_json::{Value, json};

use crate::text::Encoding;

/// Features whose answers reach the editor as they are, so that its own word counts.
const FORWARDED: [&str; 13] = [
    "definition",
    "declaration",
    "typeDefinition",
    "implementation",
    "references",
    "hover",
    "documentSymbol",
    "documentHighlight",
    "rename",
    "callHierarchy",
    "typeHierarchy",
    "moniker",
    "selectionRange",
];

/// `ClientCapabilities`. `encoding` and `client` are the editor's, where there is one.
pub fn of(encoding: Option<Encoding>, client: &Value) -> Value {
    let mut text_document = json!({
        "synchronization": {"dynamicRegistration": false, "didSave": true},
        "definition": {"linkSupport": true},
        "declaration": {"linkSupport": true},
        "typeDefinition": {"linkSupport": true},
        "implementation": {"linkSupport": true},
        "references": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": true, "symbolKind": {"valueSet": (1..=26).collect::<Vec<u8>>()}},
        "rename": {"prepareSupport": true},
        "callHierarchy": {},
        "publishDiagnostics": {"relatedInformation": true, "versionSupport": true, "codeDescriptionSupport": true, "tagSupport": {"valueSet": [1, 2]}},
        "diagnostic": {"dynamicRegistration": false, "relatedDocumentSupport": false},
    });
    for feature in FORWARDED {
        let Some(all) = text_document.as_object_mut().filter(|_| client.is_object()) else {
            break;
        };
        let own = client
            .pointer(&format!("/textDocument/{feature}"))
            .and_then(Value::as_object);
        match own {
            Some(own) => {
                let mut own = own.clone();
                // What a child registers later would not reach the editor.
                own.insert(String::from("dynamicRegistration"), Value::Bool(false));
                all.insert(feature.to_string(), Value::Object(own));
            }
            // What it does not name, it takes in the oldest form alone.
            None if all.contains_key(feature) => drop(all.insert(feature.to_string(), json!({}))),
            None => {}
        }
    }
    // What a rename makes reaches the editor as it is, too.
    let mut edits = json!({"documentChanges": true});
    if client.is_object() {
        let own = |name: &str| client.pointer(&format!("/workspace/workspaceEdit/{name}"));
        edits["documentChanges"] = json!(own("documentChanges") == Some(&Value::Bool(true)));
        if let Some(operations) = own("resourceOperations") {
            edits["resourceOperations"] = operations.clone();
        }
    }
    json!({
        "general": {"positionEncodings": encodings(encoding)},
        // clangd's name for the same, before it was in the protocol.
        "offsetEncoding": encodings(encoding),
        "textDocument": text_document,
        "workspace": {
            "applyEdit": true,
            "workspaceEdit": edits,
            "configuration": true,
            "workspaceFolders": true,
            "didChangeConfiguration": {"dynamicRegistration": false},
            "didChangeWatchedFiles": {"dynamicRegistration": false},
            "symbol": {"symbolKind": {"valueSet": (1..=26).collect::<Vec<u8>>()}},
        },
        "window": {"workDoneProgress": true, "showMessage": {"messageActionItem": {"additionalPropertiesSupport": true}}},
        "experimental": {"serverStatusNotification": true},
    })
}

/// The editor's own first, so that nothing has to be converted where the child can have it too.
fn encodings(editor: Option<Encoding>) -> Vec<&'static str> {
    let name = |e| match e {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
        Encoding::Utf32 => "utf-32",
    };
    let mut all = vec![Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];
    if let Some(editor) = editor {
        all.retain(|e| *e != editor);
        all.insert(0, editor);
    }
    all.into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_editors_word_counts_for_what_reaches_it() {
        let client = json!({"textDocument": {"definition": {"linkSupport": false, "dynamicRegistration": true}, "completion": {"x": 1}}});
        let all = of(Some(Encoding::Utf16), &client);
        assert_eq!(
            all["textDocument"]["definition"],
            json!({"linkSupport": false, "dynamicRegistration": false})
        );
        assert_eq!(all["textDocument"]["completion"], Value::Null);
        assert_eq!(all["textDocument"]["implementation"], json!({}));
        assert_eq!(all["textDocument"]["moniker"], Value::Null);
        let alone = of(None, &Value::Null);
        assert_eq!(alone["textDocument"]["definition"]["linkSupport"], true);
        let edits = |all: &Value| all["workspace"]["workspaceEdit"].clone();
        assert_eq!(edits(&all), json!({"documentChanges": false}));
        let own = json!({"documentChanges": true, "resourceOperations": ["rename"]});
        let client = json!({"workspace": {"workspaceEdit": own}});
        assert_eq!(edits(&of(None, &client)), own);
        assert_eq!(
            all["general"]["positionEncodings"],
            json!(["utf-16", "utf-8", "utf-32"])
        );
        assert_eq!(
            of(None, &Value::Null)["general"]["positionEncodings"],
            json!(["utf-8", "utf-16", "utf-32"])
        );
    }
}
