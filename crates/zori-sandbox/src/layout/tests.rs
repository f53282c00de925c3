use super::*;
use crate::spec::{Level, Limits, Network, ProtectedPath};

/// A file system in a line each: `dir/`, `file`, `link -> target`.
fn tree(lines: &'static str) -> impl Fn(&Path) -> PathState {
    move |path| {
        let path = path.to_str().unwrap();
        for line in lines.lines().map(str::trim) {
            if let Some((link, target)) = line.split_once(" -> ") {
                if link == path {
                    let (target, kind) = match target.strip_suffix('/') {
                        Some(dir) => (dir, PathKind::Dir),
                        None => (target, PathKind::File),
                    };
                    return PathState::Link((target != "nowhere").then(|| (target.into(), kind)));
                }
            } else if line.trim_end_matches('/') == path {
                return PathState::Present(if line.ends_with('/') { PathKind::Dir } else { PathKind::File });
            }
        }
        PathState::Missing
    }
}

fn spec(level: Level, hidden: &[&str], protected: &[&str]) -> Spec {
    let protected = protected.iter().map(|path| match path.strip_suffix('/') {
        Some(dir) => ProtectedPath { path: dir.into(), stub: Some(PathKind::Dir) },
        None => match path.strip_suffix('?') {
            Some(unseen) => ProtectedPath { path: unseen.into(), stub: None },
            None => ProtectedPath { path: path.into(), stub: Some(PathKind::File) },
        },
    });
    Spec {
        level,
        roots: vec!["/ws".into()],
        caches: vec!["/home/u/.cache".into(), "/home/u/.missing".into()],
        temp: "/tmp/private".into(),
        hidden: hidden.iter().map(PathBuf::from).collect(),
        visible: vec!["/home/u/.zori/skills".into()],
        protected: protected.collect(),
        network: Network::Off,
        limits: Limits { processes: None, file_size: None, memory: None },
    }
}

/// The one place that knows the interface: a layout as text.
fn shown(spec: &Spec, files: &'static str) -> String {
    let found = layout(spec, &tree(files));
    let mut text = String::new();
    for (path, mount) in &found.mounts {
        text.push_str(&format!("{mount:?} {}\n", path.display()));
    }
    for (path, kind) in &found.stubs {
        text.push_str(&format!("stub {kind:?} {}\n", path.display()));
    }
    for link in &found.links {
        text.push_str(&format!("link {}\n", link.display()));
    }
    for GuardedPath { path, missing } in &found.guarded {
        text.push_str(&format!("guard {} from {}\n", path.display(), missing.display()));
    }
    text
}

const FILES: &str = "/tmp/
    /tmp/private/
    /tmp/other
    /ws/
    /ws/.git/
    /ws/.git/hooks/
    /ws/.env
    /ws/sub/
    /ws/sub/deep/
    /ws/sub/deep/.git/
    /ws/CLAUDE.md -> /ws/docs/agents.md
    /ws/.claude -> /elsewhere/
    /ws/.mcp.json -> nowhere
    /ws/docs/
    /ws/docs/agents.md
    /home/u/.cache/
    /home/u/.ssh/
    /home/u/.ssh/id
    /home/u/.aws -> /data/aws/";

#[test]
fn a_workspace() {
    let spec = spec(
        Level::Workspace,
        &["/home/u/.ssh", "/home/u/.ssh/id", "/home/u/.aws", "/home/u/.gnupg", "/ws/.env", "/tmp/other"],
        &[
            "/ws/.git/",
            "/ws/.git/hooks/",
            "/ws/sub/deep/.git/",
            "/ws/AGENTS.md",
            "/ws/.cargo/config.toml",
            "/etc/x",
        ],
    );
    assert_eq!(
        shown(&spec, FILES),
        "\
HiddenDir /data/aws
Writable /home/u/.cache
HiddenDir /home/u/.ssh
Private(\"/tmp/private\") /tmp
Writable /tmp/private
Writable /ws
ReadOnly /ws/.cargo
HiddenFile /ws/.env
ReadOnly /ws/.git
ReadOnly /ws/AGENTS.md
Writable /ws/sub
Writable /ws/sub/deep
ReadOnly /ws/sub/deep/.git
stub Dir /ws/.cargo
stub File /ws/AGENTS.md
"
    );
}

#[test]
fn links_are_kept_and_their_targets_protected() {
    let spec = spec(Level::Workspace, &[], &["/ws/CLAUDE.md", "/ws/.claude/", "/ws/.mcp.json"]);
    assert_eq!(
        shown(&spec, FILES),
        "\
Writable /home/u/.cache
Private(\"/tmp/private\") /tmp
Writable /tmp/private
Writable /ws
Writable /ws/docs
ReadOnly /ws/docs/agents.md
link /ws/.claude
link /ws/.mcp.json
link /ws/CLAUDE.md
"
    );
}

#[test]
fn reading_only_leaves_the_private_directory() {
    let spec = spec(Level::ReadOnly, &["/ws/.env"], &["/ws/.git/", "/ws/AGENTS.md"]);
    assert_eq!(
        shown(&spec, FILES),
        "\
Private(\"/tmp/private\") /tmp
Writable /tmp/private
ReadOnly /ws
HiddenFile /ws/.env
"
    );
}

#[test]
fn a_file_where_a_directory_was_meant_cannot_be_replaced() {
    let spec = spec(Level::Workspace, &[], &["/ws/.env/hooks/"]);
    assert_eq!(
        shown(&spec, FILES),
        "\
Writable /home/u/.cache
Private(\"/tmp/private\") /tmp
Writable /tmp/private
Writable /ws
ReadOnly /ws/.env
"
    );
}

/// What is missing and has no stub is seen nowhere, and looked at afterwards.
#[test]
fn nothing_is_seen_of_what_is_guarded() {
    let spec = spec(
        Level::Workspace,
        &["/home/u/.zori"],
        &["/ws/AGENTS.md?", "/ws/.cargo/config.toml?", "/ws/.env?"],
    );
    let files = "/tmp/
    /tmp/private/
    /ws/
    /ws/.env
    /home/u/.zori/
    /home/u/.zori/skills/";
    assert_eq!(
        shown(&spec, files),
        "\
HiddenDir /home/u/.zori
ReadOnly /home/u/.zori/skills
Private(\"/tmp/private\") /tmp
Writable /tmp/private
Writable /ws
ReadOnly /ws/.env
guard /ws/AGENTS.md from /ws/AGENTS.md
guard /ws/.cargo/config.toml from /ws/.cargo
"
    );
}

/// A parent mounted writable in its place would open the protected one above it.
#[test]
fn what_is_inside_a_closed_place_opens_nothing() {
    let spec = spec(Level::Workspace, &["/ws/docs"], &["/ws/sub/", "/ws/sub/deep/.git/", "/ws/docs/a/b/"]);
    assert_eq!(
        shown(&spec, FILES),
        "\
Writable /home/u/.cache
Private(\"/tmp/private\") /tmp
Writable /tmp/private
Writable /ws
HiddenDir /ws/docs
ReadOnly /ws/sub
stub Dir /ws/docs/a
"
    );
}
