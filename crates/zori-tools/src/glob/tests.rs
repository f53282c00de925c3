//! The tool in scratch trees.

use std::os::unix::fs::symlink;

use super::*;
use crate::walk::tree::{Tree, call, call_with, env, raw};

/// Runs the tool in a tree.
fn glob(tree: &Tree, args: &str) -> String {
    tree.mask(call(&Glob::new(tree.env()), args).envelope.get())
}

fn sample() -> Tree {
    let tree = Tree::new(&[
        (".gitignore", "target/\n"),
        ("Cargo.toml", ""),
        ("src/main.rs", ""),
        ("src/deep/a.rs", ""),
        ("src/deep/b.rs", ""),
        ("target/gen.rs", ""),
        (".github/ci.yml", ""),
        (".env", ""),
    ]);
    for (path, seconds) in
        [("src/main.rs", 30), ("src/deep/a.rs", 10), ("src/deep/b.rs", 10), ("Cargo.toml", 20)]
    {
        tree.touch(path, seconds);
    }
    tree
}

#[test]
fn newest_first_then_by_path() {
    assert_eq!(
        glob(&sample(), r#"{"pattern":"**/*.{rs,toml}"}"#),
        r#"{"ok":true,"data":{"files":["src/main.rs","Cargo.toml","src/deep/a.rs","src/deep/b.rs"],"total":4,"truncated":false}}"#
    );
}

/// The files of a result, joined.
fn files(tree: &Tree, args: &str) -> String {
    let envelope = glob(tree, args);
    let (_, files) = envelope.split_once(r#""files":["#).expect(&envelope);
    files.split_once(']').unwrap().0.replace('"', "").replace(',', " ")
}

#[test]
fn patterns_are_relative_to_the_path() {
    let tree = sample();
    let cases = [
        (r#"{"pattern":"*.rs"}"#, ""),
        (r#"{"pattern":"*.rs","path":"src"}"#, "src/main.rs"),
        (r#"{"pattern":"src/*.rs"}"#, "src/main.rs"),
        (r#"{"pattern":"deep/*.rs","path":"src"}"#, "src/deep/a.rs src/deep/b.rs"),
        (r#"{"pattern":"src/**"}"#, "src/main.rs src/deep/a.rs src/deep/b.rs"),
        (r#"{"pattern":"Cargo.toml"}"#, "Cargo.toml"),
        (r#"{"pattern":"../Cargo.*","path":"src"}"#, "Cargo.toml"),
        (r#"{"pattern":"nowhere/**"}"#, ""),
        (r#"{"pattern":"src"}"#, ""),
        (r#"{"pattern":"*.RS","path":"src"}"#, ""),
        // What is hidden or ignored is found when it is named.
        (r#"{"pattern":"**/*.yml"}"#, ""),
        (r#"{"pattern":".github/*.yml"}"#, ".github/ci.yml"),
        (r#"{"pattern":"**/.env"}"#, ".env"),
        (r#"{"pattern":"target/*"}"#, "target/gen.rs"),
    ];
    for (args, found) in cases {
        assert_eq!(files(&tree, args), found, "{args}");
    }
    let absolute = format!(r#"{{"pattern":"{}/src/*.rs"}}"#, tree.root.display());
    assert_eq!(files(&tree, &absolute), "src/main.rs");
    let outside = Tree::new(&[("x.txt", "")]);
    let args = format!(r#"{{"pattern":"*","path":"{}"}}"#, outside.root.display());
    assert_eq!(outside.mask(&files(&tree, &args)), "$ROOT/x.txt");
}

#[test]
fn odd_names_and_links() {
    let tree = Tree::new(&[("a\nb", ""), ("dir/x", "")]);
    tree.write(b"bad\xff", b"");
    for (target, link) in
        [("dir/x", "file_link"), ("dir", "dir_link"), ("nowhere", "dangling"), ("loop", "loop")]
    {
        symlink(target, tree.root.join(link)).unwrap();
    }
    let mut found: Vec<_> = files(&tree, r#"{"pattern":"*"}"#).split(' ').map(str::to_owned).collect();
    found.sort();
    assert_eq!(found, ["a\\nb", "bad\u{fffd}", "file_link"]);
}

#[test]
fn a_long_list_keeps_the_newest() {
    let tree = Tree::new(&[]);
    for i in 0..MAX_FILES + 3 {
        tree.write(format!("{}/{i}", i % 7), b"");
        tree.touch(&format!("{}/{i}", i % 7), 1000 + i as u64);
    }
    let newest: Vec<_> = (3..MAX_FILES + 3).rev().map(|i| format!(r#""{}/{i}""#, i % 7)).collect();
    assert_eq!(
        glob(&tree, r#"{"pattern":"**"}"#),
        format!(r#"{{"ok":true,"data":{{"files":[{}],"total":503,"truncated":true}}}}"#, newest.join(","))
    );
}

#[test]
fn failures() {
    let tree = sample();
    let cases = [
        (
            r#"{"pattern":"a[b"}"#,
            r#"{"ok":false,"error":{"code":"invalid_input","message":"`pattern` is no glob: unclosed character class; missing ']'"}}"#,
        ),
        (
            r#"{"pattern":"*","path":"nowhere"}"#,
            r#"{"ok":false,"error":{"code":"path_error","message":"File not found: $ROOT/nowhere (ENOENT); check the path"}}"#,
        ),
        (
            r#"{"pattern":"*","path":"Cargo.toml"}"#,
            r#"{"ok":false,"error":{"code":"path_error","message":"$ROOT/Cargo.toml is a file, not a directory (ENOTDIR)"}}"#,
        ),
    ];
    for (args, envelope) in cases {
        assert_eq!(glob(&tree, args), envelope);
    }
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(
        call_with(&Glob::new(tree.env()), r#"{"pattern":"**"}"#, cancel).envelope.get(),
        r#"{"ok":false,"error":{"code":"canceled","message":"Stopped before it was done"}}"#
    );
}

#[test]
fn effects_name_all_that_is_read() {
    let tool = Glob::new(env(Path::new("/w")));
    let read = |path: &str| Effect::Read(path.into());
    assert_eq!(tool.effects(&raw(r#"{"pattern":"**"}"#)), [read("/w")]);
    // A folder in the pattern may be a link that leads out.
    assert_eq!(tool.effects(&raw(r#"{"pattern":"src/**"}"#)), [read("/w"), read("/w/src")]);
    assert_eq!(tool.effects(&raw(r#"{"pattern":"**","path":"src"}"#)), [read("/w/src")]);
    assert_eq!(tool.effects(&raw(r#"{"pattern":"/etc/*.conf"}"#)), [read("/w"), read("/etc")]);
    assert_eq!(tool.effects(&raw(r#"{"pattern":"../../etc/*"}"#)), [read("/w"), read("/etc")]);
}
