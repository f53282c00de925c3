//! Where Cursor and VS Code keep what a user set up, and reading it.

use std::path::Path;

use super::homes::{folder, json};
use super::{Plan, servers};

/// Where VS Code and its kin keep their users' settings, on Linux and on macOS.
pub(super) const VSCODE: &[&str] = &[
    ".config/Code/User/mcp.json",
    ".config/Code - Insiders/User/mcp.json",
    ".config/VSCodium/User/mcp.json",
    "Library/Application Support/Code/User/mcp.json",
];

pub(super) fn cursor(home: &Path, plan: &mut Plan) {
    let path = home.join(".cursor/mcp.json");
    if let Some(file) = json(&path, plan) {
        for (name, value) in file["mcpServers"].as_object().into_iter().flatten() {
            plan.add_server("cursor", name, &path, servers::of_editor(name, value, home));
        }
    }
    folder(home, ".cursor/commands", "commands", "commands.paths", plan);
    folder(home, ".cursor/skills", "skills", "skills.paths", plan);
}

pub(super) fn vscode(home: &Path, plan: &mut Plan) {
    for path in VSCODE.iter().map(|below| home.join(below)) {
        let Some(file) = json(&path, plan) else { continue };
        for (name, value) in file["servers"].as_object().into_iter().flatten() {
            plan.add_server("vscode", name, &path, servers::of_editor(name, value, home));
        }
    }
}
