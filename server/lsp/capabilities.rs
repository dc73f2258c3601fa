//! What the client can do, read from its JSON as it came, and what this server announces: only what is
//! implemented and what the client can take.

use serde_json::{Value, json};

use super::{commands, completion, conversation, semantic_tokens};
use crate::text::Encoding;

/// What plugins of editors rely on besides LSP itself: options, commands, notifications and the shapes of their data
/// (docs/editors/protocol.md). It grows by one with each change that a plugin of ours cannot do without, and what was
/// there goes on: so a plugin compares it with the one that it needs, and a newer one is fine.
pub(super) const PROTOCOL: u32 = 1;

#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub encoding: Encoding,
    pub apply_edit: bool,
    pub document_changes: bool,
    /// Edits can be shown before they are made.
    pub change_annotations: bool,
    /// Files are removed for us, those that are open too.
    pub delete_files: bool,
    pub rename_files: bool,
    pub configuration: bool,
    pub progress: bool,
    pub show_document: bool,
    /// Its edits can say where the cursor goes (LSP 3.18 §SnippetTextEdit).
    pub snippet_edits: bool,
    pub watch_files: bool,
    pub watch_configuration: bool,
    /// What of [`PROXIED`] can be registered later.
    pub registers: Vec<&'static Proxied>,
    /// Asks for diagnostics, and does so again when told: what a turn does changes them without a change of the text.
    pub pull_diagnostics: bool,
    pub related_information: bool,
    pub code_action_literals: bool,
    pub lens_refresh: bool,
    /// Takes semantic tokens.
    pub tokens: bool,
    pub tokens_refresh: bool,
    pub inlay_hints: bool,
    pub hint_refresh: bool,
    /// Virtual documents (LSP 3.18).
    pub text_content: bool,
    pub completion: bool,
    pub snippets: bool,
    pub insert_replace: bool,
    pub completion_markdown: bool,
    pub links: bool,
    pub link_tooltips: bool,
    /// The edit of a code action is asked for when it is taken.
    pub resolves_edits: bool,
    /// The range of a workspace symbol is asked for when it is gone to.
    pub resolves_ranges: bool,
    /// Takes folds.
    pub folds: bool,
    pub fold_limit: Option<usize>,
    /// Whole lines are folded.
    pub fold_lines: bool,
    pub fold_text: bool,
    /// Hover as Markdown.
    pub markdown: bool,
    /// Takes symbols.
    pub symbols: bool,
    /// A tree of symbols instead of a list.
    pub symbol_tree: bool,
    /// Shows threads in ways of its own (`initializationOptions.threads`).
    pub shows_threads: bool,
    /// Shows changes that are not made yet, and asks for each file (`initializationOptions.reviews`).
    pub reviews: bool,
    /// Shows notebooks as cells, and writes into those that are not saved (`initializationOptions.notebooks`).
    pub notebooks: bool,
    /// Tells the user's own settings from a workspace's (`initializationOptions.ownSettings`, [`crate::config::OWN`]).
    pub knows_own_settings: bool,
    /// Sends no change of a buffer while a command of its own is not answered: eglot, whose changes go by an idle timer.
    pub waits_for_commands: bool,
    /// Sends what was typed just before a save only after it, unless it is asked before: eglot, as above. Such a change
    /// could not be told from a reload of the file (`session/provenance.rs`).
    pub sends_late: bool,
    /// Tells why a buffer is saved.
    pub says_why_saved: bool,
    /// Sends changes in any order, with versions that count by one: Helix before 25.07.
    pub shuffles_changes: bool,
    /// A save brings the whole text, by which a file is known again: Helix, whose `:reload` tells of what differs alone.
    pub saves_text: bool,
    /// What takes the keys when a question is shown: a list or a line at the bottom, whatever is being typed.
    pub questions_take_keys: bool,
    /// Fills in the first answer to a question, which Return alone takes then: eglot.
    pub fills_in_first: bool,
    /// Takes Return for the first answer to a question, and any other key for none, in whatever these were meant for: a
    /// text, a prompt, a picker. Helix. What was not answered there stands at the thread.
    pub defers_questions: bool,
    /// Sends no answer where a question is left by `C-g`: Emacs.
    pub loses_questions: bool,
    /// What an agent asks is shown as a message with buttons too: it has no place of ours for it, and a question of the
    /// server keeps nobody from typing on.
    pub asks_in_messages: bool,
    /// Its plugin asks the author before it has many turns begun.
    pub asks_before_many: bool,
    /// Writes the error of a command to its log, where nobody looks: Helix.
    pub hides_errors: bool,
    /// Where the client puts the server's name before what it shows of it.
    pub names_us: NamesUs,
    /// Hands the answers to a question to the shell's `echo`, which reads `\0047` as a quotation mark, and evaluates what
    /// comes out: kakoune-lsp.
    pub unescapes_titles: bool,
    /// Has nothing behind the end of a buffer's last line, and makes two ends of `\r\n`: kakoune-lsp.
    pub holds_lines: bool,
    /// What stands before each command (`postil.`).
    pub prefix: String,
}

impl Client {
    /// `params` of `initialize`.
    pub fn read(params: &Value) -> Self {
        let capabilities = params.get("capabilities").unwrap_or(&Value::Null);
        let at = |pointer: &str| capabilities.pointer(pointer);
        let can = |pointer: &str| at(pointer).and_then(Value::as_bool).unwrap_or(false);
        let has = |pointer: &str| at(pointer).is_some_and(Value::is_object);
        let lists = |pointer: &str, word: &str| {
            at(pointer)
                .and_then(Value::as_array)
                .is_some_and(|list| list.iter().any(|item| item == word))
        };
        let name = params.pointer("/clientInfo/name").and_then(Value::as_str);
        let opted = |name: &str| {
            let options = params.get("initializationOptions");
            let value = options.and_then(|options| options.get(name));
            value.and_then(Value::as_bool).unwrap_or(false)
        };
        let resource = |kind: &str| {
            can("/workspace/applyEdit")
                && can("/workspace/workspaceEdit/documentChanges")
                && lists("/workspace/workspaceEdit/resourceOperations", kind)
        };
        Self {
            encoding: encoding(at("/general/positionEncodings")),
            apply_edit: can("/workspace/applyEdit"),
            document_changes: can("/workspace/workspaceEdit/documentChanges"),
            // coc.nvim asks about edits by their name, and shows nothing of them: it gets a diff, and a question of ours.
            change_annotations: has("/workspace/workspaceEdit/changeAnnotationSupport")
                && can("/workspace/workspaceEdit/documentChanges")
                && name != Some("coc.nvim"),
            delete_files: resource("delete"),
            rename_files: resource("rename"),
            configuration: can("/workspace/configuration"),
            progress: can("/window/workDoneProgress"),
            show_document: can("/window/showDocument/support"),
            snippet_edits: can("/workspace/applyEdit")
                && can("/workspace/workspaceEdit/documentChanges")
                && can("/workspace/workspaceEdit/snippetEditSupport"),
            // eglot tells nothing of a file that takes another's place, as each save of ours and of `sed -i` does.
            watch_files: can("/workspace/didChangeWatchedFiles/dynamicRegistration")
                && name != Some("Eglot"),
            watch_configuration: can("/workspace/didChangeConfiguration/dynamicRegistration"),
            registers: PROXIED
                .iter()
                .filter(|proxied| {
                    can(&format!(
                        "/textDocument/{}/dynamicRegistration",
                        proxied.client
                    ))
                })
                .collect(),
            pull_diagnostics: has("/textDocument/diagnostic")
                && (can("/workspace/diagnostics/refreshSupport")
                    || can("/workspace/diagnostic/refreshSupport")),
            related_information: can("/textDocument/publishDiagnostics/relatedInformation")
                || can("/textDocument/diagnostic/relatedInformation"),
            code_action_literals: has("/textDocument/codeAction/codeActionLiteralSupport"),
            lens_refresh: can("/workspace/codeLens/refreshSupport"),
            tokens: lists("/textDocument/semanticTokens/formats", "relative"),
            tokens_refresh: can("/workspace/semanticTokens/refreshSupport"),
            inlay_hints: has("/textDocument/inlayHint"),
            hint_refresh: can("/workspace/inlayHint/refreshSupport"),
            text_content: has("/workspace/textDocumentContent"),
            completion: has("/textDocument/completion"),
            snippets: can("/textDocument/completion/completionItem/snippetSupport"),
            insert_replace: can("/textDocument/completion/completionItem/insertReplaceSupport"),
            completion_markdown: lists(
                "/textDocument/completion/completionItem/documentationFormat",
                "markdown",
            ),
            links: has("/textDocument/documentLink"),
            link_tooltips: can("/textDocument/documentLink/tooltipSupport"),
            resolves_edits: can("/textDocument/codeAction/dataSupport")
                && lists("/textDocument/codeAction/resolveSupport/properties", "edit"),
            resolves_ranges: lists(
                "/workspace/symbol/resolveSupport/properties",
                "location.range",
            ),
            folds: has("/textDocument/foldingRange"),
            fold_limit: at("/textDocument/foldingRange/rangeLimit")
                .and_then(Value::as_u64)
                .and_then(|limit| usize::try_from(limit).ok()),
            fold_lines: can("/textDocument/foldingRange/lineFoldingOnly"),
            fold_text: can("/textDocument/foldingRange/foldingRange/collapsedText"),
            markdown: lists("/textDocument/hover/contentFormat", "markdown"),
            // lsp-mode puts those of all servers of a file together and takes them for of one kind: beside a list, as
            // pylsp's, our tree ends its breadcrumb and its menu with an error.
            symbols: name != Some("emacs"),
            symbol_tree: can("/textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            shows_threads: opted("threads"),
            reviews: opted("reviews"),
            notebooks: opted("notebooks"),
            knows_own_settings: opted("ownSettings"),
            waits_for_commands: name == Some("Eglot"),
            sends_late: name == Some("Eglot"),
            says_why_saved: can("/textDocument/synchronization/willSave"),
            shuffles_changes: name == Some("helix") && !is_of(params, (25, 7)),
            saves_text: name == Some("helix"),
            questions_take_keys: !opted("reviews")
                && name.is_some_and(|name| TAKE_KEYS.contains(&name)),
            fills_in_first: name == Some("Eglot"),
            defers_questions: name == Some("helix"),
            loses_questions: name.is_some_and(|name| ["Eglot", "emacs"].contains(&name)),
            asks_in_messages: has("/window/showMessage")
                && !opted("threads")
                && !opted("reviews")
                && name.is_none_or(|name| name == "helix" || !TAKE_KEYS.contains(&name)),
            asks_before_many: opted("threads") || name == Some("Neovim"),
            hides_errors: name == Some("helix"),
            names_us: NamesUs::of(name),
            unescapes_titles: name == Some("kakoune-lsp"),
            holds_lines: name == Some("kakoune-lsp"),
            prefix: params
                .pointer("/initializationOptions/commandPrefix")
                .and_then(Value::as_str)
                .unwrap_or("postil.")
                .to_owned(),
        }
    }

    /// What an answer to a question, or an action, is called there.
    pub fn title(&self, title: &str) -> String {
        match self.unescapes_titles {
            // A set minus, which is no backslash to a shell.
            true => title.replace('\\', "∖"),
            false => title.to_owned(),
        }
    }
}

/// Whether a client is of this year and month, or newer, by what it says of its version (`25.07.1 (a05c151b)`).
fn is_of(params: &Value, month: (u32, u32)) -> bool {
    let version = params
        .pointer("/clientInfo/version")
        .and_then(Value::as_str);
    let mut parts = version.unwrap_or_default().split(['.', ' ', '-']);
    let mut part = || parts.next()?.parse().ok();
    (part().unwrap_or(0), part().unwrap_or(0)) >= month
}

/// Clients whose questions take the keys. Helix (25.07) lets them pass but for those that move in its list and Enter; the
/// others ask below the text until it is answered.
const TAKE_KEYS: [&str; 6] = ["helix", "Eglot", "emacs", "Neovim", "vim-lsp", "coc.nvim"];

/// Whether a client puts the server's name before what it shows of it, where ours before that would be a second one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NamesUs {
    /// Before the title of progress.
    pub progress: bool,
    /// Before a message.
    pub messages: bool,
}

impl NamesUs {
    /// `client`: its name.
    fn of(client: Option<&str>) -> Self {
        let messages = [
            "Neovim",
            "kakoune-lsp",
            "vim-lsp",
            "Sublime Text LSP",
            "Zed",
        ];
        Self {
            progress: client == Some("helix"),
            // "Zed Preview" is one as well.
            messages: client
                .is_some_and(|client| messages.contains(&client) || client.starts_with("Zed ")),
        }
    }
}

/// The first of the client's encodings that is known here; UTF-16 where it names none (LSP 3.17 §Position).
fn encoding(offered: Option<&Value>) -> Encoding {
    let offered = offered
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    offered
        .iter()
        .find_map(|name| match name.as_str()? {
            "utf-8" => Some(Encoding::Utf8),
            "utf-16" => Some(Encoding::Utf16),
            "utf-32" => Some(Encoding::Utf32),
            _ => None,
        })
        .unwrap_or_default()
}

/// Of the code's own navigation what is forwarded (`proxy.mode = "always"`) and else not announced.
#[derive(Debug)]
pub(super) struct Proxied {
    pub method: &'static str,
    provider: &'static str,
    /// In the client's capabilities.
    client: &'static str,
}

/// Only where postil may be the one server, though a name in a thread could be renamed in any case: Helix takes the
/// first server that renames and no other, Neovim asks each and says "Nothing to rename" for one that cannot there, and
/// VS Code, after our refusal, tells the author that instead of going on to a server that renames without a look before.
const PROXIED: [Proxied; 4] = [
    Proxied {
        method: "textDocument/documentHighlight",
        provider: "documentHighlightProvider",
        client: "documentHighlight",
    },
    Proxied {
        method: "textDocument/rename",
        provider: "renameProvider",
        client: "rename",
    },
    Proxied {
        method: "textDocument/prepareCallHierarchy",
        provider: "callHierarchyProvider",
        client: "callHierarchy",
    },
    Proxied {
        method: "textDocument/signatureHelp",
        provider: "signatureHelpProvider",
        client: "signatureHelp",
    },
];

impl Proxied {
    pub fn options(&self) -> Value {
        match self.client {
            "rename" => json!({"prepareProvider": true}),
            "signatureHelp" => json!({"triggerCharacters": ["(", ","]}),
            _ => json!({}),
        }
    }
}

/// `ServerCapabilities`. `proxy`: the code's own navigation is forwarded (`proxy.mode = "always"`).
pub(super) fn announce(client: &Client, proxy: bool) -> Value {
    let mut all = json!({
        "positionEncoding": match client.encoding {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
            Encoding::Utf32 => "utf-32",
        },
        "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": client.saves_text}},
        "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor.rewrite", "source.postil"]},
        "codeLensProvider": {},
        "definitionProvider": true,
        "declarationProvider": true,
        "typeDefinitionProvider": true,
        "implementationProvider": true,
        "referencesProvider": true,
        "hoverProvider": true,
        "workspaceSymbolProvider": true,
        "executeCommandProvider": {"commands": commands::all(&client.prefix)},
        "workspace": {
            "workspaceFolders": {"supported": true, "changeNotifications": true},
            "fileOperations": {"didRename": {"filters": [{"scheme": "file", "pattern": {"glob": "**/*"}}]}},
        },
    });
    let Some(object) = all.as_object_mut() else {
        return all;
    };
    if proxy {
        for proxied in PROXIED {
            object.insert(proxied.provider.to_owned(), proxied.options());
        }
    }
    // An editor may take the answers of one server for all there are, and so lose its own folds and colours: only to
    // one that asks for them.
    if client.folds {
        object.insert(String::from("foldingRangeProvider"), json!(true));
    }
    if client.tokens {
        let provider = semantic_tokens::provider();
        object.insert(String::from("semanticTokensProvider"), provider);
    }
    if client.symbols {
        object.insert(String::from("documentSymbolProvider"), json!(true));
    }
    if client.completion {
        object.insert(
            String::from("completionProvider"),
            json!({"triggerCharacters": completion::TRIGGERS, "resolveProvider": true}),
        );
    }
    if client.links {
        object.insert(String::from("documentLinkProvider"), json!({}));
    }
    if let Some(Value::Object(sync)) = object.get_mut("textDocumentSync") {
        if client.says_why_saved {
            sync.insert(String::from("willSave"), json!(true));
        }
        // The answer is always "nothing to change"; the request has eglot send its changes, and wait, before the disk is
        // written.
        if client.sends_late {
            sync.insert(String::from("willSaveWaitUntil"), json!(true));
        }
    }
    // Without being asked for again, one would stay behind when its turn has ended.
    if client.inlay_hints && client.hint_refresh {
        object.insert(String::from("inlayHintProvider"), json!(true));
    }
    if client.resolves_edits
        && let Some(Value::Object(provider)) = object.get_mut("codeActionProvider")
    {
        provider.insert(String::from("resolveProvider"), json!(true));
    }
    if client.resolves_ranges {
        object.insert(
            String::from("workspaceSymbolProvider"),
            json!({"resolveProvider": true}),
        );
    }
    if client.text_content
        && let Some(Value::Object(workspace)) = object.get_mut("workspace")
    {
        workspace.insert(
            String::from("textDocumentContent"),
            json!({"schemes": [conversation::SCHEME]}),
        );
    }
    if client.pull_diagnostics {
        let provider = json!({"identifier": "postil", "interFileDependencies": false, "workspaceDiagnostics": true});
        object.insert(String::from("diagnosticProvider"), provider);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_chooses_the_encoding() {
        let encoding = |offered: Value| {
            Client::read(&json!({"capabilities": {"general": {"positionEncodings": offered}}}))
                .encoding
        };
        assert_eq!(encoding(json!(["utf-8", "utf-16"])), Encoding::Utf8);
        assert_eq!(
            encoding(json!(["utf-7", "utf-32", "utf-16"])),
            Encoding::Utf32
        );
        assert_eq!(encoding(json!([])), Encoding::Utf16);
        assert_eq!(encoding(Value::Null), Encoding::Utf16);
    }

    #[test]
    fn what_is_asked_is_a_message_where_that_keeps_nobody_from_typing() {
        let client = |name: &str, capabilities: Value| {
            Client::read(&json!({"clientInfo": {"name": name}, "capabilities": capabilities}))
        };
        let shows = json!({"window": {"showMessage": {}}});
        for (name, asks, takes_keys) in [
            ("Zed", true, false),
            ("kakoune-lsp", true, false),
            ("helix", true, true),
            ("Eglot", false, true),
            ("Neovim", false, true),
        ] {
            let client = client(name, shows.clone());
            let found = (client.asks_in_messages, client.questions_take_keys);
            assert_eq!(found, (asks, takes_keys), "{name}");
        }
        // Before 25.07 it shows no questions, and says so in this way.
        let old = client("helix", json!({"window": {"workDoneProgress": true}}));
        assert!(!old.asks_in_messages);
    }

    #[test]
    fn changes_of_an_old_helix_come_in_any_order() {
        let shuffles = |name: &str, version: Value| {
            let params = json!({"clientInfo": {"name": name, "version": version}});
            Client::read(&params).shuffles_changes
        };
        for (version, expected) in [
            (json!("24.7 (079f5442)"), true),
            (json!("25.01.1 (e7ac2fcd)"), true),
            (json!("25.1.1 (e7ac2fcd)"), true),
            (json!("25.07.1 (a05c151b)"), false),
            (json!("25.7.1 (a05c151b)"), false),
            (json!("26.01"), false),
            (Value::Null, true),
        ] {
            assert_eq!(shuffles("helix", version.clone()), expected, "{version}");
            assert!(!shuffles("Neovim", version));
        }
    }

    #[test]
    fn a_client_that_says_nothing_can_do_nothing() {
        let client = Client::read(&Value::Null);
        assert!(!client.apply_edit && !client.progress && !client.pull_diagnostics);
        assert!(!client.waits_for_commands);
        let eglot = Client::read(&json!({"clientInfo": {"name": "Eglot"}}));
        assert!(eglot.waits_for_commands);
        let asks =
            |client| announce(client, false)["textDocumentSync"]["willSaveWaitUntil"] == true;
        assert!(asks(&eglot) && !asks(&client));
        assert_eq!(client.prefix, "postil.");
        let lsp_mode = Client::read(&json!({"clientInfo": {"name": "emacs"}}));
        let symbols = |client| announce(client, false)["documentSymbolProvider"] == true;
        assert!(symbols(&client) && symbols(&eglot) && !symbols(&lsp_mode));
        let announced = announce(&client, false);
        for provider in [
            "diagnosticProvider",
            "semanticTokensProvider",
            "foldingRangeProvider",
        ] {
            assert!(announced.get(provider).is_none(), "{provider}");
        }
    }
}
