//! The tool in scratch trees.

use std::os::unix::fs::symlink;

use super::*;
use crate::walk::tree::{Tree, call, env, raw};

/// Runs the tool in a tree.
fn ls(tree: &Tree, args: &str) -> String {
    tree.mask(call(&Ls::new(tree.env()), args).envelope.get())
}

fn sample() -> Tree {
    let tree = Tree::new(&[
        (".gitignore", "target/\n"),
        (".git/config", ""),
        ("a.txt", "hello"),
        ("src/main.rs", "fn main() {}\n"),
        ("src/deep/x", ""),
        ("target/out", ""),
    ]);
    symlink("src/main.rs", tree.root.join("link")).unwrap();
    tree
}

#[test]
fn a_directory_by_name() {
    assert_eq!(
        ls(&sample(), "{}"),
        r#"{"ok":true,"data":{"path":".","entries":[{"name":".git/"},{"name":".gitignore","size":8},{"name":"a.txt","size":5},{"name":"link","target":"src/main.rs"},{"name":"src/"}],"total":5,"truncated":false}}"#
    );
}

#[test]
fn deeper_levels_and_left_out_names() {
    let tree = sample();
    assert_eq!(
        ls(&tree, r#"{"depth":3,"ignore":[".*","l*","*.txt"]}"#),
        r#"{"ok":true,"data":{"path":".","entries":[{"name":"src/"},{"name":"src/deep/"},{"name":"src/deep/x","size":0},{"name":"src/main.rs","size":13}],"total":4,"truncated":false}}"#
    );
    assert_eq!(
        ls(&tree, r#"{"path":"src","depth":2,"ignore":["deep"]}"#),
        r#"{"ok":true,"data":{"path":"src","entries":[{"name":"main.rs","size":13}],"total":1,"truncated":false}}"#
    );
    // An ignored directory can be listed by name.
    assert_eq!(
        ls(&tree, r#"{"path":"target"}"#),
        r#"{"ok":true,"data":{"path":"target","entries":[{"name":"out","size":0}],"total":1,"truncated":false}}"#
    );
}

#[test]
fn odd_names() {
    let tree = Tree::new(&[("new\nline", "")]);
    tree.write(b"bad\xff", b"");
    symlink("loop", tree.root.join("loop")).unwrap();
    assert_eq!(
        ls(&tree, "{}"),
        "{\"ok\":true,\"data\":{\"path\":\".\",\"entries\":[{\"name\":\"bad\u{fffd}\",\"size\":0},{\"name\":\"loop\",\"target\":\"loop\"},{\"name\":\"new\\nline\",\"size\":0}],\"total\":3,\"truncated\":false}}"
    );
}

#[test]
fn a_long_list_is_cut() {
    let tree = Tree::new(&[]);
    for i in 0..1010 {
        tree.write(format!("{i:04}"), b"");
    }
    let entries: Vec<_> = (0..1000).map(|i| format!(r#"{{"name":"{i:04}","size":0}}"#)).collect();
    assert_eq!(
        ls(&tree, "{}"),
        format!(
            r#"{{"ok":true,"data":{{"path":".","entries":[{}],"total":1010,"truncated":true}}}}"#,
            entries.join(",")
        )
    );
    assert_eq!(
        ls(&tree, r#"{"limit":1}"#),
        r#"{"ok":true,"data":{"path":".","entries":[{"name":"0000","size":0}],"total":1010,"truncated":true}}"#
    );
}

#[test]
fn failures() {
    let tree = sample();
    let cases = [
        (
            r#"{"path":"nowhere"}"#,
            r#"{"ok":false,"error":{"code":"path_error","message":"File not found: $ROOT/nowhere (ENOENT); check the path"}}"#,
        ),
        (
            r#"{"path":"a.txt"}"#,
            r#"{"ok":false,"error":{"code":"path_error","message":"$ROOT/a.txt is a file, not a directory (ENOTDIR)"}}"#,
        ),
        (
            r#"{"path":"/dev/null"}"#,
            r#"{"ok":false,"error":{"code":"path_error","message":"/dev/null is neither a file nor a directory"}}"#,
        ),
        (
            r#"{"depth":11}"#,
            r#"{"ok":false,"error":{"code":"invalid_input","message":"`depth` must be 1 to 10"}}"#,
        ),
        (
            r#"{"limit":-1}"#,
            r#"{"ok":false,"error":{"code":"invalid_input","message":"`limit` must be 1 to 1000"}}"#,
        ),
        (
            r#"{"ignore":["{a"]}"#,
            r#"{"ok":false,"error":{"code":"invalid_input","message":"`ignore` holds no glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"}}"#,
        ),
    ];
    for (args, envelope) in cases {
        assert_eq!(ls(&tree, args), envelope);
    }
}

#[test]
fn effects_name_the_directory() {
    let tool = Ls::new(env(Path::new("/w")));
    assert_eq!(tool.effects(&raw(r#"{"path":"a/../b"}"#)), [Effect::Read("/w/b".into())]);
    assert_eq!(tool.effects(&raw("{}")), [Effect::Read("/w".into())]);
}
