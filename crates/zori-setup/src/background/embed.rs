//! Vectors that messages lack are made by the model of `memory.embedder`, and points of messages that are gone are deleted in Qdrant: after another
//! model was chosen, after a server was down, after sessions went on.

use tokio::runtime::Runtime;
use zori_host::{StorePlace, Vectors};
use zori_providers::embeddings::BATCH;

use super::pace::Pace;
use super::{Moment, Project, Task};
use crate::memory;
use crate::wire_up;
use crate::workers::{Need, Worker};

pub const TASK: Task = Task {
    worker: Worker { name: "embed", need: Need::UnlessBare },
    moment: Moment::AfterTurn,
    wanted: |project| !project.one_prompt && memory::asks_others(&project.config) && project.place.is_used(),
    due: |project| project.place.database.exists(),
    run,
};

fn run(project: &Project, pace: &Pace) {
    let Some(outside) = &project.outside else { return };
    let Ok(settings) = memory::vectors(&project.config, &outside.env, &project.place) else { return };
    let (Ok(transport), Ok(runtime)) = (outside.network.http(), wire_up::runtime()) else { return };
    let Some(vectors) = Vectors::new(&settings, &project.place, &transport, project.clock.clone()) else {
        return;
    };
    let now = project.clock.now().0;
    let synced = project.place.open().and_then(|mut store| project.place.sync(&mut store, false, now));
    if synced.is_err() {
        return;
    }
    catch_up(&runtime, &vectors, &project.place, now, pace);
}

/// Makes vectors batch by batch, until none is missing. A failure pauses it; the search that is meant to be helped says what is wrong.
pub(super) fn catch_up(runtime: &Runtime, vectors: &Vectors, place: &impl StorePlace, now: i64, pace: &Pace) {
    while pace.go_on() {
        match runtime.block_on(vectors.catch_up(place, now, BATCH)) {
            Ok(made) if made >= BATCH as u64 => {}
            _ => break,
        }
    }
}
