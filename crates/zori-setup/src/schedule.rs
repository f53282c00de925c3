//! The schedule of a project, as far as a run has to know of it: whether there is one, and in which time zone people mean their times.

use std::path::{Path, PathBuf};

use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_host::{MemoryPlace, ScheduleSettings, mark_scheduled, unmark_scheduled};
use zori_index::{ProjectStore, zone_known};

use crate::background::Switch;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::environment::Environment;
use crate::memory;
use crate::uses::{self, Uses};

/// Where jobs run: `"auto"` in chats, true beside a single prompt, too, false only in `schedule run`.
const ENABLED: &str = "scheduler.enabled";

/// Returns the file that says that a project has scheduled something.
fn marker(data_dir: &DataDir, project: &Path) -> PathBuf {
    uses::folder(data_dir.dir(), project).join(uses::SCHEDULE)
}

/// Notes that a project has scheduled something.
pub fn mark(data_dir: &DataDir, project: &Path) -> Result<(), Failure> {
    let marker = marker(data_dir, project);
    mark_scheduled(&marker)
        .map_err(|error| Failure::new(&IO_ERROR, format!("{} cannot be made: {error}", marker.display())))
}

/// Notes that a project has no job any more, if it has none.
pub fn unmark(data_dir: &DataDir, project: &Path, store: &ProjectStore) {
    unmark_scheduled(&marker(data_dir, project), store);
}

/// Where the jobs of a project are, whether it has some or not.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// Where the database is.
    pub place: MemoryPlace,
    /// The file that says that there are some.
    pub marker: PathBuf,
}

impl Jobs {
    /// Returns those of the project of a folder.
    pub fn of(data_dir: &DataDir, root: &Path, env: &Environment) -> Self {
        let place = memory::place(data_dir, root, env.temp_dir());
        let marker = marker(data_dir, &place.project);
        Self { place, marker }
    }
}

impl From<&ScheduleSettings> for Jobs {
    fn from(settings: &ScheduleSettings) -> Self {
        Self { place: settings.place.clone(), marker: settings.marker.clone() }
    }
}

/// Returns whether the jobs of a project may run beside a chat.
pub fn may_run(config: &Config) -> bool {
    Switch::of(config, ENABLED) != Switch::Off
}

/// Returns what a session knows of the schedule of its project; `None` where it has none.
pub fn settings(
    config: &Config,
    data_dir: Option<&DataDir>,
    uses: Option<&Uses>,
    root: &Path,
    env: &Environment,
) -> Option<ScheduleSettings> {
    let switch = Switch::of(config, ENABLED);
    if switch == Switch::Off || !uses?.has(uses::SCHEDULE) {
        return None;
    }
    let Jobs { place, marker } = Jobs::of(data_dir?, root, env);
    Some(ScheduleSettings { place, marker, zone: local_zone(env), always: switch == Switch::On })
}

/// Returns this machine's time zone: what `TZ` says, else what `/etc/localtime` points to, else UTC.
pub fn local_zone(env: &Environment) -> String {
    let variable = env.text("TZ").map(|zone| zone.trim_start_matches(':').to_owned());
    let linked = || {
        let target = std::fs::canonicalize("/etc/localtime").ok()?;
        Some(target.to_str()?.split_once("/zoneinfo/")?.1.to_owned())
    };
    variable.or_else(linked).filter(|zone| zone_known(zone)).unwrap_or_else(|| "UTC".to_owned())
}
