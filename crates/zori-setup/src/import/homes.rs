//! Where Claude Code, Codex, Gemini CLI and opencode keep what a user set up, and reading it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use zori_mcp::client::config::literal;

use super::{AGENTS, Plan, editors, jsonc, servers};

/// More than any of these files has.
const MAX_BYTES: u64 = 16 << 20;

/// Reads what these agents left in a home directory, and what Claude Code has for this folder.
pub fn read(home: &Path, root: &Path, agents: &[&str]) -> Plan {
    let mut plan = Plan::default();
    for agent in AGENTS.iter().filter(|agent| agents.contains(agent)) {
        match *agent {
            "claude" => claude(home, root, &mut plan),
            "codex" => codex(home, &mut plan),
            "gemini" => gemini(home, &mut plan),
            "opencode" => opencode(home, &mut plan),
            "cursor" => editors::cursor(home, &mut plan),
            _ => editors::vscode(home, &mut plan),
        }
    }
    plan
}

fn claude(home: &Path, root: &Path, plan: &mut Plan) {
    let path = home.join(".claude.json");
    if let Some(file) = json(&path, plan) {
        let project = &file["projects"][root.to_string_lossy().as_ref()];
        for servers in [&project["mcpServers"], &file["mcpServers"]] {
            for (name, value) in servers.as_object().into_iter().flatten() {
                let value = switched(value, name, &project["disabledMcpServers"]);
                plan.add_server("claude", name, &path, servers::of_json(name, &value));
            }
        }
    }
    folder(home, ".claude/skills", "skills", "skills.paths", plan);
    folder(home, ".claude/commands", "commands", "commands.paths", plan);
    folder(home, ".claude/agents", "agents", "agents.paths", plan);
    file_entry(home, ".claude/CLAUDE.md", plan);
    if let Some(settings) = json(&home.join(".claude/settings.json"), plan) {
        let mut secret = 0;
        for key in ["deny", "ask", "allow"] {
            let rules = settings["permissions"][key].as_array().into_iter().flatten();
            for rule in rules.filter_map(Value::as_str) {
                match (literal::in_text(rule).is_empty(), key) {
                    // A command that somebody allowed once may have a key in it.
                    (false, _) => secret += 1,
                    (true, "deny") => plan.add_entry("rules", "permissions.deny", rule),
                    (true, "ask") => plan.add_entry("rules", "permissions.ask", rule),
                    (true, _) => plan.allow.push(rule.to_owned()),
                }
            }
        }
        if secret > 0 {
            plan.notes.push(format!("rules of claude are left out that have a secret in them ({secret})"));
        }
        let never = ["hooks", "env", "apiKeyHelper", "permissions.defaultMode", "enableAllProjectMcpServers"];
        leave_out("claude", &settings, &never, plan);
    }
}

fn codex(home: &Path, plan: &mut Plan) {
    let path = home.join(".codex/config.toml");
    if let Some(text) = text(&path, plan) {
        match toml::from_str::<Value>(&text) {
            Ok(file) => {
                for (name, value) in file["mcp_servers"].as_object().into_iter().flatten() {
                    plan.add_server("codex", name, &path, servers::of_codex(name, value));
                }
                leave_out("codex", &file, &["approval_policy", "sandbox_mode"], plan);
            }
            // What is wrong with it may be a secret.
            Err(_) => plan.notes.push(format!("{} is no TOML, and is left out", path.display())),
        }
    }
    folder(home, ".codex/prompts", "commands", "commands.paths", plan);
    folder(home, ".codex/skills", "skills", "skills.paths", plan);
    file_entry(home, ".codex/AGENTS.md", plan);
}

fn gemini(home: &Path, plan: &mut Plan) {
    let path = home.join(".gemini/settings.json");
    if let Some(file) = json(&path, plan) {
        for (name, value) in file["mcpServers"].as_object().into_iter().flatten() {
            let value = switched(value, name, &file["mcp"]["excluded"]);
            plan.add_server("gemini", name, &path, servers::of_gemini(name, &value));
            leave_out("gemini", &file, &[&format!("mcpServers.{name}.trust")], plan);
        }
        leave_out("gemini", &file, &["autoAccept", "tools.autoAccept", "tools.allowed"], plan);
    }
    folder(home, ".gemini/commands", "commands", "commands.paths", plan);
    file_entry(home, ".gemini/GEMINI.md", plan);
}

fn opencode(home: &Path, plan: &mut Plan) {
    for name in [".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"] {
        let path = home.join(name);
        let Some(file) = json(&path, plan) else { continue };
        for (name, value) in file["mcp"].as_object().into_iter().flatten() {
            plan.add_server("opencode", name, &path, servers::of_opencode(name, value));
        }
    }
    for name in ["command", "commands"] {
        folder(home, &format!(".config/opencode/{name}"), "commands", "commands.paths", plan);
    }
    for name in ["skill", "skills"] {
        folder(home, &format!(".config/opencode/{name}"), "skills", "skills.paths", plan);
    }
    file_entry(home, ".config/opencode/AGENTS.md", plan);
}

/// Returns a server as it is, or switched off where its name stands in a list of those that are.
fn switched(server: &Value, name: &str, off: &Value) -> Value {
    let mut server = server.clone();
    if off.as_array().into_iter().flatten().any(|off| off == name)
        && let Some(table) = server.as_object_mut()
    {
        table.insert("disabled".to_owned(), json!(true));
    }
    server
}

/// Notes which settings are there that nobody's word elsewhere turns on here (EXT-32): modes, hooks, what runs without a question.
fn leave_out(agent: &str, settings: &Value, keys: &[&str], plan: &mut Plan) {
    for key in keys {
        let value = settings.pointer(&format!("/{}", key.replace('.', "/"))).unwrap_or(&Value::Null);
        if !value.is_null() && *value != false {
            plan.notes.push(format!("`{key}` of {agent} is left out: it is never taken over"));
        }
    }
}

pub(super) fn folder(home: &Path, below: &str, group: &'static str, key: &'static str, plan: &mut Plan) {
    if home.join(below).is_dir() {
        plan.add_entry(group, key, &format!("~/{below}"));
    }
}

fn file_entry(home: &Path, below: &str, plan: &mut Plan) {
    if home.join(below).is_file() {
        plan.add_entry("instructions", "instructions.user_files", &format!("~/{below}"));
    }
}

/// Reads a file of JSON, with what editors let stand in one.
pub(super) fn json(path: &Path, plan: &mut Plan) -> Option<Value> {
    match serde_json::from_str(&jsonc::plain(&text(path, plan)?)) {
        Ok(value) => Some(value),
        Err(error) => {
            plan.notes.push(format!("{}:{} is no JSON, and is left out", path.display(), error.line()));
            None
        }
    }
}

/// Reads a file as text; `None` if there is none.
fn text(path: &Path, plan: &mut Plan) -> Option<String> {
    let meta = path.metadata().ok()?;
    let mut text = String::new();
    let read = match meta.is_file() && meta.len() <= MAX_BYTES {
        true => File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text)).is_ok(),
        false => false,
    };
    if !read {
        plan.notes.push(format!("{} cannot be read, and is left out", path.display()));
    }
    read.then_some(text)
}
