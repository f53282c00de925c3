//! The command line of `bwrap`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::layout::Mount;
use crate::spec::Network;

/// Returns the arguments for every command: namespaces, no capabilities, and death with its parent. The session is new
/// already.
pub fn isolation(network: Network) -> Vec<OsString> {
    let mut words =
        vec!["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"];
    if network == Network::Off {
        words.push("--unshare-net");
    }
    words.extend(["--die-with-parent", "--cap-drop", "ALL"]);
    words.extend(["--ro-bind", "/", "/", "--dev", "/dev"]);
    // Root without capabilities still owns the kernel's switches in `/proc`.
    words.extend(["--proc", "/proc", "--remount-ro", "/proc"]);
    words.into_iter().map(OsString::from).collect()
}

/// Returns the arguments for the tree, over what [`isolation`] has mounted.
pub fn tree<'a>(mounts: impl Iterator<Item = &'a (PathBuf, Mount)>) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut add = |parts: &[&OsStr]| words.extend(parts.iter().map(OsString::from));
    let mut empty = Vec::new();
    for (path, mount) in mounts {
        let at = path.as_os_str();
        match mount {
            Mount::Private(temp) => add(&["--bind".as_ref(), temp.as_ref(), at]),
            Mount::Writable => add(&["--bind".as_ref(), at, at]),
            Mount::ReadOnly => add(&["--ro-bind".as_ref(), at, at]),
            Mount::HiddenFile => add(&["--ro-bind".as_ref(), "/dev/null".as_ref(), at]),
            Mount::HiddenDir => {
                add(&["--perms".as_ref(), "0555".as_ref(), "--tmpfs".as_ref(), at]);
                empty.push(at);
            }
        }
    }
    // Only now: something inside may have needed a place to be mounted on.
    for at in empty {
        add(&["--remount-ro".as_ref(), at]);
    }
    words
}

/// Returns the arguments for the working directory, the filter, and the descriptor that gets the id of the first
/// process inside.
pub fn start(cwd: &Path, filter: i32, info: i32) -> Vec<OsString> {
    let (filter, info) = (filter.to_string(), info.to_string());
    let words: [&OsStr; 7] = [
        "--chdir".as_ref(),
        cwd.as_os_str(),
        "--seccomp".as_ref(),
        filter.as_ref(),
        "--info-fd".as_ref(),
        info.as_ref(),
        "--".as_ref(),
    ];
    words.into_iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_command_line() {
        let mounts = [
            ("/home/u/.ssh", Mount::HiddenDir),
            ("/tmp", Mount::Private("/run/private".into())),
            ("/ws", Mount::Writable),
            ("/ws/.env", Mount::HiddenFile),
            ("/ws/.git", Mount::ReadOnly),
        ]
        .map(|(path, mount)| (PathBuf::from(path), mount));
        let mut words = isolation(Network::Off);
        words.extend(tree(mounts.iter()));
        words.extend(start(Path::new("/ws/a b"), 3, 4));
        let line: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            line.join(" ").replace(" --", "\n--"),
            "--unshare-user\n--unshare-ipc\n--unshare-pid\n--unshare-uts\n--unshare-cgroup-try\n--unshare-net\n\
             --die-with-parent\n--cap-drop ALL\n--ro-bind / /\n--dev /dev\n--proc /proc\n--remount-ro /proc\n\
             --perms 0555\n--tmpfs /home/u/.ssh\n--bind /run/private /tmp\n--bind /ws /ws\n\
             --ro-bind /dev/null /ws/.env\n--ro-bind /ws/.git /ws/.git\n--remount-ro /home/u/.ssh\n\
             --chdir /ws/a b\n--seccomp 3\n--info-fd 4\n--"
        );
        assert!(!isolation(Network::On).contains(&"--unshare-net".into()));
    }
}
