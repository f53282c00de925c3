//! Completion: slash commands at the start of a line, file names anywhere else.

use std::path::{Path, PathBuf};

use reedline::{Completer, CompletionResult, Span, Suggestion};

use super::slash::COMMANDS;

/// No more than this many are offered.
const MOST: usize = 50;

/// Knows the command table and the files below the root.
pub struct FilesAndCommands {
    root: PathBuf,
    /// What people and the project brought, with the slash.
    brought: Vec<String>,
}

impl FilesAndCommands {
    /// Completes relative to `root`.
    pub fn new(root: PathBuf, brought: Vec<String>) -> Self {
        Self { root, brought }
    }
}

impl Completer for FilesAndCommands {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        CompletionResult::fresh(self.suggest(line, pos))
    }
}

impl FilesAndCommands {
    fn suggest(&self, line: &str, pos: usize) -> Vec<Suggestion> {
        let typed = &line[..pos];
        let start = typed.rfind(char::is_whitespace).map_or(0, |blank| blank + blank_len(typed, blank));
        let word = &typed[start..];
        let values = match word.strip_prefix('/') {
            Some(_) if start == 0 && !word[1..].contains('/') => self.commands(word),
            _ => files(&self.root, word),
        };
        values.into_iter().map(|value| suggestion(value, start, pos)).collect()
    }
}

impl FilesAndCommands {
    fn commands(&self, word: &str) -> Vec<String> {
        let built_in = COMMANDS.iter().flat_map(|command| command.names).copied();
        let all = built_in.chain(self.brought.iter().map(String::as_str));
        all.filter(|name| name.starts_with(word)).map(str::to_owned).collect()
    }
}

fn blank_len(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

/// Lists what a partly typed path may become. An `@` before it is kept: people write files that way.
pub fn files(root: &Path, word: &str) -> Vec<String> {
    let (mark, path) = word.strip_prefix('@').map_or(("", word), |rest| ("@", rest));
    let (folder, stem) = path.rsplit_once('/').map_or(("", path), |(folder, stem)| (folder, stem));
    let prefix = &path[..path.len() - stem.len()];
    let directory = if path.starts_with('/') && folder.is_empty() { "/".into() } else { root.join(folder) };
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let wanted = name.starts_with(stem) && (!name.starts_with('.') || stem.starts_with('.'));
            let slash = if entry.file_type().ok()?.is_dir() { "/" } else { "" };
            wanted.then(|| format!("{mark}{prefix}{name}{slash}"))
        })
        .collect();
    found.sort();
    found.truncate(MOST);
    found
}

fn suggestion(value: String, start: usize, end: usize) -> Suggestion {
    let append_whitespace = !value.ends_with('/');
    Suggestion { value, span: Span { start, end }, append_whitespace, ..Suggestion::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(root: &Path, line: &str) -> Vec<String> {
        let completer = FilesAndCommands::new(root.to_owned(), vec!["/fix".to_owned()]);
        completer
            .suggest(line, line.len())
            .into_iter()
            .map(|s| format!("{}..{} {}", s.span.start, s.span.end, s.value))
            .collect()
    }

    #[test]
    fn commands_and_files() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("src")).unwrap();
        for name in ["src/main.rs", "src/map.rs", "setup.py", ".hidden"] {
            std::fs::write(temp.path().join(name), "").unwrap();
        }
        let root = temp.path();
        assert_eq!(complete(root, "/he"), ["0..3 /help"]);
        assert_eq!(complete(root, "/fi"), ["0..3 /fix"]);
        assert_eq!(complete(root, "look at s"), ["8..9 setup.py", "8..9 src/"]);
        assert_eq!(complete(root, "@src/ma"), ["0..7 @src/main.rs", "0..7 @src/map.rs"]);
        assert_eq!(complete(root, "é ./src/mai"), ["3..12 ./src/main.rs"]);
        assert_eq!(complete(root, ".h"), ["0..2 .hidden"]);
        assert_eq!(complete(root, "nothing/x"), [""; 0]);
    }
}
