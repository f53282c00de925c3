//! Vectors of messages and of chunks of code, those of the built-in embedder and those of models. A vector is known by what it is of, by the model
//! that made it and by its length, and nothing is ever compared with one of another kind. Points in a store outside are in `points.rs`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::fmt;

use rusqlite::{Params, params};

use crate::embed;
use crate::error::IndexError;
use crate::project_store::ProjectStore;

/// Which vectors are meant: those of a model, of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorKind {
    /// Such as `openai:text-embedding-3-small`.
    pub model: String,
    pub dims: usize,
}

impl VectorKind {
    /// Returns the kind of the built-in embedder.
    pub fn built_in() -> Self {
        Self { model: embed::MODEL.to_owned(), dims: embed::DIMENSIONS }
    }
}

impl fmt::Display for VectorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.model, self.dims)
    }
}

/// What vectors are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorsOf {
    Messages,
    /// Chunks of code.
    Chunks,
}

/// How the owners of vectors are found, and which of their vectors count.
struct Owners {
    /// As the table of vectors has it.
    name: &'static str,
    /// The rows, as `o`; what is embedded of them; which of them have vectors, and which come first.
    rows: &'static str,
    text: &'static str,
    condition: &'static str,
    order: &'static str,
    /// How many of the newest are compared; -1: all.
    compared: i64,
    /// How many of a ranking count, and how alike they must be.
    ranked: usize,
    alike: f64,
}

const MESSAGES: Owners = Owners {
    name: "message",
    rows: "messages o",
    text: "o.content",
    condition: "o.evicted_at IS NULL",
    order: "o.id DESC",
    compared: 20_000,
    ranked: 50,
    alike: 0.2,
};

const CHUNKS: Owners = Owners {
    name: "chunk",
    rows: "code_chunks o JOIN code_files f ON f.id = o.file_id",
    text: "f.path || char(10) || o.text",
    condition: "TRUE",
    order: "o.id",
    compared: -1,
    ranked: 60,
    alike: 0.25,
};

impl VectorsOf {
    fn owners(self) -> &'static Owners {
        match self {
            Self::Messages => &MESSAGES,
            Self::Chunks => &CHUNKS,
        }
    }

    /// Returns what the table of vectors calls the owners.
    pub(crate) fn name(self) -> &'static str {
        self.owners().name
    }
}

/// Returns the vector of the built-in embedder. A text without words has one like no other text's.
pub fn built_in_vector(text: &str) -> Vec<f32> {
    match embed::embed(text) {
        Some(vector) => vector.into_iter().map(f32::from).collect(),
        None => std::iter::once(1.0).chain(std::iter::repeat_n(0.0, embed::DIMENSIONS - 1)).collect(),
    }
}

/// What a question is compared with messages by, beside its words.
#[derive(Clone, Copy, Debug)]
pub enum Likeness<'a> {
    /// The built-in embedder.
    BuiltIn,
    /// A vector of the question, and which kind it is.
    Vector(&'a VectorKind, &'a [f32]),
    /// Points of a store outside, the likest first.
    Points(&'a [i64]),
}

/// A message or a chunk that has no vector yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unembedded {
    /// Its number.
    pub owner: i64,
    /// What is to be embedded: of a chunk the path of its file, too.
    pub text: String,
}

impl ProjectStore {
    /// Returns what has no vector of this kind: of messages the newest first.
    pub fn without_vector(
        &self,
        of: VectorsOf,
        kind: &VectorKind,
        most: usize,
    ) -> Result<Vec<Unembedded>, IndexError> {
        let Owners { name, rows, text, condition, order, .. } = of.owners();
        self.unembedded(
            &format!(
                "SELECT o.id, {text} FROM {rows} WHERE o.project_id = ?1 AND {condition} AND NOT EXISTS
                     (SELECT 1 FROM vectors v WHERE v.project_id = ?1 AND v.owner_kind = ?2 AND v.model = ?3
                      AND v.owner_id = o.id)
                 ORDER BY {order} LIMIT ?4"
            ),
            params![self.id, name, kind.to_string(), most as i64],
        )
    }

    pub(crate) fn unembedded(&self, query: &str, params: impl Params) -> Result<Vec<Unembedded>, IndexError> {
        let failed = self.failed();
        let mut rows = self.database.connection.prepare(query).map_err(&failed)?;
        let row = |row: &rusqlite::Row<'_>| Ok(Unembedded { owner: row.get(0)?, text: row.get(1)? });
        rows.query_map(params, row).map_err(&failed)?.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Keeps vectors of this kind. Those of owners that are gone meanwhile, and those of another length, are left out.
    pub fn put_vectors(
        &mut self,
        of: VectorsOf,
        kind: &VectorKind,
        vectors: &[(i64, Vec<f32>)],
        now: i64,
    ) -> Result<(), IndexError> {
        let Owners { name, rows, condition, .. } = of.owners();
        let key = kind.to_string();
        let fitting = vectors.iter().filter(|(_, vector)| vector.len() == kind.dims);
        let vectors: Vec<(i64, Vec<u8>)> =
            fitting.map(|(owner, vector)| (*owner, embed::bytes(&embed::small(vector)))).collect();
        self.write(now, move |change, project| {
            let mut put = change.prepare_cached(&format!(
                "INSERT OR REPLACE INTO vectors (project_id, owner_kind, owner_id, model, vector)
                 SELECT o.project_id, ?2, o.id, ?4, ?5 FROM {rows} WHERE o.project_id = ?1 AND o.id = ?3 AND {condition}"
            ))?;
            vectors
                .iter()
                .try_for_each(|(owner, vector)| put.execute(params![project, name, owner, key, vector]).map(drop))
        })
    }

    /// Deletes vectors of all other kinds, but for those of the built-in embedder that every message has; returns how many.
    pub fn drop_other_vectors(
        &mut self,
        of: VectorsOf,
        kind: &VectorKind,
        now: i64,
    ) -> Result<u64, IndexError> {
        const OTHERS: &str =
            "FROM vectors WHERE project_id = ?1 AND owner_kind = ?2 AND model NOT IN (?3, ?4)";
        let (name, key) = (of.name(), kind.to_string());
        let others: bool = self
            .database
            .connection
            .query_row(
                &format!("SELECT EXISTS (SELECT 1 {OTHERS})"),
                params![self.id, name, key, embed::MODEL],
                |row| row.get(0),
            )
            .map_err(self.failed())?;
        // Who has none writes nothing.
        if !others {
            return Ok(0);
        }
        self.write(now, move |change, project| {
            let gone =
                change.execute(&format!("DELETE {OTHERS}"), params![project, name, key, embed::MODEL])?;
            Ok(gone as u64)
        })
    }

    /// Returns the owners whose vectors of this kind are like a question's, the likest first.
    pub fn alike(&self, of: VectorsOf, kind: &VectorKind, question: &[f32]) -> Result<Vec<i64>, IndexError> {
        self.alike_beside(of, kind, question, &HashSet::new())
    }

    /// Does the same without some owners.
    pub(crate) fn alike_beside(
        &self,
        of: VectorsOf,
        kind: &VectorKind,
        question: &[f32],
        without: &HashSet<i64>,
    ) -> Result<Vec<i64>, IndexError> {
        let (wanted, least) = (embed::small(question), of.owners().alike);
        self.likest(of, &kind.to_string(), without, |vector| {
            let likeness = embed::cosine(&wanted, &embed::stored(vector));
            // Likeness has an order here: it is between what is asked for and 1.
            (likeness >= least).then_some((likeness * 1e9) as i64)
        })
    }

    /// Returns the owners whose vectors of a model get the highest score, the highest first; those that have none, and some others, are left out.
    pub(crate) fn likest(
        &self,
        of: VectorsOf,
        model: &str,
        without: &HashSet<i64>,
        score: impl Fn(&[u8]) -> Option<i64>,
    ) -> Result<Vec<i64>, IndexError> {
        let (failed, Owners { name, compared, ranked, .. }) = (self.failed(), of.owners());
        let mut rows = self
            .database
            .connection
            .prepare(
                "SELECT owner_id, vector FROM vectors WHERE project_id = ?1 AND owner_kind = ?2 AND model = ?3
                 ORDER BY owner_id DESC LIMIT ?4",
            )
            .map_err(&failed)?;
        let mut rows = rows.query(params![self.id, name, model, compared]).map_err(&failed)?;
        let mut best = BinaryHeap::new();
        while let Some(row) = rows.next().map_err(&failed)? {
            let owner = row.get::<_, i64>(0).map_err(&failed)?;
            let vector = row.get_ref(1).map_err(&failed)?;
            if let Some(score) =
                score(vector.as_blob().unwrap_or_default()).filter(|_| !without.contains(&owner))
            {
                best.push(Reverse((score, owner)));
                if best.len() > *ranked {
                    best.pop();
                }
            }
        }
        Ok(best.into_sorted_vec().into_iter().map(|Reverse((_, owner))| owner).collect())
    }
}
