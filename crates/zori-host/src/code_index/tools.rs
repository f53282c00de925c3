//! The tools `code_search` and `repo_map`. They are listed once the project has used its index (DECISIONS 64).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use zori_core::BoxFuture;
use zori_core::cancel::{Cancel, CancelOnDrop};
use zori_core::path::normalise;
use zori_core::permission::PathSnapshot;
use zori_core::time::Clock;
use zori_core::tool::{Effect, Tool, ToolCx, ToolKind, ToolOutput};
use zori_index::{CodeHit, IndexError, MappedFile, ProjectStore};
use zori_tools::toolset::ExternalTool;

use super::CodeIndexPlace;
use super::places::{self, CodeQuery, indexed_so_far, unknown_kind};
use crate::memory::{AskedBy, Vectors};
use crate::project_tool::{answer, finished, invalid, spec, with_warning};

/// How many places a search finds, unless it asks for another number, and at most.
const USUAL: u64 = 10;
const MOST: u64 = 50;
/// How many characters the answer of a search may have.
const MOST_CHARS: usize = 16_000;
/// How many tokens a map has, unless it asks for another number, and at most.
const USUAL_BUDGET: u64 = 2_000;
const MOST_BUDGET: u64 = 20_000;
/// About how many characters a token has.
const TOKEN_CHARS: usize = 4;
/// How long a call may bring the index up to date before it answers with what there is.
const CATCHING_UP: Duration = Duration::from_secs(3);

/// Returns the tools of a session whose project has a code index; none otherwise. `root`: the folder of the session.
pub(crate) fn tools(
    place: Option<&CodeIndexPlace>,
    root: &Path,
    vectors: Option<Arc<Vectors>>,
    clock: &Arc<dyn Clock>,
) -> Vec<ExternalTool> {
    let Some(place) = place else { return Vec::new() };
    let index = || Index {
        place: place.clone(),
        root: root.to_owned(),
        vectors: vectors.clone(),
        clock: clock.clone(),
    };
    let search = spec(
        "code_search",
        "Find code by the names of symbols or by words, ranked, from an index of the project. For exact text or patterns use grep.",
        &json!({"type": "object", "properties": {
            "query": {"type": "string", "description": "A name, or a few words"},
            "kind": {"type": "string", "description": "Only symbols of this kind: function, method, class, struct, enum, trait, interface, type, constant, module"},
            "path": {"type": "string", "description": "Only this file or folder"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST}
        }, "required": ["query"], "additionalProperties": false}),
    );
    let map = spec(
        "repo_map",
        "List the files of the project with the signatures of what they define, within a budget of tokens.",
        &json!({"type": "object", "properties": {
            "budget": {"type": "integer", "minimum": 100, "maximum": MOST_BUDGET, "description": format!("Tokens; {USUAL_BUDGET} unless given")},
            "path": {"type": "string", "description": "Only this file or folder"}
        }, "additionalProperties": false}),
    );
    vec![
        ExternalTool { spec: search, tool: Arc::new(Search(index())) },
        ExternalTool { spec: map, tool: Arc::new(Map(index())) },
    ]
}

#[derive(Clone)]
struct Index {
    place: CodeIndexPlace,
    root: PathBuf,
    /// What makes a vector of a question, where code has vectors.
    vectors: Option<Arc<Vectors>>,
    clock: Arc<dyn Clock>,
}

struct Search(Index);

struct Map(Index);

impl Tool for Search {
    fn kind(&self) -> Option<ToolKind> {
        None
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        self.0.effects(args)
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let answer: Answer = |index, args, snapshot, store, asked_by| {
            let Some(text) = args["query"].as_str().filter(|text| !text.trim().is_empty()) else {
                return Ok(invalid("`query` is missing: a name, or a few words"));
            };
            let limit = args["limit"].as_u64().unwrap_or(USUAL).clamp(1, MOST) as usize;
            let path = match index.below(args) {
                Ok(path) => path,
                Err(why) => return Ok(invalid(why)),
            };
            // Some may be withheld.
            let query = CodeQuery {
                text,
                kind: args["kind"].as_str(),
                path: path.as_deref(),
                likeness: asked_by.vector(),
                limit: limit * 2,
            };
            let mut hits = places::search(store, &query)?;
            if hits.is_empty()
                && let Some(kind) = query.kind
                && let Some(why) = unknown_kind(store, kind)?
            {
                return Ok(invalid(format!("`kind`: {why}")));
            }
            hits.retain(|hit| !snapshot.withholds(&index.place.project.join(&hit.path)));
            hits.truncate(limit);
            index.found(&hits, store)
        };
        Box::pin(async move {
            let (asked_by, warning) = self.0.ask(args).await;
            with_warning(self.0.run(cx, args, asked_by, answer).await, warning)
        })
    }
}

impl Tool for Map {
    fn kind(&self) -> Option<ToolKind> {
        None
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        self.0.effects(args)
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        self.0.run(cx, args, AskedBy::BuiltIn, |index, args, snapshot, store, _| {
            let budget = args["budget"].as_u64().unwrap_or(USUAL_BUDGET).clamp(100, MOST_BUDGET) as usize;
            let path = match index.below(args) {
                Ok(path) => path,
                Err(why) => return Ok(invalid(why)),
            };
            let mut files = store.code_map(path.as_deref())?;
            files.retain(|file| !snapshot.withholds(&index.place.project.join(&file.path)));
            for file in &mut files {
                file.path = index.shown(&file.path);
            }
            let mut text = map(&files, budget * TOKEN_CHARS);
            text.extend(index.note(store)?.map(|note| format!("\n{note}")));
            Ok(answer(&json!({"files": files.len(), "map": text}), text))
        })
    }
}

type Answer = fn(&Index, &Value, &PathSnapshot, &ProjectStore, &AskedBy) -> Result<ToolOutput, IndexError>;

impl Index {
    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args: Value = serde_json::from_str(args.get()).unwrap_or_default();
        let path = args["path"].as_str().map_or_else(|| self.root.clone(), |path| self.root.join(path));
        vec![Effect::Read(normalise(&path))]
    }

    /// Returns what a question is compared by, beside its names and words.
    async fn ask(&self, args: &RawValue) -> (AskedBy, Option<String>) {
        let args: Value = serde_json::from_str(args.get()).unwrap_or_default();
        match (&self.vectors, args["query"].as_str().filter(|text| !text.trim().is_empty())) {
            (Some(vectors), Some(text)) => vectors.ask(text).await,
            _ => (AskedBy::BuiltIn, None),
        }
    }

    fn run<'a>(
        &'a self,
        cx: ToolCx,
        args: &'a RawValue,
        asked_by: AskedBy,
        answer: Answer,
    ) -> BoxFuture<'a, ToolOutput> {
        let args: Value = serde_json::from_str(args.get()).unwrap_or_default();
        let index = self.clone();
        let cancel = Cancel::new();
        let stop = CancelOnDrop(cancel.clone());
        Box::pin(async move {
            let work = tokio::task::spawn_blocking(move || {
                let mut store = index.place.open()?;
                let until = index.clock.elapsed() + CATCHING_UP;
                let go_on = |_: &_| !cancel.is_cancelled() && index.clock.elapsed() < until;
                index.place.sync(&mut store, &*index.clock, &mut { go_on })?;
                // Whoever asked once wants it kept up to date.
                let _ = index.place.mark_used();
                answer(&index, &args, &cx.snapshot, &store, &asked_by)
            });
            let ended = work.await;
            drop(stop);
            let explained = |error: IndexError| format!("{error}; {}", error.way_on());
            finished("the code index", ended.map(|done| done.map_err(explained)))
        })
    }

    /// Returns what a call is about as a path below the project's root; `None` for all of it.
    fn below(&self, args: &Value) -> Result<Option<String>, String> {
        let path = args["path"].as_str().map_or_else(|| self.root.clone(), |path| self.root.join(path));
        let path = normalise(&path);
        match path.strip_prefix(&self.place.project).ok().and_then(Path::to_str) {
            Some("") => Ok(None),
            Some(below) => Ok(Some(below.to_owned())),
            None => Err(format!(
                "`path`: {} is not in the project {}",
                path.display(),
                self.place.project.display()
            )),
        }
    }

    /// Returns a path as the tools of the session take it.
    fn shown(&self, path: &str) -> String {
        let path = self.place.project.join(path);
        path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy().into_owned()
    }

    fn note(&self, store: &ProjectStore) -> Result<Option<String>, IndexError> {
        Ok(indexed_so_far(store.code_progress()?))
    }

    fn found(&self, hits: &[CodeHit], store: &ProjectStore) -> Result<ToolOutput, IndexError> {
        let mut text = String::new();
        let mut rows = Vec::new();
        for hit in hits {
            let path = self.shown(&hit.path);
            let name = hit.symbol.as_ref().map(|symbol| (&symbol.kind, &symbol.name));
            let mut piece = format!("{path}:{}-{}", hit.start, hit.end);
            if let Some((kind, name)) = name {
                let _ = write!(piece, " {kind} {name}");
            }
            piece.push('\n');
            for (line, number) in hit.text.lines().zip(hit.chunk_start..) {
                let _ = writeln!(piece, "{number:>6}  {line}");
            }
            if text.len() + piece.len() > MOST_CHARS {
                break;
            }
            text.push_str(&piece);
            rows.push(
                json!({"path": path, "start": hit.start, "end": hit.end, "kind": name.map(|(kind, _)| kind),
                "name": name.map(|(_, name)| name), "text": hit.text}),
            );
        }
        if rows.is_empty() {
            text.push_str("Nothing fits.\n");
        }
        let note = self.note(store)?;
        text.extend(note.clone());
        let data = json!({"results": rows, "left_out": hits.len() - rows.len(), "note": note});
        Ok(answer(&data, text.trim_end()))
    }
}

/// Returns files with their symbols, as many as fit: without what is in other symbols, then without symbols, then not all files.
fn map(files: &[MappedFile], most: usize) -> String {
    let whole = |nested: bool| {
        let mut text = String::new();
        for file in files {
            let _ = writeln!(text, "{}", file.path);
            for symbol in file.symbols.iter().filter(|symbol| nested || symbol.parent.is_none()) {
                let indent = if symbol.parent.is_some() { "    " } else { "  " };
                let _ = writeln!(text, "{indent}{}: {}", symbol.start, symbol.signature);
            }
            if text.len() > most {
                return None;
            }
        }
        Some(text)
    };
    if let Some(text) = whole(true).or_else(|| whole(false)) {
        return if text.is_empty() { "Nothing is indexed here.".to_owned() } else { text };
    }
    let mut text = String::new();
    for (at, file) in files.iter().enumerate() {
        let line = format!("{} ({} symbols)\n", file.path, file.symbols.len());
        if text.len() + line.len() > most {
            let _ = write!(text, "and {} more files; `path` narrows it", files.len() - at);
            break;
        }
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use zori_index::CodeSymbol;

    use super::*;

    #[test]
    fn a_map_fits_its_budget() {
        let symbol = |signature: &str, parent| CodeSymbol {
            name: "x".into(),
            parts: String::new(),
            kind: "function".into(),
            signature: signature.into(),
            start: 1,
            end: 2,
            parent,
        };
        let file = |path: &str| MappedFile {
            path: path.into(),
            symbols: vec![symbol("impl Point", None), symbol("fn new() -> Self", Some(0))],
        };
        let files = [file("a.rs"), file("b.rs")];
        assert_eq!(map(&files[..1], 100), "a.rs\n  1: impl Point\n    1: fn new() -> Self\n");
        assert_eq!(map(&files, 60), "a.rs\n  1: impl Point\nb.rs\n  1: impl Point\n");
        assert_eq!(map(&files, 20), "a.rs (2 symbols)\nand 1 more files; `path` narrows it");
        assert_eq!(map(&[], 20), "Nothing is indexed here.");
    }
}
