//! Which nodes of a grammar define something, and the field's word for it.

pub(crate) type Symbols = &'static [(&'static str, &'static str)];

pub(crate) const C: Symbols = &[
    ("function_definition", "function"),
    ("struct_specifier", "struct"),
    ("union_specifier", "union"),
    ("enum_specifier", "enum"),
    ("type_definition", "type"),
    ("preproc_def", "macro"),
    ("preproc_function_def", "macro"),
    ("enumerator", "variant"),
];
pub(crate) const CPP: Symbols = &[
    ("function_definition", "function"),
    ("struct_specifier", "struct"),
    ("union_specifier", "union"),
    ("enum_specifier", "enum"),
    ("class_specifier", "class"),
    ("type_definition", "type"),
    ("alias_declaration", "type"),
    ("namespace_definition", "namespace"),
    ("concept_definition", "concept"),
    ("preproc_def", "macro"),
    ("preproc_function_def", "macro"),
    ("enumerator", "variant"),
];
pub(crate) const GLSL: Symbols = &[
    ("function_definition", "function"),
    ("struct_specifier", "struct"),
    ("preproc_def", "macro"),
    ("preproc_function_def", "macro"),
];
pub(crate) const PHP: Symbols = &[
    ("function_definition", "function"),
    ("class_declaration", "class"),
    ("interface_declaration", "interface"),
    ("trait_declaration", "trait"),
    ("enum_declaration", "enum"),
    ("enum_case", "variant"),
    ("method_declaration", "method"),
    ("namespace_definition", "namespace"),
];
pub(crate) const KOTLIN: Symbols = &[
    ("function_declaration", "function"),
    ("class_declaration", "class"),
    ("object_declaration", "object"),
    ("companion_object", "object"),
    ("enum_entry", "variant"),
    ("type_alias", "type"),
];
pub(crate) const SWIFT: Symbols = &[
    ("function_declaration", "function"),
    ("class_declaration", "class"),
    ("protocol_declaration", "protocol"),
    ("protocol_function_declaration", "method"),
    ("init_declaration", "constructor"),
    ("typealias_declaration", "type"),
    ("enum_entry", "variant"),
];
pub(crate) const DART: Symbols = &[
    ("class_declaration", "class"),
    ("mixin_declaration", "mixin"),
    ("extension_declaration", "extension"),
    ("enum_declaration", "enum"),
    ("function_declaration", "function"),
    ("method_declaration", "method"),
    ("getter_declaration", "function"),
    ("setter_declaration", "function"),
    ("type_alias", "type"),
];
pub(crate) const ZIG: Symbols = &[
    ("function_declaration", "function"),
    ("test_declaration", "test"),
    ("variable_declaration", "constant"),
    ("container_field", "field"),
];
pub(crate) const SOLIDITY: Symbols = &[
    ("contract_declaration", "contract"),
    ("interface_declaration", "interface"),
    ("library_declaration", "library"),
    ("function_definition", "function"),
    ("modifier_definition", "modifier"),
    ("event_definition", "event"),
    ("error_declaration", "error"),
    ("struct_declaration", "struct"),
    ("enum_declaration", "enum"),
];
pub(crate) const PROTO: Symbols = &[
    ("message", "message"),
    ("enum", "enum"),
    ("service", "service"),
    ("rpc", "method"),
];
pub(crate) const SCALA: Symbols = &[
    ("class_definition", "class"),
    ("object_definition", "object"),
    ("package_object", "object"),
    ("trait_definition", "trait"),
    ("enum_definition", "enum"),
    ("simple_enum_case", "variant"),
    ("full_enum_case", "variant"),
    ("function_definition", "function"),
    ("function_declaration", "function"),
    ("given_definition", "given"),
    ("type_definition", "type"),
];
pub(crate) const R: Symbols = &[("binary_operator", "function")];
pub(crate) const POWERSHELL: Symbols = &[
    ("function_statement", "function"),
    ("class_statement", "class"),
    ("class_method_definition", "method"),
    ("enum_statement", "enum"),
];
pub(crate) const NIX: Symbols = &[("binding", "function")];
pub(crate) const GRAPHQL: Symbols = &[
    ("object_type_definition", "type"),
    ("interface_type_definition", "interface"),
    ("input_object_type_definition", "input"),
    ("enum_type_definition", "enum"),
    ("union_type_definition", "union"),
    ("scalar_type_definition", "scalar"),
    ("directive_definition", "directive"),
    ("operation_definition", "operation"),
    ("fragment_definition", "fragment"),
    ("field_definition", "field"),
];
pub(crate) const CMAKE: Symbols = &[("function_def", "function"), ("macro_def", "macro")];
pub(crate) const ERLANG: Symbols = &[
    ("fun_decl", "function"),
    ("record_decl", "record"),
    ("type_alias", "type"),
];
pub(crate) const ELM: Symbols = &[
    ("value_declaration", "function"),
    ("type_declaration", "type"),
    ("type_alias_declaration", "type"),
];
pub(crate) const ADA: Symbols = &[
    ("package_declaration", "package"),
    ("package_body", "package"),
    ("subprogram_body", "function"),
    ("subprogram_declaration", "function"),
    ("full_type_declaration", "type"),
];
pub(crate) const PASCAL: Symbols = &[("defProc", "function"), ("declType", "type")];
