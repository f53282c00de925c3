//! Completion of what a server's prompt takes, by the server itself (MCP-61).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use zori_core::text;

use super::prompt::{ListedPrompt, words};
use super::server::{Server, Status};
use super::servers::McpServers;

/// A server that takes longer is not waited for: somebody types.
const PATIENCE: Duration = Duration::from_secs(2);
/// So many values are shown, and so long ones.
const MOST: usize = 50;
const LONGEST: usize = 200;

/// An argument of a prompt that somebody is typing.
pub struct TypedArgument {
    server: Arc<Server>,
    prompt: String,
    /// What is typed before its value, which stays as it is.
    before: String,
    name: String,
    value: String,
    /// The arguments that are given already.
    given: Map<String, Value>,
}

/// A value that an argument may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedArgument {
    pub value: String,
    /// All arguments with it in its place.
    pub line: String,
}

impl McpServers {
    /// Returns the argument that is being typed behind the name of a prompt, such as `/docs:greet`; `None` where its server does not
    /// complete any, or nothing more is taken.
    pub fn typed_argument(&self, command: &str, typed: &str) -> Option<TypedArgument> {
        let (server, prompt) = command.strip_prefix('/')?.split_once(':')?;
        let server = self.named(server)?;
        let now = server.now();
        if now.status != Status::Connected || !now.facts.completes {
            return None;
        }
        let listed = now.prompts.iter().find(|listed| listed.name == prompt)?;
        let Typing { before, name, value, given } = typing(listed, typed)?;
        Some(TypedArgument { server, prompt: prompt.to_owned(), before, name, value, given })
    }
}

impl TypedArgument {
    /// Asks the server what it may be. One that does not say knows nothing.
    pub async fn complete(&self) -> Vec<CompletedArgument> {
        let asked = async {
            let peer = self.server.connected().await.ok()?;
            let params = json!({
                "ref": {"type": "ref/prompt", "name": self.prompt},
                "argument": {"name": self.name, "value": self.value},
                "context": {"arguments": self.given},
            });
            peer.call("completion/complete", params, None).await.ok()
        };
        let answer = tokio::time::timeout(PATIENCE, asked).await.ok().flatten().unwrap_or_default();
        let values =
            answer["completion"]["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let fits = values.filter(|value| value.len() <= LONGEST && !value.contains(text::invisible));
        let completed = |value: &str| {
            let line = format!("{}{}", self.before, quoted(value)?);
            Some(CompletedArgument { value: value.to_owned(), line })
        };
        fits.filter_map(completed).take(MOST).collect()
    }
}

/// What is being typed.
#[derive(Debug, PartialEq)]
struct Typing {
    before: String,
    name: String,
    value: String,
    given: Map<String, Value>,
}

/// Finds the argument that the last word is for, or the next one where a blank was typed.
fn typing(prompt: &ListedPrompt, typed: &str) -> Option<Typing> {
    let known = |name: &str| prompt.arguments.iter().any(|argument| argument.name == name);
    let start = last_word(typed);
    let (done, last) = typed.split_at(start);
    let (mut given, mut free) = (Map::new(), Vec::new());
    for word in words(done).ok()? {
        match word.split_once('=').filter(|(name, _)| known(name)) {
            Some((name, value)) => drop(given.insert(name.to_owned(), value.into())),
            None => free.push(word),
        }
    }
    let named = last.split_once('=').filter(|(name, _)| known(name));
    let (before, name, value) = match named {
        Some((name, value)) => (format!("{done}{name}="), name.to_owned(), value),
        None => {
            let mut open = prompt.arguments.iter().filter(|argument| !given.contains_key(&argument.name));
            let name = open.nth(free.len())?.name.clone();
            (done.to_owned(), name, last)
        }
    };
    let mut open = prompt.arguments.iter().filter(|argument| argument.name != name);
    for word in free {
        let next = open.find(|argument| !given.contains_key(&argument.name))?;
        given.insert(next.name.clone(), word.into());
    }
    let value = value.trim_start_matches(['"', '\'']).to_owned();
    Some(Typing { before, name, value, given })
}

/// Returns where the last word begins; a blank in quotes ends none.
fn last_word(typed: &str) -> usize {
    let (mut start, mut open) = (0, None);
    for (at, c) in typed.char_indices() {
        match (c, open) {
            ('"' | '\'', None) => open = Some(c),
            (c, Some(quote)) if c == quote => open = None,
            (c, None) if c.is_whitespace() => start = at + c.len_utf8(),
            _ => {}
        }
    }
    start
}

/// Returns a value as one word; `None` where no quotes hold it together.
fn quoted(value: &str) -> Option<String> {
    match (value.contains(char::is_whitespace), value.contains('"'), value.contains('\'')) {
        (false, false, false) => Some(value.to_owned()),
        (_, false, _) => Some(format!("\"{value}\"")),
        (_, true, false) => Some(format!("'{value}'")),
        (_, true, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::prompt::PromptArgument;

    #[test]
    fn which_argument_is_typed() {
        let argument = |name: &str| PromptArgument { name: name.to_owned(), required: false };
        let prompt = ListedPrompt {
            name: "greet".to_owned(),
            about: String::new(),
            arguments: vec![argument("whom"), argument("how")],
        };
        let of = |typed: &str| {
            typing(&prompt, typed).map(|Typing { before, name, value, given }| {
                format!("{before}|{name}={value}|{}", Value::from(given))
            })
        };
        assert_eq!(of("").as_deref(), Some("|whom=|{}"));
        assert_eq!(of("Ad").as_deref(), Some("|whom=Ad|{}"));
        assert_eq!(of("\"Ada Lo").as_deref(), Some("|whom=Ada Lo|{}"));
        assert_eq!(of("Ada w").as_deref(), Some("Ada |how=w|{\"whom\":\"Ada\"}"));
        assert_eq!(of("how=k").as_deref(), Some("how=|how=k|{}"));
        assert_eq!(of("how=kindly A").as_deref(), Some("how=kindly |whom=A|{\"how\":\"kindly\"}"));
        assert_eq!(of("a b c"), None);
        assert_eq!(of("x=1").as_deref(), Some("|whom=x=1|{}"));
    }

    #[test]
    fn values_as_words() {
        assert_eq!(quoted("Ada").as_deref(), Some("Ada"));
        assert_eq!(quoted("Alan Turing").as_deref(), Some("\"Alan Turing\""));
        assert_eq!(quoted("it's").as_deref(), Some("\"it's\""));
        assert_eq!(quoted("5\"").as_deref(), Some("'5\"'"));
        assert_eq!(quoted("'\""), None);
    }
}
