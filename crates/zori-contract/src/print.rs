//! From what a command came to, to the bytes that are printed. Everything every answer must have is put there here.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::cap;
use crate::clean::{self, Found};
use crate::envelope::{Envelope, Facts};
use crate::error::{self, ErrorKind};
use crate::exit::{Danger, Exit};
use crate::external::{self, External};
use crate::failure::Failure;
use crate::injection;
use crate::mask::Mask;
use crate::mode::{Format, Mode};
use crate::page::{Page, Paged};
use crate::reply::{Body, Reply, Text};
use crate::shape::{self, Columns};
use crate::warning::Warning;

/// How the answers of a run are printed.
#[derive(Clone)]
pub struct Printer {
    /// The program's name.
    pub program: &'static str,
    /// What the command does to the world.
    pub danger: Danger,
    /// How rows look.
    pub columns: Columns,
    /// How to print.
    pub mode: Mode,
    /// What is said in `meta`.
    pub facts: Facts,
    /// What is hidden.
    pub mask: Mask,
    /// `--fields`.
    pub fields: Option<Vec<String>>,
    /// The bound of an answer.
    pub max_bytes: usize,
    /// The bound of a text within it, in characters.
    pub max_field: Option<usize>,
    /// How wide a table may be.
    pub width: Option<usize>,
    /// What was typed, for the call that gets what was cut.
    pub argv: Vec<String>,
    /// Which part of a list.
    pub page: Option<Page>,
    /// `--no-injection-protection`.
    pub unmark: bool,
    /// `--warnings-as-errors`.
    pub strict: bool,
    /// Whether the command speaks a protocol, which has lines in every format.
    pub protocol: bool,
    /// How a failure looks in the command's stream of lines, if it has one of its own.
    pub failure_line: Option<fn(&'static ErrorKind, &str) -> String>,
}

/// What goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// To standard output.
    pub stdout: String,
    /// To standard error, line by line.
    pub said: Vec<String>,
    /// How the program ends.
    pub exit: Exit,
}

impl Printer {
    /// Prints a result.
    pub fn reply(&self, reply: Reply, duration_ms: u64) -> Printed {
        let Reply { body, mut text, warnings, meta, external, whole, .. } = reply;
        let structured = self.mode.format.structured();
        let mut cut_short = false;
        let (mut data, paged) = match body {
            Body::One(data) => (data, None),
            Body::Table(json) if structured && self.fields.is_none() && warnings.is_empty() => {
                let mut facts = self.facts.meta(Exit::Success, duration_ms);
                facts.extend(meta);
                let stdout = Envelope::new(Exit::Success, Value::Null, Value::Null, &[], facts).around(&json);
                return Printed { stdout, said: Vec::new(), exit: Exit::Success };
            }
            Body::Table(json) => {
                let data: Value = serde_json::from_str(json.get()).expect("it is JSON");
                let words = serde_json::to_string_pretty(&data).expect("JSON values can be written");
                text = text.or(Reply::one(Value::Null).text(words).text);
                (data, None)
            }
            Body::Rows(rows) => match &self.page {
                Some(page) => {
                    let mut paged = Paged::cut(&rows, page, self.columns.id);
                    cut_short = paged.rows.len() < rows.len;
                    (Value::Array(std::mem::take(&mut paged.rows)), Some(paged))
                }
                None => ((0..rows.len).map(|at| rows.row(at)).collect(), None),
            },
            Body::Document(text) if structured && external => (json!(External(text)), None),
            Body::Document(text) if structured => (json!({"content": text}), None),
            Body::Document(text) => return self.document(&text, &warnings),
            Body::Streamed(exit) => {
                let counts = self.strict && exit == Exit::Success && !warnings.is_empty();
                let exit = if counts { error::WARNINGS_AS_ERRORS.exit } else { exit };
                return Printed { stdout: String::new(), said: warning_lines(&warnings), exit };
            }
        };
        let mut out = Answer { data: Value::Null, warnings, meta };
        self.make_harmless(&mut data, &mut out);
        if let Some(fields) = &self.fields {
            shape::project(&mut data, fields);
        }
        let long = self.max_field.filter(|_| structured).and_then(|max| cap::fields(&mut data, max));
        if let Some((cut, warnings)) = long {
            let hint = whole.clone().unwrap_or_else(|| self.again("--max-field", 0));
            cut.describe(&mut out.meta, &hint);
            out.warnings.extend(warnings);
        }
        if structured && let Some(cut) = cap::fit(&mut data, self.max_bytes) {
            cut.describe(&mut out.meta, &whole.unwrap_or_else(|| self.rest(&cut)));
            out.warnings.push(cut.warning());
        }
        if let Some(mut paged) = paged {
            // The next page begins after what was returned, also where the bound was what cut it.
            paged.rows = data.as_array().cloned().unwrap_or_default();
            paged.describe(&mut out.meta);
        }
        out.data = data;
        if self.strict && !out.warnings.is_empty() {
            let failure =
                Failure::new(&error::WARNINGS_AS_ERRORS, "there are warnings, and they count as errors");
            return self.fail(&failure, out, duration_ms);
        }
        let stdout = match self.mode.format {
            Format::Json => self.envelope(Exit::Success, Value::Null, &out, duration_ms),
            Format::Jsonl if out.data.is_array() => {
                let rows = self.rows(Format::Jsonl, out.data.as_array().expect("looked at above"));
                out.data = Value::Null;
                out.meta.insert("summary".into(), json!(true));
                rows + &self.envelope(Exit::Success, Value::Null, &out, duration_ms)
            }
            Format::Jsonl => self.envelope(Exit::Success, Value::Null, &out, duration_ms),
            Format::Plain if text.is_some() && self.fields.is_none() && !cut_short => {
                self.text(&text.map(Text::make).unwrap_or_default())
            }
            format => match &out.data {
                Value::Array(rows) => self.rows(format, rows),
                Value::Null => String::new(),
                one => self.rows(format, std::slice::from_ref(one)),
            },
        };
        let said = if structured { Vec::new() } else { warning_lines(&out.warnings) };
        Printed { stdout, said, exit: Exit::Success }
    }

    /// Prints a failure.
    pub fn failure(&self, failure: &Failure, duration_ms: u64) -> Printed {
        let data = failure.facts.data.clone().unwrap_or(Value::Null);
        let (warnings, meta) = (failure.facts.warnings.clone(), failure.facts.meta.clone());
        let mut out = Answer { data: Value::Null, warnings, meta };
        let mut data = data;
        self.make_harmless(&mut data, &mut out);
        if let Some(cut) = cap::fit(&mut data, self.max_bytes) {
            let hint = failure.facts.whole.clone().unwrap_or_else(|| self.rest(&cut));
            cut.describe(&mut out.meta, &hint);
            out.warnings.push(cut.warning());
        }
        if data.get("partial") == Some(&json!(true)) {
            out.meta.insert("partial".into(), json!(true));
        }
        out.data = data;
        self.fail(failure, out, duration_ms)
    }

    fn fail(&self, failure: &Failure, out: Answer, duration_ms: u64) -> Printed {
        let exit = failure.kind.exit;
        let mut error = failure.detail(self.program, exit.entry(self.danger));
        let mut found = Found::default();
        clean::value(&mut error, &mut found);
        self.mask.value(&mut error);
        let mut said = if self.mode.structured_errors { Vec::new() } else { warning_lines(&out.warnings) };
        said.push(format!("Error: {}", failure.message.replace('\n', " ")));
        let own_line = self.failure_line.filter(|_| self.protocol || self.mode.format == Format::Jsonl);
        if own_line.is_some() || (self.mode.format == Format::Plain && !self.mode.structured_errors) {
            said.extend(failure.facts.hints.iter().map(|hint| format!("Hint: {hint}")));
        }
        if let Some(line) = own_line {
            let hidden = self.mask.line(&failure.message);
            let stdout = line(failure.kind, hidden.as_deref().unwrap_or(&failure.message));
            return Printed { stdout, said, exit };
        }
        let stdout = match self.mode.structured_errors {
            true => self.envelope(exit, error, &out, duration_ms),
            false if self.mode.format == Format::Plain => {
                self.text(failure.facts.text.as_deref().unwrap_or_default())
            }
            false => String::new(),
        };
        Printed { stdout, said, exit }
    }

    fn document(&self, text: &str, warnings: &[Warning]) -> Printed {
        Printed { stdout: self.text(text), said: warning_lines(warnings), exit: Exit::Success }
    }

    fn rows(&self, format: Format, rows: &[Value]) -> String {
        shape::print(format, rows, self.columns, self.width)
    }

    /// Text for people: harmless, and with its newline.
    fn text(&self, text: &str) -> String {
        let hidden = self.mask.line(text);
        let mut text = clean::string(hidden.as_deref().unwrap_or(text), &mut Found::default()).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// Takes out of the data what must not be there, and says so.
    fn make_harmless(&self, data: &mut Value, out: &mut Answer) {
        let mut found = Found::default();
        clean::value(data, &mut found);
        if found.replaced > 0 {
            let message = format!("{} characters that cannot be shown were replaced", found.replaced);
            out.warnings.push(Warning::new("UTF8_REPLACED", message));
        }
        self.mask.value(data);
        if let Some(phrase) = injection::found(data) {
            let message =
                format!("text that others wrote reads like an instruction to the reader (`{phrase}`)");
            out.warnings.push(Warning::new("EXTERNAL_CONTENT", message));
        }
        if self.unmark && external::unmark(data) {
            out.meta.insert("injection_protection".into(), json!(false));
            let message = "text that others wrote is not marked as such";
            out.warnings.push(Warning::new("INJECTION_PROTECTION_OFF", message));
        }
    }

    fn envelope(&self, exit: Exit, error: Value, out: &Answer, duration_ms: u64) -> String {
        let mut meta = self.facts.meta(exit, duration_ms);
        meta.extend(out.meta.clone());
        Envelope::new(exit, out.data.clone(), error, &out.warnings, meta).line()
    }

    /// Returns the call that gets what was cut.
    fn rest(&self, cut: &cap::Truncation) -> String {
        match cut.returned_count {
            Some(n) if n > 0 && self.page.is_some() => self.again("--limit", n),
            _ => self.again("--max-output", cut.total_bytes),
        }
    }

    /// Returns the same call with another value of a flag, as it would be typed.
    fn again(&self, flag: &str, value: usize) -> String {
        let mut words = self.argv.iter();
        let mut call = self.program.to_owned();
        while let Some(word) = words.next() {
            if word == flag {
                words.next();
            } else if !word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')) {
                call.push(' ');
                call.push_str(&quoted(word));
            }
        }
        format!("{call} {flag} {value}")
    }
}

/// Returns a word as a shell takes it.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./:=,@%+".contains(&b);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")).into(),
    }
}

/// What an answer has so far.
struct Answer {
    data: Value,
    warnings: Vec<Warning>,
    meta: serde_json::Map<String, Value>,
}

fn warning_lines(warnings: &[Warning]) -> Vec<String> {
    let unseen = |warning: &&Warning| !warning.shown;
    warnings.iter().filter(unseen).map(|warning| format!("Warning: {}", warning.message)).collect()
}
