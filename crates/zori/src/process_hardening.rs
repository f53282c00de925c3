//! What the process does about its own memory, which holds keys (SCR-2).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Keeps other processes of the same user from reading our memory, and crashes from writing it to a file. Children can
/// be read as ever, and can raise their limit again. A system that refuses leaves us as we were.
pub fn keep() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}
