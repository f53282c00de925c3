//! Which tool a call means, and with which arguments: names and fields of other agents, paths that are meant otherwise than they are
//! written.

use serde_json::Value;
use serde_json::value::RawValue;
use zori_core::tool::{BadCall, Leniency, ToolCode, ToolKind, Toolbox};

use super::{ToolSet, def};
use crate::args::ArgsError;
use crate::dialect::{self, Entry};
use crate::mended_path::{self, Use};
use crate::spelling::{self, Platform};
use crate::{foreign, paths};

impl ToolSet {
    /// Finds the entry whose fields a call by this name has: the dialect's own, or another one's of a tool it shows.
    pub(super) fn entry(&self, name: &str) -> Result<&'static Entry, BadCall> {
        let offers = |entry: &Entry| self.tools.iter().any(|(offered, _)| offered.kind == entry.kind);
        if let Some(entry) = self.dialect.entry_named(name, offers) {
            return Ok(entry);
        }
        let names: Vec<&str> = self.specs().iter().map(|spec| spec.name.as_str()).collect();
        let unbuilt = dialect::ALL.iter().any(|dialect| dialect.unbuilt.contains(&name));
        let known = unbuilt || self.dialect.find(name).is_some();
        let what = if known { "is not available here" } else { "is not a tool" };
        let there = if names.is_empty() {
            "there are no tools".to_owned()
        } else {
            format!("the tools are {}", names.join(", "))
        };
        let instead = match (self.env.leniency, foreign::instead(name)) {
            (Leniency::Forgiving, Some(instead)) => format!("; {instead}"),
            _ => String::new(),
        };
        let message = format!("`{name}` {what}; {there}{instead}");
        Err(self.bad_call(ToolCode::UnknownTool, message))
    }

    /// Finds the tool a call means, and its canonical arguments. Returns as well what was understood otherwise than it was
    /// written, for the model (FOR-8, FOR-9).
    pub(super) fn understand(
        &self,
        name: &str,
        args: &RawValue,
    ) -> Result<(&'static Entry, String, Vec<String>), BadCall> {
        let invalid = |entry: &Entry, bad: ArgsError| {
            let message = format!("{bad}. Fields of `{}`: {}", entry.name, entry.listed(def(entry.kind)));
            self.bad_call(ToolCode::InvalidInput, message)
        };
        if self.env.leniency == Leniency::Exact {
            let entry = self.entry(name)?;
            let canonical = entry.arguments(def(entry.kind), args.get());
            return Ok((entry, canonical.map_err(|bad| invalid(entry, bad))?, Vec::new()));
        }
        let offers = |kind: ToolKind| self.tools.iter().any(|(offered, _)| offered.kind == kind);
        let named = self.entry(name).or_else(|unknown| self.folded(name).ok_or(unknown));
        let of_name = named.as_ref().ok().map(|entry| def(entry.kind));
        let mut map = match crate::args::object(args.get()) {
            Ok(map) => foreign::inner(&map, of_name).unwrap_or(map),
            Err(bad) => match foreign::unwrapped(args.get(), of_name) {
                Some(map) => map,
                None => return Err(invalid(named?, bad)),
            },
        };
        let kind = named.as_ref().ok().map(|entry| entry.kind);
        let entry = match foreign::meant(name, kind, &mut map) {
            Some(meant) if Some(meant) != kind && offers(meant) => self.shown(meant),
            _ => named?,
        };
        let mut notes = Vec::new();
        if !entry.answers_to(name) {
            notes.push(format!("`{name}` was taken for `{}`", self.shown(entry.kind).name));
        }
        let tool = def(entry.kind);
        notes.extend(foreign::fields(entry.kind, tool, &entry.field_names(tool), &mut map));
        if let Some(bounds) = self.confined {
            bounds.fill(entry.kind, &mut map);
        }
        let canonical = entry.canonical(tool, map).map_err(|bad| invalid(entry, bad))?;
        let (canonical, note) = self.with_path(entry.kind, canonical);
        notes.extend(note);
        // A folder has no text to read; what is in it is what is asked for.
        if entry.kind == ToolKind::Read && offers(ToolKind::Ls) {
            let map = crate::args::object(&canonical).expect("canonical arguments are an object");
            let path = map.get("path").and_then(Value::as_str).unwrap_or_default();
            if std::fs::metadata(paths::resolve(&self.env, path)).is_ok_and(|meta| meta.is_dir()) {
                let listing = serde_json::json!({ "path": path }).to_string();
                notes.push("it is a folder: these are its entries".to_owned());
                return Ok((self.shown(ToolKind::Ls), listing, notes));
            }
        }
        Ok((entry, canonical, notes))
    }

    /// Returns the dialect's entry of a tool that is offered.
    pub(super) fn shown(&self, kind: ToolKind) -> &'static Entry {
        let found = self.tools.iter().find(|(offered, _)| offered.kind == kind);
        found.map(|(entry, _)| *entry).expect("only tools that are offered are asked for")
    }

    /// Finds the tool whose name in any dialect, or in another agent, is the same but for how it is written.
    pub(super) fn folded(&self, name: &str) -> Option<&'static Entry> {
        let name = foreign::folded(name);
        let same = |entry: &&&'static Entry| {
            std::iter::once(&entry.name).chain(entry.aliases).any(|own| foreign::folded(own) == name)
        };
        let offered: Vec<&&'static Entry> = self.tools.iter().map(|(entry, _)| entry).collect();
        if let Some(entry) = offered.iter().copied().find(same) {
            return Some(entry);
        }
        let kind = foreign::kind(&name)?;
        offered.iter().find(|entry| entry.kind == kind).map(|entry| **entry)
    }

    /// Mends the path of a call whose literal one is not there.
    pub(super) fn with_path(&self, kind: ToolKind, canonical: String) -> (String, Option<String>) {
        let purpose = match kind {
            ToolKind::Write => Use::MayCreate,
            ToolKind::Read
            | ToolKind::Edit
            | ToolKind::MultiEdit
            | ToolKind::NotebookEdit
            | ToolKind::Ls
            | ToolKind::Grep
            | ToolKind::Glob => Use::Existing,
            _ => return (canonical, None),
        };
        let mut map = crate::args::object(&canonical).expect("canonical arguments are an object");
        let Some(Value::String(path)) = map.get_mut("path") else { return (canonical, None) };
        // What another platform spells so is no mistake where that is told.
        let written = self.spelling.map_or_else(|| path.clone(), |here| spelling::native(path, here));
        let Some(meant) = mended_path::mended(&self.env, &written, purpose) else { return (canonical, None) };
        let note = format!("there is no `{path}`; `{meant}` was used");
        *path = meant;
        (Value::Object(map).to_string(), Some(note))
    }
}

/// Spells the path of a call as the platform does, before the decision.
pub(super) fn spelled(args: String, kind: ToolKind, here: Platform) -> String {
    let mut map = crate::args::object(&args).expect("canonical arguments are an object");
    // A pattern of paths is spelled as they are; that of a search is an expression.
    let fields: &[&str] = match kind {
        ToolKind::Glob => &["path", "pattern"],
        ToolKind::Grep => &["path", "glob"],
        _ => &["path"],
    };
    let mut changed = false;
    for field in fields {
        let Some(Value::String(path)) = map.get_mut(*field) else { continue };
        let native = match *field {
            "path" => spelling::native(path, here),
            _ if here == Platform::Unix => path.replace('\\', "/"),
            _ => path.clone(),
        };
        changed |= native != *path;
        *path = native;
    }
    if changed { Value::Object(map).to_string() } else { args }
}
