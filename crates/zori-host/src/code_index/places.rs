//! A question in words to places in the code, as a model and people read them.

use zori_index::{CodeHit, CodeProgress, CodeQuestion, IndexError, ProjectStore, VectorKind, VectorsOf};
use zori_syntax::words;

/// How many lines of a place are shown.
const SHOWN_LINES: usize = 12;

/// A question about code, as somebody asks it.
#[derive(Clone, Copy, Debug)]
pub struct CodeQuery<'a> {
    /// Names or words.
    pub text: &'a str,
    /// Only symbols of this kind.
    pub kind: Option<&'a str>,
    /// Only this file, or files in this folder, below the project's root.
    pub path: Option<&'a str>,
    /// A vector of the question, and which kind it is, where code has vectors.
    pub likeness: Option<(&'a VectorKind, &'a [f32])>,
    /// How many places are wanted.
    pub limit: usize,
}

/// Returns the places that fit best, best first, each with the lines that are worth showing.
pub fn search(store: &ProjectStore, query: &CodeQuery<'_>) -> Result<Vec<CodeHit>, IndexError> {
    let words = words::of_question(query.text);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let names: Vec<&str> = query.text.split(|c| !is_name(c)).filter(|name| name.len() > 1).collect();
    let alike = match query.likeness {
        Some((kind, vector)) => store.alike(VectorsOf::Chunks, kind, vector)?,
        None => Vec::new(),
    };
    let question = CodeQuestion {
        words: &words,
        names: &names,
        kind: query.kind,
        path: query.path,
        alike: &alike,
        limit: query.limit,
    };
    let mut hits = store.search_code(&question)?;
    hits.iter_mut().for_each(|hit| cut(hit, &words));
    Ok(hits)
}

/// Says so of a kind that no symbol of the project has: who asks for it finds nothing, whatever the words.
pub fn unknown_kind(store: &ProjectStore, kind: &str) -> Result<Option<String>, IndexError> {
    let kinds = store.code_kinds()?;
    let said = || format!("no symbol here is of the kind `{kind}`; there are {}", kinds.join(", "));
    Ok((!kinds.is_empty() && !kinds.iter().any(|known| known == kind)).then(said))
}

/// Leaves of a chunk the lines around what was found.
fn cut(hit: &mut CodeHit, words: &[String]) {
    let lines: Vec<&str> = hit.text.lines().collect();
    let has_word = |line: &&str| {
        let line = line.to_lowercase();
        words.iter().any(|word| line.contains(word.as_str()))
    };
    let from = match &hit.symbol {
        Some(symbol) => symbol.start.saturating_sub(hit.chunk_start) as usize,
        // A line before it, for what it is about.
        None => lines.iter().position(has_word).unwrap_or_default().saturating_sub(1),
    };
    let from = from.min(lines.len().saturating_sub(1));
    let shown: Vec<&str> = lines[from..].iter().take(SHOWN_LINES).copied().collect();
    hit.chunk_start += from as u32;
    hit.text = shown.join("\n");
}

/// Returns how much is indexed, where that is not everything.
pub fn indexed_so_far(progress: CodeProgress) -> Option<String> {
    let CodeProgress { looked_at, found, is_whole } = progress;
    let whole = is_whole && looked_at >= found;
    (!whole).then(|| format!("Indexed so far: {looked_at} of {found} files."))
}
