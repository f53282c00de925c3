//! Instruction files of a folder and what they import (EXT-10 to EXT-13).

use std::path::{Path, PathBuf};

use zori_core::path::normalise;

/// The names of a folder's instruction file; the first that is there counts.
pub const NAMES: &[&str] =
    &["AGENTS.override.md", "AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md"];
/// How deep imports may lie in each other.
const MAX_DEPTH: usize = 5;

/// Returns whether a file of this name may import others.
pub fn imports_from(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == "CLAUDE.md" || name == "CLAUDE.local.md" || name == "GEMINI.md")
}

/// Reads the text of a file that is imported, by its path; `Err` says why it is skipped.
pub type ReadImport<'a> = dyn FnMut(&Path) -> Result<Imported, String> + 'a;

/// A file that is imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// What identifies it.
    pub canonical: PathBuf,
    /// What it says.
    pub text: String,
}

/// Returns a text with its imports in place. `seen` are the files that are loaded already: a second time they say nothing.
pub fn with_imports(
    text: &str,
    file: &Path,
    home: Option<&Path>,
    seen: &mut Vec<PathBuf>,
    warnings: &mut Vec<String>,
    read: &mut ReadImport<'_>,
) -> String {
    let mut importer = Importer { home, seen, warnings, read };
    importer.expand(text, file, 0)
}

struct Importer<'a, 'r> {
    home: Option<&'a Path>,
    seen: &'a mut Vec<PathBuf>,
    warnings: &'a mut Vec<String>,
    read: &'a mut ReadImport<'r>,
}

impl Importer<'_, '_> {
    fn expand(&mut self, text: &str, file: &Path, depth: usize) -> String {
        let (mut out, mut fence) = (String::with_capacity(text.len()), None::<&str>);
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim_start();
            let marker = ["```", "~~~"].into_iter().find(|marker| trimmed.starts_with(marker));
            match (fence, marker) {
                (None, Some(marker)) => fence = Some(marker),
                (Some(open), Some(marker)) if open == marker => fence = None,
                (None, None) => {
                    self.line(line, file, depth, &mut out);
                    continue;
                }
                _ => {}
            }
            out.push_str(line);
        }
        out
    }

    /// Adds a line with its imports. Between backticks nothing is one.
    fn line(&mut self, line: &str, file: &Path, depth: usize, out: &mut String) {
        let mut in_code = false;
        let mut rest = line;
        let mut before = ' ';
        while let Some(c) = rest.chars().next() {
            if c == '`' {
                in_code = !in_code;
            }
            if c == '@'
                && !in_code
                && (before.is_whitespace() || before == '(')
                && let Some(name) = import_name(&rest[1..])
            {
                let len = 1 + name.len();
                match self.import(name, file, depth) {
                    Some(text) => out.push_str(text.trim_end()),
                    None => out.push_str(&rest[..len]),
                }
                rest = &rest[len..];
                before = ' ';
                continue;
            }
            out.push(c);
            before = c;
            rest = &rest[c.len_utf8()..];
        }
    }

    /// Returns what an import says; `None` where it stays as it is written.
    fn import(&mut self, name: &str, file: &Path, depth: usize) -> Option<String> {
        let path = match name.strip_prefix("~/") {
            Some(rest) => self.home?.join(rest),
            None => file.parent().unwrap_or(Path::new("/")).join(name),
        };
        let path = normalise(&path);
        if depth >= MAX_DEPTH {
            self.warnings
                .push(format!("Skipped {}: it is imported over more than {MAX_DEPTH} files", path.display()));
            return None;
        }
        match (self.read)(&path) {
            Ok(imported) if self.seen.contains(&imported.canonical) => Some(String::new()),
            Ok(imported) => {
                self.seen.push(imported.canonical.clone());
                Some(self.expand(&imported.text, &imported.canonical, depth + 1))
            }
            Err(why) if why.is_empty() => None,
            Err(why) => {
                self.warnings.push(format!(
                    "Skipped {}, imported by {}: {why}",
                    path.display(),
                    file.display()
                ));
                None
            }
        }
    }
}

/// Returns the path behind an `@`; `None` where it cannot be one, as in a name or an address.
fn import_name(text: &str) -> Option<&str> {
    let end = text
        .find(|c: char| c.is_whitespace() || matches!(c, '`' | ')' | ',' | ';' | '"'))
        .unwrap_or(text.len());
    let name = text[..end].trim_end_matches(['.', ':', '!', '?']);
    let is_path = name.contains('/') || name.ends_with(".md") || name.ends_with(".txt");
    (is_path && !name.contains('@')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)]) -> (String, Vec<String>) {
        let (mut seen, mut warnings) = (vec![PathBuf::from("/p/CLAUDE.md")], Vec::new());
        let mut read = |path: &Path| match files.iter().find(|(name, _)| Path::new(name) == path) {
            Some((name, text)) => Ok(Imported { canonical: name.into(), text: (*text).to_owned() }),
            None => Err("it is not there".to_owned()),
        };
        let text = with_imports(
            files[0].1,
            Path::new(files[0].0),
            Some(Path::new("/home/me")),
            &mut seen,
            &mut warnings,
            &mut read,
        );
        (text, warnings)
    }

    #[test]
    fn imports_stand_where_they_are_named() {
        let (text, warnings) = check(&[
            ("/p/CLAUDE.md", "See @AGENTS.md, @docs/a.md.\n@~/mine.md\n"),
            ("/p/AGENTS.md", "rules\n"),
            ("/p/docs/a.md", "A and @../AGENTS.md\n"),
            ("/home/me/mine.md", "mine"),
        ]);
        assert_eq!(text, "See rules, A and.\nmine\n");
        assert_eq!(warnings, [""; 0]);
    }

    #[test]
    fn code_addresses_and_names_are_no_imports() {
        let text = "`@a.md` me@example.com/x @someone\n```\n@a.md\n```\n";
        assert_eq!(check(&[("/p/CLAUDE.md", text), ("/p/a.md", "A")]), (text.to_owned(), vec![]));
    }

    #[test]
    fn a_cycle_ends_and_depth_is_bounded() {
        let (text, warnings) =
            check(&[("/p/CLAUDE.md", "a @b.md"), ("/p/b.md", "b @CLAUDE.md @c.md"), ("/p/c.md", "c @b.md")]);
        assert_eq!((text.as_str(), warnings.len()), ("a b  c", 0));
        let chain: Vec<(String, String)> =
            (0..8).map(|n| (format!("/p/{n}.md"), format!("{n} @{}.md", n + 1))).collect();
        let files: Vec<(&str, &str)> =
            chain.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let (text, warnings) = check(&files);
        assert_eq!(text, "0 1 2 3 4 5 @6.md");
        assert_eq!(warnings, ["Skipped /p/6.md: it is imported over more than 5 files"]);
    }
}
