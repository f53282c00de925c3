use std::fs;
use std::time::{Duration, SystemTime};

use super::*;

fn workspace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    at("README.md", "# Demo\ntoken: abcdef\nend\n");
    at("src/main.rs", "fn main() {}\n");
    at("src/a/b/c/deep.rs", "x");
    at("src/a/b/c/d/deeper.rs", "x");
    at("node_modules/x/index.js", "no");
    at("ignored.log", "no");
    at(".gitignore", "*.log\n");
    at(".env", "KEY=1");
    dir
}

fn facts() -> BlockFacts {
    BlockFacts {
        project: "default".to_owned(),
        profile: "default".to_owned(),
        profile_prompt: String::new(),
        time_utc: "2026-01-01T00:00:00Z".to_owned(),
        security_mode: "balanced".to_owned(),
        tools: vec!["- read_file [auto]".to_owned()],
    }
}

fn redacted(text: &str) -> String {
    text.replace("abcdef", "***REDACTED***")
}

fn built(settings: &ContextSettings) -> String {
    let (tree, previews) = (Tree::read(settings), Previews::read(settings, &redacted));
    block(settings, &facts(), &tree, &previews, &redacted)
}

#[test]
fn a_block() {
    let dir = workspace();
    let settings = ContextSettings::new(dir.path().to_owned());
    let text = built(&settings).replace(&dir.path().display().to_string(), "$ROOT");
    insta::assert_snapshot!(text);
    assert_eq!(built(&settings), built(&settings), "equal workspaces give equal bytes");
}

#[test]
fn an_observation() {
    let dir = workspace();
    for number in 0..9 {
        fs::write(dir.path().join(format!("n{number}")), "1").unwrap();
    }
    let settings = ContextSettings::new(dir.path().to_owned());
    let (tree, previews) = (Tree::read(&settings), Previews::read(&settings, &redacted));
    let text = observer("default", &tree, &previews);
    let without_hash: Vec<_> = text.lines().filter(|line| !line.starts_with("context_hash")).collect();
    insta::assert_snapshot!(without_hash.join("\n"));
}

#[test]
fn bounds_are_bytes_whatever_the_letters() {
    let dir = workspace();
    fs::write(dir.path().join("README.md"), "é…漢字\n".repeat(2000)).unwrap();
    for max_bytes in [300, 999, 1000, 1001, 1500, 20_000] {
        let settings = ContextSettings {
            max_bytes,
            max_preview_bytes: 101,
            ..ContextSettings::new(dir.path().to_owned())
        };
        let text = built(&settings);
        assert!(text.len() <= max_bytes, "{} > {max_bytes}", text.len());
        assert!(text.ends_with("\n[/AZ_CONTEXT]"), "{text}");
        let preview = &Previews::read(&settings, &redacted).files[0].1;
        assert!(preview.len() <= 101 && preview.ends_with("\n... [truncated]"), "{preview}");
    }
    let short = ContextSettings { max_bytes: 300, ..ContextSettings::new(dir.path().to_owned()) };
    assert!(built(&short).contains("\n... [truncated]\n[/AZ_CONTEXT]"));
}

/// A secret that the bound would cut in half is gone before that.
#[test]
fn what_is_secret_is_taken_out_before_the_cut() {
    let dir = workspace();
    let half = Previews::read(
        &ContextSettings { max_preview_bytes: 32, ..ContextSettings::new(dir.path().to_owned()) },
        &redacted,
    );
    assert!(!half.files[0].1.contains("abc"), "{half:?}");
}

#[test]
fn the_signature_changes_with_the_files_only() {
    let dir = workspace();
    let settings = ContextSettings::new(dir.path().to_owned());
    let before = Tree::read(&settings).signature();
    assert_eq!((before.len(), Tree::read(&settings).signature()), (64, before.clone()));
    fs::write(dir.path().join("ignored.log"), "other").unwrap();
    assert_eq!(Tree::read(&settings).signature(), before);
    fs::write(dir.path().join("src/main.rs"), "fn main() { }\n").unwrap();
    assert_ne!(Tree::read(&settings).signature(), before);
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(Tree::read(&ContextSettings::new(empty.path().to_owned())).signature(), "empty");
}

#[test]
fn what_is_odd_does_not_stop_it() {
    let dir = workspace();
    std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("AGENTS.md")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.path().join("package.json"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let text = built(&ContextSettings::new(dir.path().to_owned()));
    assert!(!text.contains("loop/") && !text.contains("root:x:") && !text.contains("package.json"), "{text}");
    let few = ContextSettings { max_files: 2, ..ContextSettings::new(dir.path().to_owned()) };
    let tree = Tree::read(&few);
    assert_eq!((tree.files.len(), tree.truncated), (2, true));
}

#[test]
fn names_that_may_hold_secrets() {
    for (name, sensitive) in [
        (".env", true),
        (".env.production", true),
        (".env.example", false),
        ("deploy/server.pem", true),
        ("config.yaml", true),
        ("id_ed25519", true),
        ("Cargo.toml", false),
        ("own.secret", true),
    ] {
        assert_eq!(is_sensitive(name, &["*.secret".to_owned()]), sensitive, "{name}");
    }
    let dir = workspace();
    let asked = ContextSettings {
        preview_files: vec![".env".into(), "../x".into()],
        ..ContextSettings::new(dir.path().to_owned())
    };
    let previews = Previews::read(&asked, &redacted);
    assert_eq!((previews.files.len(), previews.left_out), (0, vec![".env".to_owned()]));
}
