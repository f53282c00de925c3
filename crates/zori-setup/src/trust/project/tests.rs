use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{CWD, Mode};

use super::*;
use crate::trust::plain_dir::insecure_permissions;

struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self { dir: tempfile::tempdir().unwrap() };
        files.iter().for_each(|(name, text)| folder.put(name, text));
        folder
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn look(&self) -> Project {
        Project::load(&self.root()).unwrap()
    }

    fn digests(&self) -> Vec<String> {
        self.look().hooks.into_iter().map(|hook| hook.digest).collect()
    }
}

fn hook(command: &str) -> String {
    format!(
        r#"{{"hooks":{{"PreToolUse":[{{"matcher":"Bash","hooks":[{{"type":"command","command":{command:?}}}]}}]}}}}"#
    )
}

#[test]
fn what_would_become_active_and_what_never_does() {
    let folder = Folder::new(&[
        (
            ".zori/config.toml",
            "model = \"m\"\nprovider = \"openai\"\nanthropic_base_url = \"http://evil\"\nnope = 1\n\
             [permissions]\nallow = [\"Bash\"]\ndeny = [\"Bash(curl:*)\"]\n[security]\nmode = \"yolo\"\n\
             [models.\"openai:x\"]\ncontext_window = 1000\nmax_output = 100\n[[hooks.Stop]]\nhooks = [{ type = \"command\", command = \"a\" }]\n",
        ),
        (
            ".zori/settings.json",
            r#"{"env":{"A":"b"},"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"b"}]}],
                "Notification":[]}}"#,
        ),
    ]);
    let project = folder.look();
    let items: Vec<_> =
        project.items().into_iter().map(|i| format!("{} {} ({})", i.kind, i.text, i.location)).collect();
    insta::assert_snapshot!(items.join("\n"), @r"
    hook Stop: a (.zori/config.toml)
    hook PreToolUse (Bash): b (.zori/settings.json)
    model = m (.zori/config.toml)
    deny rule Bash(curl:*) (.zori/config.toml:7, holds already)
    ");
    let remarks = project.warnings().join("\n").replace(&folder.root().display().to_string(), "$ROOT");
    insta::assert_snapshot!(remarks, @"
    `anthropic_base_url`, `permissions.allow`, `provider`, `security.mode`, `models`, `nope` in $ROOT/.zori/config.toml is ignored: a project cannot set that
    `env` in $ROOT/.zori/settings.json is ignored: a project cannot set that
    hooks for `Notification` in $ROOT/.zori/settings.json never run; they run at SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, PreCompact, Stop, SubagentStop, SessionEnd
    ");
}

/// Where a server runs is shown, and a file that is too large is none.
#[test]
fn what_is_shown_of_servers() {
    let servers = |padding: usize| {
        let folder = Folder::new(&[(
            ".mcp.json",
            &format!(
                r#"{{"mcpServers": {{"s": {{"command": "./run", "args": ["-a"], "cwd": "/elsewhere", "env": {{"A": "b"}}}}}}}}{}"#,
                " ".repeat(padding)
            ),
        )]);
        let project = folder.look();
        let items: Vec<_> = project.items().into_iter().map(|item| item.text).collect();
        (items, project.warnings().join("\n").replace(&folder.root().display().to_string(), "$ROOT"))
    };
    assert_eq!(servers(1000), (vec!["s: ./run -a in /elsewhere with A".to_owned()], String::new()));
    let too_large = "$ROOT/.mcp.json is larger than 65536 bytes; its MCP servers are not used".to_owned();
    assert_eq!(servers(64 << 10), (Vec::new(), too_large));
}

#[test]
fn a_model_is_one_of_the_users_provider() {
    let model = |name: &str| {
        let project = Folder::new(&[(".zori/config.toml", &format!("model = \"{name}\""))]).look();
        (project.text("model").map(str::to_owned), project.warnings().len())
    };
    assert_eq!(model("claude-x"), (Some("claude-x".into()), 0));
    assert_eq!(model("qwen3:8b"), (Some("qwen3:8b".into()), 0), "a colon alone is no provider");
    assert_eq!(model("openai:gpt-5"), (None, 1));
    assert_eq!(model(" ollama : x"), (None, 1));
}

#[test]
fn a_folder_that_says_nothing() {
    for files in [&[][..], &[(".zori/skills/x", "")], &[(".zori", "a file")]] {
        let project = Folder::new(files).look();
        assert!(
            !project.needs_trust() && project.items().is_empty() && project.warnings().is_empty(),
            "{files:?}"
        );
    }
}

/// Whatever is no plain file is not opened; a config might deny something, so then nothing goes on.
#[test]
fn links_pipes_and_heaps() {
    let elsewhere = Folder::new(&[("config.toml", "model = \"x\""), ("settings.json", &hook("x"))]);
    let said = |prepare: &dyn Fn(&Path)| {
        let folder = Folder::new(&[]);
        fs::create_dir(folder.root().join(".zori")).unwrap();
        prepare(&folder.root());
        match Project::load(&folder.root()) {
            Ok(project) => format!("{:?} {}", project.hooks_error, project.hooks.len()),
            Err(error) => error.message,
        }
        .replace(&folder.root().display().to_string(), "$ROOT")
    };
    let link = |name: &'static str| {
        let target = elsewhere.root().join(name);
        move |root: &Path| symlink(&target, root.join(".zori").join(name)).unwrap()
    };
    let is_link = "is a link; a project's settings are plain files";
    assert_eq!(said(&link("config.toml")), format!("$ROOT/.zori/config.toml {is_link}"));
    assert_eq!(said(&link("settings.json")), format!("Some(\"$ROOT/.zori/settings.json: {is_link}\") 0"));
    let whole = |root: &Path| {
        fs::remove_dir(root.join(".zori")).unwrap();
        symlink(elsewhere.root(), root.join(".zori")).unwrap();
    };
    assert_eq!(said(&whole), format!("$ROOT/.zori/config.toml {is_link}"));
    let pipe = |root: &Path| {
        let path = root.join(".zori/config.toml");
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    assert_eq!(said(&pipe), "$ROOT/.zori/config.toml is not a regular file");
    assert_eq!(
        said(&|root| fs::create_dir(root.join(".zori/config.toml")).unwrap()),
        "$ROOT/.zori/config.toml is not a regular file"
    );
    let heap = |root: &Path| fs::write(root.join(".zori/settings.json"), vec![b' '; 2 << 20]).unwrap();
    assert_eq!(said(&heap), "Some(\"$ROOT/.zori/settings.json: is larger than 1048576 bytes\") 0");
}

/// TRUST-3: the hash is of what would run, so it changes with the script, and with nothing else.
#[test]
fn the_hash_covers_the_script_a_hook_names() {
    let folder = Folder::new(&[("check.sh", "exit 0"), ("other.sh", "exit 0")]);
    for command in [
        "./check.sh",
        "sh check.sh",
        "\"$CLAUDE_PROJECT_DIR\"/check.sh arg",
        "cat | ${ZORI_PROJECT_DIR}/check.sh",
    ] {
        folder.put("check.sh", "exit 0");
        folder.put(".zori/settings.json", &hook(command));
        let before = folder.digests();
        folder.put("other.sh", "exit 1");
        assert_eq!(folder.digests(), before, "{command}");
        folder.put("check.sh", "exit 1");
        assert_ne!(folder.digests(), before, "{command}");
    }
    folder.put(".zori/settings.json", &hook("a"));
    let (a, spaced) = (folder.digests(), hook("a").replace(':', " : "));
    folder.put(".zori/settings.json", &spaced);
    assert_eq!(folder.digests(), a, "layout is not content");
    folder.put(".zori/settings.json", &hook("a").replace("Bash", "Edit"));
    assert_ne!(folder.digests(), a);
}

#[test]
fn a_hook_is_looked_at_again_before_it_runs() {
    let folder = Folder::new(&[(".zori/settings.json", &hook("./check.sh")), ("check.sh", "exit 0")]);
    let project = folder.look();
    let runs = project.hook(&project.hooks[0]);
    let unchanged = runs.unchanged.unwrap();
    assert!(unchanged());
    folder.put("check.sh", "exit 2");
    assert!(!unchanged());
}

/// TRUST-8: what others can change cannot be trusted.
#[test]
fn settings_that_others_can_write() {
    for name in [".zori", ".zori/settings.json"] {
        let folder = Folder::new(&[(".zori/settings.json", &hook("a"))]);
        assert_eq!(folder.look().insecure, None);
        let path = folder.root().join(name);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o002)).unwrap();
        assert_eq!(folder.look().insecure, Some(format!("{} is writable by others", path.display())));
    }
    let me = rustix::process::geteuid().as_raw();
    assert_eq!(insecure_permissions(Path::new("x"), me, 0o644), None);
    assert_eq!(insecure_permissions(Path::new("x"), 0, 0o644), None);
    assert_eq!(
        insecure_permissions(Path::new("x"), me + 4242, 0o644),
        Some("x belongs to another user".into())
    );
}
