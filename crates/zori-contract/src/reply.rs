//! What a command that worked hands back. The framework turns it into an envelope, rows, a table or text.

use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::warning::Warning;

/// A result.
#[derive(Debug)]
pub struct Reply {
    /// What it is.
    pub body: Body,
    /// The words for people; without any, they are made from the data.
    pub text: Option<Text>,
    /// What a caller should know all the same.
    pub warnings: Vec<Warning>,
    /// Further facts for `meta`.
    pub meta: Map<String, Value>,
    /// What is kept for the next call with the same key, where it was printed already.
    pub kept: Option<Value>,
    /// Whether a document has what others wrote.
    pub external: bool,
    /// The call that shows what is cut off this answer, where the same call again would not.
    pub whole: Option<String>,
}

/// The kinds of results.
#[derive(Debug)]
pub enum Body {
    /// An object or null.
    One(Value),
    /// An object that was made from the program's own tables alone: there is nothing in it to hide or to clean.
    Table(Box<RawValue>),
    /// Everything a list has; the framework cuts it into pages.
    Rows(Rows),
    /// A document, printed as it is.
    Document(String),
    /// Already printed, through [`crate::output_streams::OutputStreams::stream`] or by a command that owns its streams, and this is
    /// how it ended.
    Streamed(Exit),
}

/// A list of which only what is printed is made.
pub struct Rows {
    /// How many there are.
    pub len: usize,
    make: Box<dyn Fn(usize) -> Value>,
}

impl Rows {
    /// Makes one row.
    pub fn row(&self, at: usize) -> Value {
        (self.make)(at)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.len).map(|at| self.row(at))).finish()
    }
}

/// Words that are made when somebody reads them.
pub struct Text(Box<dyn FnOnce() -> String>);

impl Text {
    /// Makes them.
    pub fn make(self) -> String {
        (self.0)()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text(..)")
    }
}

/// What a change came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It is new.
    Created,
    /// It was there and is different.
    Updated,
    /// It is gone.
    Deleted,
    /// It was so already.
    Noop,
}

impl Reply {
    fn of(body: Body) -> Self {
        Self {
            body,
            text: None,
            warnings: Vec::new(),
            meta: Map::new(),
            kept: None,
            external: false,
            whole: None,
        }
    }

    /// One result: anything that becomes a JSON object, or null.
    ///
    /// # Panics
    ///
    /// When it becomes something else: `data` is never a bare string or number.
    pub fn one(value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).expect("results are plain values");
        assert!(matches!(value, Value::Object(_) | Value::Null), "`data` is an object, not {value}");
        Self::of(Body::One(value))
    }

    /// A change: the result with its effect.
    pub fn changed(effect: Effect, value: impl Serialize) -> Self {
        let mut reply = Self::one(value);
        if let Body::One(data) = &mut reply.body {
            data["effect"] = json!(effect);
        }
        reply
    }

    /// An object that was made from the program's own tables alone.
    pub fn table(json: Box<RawValue>) -> Self {
        Self::of(Body::Table(json))
    }

    /// Everything a list has, in its order.
    pub fn rows(rows: impl IntoIterator<Item = impl Serialize>) -> Self {
        let value = |row| serde_json::to_value(row).expect("rows are plain values");
        let rows: Vec<Value> = rows.into_iter().map(value).collect();
        Self::long(rows.len(), move |at| rows[at].clone())
    }

    /// A long list: how many rows it has, and how each is made. Only those of the page are.
    pub fn long(len: usize, row: impl Fn(usize) -> Value + 'static) -> Self {
        Self::of(Body::Rows(Rows { len, make: Box::new(row) }))
    }

    /// Returns a reply that is one long text, printed as it is.
    pub fn document(text: impl Into<String>) -> Self {
        Self::of(Body::Document(text.into()))
    }

    /// Nothing more to print.
    pub fn streamed() -> Self {
        Self::of(Body::Streamed(Exit::Success))
    }

    /// Nothing more to print: the command has said itself how it ended.
    pub fn ended(exit: Exit) -> Self {
        Self::of(Body::Streamed(exit))
    }

    /// Says that a document has what others wrote.
    pub fn external(mut self) -> Self {
        self.external = true;
        self
    }

    /// Names the call that shows what is cut off the answer.
    pub fn whole(mut self, call: impl Into<String>) -> Self {
        self.whole = Some(call.into());
        self
    }

    /// Adds the words for people; a newline at the end is added.
    pub fn text(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.text_with(move || text)
    }

    /// Adds words that are long, and are made when somebody reads them.
    pub fn text_with(mut self, text: impl FnOnce() -> String + 'static) -> Self {
        self.text = Some(Text(Box::new(text)));
        self
    }

    /// Adds a warning.
    pub fn warn(mut self, warning: Warning) -> Self {
        self.warnings.push(warning);
        self
    }

    /// Adds a fact to `meta`.
    pub fn meta(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.meta.insert(name.to_owned(), value.into());
        self
    }
}
