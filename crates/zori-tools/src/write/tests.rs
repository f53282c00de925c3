use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::Arc;

use super::*;
use crate::read;
use crate::testing::{Scratch, call};

struct Tools {
    scratch: Scratch,
    read: read::Read,
    write: Write,
}

impl Tools {
    fn new() -> Self {
        let scratch = Scratch::new();
        let (env, seen) = (Arc::new(scratch.env()), Arc::new(SeenFiles::default()));
        Self { read: read::Read::new(env.clone(), seen.clone()), write: Write::new(env, seen), scratch }
    }

    fn write(&self, path: &str, content: &str) -> String {
        let args = serde_json::json!({ "path": path, "content": content }).to_string();
        self.scratch.hide(call(&self.write, &DEF, &args).envelope.get())
    }

    fn read(&self, path: &str) {
        let args = serde_json::json!({ "path": path }).to_string();
        assert!(call(&self.read, &read::DEF, &args).ok());
    }
}

#[test]
fn creates_with_parents_then_overwrites() {
    let tools = Tools::new();
    assert_eq!(
        tools.write("a/./b/../b/c.txt", "eins\n"),
        r#"{"ok":true,"data":{"path":"$ROOT/a/b/c.txt","bytes":5,"created":true}}"#
    );
    assert_eq!(
        tools.write("a/b/c.txt", "zwölf"),
        r#"{"ok":true,"data":{"path":"$ROOT/a/b/c.txt","bytes":6,"created":false}}"#
    );
    assert_eq!(tools.scratch.get("a/b/c.txt"), "zwölf");
    assert_eq!(tools.scratch.list(), ["a", "a/b", "a/b/c.txt"]);
}

#[test]
fn the_change_is_told() {
    let tools = Tools::new();
    tools.scratch.put("f", "old");
    let path = tools.scratch.path().join("f");
    let output = call(&tools.write, &DEF, r#"{"path":"f","content":"new"}"#);
    let change = zori_core::tool::FileChange { path, before: Some("old".into()), after: Some("new".into()) };
    assert_eq!(output.changes, [change]);
}

#[test]
fn keeps_mode_and_writes_through_links() {
    let tools = Tools::new();
    tools.scratch.put("real/script.sh", "old");
    let real = tools.scratch.path().join("real/script.sh");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o750)).unwrap();
    symlink("real/script.sh", tools.scratch.path().join("link")).unwrap();
    symlink("real/later.txt", tools.scratch.path().join("dangling")).unwrap();
    assert_eq!(
        tools.write("link", "new"),
        r#"{"ok":true,"data":{"path":"$ROOT/link","bytes":3,"created":false,"note":"it was never read: 1 line before, 1 line after"}}"#
    );
    assert_eq!(
        tools.write("dangling", "later"),
        r#"{"ok":true,"data":{"path":"$ROOT/dangling","bytes":5,"created":true}}"#
    );
    assert_eq!(fs::metadata(&real).unwrap().mode() & 0o7777, 0o750);
    assert_eq!(tools.scratch.get("real/script.sh"), "new");
    assert_eq!(tools.scratch.get("real/later.txt"), "later");
    assert!(tools.scratch.path().join("link").is_symlink());
    assert_eq!(tools.scratch.list(), ["dangling", "link", "real", "real/later.txt", "real/script.sh"]);
}

#[test]
fn extended_attributes_stay() {
    let tools = Tools::new();
    tools.scratch.put("f", "old");
    let path = tools.scratch.path().join("f");
    let set = rustix::fs::setxattr(&path, "user.zori", b"kept", rustix::fs::XattrFlags::empty());
    tools.write("f", "new");
    let mut value = [0; 16];
    match (set, rustix::fs::getxattr(&path, "user.zori", &mut value)) {
        (Ok(()), Ok(len)) => assert_eq!(&value[..len], b"kept"),
        // A file system without attributes has none to keep.
        (Err(_), found) => assert!(found.is_err()),
        (Ok(()), Err(error)) => panic!("the attribute is gone: {error}"),
    }
}

#[test]
fn what_cannot_be_written() {
    let tools = Tools::new();
    tools.scratch.put("file", "x");
    fs::create_dir(tools.scratch.path().join("folder")).unwrap();
    symlink("loop", tools.scratch.path().join("loop")).unwrap();
    let pipe = tools.scratch.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let before = tools.scratch.list();
    let cases = [
        (
            "file/below",
            r#"{"ok":false,"error":{"code":"mkdir_error","message":"cannot create the directory $ROOT/file: Not a directory (os error 20)"}}"#,
        ),
        (
            "folder",
            r#"{"ok":false,"error":{"code":"write_error","message":"cannot write $ROOT/folder: it is a directory, not a regular file"}}"#,
        ),
        (
            "pipe",
            r#"{"ok":false,"error":{"code":"write_error","message":"cannot write $ROOT/pipe: it is a named pipe, not a regular file"}}"#,
        ),
        (
            "/dev/null",
            r#"{"ok":false,"error":{"code":"write_error","message":"cannot write /dev/null: it is a device, not a regular file"}}"#,
        ),
        (
            "loop",
            r#"{"ok":false,"error":{"code":"write_error","message":"cannot write $ROOT/loop: Too many levels of symbolic links (os error 40)"}}"#,
        ),
        ("/", r#"{"ok":false,"error":{"code":"write_error","message":"cannot write /: it is a directory"}}"#),
    ];
    for (path, envelope) in cases {
        assert_eq!(tools.write(path, "y"), envelope, "{path}");
    }
    assert_eq!(tools.scratch.list(), before);
    assert_eq!(tools.scratch.get("file"), "x");
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let tools = Tools::new();
    tools.scratch.put("f", "one");
    tools.read("f");
    // The same length at once: only the content tells.
    tools.scratch.put("f", "two");
    assert_eq!(
        tools.write("f", "mine"),
        r#"{"ok":false,"error":{"code":"write_error","message":"cannot write $ROOT/f: it changed on disk since it was read; read it again, then write"}}"#
    );
    assert_eq!(tools.scratch.get("f"), "two");
    tools.read("f");
    assert_eq!(
        tools.write("f", "mine"),
        r#"{"ok":true,"data":{"path":"$ROOT/f","bytes":4,"created":false}}"#
    );
    // Our own write is known, and so is a file that was only touched.
    tools.scratch.put("f", "mine");
    assert_eq!(
        tools.write("f", "again"),
        r#"{"ok":true,"data":{"path":"$ROOT/f","bytes":5,"created":false}}"#
    );
    // A file that is gone has nothing to lose.
    fs::remove_file(tools.scratch.path().join("f")).unwrap();
    assert_eq!(tools.write("f", "new"), r#"{"ok":true,"data":{"path":"$ROOT/f","bytes":3,"created":true}}"#);
}

#[test]
fn a_cancelled_write_leaves_the_old_content_and_no_other_file() {
    let tools = Tools::new();
    tools.scratch.put("f", "old");
    let cancel = Cancel::new();
    cancel.cancel();
    let target = Target::found(&tools.scratch.path().join("f")).unwrap();
    let output = write(&target, &"x".repeat(3 << 20), &SeenFiles::default(), Leniency::Forgiving, &cancel)
        .unwrap_err();
    assert_eq!(
        output.envelope.get(),
        r#"{"ok":false,"error":{"code":"canceled","message":"cancelled; the file is unchanged"}}"#
    );
    assert_eq!(tools.scratch.get("f"), "old");
    assert_eq!(tools.scratch.list(), ["f"]);
}
