//! References to points in a store of vectors outside: which message each is of, and which are still to be deleted there.

use std::collections::HashSet;

use rusqlite::params;

use crate::error::IndexError;
use crate::project_store::ProjectStore;
use crate::recall::beside;
use crate::vectors::{Unembedded, VectorKind};

/// Returns the number of a message's point outside. A message that changes has another one, so that no point ever stands for two texts.
pub fn point_id(kind: &VectorKind, message: i64, text: &str) -> i64 {
    let hash = blake3::hash(format!("{kind}\0{message}\0{text}").as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_le_bytes(first) & i64::MAX
}

impl ProjectStore {
    /// Returns messages without a point of this kind, the newest first.
    pub fn without_point(&self, kind: &VectorKind, most: usize) -> Result<Vec<Unembedded>, IndexError> {
        self.unembedded(
            "SELECT id, content FROM messages m WHERE project_id = ?1 AND evicted_at IS NULL AND NOT EXISTS
                 (SELECT 1 FROM embeddings e WHERE e.project_id = ?1 AND e.model = ?2 AND e.owner_id = m.id
                  AND e.owner_kind = 'message' AND e.state = 'stored')
             ORDER BY id DESC LIMIT ?3",
            params![self.id, kind.to_string(), most as i64],
        )
    }

    /// Notes that messages have points of this kind; returns nothing of those that are gone meanwhile: their points are to be deleted.
    pub fn put_points(
        &mut self,
        kind: &VectorKind,
        points: &[(i64, i64)],
        now: i64,
    ) -> Result<(), IndexError> {
        let (key, dims, points) = (kind.to_string(), kind.dims as i64, points.to_vec());
        self.write(now, move |change, project| {
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
        let points = points.to_vec();
        self.write(now, move |change, project| {
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
                params![self.id, kind.to_string()],
                |row| row.get(0),
            )
            .map_err(self.failed())
    }

    /// Returns the messages of points, in their order and so many at most; points that are not known, or gone, are left out, and so are messages of the
    /// session that asks.
    pub(crate) fn by_points(
        &self,
        points: &[i64],
        own: &HashSet<i64>,
        most: usize,
    ) -> Result<Vec<i64>, IndexError> {
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
        Ok(beside(found, own, most))
    }
}
