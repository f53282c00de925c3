//! What the system says of a process (`/proc/PID/stat`).

use std::fmt::Display;
use std::fs;

/// Returns the letter of a process's state, such as `R`, `S`, `T` or `Z`; `None` if there is no such process.
pub fn state(pid: impl Display) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name comes before, in brackets, and may hold anything.
    stat.rsplit_once(") ")?.1.chars().next()
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
}
