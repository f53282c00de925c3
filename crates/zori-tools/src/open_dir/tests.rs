use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::testing::Scratch;

/// The ways of opening that this system has.
const WAYS: &[OpenMethod] = &[
    #[cfg(target_os = "linux")]
    OpenMethod::Kernel,
    OpenMethod::Stepwise,
];

/// What comes of opening a file, in each way, which is the same.
fn opened(scratch: &Scratch, path: &str) -> String {
    let path = if path.starts_with('/') { path.into() } else { scratch.path().join(path) };
    let open = |way: &OpenMethod| match open(*way, &path, READ).map(File::from) {
        Ok(file) => FileMeta::of(&file).unwrap().len.to_string(),
        Err(errno) => match OpenError::from(errno) {
            OpenError::Changed => "changed".to_owned(),
            OpenError::Io(error) => error.kind().to_string(),
        },
    };
    let mut all: Vec<_> = WAYS.iter().map(open).collect();
    all.dedup();
    all.join(" or ")
}

#[test]
fn no_link_is_followed_in_either_way() {
    let scratch = Scratch::new();
    scratch.put("real/file", "1234");
    symlink("file", scratch.path().join("real/link")).unwrap();
    symlink("real", scratch.path().join("folder")).unwrap();
    symlink("/", scratch.path().join("top")).unwrap();
    symlink("loop", scratch.path().join("loop")).unwrap();
    for (path, expected) in [
        ("real/file", "4"),
        ("real/link", "changed"),
        ("folder/file", "changed"),
        ("folder/none", "changed"),
        ("top/etc/passwd", "changed"),
        ("loop", "changed"),
        ("loop/x", "changed"),
        ("real/none", "entity not found"),
        ("none/file", "entity not found"),
        ("real/file/x", "not a directory"),
        ("/proc/self/status", "changed"),
    ] {
        assert_eq!(opened(&scratch, path), expected, "{path}");
    }
}

#[test]
fn a_folder_need_not_be_readable() {
    let scratch = Scratch::new();
    scratch.put("shut/in/file", "12");
    let shut = scratch.path().join("shut");
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o311)).unwrap();
    assert_eq!(opened(&scratch, "shut/in/file"), "2");
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_held_folder_stays_the_same_wherever_its_name_leads() {
    let scratch = Scratch::new();
    scratch.put("a/file", "inside");
    scratch.put("b/file", "outside");
    let slot = NameInDir::at(&scratch.path().join("a/file")).unwrap();
    fs::rename(scratch.path().join("a"), scratch.path().join("moved")).unwrap();
    symlink("b", scratch.path().join("a")).unwrap();
    let new = slot.beside("new");
    new.create(Mode::from_raw_mode(0o600)).unwrap();
    new.rename(&slot).unwrap();
    assert_eq!([scratch.get("moved/file"), scratch.get("b/file")], ["", "outside"]);
    assert!(matches!(NameInDir::at(&scratch.path().join("a/file")), Err(OpenError::Changed)));
}

#[test]
fn missing_folders_are_made_and_named() {
    let scratch = Scratch::new();
    scratch.put("a/file", "");
    symlink("a", scratch.path().join("link")).unwrap();
    let mut made = Vec::new();
    OpenDir::make(&scratch.path().join("a/b/c"), &mut made).unwrap();
    let names: Vec<_> = made.iter().map(|slot| slot.name.to_str().unwrap()).collect();
    assert_eq!(names, ["b", "c"]);
    assert!(matches!(OpenDir::make(&scratch.path().join("link/b/d"), &mut made), Err(OpenError::Changed)));
    assert_eq!(scratch.list(), ["a", "a/b", "a/b/c", "a/file", "link"]);
}

#[test]
fn a_name_that_is_taken_is_not_replaced_by_chance() {
    let scratch = Scratch::new();
    scratch.put("one", "1");
    scratch.put("two", "2");
    let one = NameInDir::at(&scratch.path().join("one")).unwrap();
    let error = one.rename_to_free(&one.beside("two")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    one.rename_to_free(&one.beside("three")).unwrap();
    assert_eq!(scratch.list(), ["three", "two"]);
}
