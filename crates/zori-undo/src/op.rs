//! An operation: one recorded set of changes, and its line in `ops/<session>.jsonl`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zori_core::checkpoint::Coverage;

use crate::hash::Hash;
use crate::state::{Change, Content, State};

/// One recorded set of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Its number within the session, from 1.
    pub id: u64,
    /// The turn it belongs to, from 1.
    pub turn: u32,
    /// The first call that made it.
    pub call: Option<String>,
    /// Who made it.
    pub kind: OpKind,
    /// When it began and ended, in nanoseconds since 1970.
    pub window: (i64, i64),
    /// How much was looked at.
    pub coverage: Coverage,
    /// Whether a command of another session ran at the same time.
    pub shared: bool,
    /// Where git's HEAD was before and after, if it moved.
    pub git: Option<(GitHead, GitHead)>,
    /// The commit of git's stash before and after, if it moved; empty without one.
    pub stash: Option<(String, String)>,
    /// Commands that may have changed what nobody looked at.
    pub uncovered: Vec<Uncovered>,
    /// For an undo or redo: the operations it undoes.
    pub undoes: Vec<u64>,
    pub changes: Vec<Change>,
}

/// Who made an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// File tools.
    Tool,
    /// A shell command.
    Command,
    /// A tool of an MCP server.
    Mcp,
    /// Somebody else: the user, or another program. Never undone.
    Outside,
    Undo,
    /// The undo of an undo.
    Redo,
}

/// What git's HEAD names, and the commit there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitHead {
    /// A ref such as `refs/heads/main`; `HEAD` where it names a commit.
    pub name: String,
    /// The commit in hex; empty before the first.
    pub commit: String,
}

/// Something that was not looked at (UNDO-12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncovered {
    /// What.
    pub what: String,
    /// How often.
    pub count: u64,
}

impl OpKind {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Tool, "tool"),
        (Self::Command, "command"),
        (Self::Mcp, "mcp"),
        (Self::Outside, "outside"),
        (Self::Undo, "undo"),
        (Self::Redo, "redo"),
    ];

    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// Returns a path as people and records see it: relative to the project where it is in it.
pub fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

#[derive(Serialize, Deserialize)]
struct OpWire {
    op: u64,
    turn: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    kind: String,
    t0: i64,
    t1: i64,
    coverage: String,
    #[serde(default)]
    shared: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git: Option<[(String, String); 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stash: Option<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_covered: Vec<(String, u64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    undoes: Vec<u64>,
    changes: Vec<ChangeWire>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ChangeWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
    before: Option<StateWire>,
    after: Option<StateWire>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StateWire {
    k: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b3: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_b64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    len: Option<u64>,
}

/// Returns a path as it stands in a line, as text or in base64; `None` for one that no operation of ours has: with `..`, or with a zero byte.
fn absolute(root: &Path, text: Option<String>, code: Option<String>) -> Option<PathBuf> {
    let bytes = match (text, code) {
        (Some(text), _) => text.into_bytes(),
        (None, Some(code)) => STANDARD.decode(code).ok()?,
        (None, None) => return None,
    };
    let path = PathBuf::from(OsString::from_vec(bytes.clone()));
    let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::RootDir));
    (plain && !bytes.is_empty() && !bytes.contains(&0)).then(|| root.join(path))
}

impl StateWire {
    pub(crate) fn new(state: &State) -> Self {
        let none =
            Self { k: String::new(), b3: None, git: None, to: None, to_b64: None, mode: None, len: None };
        match state {
            State::File { content, mode, len } => {
                let (b3, git) = match content {
                    Content::Stored(hash) => (Some(hash.to_string()), None),
                    Content::Git(id) => (None, Some(id.to_string())),
                    Content::NotTaken => (None, None),
                };
                Self { k: "file".into(), b3, git, mode: Some(*mode), len: Some(*len), ..none }
            }
            State::Link { to } => match std::str::from_utf8(to) {
                Ok(text) => Self { k: "link".into(), to: Some(text.to_owned()), ..none },
                Err(_) => Self { k: "link".into(), to_b64: Some(STANDARD.encode(to)), ..none },
            },
            State::Dir { mode } => Self { k: "dir".into(), mode: Some(*mode), ..none },
        }
    }

    pub(crate) fn state(self) -> Option<State> {
        match self.k.as_str() {
            "file" => {
                let content = match (self.b3, self.git) {
                    (Some(hash), _) => Content::Stored(Hash::parse(&hash)?),
                    (None, Some(id)) => {
                        let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|b| b.is_ascii_hexdigit());
                        Content::Git(is_id.then_some(id)?.into())
                    }
                    (None, None) => Content::NotTaken,
                };
                Some(State::File { content, mode: self.mode? & 0o7777, len: self.len? })
            }
            "link" => {
                let decode = |code: String| STANDARD.decode(code).ok();
                let to = self.to.map(String::into_bytes).or_else(|| self.to_b64.and_then(decode))?;
                (!to.is_empty() && !to.contains(&0)).then_some(State::Link { to })
            }
            "dir" => Some(State::Dir { mode: self.mode? & 0o7777 }),
            _ => None,
        }
    }

    pub(crate) fn option(wire: Option<Self>) -> Option<Option<State>> {
        match wire {
            None => Some(None),
            Some(wire) => wire.state().map(Some),
        }
    }
}

impl ChangeWire {
    pub(crate) fn new(root: &Path, change: &Change) -> Self {
        let path = change.path.strip_prefix(root).unwrap_or(&change.path);
        let (path, path_b64) = match path.to_str() {
            Some(text) => (Some(text.to_owned()), None),
            None => (None, Some(STANDARD.encode(path.as_os_str().as_bytes()))),
        };
        Self {
            path,
            path_b64,
            before: change.before.as_ref().map(StateWire::new),
            after: change.after.as_ref().map(StateWire::new),
        }
    }

    pub(crate) fn change(self, root: &Path) -> Option<Change> {
        Some(Change {
            path: absolute(root, self.path, self.path_b64)?,
            before: StateWire::option(self.before)?,
            after: StateWire::option(self.after)?,
        })
    }
}

impl Op {
    /// Returns the line, with its newline. `root`: the project.
    pub(crate) fn encode(&self, root: &Path) -> Vec<u8> {
        let head = |head: &GitHead| (head.name.clone(), head.commit.clone());
        let wire = OpWire {
            op: self.id,
            turn: self.turn,
            call: self.call.clone(),
            kind: self.kind.as_str().to_owned(),
            t0: self.window.0,
            t1: self.window.1,
            coverage: self.coverage.as_str().to_owned(),
            shared: self.shared,
            git: self.git.as_ref().map(|(before, after)| [head(before), head(after)]),
            stash: self.stash.clone(),
            not_covered: self.uncovered.iter().map(|one| (one.what.clone(), one.count)).collect(),
            undoes: self.undoes.clone(),
            changes: self.changes.iter().map(|change| ChangeWire::new(root, change)).collect(),
        };
        let mut line = serde_json::to_vec(&wire).expect("an operation is made of JSON");
        line.push(b'\n');
        line
    }

    /// Reads a line; `None` for one that is torn, unknown, or has a path that no operation of ours has.
    pub(crate) fn decode(line: &[u8], root: &Path) -> Option<Self> {
        let wire: OpWire = serde_json::from_slice(line).ok()?;
        let head = |(name, commit): (String, String)| GitHead { name, commit };
        Some(Self {
            id: wire.op,
            turn: wire.turn,
            call: wire.call,
            kind: OpKind::parse(&wire.kind)?,
            window: (wire.t0, wire.t1),
            coverage: match wire.coverage.as_str() {
                "full" => Coverage::Full,
                "tools" => Coverage::Tools,
                _ => return None,
            },
            shared: wire.shared,
            git: wire.git.map(|[before, after]| (head(before), head(after))),
            stash: wire.stash,
            uncovered: wire.not_covered.into_iter().map(|(what, count)| Uncovered { what, count }).collect(),
            undoes: wire.undoes,
            changes: wire.changes.into_iter().map(|change| change.change(root)).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op() -> Op {
        let file = |mode| State::File { content: Content::Stored(Hash::of(b"x")), mode, len: 1 };
        Op {
            id: 12,
            turn: 3,
            call: Some("toolu_02".into()),
            kind: OpKind::Command,
            window: (5, 9),
            coverage: Coverage::Full,
            shared: false,
            git: None,
            stash: None,
            uncovered: vec![Uncovered { what: "commands".into(), count: 1 }],
            undoes: vec![],
            changes: vec![
                Change { path: "/r/src/a.rs".into(), before: Some(file(0o644)), after: Some(file(0o755)) },
                Change { path: "/elsewhere".into(), before: None, after: Some(State::Dir { mode: 0o755 }) },
                Change {
                    path: PathBuf::from(OsString::from_vec(b"/r/\xff".to_vec())),
                    before: Some(State::Link { to: b"\xfe".to_vec() }),
                    after: None,
                },
            ],
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let (op, root) = (op(), Path::new("/r"));
        let line = op.encode(root);
        assert_eq!(Op::decode(&line, root), Some(op));
        let text = String::from_utf8(line).unwrap();
        assert!(text.contains(r#""path":"src/a.rs""#) && text.contains(r#""path":"/elsewhere""#), "{text}");
        for cut in 0..text.len() - 1 {
            assert_eq!(Op::decode(&text.as_bytes()[..cut], root), None, "{cut}");
        }
    }

    #[test]
    fn paths_that_no_operation_has() {
        let text = String::from_utf8(op().encode(Path::new("/r"))).unwrap();
        for bad in ["../a", "src/../../a", "", "a\\u0000b", "./a"] {
            let line = text.replace("src/a.rs", bad);
            assert_eq!(Op::decode(line.as_bytes(), Path::new("/r")), None, "{bad}");
        }
    }
}
