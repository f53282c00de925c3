//! The question to a person or client before a call runs, with a preview of the call. Front ends draw it; how much of the preview they begin with is
//! in `brief`, how much could go wrong in `risk`.

pub mod brief;
mod risk;

use std::path::PathBuf;

pub use risk::Risk;

/// A question about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The tool's name as the model knows it.
    pub tool: String,
    /// What the call would do.
    pub preview: Preview,
    /// What may be granted along with this call, from narrow to wide; empty if nothing is offered (DEC-2).
    pub grants: Vec<Grant>,
    /// The steps of the decision to ask, one line each.
    pub explanation: Vec<String>,
}

/// A permission that goes beyond this call: allow rules that hold from now on. [`crate::input::Approval::Grant`] names
/// one by its place in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The allow rules that are added, exactly.
    pub rules: Vec<String>,
    /// What they cover, in a few words.
    pub words: String,
    /// How far they reach.
    pub scope: GrantScope,
    /// How many earlier calls of the session that were asked about they would have covered.
    pub past: usize,
}

impl Grant {
    /// Returns the rules as one line shows them.
    pub fn shown(&self) -> String {
        self.rules.join(", ")
    }

    /// Returns how many earlier calls they would have covered, in words to be put behind the rules; empty for none.
    pub fn covered(&self) -> String {
        match self.past {
            0 => String::new(),
            1 => "   covers 1 past call".to_owned(),
            past => format!("   covers {past} past calls"),
        }
    }
}

/// Says what the number of a grant means, for clients that answer by number; `None` unless there is a choice.
pub fn wider_grants(grants: &[Grant]) -> Option<String> {
    let choice = |(index, grant): (usize, &Grant)| format!("{} for {}", index + 1, grant.shown());
    let choices: Vec<String> = grants.iter().enumerate().map(choice).collect();
    (grants.len() > 1).then(|| format!("Or allow in this session: {}", choices.join("; ")))
}

/// How far a grant reaches; from narrow to wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantScope {
    /// This call again, and nothing else.
    Call,
    /// Calls that begin like this one, or are about the same place.
    Like,
    /// Any program, through one that runs what it is given (RULE-5). Whoever draws it says so.
    AnyProgram,
}

/// What a call would do, exactly. An approval holds for this and nothing else (DEC-4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preview {
    /// The arguments as canonical JSON, for tools without a better preview.
    Input(String),
    /// It runs a shell command.
    Command {
        /// The text given to the shell.
        command: String,
        /// Where it runs.
        cwd: PathBuf,
        /// The sandbox that confines it, if there is one.
        sandbox: Option<String>,
    },
    /// It changes files.
    Changes(Vec<FileDiff>),
    /// It asks the user these questions.
    Choices(Vec<Choice>),
    /// It would fail in the present state of the files.
    Fails {
        /// The arguments, as canonical JSON.
        input: String,
        /// The error.
        why: String,
    },
}

/// A question of the model's, with the options it offers. Any other answer may be given as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What is asked.
    pub question: String,
    /// One or two words for it.
    pub header: Option<String>,
    /// The options, in the order of their numbers.
    pub options: Vec<ChoiceOption>,
    /// Whether several options may be chosen.
    pub multiple: bool,
    /// Whether the answer looks like a secret: it is not shown while it is typed, and not kept.
    pub secret: bool,
    /// What it is in a form of a server, if it belongs to one.
    pub form: Option<FormPart>,
}

/// A question as a part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormPart {
    /// A field.
    Field(FormField),
    /// Whether the form goes out, as one of [`SEND`], [`DECLINE`] and [`CANCEL`]. Where the answer to a form says so by itself, it is not asked.
    End,
}

/// The form goes out.
pub const SEND: &str = "send";
/// The form does not go out, and its server is told that somebody said no.
pub const DECLINE: &str = "decline";
/// The form does not go out: nobody wants to answer now.
pub const CANCEL: &str = "cancel";

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormField {
    /// Its name, as its server has it.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `enum`.
    pub kind: &'static str,
    /// Whether it has to be filled in.
    pub required: bool,
    /// What it is if nobody fills it in.
    pub default: Option<serde_json::Value>,
}

/// An option of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceOption {
    /// What is answered by choosing it.
    pub label: String,
    /// What it means.
    pub description: Option<String>,
}

impl Choice {
    /// Returns the field of a form that it asks for.
    pub fn field(&self) -> Option<&FormField> {
        match &self.form {
            Some(FormPart::Field(field)) => Some(field),
            Some(FormPart::End) | None => None,
        }
    }

    /// Returns the text that stands for a value of a form, as somebody would have typed it: an option by its number.
    pub fn typed(&self, value: &serde_json::Value) -> String {
        use serde_json::Value;
        let word = |value: &Value| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let at = self.options.iter().position(|option| option.label == text);
            at.map_or(text, |at| (at + 1).to_string())
        };
        match value {
            Value::Null => String::new(),
            Value::Array(several) => several.iter().map(word).collect::<Vec<_>>().join(", "),
            // `yes` and `no` are what people choose from.
            Value::Bool(flag) => flag.to_string(),
            one => word(one),
        }
    }

    /// Returns the answer that a text means: the label of an option by its number, several of them where that is
    /// possible, or else the text itself.
    pub fn answer(&self, text: &str) -> String {
        let label = |word: &str| {
            let number = word.trim().parse::<usize>().ok()?;
            self.options.get(number.checked_sub(1)?).map(|option| option.label.as_str())
        };
        let separators = [',', ' '];
        let words = text.split(separators).filter(|word| !word.is_empty());
        let several: Option<Vec<&str>> = words.map(label).collect();
        match several {
            Some(labels) if self.multiple && !labels.is_empty() => labels.join(", "),
            _ => label(text).unwrap_or(text.trim()).to_owned(),
        }
    }
}

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// The path of the file.
    pub path: PathBuf,
    /// What happens to it.
    pub action: FileAction,
    /// What the diff cannot show, such as that the old content is not text.
    pub note: Option<String>,
    /// The change as a unified diff, without the lines that name the file.
    pub diff: String,
    /// What is asked for, where that is one text for another (APR-4).
    pub replaced: Option<Replaced>,
    /// A hash of what the file holds now: an approval holds for no other content (APR-7).
    pub before: Option<[u8; 32]>,
}

impl FileDiff {
    /// Returns a change of which nothing more is known.
    pub fn new(path: impl Into<PathBuf>, action: FileAction, diff: impl Into<String>) -> Self {
        Self { path: path.into(), action, note: None, diff: diff.into(), replaced: None, before: None }
    }
}

/// One text for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// What is looked for.
    pub old: String,
    /// What stands there afterwards.
    pub new: String,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// The file is created.
    Create,
    /// The file exists and is changed.
    Change,
    /// The file is deleted.
    Delete,
}

impl FileAction {
    /// Returns the word messages use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Delete => "delete",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_number_or_words() {
        let option = |label: &str| ChoiceOption { label: label.to_owned(), description: None };
        let choice = |multiple| Choice {
            question: "Which?".to_owned(),
            header: None,
            options: vec![option("Red"), option("Light blue")],
            multiple,
            secret: false,
            form: None,
        };
        for (text, one, several) in [
            ("1", "Red", "Red"),
            (" 2\n", "Light blue", "Light blue"),
            ("2,1", "2,1", "Light blue, Red"),
            ("1 2", "1 2", "Red, Light blue"),
            ("0", "0", "0"),
            ("3", "3", "3"),
            (" neither of 2 ", "neither of 2", "neither of 2"),
            ("", "", ""),
        ] {
            assert_eq!(
                (choice(false).answer(text), choice(true).answer(text)),
                (one.into(), several.into()),
                "{text:?}"
            );
        }
    }
}
