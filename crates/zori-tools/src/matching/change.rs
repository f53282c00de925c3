//! What a model wants changed: a text for another, or lines of a hunk; and which parts of it stay.

use similar::{Algorithm, ChangeTag, capture_diff_slices};

/// Longer texts are compared line by line, not word by word.
const MAX_WORDS: usize = 20_000;

/// A change of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// One text for another, as `edit` has it.
    Text { old: String, new: String },
    /// Whole lines, each with its newline, as a hunk has them.
    Lines(Vec<Part>),
}

/// A part of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Keep(String),
    Remove(String),
    Add(String),
}

impl Part {
    /// Returns how many bytes of the old text it stands for.
    pub fn old_len(&self) -> usize {
        match self {
            Self::Keep(text) | Self::Remove(text) => text.len(),
            Self::Add(_) => 0,
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Keep(text) | Self::Remove(text) | Self::Add(text) => text,
        }
    }

    fn map(&self, change: &dyn Fn(&str) -> String) -> Self {
        match self {
            Self::Keep(text) => Self::Keep(change(text)),
            Self::Remove(text) => Self::Remove(change(text)),
            Self::Add(text) => Self::Add(change(text)),
        }
    }
}

impl Change {
    /// Returns the text that is looked for.
    pub fn old(&self) -> String {
        match self {
            Self::Text { old, .. } => old.clone(),
            Self::Lines(parts) => {
                parts.iter().filter(|part| !matches!(part, Part::Add(_))).map(Part::text).collect()
            }
        }
    }

    /// Returns the text that is written, as the model has it.
    pub fn new_text(&self) -> String {
        match self {
            Self::Text { new, .. } => new.clone(),
            Self::Lines(parts) => {
                parts.iter().filter(|part| !matches!(part, Part::Remove(_))).map(Part::text).collect()
            }
        }
    }

    /// Returns whether the old text has carriage returns.
    pub fn has_returns(&self) -> bool {
        self.old().contains('\r')
    }

    /// Returns the change with every text rewritten; `None` where the old one stays the same.
    pub fn rewritten(&self, rewrite: &dyn Fn(&str) -> String) -> Option<Self> {
        let changed = match self {
            Self::Text { old, new } => Self::Text { old: rewrite(old), new: rewrite(new) },
            Self::Lines(parts) => Self::Lines(parts.iter().map(|part| part.map(rewrite)).collect()),
        };
        (changed.old() != self.old()).then_some(changed)
    }

    /// Returns the parts in order: of two texts, the words or lines that both have are kept.
    pub fn parts(&self) -> Vec<Part> {
        let (old, new) = match self {
            Self::Lines(parts) => return parts.clone(),
            Self::Text { old, new } => (old, new),
        };
        let words = old.len() + new.len() <= MAX_WORDS;
        let cut = |text: &str| -> Vec<String> {
            if words { tokens(text) } else { text.split_inclusive('\n').map(str::to_owned).collect() }
        };
        let (old, new) = (cut(old), cut(new));
        let mut parts: Vec<Part> = Vec::new();
        for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
            for item in op.iter_changes(&old, &new) {
                let text = item.value();
                match (item.tag(), parts.last_mut()) {
                    (ChangeTag::Equal, Some(Part::Keep(last)))
                    | (ChangeTag::Delete, Some(Part::Remove(last)))
                    | (ChangeTag::Insert, Some(Part::Add(last))) => last.push_str(&text),
                    (ChangeTag::Equal, _) => parts.push(Part::Keep(text)),
                    (ChangeTag::Delete, _) => parts.push(Part::Remove(text)),
                    (ChangeTag::Insert, _) => parts.push(Part::Add(text)),
                }
            }
        }
        parts
    }
}

/// Cuts a text into words, runs of blanks, and single other characters.
fn tokens(text: &str) -> Vec<String> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        ' ' | '\t' => 2,
        _ => 0,
    };
    let mut out: Vec<String> = Vec::new();
    let mut last = 0;
    for c in text.chars() {
        let this = kind(c);
        match out.last_mut() {
            Some(word) if this != 0 && this == last => word.push(c),
            _ => out.push(c.to_string()),
        }
        last = this;
    }
    out
}
