//! The dream pass: when a chat ends and enough has happened (`memory.dream`), what sessions left is put in order.

use super::pace::Pace;
use super::{Moment, Project, Task};
use crate::memory;
use crate::workers::{Need, Worker};

pub const TASK: Task = Task {
    worker: Worker { name: "dream", need: Need::UnlessBare },
    moment: Moment::AtEnd,
    wanted: |project| !project.one_prompt && project.place.is_used(),
    due,
    run,
};

/// Looks after the copy was brought up to date: the gate counts its sessions. Cut off, it goes on from there the next time.
fn due(project: &Project) -> bool {
    let now = project.clock.now().0;
    let Ok(mut store) = project.place.open() else { return false };
    let gates = memory::dream_gates(&project.config);
    project.place.sync(&mut store, false, now).is_ok() && store.dream_due(gates, now).unwrap_or(false)
}

fn run(project: &Project, pace: &Pace) {
    if !pace.go_on() {
        return;
    }
    // The pass looks at its gates again, in the transaction: of several processes one does it.
    if let Ok(mut store) = project.place.open() {
        let _ = store.dream(memory::dream_gates(&project.config), project.clock.now().0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::background::tests::memory_project;

    /// The gates are in the database, so that a pass comes after sessions of several processes, and then not again.
    #[test]
    fn after_enough_sessions_once() {
        let folder = tempfile::tempdir().unwrap();
        let project = memory_project(folder.path(), "[memory.dream]\nmin_sessions = 2\n");
        project.place.mark_used().unwrap();
        std::fs::create_dir_all(&project.place.sessions).unwrap();
        for (session, due_then) in [("a", false), ("b", true)] {
            let root = project.place.project.display();
            let lines = format!(
                "{{\"type\":\"meta\",\"schema_version\":1,\"ts\":\"2026-11-16T09:00:00Z\",\"root\":\"{root}\"}}\n\
                 {{\"type\":\"message\",\"role\":\"user\",\"text\":\"about {session}\",\"ts\":\"2026-11-16T09:00:01Z\"}}\n"
            );
            std::fs::write(project.place.sessions.join(format!("{session}.jsonl")), lines).unwrap();
            assert_eq!(due(&project), due_then, "{session}");
        }
        run(&project, &Pace::default());
        assert!(!due(&project));
        let summaries = project.place.open().unwrap().summaries(5).unwrap();
        let mut texts: Vec<_> = summaries.into_iter().map(|one| one.text).collect();
        texts.sort();
        assert_eq!(texts, ["about a", "about b"]);
    }
}
