//! What a walk sees, and how it ends.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use super::*;
use crate::walk::tree::Tree;

/// Collects names relative to the start.
struct Names {
    cut: usize,
    names: Vec<String>,
}

impl Visitor for Names {
    fn visit(&mut self, entry: &DirEntry) -> WalkState {
        self.names.push(entry.path().to_string_lossy()[self.cut..].to_owned());
        WalkState::Continue
    }
}

/// Walks a part of a tree; the names, joined in order.
fn walk(tree: &Tree, start: &str, hidden: Hidden) -> String {
    let start = if start.is_empty() { tree.root.clone() } else { tree.root.join(start) };
    let walk = Walk { root: &tree.root, start: &start, hidden, max_depth: None, types: None };
    let cut = filter::start_len(&start);
    let names = walk.run(&Cancel::new(), || Names { cut, names: Vec::new() }).unwrap();
    let names: BTreeSet<_> = names.into_iter().flat_map(|names| names.names).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

#[test]
fn ignore_files_count_without_a_repository() {
    let tree = Tree::new(&[
        (".gitignore", "*.log\n/build/\n"),
        ("a.rs", ""),
        ("a.log", ""),
        ("build/out", ""),
        ("sub/.ignore", "b.rs\n"),
        ("sub/b.rs", ""),
        ("sub/c.rs", ""),
        ("sub/build/kept", ""),
        (".hidden/x", ""),
    ]);
    assert_eq!(walk(&tree, "", Hidden::Skip), "a.rs sub sub/build sub/build/kept sub/c.rs");
    assert_eq!(
        walk(&tree, "", Hidden::Show),
        ".gitignore .hidden .hidden/x a.rs sub sub/.ignore sub/build sub/build/kept sub/c.rs"
    );
}

#[test]
fn ignore_files_between_the_root_and_the_start_count() {
    let tree = Tree::new(&[
        (".gitignore", "*.log\n/sub/deep/one\n"),
        ("sub/.gitignore", "/deep/two\n"),
        ("sub/deep/one", ""),
        ("sub/deep/two", ""),
        ("sub/deep/three", ""),
        ("sub/deep/four.log", ""),
    ]);
    assert_eq!(walk(&tree, "sub/deep", Hidden::Skip), "three");
}

#[test]
fn ignore_files_above_the_root_count_in_a_repository_only() {
    let mut tree = Tree::new(&[("home/.gitignore", "*\n"), ("home/project/sub/a.rs", "")]);
    let home = tree.root.join("home");
    tree.root = home.join("project");
    assert_eq!(walk(&tree, "", Hidden::Skip), "sub sub/a.rs");
    assert_eq!(walk(&tree, "sub", Hidden::Skip), "a.rs");
    std::fs::create_dir(home.join(".git")).unwrap();
    assert_eq!(walk(&tree, "sub", Hidden::Skip), "");
}

#[test]
fn a_repository_is_seen_but_not_entered() {
    let tree =
        Tree::new(&[(".git/config", ""), (".git/info/exclude", "secret\n"), ("secret", ""), ("a", "")]);
    assert_eq!(walk(&tree, "", Hidden::Show), ".git a");
    assert_eq!(walk(&tree, "", Hidden::Skip), "a");
    assert_eq!(walk(&tree, ".git", Hidden::Skip), "config info info/exclude");
}

#[test]
fn links_are_seen_but_not_followed() {
    let tree = Tree::new(&[("dir/a", "")]);
    symlink("..", tree.root.join("dir/up")).unwrap();
    symlink("loop", tree.root.join("loop")).unwrap();
    symlink("dir", tree.root.join("other")).unwrap();
    assert_eq!(walk(&tree, "", Hidden::Skip), "dir dir/a dir/up loop other");
    assert_eq!(walk(&tree, "other", Hidden::Skip), "a up");
}

/// Cancels at the first entry it sees.
struct Canceller<'a>(&'a Cancel, usize);

impl Visitor for Canceller<'_> {
    fn visit(&mut self, _: &DirEntry) -> WalkState {
        self.0.cancel();
        self.1 += 1;
        assert_eq!(self.1, 1, "an entry was visited after the cancel");
        WalkState::Continue
    }
}

#[test]
fn a_cancelled_walk_visits_nothing_more() {
    let tree = Tree::new(&[]);
    for i in 0..200 {
        tree.write(format!("{}/{i}", i % 10), b"");
    }
    let cancel = Cancel::new();
    let walk =
        Walk { root: &tree.root, start: &tree.root, hidden: Hidden::Skip, max_depth: None, types: None };
    assert_eq!(walk.run(&cancel, || Canceller(&cancel, 0)).err(), Some(Cancelled));
}

/// Has a defect.
struct Panicker;

impl Visitor for Panicker {
    fn visit(&mut self, _: &DirEntry) -> WalkState {
        panic!("boom")
    }
}

#[test]
fn a_panic_ends_the_walk_on_all_threads() {
    let tree = Tree::new(&[("a/b", ""), ("c/d", ""), ("e/f", "")]);
    let walk =
        Walk { root: &tree.root, start: &tree.root, hidden: Hidden::Skip, max_depth: None, types: None };
    let panic =
        catch_unwind(AssertUnwindSafe(|| walk.run(&Cancel::new(), || Panicker).map(|_| ()))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"boom"));
}
