//! What goes on beside a turn starts in one place: `Workers::spawn` of the binary, which refuses what `--bare` forbids and
//! leaves a span of the rest (FR-001). Every other place that starts a thread or a task is listed, with the reason why
//! what it starts is no worker.

use super::Finding;
use super::outside::test_files;
use super::scan;
use crate::workspace::Workspace;

/// What starts something that goes on by itself.
const STARTS: &[&str] =
    &["thread::spawn", "thread::Builder", "thread::scope", "tokio::spawn", "spawn_local(", "spawn_blocking("];

/// The one place.
const WORKERS: &str = "crates/zori-setup/src/workers.rs";

/// A file that starts something else, and why that is no worker.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/zori-auth/src/helper_program.rs", "reads what one program prints, for a bounded time"),
    ("crates/zori-auth/src/os_store.rs", "one look into the credential store, for a bounded time"),
    ("crates/zori-auth/src/renewing.rs", "one look into the credential store, which waits for it"),
    ("crates/zori-contract/src/process.rs", "reads what one child prints, and ends with it"),
    ("crates/zori-contract/src/watchdog.rs", "ends with the command, which it bounds"),
    ("crates/zori-contract/examples/notes/main.rs", "an example, without workers"),
    ("crates/zori-engine/src/dispatch/capture.rs", "the checkpoint of a group of calls, which waits for it"),
    ("crates/zori-undo/src/capture.rs", "the first look at a folder, which `--bare` has within a call"),
    ("crates/zori-host/src/code_index/tools.rs", "the work of one call, which waits for it"),
    ("crates/zori-host/src/memory/recall.rs", "one look into the memory, which the turn waits for"),
    ("crates/zori-host/src/memory/tools.rs", "the work of one call, which waits for it"),
    (
        "crates/zori-host/src/memory/vectors.rs",
        "one look into the memory, which a call or a worker waits for",
    ),
    (
        "crates/zori-index/src/writer.rs",
        "writes what a call or a worker waits for, and ends with the last one who has the database open",
    ),
    ("crates/zori-host/src/schedule.rs", "the work of one call, which waits for it"),
    ("crates/zori-host/src/session.rs", "the end of one session, which waits for it"),
    ("crates/zori-host/src/session/going_back.rs", "one undo, which the session waits for"),
    ("crates/zori-chat/src/screen/outside.rs", "the folder of one `/feedback`, which the chat waits for"),
    ("crates/zori-providers/src/http/read_ahead.rs", "reads one answer ahead, and ends with it"),
    ("crates/zori-providers/src/drain_body.rs", "reads the rest of one answer, for a bounded time"),
    ("crates/zori-sandbox/src/attributes.rs", "answers the kernel for one command, and ends with it"),
    (
        "crates/zori-providers/src/agent_zero/exchange.rs",
        "describes the workspace before a message, which waits for it",
    ),
    ("crates/zori-tools/src/blocking.rs", "the work of one call, which waits for it"),
    ("crates/zori-tools/src/preview.rs", "the work of one question, which waits for it"),
    ("crates/zori-tools/src/process/jobs.rs", "reads what one job prints, which a call has started"),
    ("crates/zori-tools/src/process/reaper.rs", "ends the processes of a session, which nothing may forbid"),
    ("crates/zori-serve/src/acp/registry.rs", "a session of an editor, which is the work itself"),
    ("crates/zori-setup/src/asking/reply.rs", "reads one answer of a person, and ends with the question"),
    ("crates/zori-setup/src/audit.rs", "writes one record, for a bounded time"),
    ("crates/zori-setup/src/open_browser.rs", "waits for the end of one program"),
    ("crates/zori/src/commands/mcp/validate.rs", "reads what one server says, and ends with it"),
    ("crates/zori-chat/src/screen/look.rs", "waits for the end of one `ui.notify_command`"),
    ("crates/zori-chat/src/screen/files.rs", "one walk over the files that `@` finds, which ends with it"),
    (
        "crates/zori-chat/src/screen/pictures.rs",
        "reads one clipboard, and ends with the program that prints it",
    ),
    ("crates/zori-setup/src/model_choice.rs", "one search for local servers, for a bounded time"),
    ("crates/zori/src/heartbeat.rs", "says that the command is at work, and ends with it"),
    ("crates/zori-serve/src/mcp.rs", "the calls of one client, on its own thread"),
    ("crates/zori-mcp/examples/fixtures.rs", "an example, without workers"),
    (
        "crates/zori-mcp/src/client/server.rs",
        "carries the messages of one server, and answers its forms, until that ends",
    ),
    (
        "crates/zori-mcp/src/client/servers.rs",
        "the servers that somebody configured, which `--bare` keeps; without one there is no thread",
    ),
    (
        "crates/zori-mcp/src/client/http/listening.rs",
        "listens to one server, or ends one session of it, for as long as that lasts",
    ),
    (
        "crates/zori-mcp/src/client/oauth/bearer.rs",
        "one look into the credential store, which the request waits for",
    ),
    ("crates/zori/examples/mcp_conformance.rs", "an example, without workers"),
    ("crates/zori-setup/src/mcp_login.rs", "reads one answer of a person, and ends with the login"),
    ("crates/zori-mcp/src/rounds.rs", "ends one question that nobody comes back to, after a bounded time"),
    ("crates/zori-setup/src/signals.rs", "hears signals, without which nothing could be ended"),
];

/// Looks for places that start something and are not listed, and for those that are listed in vain.
pub fn find(workspace: &Workspace) -> Vec<Finding> {
    let (mut findings, mut used) = (Vec::new(), Vec::new());
    let tests = test_files(workspace);
    for file in workspace.rust() {
        let judged = file.path.starts_with("crates/")
            && !file.path.starts_with("crates/zori-testkit/")
            && file.path != WORKERS
            && !tests.contains(&file.path);
        let starts = if judged { starts(&file.text) } else { Vec::new() };
        if starts.is_empty() {
            continue;
        }
        if EXCEPTIONS.iter().any(|(path, _)| *path == file.path) {
            used.push(file.path.as_str());
            continue;
        }
        findings.extend(starts.into_iter().map(|(line, what)| {
            let advice = format!(
                "`{what}`: a worker starts in `Workers::spawn`; what is none is listed, with a reason"
            );
            Finding::line(&file.path, line, advice)
        }));
    }
    for (path, why) in EXCEPTIONS.iter().filter(|(path, _)| !used.contains(path)) {
        findings.push(Finding::file(path, format!("starts nothing any more ({why}): drop the exception")));
    }
    findings
}

/// Returns line and words of each place in the code that is not a test.
fn starts(source: &str) -> Vec<(usize, &'static str)> {
    let code = scan::without_tests(&scan::code_only(source));
    let found = |line: &str| STARTS.iter().find(|start| line.contains(**start)).copied();
    code.lines().enumerate().filter_map(|(n, line)| Some((n + 1, found(line)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_judged_and_nothing_else() {
        let source = "fn a() {\n    std::thread::spawn(b);\n    tokio::task::spawn_blocking(c);\n}\n\
            // thread::spawn\n#[cfg(test)]\nmod tests { fn b() { std::thread::spawn(c) } }\n";
        assert_eq!(starts(source), [(2, "thread::spawn"), (3, "spawn_blocking(")]);
    }
}
