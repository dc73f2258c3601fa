//! What a syntax tree tells of names: the symbols that are defined, the places of an identifier.

use std::ops::Range;

use postil_grammars::Language;
use tree_sitter::{Node, Tree};

use definitions::{definition, hidden_name};

use super::Symbol;
use super::tree::node_at;

mod definitions;

/// Every symbol that the tree's language row names, in order of start.
pub(super) fn symbols(tree: &Tree, text: &str, language: &Language) -> Vec<Symbol> {
    // Comparing numbers, not names: there are many nodes.
    let grammar = tree.language();
    let mut words = vec![None; grammar.node_kind_count()];
    for (kind, word) in language.symbols {
        if let Some(slot) = words.get_mut(usize::from(grammar.id_for_node_kind(kind, true))) {
            *slot = Some(*word);
        }
    }
    let mut found = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if let Some(word) = words.get(usize::from(node.kind_id())).copied().flatten() {
            found.extend(symbol(node, word, text));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

/// The symbols whose definition covers byte `at`, outermost first.
pub(super) fn enclosing(tree: &Tree, text: &str, language: &Language, at: usize) -> Vec<Symbol> {
    let mut found = Vec::new();
    let mut here = node_at(tree, at);
    while let Some(node) = here {
        if let Some((_, word)) = language
            .symbols
            .iter()
            .find(|(kind, _)| *kind == node.kind())
        {
            found.extend(symbol(node, word, text));
        }
        here = node.parent();
    }
    found.reverse();
    found
}

fn symbol(node: Node, word: &'static str, text: &str) -> Option<Symbol> {
    let word = definition(node, word, text)?;
    let name = name_of(node)?;
    let name_range = name.byte_range();
    Some(Symbol {
        name: text.get(name_range.clone())?.trim().to_owned(),
        kind: kind_of(node, word)?,
        range: node.byte_range(),
        name_range,
    })
}

/// The field's word for this very definition; `None` where it defines nothing worth a name.
fn kind_of(node: Node, word: &'static str) -> Option<&'static str> {
    let grand = node.parent().and_then(|p| p.parent());
    let is = |node: Option<Node>, kinds: &[&str]| node.is_some_and(|n| kinds.contains(&n.kind()));
    match node.kind() {
        // A type that is only mentioned has no body.
        "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier" => {
            node.child_by_field_name("body").map(|_| word)
        }
        "variable_declarator" => {
            let value = node.child_by_field_name("value");
            if is(
                value,
                &[
                    "arrow_function",
                    "function_expression",
                    "generator_function",
                ],
            ) {
                Some("function")
            } else if is(value, &["class"]) {
                Some("class")
            } else {
                // A local variable is no landmark.
                is(grand, &["program", "export_statement"]).then_some(word)
            }
        }
        "const_spec" | "var_spec" => (is(grand, &["source_file"])
            || is(grand.and_then(|g| g.parent()), &["source_file"]))
        .then_some(word),
        "function_item" | "function_signature_item" if is(grand, &["impl_item", "trait_item"]) => {
            Some("method")
        }
        "function_definition" if is(grand, &["class_definition"]) => Some("method"),
        // Decorated, in a class.
        "function_definition"
            if is(grand.and_then(|g| g.parent()), &["class_definition"])
                && is(node.parent(), &["decorated_definition"]) =>
        {
            Some("method")
        }
        "function_definition" if is(grand, &["class_specifier", "struct_specifier"]) => {
            Some("method")
        }
        _ => Some(word),
    }
}

/// The node that names what `node` defines.
fn name_of(node: Node) -> Option<Node> {
    match node.kind() {
        kind if definitions::hides(kind) => return hidden_name(node),
        "impl_item" => return node.child_by_field_name("type"),
        "atx_heading" | "setext_heading" => return node.child_by_field_name("heading_content"),
        "table" | "table_array_element" => return node.named_child(0),
        _ => {}
    }
    if let Some(name) = node.child_by_field_name("name") {
        return Some(name);
    }
    // C hides the name in its declarators: `*f(int)` is a pointer to a function of that name.
    let Some(mut here) = node
        .child_by_field_name("declarator")
        .or_else(|| node.child_by_field_name("property"))
    else {
        return definitions::named_child(node);
    };
    for _ in 0..32 {
        match here
            .child_by_field_name("declarator")
            .or_else(|| here.child_by_field_name("name"))
        {
            Some(inner) => here = inner,
            None if here.kind() == "parenthesized_declarator"
                || here.kind() == "reference_declarator" =>
            {
                here = here.named_child(0)?
            }
            None => break,
        }
    }
    Some(here)
}

/// Whether the node that ends where `range` does, and begins there too, is a name.
pub(super) fn is_identifier<'t>(tree: &'t Tree, range: &Range<usize>) -> Named<'t> {
    let Some(node) = node_at(tree, range.start) else {
        return Named::No;
    };
    if node.byte_range() == *range {
        let kind = node.kind();
        let name = node.is_named()
            && node.child_count() == 0
            && (kind.contains("identifier")
                || kind.ends_with("name")
                || matches!(
                    kind,
                    "constant" | "word" | "bare_key" | "hash_key_symbol" | "string_scalar"
                ));
        if name {
            return Named::Yes;
        }
    }
    Named::Unknown(node)
}

pub(super) enum Named<'t> {
    Yes,
    No,
    /// The tree has no say, unless this node is code.
    Unknown(Node<'t>),
}
