//! What is known of the methods that a child is asked, those that do nothing but read.

struct Method {
    name: &'static str,
    /// Half of the answer would be a wrong answer.
    whole: bool,
    leads: bool,
}

const fn reads(name: &'static str) -> Method {
    Method {
        name,
        whole: false,
        leads: false,
    }
}

impl Method {
    const fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    const fn leads(mut self) -> Self {
        self.leads = true;
        self
    }
}

const READING: [Method; 25] = [
    reads("textDocument/definition").leads(),
    reads("textDocument/declaration").leads(),
    reads("textDocument/typeDefinition").leads(),
    reads("textDocument/implementation").whole().leads(),
    reads("textDocument/references").whole().leads(),
    reads("textDocument/hover"),
    reads("textDocument/documentSymbol"),
    reads("textDocument/documentHighlight"),
    reads("textDocument/rename").whole(),
    reads("textDocument/prepareRename"),
    reads("textDocument/prepareCallHierarchy").leads(),
    reads("textDocument/prepareTypeHierarchy").leads(),
    reads("textDocument/diagnostic"),
    reads("textDocument/signatureHelp"),
    reads("textDocument/completion"),
    reads("textDocument/foldingRange"),
    reads("textDocument/selectionRange"),
    reads("textDocument/inlayHint"),
    reads("textDocument/moniker"),
    reads("callHierarchy/incomingCalls").whole().leads(),
    reads("callHierarchy/outgoingCalls").whole().leads(),
    reads("typeHierarchy/supertypes").whole().leads(),
    reads("typeHierarchy/subtypes").whole().leads(),
    reads("workspace/symbol").whole().leads(),
    reads("workspaceSymbol/resolve").leads(),
];

fn of(name: &str) -> Option<&'static Method> {
    READING.iter().find(|method| method.name == name)
}

/// Asked again once where the child fell over the first time.
pub(super) fn only_reads(name: &str) -> bool {
    of(name).is_some()
}

/// Asked when indexing is over.
pub(super) fn needs_index(name: &str) -> bool {
    of(name).is_some_and(|method| method.whole)
}

/// Whether an answer names places to go to.
pub(super) fn leads(name: &str) -> bool {
    of(name).is_some_and(|method| method.leads)
}
