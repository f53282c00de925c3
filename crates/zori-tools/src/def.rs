//! A tool's canonical parameters, before any dialect, as a table.
//!
//! Argument checking, coercion, the JSON schema and the reference page all walk this table.

use zori_core::tool::ToolKind;

/// A tool's canonical definition.
#[derive(Debug)]
pub struct ToolDef {
    pub kind: ToolKind,
    /// What it does, written for the model: short and exact.
    pub about: &'static str,
    /// Its parameters, in the order the schema lists them.
    pub params: &'static [Param],
}

/// One parameter.
#[derive(Debug)]
pub struct Param {
    /// The canonical name; tools deserialise this one.
    pub name: &'static str,
    /// Other names accepted on input in every dialect (L-15); never shown.
    pub aliases: &'static [&'static str],
    /// What it holds.
    pub ty: Ty,
    /// Whether a call without it is an error.
    pub need: Need,
    /// What it means, written for the model; empty where the name says it all.
    pub about: &'static str,
}

/// What a parameter holds.
#[derive(Debug)]
pub enum Ty {
    /// A string.
    Text,
    /// A name, which may be a number as well.
    Name,
    /// A whole number; a numeric string is accepted.
    Int,
    /// True or false; the strings `true` and `false` are accepted.
    Flag,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A list of strings; a lone string is accepted as a list of one.
    TextList,
    /// A list of objects with these fields; the list may arrive as a JSON string.
    Objects(&'static [Param]),
}

/// Whether a parameter must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A call without it is `invalid_input`.
    Required,
    /// It may be left out, or be null.
    Optional,
}
