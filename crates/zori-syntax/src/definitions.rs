//! What a symbol is in each language: the kinds of nodes that define one, as tables.

use tree_sitter::Language as Grammar;

use crate::language::Language;

/// A kind of node that defines a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    pub(crate) node: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) name: Name,
    pub(crate) inside: Inside,
}

/// Where a definition has its name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Name {
    /// In this field.
    Field(&'static str),
    /// In this field, and it is one only with a body.
    WithBody(&'static str),
    /// Where the declarators of C end.
    Declarator,
    /// In `name`, if the value is a function or a class.
    OfFunction,
    /// In the first child that has a name of its own.
    FirstChild,
}

/// Whether there are further symbols inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// They are looked for.
    Symbols,
    /// It is a body, whose names are nobody else's business.
    Nothing,
}

const fn leaf(node: &'static str, kind: &'static str) -> Definition {
    Definition { node, kind, name: Name::Field("name"), inside: Inside::Nothing }
}

const fn outer(node: &'static str, kind: &'static str) -> Definition {
    Definition { node, kind, name: Name::Field("name"), inside: Inside::Symbols }
}

const fn named(name: Name, definition: Definition) -> Definition {
    Definition { name, ..definition }
}

const RUST: &[Definition] = &[
    leaf("function_item", "function"),
    leaf("function_signature_item", "function"),
    leaf("struct_item", "struct"),
    leaf("enum_item", "enum"),
    leaf("union_item", "union"),
    outer("trait_item", "trait"),
    named(Name::Field("type"), outer("impl_item", "impl")),
    outer("mod_item", "module"),
    leaf("const_item", "constant"),
    leaf("static_item", "static"),
    leaf("type_item", "type"),
    leaf("macro_definition", "macro"),
];

const PYTHON: &[Definition] = &[leaf("function_definition", "function"), outer("class_definition", "class")];

const JAVASCRIPT: &[Definition] = &[
    leaf("function_declaration", "function"),
    leaf("generator_function_declaration", "function"),
    outer("class_declaration", "class"),
    leaf("method_definition", "method"),
    named(Name::OfFunction, leaf("variable_declarator", "function")),
];

const TYPESCRIPT: &[Definition] = &[
    leaf("function_declaration", "function"),
    leaf("generator_function_declaration", "function"),
    leaf("function_signature", "function"),
    outer("class_declaration", "class"),
    outer("abstract_class_declaration", "class"),
    leaf("method_definition", "method"),
    leaf("abstract_method_signature", "method"),
    outer("interface_declaration", "interface"),
    leaf("method_signature", "method"),
    leaf("type_alias_declaration", "type"),
    leaf("enum_declaration", "enum"),
    outer("internal_module", "module"),
    outer("module", "module"),
    named(Name::OfFunction, leaf("variable_declarator", "function")),
];

const GO: &[Definition] = &[
    leaf("function_declaration", "function"),
    leaf("method_declaration", "method"),
    leaf("type_spec", "type"),
    leaf("type_alias", "type"),
    leaf("const_spec", "constant"),
    leaf("var_spec", "variable"),
];

const BASH: &[Definition] = &[leaf("function_definition", "function")];

const JSON: &[Definition] = &[named(Name::Field("key"), outer("pair", "key"))];

const TOML: &[Definition] = &[
    named(Name::FirstChild, outer("table", "table")),
    named(Name::FirstChild, outer("table_array_element", "table")),
    named(Name::FirstChild, leaf("pair", "key")),
];

const MARKDOWN: &[Definition] = &[
    named(Name::Field("heading_content"), leaf("atx_heading", "heading")),
    named(Name::Field("heading_content"), leaf("setext_heading", "heading")),
];

const C: &[Definition] = &[
    named(Name::Declarator, leaf("function_definition", "function")),
    named(Name::WithBody("name"), leaf("struct_specifier", "struct")),
    named(Name::WithBody("name"), leaf("union_specifier", "union")),
    named(Name::WithBody("name"), leaf("enum_specifier", "enum")),
    named(Name::Declarator, outer("type_definition", "type")),
    leaf("preproc_def", "macro"),
    leaf("preproc_function_def", "macro"),
];

const CPP: &[Definition] = &[
    named(Name::Declarator, leaf("function_definition", "function")),
    named(Name::WithBody("name"), outer("struct_specifier", "struct")),
    named(Name::WithBody("name"), outer("class_specifier", "class")),
    named(Name::WithBody("name"), leaf("union_specifier", "union")),
    named(Name::WithBody("name"), leaf("enum_specifier", "enum")),
    outer("namespace_definition", "namespace"),
    named(Name::Declarator, outer("type_definition", "type")),
    leaf("alias_declaration", "type"),
    leaf("concept_definition", "concept"),
    leaf("preproc_def", "macro"),
    leaf("preproc_function_def", "macro"),
];

const JAVA: &[Definition] = &[
    outer("class_declaration", "class"),
    outer("interface_declaration", "interface"),
    outer("enum_declaration", "enum"),
    outer("record_declaration", "record"),
    outer("annotation_type_declaration", "annotation"),
    leaf("method_declaration", "method"),
    leaf("constructor_declaration", "constructor"),
];

/// Returns the grammar of a language and what defines symbols in it; `None` for one without.
pub(crate) fn of(language: Language) -> Option<(Grammar, &'static [Definition])> {
    Some(match language {
        Language::Bash => (tree_sitter_bash::LANGUAGE.into(), BASH),
        Language::C => (tree_sitter_c::LANGUAGE.into(), C),
        Language::Cpp => (tree_sitter_cpp::LANGUAGE.into(), CPP),
        Language::Go => (tree_sitter_go::LANGUAGE.into(), GO),
        Language::Java => (tree_sitter_java::LANGUAGE.into(), JAVA),
        Language::JavaScript => (tree_sitter_javascript::LANGUAGE.into(), JAVASCRIPT),
        Language::Json => (tree_sitter_json::LANGUAGE.into(), JSON),
        Language::Markdown => (tree_sitter_md::LANGUAGE.into(), MARKDOWN),
        Language::Python => (tree_sitter_python::LANGUAGE.into(), PYTHON),
        Language::Rust => (tree_sitter_rust::LANGUAGE.into(), RUST),
        Language::Toml => (tree_sitter_toml_ng::LANGUAGE.into(), TOML),
        Language::Tsx => (tree_sitter_typescript::LANGUAGE_TSX.into(), TYPESCRIPT),
        Language::TypeScript => (tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), TYPESCRIPT),
        Language::Text => return None,
    })
}

/// Returns how many levels of nodes are looked at. The keys of data are those near its root.
pub(crate) fn depth(language: Language) -> usize {
    match language {
        Language::Json => 5,
        _ => 64,
    }
}
