//! A dialect: the tool names and result shapes that one family of clients knows. It never changes what a tool does.
//!
//! The tables are in the child files, one each. This file knows how to read them: specs going out, arguments coming
//! in. The results' shapes are in [`layout`].

pub mod a0;
pub mod claude;
pub mod layout;
pub mod rendered;
pub mod zori;

use serde_json::{Map, Value};
use zori_core::tool::{ToolKind, ToolSpec};

use self::layout::Layout;
use crate::args::{self, ArgsError, NamedParam};
use crate::def::{Need, Param, ToolDef, Ty};

pub use self::a0::A0;
pub use self::claude::CLAUDE;
pub use self::zori::{ZDX, ZORI};

/// Every dialect with names of its own.
pub const ALL: &[&Dialect] = &[&ZORI, &CLAUDE, &A0];

/// Returns whether two names are of one built-in tool, whatever the dialects.
pub fn same_tool(one: &str, other: &str) -> bool {
    let kind = |name: &str| ALL.iter().find_map(|dialect| dialect.find(name)).map(|entry| entry.kind);
    kind(one).is_some_and(|one| kind(other) == Some(one))
}

/// Returns whether any dialect has a tool of this name, built or not.
pub fn knows(name: &str) -> bool {
    ALL.iter().any(|dialect| dialect.find(name).is_some() || dialect.unbuilt.contains(&name))
}

/// A name table.
#[derive(Debug)]
pub struct Dialect {
    /// What the table is called.
    pub name: &'static str,
    /// The tools it shows, in the order it shows them.
    pub tools: &'static [Entry],
    /// Tools that its clients know and zori does not have.
    pub unbuilt: &'static [&'static str],
    /// What the model reads of a result that its entry lays out in no way of its own.
    pub results: Results,
}

/// What the model reads of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// The envelope, as the core document has it (TOOL-2).
    Envelope,
    /// Plain text (FOR-2).
    Plain,
}

/// A tool as a dialect shows it.
#[derive(Debug)]
pub struct Entry {
    pub kind: ToolKind,
    pub name: &'static str,
    /// What else it may be called; never shown.
    pub aliases: &'static [&'static str],
    /// Its description, where the tool's own does not fit.
    pub about: Option<&'static str>,
    /// Its fields, in the order they are shown.
    pub fields: &'static [Field],
    /// Fields that its clients know and zori does not support.
    pub unbuilt: &'static [&'static str],
    /// Turns fields that have no counterpart into canonical ones.
    pub adapt: Option<Adapt>,
    /// How a result is laid out; `None` is the envelope.
    pub layout: Option<Layout>,
    /// When the model is told of it.
    pub listed: Listed,
}

/// When a tool is listed in requests. Each one that is listed costs every request its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    Always,
    /// Once a background job was started (DECISIONS 64).
    WithJobs,
    /// Once a call was about a notebook.
    WithNotebooks,
    /// Where somebody answers questions.
    WithSomebody,
    /// Where the provider searches the web, and that is allowed without a question.
    WithSearches,
}

/// Rewrites arguments. Fields of the dialect's own have their type already, the others do not.
pub type Adapt = fn(&mut Map<String, Value>) -> Result<(), ArgsError>;

/// A field as a dialect shows it.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    /// What else it may be called; never shown.
    pub aliases: &'static [&'static str],
    /// What it stands for.
    pub source: Source,
}

/// What a field stands for.
#[derive(Debug)]
pub enum Source {
    /// The tool's own parameter of this name.
    Canonical(&'static str),
    /// Something only this dialect has.
    Own(Param),
}

/// Returns a plain entry.
pub(crate) const fn entry(kind: ToolKind, name: &'static str, fields: &'static [Field]) -> Entry {
    let listed = Listed::Always;
    Entry { kind, name, aliases: &[], about: None, fields, unbuilt: &[], adapt: None, layout: None, listed }
}

/// Returns a field with the tool's own name.
pub(crate) const fn same(name: &'static str) -> Field {
    Field { name, aliases: &[], source: Source::Canonical(name) }
}

/// Returns a field with another name.
pub(crate) const fn renamed(name: &'static str, canonical: &'static str) -> Field {
    Field { name, aliases: &[], source: Source::Canonical(canonical) }
}

/// A field of the dialect's own.
pub(crate) const fn own(name: &'static str, ty: Ty, need: Need, about: &'static str) -> Field {
    Field { name, aliases: &[], source: Source::Own(Param { name, aliases: &[], ty, need, about }) }
}

impl Dialect {
    /// Returns the entry with this name.
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.tools.iter().find(|entry| entry.name == name || entry.aliases.contains(&name))
    }

    /// Returns the entry of a tool.
    pub fn shows(&self, kind: ToolKind) -> Option<&'static Entry> {
        self.tools.iter().find(|entry| entry.kind == kind)
    }
}

impl Entry {
    /// Returns whether it is called so, here or in any dialect.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name) || same_tool(self.name, name)
    }

    /// Returns the tool as the model sees it.
    pub fn spec(&self, def: &ToolDef) -> ToolSpec {
        let schema = args::schema(&self.named(def));
        ToolSpec {
            name: self.name.to_owned(),
            description: self.about.unwrap_or(def.about).to_owned(),
            schema: serde_json::value::RawValue::from_string(schema).expect("a schema is made of JSON"),
        }
    }

    /// Returns canonical arguments, as JSON text. `args` is what the model wrote.
    pub fn arguments(&self, def: &ToolDef, args: &str) -> Result<String, ArgsError> {
        self.canonical(def, args::object(args)?)
    }

    /// Returns every name that a field of the tool may have here.
    pub fn field_names<'a>(&'a self, def: &'a ToolDef) -> Vec<&'a str> {
        let fields = self.fields.iter().flat_map(|field| std::iter::once(&field.name).chain(field.aliases));
        let params = def.params.iter().flat_map(|param| std::iter::once(&param.name).chain(param.aliases));
        fields.chain(params).chain(self.unbuilt).copied().collect()
    }

    /// Returns canonical arguments, as JSON text. `map` is what the model wrote.
    pub fn canonical(&self, def: &ToolDef, mut map: Map<String, Value>) -> Result<String, ArgsError> {
        for &name in self.unbuilt {
            // Saying no to a thing that is not there is fine.
            if map.remove(name).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false))) {
                return Err(ArgsError::Unsupported(name.to_owned()));
            }
        }
        for field in self.fields {
            let names = std::iter::once(&field.name).chain(field.aliases);
            let found = names.filter_map(|name| map.remove(*name)).find(|value| !value.is_null());
            match (&field.source, found) {
                (Source::Canonical(name), Some(value)) => {
                    map.insert((*name).to_owned(), value);
                }
                (Source::Own(param), Some(value)) => {
                    map.insert(param.name.to_owned(), args::checked(value, &param.ty, field.name)?);
                }
                (Source::Own(Param { need: Need::Required, .. }), None) => {
                    return Err(ArgsError::Missing(field.name.to_owned()));
                }
                (_, None) => {}
            }
        }
        if let Some(adapt) = self.adapt {
            adapt(&mut map)?;
        }
        args::canonical(&mut map, def.params, &|param| self.shown(param))
    }

    /// Lists the fields, for a message.
    pub fn listed(&self, def: &ToolDef) -> String {
        args::listed(&self.named(def))
    }

    fn shown(&self, param: &Param) -> String {
        let field =
            self.fields.iter().find(|f| matches!(f.source, Source::Canonical(name) if name == param.name));
        field.map_or(param.name, |field| field.name).to_owned()
    }

    fn named<'a>(&'a self, def: &'a ToolDef) -> Vec<NamedParam<'a>> {
        let named = |field: &'a Field| {
            let param = match &field.source {
                Source::Own(param) => param,
                Source::Canonical(name) => def
                    .params
                    .iter()
                    .find(|param| param.name == *name)
                    .expect("a test looks up every field of every dialect"),
            };
            NamedParam { param, name: field.name, about: param.about }
        };
        self.fields.iter().map(named).collect()
    }
}
