//! The worker that keeps the code index up to date: after a turn, one file after another, never while another turn runs.

use std::time::Duration;

use zori_host::CodeIndexPlace;

use crate::background::pace::Pace;
use crate::background::{Moment, Project, Switch, Task};
use crate::code_index;
use crate::workers::{Need, Worker};

/// How long it lets pass after a turn: the next one often follows at once.
const SETTLING: Duration = Duration::from_millis(300);
/// The lowest priority that there is.
const NICE: i32 = 19;

pub const TASK: Task = Task {
    worker: Worker { name: "index", need: Need::UnlessBare },
    moment: Moment::AfterTurn,
    wanted,
    due: |_| true,
    run,
};

fn index(project: &Project) -> CodeIndexPlace {
    code_index::beside(&project.place, project.sensitive.clone())
}

fn wanted(project: &Project) -> bool {
    match project.index_switch {
        Switch::On => true,
        Switch::Off => false,
        Switch::Auto => !project.one_prompt && index(project).is_used(),
    }
}

fn run(project: &Project, pace: &Pace) {
    // It holds for this thread and those it starts. Without it the work is as slow as any other.
    let _ = rustix::process::nice(NICE);
    if !pace.sleep(SETTLING) {
        return;
    }
    // A database that cannot be used is told by whoever asks it something; the next turn tries again.
    let index = index(project);
    if let Ok(mut store) = index.open() {
        let _ = index.sync(&mut store, &*project.clock, &mut |_| pace.go_on());
    }
}
