//! What was sent before, for Up, Down and the search.

/// How many entries are kept.
pub const MOST: usize = 1000;

/// The entries, oldest first, and where in them somebody is.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<String>,
    at: Option<usize>,
    /// What was being typed before the first step back.
    draft: String,
}

impl History {
    /// Returns a history with these entries, oldest first.
    pub fn new(entries: Vec<String>) -> Self {
        Self { entries, ..Self::default() }
    }

    /// Adds an entry, unless it is the last one again.
    pub fn add(&mut self, text: &str) {
        self.leave();
        if self.entries.last().is_none_or(|last| last != text) {
            self.entries.push(text.to_owned());
        }
        if self.entries.len() > MOST {
            self.entries.remove(0);
        }
    }

    /// Puts the draft away as if it had been sent, so that Up brings it back.
    pub fn put_away(&mut self, text: &str) {
        self.add(text);
    }

    /// Goes on from what is shown. What was being typed before that is an entry then, so that it is not lost (UI-36).
    pub fn leave(&mut self) {
        let draft = std::mem::take(&mut self.draft);
        if self.at.take().is_some() && !draft.trim().is_empty() {
            self.add(&draft);
        }
    }

    /// Returns whether an entry is shown.
    pub fn is_browsing(&self) -> bool {
        self.at.is_some()
    }

    pub(super) fn older(&mut self, draft: &str) -> Option<String> {
        let at = match self.at {
            Some(at) => at.checked_sub(1)?,
            None => {
                let last = self.entries.len().checked_sub(1)?;
                draft.clone_into(&mut self.draft);
                last
            }
        };
        self.at = Some(at);
        Some(self.entries[at].clone())
    }

    pub(super) fn newer(&mut self) -> Option<String> {
        let at = self.at? + 1;
        if at < self.entries.len() {
            self.at = Some(at);
            return Some(self.entries[at].clone());
        }
        self.at = None;
        Some(std::mem::take(&mut self.draft))
    }

    /// Returns what was being typed before the first step back.
    #[cfg(test)]
    pub(crate) fn draft(&self) -> &str {
        &self.draft
    }

    /// Returns the entries that contain the words, newest first, each once.
    pub fn search<'a>(&'a self, words: &str) -> Vec<&'a str> {
        let words = words.to_lowercase();
        let mut found: Vec<&str> = Vec::new();
        for entry in self.entries.iter().rev() {
            if entry.to_lowercase().contains(&words) && !found.contains(&entry.as_str()) {
                found.push(entry);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_and_forth() {
        let mut history = History::new(vec!["one".into(), "two".into()]);
        assert_eq!(history.older("dra").as_deref(), Some("two"));
        assert_eq!(history.older("").as_deref(), Some("one"));
        assert_eq!(history.older(""), None);
        assert_eq!(history.newer().as_deref(), Some("two"));
        assert_eq!(history.newer().as_deref(), Some("dra"));
        assert_eq!(history.newer(), None);
        history.add("two");
        assert_eq!(history.search("O"), ["two", "one"]);
        assert_eq!(history.older("half").as_deref(), Some("two"));
        history.leave();
        assert_eq!(history.older("").as_deref(), Some("half"), "somebody went on from the entry");
    }
}
