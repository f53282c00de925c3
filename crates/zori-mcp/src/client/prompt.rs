//! Prompts of servers (MCP-61): `/SERVER:PROMPT a name=b`, also `/mcp__SERVER__PROMPT`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use zori_core::text;
use zori_core::tool::AskUser;

use super::content;
use super::handshake::listed;
use super::input_rounds;
use super::peer::Peer;
use super::resource::ReadResource;
use super::server::Server;
use super::servers::McpServers;
use super::tool::{Registered, within};

/// So much is said of a prompt in a list.
const MAX_ABOUT: usize = 200;

/// A prompt as its server lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedPrompt {
    /// Its name on the server.
    pub name: String,
    /// What it says it does.
    pub about: String,
    /// What it takes, in this order.
    pub arguments: Vec<PromptArgument>,
}

/// Something that a prompt takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptArgument {
    pub name: String,
    /// Whether the prompt cannot do without.
    pub required: bool,
}

/// A prompt that somebody called.
pub struct PromptCall<'l> {
    server: Arc<Server>,
    name: String,
    /// What stands behind its name.
    rest: &'l str,
}

/// Asks a server for its prompts; one that has none, or fails at it, has none.
pub async fn list(peer: &Arc<Peer>) -> Vec<ListedPrompt> {
    let read = |value: &Value| {
        let name =
            value["name"].as_str().filter(|name| !name.is_empty() && !name.contains(char::is_whitespace))?;
        let about = value["description"].as_str().or(value["title"].as_str()).unwrap_or_default();
        let argument = |argument: &Value| {
            let name = argument["name"].as_str()?.to_owned();
            Some(PromptArgument { name, required: argument["required"] == true })
        };
        Some(ListedPrompt {
            name: name.to_owned(),
            about: text::prefix(&text::one_line(about), MAX_ABOUT).to_owned(),
            arguments: value["arguments"].as_array().into_iter().flatten().filter_map(argument).collect(),
        })
    };
    listed(peer, "prompts/list", "prompts", read).await
}

impl ListedPrompt {
    /// Returns what it takes, as help shows it.
    pub fn usage(&self) -> String {
        let word = |argument: &PromptArgument| match argument.required {
            true => argument.name.clone(),
            false => format!("[{}]", argument.name),
        };
        self.arguments.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// Reads the words of a call: `name=value` by its name, others in order. An error says what is wrong with them.
    fn arguments(&self, rest: &str) -> Result<Map<String, Value>, String> {
        let mut given = Map::new();
        let mut free = Vec::new();
        for word in words(rest)? {
            let named =
                word.split_once('=').filter(|(name, _)| self.arguments.iter().any(|one| one.name == *name));
            match named {
                Some((name, value)) => drop(given.insert(name.to_owned(), value.into())),
                None => free.push(word),
            }
        }
        let mut free = free.into_iter();
        for argument in
            self.arguments.iter().filter(|argument| !given.contains_key(&argument.name)).collect::<Vec<_>>()
        {
            let Some(word) = free.next() else { break };
            given.insert(argument.name.clone(), word.into());
        }
        if let Some(word) = free.next() {
            return Err(format!(
                "there is nothing to do with `{}`; it takes {}",
                text::prefix(&word, 80),
                self.taken()
            ));
        }
        let missing = self.arguments.iter().find(|one| one.required && !given.contains_key(&one.name));
        match missing {
            Some(one) => Err(format!("`{}` is missing; it takes {}", one.name, self.taken())),
            None => Ok(given),
        }
    }

    fn taken(&self) -> String {
        if self.arguments.is_empty() { "nothing".to_owned() } else { format!("`{}`", self.usage()) }
    }
}

/// Splits words at blanks; what stands in quotes is one.
pub(super) fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (c, open) {
            ('"' | '\'', None) => {
                open = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(quote)) if c == quote => open = None,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    if open.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

impl McpServers {
    /// Returns the prompt that a line calls, as far as the name of its server tells.
    pub fn called_prompt<'l>(&self, line: &'l str) -> Option<PromptCall<'l>> {
        let line = line.trim_start().strip_prefix('/')?;
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (server, name) = match word.strip_prefix("mcp__") {
            Some(whole) => whole.split_once("__")?,
            None => word.split_once(':')?,
        };
        let server = self.named(server)?;
        Some(PromptCall { server, name: name.to_owned(), rest })
    }

    /// Returns the prompts that are known now, by the names under which they are called, with what they take and what they do.
    pub fn prompts(&self) -> Vec<(String, String, String)> {
        let of = |server: Arc<Server>| {
            let now = server.now();
            let name = server.config.name.clone();
            let entry = move |prompt: &ListedPrompt| {
                (format!("{name}:{}", prompt.name), prompt.usage(), prompt.about.clone())
            };
            now.prompts.iter().map(entry).collect::<Vec<_>>()
        };
        self.all().into_iter().flat_map(of).collect()
    }

    /// Gets what a called prompt says; what the server asks meanwhile is put to `asker`. An error says why there is nothing.
    pub async fn get_prompt(
        &self,
        call: &PromptCall<'_>,
        asker: Option<Arc<dyn AskUser>>,
    ) -> Result<ReadResource, String> {
        let (server, name) = (&call.server, &call.name);
        let _asked = asker.map(|asker| Registered::new(server, asker));
        let limit = server.config.start_timeout + server.config.tool_timeout;
        let late = AtomicBool::new(false);
        let asked = async {
            let peer = server.connected().await?;
            let now = server.now();
            let prompt = now.prompts.iter().find(|prompt| prompt.name == *name).ok_or_else(|| {
                let names: Vec<&str> = now.prompts.iter().map(|prompt| prompt.name.as_str()).collect();
                match names.is_empty() {
                    true => "it has no prompts".to_owned(),
                    false => format!("it has no prompt `{name}`; it has {}", names.join(", ")),
                }
            })?;
            let arguments = prompt.arguments(call.rest)?;
            let params = json!({"name": name, "arguments": arguments});
            input_rounds::request(server, &self.shared, &peer, ("prompts/get", params), &late).await
        };
        let got = within(limit, &self.shared.form_clock, &late, asked).await;
        let got = got.unwrap_or_else(|| Err(format!("it did not answer within {} seconds", limit.as_secs())));
        let got = got.map_err(|why| format!("the MCP server `{}`: {why}", server.config.name))?;
        let mut blocks = Vec::new();
        for message in got["messages"].as_array().into_iter().flatten() {
            // What it would have a model say is told as that, and not said in a model's name.
            if message["role"] == "assistant" {
                blocks.push(json!({"type": "text", "text": "[the assistant's part of the prompt]"}));
            }
            match &message["content"] {
                Value::Array(several) => blocks.extend(several.iter().cloned()),
                one => blocks.push(one.clone()),
            }
        }
        if blocks.is_empty() {
            return Err(format!("the MCP server `{}`: its prompt `{name}` says nothing", server.config.name));
        }
        let output = content::laid_out(&json!({ "content": blocks }), &self.shared.files);
        let text = output.text.as_deref().unwrap_or_default().to_owned();
        Ok(ReadResource { text, images: output.images })
    }
}

impl PromptCall<'_> {
    /// Returns the name under which it was called.
    pub fn shown(&self) -> String {
        format!("{}:{}", self.server.config.name, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let argument = |name: &str, required| PromptArgument { name: name.to_owned(), required };
        let prompt = ListedPrompt {
            name: "greet".to_owned(),
            about: String::new(),
            arguments: vec![argument("whom", true), argument("how", false)],
        };
        let of = |rest: &str| prompt.arguments(rest).map(|given| Value::from(given).to_string());
        assert_eq!(prompt.usage(), "whom [how]");
        assert_eq!(of("Ada").unwrap(), r#"{"whom":"Ada"}"#);
        assert_eq!(of("how=kindly \"Ada Lovelace\"").unwrap(), r#"{"how":"kindly","whom":"Ada Lovelace"}"#);
        assert_eq!(of("x=1 warmly").unwrap(), r#"{"whom":"x=1","how":"warmly"}"#);
        assert_eq!(of("").unwrap_err(), "`whom` is missing; it takes `whom [how]`");
        assert_eq!(of("a b c").unwrap_err(), "there is nothing to do with `c`; it takes `whom [how]`");
        assert_eq!(of("\"a").unwrap_err(), "a quote is not closed");
    }
}
