//! `oauth` in a server's description: how one logs in to it (MCP-80, MCP-81).

use serde_json::Value;

use super::{ServerConfig, Source, Variables, Way, bad_address, expand};
use crate::client::oauth::OauthSettings;

const KEYS: &[&str] = &["client_id", "client_secret", "client_metadata_url", "scopes", "callback_port"];

impl ServerConfig {
    /// Says why nobody can log in to it; `None` where one can.
    pub fn login_refusal(&self) -> Option<String> {
        let name = &self.name;
        match &self.way {
            Way::Stdio { .. } => Some(format!(
                "the MCP server `{name}` is a program; what it needs to know goes into its `env`"
            )),
            Way::Http { headers, .. }
                if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) =>
            {
                Some(format!("the MCP server `{name}` has its token in `headers`, and needs no login"))
            }
            Way::Http { .. } => {
                self.broken.as_ref().map(|why| format!("the MCP server `{name}` cannot be used: {why}"))
            }
        }
    }
}

/// Reads the table. Also returns why the server cannot be used; an error is a mistake in the table itself.
pub(super) fn read(
    value: Option<&Value>,
    source: Source,
    variables: &dyn Variables,
) -> Result<(OauthSettings, Option<String>), String> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Default::default()) };
    let table = value.as_object().ok_or("`oauth` must be a table")?;
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("`oauth.{key}` is not known; there are {}", KEYS.join(", ")));
    }
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
        Some(_) => Err(format!("`oauth.{key}` must be text")),
    };
    let scopes = match table.get("scopes") {
        Some(Value::Array(words)) => {
            let words = words.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
            Some(words.ok_or("`oauth.scopes` must be a list of texts")?.join(" "))
        }
        _ => text("scopes")?,
    };
    let callback_port = match table.get("callback_port") {
        None => None,
        Some(port) => {
            let port = port.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
            Some(port.ok_or("`oauth.callback_port` must be a whole number from 1 to 65535")?)
        }
    };
    let client_metadata_url = text("client_metadata_url")?;
    if let Some(url) = &client_metadata_url
        && (bad_address(url).is_some() || !url.starts_with("https://"))
    {
        return Err(format!("`oauth.client_metadata_url` is `{url}`, which is no HTTPS address"));
    }
    let mut client_secret = text("client_secret")?;
    let broken = match &mut client_secret {
        Some(secret) => resolve(secret, source, variables).err(),
        None => None,
    };
    let client_id = text("client_id")?;
    Ok((OauthSettings { client_id, client_secret, client_metadata_url, scopes, callback_port }, broken))
}

fn resolve(secret: &mut String, source: Source, variables: &dyn Variables) -> Result<(), String> {
    match expand::refers_to_vault(secret) {
        true => *secret = expand::resolved(secret, source, variables)?,
        false if source.is_own() => {
            return Err(
                "`oauth.client_secret` holds a secret; keep it in the vault (`zori vault set NAME`) and write `vault:NAME`"
                    .to_owned(),
            );
        }
        false => {}
    }
    Ok(())
}
