//! One disk full of traps, and what is decided about every path in `fixtures/paths/places.tsv`.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode};
use serde_json::json;
use zori_policy::policy::Approver;

use super::{Disk, judge};

/// Everything the table speaks of. Links are given by their own text.
fn disk() -> Disk {
    let disk = Disk::new();
    for file in [
        "ws/src/main.rs",
        "ws/deep/file",
        "ws/.git/config",
        "ws/.git/hooks/pre-commit",
        "ws/.env",
        "ws/AGENTS.md",
        "ws-x/file",
        "out/file",
        "out/sub/file",
        "home/notes.txt",
        "home/.bashrc",
        "home/.ssh/id_ed25519",
        "home/.config/zori/config.toml",
        "home/.config/zori/sessions/s.jsonl",
        "programs/tool",
    ] {
        disk.put(file, "x");
    }
    let (ws, out, home) = (disk.at("ws"), disk.at("out"), disk.at("home"));
    for (link, target) in [
        ("link_file", "src/main.rs"),
        ("link_folder", "src"),
        ("link_chain", "link_file"),
        ("link_dot", "."),
        ("link_up_in", "src/../src/main.rs"),
        ("deep/link_back", ".."),
        ("out_file", "../out/file"),
        ("out_folder", "../out"),
        ("out_chain", "out_file"),
        ("out_top", "/"),
        ("out_etc", "/etc/passwd"),
        ("out_deep", "../out/sub"),
        ("out_parent", ".."),
        ("out_twice", "out_parent/out/file"),
        ("out_hop", "out_folder"),
        ("deep/out_rel", "../../out"),
        ("via_out_back", "../out/link_in"),
        ("dangling_in", "src/later.rs"),
        ("dangling_out", "../out/later"),
        ("dangling_chain", "dangling_out"),
        ("dangling_abs", "/nowhere/at/all"),
        ("dangling_git", ".git/hooks/post-commit"),
        ("dangling_deep", "not/yet"),
        ("loop", "loop"),
        ("loop_a", "loop_b"),
        ("loop_b", "loop_a"),
        ("to_env", ".env"),
        (".env_link", "src/main.rs"),
        ("to_hidden_env", "deep/../.env"),
        ("to_git", ".git"),
        ("to_agents", "AGENTS.md"),
        ("to_shadow", "/etc/shadow"),
        ("to_environ", "/proc/1/environ"),
        ("to_null", "/dev/null"),
        ("to_pipe", "pipe"),
        ("link_to_hard", "hard_out"),
    ] {
        disk.link(&format!("ws/{link}"), target);
    }
    for (link, target) in [
        ("ws/link_abs_in", ws.join("src")),
        ("ws/out_abs", out.clone()),
        ("ws/to_ssh", home.join(".ssh")),
        ("ws/to_ssh_key", home.join(".ssh/id_ed25519")),
        ("ws/to_bashrc", home.join(".bashrc")),
        ("ws/to_config", home.join(".config/zori/config.toml")),
        ("ws/to_sessions", home.join(".config/zori/sessions")),
        ("ws/dangling_ssh", home.join(".ssh/new")),
        ("out/link_in", ws.clone()),
        ("home/link_in", ws.clone()),
        ("home/.ssh/link_in", ws.join("src/main.rs")),
    ] {
        disk.link(link, target);
    }
    disk.put("ws/hard_in", "x");
    fs::hard_link(disk.at("ws/hard_in"), disk.at("ws/src/hard_twin")).expect("a scratch disk");
    fs::hard_link(disk.at("out/file"), disk.at("ws/hard_out")).expect("a scratch disk");
    rustix::fs::mknodat(CWD, disk.at("ws/pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .expect("a scratch disk");
    // The socket stays when nobody listens.
    drop(UnixListener::bind(disk.at("ws/socket")).expect("a scratch disk"));
    disk
}

/// A path as the table writes it: like a JSON string, with the disk's folders as variables.
fn path(disk: &Disk, written: &str) -> String {
    let text: String = serde_json::from_str(&format!("\"{written}\"")).expect("a path of the table");
    let mut text = text.replace("VERYLONG", &"y/".repeat(2500)).replace("LONG", &"n".repeat(300));
    for (name, folder) in [
        ("$WS", "ws"),
        ("$OUT", "out"),
        ("$HOME", "home"),
        ("$BASE", "home/.config/zori"),
        ("$PROGRAMS", "programs"),
    ] {
        text = text.replace(name, disk.at(folder).to_str().expect("text"));
    }
    text
}

const TABLE: &str = include_str!("../../../../../fixtures/paths/places.tsv");

/// P-1, P-2, P-4, P-5, P-6, P-7: each row says the class, and the verdicts of the modes acceptEdits and yolo, for reading and
/// for writing.
#[test]
fn every_path_gets_its_verdict() {
    let disk = disk();
    let tools = disk.tools();
    let [accept, yolo] = ["acceptEdits", "yolo"].map(|mode| disk.policy(mode, Approver::Present));
    let (mut found, mut cases) = (String::new(), 0);
    for row in TABLE.lines() {
        if row.starts_with('#') || row.starts_with("path\t") {
            let _ = writeln!(found, "{row}");
            continue;
        }
        let written = row.split('\t').next().expect("a row has a path");
        let path = path(&disk, written);
        let _ = write!(found, "{written}");
        for (tool, args) in [("read", json!({"path": path})), ("write", json!({"path": path, "content": ""}))]
        {
            let asked = judge(&tools, &accept, tool, &args).decision;
            let free = judge(&tools, &yolo, tool, &args).decision;
            let (asked, class, free) = (asked.verdict.as_str(), asked.class.as_str(), free.verdict.as_str());
            let _ = write!(found, "\t{class} {asked} {free}");
            cases += 1;
        }
        found.push('\n');
    }
    let wrong = TABLE.lines().zip(found.lines()).filter(|(expected, found)| expected != found);
    let wrong: Vec<_> = wrong.map(|(expected, found)| format!("{found}  instead of  {expected}")).collect();
    assert!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases >= 300, "only {cases} cases");
    println!("{cases} cases");
}

/// P-5: what is no regular file is refused, also by who may do everything, and nobody waits for it.
#[test]
fn pipes_sockets_and_devices_are_refused_at_once() {
    let disk = disk();
    let tools = disk.tools();
    let policy = disk.policy("yolo", Approver::Absent);
    for path in ["pipe", "to_pipe", "socket", "to_null", "/dev/zero", "/dev/tty", "/dev/stdin"] {
        for (tool, args) in [
            ("read", json!({"path": path})),
            ("write", json!({"path": path, "content": ""})),
            ("edit", json!({"path": path, "old": "a", "new": "b"})),
            ("grep", json!({"path": path, "pattern": "a"})),
        ] {
            let began = Instant::now();
            let output = judge(&tools, &policy, tool, &args).run();
            assert!(!output.ok(), "{tool} {path}");
            assert!(began.elapsed() < Duration::from_secs(30), "{tool} {path}: blocked");
        }
    }
    println!("28 cases");
}
