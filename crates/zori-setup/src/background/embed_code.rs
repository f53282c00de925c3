//! Vectors that chunks of code lack (`index.vectors = true`), after the code index has followed the files.

use zori_host::Vectors;

use super::embed;
use super::pace::Pace;
use super::{Moment, Project, Switch, Task};
use crate::code_index;
use crate::wire_up;
use crate::workers::{Need, Worker};

pub const TASK: Task = Task {
    worker: Worker { name: "embed_code", need: Need::UnlessBare },
    moment: Moment::AfterTurn,
    wanted: |project| {
        let index = || code_index::beside(&project.place, project.sensitive.clone());
        let used = match project.index_switch {
            Switch::On => true,
            Switch::Off => false,
            Switch::Auto => !project.one_prompt && index().is_used(),
        };
        used && code_index::wants_vectors(&project.config)
    },
    due: |project| project.place.database.exists(),
    run,
};

fn run(project: &Project, pace: &Pace) {
    let Some(outside) = &project.outside else { return };
    let Ok(settings) = code_index::vectors(&project.config, &outside.env, &project.place) else { return };
    let (Ok(transport), Ok(runtime)) = (outside.network.http(), wire_up::runtime()) else { return };
    let vectors = Vectors::of_code(&settings, &transport, project.clock.clone());
    let place = code_index::beside(&project.place, project.sensitive.clone());
    embed::catch_up(&runtime, &vectors, &place, project.clock.now().0, pace);
}
