//! Programs that have the terminal for a while: an editor, a login. The screen lets it go; a running turn goes on, and what it says is drawn when
//! the terminal is back (TTY-3).

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::{fs, io};

use tokio::process::Command;
use zori_providers::catalog::ProviderFacts;

use crate::chat::slash::ServerLogin;
use zori_setup::environment::Environment;
use zori_setup::private_file;

/// A program that has the terminal.
pub type Errand = Pin<Box<dyn Future<Output = Back>>>;

/// What it came back with.
pub enum Back {
    /// The draft, or why it is as it was.
    Edited(Result<String, String>),
    /// A key of this provider is stored, or why not.
    LoggedIn(&'static ProviderFacts, Result<(), String>),
    /// There is a login to this MCP server, or why not.
    LoggedInTo(ServerLogin, Result<(), String>),
}

/// The draft as a file, which goes when the editor is done with it.
struct DraftFile(PathBuf);

impl Drop for DraftFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Lets the user edit the draft (CMP-9).
pub fn edit(env: &Environment, root: &Path, text: &str) -> Result<Errand, String> {
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| env.text(name).filter(|value| !value.trim().is_empty()))
        .ok_or("no editor: set $VISUAL or $EDITOR to a program that edits a file")?
        .to_owned();
    let file = env.temp_dir().join(format!("zori-draft-{:016x}.md", zori_host::random_number()));
    let told = |error: io::Error| format!("{}: {error}", file.display());
    private_file::create(&file).and_then(|mut opened| opened.write_all(text.as_bytes())).map_err(told)?;
    let file = DraftFile(file);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(&file.0).current_dir(root).kill_on_drop(true);
    Ok(Box::pin(async move {
        let edited = match command.status().await {
            Ok(status) if status.success() => fs::read_to_string(&file.0)
                .map(|text| text.trim_end_matches('\n').to_owned())
                .map_err(|error| format!("the draft is as it was: {error}")),
            Ok(status) => Err(format!("`{editor}` ended with {status}; the draft is as it was")),
            Err(error) => Err(format!("`{editor}` cannot be started: {error}")),
        };
        Back::Edited(edited)
    }))
}

/// Stores a key, or logs in.
pub fn log_in(env: &Environment, facts: &'static ProviderFacts) -> Result<Errand, String> {
    let mut command = Command::from(env.again().map_err(|error| error.to_string())?);
    command.args(["auth", "login", "--provider", facts.name]).kill_on_drop(true);
    if !zori_auth::browser::open_to_all(facts) {
        command.arg("--with-token");
    }
    Ok(Box::pin(async move {
        let done = match command.status().await {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => {
                let (name, key) = (facts.display, facts.key_var);
                Err(format!("nothing was stored for {name}; or set {key} and start again"))
            }
            Err(error) => Err(format!("cannot log in: {error}")),
        };
        Back::LoggedIn(facts, done)
    }))
}

/// Logs in to an MCP server (MCP-80).
pub fn log_in_to(env: &Environment, root: &Path, login: ServerLogin) -> Result<Errand, String> {
    let mut command = Command::from(env.again().map_err(|error| error.to_string())?);
    command.args(["mcp", "login", login.name()]).current_dir(root).kill_on_drop(true);
    Ok(Box::pin(async move {
        let done = match command.status().await {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(format!("Nobody was logged in to the MCP server {}.", login.name())),
            Err(error) => Err(format!("cannot log in: {error}")),
        };
        Back::LoggedInTo(login, done)
    }))
}
