//! Whether a command may have failed because of the sandbox (SB-6). Only the error message can tell, and it may have
//! other causes, so the hint is a guess and says so.

use std::path::PathBuf;

use crate::spec::{Level, Network};

/// What an error message hints at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialHint {
    /// A place that cannot be written or read.
    Files,
    Network,
    /// A system call that is refused, or one of the two above.
    Refused,
    /// The filter has ended it.
    Killed,
}

impl DenialHint {
    /// Returns the word for it in records.
    pub fn about(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Network => "network",
            Self::Refused | Self::Killed => "calls",
        }
    }
}

/// Words of error messages, in the C library's and other programs' spelling, and what they hint at. The first that occurs
/// counts; names of hosts are looked up over the network, so that comes first.
const WORDS: &[(&str, DenialHint)] = &[
    ("could not resolve host", DenialHint::Network),
    ("temporary failure in name resolution", DenialHint::Network),
    ("name or service not known", DenialHint::Network),
    ("network is unreachable", DenialHint::Network),
    ("bad address '", DenialHint::Network),
    ("enotfound", DenialHint::Network),
    ("eai_again", DenialHint::Network),
    ("dns error", DenialHint::Network),
    ("read-only file system", DenialHint::Files),
    ("erofs", DenialHint::Files),
    ("permission denied", DenialHint::Files),
    ("eacces", DenialHint::Files),
    ("invalid cross-device link", DenialHint::Files),
    ("device or resource busy", DenialHint::Files),
    ("operation not permitted", DenialHint::Refused),
    ("eperm", DenialHint::Refused),
    ("function not implemented", DenialHint::Refused),
];

/// How a shell reports a command that the filter killed: 128 and SIGSYS.
const BAD_SYSTEM_CALL: i32 = 128 + 31;

/// Facts about the sandbox for the sentence.
pub struct HintFacts<'a> {
    /// What confines.
    pub backend: &'a str,
    /// What may be written, in a word.
    pub level: Level,
    /// What may be written.
    pub writable: &'a [PathBuf],
    /// Whether nothing can be created directly in a root.
    pub partial: bool,
}

/// Returns what a failure hints at. A command that had the network cannot have failed for lack of it.
pub fn find_hint(exit_code: i32, stderr: &str, network: Network) -> Option<DenialHint> {
    if exit_code == 0 {
        return None;
    }
    if exit_code == BAD_SYSTEM_CALL {
        return Some(DenialHint::Killed);
    }
    let text = stderr.to_lowercase();
    let hints = WORDS.iter().filter(|(_, hint)| (*hint, network) != (DenialHint::Network, Network::On));
    hints.into_iter().find(|(word, _)| text.contains(word)).map(|(_, hint)| *hint)
}

/// Returns the sentence for the model.
pub fn hint_sentence(hint: DenialHint, network: Network, facts: &HintFacts<'_>) -> String {
    let HintFacts { backend, level, writable, partial } = *facts;
    let places: Vec<String> = writable.iter().map(|path| path.display().to_string()).collect();
    let places = places.join(", ");
    let level = level.name();
    let new = if partial { "; new files directly in the root of the workspace cannot be made" } else { "" };
    let detail = match hint {
        DenialHint::Files => {
            format!("it lets a command write only below {places}, not to protected files there{new}")
        }
        DenialHint::Network => "it has no network".to_owned(),
        DenialHint::Refused if network == Network::On => "it refuses some system calls".to_owned(),
        DenialHint::Refused => "it refuses some system calls, the network's among them".to_owned(),
        DenialHint::Killed => "it ends programs of a foreign architecture".to_owned(),
    };
    format!(
        "this may be because of the sandbox ({level}, {backend}): {detail}; do not work around it: if the command needs \
         more, say so, and the user can run it outside"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs() {
        for (code, stderr, hint) in [
            (0, "touch: /x: Read-only file system", None),
            (1, "touch: cannot touch '/x': Read-only file system\n", Some(DenialHint::Files)),
            (1, "Error: EACCES: permission denied, open '/x'", Some(DenialHint::Files)),
            (6, "curl: (6) Could not resolve host: example.com", Some(DenialHint::Network)),
            (1, "connect: Operation not permitted", Some(DenialHint::Refused)),
            (159, "", Some(DenialHint::Killed)),
            (1, "assertion failed", None),
        ] {
            assert_eq!(find_hint(code, stderr, Network::Off), hint, "{stderr}");
        }
        assert_eq!(find_hint(6, "curl: (6) Could not resolve host: example.com", Network::On), None);
    }

    #[test]
    fn sentences() {
        let say = |hint, partial| {
            let writable = ["/ws".into(), "/t".into()];
            let facts =
                HintFacts { backend: "landlock", level: Level::Workspace, writable: &writable, partial };
            hint_sentence(hint, Network::Off, &facts)
        };
        assert_eq!(
            say(DenialHint::Files, true),
            "this may be because of the sandbox (workspace, landlock): it lets a command write only below /ws, /t, not \
             to protected files there; new files directly in the root of the workspace cannot be made; do not work \
             around it: if the command needs more, say so, and the user can run it outside"
        );
        assert_eq!(
            say(DenialHint::Network, false),
            "this may be because of the sandbox (workspace, landlock): it has no network; do not work around it: if the \
             command needs more, say so, and the user can run it outside"
        );
    }
}
