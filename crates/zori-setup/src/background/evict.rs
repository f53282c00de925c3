//! Messages that nobody asked for in a long time leave recall when a project has too many (`memory.max_entries`).

use super::pace::Pace;
use super::{Moment, Project, Task};
use crate::memory;
use crate::workers::{Need, Worker};

pub const TASK: Task = Task {
    worker: Worker { name: "evict", need: Need::UnlessBare },
    moment: Moment::AfterTurn,
    wanted: |project| !project.one_prompt && project.place.is_used(),
    due,
    run,
};

fn due(project: &Project) -> bool {
    if !project.place.database.exists() {
        return false;
    }
    let count = project.place.open().and_then(|store| store.count());
    count.is_ok_and(|count| count > memory::max_entries(&project.config))
}

fn run(project: &Project, pace: &Pace) {
    if !pace.go_on() {
        return;
    }
    // A database that cannot be used is told by whoever asks it something.
    if let Ok(mut store) = project.place.open() {
        let _ = store.evict(memory::max_entries(&project.config), project.clock.now().0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::background::tests::memory_project;

    #[test]
    fn too_many_messages_become_few() {
        let folder = tempfile::tempdir().unwrap();
        let project = memory_project(folder.path(), "[memory]\nmax_entries = 2\n");
        assert!(!(TASK.wanted)(&project), "a project that never used its memory");
        project.place.mark_used().unwrap();
        assert!((TASK.wanted)(&project) && !due(&project), "there is no database");
        assert!(!project.place.database.exists(), "and looking makes none");
        let mut store = project.place.open().unwrap();
        for n in 0..2 {
            store.save_note(&format!("note {n}"), "2027-01-01T00:00:00Z", 0).unwrap();
        }
        assert!(!due(&project), "few enough");
        store.save_note("one more", "2027-01-02T00:00:00Z", 0).unwrap();
        assert!(due(&project));
        run(&project, &Pace::default());
        assert_eq!((store.count().unwrap(), due(&project)), (2, false));
    }
}
