//! A line on standard input, as what it asks for (D-17).

use serde::Deserialize;

use super::elicitation::{Action, Content, Response};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A plain line: the answer to an open question, else a prompt or a slash command.
    Line(String),
    /// A prompt, whatever it looks like.
    Prompt(String),
    Slash(String),
    /// The answer to a question.
    Answer(Response),
    /// The running turn should end.
    Interrupt,
    Exit,
}

/// What a line is taken for that looks like JSON and is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// A prompt: people type braces, too.
    Lines,
    /// A mistake: everything is a command here (`--bare`).
    Commands,
}

#[derive(Deserialize)]
struct Kind {
    r#type: String,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Answer {
    action: Action,
    #[serde(default)]
    content: Option<Content>,
}

const KNOWN: &str = "prompt, command, elicitation_response, interrupt, exit";

impl Command {
    /// Parses a line; an empty one is `None`. The error is sent back to the client.
    pub fn parse(line: &str, stream: Stream) -> Result<Option<Self>, String> {
        let line = line.trim();
        let plain = || Ok((!line.is_empty()).then(|| Self::Line(line.to_owned())));
        if !line.starts_with('{') {
            return plain();
        }
        let kind = match (serde_json::from_str::<Kind>(line), stream) {
            (Ok(Kind { r#type }), _) => r#type,
            (Err(_), Stream::Lines) => return plain(),
            (Err(error), Stream::Commands) => return Err(format!("this line is no command: {error}")),
        };
        let bad = |error: serde_json::Error| format!("`{kind}` cannot be understood: {error}");
        let text = || {
            let Text { text } = serde_json::from_str(line).map_err(bad)?;
            if text.trim().is_empty() { Err(format!("`{kind}` has no text")) } else { Ok(text) }
        };
        Ok(Some(match kind.as_str() {
            "prompt" => Self::Prompt(text()?),
            "command" => Self::Slash(text()?.trim().to_owned()),
            "elicitation_response" => {
                let Answer { action, content } = serde_json::from_str(line).map_err(bad)?;
                Self::Answer(Response { action, content: content.unwrap_or_default() })
            }
            "interrupt" => Self::Interrupt,
            "exit" => Self::Exit,
            other => return Err(format!("`{other}` is no command; the commands are {KNOWN}")),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(line: &str) -> Result<Option<Command>, String> {
        Command::parse(line, Stream::Lines)
    }

    #[test]
    fn what_lines_mean() {
        let plain = |text: &str| Ok(Some(Command::Line(text.to_owned())));
        let answer = |action, content| Ok(Some(Command::Answer(Response { action, content })));
        let yes = Content::from([("approve", true.into())]);
        for (line, wanted) in [
            ("", Ok(None)),
            (" \t\r\n", Ok(None)),
            ("  two words \r\n", plain("two words")),
            ("/help", plain("/help")),
            ("{not json}", plain("{not json}")),
            ("{\"text\":\"no type\"}", plain("{\"text\":\"no type\"}")),
            ("{\"type\":7}", plain("{\"type\":7}")),
            ("[\"type\"]", plain("[\"type\"]")),
            (r#"{"type":"prompt","text":"a\nb","more":1}"#, Ok(Some(Command::Prompt("a\nb".to_owned())))),
            (r#"{"type":"command","text":" /help "}"#, Ok(Some(Command::Slash("/help".to_owned())))),
            (r#"{"type":"interrupt"}"#, Ok(Some(Command::Interrupt))),
            (r#"{"type":"exit"}"#, Ok(Some(Command::Exit))),
            (
                r#"{"type":"elicitation_response","action":"accept","content":{"approve":true}}"#,
                answer(Action::Accept, yes),
            ),
            (
                r#"{"type":"elicitation_response","action":"decline"}"#,
                answer(Action::Decline, Content::default()),
            ),
        ] {
            assert_eq!(lines(line), wanted, "{line}");
        }
    }

    /// IO-4: an error for that line, in both kinds of stream where it says what it wants to be.
    #[test]
    fn what_is_no_command() {
        for (line, error) in [
            (
                r#"{"type":"fly"}"#,
                "`fly` is no command; the commands are prompt, command, elicitation_response, interrupt, exit",
            ),
            (
                r#"{"type":"prompt"}"#,
                "`prompt` cannot be understood: missing field `text` at line 1 column 17",
            ),
            (r#"{"type":"prompt","text":" "}"#, "`prompt` has no text"),
            (
                r#"{"type":"prompt","text":["a"]}"#,
                "`prompt` cannot be understood: invalid type: sequence, expected a string at line 1 column 24",
            ),
            (
                r#"{"type":"elicitation_response","action":"maybe"}"#,
                "`elicitation_response` cannot be understood: unknown variant `maybe`, expected one of `accept`, `decline`, `cancel` at line 1 column 47",
            ),
        ] {
            assert_eq!(lines(line), Err(error.to_owned()), "{line}");
            assert_eq!(Command::parse(line, Stream::Commands), Err(error.to_owned()), "{line}");
        }
        for line in ["{", "{}", r#"{"type":1}"#, r#"{"type":"exit"} {"type":"exit"}"#, &"{\"a\":".repeat(200)]
        {
            let error = Command::parse(line, Stream::Commands).unwrap_err();
            assert!(error.starts_with("this line is no command: "), "{line}: {error}");
        }
        assert_eq!(Command::parse("plain", Stream::Commands), Ok(Some(Command::Line("plain".to_owned()))));
    }
}
