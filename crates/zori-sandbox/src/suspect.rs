//! Whether a command may have failed because of the sandbox (SB-6). An error message is all there is to go by, and it may
//! have other causes, so what is said is a guess and says so.

use std::path::PathBuf;

use crate::spec::{Level, Network};

/// What a message hints at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A place that cannot be written or read.
    Files,
    /// The network.
    Network,
    /// A system call that is refused, or one of the two above.
    Refused,
    /// The filter has ended it.
    Killed,
}

impl Sign {
    /// Returns the word that records have for it.
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
const WORDS: &[(&str, Sign)] = &[
    ("could not resolve host", Sign::Network),
    ("temporary failure in name resolution", Sign::Network),
    ("name or service not known", Sign::Network),
    ("network is unreachable", Sign::Network),
    ("bad address '", Sign::Network),
    ("enotfound", Sign::Network),
    ("eai_again", Sign::Network),
    ("dns error", Sign::Network),
    ("read-only file system", Sign::Files),
    ("erofs", Sign::Files),
    ("permission denied", Sign::Files),
    ("eacces", Sign::Files),
    ("invalid cross-device link", Sign::Files),
    ("device or resource busy", Sign::Files),
    ("operation not permitted", Sign::Refused),
    ("eperm", Sign::Refused),
    ("function not implemented", Sign::Refused),
];

/// How a shell reports a command that the filter has ended: 128 and SIGSYS.
const BAD_SYSTEM_CALL: i32 = 128 + 31;

/// What is told about the sandbox with it.
pub struct Told<'a> {
    /// What confines.
    pub backend: &'a str,
    /// What may be written, in a word.
    pub level: Level,
    /// What may be written.
    pub writable: &'a [PathBuf],
    /// Whether nothing new can be made directly in a root.
    pub partial: bool,
}

/// Returns what a failure hints at. One that had the network cannot have failed for want of it.
pub fn suspect(exit_code: i32, stderr: &str, network: Network) -> Option<Sign> {
    if exit_code == 0 {
        return None;
    }
    if exit_code == BAD_SYSTEM_CALL {
        return Some(Sign::Killed);
    }
    let text = stderr.to_lowercase();
    let hints = WORDS.iter().filter(|(_, sign)| (*sign, network) != (Sign::Network, Network::On));
    hints.into_iter().find(|(word, _)| text.contains(word)).map(|(_, sign)| *sign)
}

/// Says it.
pub fn sentence(sign: Sign, network: Network, told: &Told<'_>) -> String {
    let Told { backend, level, writable, partial } = *told;
    let places: Vec<String> = writable.iter().map(|path| path.display().to_string()).collect();
    let places = places.join(", ");
    let level = level.name();
    let new = if partial { "; new files directly in the root of the workspace cannot be made" } else { "" };
    let detail = match sign {
        Sign::Files => {
            format!("it lets a command write only below {places}, not to protected files there{new}")
        }
        Sign::Network => "it has no network".to_owned(),
        Sign::Refused if network == Network::On => "it refuses some system calls".to_owned(),
        Sign::Refused => "it refuses some system calls, the network's among them".to_owned(),
        Sign::Killed => "it ends programs of a foreign architecture".to_owned(),
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
        for (code, stderr, sign) in [
            (0, "touch: /x: Read-only file system", None),
            (1, "touch: cannot touch '/x': Read-only file system\n", Some(Sign::Files)),
            (1, "Error: EACCES: permission denied, open '/x'", Some(Sign::Files)),
            (6, "curl: (6) Could not resolve host: example.com", Some(Sign::Network)),
            (1, "connect: Operation not permitted", Some(Sign::Refused)),
            (159, "", Some(Sign::Killed)),
            (1, "assertion failed", None),
        ] {
            assert_eq!(suspect(code, stderr, Network::Off), sign, "{stderr}");
        }
        assert_eq!(suspect(6, "curl: (6) Could not resolve host: example.com", Network::On), None);
    }

    #[test]
    fn sentences() {
        let say = |sign, partial| {
            let writable = ["/ws".into(), "/t".into()];
            let told = Told { backend: "landlock", level: Level::Workspace, writable: &writable, partial };
            sentence(sign, Network::Off, &told)
        };
        assert_eq!(
            say(Sign::Files, true),
            "this may be because of the sandbox (workspace, landlock): it lets a command write only below /ws, /t, not \
             to protected files there; new files directly in the root of the workspace cannot be made; do not work \
             around it: if the command needs more, say so, and the user can run it outside"
        );
        assert_eq!(
            say(Sign::Network, false),
            "this may be because of the sandbox (workspace, landlock): it has no network; do not work around it: if the \
             command needs more, say so, and the user can run it outside"
        );
    }
}
