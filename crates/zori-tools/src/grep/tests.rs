//! The tool in scratch trees.

use std::fs::OpenOptions;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::*;
use crate::walk::tree::{Tree, call, call_with, env, raw};

/// Runs the tool in a tree.
fn envelope(tree: &Tree, args: &str) -> String {
    tree.mask(call(&Grep::new(tree.env()), args).envelope.get())
}

#[derive(serde::Deserialize)]
struct Answer {
    data: Data,
}

#[derive(serde::Deserialize)]
struct Data {
    #[serde(default)]
    matches: Vec<Match>,
    truncated: bool,
    unsearched: Option<usize>,
}

#[derive(serde::Deserialize)]
struct Match {
    path: String,
    line: u64,
    text: String,
    #[serde(default)]
    context: bool,
}

/// Runs the tool in a tree; one line per match, as the command of the same name prints them, then what else is said.
fn grep(tree: &Tree, args: &str) -> String {
    let envelope = envelope(tree, args);
    let Answer { data } = serde_json::from_str(&envelope).expect(&envelope);
    let mut lines = Vec::new();
    for Match { path, line, text, context } in data.matches {
        let sep = if context { '-' } else { ':' };
        lines.push(format!("{path}{sep}{line}{sep}{text}"));
    }
    if data.truncated {
        lines.push("(truncated)".to_owned());
    }
    lines.extend(data.unsearched.map(|n| format!("({n} unsearched)")));
    lines.join("\n")
}

fn sample() -> Tree {
    Tree::new(&[
        (".gitignore", "target/\n"),
        ("b.txt", "one\nTWO\nthree\ntwo\nfive\n"),
        ("a/x.rs", "fn two() {\n    two();\n}\n"),
        ("a/y.py", "two = 2\n"),
        ("target/z.rs", "two\n"),
        (".hidden/h.rs", "two\n"),
    ])
}

#[test]
fn matches_in_order_of_path_and_line() {
    assert_eq!(
        envelope(&sample(), r#"{"pattern":"two"}"#),
        r#"{"ok":true,"data":{"matches":[{"path":"a/x.rs","line":1,"text":"fn two() {"},{"path":"a/x.rs","line":2,"text":"    two();"},{"path":"a/y.py","line":1,"text":"two = 2"},{"path":"b.txt","line":4,"text":"two"}],"truncated":false}}"#
    );
}

#[test]
fn files_and_counts() {
    let tree = sample();
    assert_eq!(
        envelope(&tree, r#"{"pattern":"two","mode":"files_with_matches","limit":2}"#),
        r#"{"ok":true,"data":{"files":["a/x.rs","a/y.py"],"truncated":true}}"#
    );
    assert_eq!(
        envelope(&tree, r#"{"pattern":"two","mode":"count","offset":2,"context":2}"#),
        r#"{"ok":true,"data":{"counts":[{"path":"b.txt","count":1}],"truncated":false}}"#
    );
    assert_eq!(
        envelope(&tree, r#"{"pattern":"two","mode":"count"}"#),
        r#"{"ok":true,"data":{"counts":[{"path":"a/x.rs","count":2},{"path":"a/y.py","count":1},{"path":"b.txt","count":1}],"truncated":false}}"#
    );
}

#[test]
fn which_files_are_searched() {
    let tree = sample();
    let cases = [
        (r#"{"pattern":"two","glob":"*.py"}"#, "a/y.py:1:two = 2"),
        (r#"{"pattern":"two","glob":"a/*.py"}"#, "a/y.py:1:two = 2"),
        (r#"{"pattern":"two","glob":"!*.rs"}"#, "a/y.py:1:two = 2\nb.txt:4:two"),
        (r#"{"pattern":"two","type":"py"}"#, "a/y.py:1:two = 2"),
        (r#"{"pattern":"two","path":"a/y.py"}"#, "a/y.py:1:two = 2"),
        (r#"{"pattern":"two","path":"a","glob":"y*"}"#, "a/y.py:1:two = 2"),
        // What is hidden or ignored is searched when it is named.
        (r#"{"pattern":"two","path":"target"}"#, "target/z.rs:1:two"),
        (r#"{"pattern":"two","path":".hidden"}"#, ".hidden/h.rs:1:two"),
        (r#"{"pattern":"two","glob":".hidden/**"}"#, ".hidden/h.rs:1:two"),
        (r#"{"pattern":"nothing"}"#, ""),
    ];
    for (args, found) in cases {
        assert_eq!(grep(&tree, args), found, "{args}");
    }
}

#[test]
fn how_the_pattern_is_read() {
    let tree = Tree::new(&[("f", "a.b\r\naxb\r\nA.B\r\nlast")]);
    let cases = [
        (r#"{"pattern":"a.b"}"#, "f:1:a.b\nf:2:axb"),
        (r#"{"pattern":"a.b","literal":true}"#, "f:1:a.b"),
        (r#"{"pattern":"A\\.B","ignore_case":true}"#, "f:1:a.b\nf:3:A.B"),
        (r#"{"pattern":"^axb$"}"#, "f:2:axb"),
        (r#"{"pattern":"last$"}"#, "f:4:last"),
        (r#"{"pattern":"b\\r?\\naxb"}"#, "f:1:a.b\r\naxb"),
        (r#"{"pattern":"x.*B","multiline":true}"#, "f:2:axb\r\nA.B"),
        (r#"{"pattern":"x.*B"}"#, ""),
    ];
    for (args, found) in cases {
        assert_eq!(grep(&tree, args), found, "{args}");
    }
}

#[test]
fn context_goes_with_its_match() {
    let tree = Tree::new(&[("f", "1\n2\n3 hit\n4\n5\n6\n7 hit\n8\n"), ("g", "1\nhit\n3\n")]);
    let cases = [
        (
            r#"{"pattern":"hit","context":1}"#,
            "f-2-2\nf:3:3 hit\nf-4-4\nf-6-6\nf:7:7 hit\nf-8-8\ng-1-1\ng:2:hit\ng-3-3",
        ),
        (
            r#"{"pattern":"hit","before":2,"after":0,"context":9}"#,
            "f-1-1\nf-2-2\nf:3:3 hit\nf-5-5\nf-6-6\nf:7:7 hit\ng-1-1\ng:2:hit",
        ),
        (r#"{"pattern":"hit","after":1,"limit":1}"#, "f:3:3 hit\nf-4-4\n(truncated)"),
        (r#"{"pattern":"hit","after":1,"limit":2}"#, "f:3:3 hit\nf-4-4\nf:7:7 hit\nf-8-8\n(truncated)"),
        (r#"{"pattern":"hit","before":1,"offset":2}"#, "g-1-1\ng:2:hit"),
    ];
    for (args, found) in cases {
        assert_eq!(grep(&tree, args), found, "{args}");
    }
}

#[test]
fn pages_are_the_same_however_many_threads_there_are() {
    let tree = Tree::new(&[]);
    let mut all = Vec::new();
    for dir in ["a", "a-b", "a.b", "b"] {
        for file in 0..50 {
            let path = format!("{dir}/{file:02}");
            tree.write(&path, b"hit 1\nno\nhit 3\nhit 4\n");
            all.extend(["1", "3", "4"].map(|n| format!("{path}:{n}:hit {n}")));
        }
    }
    all.sort();
    for (offset, limit) in [(0, 1), (0, 7), (5, 100), (300, 200), (599, 1), (0, 600), (0, 599)] {
        let mut page: Vec<_> = all[offset..all.len().min(offset + limit)].to_vec();
        if offset + limit < all.len() {
            page.push("(truncated)".to_owned());
        }
        let args = format!(r#"{{"pattern":"hit","offset":{offset},"limit":{limit}}}"#);
        for _ in 0..5 {
            assert_eq!(grep(&tree, &args), page.join("\n"), "{args}");
        }
    }
}

#[test]
fn limits() {
    let tree = Tree::new(&[("f", &"hit\n".repeat(3000))]);
    let lines = |n: usize| {
        let mut lines: Vec<_> = (1..=n).map(|i| format!("f:{i}:hit")).collect();
        lines.push("(truncated)".to_owned());
        lines.join("\n")
    };
    assert_eq!(grep(&tree, r#"{"pattern":"hit"}"#), lines(200));
    assert_eq!(grep(&tree, r#"{"pattern":"hit","limit":2000}"#), lines(2000));
    assert_eq!(grep(&tree, r#"{"pattern":"hit","limit":0}"#), lines(2000));
    // Much text is cut before the limit is reached: 522 lines of 501 bytes with their path are 256 KiB.
    let tree = Tree::new(&[("f", &format!("{}\n", "x".repeat(500)).repeat(600))]);
    let found = grep(&tree, r#"{"pattern":"x","limit":1000}"#);
    assert_eq!((found.lines().count(), found.lines().last()), (524, Some("(truncated)")));
}

#[test]
fn odd_files() {
    let tree = Tree::new(&[("empty", ""), ("new\nline", "hit\n"), ("bom", "\u{feff}hit\n")]);
    tree.write(b"bad\xff", b"hit \xff\n");
    tree.write("nul", &[0; 100]);
    tree.write("binary", b"hit\n\0hit\n");
    tree.write("late", &[b"hit\n".to_vec(), b"no\n".repeat(50_000), vec![0]].concat());
    let utf16: Vec<u8> = "\u{feff}hit 16\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    tree.write("utf16", &utf16);
    symlink("loop", tree.root.join("loop")).unwrap();
    symlink("nowhere", tree.root.join("dangling")).unwrap();
    symlink("bom", tree.root.join("link")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, tree.root.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    assert_eq!(
        grep(&tree, r#"{"pattern":"hit"}"#),
        "bad\u{fffd}:1:hit \u{fffd}\nbom:1:hit\nnew\nline:1:hit\nutf16:1:hit 16"
    );
    assert_eq!(grep(&tree, r#"{"pattern":"^hit","path":"link"}"#), "link:1:hit");
    let cases = [
        ("binary", "read_error", "binary is a binary file; search it with `bash` and `grep -a`"),
        ("late", "read_error", "late is a binary file; search it with `bash` and `grep -a`"),
        ("pipe", "path_error", "$ROOT/pipe is neither a file nor a directory"),
        ("dangling", "path_error", "File not found: $ROOT/dangling (ENOENT); check the path"),
    ];
    for (path, code, message) in cases {
        assert_eq!(
            envelope(&tree, &format!(r#"{{"pattern":"hit","path":"{path}"}}"#)),
            format!(r#"{{"ok":false,"error":{{"code":"{code}","message":"{message}"}}}}"#)
        );
    }
}

#[test]
fn a_line_that_does_not_fit_in_memory_is_said_not_to_be_searched() {
    let tree = Tree::new(&[("a", "hit\n")]);
    tree.write("huge", &vec![b'x'; 9 << 20]);
    assert_eq!(grep(&tree, r#"{"pattern":"hit"}"#), "a:1:hit\n(1 unsearched)");
    assert_eq!(
        envelope(&tree, r#"{"pattern":"hit","path":"huge"}"#),
        r#"{"ok":false,"error":{"code":"read_error","message":"huge has a line of more than 8 MiB; search it with `bash`"}}"#
    );
}

#[test]
fn bad_values() {
    let tree = sample();
    let cases = [
        (
            r#"{"pattern":"("}"#,
            "`pattern` is no regular expression: unclosed group; escape special characters with a backslash",
        ),
        (r#"{"pattern":"x","glob":"a["}"#, "`glob` is no glob: unclosed character class; missing ']'"),
        (
            r#"{"pattern":"x","type":"klingon"}"#,
            "`type` `klingon` is not known; use `glob`, e.g. `*.klingon`",
        ),
        (r#"{"pattern":"x","limit":2001}"#, "`limit` must be 0 to 2000"),
        (r#"{"pattern":"x","limit":-1}"#, "`limit` must be 0 to 2000"),
        (r#"{"pattern":"x","context":51}"#, "`context` must be 0 to 50"),
        (r#"{"pattern":"x","offset":10001}"#, "`offset` must be 0 to 10000"),
    ];
    for (args, message) in cases {
        assert_eq!(
            envelope(&tree, args),
            format!(r#"{{"ok":false,"error":{{"code":"invalid_input","message":"{message}"}}}}"#)
        );
    }
}

/// A hole reads as NUL bytes, so the first of its bytes are enough (FS-5). Nothing reads a TiB in a minute.
#[test]
fn a_huge_sparse_file_is_not_read_to_its_end() {
    let tree = Tree::new(&[("a", "hit\n"), ("huge", "hit\n")]);
    let huge = OpenOptions::new().write(true).open(tree.root.join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let started = Instant::now();
    assert_eq!(grep(&tree, r#"{"pattern":"hit"}"#), "a:1:hit");
    assert_eq!(grep(&tree, r#"{"pattern":"hit\\n"}"#), "a:1:hit\n(1 unsearched)");
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_cancelled_call_says_so() {
    let tree = sample();
    for path in [".", "b.txt"] {
        let cancel = Cancel::new();
        cancel.cancel();
        let args = format!(r#"{{"pattern":"two","path":"{path}"}}"#);
        assert_eq!(
            call_with(&Grep::new(tree.env()), &args, cancel).envelope.get(),
            r#"{"ok":false,"error":{"code":"canceled","message":"Stopped before it was done"}}"#
        );
    }
}

#[test]
fn effects_name_what_is_searched() {
    let tool = Grep::new(env(Path::new("/w")));
    assert_eq!(tool.effects(&raw(r#"{"pattern":"x"}"#)), [Effect::Read("/w".into())]);
    assert_eq!(tool.effects(&raw(r#"{"pattern":"x","path":"/etc/../usr"}"#)), [Effect::Read("/usr".into())]);
}

/// The first files in the order of paths, whichever thread is faster; longer ones are no part of that.
#[test]
fn only_so_many_files_and_none_too_long() {
    let tree =
        Tree::new(&[("a/1", "x\n"), ("a/2", "x and more\n"), ("b", "y\n"), ("c.rs", "x\n"), ("d", "x\n")]);
    let searched = |args: &str| {
        let envelope: serde_json::Value = serde_json::from_str(&envelope(&tree, args)).unwrap();
        let data = &envelope["data"];
        let found: Vec<_> =
            data["matches"].as_array().unwrap().iter().map(|found| found["path"].as_str().unwrap()).collect();
        let rest = ["files_searched", "more_files", "too_long"].map(|name| data[name].to_string()).join(" ");
        format!("{} | {rest}", found.join(" "))
    };
    for (args, wanted) in [
        (r#"{"pattern":"x"}"#, "a/1 a/2 c.rs d | null null null"),
        (r#"{"pattern":"x","max_files":5}"#, "a/1 a/2 c.rs d | 5 null null"),
        (r#"{"pattern":"x","max_files":4}"#, "a/1 a/2 c.rs | 4 true null"),
        (r#"{"pattern":"x","max_files":1}"#, "a/1 | 1 true null"),
        (r#"{"pattern":"x","max_file_bytes":2}"#, "a/1 c.rs d | 4 null 1"),
        (r#"{"pattern":"x","max_file_bytes":2,"max_files":2}"#, "a/1 | 2 true 1"),
        (r#"{"pattern":"x","glob":"!*.rs","max_files":4}"#, "a/1 a/2 d | 4 null null"),
        (r#"{"pattern":"x","path":"a/2","max_file_bytes":2}"#, " | 0 null 1"),
        (r#"{"pattern":"x","path":"a/2","max_file_bytes":11}"#, "a/2 | 1 null null"),
    ] {
        for _ in 0..20 {
            assert_eq!(searched(args), wanted, "{args}");
        }
    }
    for (args, said) in [
        (r#"{"pattern":"x","max_files":0}"#, "`max_files` must be 1 to 100000"),
        (r#"{"pattern":"x","max_file_bytes":-1}"#, "`max_file_bytes` must be 1 to 1073741824"),
    ] {
        let failed = call(&Grep::new(tree.env()), args);
        assert_eq!(failed.failure.expect(args).message, said);
    }
}
