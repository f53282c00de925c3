//! Unified diffs, with or without git's extra lines.

use super::{Action, FilePatch, Hunk, HunkLine, PatchError, bad_line, hunk_line, range_header};

/// What git says of a file before its hunks.
#[derive(Default)]
struct Git {
    /// The path of `diff --git`, for a file without hunks.
    path: Option<String>,
    new: bool,
    deleted: bool,
    rename: Option<(String, String)>,
}

/// Reads a diff; text before the first header is skipped.
pub(super) fn parse(lines: &[&str]) -> Result<Vec<FilePatch>, PatchError> {
    let mut files = Vec::new();
    let mut git = Git::default();
    let mut at = 0;
    let mut recognised = false;
    while at < lines.len() {
        let line = lines[at];
        if let Some(rest) = line.strip_prefix("diff --git ") {
            files.extend(std::mem::take(&mut git).without_hunks());
            git.path = rest.rfind(" b/").map(|b| rest[b + 3..].to_owned());
            recognised = true;
        } else if line.starts_with("new file mode") {
            git.new = true;
        } else if line.starts_with("deleted file mode") {
            git.deleted = true;
        } else if let Some(from) = line.strip_prefix("rename from ") {
            git.rename = Some((from.to_owned(), String::new()));
        } else if let (Some(to), Some(rename)) = (line.strip_prefix("rename to "), &mut git.rename) {
            rename.1 = to.to_owned();
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return bad_line(at, "binary files cannot be patched");
        } else if is_header(lines, at) {
            recognised = true;
            files.push(file(lines, &mut at, std::mem::take(&mut git))?);
            continue;
        } else if line.starts_with("@@ -") {
            return bad_line(at, "a hunk without `--- FILE` and `+++ FILE` before it");
        }
        at += 1;
    }
    files.extend(git.without_hunks());
    if recognised { Ok(files) } else { Err(PatchError::Neither) }
}

impl Git {
    fn without_hunks(self) -> Option<FilePatch> {
        if let Some((path, to)) = self.rename {
            return Some(FilePatch { path, action: Action::Update { hunks: Vec::new(), move_to: Some(to) } });
        }
        let path = self.path?;
        match (self.new, self.deleted) {
            (true, _) => Some(FilePatch { path, action: Action::Add(String::new()) }),
            (_, true) => Some(FilePatch { path, action: Action::Delete }),
            // A change of mode alone.
            _ => None,
        }
    }
}

fn is_header(lines: &[&str], at: usize) -> bool {
    lines[at].starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "))
}

/// Reads the header at `at` and the hunks after it.
fn file(lines: &[&str], at: &mut usize, git: Git) -> Result<FilePatch, PatchError> {
    let (old, new) = (name(&lines[*at][4..]), name(&lines[*at + 1][4..]));
    let header = *at;
    *at += 2;
    let hunks = hunks(lines, at)?;
    let (old, new) = without_prefixes(old, new);
    match (old, new) {
        (None, None) => bad_line(header, "both names are /dev/null"),
        (None, Some(path)) => Ok(FilePatch { path, action: Action::Add(added(&hunks, header)?) }),
        (Some(path), None) => Ok(FilePatch { path, action: Action::Delete }),
        (Some(_), Some(path)) if git.new => {
            Ok(FilePatch { path, action: Action::Add(added(&hunks, header)?) })
        }
        (Some(_), Some(path)) if git.deleted => Ok(FilePatch { path, action: Action::Delete }),
        (Some(path), Some(to)) => {
            if hunks.is_empty() && path == to {
                return bad_line(header, "no hunk (`@@ -LINE,COUNT +LINE,COUNT @@`) follows");
            }
            let move_to = (path != to).then_some(to);
            Ok(FilePatch { path, action: Action::Update { hunks, move_to } })
        }
    }
}

/// Returns a header's name: `None` for `/dev/null`, a time stamp cut off, quotes removed.
fn name(text: &str) -> Option<String> {
    let text = text.trim_end();
    let name = if text.starts_with('"') {
        unquoted(text)
    } else {
        text.split('\t').next().unwrap_or(text).trim_end().to_owned()
    };
    (name != "/dev/null").then_some(name)
}

/// Undoes git's quoting of unusual names.
fn unquoted(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes().skip(1).peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => match bytes.next() {
                Some(b'n') => out.push(b'\n'),
                Some(b't') => out.push(b'\t'),
                Some(first @ b'0'..=b'7') => {
                    let mut value = u32::from(first - b'0');
                    while let Some(digit) = bytes.next_if(|b| matches!(b, b'0'..=b'7')) {
                        value = (value * 8 + u32::from(digit - b'0')) & 0xff;
                    }
                    out.push(u8::try_from(value).expect("masked to a byte"));
                }
                Some(other) => out.push(other),
                None => break,
            },
            other => out.push(other),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Takes `a/` and `b/` off where both names have them, or the only one there is.
fn without_prefixes(old: Option<String>, new: Option<String>) -> (Option<String>, Option<String>) {
    let strip = |name: &Option<String>, prefix: &str| match name {
        None => Some(None),
        Some(name) => name.strip_prefix(prefix).map(|rest| Some(rest.to_owned())),
    };
    match (strip(&old, "a/"), strip(&new, "b/")) {
        (Some(old), Some(new)) => (old, new),
        _ => (old, new),
    }
}

/// Returns the content of a new file.
fn added(hunks: &[Hunk], header: usize) -> Result<String, PatchError> {
    let mut content = String::new();
    for hunk in hunks {
        for line in &hunk.lines {
            match line {
                HunkLine::Add(text) => {
                    content.push_str(text);
                    content.push('\n');
                }
                HunkLine::Keep(text) if text.is_empty() => {}
                _ => return bad_line(header, "a new file has only added lines"),
            }
        }
        if hunk.bare_end {
            content.pop();
        }
    }
    Ok(content)
}

fn hunks(lines: &[&str], at: &mut usize) -> Result<Vec<Hunk>, PatchError> {
    let mut hunks: Vec<Hunk> = Vec::new();
    // How many lines the last header still promises. They tell a removed line `-- x` from a file header, no more.
    let (mut old_left, mut new_left) = (0, 0);
    while *at < lines.len() {
        let line = lines[*at];
        let open = old_left > 0 || new_left > 0;
        if line.starts_with("@@") {
            let Some((start, old, new)) = range_header(line) else {
                return bad_line(*at, "a hunk starts with `@@ -LINE,COUNT +LINE,COUNT @@`");
            };
            hunks.push(Hunk { line: Some(start), ..Hunk::default() });
            (old_left, new_left) = (old, new);
        } else if line.starts_with("diff --git ") || (!open && is_header(lines, *at)) {
            break;
        } else if let Some(hunk) = hunks.last_mut() {
            if line.starts_with('\\') {
                hunk.bare_end |= !matches!(hunk.lines.last(), Some(HunkLine::Remove(_)));
            } else {
                match hunk_line(line) {
                    Some(parsed) => {
                        match parsed {
                            HunkLine::Keep(_) => (old_left, new_left) = (dec(old_left), dec(new_left)),
                            HunkLine::Remove(_) => old_left = dec(old_left),
                            HunkLine::Add(_) => new_left = dec(new_left),
                        }
                        hunk.lines.push(parsed);
                    }
                    // Whatever comes after the last hunk, a mail's signature for example.
                    None if !open => break,
                    None => return bad_line(*at, "a line of a hunk starts with a blank, `+` or `-`"),
                }
            }
        } else if !line.is_empty() {
            break;
        }
        *at += 1;
    }
    Ok(hunks)
}

fn dec(n: usize) -> usize {
    n.saturating_sub(1)
}
