//! Beginnings of files: never of those that may hold secrets, and redacted before they are cut (RD-5, RD-6).

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};

use globset::Glob;

use super::{ContextSettings, Redact};

/// Names of files that are never shown.
const SENSITIVE: &[&str] = &[
    "config.yaml",
    "config.yml",
    "config.json",
    ".env",
    "secrets.yaml",
    "secrets.yml",
    "secrets.json",
    "credentials.json",
    "credentials.yaml",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    ".git-credentials",
];
/// The same by how a name begins and how it ends.
const SENSITIVE_BEGINNING: &str = ".env.";
const SENSITIVE_ENDINGS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".kdbx"];

/// Returns the names of files that may hold secrets as patterns, such as rules have (RD-6).
pub fn sensitive_patterns() -> impl Iterator<Item = String> {
    let names = SENSITIVE.iter().map(|&name| name.to_owned());
    let endings = SENSITIVE_ENDINGS.iter().map(|ending| format!("*{ending}"));
    names.chain([format!("{SENSITIVE_BEGINNING}*")]).chain(endings)
}

/// How much of a file is read to find its beginning: redaction may shorten or lengthen it.
const MAX_READ: u64 = 256 * 1024;

/// The mark behind a text that goes on.
pub(super) const TRUNCATED: &str = "... [truncated]";

/// The beginnings of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Previews {
    /// Name and text, in order.
    pub files: Vec<(String, String)>,
    /// Files that were named and may hold secrets.
    pub left_out: Vec<String>,
}

/// Returns whether a file may hold secrets, by its name.
pub fn is_sensitive(name: &str, further: &[String]) -> bool {
    let base = Path::new(name).file_name().map_or(name, |base| base.to_str().unwrap_or(name));
    let fits = |pattern: &str| {
        Glob::new(pattern).is_ok_and(|glob| {
            let matcher = glob.compile_matcher();
            matcher.is_match(base) || matcher.is_match(name)
        })
    };
    let built_in = SENSITIVE.contains(&base)
        || base.starts_with(SENSITIVE_BEGINNING)
        || SENSITIVE_ENDINGS.iter().any(|ending| base.ends_with(ending));
    base != ".env.example" && (built_in || further.iter().any(|pattern| fits(pattern)))
}

impl Previews {
    /// Reads the beginnings of the files that are there. Nothing outside the workspace is read.
    pub fn read(settings: &ContextSettings, redact: Redact<'_>) -> Self {
        let mut previews = Self::default();
        if !settings.include_previews {
            return previews;
        }
        let Ok(root) = settings.root.canonicalize() else { return previews };
        for name in &settings.preview_files {
            let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
            let path = root.join(name);
            let real =
                path.canonicalize().ok().filter(|real| plain && real.starts_with(&root) && real.is_file());
            let Some(real) = real else { continue };
            let target = real.strip_prefix(&root).unwrap_or(&real).to_string_lossy().into_owned();
            if is_sensitive(name, &settings.sensitive_files)
                || is_sensitive(&target, &settings.sensitive_files)
            {
                previews.left_out.push(name.clone());
                continue;
            }
            let mut bytes = Vec::new();
            let read = File::open(&real).and_then(|file| file.take(MAX_READ).read_to_end(&mut bytes));
            if read.is_err() || bytes.contains(&0) {
                continue;
            }
            let text = redact(&String::from_utf8_lossy(&bytes));
            previews.files.push((name.clone(), cut(text.trim_end(), settings.max_preview_bytes)));
        }
        previews
    }
}

/// Cuts a text to so many bytes, its mark included, at the end of a line where there is one.
pub(super) fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let room = max.saturating_sub(TRUNCATED.len() + 1);
    let kept = zori_core::text::prefix(text, room);
    let kept = kept.rsplit_once('\n').map_or(kept, |(lines, _)| lines);
    let whole = format!("{kept}\n{TRUNCATED}");
    zori_core::text::prefix(whole.trim_start(), max).to_owned()
}
