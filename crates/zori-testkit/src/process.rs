//! What the system says of a process (`/proc/PID/stat`).

use std::fmt::Display;
use std::fs;

/// Returns the letter of a process's state, such as `R`, `S`, `T` or `Z`; `None` if there is no such process.
pub fn state(pid: impl Display) -> Option<char> {
    fields(pid)?.first()?.chars().next()
}

/// Returns how many ticks of processor time a process has used.
pub fn ticks(pid: impl Display) -> u64 {
    let fields = fields(pid).unwrap_or_default();
    fields.iter().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// The fields behind a process's name, which stands in brackets and may hold anything.
fn fields(pid: impl Display) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect())
}

/// Returns whether a process is there and not only waiting to be reaped.
pub fn is_alive(pid: impl Display) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Returns whether a process has ended and waits to be reaped.
pub fn is_zombie(pid: impl Display) -> bool {
    state(pid) == Some('Z')
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn states() {
        assert!(is_alive(std::process::id()) && !is_zombie(std::process::id()));
        assert_eq!(state(4_194_305), None);
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        crate::wait::until("it to end", || is_zombie(child.id()));
        assert!(!is_alive(child.id()));
        child.wait().expect("it is ours");
    }

    #[test]
    fn time_that_was_used() {
        crate::wait::until("a tick", || ticks(std::process::id()) > 0);
        assert_eq!(ticks(4_194_305), 0);
    }
}
