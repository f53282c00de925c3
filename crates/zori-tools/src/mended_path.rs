//! A path as a model wrote it, and the file it means where that is not the literal one (FOR-8).
//!
//! Done before the decision, so that what is decided about is what is used.

use std::borrow::Cow;
use std::path::Path;

use crate::env::ToolEnv;
use crate::paths;

/// Whether the call only uses what is there, or may make a file of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Existing,
    /// A name with `@` or a number behind it may be the one that is meant.
    MayCreate,
}

/// Returns another spelling under which the file is there, if it is not under this one.
pub fn mended(env: &ToolEnv, path: &str, purpose: Use) -> Option<String> {
    let exists = |path: &str| !path.is_empty() && is_there(&paths::resolve(env, path));
    if exists(path) || path.contains('\0') {
        return None;
    }
    let mut path = Cow::Borrowed(path);
    let steps: &[fn(&str) -> Cow<'_, str>] = match purpose {
        Use::Existing => &[trimmed, unquoted, without_scheme, without_at, without_line, with_slashes],
        Use::MayCreate => &[trimmed, unquoted, without_scheme],
    };
    for step in steps {
        let next = step(&path).into_owned();
        if next != path && exists(&next) {
            return Some(next);
        }
        path = Cow::Owned(next);
    }
    None
}

fn trimmed(path: &str) -> Cow<'_, str> {
    path.trim().into()
}

/// A path as another platform separates it.
fn with_slashes(path: &str) -> Cow<'_, str> {
    path.replace('\\', "/").into()
}

fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

fn unquoted(path: &str) -> Cow<'_, str> {
    ['"', '\'', '`']
        .iter()
        .find_map(|quote| path.strip_prefix(*quote)?.strip_suffix(*quote))
        .or_else(|| path.strip_prefix('<')?.strip_suffix('>'))
        .unwrap_or(path)
        .into()
}

/// A URL is a path whose odd characters are escaped.
fn without_scheme(path: &str) -> Cow<'_, str> {
    let bare = path.strip_prefix("file://localhost").or_else(|| path.strip_prefix("file://"));
    bare.map_or(Cow::Borrowed(path), unescaped)
}

/// Replaces `%20` by the character it stands for; what is no such escape, or no UTF-8 afterwards, stays.
fn unescaped(path: &str) -> Cow<'_, str> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        let escaped = digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(path), Cow::Owned)
}

fn without_at(path: &str) -> Cow<'_, str> {
    path.strip_prefix('@').unwrap_or(path).into()
}

/// Takes `:12`, `:12:3`, `:12-20` and `#L12` off.
fn without_line(path: &str) -> Cow<'_, str> {
    let number = |text: &str| {
        let text = text.trim_start_matches('L');
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    };
    let mut path = path;
    for _ in 0..2 {
        match path.rsplit_once([':', '#']) {
            Some((rest, line)) if number(line) => path = rest,
            _ => break,
        }
    }
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    #[test]
    fn what_is_meant_is_there() {
        let scratch = Scratch::new();
        scratch.put("a.txt", "a");
        scratch.put("@b.txt", "b");
        scratch.put("b.txt", "b");
        scratch.put("d/c c.txt", "c");
        let env = scratch.env();
        for (path, meant) in [
            ("a.txt", None),
            (" a.txt\n", Some("a.txt")),
            ("\"a.txt\"", Some("a.txt")),
            ("`a.txt`", Some("a.txt")),
            ("@a.txt", Some("a.txt")),
            ("@b.txt", None),
            ("a.txt:3", Some("a.txt")),
            ("a.txt:3:14", Some("a.txt")),
            ("a.txt:3-9", Some("a.txt")),
            ("a.txt#L3", Some("a.txt")),
            (" '@a.txt:3' ", Some("a.txt")),
            ("d\\c c.txt", Some("d/c c.txt")),
            ("d\\nope.txt", None),
            ("d/c%20c.txt", None),
            ("nope", None),
            ("@nope:3", None),
            ("", None),
        ] {
            assert_eq!(mended(&env, path, Use::Existing).as_deref(), meant, "{path}");
        }
        assert_eq!(mended(&env, "@a.txt", Use::MayCreate), None);
        assert_eq!(mended(&env, "'a.txt'", Use::MayCreate).as_deref(), Some("a.txt"));
        let url = format!("file://{}/a.txt", scratch.path().display());
        assert_eq!(mended(&env, &url, Use::Existing), Some(format!("{}/a.txt", scratch.path().display())));
        let url = format!("file://{}/d/c%20c.txt", scratch.path().display());
        assert_eq!(
            mended(&env, &url, Use::Existing),
            Some(format!("{}/d/c c.txt", scratch.path().display()))
        );
    }
}
