//! Any bytes as a project's `.mcp.json`, as the file of a skill, and as the template of a custom command.
//!
//! The first byte of an input says which. What must hold: no panic; a project's server has no more trust, network or folders than anybody
//! gave it, and a name that rules can have (MCP-10); a skill that is taken has a name; arguments of a template start no command
//! (CUS-2).

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use zori_extensions::command::Origin;
use zori_extensions::skill;
use zori_extensions::template::{self, Part};
use zori_mcp::client::config::{self, is_name};
use zori_mcp::client::{Source, Trust, Variables};

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    match choice % 3 {
        0 => servers(rest),
        1 => skill(rest),
        _ => template(&String::from_utf8_lossy(rest)),
    }
});

fn servers(bytes: &[u8]) {
    let Ok(file) = serde_json::from_slice::<Value>(bytes) else { return };
    let Some(table) = file["mcpServers"].as_object() else { return };
    let _ = table.values().map(config::references).count();
    let Ok(read) = config::read(table, Source::Project, &Nothing) else { return };
    for server in read.servers {
        assert!(is_name(&server.name), "{:?}", server.name);
        let given = (server.trust, server.network, server.sandbox_write.len(), server.elicitation);
        assert_eq!(given, (Trust::Untrusted, None, 0, false), "{}", server.name);
        let _ = (server.identity(), server.shown(), server.runs_newest());
    }
}

fn skill(bytes: &[u8]) {
    if let Ok(read) = skill::read(Path::new("/skills/any"), bytes, Origin::Project) {
        assert!(!read.name.is_empty());
        let _ = skill::body(bytes);
    }
}

fn template(text: &str) {
    let (template, arguments) = text.split_once('\0').unwrap_or((text, ""));
    let commands = |arguments: &str| {
        let parts = template::expand(template, arguments);
        parts.iter().filter(|part| matches!(part, Part::Shell(_))).count()
    };
    assert_eq!(commands(arguments), commands(""), "{template:?} with {arguments:?}");
}

/// Nothing can be referred to.
struct Nothing;

impl Variables for Nothing {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn withheld(&self, _: &str) -> bool {
        true
    }

    fn hijacks(&self, name: &str) -> bool {
        name == "LD_PRELOAD"
    }

    fn vault(&self, _: &str) -> Result<String, String> {
        Err("there is none".to_owned())
    }
}
