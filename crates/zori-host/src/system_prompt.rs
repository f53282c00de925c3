//! The system prompt of a session, in its parts.

use std::sync::Arc;

/// A system prompt in its parts.
#[derive(Clone, Debug, Default)]
pub struct SystemParts {
    /// What the user says.
    pub own: String,
    /// What the project and its guidelines add; sub-agents get it, too.
    pub others: Vec<String>,
}

impl SystemParts {
    /// Adds to what the user says.
    pub fn append(&mut self, more: &str) {
        self.own = match self.own.trim_end() {
            "" => more.to_owned(),
            own => format!("{own}\n\n{more}"),
        };
    }

    /// Returns the whole, if there is anything in it.
    pub fn text(&self) -> Option<Arc<str>> {
        let parts = std::iter::once(self.own.trim()).chain(self.others.iter().map(String::as_str));
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n").into())
    }
}
