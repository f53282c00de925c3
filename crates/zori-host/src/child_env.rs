//! What child processes inherit of the environment, as a trait: this crate does not read the environment.

use std::ffi::OsString;

use zori_policy::Mode;

/// Says which variables child processes do not inherit. It is asked for each child, because the mode may change.
pub trait ChildEnvironment: Send + Sync {
    /// Returns the names of the variables that a child must not inherit.
    fn removed(&self) -> Vec<OsString>;

    /// Follows a change of the permission mode.
    fn set_mode(&self, mode: Mode);
}

/// Children inherit everything: for programs whose environment holds no secrets.
#[derive(Clone, Copy, Debug)]
pub struct InheritEverything;

impl ChildEnvironment for InheritEverything {
    fn removed(&self) -> Vec<OsString> {
        Vec::new()
    }

    fn set_mode(&self, _: Mode) {}
}
