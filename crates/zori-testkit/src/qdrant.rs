//! A Qdrant server: collections of vectors over the REST API as its vendor documents it, with filters, scores and thresholds. It is as strict as the real
//! one about keys, lengths of vectors and collections that are not there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::reply::Reply;
use crate::server::{ModelServer, Request};

/// A server that runs until it is dropped.
pub struct QdrantServer {
    server: ModelServer,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    key: Option<String>,
    down: bool,
    collections: BTreeMap<String, Collection>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Collection {
    dims: usize,
    points: BTreeMap<u64, (Vec<f64>, Value)>,
}

impl QdrantServer {
    /// Starts one; with a key nobody is let in without it.
    pub fn start(key: Option<&str>) -> Self {
        let state = Arc::new(Mutex::new(State { key: key.map(str::to_owned), ..State::default() }));
        let answering = state.clone();
        let server = ModelServer::answering(move |request| {
            let mut state = answering.lock().unwrap_or_else(PoisonError::into_inner);
            state.answer(request)
        });
        Self { server, state }
    }

    /// Returns its address.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Has it answer nothing but 503 from now on, or answer again.
    pub fn set_down(&self, down: bool) {
        self.lock().down = down;
    }

    /// Forgets everything, as a server does that was set up anew.
    pub fn clear(&self) {
        self.lock().collections.clear();
    }

    /// Returns the collections with the length of their vectors and how many points they have.
    pub fn collections(&self) -> Vec<(String, usize, usize)> {
        let state = self.lock();
        state.collections.iter().map(|(name, one)| (name.clone(), one.dims, one.points.len())).collect()
    }

    /// Returns everything it was sent, as text.
    pub fn sent(&self) -> String {
        let body = |request: Request| {
            format!("{} {}\n{}\n", request.method, request.path, String::from_utf8_lossy(&request.body))
        };
        self.server.requests().into_iter().map(body).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn good(result: Value) -> Reply {
    Reply::json(200, json!({"result": result, "status": "ok", "time": 0.001}))
}

fn bad(status: u16, why: &str) -> Reply {
    Reply::json(status, json!({"status": {"error": why}, "time": 0.001}))
}

impl State {
    fn answer(&mut self, request: &Request) -> Reply {
        if self.down {
            return bad(503, "Service unavailable");
        }
        if self.key.is_some() && request.header("api-key") != self.key.as_deref() {
            return bad(401, "Must provide an API key or an Authorization bearer token");
        }
        let path = request.path.split('?').next().unwrap_or_default();
        let words: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (name, rest) = match words[..] {
            ["collections", name, ref rest @ ..] => (name, rest.join("/")),
            _ => return bad(404, "no such path"),
        };
        let body: Value = if request.body.is_empty() { Value::Null } else { request.json() };
        match (request.method.as_str(), rest.as_str()) {
            ("PUT", "") if self.collections.contains_key(name) => {
                bad(409, &format!("Wrong input: Collection `{name}` already exists!"))
            }
            ("PUT", "") => {
                let (size, distance) = (&body["vectors"]["size"], &body["vectors"]["distance"]);
                let Some(dims) = size.as_u64().filter(|size| *size > 0 && distance == "Cosine") else {
                    return bad(400, "Format error in JSON body");
                };
                self.collections
                    .insert(name.to_owned(), Collection { dims: dims as usize, ..Collection::default() });
                good(json!(true))
            }
            ("DELETE", "") => good(json!(self.collections.remove(name).is_some())),
            (method, rest) => match self.collections.get_mut(name) {
                Some(collection) => collection.answer(method, rest, &body),
                None => bad(404, &format!("Not found: Collection `{name}` doesn't exist!")),
            },
        }
    }
}

impl Collection {
    fn answer(&mut self, method: &str, rest: &str, body: &Value) -> Reply {
        match (method, rest) {
            ("GET", "") => good(json!({
                "status": "green",
                "points_count": self.points.len(),
                "config": {"params": {"vectors": {"size": self.dims, "distance": "Cosine"}}},
            })),
            ("PUT", "points") => {
                for point in body["points"].as_array().into_iter().flatten() {
                    let (Some(id), vector) = (point["id"].as_u64(), numbers(&point["vector"])) else {
                        return bad(400, "Format error in JSON body: an id is an unsigned integer or a UUID");
                    };
                    if vector.len() != self.dims {
                        let why = format!(
                            "Wrong input: Vector dimension error: expected dim: {}, got {}",
                            self.dims,
                            vector.len()
                        );
                        return bad(400, &why);
                    }
                    self.points.insert(id, (vector, point["payload"].clone()));
                }
                good(json!({"operation_id": 0, "status": "completed"}))
            }
            ("POST", "points/delete") => {
                for id in body["points"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
                    self.points.remove(&id);
                }
                good(json!({"operation_id": 1, "status": "completed"}))
            }
            ("POST", "points/query") => self.query(body),
            _ => bad(404, "no such path"),
        }
    }

    fn query(&self, body: &Value) -> Reply {
        let asked = numbers(&body["query"]);
        if asked.len() != self.dims {
            let why = format!(
                "Wrong input: Vector dimension error: expected dim: {}, got {}",
                self.dims,
                asked.len()
            );
            return bad(400, &why);
        }
        let must = body["filter"]["must"].as_array().cloned().unwrap_or_default();
        let fits = |payload: &Value| {
            must.iter().all(|one| payload[one["key"].as_str().unwrap_or_default()] == one["match"]["value"])
        };
        let least = body["score_threshold"].as_f64().unwrap_or(-1.0);
        let mut found: Vec<(u64, f64)> = self
            .points
            .iter()
            .filter(|(_, (_, payload))| fits(payload))
            .map(|(id, (vector, _))| (*id, cosine(&asked, vector)))
            .filter(|(_, score)| *score >= least)
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.truncate(body["limit"].as_u64().unwrap_or(10) as usize);
        let points: Vec<Value> =
            found.into_iter().map(|(id, score)| json!({"id": id, "version": 0, "score": score})).collect();
        good(json!({"points": points}))
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let lengths = length(a) * length(b);
    if lengths > 0.0 { product / lengths } else { 0.0 }
}
