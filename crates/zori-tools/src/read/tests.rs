use std::os::unix::fs::symlink;
use std::time::Instant;

use super::*;
use crate::testing::{Scratch, call};

/// Reads and returns the envelope, with the scratch folder as `$ROOT`.
fn check(scratch: &Scratch, args: &str) -> String {
    let tool = Read::new(Arc::new(scratch.env()), Arc::default());
    scratch.hide(call(&tool, &DEF, args).envelope.get())
}

#[test]
fn a_file_whole() {
    let scratch = Scratch::new();
    scratch.put("a/b.txt", "one\r\nzwölf\n");
    symlink("a/b.txt", scratch.path().join("link")).unwrap();
    let whole = r#"{"ok":true,"data":{"path":"$ROOT/a/b.txt","content":"one\r\nzwölf\n","truncated":false,"bytes":12}}"#;
    assert_eq!(check(&scratch, r#"{"path":"a/b.txt"}"#), whole);
    assert_eq!(check(&scratch, r#"{"path":"./a/../link"}"#), whole);
    scratch.put("empty", "");
    assert_eq!(
        check(&scratch, r#"{"path":"empty"}"#),
        r#"{"ok":true,"data":{"path":"$ROOT/empty","content":"","truncated":false,"bytes":0}}"#
    );
}

#[test]
fn the_bound_is_51200_bytes_and_never_inside_a_character() {
    let scratch = Scratch::new();
    let expect = |name: &str, content: &str, truncated: bool, bytes: usize| {
        let args = format!(r#"{{"path":"{name}"}}"#);
        let path = format!("$ROOT/{name}");
        let mut data =
            serde_json::json!({ "path": path, "content": content, "truncated": truncated, "bytes": bytes });
        if truncated {
            data["total_lines"] = 1.into();
        }
        let found: serde_json::Value = serde_json::from_str(&check(&scratch, &args)).unwrap();
        assert_eq!(found["data"], data);
    };
    scratch.put("fits", "x".repeat(51200));
    expect("fits", &"x".repeat(51200), false, 51200);
    scratch.put("over", "x".repeat(51201));
    expect("over", &"x".repeat(51200), true, 51201);
    let start = "x".repeat(51199);
    scratch.put("split", format!("{start}ö tail"));
    expect("split", &start, true, 51199 + 7);
}

#[test]
fn pages() {
    let scratch = Scratch::new();
    scratch.put("f", "one\ntwo\nthree\nfour");
    let page = |args: &str| check(&scratch, args).replace(r#"{"ok":true,"data":{"path":"$ROOT/f","#, "{");
    assert_eq!(
        page(r#"{"path":"f","offset":2,"limit":2}"#),
        r#"{"content":"two\nthree\n","truncated":true,"bytes":18,"start_line":2,"end_line":3,"next_offset":4,"total_lines":4}}"#
    );
    assert_eq!(
        page(r#"{"path":"f","offset":"4"}"#),
        r#"{"content":"four","truncated":false,"bytes":18,"start_line":4,"end_line":4,"total_lines":4}}"#
    );
    assert_eq!(
        page(r#"{"path":"f","limit":1}"#),
        r#"{"content":"one\n","truncated":true,"bytes":18,"start_line":1,"end_line":1,"next_offset":2,"total_lines":4}}"#
    );
    assert_eq!(
        page(r#"{"path":"f","offset":2,"max_bytes":9}"#),
        r#"{"content":"two\n","truncated":true,"bytes":18,"start_line":2,"end_line":2,"next_offset":3,"total_lines":4}}"#
    );
    assert_eq!(
        page(r#"{"path":"f","offset":5}"#),
        r#"{"ok":false,"error":{"code":"invalid_input","message":"`offset` 5 is past the end: the file has 4 lines"}}"#
    );
    assert_eq!(
        page(r#"{"path":"f","offset":0}"#),
        r#"{"ok":false,"error":{"code":"invalid_input","message":"`offset` must be at least 1"}}"#
    );
}

/// How many lines there are is known of a page and of a beginning, with and without a newline at the end, unless the file is too long to be counted.
#[test]
fn all_lines_are_counted() {
    let scratch = Scratch::new();
    let total = |content: String, args: &str| {
        scratch.put("f", content);
        let found: serde_json::Value = serde_json::from_str(&check(&scratch, args)).unwrap();
        found["data"]["total_lines"].clone()
    };
    let (whole, page) = (r#"{"path":"f"}"#, r#"{"path":"f","offset":2,"limit":1}"#);
    for lines in [20_000, 700_000] {
        assert_eq!(total("line\n".repeat(lines), whole), lines, "{lines}");
        assert_eq!(total("line\n".repeat(lines) + "end", whole), lines + 1, "{lines}");
        assert_eq!(total("line\n".repeat(lines), page), lines, "{lines}");
        assert_eq!(total("line\n".repeat(lines) + "end", page), lines + 1, "{lines}");
    }
    let long = "line\n".repeat((MAX_COUNTED / 5) as usize + 40_000);
    assert_eq!(total(long.clone(), whole), serde_json::Value::Null);
    assert_eq!(total(long, page), serde_json::Value::Null);
    assert_eq!(total("one\ntwo\n".to_owned(), whole), serde_json::Value::Null, "all of them are here");
}

/// The exact profile's result has no field more.
#[test]
fn the_exact_profile_counts_nothing() {
    let scratch = Scratch::new();
    scratch.put("f", "one\ntwo\n");
    let env = ToolEnv { leniency: Leniency::Exact, ..scratch.env() };
    let tool = Read::new(Arc::new(env), Arc::default());
    let found = call(&tool, &DEF, r#"{"path":"f","limit":1}"#);
    assert_eq!(
        scratch.hide(found.envelope.get()),
        r#"{"ok":true,"data":{"path":"$ROOT/f","content":"one\n","truncated":true,"bytes":8,"start_line":1,"end_line":1,"next_offset":2}}"#
    );
}

#[test]
fn a_page_of_one_endless_line_is_bounded() {
    let scratch = Scratch::new();
    scratch.put("long", "x".repeat(300_000));
    let found: serde_json::Value =
        serde_json::from_str(&check(&scratch, r#"{"path":"long","offset":1}"#)).unwrap();
    assert_eq!(found["data"]["content"].as_str().unwrap().len(), 51200);
    assert_eq!(found["data"]["truncated"], true);
}

#[test]
fn what_cannot_be_read() {
    let scratch = Scratch::new();
    scratch.put("binary", b"ELF\0\x01");
    scratch.put("latin1", b"gr\xfc\xdfe");
    scratch.put("cut", b"ab\xc3");
    scratch.put("utf16", b"\xff\xfea\0");
    scratch.put("file", "x");
    symlink("loop", scratch.path().join("loop")).unwrap();
    let pipe = scratch.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scratch.path().join("socket")).unwrap();
    let long = "n".repeat(300);
    let cases = [
        ("missing", "path_error", "File not found: $ROOT/missing (ENOENT); check the path"),
        ("file/below", "path_error", "cannot resolve $ROOT/file/below: Not a directory (os error 20)"),
        ("loop", "path_error", "cannot resolve $ROOT/loop: Too many levels of symbolic links (os error 40)"),
        (".", "read_error", "$ROOT is a directory, not a regular file"),
        ("pipe", "read_error", "$ROOT/pipe is a named pipe, not a regular file"),
        ("socket", "read_error", "$ROOT/socket is a socket, not a regular file"),
        ("/dev/zero", "read_error", "/dev/zero is a device, not a regular file"),
        (
            "binary",
            "read_error",
            "$ROOT/binary is not UTF-8 text: binary data (a NUL byte at offset 3); inspect it with `xxd` or `file` in the shell",
        ),
        (
            "latin1",
            "read_error",
            "$ROOT/latin1 is not UTF-8 text: an invalid byte at offset 2; inspect it with `xxd` or `file` in the shell",
        ),
        (
            "cut",
            "read_error",
            "$ROOT/cut is not UTF-8 text: an invalid byte at offset 2; inspect it with `xxd` or `file` in the shell",
        ),
        (&long, "path_error", &format!("cannot resolve $ROOT/{long}: File name too long (os error 36)")),
        (
            "nul\\u0000byte",
            "path_error",
            "cannot resolve $ROOT/nul\0byte: file name contained an unexpected NUL byte",
        ),
    ];
    let start = Instant::now();
    for (name, code, message) in cases {
        let error = serde_json::json!({ "code": code, "message": message });
        let found: serde_json::Value =
            serde_json::from_str(&check(&scratch, &format!(r#"{{"path":"{name}"}}"#))).unwrap();
        assert_eq!(found, serde_json::json!({ "ok": false, "error": error }), "{name}");
    }
    // P-5: none of them may block, which would be for ever.
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "took {:?}", start.elapsed());
}

#[test]
fn images() {
    let scratch = Scratch::new();
    let png = include_bytes!("../../../../fixtures/images/box.png");
    scratch.put("shot.txt", png);
    scratch.put("cut.png", &png[..50]);
    scratch.put("p.bmp", b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0");
    scratch.put("d.svg", "<svg/>");
    scratch.put("large.png", [&png[..], &[0; 4_000_000]].concat());
    let tool = Read::new(Arc::new(scratch.env()), Arc::default());
    for args in [r#"{"path":"shot.txt"}"#, r#"{"path":"shot.txt","offset":2}"#] {
        let output = call(&tool, &DEF, args);
        assert_eq!(
            scratch.hide(output.envelope.get()),
            r#"{"ok":true,"data":{"path":"$ROOT/shot.txt","image":"png","width":24,"height":16,"bytes":96}}"#
        );
        assert_eq!(output.images.iter().map(|image| image.bytes()).collect::<Vec<_>>(), [png]);
    }
    let failed = |message: &str| {
        format!(r#"{{"ok":false,"error":{{"code":"read_error","message":"$ROOT/{message}"}}}}"#)
    };
    for (name, message) in [
        ("cut.png", "cut.png is a png image that is damaged or cut off; inspect it with `file` in the shell"),
        ("p.bmp", "p.bmp is in the format BMP, which models do not take; convert it to PNG in the shell"),
        (
            "large.png",
            "large.png is an image of 4.0 MB; images of up to 3.9 MB can be shown: make a smaller one in the shell",
        ),
    ] {
        assert_eq!(check(&scratch, &format!(r#"{{"path":"{name}"}}"#)), failed(message));
    }
    assert_eq!(
        check(&scratch, r#"{"path":"d.svg"}"#),
        r#"{"ok":true,"data":{"path":"$ROOT/d.svg","content":"<svg/>","truncated":false,"bytes":6}}"#
    );
}

#[test]
fn a_huge_sparse_file_is_only_touched_where_needed() {
    let scratch = Scratch::new();
    scratch.put("huge", "text\n".repeat(20_000));
    std::fs::OpenOptions::new()
        .write(true)
        .open(scratch.path().join("huge"))
        .unwrap()
        .set_len(10 << 30)
        .unwrap();
    let found: serde_json::Value = serde_json::from_str(&check(&scratch, r#"{"path":"huge"}"#)).unwrap();
    assert_eq!(found["data"]["bytes"], 10_u64 << 30);
    assert_eq!(found["data"]["truncated"], true);
}
