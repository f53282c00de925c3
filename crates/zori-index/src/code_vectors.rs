//! Vectors of chunks of code: made by the caller, kept here, and a third ranking of a search. As with messages, only vectors of one model and one length
//! are ever compared.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rusqlite::params;

use crate::embed;
use crate::error::IndexError;
use crate::project_store::ProjectStore;
use crate::vectors::VectorKind;

/// How many of the ranking count, and how alike a chunk must be.
const RANKED: usize = 60;
const ALIKE: f64 = 0.25;

/// A chunk that has no vector yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnembeddedChunk {
    pub chunk: i64,
    /// The path of its file, and its text.
    pub text: String,
}

impl ProjectStore {
    /// Returns chunks without a vector of this kind.
    pub fn chunks_without_vector(
        &self,
        kind: &VectorKind,
        most: usize,
    ) -> Result<Vec<UnembeddedChunk>, IndexError> {
        let failed = self.failed();
        let mut rows = self
            .database
            .connection
            .prepare(
                "SELECT c.id, f.path || char(10) || c.text FROM code_chunks c JOIN code_files f ON f.id = c.file_id
                 WHERE c.project_id = ?1 AND NOT EXISTS
                     (SELECT 1 FROM code_vectors v WHERE v.project_id = ?1 AND v.model = ?2 AND v.chunk_id = c.id)
                 ORDER BY c.id LIMIT ?3",
            )
            .map_err(&failed)?;
        let row = |row: &rusqlite::Row<'_>| Ok(UnembeddedChunk { chunk: row.get(0)?, text: row.get(1)? });
        let rows = rows.query_map(params![self.id, kind.to_string(), most as i64], row).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Keeps vectors of chunks. Those of chunks that are gone meanwhile, and those of another length, are left out.
    pub fn put_code_vectors(
        &mut self,
        kind: &VectorKind,
        vectors: &[(i64, Vec<f32>)],
        now: i64,
    ) -> Result<(), IndexError> {
        let key = kind.to_string();
        self.write(now, |change, project| {
            let mut put = change.prepare_cached(
                "INSERT OR REPLACE INTO code_vectors (project_id, chunk_id, model, vector)
                 SELECT project_id, id, ?3, ?4 FROM code_chunks WHERE project_id = ?1 AND id = ?2",
            )?;
            for (chunk, vector) in vectors.iter().filter(|(_, vector)| vector.len() == kind.dims) {
                put.execute(params![project, chunk, key, embed::bytes(&embed::small(vector))])?;
            }
            Ok(())
        })
    }

    /// Deletes vectors of chunks of all other kinds.
    pub fn drop_other_code_vectors(&mut self, kind: &VectorKind, now: i64) -> Result<(), IndexError> {
        let key = kind.to_string();
        self.write(now, |change, project| {
            change
                .execute(
                    "DELETE FROM code_vectors WHERE project_id = ?1 AND model <> ?2",
                    params![project, key],
                )
                .map(drop)
        })
    }

    /// Returns the chunks whose vectors of this kind are like a question's, the likest first.
    pub fn alike_chunks(&self, kind: &VectorKind, question: &[f32]) -> Result<Vec<i64>, IndexError> {
        let (failed, wanted) = (self.failed(), embed::small(question));
        let mut rows = self
            .database
            .connection
            .prepare("SELECT chunk_id, vector FROM code_vectors WHERE project_id = ?1 AND model = ?2")
            .map_err(&failed)?;
        let mut rows = rows.query(params![self.id, kind.to_string()]).map_err(&failed)?;
        let mut best = BinaryHeap::new();
        while let Some(row) = rows.next().map_err(&failed)? {
            let vector = row.get_ref(1).map_err(&failed)?;
            let likeness = embed::cosine(&wanted, &embed::stored(vector.as_blob().unwrap_or_default()));
            if likeness >= ALIKE {
                // Likeness has an order here: it is between 0.25 and 1.
                best.push(Reverse(((likeness * 1e9) as i64, row.get::<_, i64>(0).map_err(&failed)?)));
                if best.len() > RANKED {
                    best.pop();
                }
            }
        }
        Ok(best.into_sorted_vec().into_iter().map(|Reverse((_, chunk))| chunk).collect())
    }
}
