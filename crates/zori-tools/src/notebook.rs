//! A Jupyter notebook as text: cells are replaced, inserted and deleted where they stand, and every other byte stays.
//!
//! Nothing is written out again that was not changed, so a diff shows the cell alone. What is new is laid out as the file
//! is: its indentation, its line ends, sources as lists of lines or as one string.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What happens to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// It gets this source, and another type where one is named. The outputs of code are dropped, since they are of the
    /// old source.
    Replace { cell: &'a str, source: &'a str, kind: Option<CellKind> },
    /// A new cell comes after it, or before all others.
    Insert { after: Option<&'a str>, source: &'a str, kind: CellKind },
    /// It is removed.
    Delete { cell: &'a str },
}

/// The types of cells that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    Code,
    Markdown,
    Raw,
}

impl CellKind {
    /// Reads the name that the format has for it.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Code, Self::Markdown, Self::Raw].into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns its name in the format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
            Self::Raw => "raw",
        }
    }
}

/// A notebook after a change.
#[derive(Debug, PartialEq, Eq)]
pub struct Changed {
    pub text: String,
    /// The number of the cell, from 0, and its id.
    pub cell: usize,
    pub id: Option<String>,
    pub kind: CellKind,
    /// The source it had.
    pub old_source: Option<String>,
    /// How many cells there are now.
    pub cells: usize,
    /// The language that the notebook names.
    pub language: Option<String>,
}

/// Why a notebook cannot be changed so.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotebookError {
    #[error("it is not a notebook of format 4: {0}")]
    NotANotebook(String),
    #[error("there is no cell `{wanted}`; {cells}")]
    NoCell { wanted: String, cells: String },
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    #[serde(default)]
    metadata: Metadata,
    nbformat: u32,
    #[serde(default)]
    nbformat_minor: u32,
}

#[derive(Default, Deserialize)]
struct Metadata {
    language_info: Option<Language>,
    kernelspec: Option<Kernel>,
}

#[derive(Deserialize)]
struct Language {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Kernel {
    language: Option<String>,
}

#[derive(Deserialize)]
struct Cell<'a> {
    id: Option<String>,
    cell_type: String,
    #[serde(borrow)]
    source: &'a RawValue,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    outputs: Option<&'a RawValue>,
    // `null` is a value here that may have to be replaced, so it is not `None`.
    #[serde(borrow, default, deserialize_with = "present")]
    execution_count: Option<&'a RawValue>,
}

fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Text(String),
    Lines(Vec<String>),
}

impl Source {
    fn joined(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Lines(lines) => lines.concat(),
        }
    }
}

/// A cell as it is written when it is new; the order of the fields is the format's own.
#[derive(Serialize)]
struct NewCell<'a> {
    cell_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_count: Option<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    metadata: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<[(); 0]>,
    source: serde_json::Value,
}

/// Makes one change and returns the notebook's text after it.
pub fn change(text: &str, change: Change<'_>) -> Result<Changed, NotebookError> {
    let bad = |error: serde_json::Error| NotebookError::NotANotebook(error.to_string());
    let document: Document<'_> = serde_json::from_str(text).map_err(bad)?;
    if document.nbformat != 4 {
        return Err(NotebookError::NotANotebook(format!("it says format {}", document.nbformat)));
    }
    let raw: Vec<&RawValue> = serde_json::from_str(document.cells.get()).map_err(bad)?;
    let cells: Vec<Cell<'_>> =
        raw.iter().map(|cell| serde_json::from_str(cell.get())).collect::<Result<_, _>>().map_err(bad)?;
    let notebook = Notebook { text, list: place(text, document.cells), raw, cells, layout: Layout::of(text) };
    let Metadata { language_info, kernelspec } = document.metadata;
    let language =
        language_info.and_then(|info| info.name).or_else(|| kernelspec.and_then(|kernel| kernel.language));
    let ids = (document.nbformat, document.nbformat_minor) >= (4, 5);
    let changed = match change {
        Change::Replace { cell, source, kind } => notebook.replace(notebook.find(cell)?, source, kind)?,
        Change::Insert { after, source, kind } => {
            let at = after.map(|cell| notebook.find(cell)).transpose()?.map_or(0, |cell| cell + 1);
            notebook.insert(at, source, kind, ids)
        }
        Change::Delete { cell } => notebook.delete(notebook.find(cell)?)?,
    };
    Ok(Changed { language, ..changed })
}

struct Notebook<'a> {
    text: &'a str,
    /// Where the list of cells is.
    list: Range<usize>,
    raw: Vec<&'a RawValue>,
    cells: Vec<Cell<'a>>,
    layout: Layout,
}

impl<'a> Notebook<'a> {
    /// Finds a cell by its id, or else by its number from 0, which may be written `cell-3`.
    fn find(&self, wanted: &str) -> Result<usize, NotebookError> {
        if let Some(at) = self.cells.iter().position(|cell| cell.id.as_deref() == Some(wanted)) {
            return Ok(at);
        }
        let number = wanted.strip_prefix("cell-").unwrap_or(wanted).parse::<usize>().ok();
        number
            .filter(|at| *at < self.cells.len())
            .ok_or_else(|| NotebookError::NoCell { wanted: wanted.to_owned(), cells: self.listed() })
    }

    /// Lists the cells for a message.
    fn listed(&self) -> String {
        const SHOWN: usize = 20;
        let cell = |(at, cell): (usize, &Cell<'_>)| match &cell.id {
            Some(id) => format!("{at} (id {id}, {})", cell.cell_type),
            None => format!("{at} ({})", cell.cell_type),
        };
        let names: Vec<String> = self.cells.iter().enumerate().take(SHOWN).map(cell).collect();
        let more = if self.cells.len() > SHOWN { ", ..." } else { "" };
        match self.cells.len() {
            0 => "the notebook has no cells".to_owned(),
            1 => format!("the only one is {}", names.join(", ")),
            all => format!("the {all} cells are {}{more}", names.join(", ")),
        }
    }

    fn replace(&self, at: usize, source: &str, kind: Option<CellKind>) -> Result<Changed, NotebookError> {
        let cell = &self.cells[at];
        let old = self.kind(at)?;
        let kind = kind.unwrap_or(old);
        let whole = place(self.text, self.raw[at]);
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        if kind == old {
            let source =
                self.layout.written(&self.shaped(at, source), self.layout.depth_of(self.text, &whole) + 1);
            edits.push((place(self.text, cell.source), source));
            if let Some(outputs) = cell.outputs {
                edits.push((place(self.text, outputs), "[]".to_owned()));
            }
            if let Some(count) = cell.execution_count {
                edits.push((place(self.text, count), "null".to_owned()));
            }
        } else {
            let metadata = cell.metadata.and_then(|raw| serde_json::from_str(raw.get()).ok());
            let new = self.new_cell(kind, cell.id.as_deref(), metadata, self.shaped(at, source));
            edits.push((whole.clone(), self.layout.written(&new, self.layout.depth_of(self.text, &whole))));
        }
        Ok(Changed {
            text: replaced(self.text, edits),
            cell: at,
            id: cell.id.clone(),
            kind,
            old_source: Some(self.source(at)?),
            cells: self.cells.len(),
            language: None,
        })
    }

    fn insert(&self, at: usize, source: &str, kind: CellKind, ids: bool) -> Changed {
        let id = ids.then(|| self.fresh_id(at, source));
        let source = self.shaped(at.saturating_sub(1), source);
        let new = self.new_cell(kind, id.as_deref(), None, source);
        let depth =
            self.raw.first().map_or(2, |first| self.layout.depth_of(self.text, &place(self.text, first)));
        let (cell, gap) = (self.layout.written(&new, depth), self.layout.line(depth));
        let edit = match (at, self.raw.len()) {
            (_, 0) => {
                let end = self.layout.line(depth.saturating_sub(1));
                (self.list.clone(), format!("[{gap}{cell}{end}]"))
            }
            (0, _) => {
                let start = place(self.text, self.raw[0]).start;
                (start..start, format!("{cell},{}", self.layout.between(&gap)))
            }
            (at, _) => {
                let end = place(self.text, self.raw[at - 1]).end;
                (end..end, format!(",{}{cell}", self.layout.between(&gap)))
            }
        };
        Changed {
            text: replaced(self.text, vec![edit]),
            cell: at,
            id,
            kind,
            old_source: None,
            cells: self.cells.len() + 1,
            language: None,
        }
    }

    fn delete(&self, at: usize) -> Result<Changed, NotebookError> {
        let here = place(self.text, self.raw[at]);
        let next = self.raw.get(at + 1).map(|next| place(self.text, next).start);
        let before = at.checked_sub(1).map(|before| place(self.text, self.raw[before]).end);
        let gone = match (next, before) {
            (Some(next), _) => here.start..next,
            (None, Some(before)) => before..here.end,
            (None, None) => self.list.start + 1..self.list.end - 1,
        };
        Ok(Changed {
            text: replaced(self.text, vec![(gone, String::new())]),
            cell: at,
            id: self.cells[at].id.clone(),
            kind: self.kind(at)?,
            old_source: Some(self.source(at)?),
            cells: self.cells.len() - 1,
            language: None,
        })
    }

    fn kind(&self, at: usize) -> Result<CellKind, NotebookError> {
        let name = &self.cells[at].cell_type;
        CellKind::named(name)
            .ok_or_else(|| NotebookError::NotANotebook(format!("cell {at} has the type `{name}`")))
    }

    fn source(&self, at: usize) -> Result<String, NotebookError> {
        let source: Result<Source, _> = serde_json::from_str(self.cells[at].source.get());
        source.map(Source::joined).map_err(|_| {
            NotebookError::NotANotebook(format!(
                "the source of cell {at} is neither a string nor a list of them"
            ))
        })
    }

    /// Returns a source in the form that the notebook's cells have: a list of lines, or one string.
    fn shaped(&self, like: usize, source: &str) -> serde_json::Value {
        match self.cells.get(like).is_some_and(|cell| cell.source.get().starts_with('"')) {
            true => source.into(),
            false => source.split_inclusive('\n').collect(),
        }
    }

    fn new_cell(
        &self,
        kind: CellKind,
        id: Option<&str>,
        metadata: Option<serde_json::Value>,
        source: serde_json::Value,
    ) -> serde_json::Value {
        let code = kind == CellKind::Code;
        let cell = NewCell {
            cell_type: kind.as_str(),
            execution_count: code.then_some(()),
            id,
            metadata: metadata.unwrap_or_else(|| serde_json::json!({})),
            outputs: code.then_some([]),
            source,
        };
        serde_json::to_value(cell).expect("a cell is JSON")
    }

    /// Makes an id that no cell has; the same for the same call.
    fn fresh_id(&self, at: usize, source: &str) -> String {
        // FNV-1a, which is enough to be different from the neighbours.
        let seed = source.bytes().chain(at.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut ids = (0..).map(|n: u64| format!("{:08x}", (seed.wrapping_add(n) >> 16) as u32 ^ n as u32));
        let free = |id: &String| self.cells.iter().all(|cell| cell.id.as_ref() != Some(id));
        ids.find(free).expect("there are more ids than cells")
    }
}

/// Returns where a part of the text is.
fn place(text: &str, part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.get().len()
}

/// Puts texts in the place of others.
fn replaced(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len() + 256);
    let mut done = 0;
    for (range, new) in edits {
        out.push_str(&text[done..range.start]);
        out.push_str(&new);
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}

/// How a file lays out JSON.
struct Layout {
    /// One level of indentation; `None` where all is on one line.
    indent: Option<String>,
    /// What ends a line.
    newline: &'static str,
    /// Whether separators on one line are followed by a space.
    spaced: bool,
    /// Whether letters beyond ASCII are escaped.
    ascii: bool,
}

impl Layout {
    fn of(text: &str) -> Self {
        let inside = text.trim_start().strip_prefix('{').unwrap_or_default();
        let blank = &inside[..inside.len() - inside.trim_start().len()];
        let indent = blank.rsplit_once('\n').map(|(_, indent)| indent.to_owned());
        Self {
            indent,
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            spaced: inside.contains("\": "),
            ascii: text.is_ascii() && text.contains("\\u"),
        }
    }

    /// Returns how deep a value is, by the indentation of its line.
    fn depth_of(&self, text: &str, value: &Range<usize>) -> usize {
        let line = text[..value.start].rfind('\n').map_or(0, |newline| newline + 1);
        let blank = text[line..].len() - text[line..].trim_start_matches([' ', '\t']).len();
        match self.indent.as_deref().map_or(0, str::len) {
            0 => 2,
            unit => blank / unit,
        }
    }

    /// Returns a line end and the indentation of this depth.
    fn line(&self, depth: usize) -> String {
        match &self.indent {
            Some(indent) => format!("{}{}", self.newline, indent.repeat(depth)),
            None => String::new(),
        }
    }

    /// Returns what is between a comma and the next value.
    fn between(&self, gap: &str) -> String {
        if self.indent.is_none() && self.spaced { " ".to_owned() } else { gap.to_owned() }
    }

    /// Writes a value that begins at this depth.
    fn written(&self, value: &serde_json::Value, depth: usize) -> String {
        let mut out = String::new();
        self.push(&mut out, value, depth);
        if self.ascii {
            let escaped = |c: char| match c.is_ascii() {
                true => c.to_string(),
                false => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
            };
            out = out.chars().map(escaped).collect();
        }
        out
    }

    fn push(&self, out: &mut String, value: &serde_json::Value, depth: usize) {
        use serde_json::Value;
        let colon = if self.spaced { "\": " } else { "\":" };
        match value {
            Value::Array(items) if !items.is_empty() => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    self.separate(out, n, depth + 1);
                    self.push(out, item, depth + 1);
                }
                out.push_str(&self.line(depth));
                out.push(']');
            }
            Value::Object(fields) if !fields.is_empty() => {
                out.push('{');
                for (n, (name, item)) in fields.iter().enumerate() {
                    self.separate(out, n, depth + 1);
                    let name = serde_json::to_string(name).expect("a string is JSON");
                    out.push_str(name.strip_suffix('"').unwrap_or(&name));
                    out.push_str(colon);
                    self.push(out, item, depth + 1);
                }
                out.push_str(&self.line(depth));
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }

    fn separate(&self, out: &mut String, n: usize, depth: usize) {
        let line = self.line(depth);
        match n {
            0 => out.push_str(&line),
            _ => {
                out.push(',');
                out.push_str(&self.between(&line));
            }
        }
    }
}

#[cfg(test)]
mod tests;
