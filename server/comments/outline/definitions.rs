//! Definitions whose node does not say by itself what they are, or where their name is.

use tree_sitter::Node;

/// The field's word for `node`, from what stands in it; `None` where it defines nothing.
pub(super) fn definition(node: Node, word: &'static str, text: &str) -> Option<&'static str> {
    let field = |name| node.child_by_field_name(name);
    match node.kind() {
        // Swift has one node for all of them.
        "class_declaration" => match field("declaration_kind").map(|kind| kind.kind()) {
            Some("struct") => Some("struct"),
            Some("enum") => Some("enum"),
            Some("extension") => Some("extension"),
            Some("actor") => Some("actor"),
            _ => Some(word),
        },
        // Elixir defines by calling macros.
        "call" => {
            let target = field("target").filter(|target| target.kind() == "identifier")?;
            match text.get(target.byte_range())? {
                "def" | "defp" | "defdelegate" | "defguard" | "defguardp" => Some("function"),
                "defmacro" | "defmacrop" => Some("macro"),
                "defmodule" => Some("module"),
                "defprotocol" => Some("protocol"),
                "defimpl" => Some("implementation"),
                _ => None,
            }
        }
        // R gives a function its name as it gives any value one.
        "binary_operator" => field("rhs")
            .filter(|value| value.kind() == "function_definition")
            .map(|_| word),
        // So does Nix.
        "binding" => field("expression")
            .filter(|value| value.kind() == "function_expression")
            .map(|_| word),
        // Zig: a type is a value too; any other constant is a landmark only at the top.
        "variable_declaration" => {
            let holds = |kind| child(node, &[kind]).is_some();
            if holds("struct_declaration") {
                Some("struct")
            } else if holds("enum_declaration") {
                Some("enum")
            } else if holds("union_declaration") {
                Some("union")
            } else {
                node.parent()
                    .filter(|parent| parent.kind() == "source_file")
                    .map(|_| word)
            }
        }
        // Haskell writes types of functions with the same node, and its local names with this one.
        "function" => field("name").map(|_| word),
        "bind" => node
            .parent()
            .filter(|parent| parent.kind() == "declarations")
            .map(|_| word),
        // Elm: what `let` binds is no landmark.
        "value_declaration" => node
            .parent()
            .filter(|parent| parent.kind() == "file")
            .map(|_| word),
        _ => Some(word),
    }
}

/// Whether the name of a node of this kind is found by [`hidden_name`].
pub(super) fn hides(kind: &str) -> bool {
    matches!(
        kind,
        "call"
            | "binary_operator"
            | "binding"
            | "block"
            | "function_def"
            | "macro_def"
            | "fun_decl"
            | "type_alias"
            | "test_declaration"
            | "value_declaration"
            | "defProc"
            | "subprogram_body"
            | "subprogram_declaration"
            | "method_declaration"
            | "function_declaration"
            | "getter_declaration"
            | "setter_declaration"
    )
}

/// The name of a definition that has it somewhere below.
pub(super) fn hidden_name(node: Node) -> Option<Node> {
    let field = |name| node.child_by_field_name(name);
    match node.kind() {
        "call" => {
            let mut here = child(node, &["arguments"])?.named_child(0)?;
            // `name(a) when a > 0`
            if here.kind() == "binary_operator" {
                here = here.child_by_field_name("left")?;
            }
            Some(here.child_by_field_name("target").unwrap_or(here))
        }
        "binary_operator" => field("lhs"),
        "binding" => field("attrpath"),
        // Terraform: the last label, or the block's own name.
        "block" => {
            let mut cursor = node.walk();
            let label = node
                .named_children(&mut cursor)
                .filter(|child| matches!(child.kind(), "identifier" | "string_lit"))
                .last()?;
            child(label, &["template_literal"]).or(Some(label))
        }
        // CMake: the first argument of the command that opens it.
        "function_def" | "macro_def" => {
            let command = child(node, &["function_command", "macro_command"])?;
            child(command, &["argument_list"])?.named_child(0)
        }
        "fun_decl" => field("clause")
            .or_else(|| child(node, &["function_clause"]))?
            .child_by_field_name("name"),
        // `-type name(A) :: …` of Erlang: the arguments do not belong to it.
        "type_alias" => {
            let name = field("name")
                .or_else(|| field("type"))
                .or_else(|| named_child(node))?;
            Some(name.named_child(0).unwrap_or(name))
        }
        "test_declaration" => {
            let name = node.named_child(0)?;
            Some(name.named_child(0).unwrap_or(name))
        }
        "value_declaration" => field("functionDeclarationLeft")?.named_child(0),
        "defProc" => field("header")?.child_by_field_name("name"),
        "subprogram_body" | "subprogram_declaration" => {
            child(node, &["procedure_specification", "function_specification"])?
                .child_by_field_name("name")
        }
        // Dart keeps the name in a signature, sometimes in one in a signature.
        _ => {
            if let Some(name) = field("name") {
                return Some(name);
            }
            let mut here = field("signature")?;
            for _ in 0..3 {
                match here.child_by_field_name("name") {
                    Some(name) => return Some(name),
                    None => here = here.named_child(0)?,
                }
            }
            None
        }
    }
}

/// The child that is a name, where no field tells.
pub(super) fn named_child(node: Node) -> Option<Node> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .find(|child| child.kind().ends_with("name") || child.kind().ends_with("identifier"))
}

fn child<'t>(node: Node<'t>, kinds: &[&str]) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .find(|child| kinds.contains(&child.kind()))
}
