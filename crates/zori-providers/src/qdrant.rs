//! Vectors in a Qdrant server, over its REST API: a collection, points in it, and the likest points to a vector. What a point stands for
//! is the caller's business; nothing but numbers and the name of the model that made them goes there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use zori_core::secret::Secret;
use zori_core::transport::{HttpRequest, Method, Redirects, Timeouts, Transport, named_headers};

use crate::failure::{self, BodyEnd};

/// How long each phase of a request may take.
const LIMITS: Timeouts = Timeouts {
    connect: Some(PATIENCE),
    first_byte: Some(PATIENCE),
    idle: Some(PATIENCE),
    pings: Some(PATIENCE),
};
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer that is read.
const MAX_ANSWER: usize = 4 << 20;

/// A collection in a server.
#[derive(Clone)]
pub struct Qdrant {
    transport: Arc<dyn Transport>,
    url: String,
    key: Option<Secret>,
    collection: String,
}

impl fmt::Debug for Qdrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Qdrant").field("collection", &self.collection).finish_non_exhaustive()
    }
}

/// Why the server could not be used, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct QdrantError(String);

/// A vector in the collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub id: i64,
    pub vector: Vec<f32>,
}

impl Qdrant {
    /// Returns a collection; nothing is asked yet.
    pub fn new(transport: Arc<dyn Transport>, url: &str, key: Option<Secret>, collection: String) -> Self {
        Self { transport, url: url.trim_end_matches('/').to_owned(), key, collection }
    }

    /// Returns how long the vectors of the collection are; `None` where there is no such collection.
    pub async fn dims(&self) -> Result<Option<usize>, QdrantError> {
        match self.ask(Method::Get, "", None).await? {
            (404, _) => Ok(None),
            (status, answer) => {
                let size = self.good(status, answer)?["config"]["params"]["vectors"]["size"].as_u64();
                match size {
                    Some(size) => Ok(Some(size as usize)),
                    None => Err(self.odd("a collection without one vector for each point")),
                }
            }
        }
    }

    /// Makes the collection for vectors of this length. One that another process made meanwhile is fine.
    pub async fn create(&self, dims: usize) -> Result<(), QdrantError> {
        let body = json!({"vectors": {"size": dims, "distance": "Cosine"}});
        match self.ask(Method::Put, "", Some(&body)).await? {
            (409, _) => Ok(()),
            (status, answer) => self.good(status, answer).map(drop),
        }
    }

    /// Puts points into the collection; those of the same id are replaced. `model` is what made them.
    pub async fn put(&self, model: &str, points: &[Point]) -> Result<(), QdrantError> {
        let points: Vec<Value> = points
            .iter()
            .map(|point| json!({"id": point.id, "vector": point.vector, "payload": {"model": model}}))
            .collect();
        let (status, answer) =
            self.ask(Method::Put, "/points?wait=true", Some(&json!({"points": points}))).await?;
        self.good(status, answer).map(drop)
    }

    /// Returns the likest points to a vector among those of a model, the likest first, without those whose cosine is below `least`.
    pub async fn query(
        &self,
        model: &str,
        vector: &[f32],
        most: usize,
        least: f64,
    ) -> Result<Vec<i64>, QdrantError> {
        let body = json!({
            "query": vector,
            "filter": {"must": [{"key": "model", "match": {"value": model}}]},
            "limit": most,
            "score_threshold": least,
            "with_payload": false,
        });
        let answer = match self.ask(Method::Post, "/points/query", Some(&body)).await? {
            // A collection that nobody has made yet has no points.
            (404, _) => return Ok(Vec::new()),
            (status, answer) => self.good(status, answer)?,
        };
        let found: Found = serde_json::from_value(answer)
            .map_err(|error| self.odd(&format!("an answer without points: {error}")))?;
        let mut points = found.points;
        points.retain(|point| point.score >= least);
        points.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(points.into_iter().map(|point| point.id).collect())
    }

    /// Deletes points; those that are not there are fine.
    pub async fn delete(&self, points: &[i64]) -> Result<(), QdrantError> {
        let body = json!({"points": points});
        match self.ask(Method::Post, "/points/delete?wait=true", Some(&body)).await? {
            (404, _) => Ok(()),
            (status, answer) => self.good(status, answer).map(drop),
        }
    }

    /// Deletes the collection; one that is not there is fine.
    pub async fn drop_collection(&self) -> Result<(), QdrantError> {
        match self.ask(Method::Delete, "", None).await? {
            (404, _) => Ok(()),
            (status, answer) => self.good(status, answer).map(drop),
        }
    }

    /// Sends a request about the collection, and returns the status and the body.
    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Vec<u8>), QdrantError> {
        let mut headers = Vec::new();
        if body.is_some() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        if let Some(key) = &self.key {
            headers.push(("api-key", key.reveal().to_owned()));
        }
        let request = HttpRequest {
            method,
            url: format!("{}/collections/{}{path}", self.url, self.collection),
            headers: named_headers(headers),
            body: body.map(|body| Bytes::from(body.to_string())).unwrap_or_default(),
            limits: LIMITS,
            redirects: Redirects::SameOrigin,
            addresses: Default::default(),
        };
        let mut response =
            self.transport.send(request).await.map_err(|error| self.failed(&error.to_string()))?;
        match failure::read_bounded(&mut response.body, MAX_ANSWER).await {
            (body, BodyEnd::Complete) => Ok((response.status, body)),
            (_, BodyEnd::Failed(error)) => Err(self.failed(&error.to_string())),
            (_, BodyEnd::TooLong) => Err(self.odd("too long an answer")),
        }
    }

    /// Returns the `result` of an answer.
    fn good(&self, status: u16, body: Vec<u8>) -> Result<Value, QdrantError> {
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if !(200..300).contains(&status) {
            let said = answer["status"]["error"].as_str().unwrap_or_default();
            let said: String = said.chars().take(200).collect();
            let said = if said.is_empty() { said } else { format!(": {said}") };
            return Err(self.failed(&format!("HTTP {status}{said}")));
        }
        match answer {
            Value::Object(mut answer) => Ok(answer.remove("result").unwrap_or_default()),
            _ => Err(self.odd("something else than JSON")),
        }
    }

    fn odd(&self, what: &str) -> QdrantError {
        self.failed(&format!("it returned {what}"))
    }

    fn failed(&self, why: &str) -> QdrantError {
        let mut why = format!("Qdrant cannot be used: {why}");
        if let Some(key) = self.key.as_ref().map(Secret::reveal).filter(|key| !key.is_empty()) {
            why = why.replace(key, "[REDACTED]");
        }
        QdrantError(why)
    }
}

#[derive(Deserialize)]
struct Found {
    points: Vec<Scored>,
}

#[derive(Deserialize)]
struct Scored {
    id: i64,
    score: f64,
}
