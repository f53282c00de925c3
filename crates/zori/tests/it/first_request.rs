//! What happens before the first request of somebody who has configured nothing: which files are looked at, and that no thread is
//! started but the one that hears signals (DECISIONS 57, 64). Whoever adds a look here makes every start slower, and sees it.

use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::server::ModelServer;

use crate::reliability::interposer::{Call, can_trace, record_all};
use crate::world::world;

const PROMPT: &[&str] = &["exec", "--session", "s", "-p", "hi"];

#[test]
fn what_is_looked_at_as_root() {
    if !can_trace() {
        return;
    }
    let server = ModelServer::start([anthropic::text("Hello.")]);
    let mut world = world();
    world.use_server(&server);
    let (output, calls) = record_all(&world, PROMPT, "%file,clone,clone3,connect");
    assert_eq!(output.code(), Some(0), "{output}");
    let before: Vec<&Call> = calls.iter().take_while(|call| call.name != "connect").collect();
    assert!(before.len() < calls.len(), "nobody was asked");
    let threads = before.iter().filter(|call| call.name.starts_with("clone")).count();
    assert_eq!(threads, 1, "the one that hears signals");
    let looks: Vec<String> = before.iter().filter_map(|call| look(&world, call)).collect();
    insta::assert_snapshot!(looks.join("\n"), @r"
    getcwd $WORK
    statx $WORK
    statx $BASE
    statx $BASE/config.toml
    statx $BASE/prices.toml
    statx $BASE
    getcwd $WORK
    statx $WORK
    statx $WORK/.zori
    statx $WORK/.claude
    statx $WORK/.agents
    statx $WORK/.mcp.json
    openat $BASE/trust.json
    openat $BASE/models/anthropic.json
    readlink $HOME
    statx $WORK/CLAUDE.local.md
    statx $BASE/AGENTS.md
    statx $WORK/AGENTS.override.md
    statx $WORK/AGENTS.md
    statx $WORK/CLAUDE.md
    statx $WORK/.claude/CLAUDE.md
    statx $WORK/GEMINI.md
    openat $BASE/commands/
    openat $BASE/skills
    openat $HOME/.agents/skills
    statx $WORK/.git
    openat $BASE/agents
    statx /etc/zori/config.toml
    openat $BASE/settings.json
    readlink $BASE
    statx $WORK/.zori
    statx $WORK/.git
    statx $BASE/uses/$PROJECT
    openat $BASE/sessions/s.lock
    mkdir $BASE/sessions
    mkdir $BASE
    mkdir $BASE/sessions
    openat $BASE/sessions/s.lock
    statx $BASE/sessions/s.lock
    statx $BASE/sessions/s.jsonl
    openat $BASE/projects/$PROJECT/undo/restore
    statx $BASE/projects/$PROJECT/undo
    readlink $HOME
    statx $BASE/sessions/s.jsonl
    openat $BASE/sessions/s.jsonl
    statx $WORK/.git
    ");
}

/// A bundle of certificates takes longer to read than all the rest, and variables for several programs name the same one.
#[test]
fn certificates_are_read_once_as_root() {
    if !can_trace() {
        return;
    }
    let server = ModelServer::start([anthropic::text("Hello.")]);
    let mut world = world();
    world.use_server(&server);
    let file = world.write("bundle.pem", "none is looked at before a certificate is");
    world.set_var("SSL_CERT_FILE", &file).set_var("REQUESTS_CA_BUNDLE", &file);
    let (output, calls) = record_all(&world, PROMPT, "%file");
    assert_eq!(output.code(), Some(0), "{output}");
    let opened = |call: &&Call| call.name == "openat" && call.args.contains("bundle.pem");
    assert_eq!(calls.iter().filter(opened).count(), 1);
}

/// Returns a call as a line, if it is about a file of ours: what the loader reads and what lies above differ between machines.
fn look(world: &TestEnv, call: &Call) -> Option<String> {
    let path = call.args.split('"').nth(1)?;
    let places = [(world.home(), "$HOME"), (world.work(), "$WORK"), (world.base().to_owned(), "$BASE")];
    let found = places.iter().find_map(|(place, name)| {
        let rest = path.strip_prefix(place.to_str()?)?;
        Some(format!("{name}{rest}"))
    });
    let shown = found.or_else(|| path.starts_with("/etc/zori").then(|| path.to_owned()))?;
    // The name of a project's folder is the hash of its path.
    let shown = ["/projects/", "/uses/"].iter().fold(shown, |shown, folder| match shown.split_once(folder) {
        Some((before, after)) => {
            let rest = after.split_once('/').map_or(String::new(), |(_, rest)| format!("/{rest}"));
            format!("{before}{folder}$PROJECT{rest}")
        }
        None => shown,
    });
    Some(format!("{} {shown}", call.name))
}
