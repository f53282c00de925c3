//! Vectors of models, beside those of the built-in embedder: kept here, or as points in a store outside of which only the references are here.
//! A vector is known by the model that made it and by its length, and nothing is ever compared with one of another kind.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use rusqlite::params;

use crate::embed;
use crate::error::IndexError;
use crate::project_store::ProjectStore;

/// How many of a ranking count.
const RANKED: usize = 50;
/// How many of the newest messages are compared.
const COMPARED: i64 = 20_000;
/// How alike a message must be to count.
const ALIKE: f64 = 0.2;

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

    fn key(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for VectorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.model, self.dims)
    }
}

/// Returns the vector of the built-in embedder. A text without words has one like no other text's.
pub fn built_in_vector(text: &str) -> Vec<f32> {
    match embed::embed(text) {
        Some(vector) => vector.into_iter().map(f32::from).collect(),
        None => std::iter::once(1.0).chain(std::iter::repeat_n(0.0, embed::DIMENSIONS - 1)).collect(),
    }
}

/// Returns the number of a message's point outside. A message that changes has another one, so that no point ever stands for two texts.
pub fn point_id(kind: &VectorKind, message: i64, text: &str) -> i64 {
    let hash = blake3::hash(format!("{kind}\0{message}\0{text}").as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_le_bytes(first) & i64::MAX
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

/// A message that has no vector yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unembedded {
    pub message: i64,
    pub text: String,
}

impl ProjectStore {
    /// Returns messages without a vector of this kind, the newest first.
    pub fn without_vector(&self, kind: &VectorKind, most: usize) -> Result<Vec<Unembedded>, IndexError> {
        self.unembedded(
            "SELECT id, content FROM messages m WHERE project_id = ?1 AND evicted_at IS NULL AND NOT EXISTS
                 (SELECT 1 FROM vectors v WHERE v.project_id = ?1 AND v.model = ?2 AND v.message_id = m.id)
             ORDER BY id DESC LIMIT ?3",
            kind,
            most,
        )
    }

    /// Returns messages without a point of this kind, the newest first.
    pub fn without_point(&self, kind: &VectorKind, most: usize) -> Result<Vec<Unembedded>, IndexError> {
        self.unembedded(
            "SELECT id, content FROM messages m WHERE project_id = ?1 AND evicted_at IS NULL AND NOT EXISTS
                 (SELECT 1 FROM embeddings e WHERE e.project_id = ?1 AND e.model = ?2 AND e.owner_id = m.id
                  AND e.owner_kind = 'message' AND e.state = 'stored')
             ORDER BY id DESC LIMIT ?3",
            kind,
            most,
        )
    }

    fn unembedded(&self, query: &str, kind: &VectorKind, most: usize) -> Result<Vec<Unembedded>, IndexError> {
        let failed = self.failed();
        let mut rows = self.database.connection.prepare(query).map_err(&failed)?;
        let row = |row: &rusqlite::Row<'_>| Ok(Unembedded { message: row.get(0)?, text: row.get(1)? });
        let rows = rows.query_map(params![self.id, kind.key(), most as i64], row).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Keeps vectors of this kind. Those of messages that are gone meanwhile, and those of another length, are left out.
    pub fn put_vectors(
        &mut self,
        kind: &VectorKind,
        vectors: &[(i64, Vec<f32>)],
        now: i64,
    ) -> Result<(), IndexError> {
        let key = kind.key();
        self.write(now, |change, project| {
            let mut put = change.prepare_cached(
                "INSERT OR REPLACE INTO vectors (project_id, message_id, model, vector)
                 SELECT project_id, id, ?3, ?4 FROM messages WHERE project_id = ?1 AND id = ?2 AND evicted_at IS NULL",
            )?;
            for (message, vector) in vectors.iter().filter(|(_, vector)| vector.len() == kind.dims) {
                put.execute(params![project, message, key, embed::bytes(&embed::small(vector))])?;
            }
            Ok(())
        })
    }

    /// Deletes vectors of all other kinds, but for the built-in one; returns how many.
    pub fn drop_other_vectors(&mut self, kind: &VectorKind, now: i64) -> Result<u64, IndexError> {
        let key = kind.key();
        let others: bool = self
            .database
            .connection
            .query_row(
                "SELECT EXISTS (SELECT 1 FROM vectors WHERE project_id = ?1 AND model NOT IN (?2, ?3))",
                params![self.id, key, embed::MODEL],
                |row| row.get(0),
            )
            .map_err(self.failed())?;
        if !others {
            return Ok(0);
        }
        self.write(now, |change, project| {
            let gone = change.execute(
                "DELETE FROM vectors WHERE project_id = ?1 AND model NOT IN (?2, ?3)",
                params![project, key, embed::MODEL],
            )?;
            Ok(gone as u64)
        })
    }

    /// Notes that messages have points of this kind; returns nothing of those that are gone meanwhile: their points are to be deleted.
    pub fn put_points(
        &mut self,
        kind: &VectorKind,
        points: &[(i64, i64)],
        now: i64,
    ) -> Result<(), IndexError> {
        let (key, dims) = (kind.key(), kind.dims as i64);
        self.write(now, |change, project| {
            let mut put = change.prepare_cached(
                "INSERT OR REPLACE INTO embeddings (project_id, backend_id, owner_kind, owner_id, model, dims, state)
                 VALUES (?1, ?2, 'message', ?3, ?4, ?5, CASE WHEN EXISTS
                     (SELECT 1 FROM messages WHERE project_id = ?1 AND id = ?3 AND evicted_at IS NULL)
                     THEN 'stored' ELSE 'gone' END)",
            )?;
            points
                .iter()
                .try_for_each(|(message, point)| put.execute(params![project, point, message, key, dims]).map(drop))
        })
    }

    /// Returns points that are to be deleted outside.
    pub fn gone_points(&self, most: usize) -> Result<Vec<i64>, IndexError> {
        let failed = self.failed();
        let mut rows = self
            .database
            .connection
            .prepare("SELECT backend_id FROM embeddings WHERE project_id = ?1 AND state = 'gone' LIMIT ?2")
            .map_err(&failed)?;
        let rows = rows.query_map(params![self.id, most as i64], |row| row.get(0)).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Notes that points were deleted outside.
    pub fn points_deleted(&mut self, points: &[i64], now: i64) -> Result<(), IndexError> {
        self.write(now, |change, project| {
            let mut gone = change.prepare_cached(
                "DELETE FROM embeddings WHERE project_id = ?1 AND backend_id = ?2 AND state = 'gone'",
            )?;
            points.iter().try_for_each(|point| gone.execute(params![project, point]).map(drop))
        })
    }

    /// Forgets every reference to points, because the store outside begins anew.
    pub fn drop_points(&mut self, now: i64) -> Result<(), IndexError> {
        self.write(now, |change, project| {
            change.execute("DELETE FROM embeddings WHERE project_id = ?1", [project]).map(drop)
        })
    }

    /// Returns whether there are points of another kind than this.
    pub fn has_other_points(&self, kind: &VectorKind) -> Result<bool, IndexError> {
        self.database
            .connection
            .query_row(
                "SELECT EXISTS (SELECT 1 FROM embeddings WHERE project_id = ?1 AND model <> ?2)",
                params![self.id, kind.key()],
                |row| row.get(0),
            )
            .map_err(self.failed())
    }

    /// Returns the messages of points, in their order; points that are not known, or gone, are left out.
    pub(crate) fn by_points(&self, points: &[i64]) -> Result<Vec<i64>, IndexError> {
        let failed = self.failed();
        let mut row = self
            .database
            .connection
            .prepare(
                "SELECT owner_id FROM embeddings WHERE project_id = ?1 AND backend_id = ?2 AND state = 'stored'",
            )
            .map_err(&failed)?;
        let mut found = Vec::new();
        for point in points {
            let mut rows = row.query(params![self.id, point]).map_err(&failed)?;
            if let Some(row) = rows.next().map_err(&failed)? {
                found.push(row.get(0).map_err(&failed)?);
            }
        }
        Ok(found)
    }

    /// Returns the messages whose vectors of this kind are like a question's.
    pub(crate) fn by_vector(&self, kind: &VectorKind, question: &[f32]) -> Result<Vec<i64>, IndexError> {
        let (failed, wanted) = (self.failed(), embed::small(question));
        let mut rows = self
            .database
            .connection
            .prepare(
                "SELECT message_id, vector FROM vectors WHERE project_id = ?1 AND model = ?2
                 ORDER BY message_id DESC LIMIT ?3",
            )
            .map_err(&failed)?;
        let mut rows = rows.query(params![self.id, kind.key(), COMPARED]).map_err(&failed)?;
        let mut best = BinaryHeap::new();
        while let Some(row) = rows.next().map_err(&failed)? {
            let vector = row.get_ref(1).map_err(&failed)?;
            let likeness = embed::cosine(&wanted, &embed::stored(vector.as_blob().unwrap_or_default()));
            if likeness < ALIKE {
                continue;
            }
            // Likeness has an order here: it is between 0.2 and 1.
            best.push(Reverse(((likeness * 1e9) as i64, row.get::<_, i64>(0).map_err(&failed)?)));
            if best.len() > RANKED {
                best.pop();
            }
        }
        Ok(best.into_sorted_vec().into_iter().map(|Reverse((_, id))| id).collect())
    }
}
