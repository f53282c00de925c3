//! The code index: what is found, what changes, what goes.

use tempfile::TempDir;

use super::{NOW, store};
use crate::{
    CodeChange, CodeChunk, CodeContent, CodeFile, CodeQuestion, CodeSymbol, KnownFile, ProjectStore,
};

fn file(path: &str, symbols: &[(&str, &str, u32)], text: &str) -> CodeChange {
    let symbol = |(kind, name, line): &(&str, &str, u32)| CodeSymbol {
        name: (*name).into(),
        parts: "load config".into(),
        kind: (*kind).into(),
        signature: format!("{kind} {name}"),
        start: *line,
        end: *line + 2,
        parent: None,
    };
    let chunk = CodeChunk { start: 1, end: 50, text: text.into(), parts: "heron nest".into() };
    let content = CodeContent { symbols: symbols.iter().map(symbol).collect(), chunks: vec![chunk] };
    CodeChange::Put(Box::new(CodeFile {
        path: path.into(),
        size: text.len() as u64,
        mtime_ns: 7,
        hash: vec![1; 16],
        lang: "rust",
        content: Ok(content),
    }))
}

/// One line for each place: where, which symbol, how it begins.
fn found(store: &ProjectStore, question: &CodeQuestion<'_>) -> Vec<String> {
    let hits = store.search_code(&CodeQuestion { limit: 10, ..question.clone() }).unwrap();
    let line = |hit: crate::CodeHit| {
        let symbol = hit.symbol.map_or(String::new(), |symbol| format!(" {}", symbol.name));
        format!("{}:{}-{}{symbol}", hit.path, hit.start, hit.end)
    };
    hits.into_iter().map(line).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn by_name_by_words_by_kind_and_by_folder() {
    let base = TempDir::new().unwrap();
    let mut store = store(&base, "/a");
    let changes = [
        file("src/config.rs", &[("function", "loadConfig", 3)], "fn loadConfig() { read_file() }"),
        file("src/main.rs", &[("function", "main", 1)], "fn main() { load the config of the heron }"),
        file("docs/x.rs", &[("struct", "Other", 1)], "nothing of interest"),
    ];
    store.change_code(changes.into(), NOW).unwrap();
    let load_config = words("load config");
    let ask = CodeQuestion { words: &load_config, names: &["loadConfig"], ..CodeQuestion::default() };
    // All symbols of this test have the same parts, so that the exact name decides.
    assert_eq!(found(&store, &ask)[0], "src/config.rs:3-5 loadConfig");
    let heron = words("heron");
    let ask = CodeQuestion { words: &heron, ..CodeQuestion::default() };
    assert_eq!(found(&store, &ask)[0], "src/main.rs:1-50");
    assert_eq!(found(&store, &CodeQuestion { path: Some("docs"), ..ask.clone() }), ["docs/x.rs:1-50"]);
    assert_eq!(found(&store, &CodeQuestion { path: Some("doc"), ..ask.clone() }), [""; 0]);
    let ask = CodeQuestion { words: &load_config, kind: Some("struct"), ..CodeQuestion::default() };
    assert_eq!(found(&store, &ask), ["docs/x.rs:1-3 Other"]);
    // What is no word is no query.
    let hostile = words("\" OR * NEAR( -x");
    let ask = CodeQuestion { words: &hostile, ..CodeQuestion::default() };
    assert_eq!(found(&store, &ask), [""; 0]);
}

#[test]
fn files_come_change_and_go() {
    let base = TempDir::new().unwrap();
    let mut store = store(&base, "/a");
    store.change_code(vec![file("a.rs", &[("function", "one", 1)], "heron")], NOW).unwrap();
    store.begin_code_pass(2, NOW).unwrap();
    assert!(!store.code_status().unwrap().is_whole());
    let touched = CodeChange::Touched { path: "a.rs".into(), size: 9, mtime_ns: 8 };
    store.change_code(vec![touched], NOW).unwrap();
    assert_eq!(store.code_files().unwrap()["a.rs"], KnownFile { size: 9, mtime_ns: 8, hash: vec![1; 16] });
    store.change_code(vec![file("a.rs", &[("function", "two", 1)], "stork")], NOW).unwrap();
    let heron = words("heron");
    let ask = CodeQuestion { words: &heron, names: &["one"], ..CodeQuestion::default() };
    // The chunk still has the part `heron` that every chunk of these tests has.
    assert_eq!(found(&store, &ask), ["a.rs:1-50"]);
    assert_eq!(store.code_map(None).unwrap()[0].symbols[0].name, "two");
    store.end_code_pass(NOW).unwrap();
    let status = store.code_status().unwrap();
    assert_eq!((status.files, status.symbols, status.chunks, status.found), (1, 1, 1, 2));
    assert!(status.is_whole());
    store.change_code(vec![CodeChange::Gone("a.rs".into())], NOW).unwrap();
    assert_eq!(found(&store, &ask), [""; 0]);
    assert_eq!(store.code_status().unwrap().symbols, 0);
}

/// Nothing of another project is found or cleared, and a canary leaves the bytes of the file.
#[test]
fn projects_are_apart_and_clearing_is_thorough() {
    let base = TempDir::new().unwrap();
    let mut a = store(&base, "/a");
    a.change_code(vec![file("a.rs", &[("function", "canaryName", 1)], "canarytext")], NOW).unwrap();
    let mut b = store(&base, "/a/b");
    b.change_code(vec![file("b.rs", &[("function", "other", 1)], "stork")], NOW).unwrap();
    let canary = words("canarytext");
    let ask = CodeQuestion { words: &canary, names: &["canaryName"], ..CodeQuestion::default() };
    assert_eq!(found(&b, &ask), [""; 0]);
    assert_eq!(found(&a, &ask), ["a.rs:1-3 canaryName"]);
    let before = b.code_map(None).unwrap();
    assert_eq!(a.clear_code(NOW).unwrap(), 1);
    assert_eq!(found(&a, &ask), [""; 0]);
    assert_eq!(b.code_map(None).unwrap(), before);
    drop(b);
    a.reclaim().unwrap();
    drop(a);
    for entry in std::fs::read_dir(base.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        assert!(!text.contains("canary"), "{}", path.display());
    }
}

/// Words that nearly every chunk and symbol has do not decide, and a question of such words alone has an answer.
#[test]
fn words_that_very_much_code_has() {
    let base = TempDir::new().unwrap();
    let (mut mine, mut other) = (store(&base, "/a"), store(&base, "/b"));
    let many = |from: usize, to: usize| -> Vec<CodeChange> {
        let one = |n: usize| {
            let name = format!("item{n}");
            file(&format!("{n:05}.rs"), &[("function", &name, 1)], &format!("let value = add {n}"))
        };
        (from..to).map(one).collect()
    };
    mine.change_code(many(0, 4_100), NOW).unwrap();
    mine.change_code(vec![file("pond.rs", &[("struct", "Pond", 1)], "let value = fish")], NOW).unwrap();
    other.change_code(many(5_000, 5_010), NOW).unwrap();
    let ask = |store: &ProjectStore, text: &str| {
        let words = words(text);
        found(store, &CodeQuestion { words: &words, ..CodeQuestion::default() })
    };
    assert_eq!(ask(&mine, "value fish"), ["pond.rs:1-50"]);
    assert_eq!(ask(&mine, "add value 77"), ["00077.rs:1-50"]);
    // Every symbol of these tests has the part `config`, and every chunk the part `nest`.
    assert_eq!(ask(&mine, "config")[0], "00000.rs:1-3 item0");
    assert_eq!(ask(&mine, "nobody nest value")[0], "00000.rs:1-50");
    assert_eq!(ask(&mine, "value nest").len(), 10);
    // What is rare over all projects may be none of this one's.
    assert_eq!(ask(&other, "fish value").len(), 10);
    assert_eq!(ask(&other, "fish"), [""; 0]);
    let kind = words("config");
    let ask = CodeQuestion { words: &kind, kind: Some("struct"), ..CodeQuestion::default() };
    assert_eq!(found(&mine, &ask), ["pond.rs:1-3 Pond"]);
}
