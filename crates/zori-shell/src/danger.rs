//! The built-in blacklist (`docs/contracts/permissions.md`): its entries as a table, and what a hit looks like.
//! `danger/detect.rs` finds the hits.

pub(crate) mod detect;

/// One entry of the blacklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DangerKind {
    /// The name by which a user switches it off (BL-4).
    pub id: &'static str,
    /// What it is about, for people.
    pub what: &'static str,
    /// Whether it holds only when a mode was chosen by name (DECISIONS 11).
    pub only_by_name: bool,
}

/// A hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Danger {
    /// The entry's name in [`DANGERS`].
    pub id: &'static str,
    /// The command that was hit, as written.
    pub shown: String,
}

/// Every entry.
pub const DANGERS: &[DangerKind] = &[
    entry("remove-system", "recursive removal of the root, a system directory or a home"),
    entry("find-delete-system", "`find` that deletes in the root, a system directory or a home"),
    entry(
        "chmod-system",
        "recursive change of permissions or owner on the root, a system directory or a home",
    ),
    entry("write-device", "writing onto a block device"),
    entry("make-filesystem", "making or wiping a file system on a device"),
    entry("fork-bomb", "a function that starts itself without end"),
    DangerKind {
        id: "download-execute",
        what: "a download given to a shell or interpreter",
        only_by_name: true,
    },
    entry("power-off", "switching the machine off or restarting it"),
    entry("kill-all", "a signal to all processes"),
    entry("unknown-on-system", "a command that is not known, on the root, a system directory or a home"),
];

const fn entry(id: &'static str, what: &'static str) -> DangerKind {
    DangerKind { id, what, only_by_name: false }
}
