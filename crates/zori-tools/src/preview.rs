//! Previews of file changes: the same plan a tool would carry out, as diffs.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use zori_core::question::{FileAction, FileDiff, Preview};
use zori_core::tool::ToolOutput;

use crate::open_dir::FileMeta;

/// Texts longer than this are not compared; the new one is shown whole.
const MAX_COMPARED: usize = 1 << 20;
/// Files longer than this are known by their times rather than by their content.
const MAX_HASHED: u64 = 64 << 20;
/// So many unchanged lines are shown around each change.
const CONTEXT: usize = 3;

/// Plans on a blocking thread. If the tool would refuse, the preview says so and shows the arguments.
pub(crate) async fn plan(
    args: &RawValue,
    work: impl FnOnce() -> Result<Vec<FileDiff>, ToolOutput> + Send + 'static,
) -> Preview {
    let why = match tokio::task::spawn_blocking(work).await {
        Ok(Ok(files)) => return Preview::Changes(files),
        Ok(Err(output)) => output.failure.map_or_else(String::new, |failure| failure.message),
        Err(_) => "the preview panicked".to_owned(),
    };
    Preview::Fails { input: args.get().to_owned(), why }
}

/// Compares a file before and after; `None` is a file that does not exist.
pub(crate) fn diff(path: &Path, before: Option<&str>, after: Option<&str>) -> FileDiff {
    let action = match (before, after) {
        (None, _) => FileAction::Create,
        (Some(_), Some(_)) => FileAction::Change,
        (Some(_), None) => FileAction::Delete,
    };
    let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
    let (old, note) = match old.len().max(new.len()) > MAX_COMPARED && !old.is_empty() {
        true => ("", Some(format!("too long to compare; {} bytes are replaced by these", old.len()))),
        false => (old, None),
    };
    let diff = similar::TextDiff::from_lines(old, new).unified_diff().context_radius(CONTEXT).to_string();
    let before = before.map(|text| Sha256::digest(text).into());
    FileDiff { note, before, ..FileDiff::new(path, action, diff) }
}

/// A file whose old content cannot be shown, and what it would hold. `file`: where it can be read.
pub(crate) fn unreadable(path: &Path, meta: &FileMeta, file: Option<&File>, after: Option<&str>) -> FileDiff {
    let action = if after.is_some() { FileAction::Change } else { FileAction::Delete };
    let why =
        if meta.len > MAX_COMPARED as u64 { "too many to be shown" } else { "no text that could be shown" };
    let note = Some(format!("its {} bytes are {why}", meta.len));
    FileDiff { action, note, before: Some(content_hash(meta, file)), ..diff(path, None, after.or(Some(""))) }
}

/// Returns a hash of what a file holds; of one that cannot be read, or is very long, of when it was changed last.
fn content_hash(meta: &FileMeta, file: Option<&File>) -> [u8; 32] {
    let mut hash = Sha256::new();
    let (mut buffer, mut at) = (vec![0; 64 * 1024], 0);
    let file = file.filter(|_| meta.len <= MAX_HASHED);
    loop {
        match file.map(|file| file.read_at(&mut buffer, at)) {
            Some(Ok(0)) => return hash.finalize().into(),
            Some(Ok(count)) => {
                hash.update(&buffer[..count]);
                at += count as u64;
            }
            Some(Err(_)) | None => break,
        }
    }
    let FileMeta { len, inode, modified, .. } = meta;
    Sha256::digest(format!("{len} {inode:?} {modified:?}")).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zori_core::tool::Toolbox;

    use super::*;
    use crate::dialect::ALL;
    use crate::testing::{Scratch, runtime};
    use crate::toolset::ToolSet;

    /// What a call would be shown as; and nothing is changed by that.
    fn preview(scratch: &Scratch, name: &str, args: serde_json::Value) -> String {
        let tools = ToolSet::new(scratch.env().into(), ALL[0]);
        let args = RawValue::from_string(args.to_string()).unwrap();
        let call = tools.resolve(name, &args).ok().unwrap();
        let before = std::fs::read(scratch.path().join("a")).unwrap();
        let shown = match runtime().block_on(call.tool.preview(&call.args)) {
            Preview::Changes(files) => files
                .iter()
                .map(|FileDiff { path, action, note, diff, replaced, .. }| {
                    let note = note.as_deref().unwrap_or("-");
                    let replaced = replaced.iter().map(|it| format!("{:?} by {:?}\n", it.old, it.new));
                    let replaced: String = replaced.collect();
                    format!("{} {} {note}\n{replaced}{diff}", action.as_str(), path.display())
                })
                .collect(),
            other => format!("{other:?}"),
        };
        assert_eq!(std::fs::read(scratch.path().join("a")).unwrap(), before);
        shown.replace(&scratch.path().display().to_string(), "$ROOT")
    }

    #[test]
    fn the_tools_show_what_they_would_do() {
        let scratch = Scratch::new();
        scratch.put("a", "one\ntwo\n");
        let one = "change $ROOT/a -\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
        assert_eq!(preview(&scratch, "write", json!({"path": "a", "content": "1\ntwo\n"})), one);
        assert_eq!(
            preview(&scratch, "edit", json!({"path": "a", "old": "one", "new": "1"})),
            one.replacen('\n', "\n\"one\" by \"1\"\n", 1)
        );
        let edits = json!([{"old": "one", "new": "x"}, {"old": "x", "new": "1"}]);
        assert_eq!(preview(&scratch, "multi_edit", json!({"path": "a", "edits": edits})), one);
        let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: c\n@@\n-one\n+1\n two\n*** Add File: d\n+d\n*** End Patch";
        assert_eq!(
            preview(&scratch, "apply_patch", json!({ "patch": patch })),
            "delete $ROOT/a -\n@@ -1,2 +0,0 @@\n-one\n-two\ncreate $ROOT/c -\n@@ -0,0 +1,2 @@\n+1\n+two\n\
             create $ROOT/d -\n@@ -0,0 +1 @@\n+d\n"
        );
        assert_eq!(
            preview(&scratch, "write", json!({"path": "new/b", "content": "b"})),
            "create $ROOT/new/b -\n@@ -0,0 +1 @@\n+b\n\\ No newline at end of file\n"
        );
        assert!(!scratch.path().join("new").exists());
        assert_eq!(
            preview(&scratch, "bash", json!({"command": "ls"})),
            "Command { command: \"ls\", cwd: \"$ROOT\", sandbox: None }"
        );
        assert_eq!(preview(&scratch, "read", json!({"path": "a"})), r#"Input("{\"path\":\"a\"}")"#);
    }

    #[test]
    fn what_would_fail_is_said() {
        let scratch = Scratch::new();
        scratch.put("a", b"\xff\0");
        assert_eq!(
            preview(&scratch, "edit", json!({"path": "no", "old": "one", "new": "1"})),
            r#"Fails { input: "{\"path\":\"no\",\"old\":\"one\",\"new\":\"1\"}", why: "File not found: $ROOT/no (ENOENT); check the path" }"#
        );
        assert_eq!(
            preview(&scratch, "write", json!({"path": "a", "content": ""})),
            "change $ROOT/a its 2 bytes are no text that could be shown\n"
        );
    }

    /// APR-7: a preview is another one when the file is, also where the diff does not show it.
    #[test]
    fn another_content_is_another_preview() {
        let scratch = Scratch::new();
        let tools = ToolSet::new(scratch.env().into(), ALL[0]);
        let preview = |name: &str, args: serde_json::Value| {
            let args = RawValue::from_string(args.to_string()).unwrap();
            let call = tools.resolve(name, &args).ok().unwrap();
            runtime().block_on(call.tool.preview(&call.args))
        };
        let far = |last: &str| format!("one\n{}{last}\n", "x\n".repeat(20));
        let long = |last: &str| format!("{}{last}\n", "x\n".repeat(MAX_COMPARED));
        let patch = "*** Begin Patch\n*** Delete File: b\n*** End Patch";
        for (name, path, args, before, after) in [
            ("edit", "a", json!({"path": "a", "old": "one", "new": "1"}), far("a"), far("b")),
            ("write", "l", json!({"path": "l", "content": "new"}), long("a"), long("b")),
            ("write", "b", json!({"path": "b", "content": "new"}), "\0a".to_owned(), "\0b".to_owned()),
            ("apply_patch", "b", json!({ "patch": patch }), "a".to_owned(), "b".to_owned()),
        ] {
            scratch.put(path, before.as_bytes());
            let first = preview(name, args.clone());
            assert_eq!(first, preview(name, args.clone()), "{name} {path}");
            scratch.put(path, after.as_bytes());
            assert_ne!(first, preview(name, args), "{name} {path}");
        }
    }

    fn shown(before: Option<&str>, after: Option<&str>) -> String {
        let FileDiff { action, note, diff, .. } = diff(Path::new("/a"), before, after);
        format!("{} {note:?}\n{diff}", action.as_str())
    }

    #[test]
    fn diffs() {
        assert_eq!(shown(None, Some("a\nb\n")), "create None\n@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(shown(Some("a\n"), None), "delete None\n@@ -1 +0,0 @@\n-a\n");
        assert_eq!(
            shown(Some("1\n2\n3\n4\n5\n6"), Some("1\n2\n3\n4\n5\n7")),
            "change None\n@@ -3,4 +3,4 @@\n 3\n 4\n 5\n-6\n\\ No newline at end of file\n+7\n\\ No newline at end of file\n"
        );
        assert_eq!(shown(Some("a"), Some("a")), "change None\n");
    }

    #[test]
    fn what_is_too_long_is_shown_whole() {
        let long = "x\n".repeat(MAX_COMPARED);
        let shown = shown(Some(&long), Some("y\n"));
        assert_eq!(
            shown,
            "change Some(\"too long to compare; 2097152 bytes are replaced by these\")\n@@ -0,0 +1 @@\n+y\n"
        );
    }
}
