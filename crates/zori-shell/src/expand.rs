//! Expands words to a command's arguments: removes quotes, replaces braces, tildes and known variables.

pub mod printed;

use self::printed::Printed;

use crate::arg::{Arg, Rest};
use crate::braces;
use crate::paths;
use crate::state::State;
use crate::syntax::{Dialect, Expansion, ExpansionKind, Form, Parameter, Script, WordPart, WordParts};

/// What expansion found beside the words.
#[derive(Default)]
pub struct Notes {
    /// Scripts that run to make the words.
    pub scripts: Vec<Script>,
    /// Why what happens cannot be known.
    pub unknown: Vec<&'static str>,
    /// Variables that are assigned an unknown value.
    pub assigned: Vec<String>,
    /// Whether anything was substituted at all.
    pub substituted: bool,
}

/// How a word is expanded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WordContext {
    /// A command's word: braces, splitting, patterns.
    Field,
    /// One word whatever it holds: a value, a redirect's target, a here-document.
    Whole,
}

/// Expands `parts` to the words they become.
pub fn expand(
    parts: &[WordPart],
    word_context: WordContext,
    dialect: Dialect,
    state: &State,
    shown: &str,
    notes: &mut Notes,
) -> Vec<Arg> {
    let words = match (word_context, dialect) {
        (WordContext::Field, Dialect::Bash) => braces::expand(parts),
        _ => Some(vec![parts.to_vec()]),
    };
    let Some(words) = words else {
        notes.unknown.push("too many words in braces");
        look_through(parts, state, notes);
        return vec![Arg::unknown(shown)];
    };
    let mut args = Vec::new();
    for word in &words {
        let mut builder = Builder { args: Vec::new(), current: None, shown, word_context, dialect };
        builder.word(word, state, notes);
        builder.finish();
        args.append(&mut builder.args);
    }
    args
}

/// Collects what runs in `parts`, whatever they become.
pub fn look_through(parts: &[WordPart], state: &State, notes: &mut Notes) {
    let mut builder = Builder {
        args: Vec::new(),
        current: None,
        shown: "",
        word_context: WordContext::Whole,
        dialect: Dialect::Bash,
    };
    builder.word(parts, state, notes);
}

struct Builder<'a> {
    args: Vec<Arg>,
    current: Option<Arg>,
    shown: &'a str,
    word_context: WordContext,
    dialect: Dialect,
}

impl Builder<'_> {
    fn current(&mut self) -> &mut Arg {
        let shown = self.shown;
        self.current.get_or_insert_with(|| Arg {
            text: String::new(),
            rest: Rest::Nothing,
            pattern: String::new(),
            maybe: Vec::new(),
            shown: shown.to_owned(),
        })
    }

    fn finish(&mut self) {
        self.args.extend(self.current.take());
    }

    fn text(&mut self, text: &str) {
        let arg = self.current();
        match arg.rest {
            Rest::Nothing => arg.text.push_str(text),
            // Behind a pattern a step upwards may lead anywhere.
            Rest::Glob if text.contains("..") => arg.rest = Rest::Unknown,
            Rest::Glob => arg.pattern.push_str(&paths::escaped_pattern(text)),
            _ => arg.maybe.iter_mut().for_each(|whole| whole.push_str(text)),
        }
    }

    /// Goes on with a text that is not known, but may be one of these.
    fn maybe(&mut self, candidates: Vec<String>, rest: Rest) {
        let arg = self.current();
        if arg.rest == Rest::Nothing {
            arg.maybe = candidates.iter().map(|text| format!("{}{text}", arg.text)).collect();
        } else {
            arg.maybe.clear();
        }
        self.unknown(rest);
    }

    fn unknown(&mut self, rest: Rest) {
        let arg = self.current();
        arg.rest = arg.rest.max(rest);
    }

    /// Text that is subject to pattern matching.
    fn pattern(&mut self, text: &str) {
        if self.word_context == WordContext::Whole {
            return self.text(text);
        }
        let bracket = text.contains('[') && text.contains(']');
        for (at, c) in text.char_indices() {
            if matches!(c, '*' | '?') || (c == '[' && bracket) {
                // `.*` matches `..` in some shells.
                let hidden = text[..at].ends_with('.')
                    && !text[..at].trim_end_matches('.').ends_with(|c: char| c.is_alphanumeric());
                self.unknown(if hidden { Rest::Unknown } else { Rest::Glob });
            }
            match self.current().rest {
                // Unquoted, so that brackets behind a sign mean what they say.
                Rest::Glob if c != '\\' => self.current().pattern.push(c),
                _ => self.text(c.encode_utf8(&mut [0; 4])),
            }
        }
        if text.contains("..") && self.current().rest == Rest::Glob {
            self.unknown(Rest::Unknown);
        }
    }

    fn word(&mut self, parts: &[WordPart], state: &State, notes: &mut Notes) {
        for (at, part) in parts.iter().enumerate() {
            match part {
                WordPart::Text(text) => {
                    let mut text = text.as_str();
                    let tilde = at == 0 && text.starts_with('~');
                    let ended = text.contains('/') || parts.len() == 1;
                    if tilde && ended {
                        text = self.tilde(text, state);
                    } else if tilde {
                        // `~$x` is no tilde expansion, `~"x"` neither; it stays as it is.
                    } else if self.word_context == WordContext::Whole
                        && (text.contains("=~") || text.contains(":~"))
                    {
                        self.unknown(Rest::Unknown);
                    }
                    self.pattern(text);
                }
                WordPart::Quoted(text) => self.text(text),
                WordPart::Expansion(expansion) => self.expansion(expansion, state, notes),
            }
        }
    }

    /// Replaces a tilde and returns the rest.
    fn tilde<'t>(&mut self, text: &'t str, state: &State) -> &'t str {
        let end = text.find('/').unwrap_or(text.len());
        match (&text[1..end], state.get("HOME")) {
            ("", Some(home)) => {
                self.text(home);
                &text[end..]
            }
            ("" | "+" | "-", _) => {
                self.unknown(Rest::Unknown);
                &text[end..]
            }
            // The home of somebody: under the usual parent, as far as a text can say.
            (user, _) => {
                let home = format!("/home/{user}");
                self.text(&home);
                &text[end..]
            }
        }
    }

    fn expansion(&mut self, expansion: &Expansion, state: &State, notes: &mut Notes) {
        notes.substituted = true;
        let rest = if expansion.quoted { Rest::Unknown } else { Rest::Words };
        match &expansion.kind {
            ExpansionKind::Parameter(parameter) => self.parameter(parameter, expansion.quoted, state, notes),
            ExpansionKind::Command(script) => {
                notes.scripts.push(script.clone());
                match printed::printed(script, self.dialect, state) {
                    Some(Printed::Text(text)) if expansion.quoted => self.text(&text),
                    Some(Printed::Text(text)) if state.splits_at_blanks() => self.split(&text),
                    Some(Printed::Names(name)) if !expansion.quoted && self.current.is_none() => {
                        let shown = self.shown.to_owned();
                        self.current = Some(Arg { shown, ..Arg::found("", true, name.as_deref()) });
                    }
                    Some(Printed::Maybe(text)) => self.maybe(vec![text], rest),
                    _ => self.maybe(Vec::new(), rest),
                }
            }
            ExpansionKind::Process(script) => {
                notes.scripts.push(script.clone());
                // The name of a pipe: nothing of the user's.
                self.text("/dev/fd/63");
            }
            ExpansionKind::Arithmetic(parts) => {
                arithmetic(parts, state, notes);
                self.unknown(Rest::Unknown);
            }
        }
    }

    fn parameter(&mut self, parameter: &Parameter, quoted: bool, state: &State, notes: &mut Notes) {
        look_through(&parameter.operand, state, notes);
        if let Some(subscript) = &parameter.subscript {
            let all = matches!(subscript.as_slice(), [WordPart::Text(text)] if text == "@" || text == "*");
            if !all {
                arithmetic(subscript, state, notes);
            }
        }
        let value = state.get(&parameter.name).filter(|_| parameter.subscript.is_none());
        match parameter.form {
            Form::Indirect => notes.unknown.push("an indirect expansion"),
            Form::Prompt => notes.unknown.push("a prompt expansion runs what it finds"),
            Form::Substring => arithmetic(&parameter.operand, state, notes),
            Form::OrAssign => notes.assigned.push(parameter.name.clone()),
            _ => {}
        }
        let kept = matches!(parameter.form, Form::Plain | Form::OrFail | Form::OrDefault | Form::OrAssign);
        let trimmed = value.and_then(|value| trimmed(value, parameter));
        match value.filter(|value| kept && !value.is_empty()).or(trimmed) {
            Some(value) if quoted || self.word_context == WordContext::Whole => {
                let value = value.to_owned();
                self.text(&value);
            }
            Some(value) if state.splits_at_blanks() => {
                let value = value.to_owned();
                self.split(&value);
            }
            _ if self.all_parameters(parameter, quoted, state) => {}
            _ => {
                let several = parameter.name == "@" || parameter.subscript.is_some();
                let rest = if quoted && !several { Rest::Unknown } else { Rest::Words };
                let empty = |arg: &Arg| arg.text.is_empty() && arg.rest == Rest::Nothing;
                let alone = self.current.as_ref().is_none_or(empty);
                if let (true, Form::Plain, true, Some(names)) =
                    (quoted, parameter.form, alone, state.names(&parameter.name))
                {
                    self.current = Some(Arg { shown: self.shown.to_owned(), ..names.clone() });
                    return;
                }
                let mut candidates = state.maybe(&parameter.name).to_vec();
                // A variable that was set to nothing leaves what stands beside it.
                candidates.extend(value.filter(|value| kept && value.is_empty()).map(str::to_owned));
                if matches!(parameter.form, Form::OrDefault | Form::OrAssign)
                    && let [WordPart::Text(text) | WordPart::Quoted(text)] = parameter.operand.as_slice()
                {
                    candidates.push(text.clone());
                }
                self.maybe(candidates, rest);
            }
        }
    }

    /// Adds `"$@"` where all of the parameters are known; returns whether they are.
    fn all_parameters(&mut self, parameter: &Parameter, quoted: bool, state: &State) -> bool {
        if !matches!(parameter.name.as_str(), "@" | "*") || parameter.form != Form::Plain {
            return false;
        }
        let Some(values) = state.parameters().filter(|_| state.splits_at_blanks()) else { return false };
        match (quoted, parameter.name.as_str()) {
            (true, "*") => self.text(&values.join(" ")),
            (quoted, _) => {
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        self.finish();
                    }
                    if quoted {
                        self.text(value);
                    } else {
                        self.split(value);
                    }
                }
            }
        }
        true
    }

    /// Adds unquoted text of a variable, which is split at blanks and may be a pattern.
    fn split(&mut self, value: &str) {
        let blank = |c: char| matches!(c, ' ' | '\t' | '\n');
        if value.starts_with(blank) {
            self.finish();
        }
        for (at, field) in value.split(blank).filter(|field| !field.is_empty()).enumerate() {
            if at > 0 {
                self.finish();
            }
            self.pattern(field);
        }
        if value.ends_with(blank) {
            self.finish();
        }
    }
}

/// Returns the value of `${x%y}` and `${x#y}` where `y` is plain text.
fn trimmed<'v>(value: &'v str, parameter: &Parameter) -> Option<&'v str> {
    let [WordPart::Text(cut) | WordPart::Quoted(cut)] = parameter.operand.as_slice() else { return None };
    if cut.contains(['*', '?', '[', '\\']) {
        return None;
    }
    // The sign twice means the longest match, which is the same for plain text.
    match parameter.form {
        Form::WithoutEnd => {
            let cut = cut.strip_prefix('%').unwrap_or(cut);
            Some(value.strip_suffix(cut).unwrap_or(value))
        }
        Form::WithoutStart => {
            let cut = cut.strip_prefix('#').unwrap_or(cut);
            Some(value.strip_prefix(cut).unwrap_or(value))
        }
        _ => None,
    }
}

/// Looks through arithmetic. bash evaluates what a variable holds as an expression again, substitutions in subscripts
/// included, so every name and every expansion has to be a number.
pub fn arithmetic(parts: &[WordPart], state: &State, notes: &mut Notes) {
    let mut names = WordParts::new();
    for part in parts {
        match part {
            WordPart::Text(text) | WordPart::Quoted(text) => names.push(WordPart::Text(text.clone())),
            WordPart::Expansion(expansion) => {
                let number = match &expansion.kind {
                    ExpansionKind::Parameter(p) => {
                        matches!(p.name.as_str(), "#" | "?" | "$" | "!")
                            || state.get(&p.name).is_some_and(is_number)
                    }
                    ExpansionKind::Arithmetic(_) => true,
                    _ => false,
                };
                if !number {
                    notes.unknown.push("arithmetic evaluates what an expansion holds");
                }
            }
        }
    }
    look_through(parts, state, notes);
    for part in &names {
        let WordPart::Text(text) = part else { continue };
        for name in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            if is_name && !state.get(name).is_some_and(is_number) {
                notes.unknown.push("arithmetic evaluates what a variable holds");
            }
            if is_name && text.contains('=') {
                notes.assigned.push(name.to_owned());
            }
        }
        if text.contains("++") || text.contains("--") {
            notes.unknown.push("arithmetic that changes variables");
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}
