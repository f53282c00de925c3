//! The languages, as a table: what their files are called. Those without a grammar are cut by lines.

use std::path::Path;

/// A language of source files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    Bash,
    C,
    Cpp,
    Go,
    Java,
    JavaScript,
    Json,
    Markdown,
    Python,
    Rust,
    Toml,
    Tsx,
    TypeScript,
    /// Anything else that people write and read.
    Text,
}

/// Name and file extensions of each.
const TABLE: &[(Language, &str, &[&str])] = &[
    (Language::Bash, "bash", &["sh", "bash", "zsh", "ksh"]),
    (Language::C, "c", &["c", "h"]),
    (Language::Cpp, "cpp", &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "inl", "ipp"]),
    (Language::Go, "go", &["go"]),
    (Language::Java, "java", &["java"]),
    (Language::JavaScript, "javascript", &["js", "jsx", "mjs", "cjs"]),
    (Language::Json, "json", &["json"]),
    (Language::Markdown, "markdown", &["md", "markdown"]),
    (Language::Python, "python", &["py", "pyi"]),
    (Language::Rust, "rust", &["rs"]),
    (Language::Toml, "toml", &["toml"]),
    (Language::Tsx, "tsx", &["tsx"]),
    (Language::TypeScript, "typescript", &["ts", "mts", "cts"]),
    (
        Language::Text,
        "text",
        &[
            "adoc", "awk", "cmake", "clj", "cs", "css", "dart", "el", "erl", "ex", "exs", "fish", "graphql",
            "gradle", "hs", "html", "jl", "kt", "kts", "lisp", "lua", "mk", "ml", "mli", "nix", "php", "pl",
            "pm", "proto", "ps1", "r", "rb", "rst", "scala", "scm", "scss", "sql", "svelte", "swift", "tex",
            "tf", "txt", "vim", "vue", "yaml", "yml", "zig",
        ],
    ),
];

/// Files that have no extension.
const NAMES: &[(&str, Language)] = &[
    ("Dockerfile", Language::Text),
    ("Makefile", Language::Text),
    ("CMakeLists.txt", Language::Text),
    ("Justfile", Language::Text),
    ("justfile", Language::Text),
];

/// Files that programs write and nobody reads: they would drown what people wrote.
const GENERATED: &[&str] =
    &["Cargo.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "go.sum", "poetry.lock", "uv.lock"];

impl Language {
    /// Returns the language of a file by its name; `None` for files that are not indexed.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        if GENERATED.contains(&name) {
            return None;
        }
        if let Some((_, language)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Some(*language);
        }
        let extension = path.extension()?.to_str()?;
        let known = |(_, _, extensions): &&(Self, &str, &[&str])| {
            extensions.iter().any(|known| known.eq_ignore_ascii_case(extension))
        };
        TABLE.iter().find(known).map(|(language, ..)| *language)
    }

    /// Returns what it is called.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|(language, ..)| *language == self).map_or("text", |(_, name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name_and_extension() {
        let named = |name: &str| Language::of(Path::new(name)).map(Language::name);
        assert_eq!(named("src/main.rs"), Some("rust"));
        assert_eq!(named("A.HPP"), Some("cpp"));
        assert_eq!(named("Makefile"), Some("text"));
        assert_eq!(named("x.tsx"), Some("tsx"));
        assert_eq!(named("package-lock.json"), None);
        assert_eq!(named("picture.png"), None);
        assert_eq!(named("rs"), None);
    }
}
