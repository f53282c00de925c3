//! The first inputs of each fuzz target, from what the tree has: recorded and written answers, lists of commands, sessions, the
//! table of settings, pages of the documentation.

use serde_json::Value;
use zori_setup::config::keys::KEYS;

use crate::workspace::Workspace;

/// The lists of commands that are kept; the last but two columns hold the command as a JSON string.
const COMMANDS: &[&str] = &[
    "fixtures/shell/bypass.tsv",
    "fixtures/shell/bypass-2.tsv",
    "fixtures/shell/own.tsv",
    "fixtures/shell/everyday.tsv",
    "fixtures/shell/variants.tsv",
];

/// Policy files.
const PROFILES: &[&str] = &["fixtures/shell/profiles.json", "fixtures/shell/profiles-2.json"];

/// Folders of fixtures, and which API of `fuzz/fuzz_targets/decoders.rs` they belong to.
const STREAMS: &[(&str, u8)] = &[
    ("fixtures/anthropic", 0),
    ("fixtures/openai_chat", 1),
    ("fixtures/openrouter", 1),
    ("fixtures/compat", 2),
    ("fixtures/openai_responses", 3),
    ("fixtures/gemini", 4),
];
/// How many APIs that target knows: so much is added to choose an answer in one piece.
const APIS: u8 = 5;

/// What terminals obey and send.
const SEQUENCES: &[&str] = &[
    "\x1b[2J\x1b[1;31mred\x1b[0m",
    "\x1b]0;title\x07text",
    "\x1b]52;c;aGk=\x1b\\",
    "\x1b]8;;http://a.test\x1b\\link\x1b]8;;\x1b\\",
    "\x1bP1$r0m\x1b\\",
    "\x1b[200~pasted\r\ntext\x1b[201~",
    "\x1b[27;5;13~\x1b[1;5A\x1b[97;5u\x1bOP\x1b[Z",
    "\x1b]11;rgb:1111/2222/3333\x1b\\\x1b[?62;22c",
    "10 %\r20 %\r100 %\nab\x08c",
    "a\u{202e}b\u{200d}c\u{9b}d\u{feff}",
    "👩\u{200d}🔬 می\u{200c}خواهم e\u{301} 漢字",
    "# Title\n\n| a | b |\n|---|---|\n| `x` | **y** |\n\n- one\n  1. two\n> said\n```rust\nfn f() {}\n```\n",
];
/// So long are the pieces that pages are cut into.
const PIECE: usize = 2_000;

/// What people and projects bring, as `fuzz/fuzz_targets/extensions.rs` reads it: descriptions of servers, skills, templates.
const BROUGHT: &[&str] = &[
    r#"{"mcpServers":{"time":{"command":"uvx","args":["mcp-server-time"],"env":{"A":"${B:-c}"}}}}"#,
    r#"{"mcpServers":{"a b":{"type":"sse","url":"https://a.test/${X}","headers":{"Authorization":"vault:x"}}}}"#,
    r#"{"mcpServers":{"a":{"command":"a","url":"b"},"b":{"type":"sdk"},"c":7,"d":{"trust":"trusted","network":true}}}"#,
    "---\nname: pdf\ndescription: Fill forms\ntriggers: [pdf, form]\n---\nUse the script.\n",
    "---\r\nname: a\r\ndescription: a: b\r\nx-requires: [code-index]\r\n---\r\nBody\r\n",
    "---\na: &a [1, 2]\nb: [*a, *a]\ndescription: >\n  folded\n  text\n---\n",
    "Say $1 and $ARGUMENTS, then !`echo {{args}}` and @file\0one 'two three' !`touch x`",
    "No place\0$(touch x) `y` ! @z",
];

/// Every recorded and written answer, with the two bytes before it that choose API and cut.
pub(super) fn streams(workspace: &Workspace) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (folder, api) in STREAMS {
        for file in workspace.below(folder) {
            let choice = match file.path.rsplit_once('.') {
                Some((_, "sse")) => *api,
                Some((stem, "json")) if !stem.ends_with(".request") => api + APIS,
                _ => continue,
            };
            seeds.push([&[choice, 128], file.text.as_bytes()].concat());
        }
    }
    seeds
}

/// Every event stream, with the byte before it that says how long its pieces are.
pub(super) fn event_streams(workspace: &Workspace) -> Vec<Vec<u8>> {
    let files = STREAMS.iter().flat_map(|(folder, _)| workspace.below(folder));
    let streams = files.filter(|file| file.path.ends_with(".sse"));
    streams.map(|file| [&[6], file.text.as_bytes()].concat()).collect()
}

/// Every command of the kept lists, with the byte before it that chooses a profile.
pub(super) fn commands(workspace: &Workspace) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    for path in COMMANDS {
        let rows = workspace.text(path).unwrap_or_default();
        let commands =
            rows.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit('\t').nth(2));
        texts.extend(commands.filter_map(|command| serde_json::from_str::<String>(command).ok()));
    }
    texts.iter().enumerate().map(|(n, text)| [&[n as u8 % 3], text.as_bytes()].concat()).collect()
}

/// Every rule of the profiles, and the profiles themselves.
pub(super) fn rules(workspace: &Workspace) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for profiles in PROFILES.iter().filter_map(|path| workspace.text(path)) {
        seeds.push(profiles.trim().as_bytes().to_vec());
        seeds.extend(
            profiles.split('"').filter(|text| text.contains('(')).map(|text| text.as_bytes().to_vec()),
        );
    }
    seeds
}

/// Every session that must keep loading, and every line of one.
pub(super) fn sessions(workspace: &Workspace) -> Vec<Vec<u8>> {
    let files = workspace.below("fixtures/sessions").filter(|file| file.path.ends_with(".jsonl"));
    let texts = files.flat_map(|file| std::iter::once(&*file.text).chain(file.text.split_inclusive('\n')));
    texts.map(|text| text.as_bytes().to_vec()).collect()
}

/// Every setting with its example, all of them together, and the examples of tables.
pub(super) fn settings(_: &Workspace) -> Vec<Vec<u8>> {
    let line = |name: &str, example: &str| format!("{name} = {example}\n");
    let lines: Vec<String> = KEYS.iter().map(|key| line(key.name, key.example)).collect();
    let template = zori_setup::config::template(&zori_setup::profile::ZORI);
    let tables: Vec<String> = template
        .split("\n\n")
        .map(|part| part.replace("\n# ", "\n").trim_start_matches("# ").to_owned())
        .collect();
    let all = lines.concat();
    lines.into_iter().chain(tables).chain([all]).map(String::into_bytes).collect()
}

/// Every request that clients send, alone and together, and what the pages show of protocols.
pub(super) fn client_lines(workspace: &Workspace) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    for file in workspace.below("fixtures/dialogues").filter(|file| file.path.ends_with(".jsonl")) {
        texts.push(&*file.text);
        texts.extend(file.text.lines());
    }
    let pages = ["docs/protocols", "docs/contracts"].into_iter().flat_map(|folder| workspace.below(folder));
    let spans = pages.flat_map(|file| file.text.lines().flat_map(|line| line.split('`')));
    texts.extend(spans.filter(|text| text.starts_with("{\"type\"")));
    texts.into_iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Every request of an MCP client, alone and together, behind a handshake and as the first words.
pub(super) fn mcp_messages(workspace: &Workspace) -> Vec<Vec<u8>> {
    let text = workspace.text("fixtures/dialogues/mcp.jsonl").unwrap_or_default();
    let parts = text.lines().chain([text]);
    parts.flat_map(|part| [0, 1].map(|choice| [&[choice], part.as_bytes()].concat())).collect()
}

/// Every file and patch, and every file and edit, of the tables of what models get wrong; a NUL parts them.
pub(super) fn patches(workspace: &Workspace) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for path in ["fixtures/forgiveness/patches.toml", "fixtures/forgiveness/edits.toml"] {
        let table: Value = toml::from_str(workspace.text(path).unwrap_or_default()).unwrap_or_default();
        for case in table["case"].as_array().into_iter().flatten() {
            let files = case["files"].as_object().into_iter().flat_map(|files| files.values());
            let calls = case["calls"].as_array().into_iter().flatten().filter_map(|call| call[1].as_str());
            let inputs: Vec<Value> = calls.filter_map(|input| serde_json::from_str(input).ok()).collect();
            for file in files.filter_map(Value::as_str) {
                for input in &inputs {
                    let text = |name: &str| input[name].as_str().unwrap_or_default();
                    let change = match input.get("patch") {
                        Some(_) => text("patch").to_owned(),
                        None => format!("{}\0{}", text("old"), text("new")),
                    };
                    seeds.push(format!("{file}\0{change}").into_bytes());
                }
            }
        }
    }
    seeds
}

/// What terminals obey and send, and pieces of every page of the documentation, with the byte before them that says how wide the
/// terminal is.
pub(super) fn terminal_texts(workspace: &Workspace) -> Vec<Vec<u8>> {
    let pages = workspace.below("docs").filter(|file| file.path.ends_with(".md"));
    let pieces = pages.flat_map(|file| file.text.as_bytes().chunks(PIECE));
    let texts = SEQUENCES.iter().map(|text| text.as_bytes()).chain(pieces);
    texts.enumerate().map(|(n, text)| [&[n as u8], text].concat()).collect()
}

/// What people and projects bring, each as every kind of file.
pub(super) fn extensions(_: &Workspace) -> Vec<Vec<u8>> {
    let as_kind = |kind: u8| BROUGHT.iter().map(move |text| [&[kind], text.as_bytes()].concat());
    (0..3).flat_map(as_kind).collect()
}
