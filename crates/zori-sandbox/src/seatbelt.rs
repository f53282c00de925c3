//! The profile for macOS's Seatbelt, as text. The last match counts, so exceptions follow their rules.

use std::path::{Path, PathBuf};

use crate::spec::{Network, Spec};

/// A path that cannot be written to a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the path {path} is not UTF-8, and the sandbox of macOS takes no other", path = .0.display())]
pub struct NotUtf8(pub PathBuf);

/// What every program needs: to run others, to signal its own processes, to read about the machine and the user.
const HEAD: &str = r#"(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read*)
(allow file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
"#;

/// Writes the profile. Paths must be canonical: Seatbelt compares what they lead to.
pub fn profile(spec: &Spec, network: Network) -> Result<String, NotUtf8> {
    let mut text = HEAD.to_owned();
    let mut rule = |head: &str, path: &Path| -> Result<(), NotUtf8> {
        text.push_str(&format!("({head} {}))\n", quoted(path)?));
        Ok(())
    };
    let writable: Vec<&Path> = spec.writable().collect();
    for place in &writable {
        rule("allow file-write* (subpath", place)?;
    }
    for protected in &spec.protected {
        let Some(root) = writable.iter().find(|root| protected.path.starts_with(root)) else { continue };
        rule("deny file-write* (subpath", &protected.path)?;
        // Nobody moves it away with its parent.
        for parent in protected.path.ancestors().skip(1).take_while(|parent| parent.starts_with(root)) {
            rule("deny file-write-unlink (literal", parent)?;
        }
    }
    for hidden in &spec.hidden {
        rule("deny file-read* file-write* (subpath", hidden)?;
    }
    if network == Network::On {
        text.push_str("(allow network-outbound (remote ip))\n(allow network-bind (local ip))\n");
        text.push_str("(allow network-inbound (local ip))\n(allow system-socket)\n");
    }
    Ok(text)
}

/// Writes a path as a string of the profile's language.
fn quoted(path: &Path) -> Result<String, NotUtf8> {
    let text = path.to_str().ok_or_else(|| NotUtf8(path.to_owned()))?;
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use crate::spec::{Level, Limits, PathKind, ProtectedPath};

    fn spec() -> Spec {
        Spec {
            level: Level::Workspace,
            roots: vec!["/Users/u/my \"ws\"".into()],
            caches: vec!["/Users/u/.cargo/registry".into()],
            temp: "/private/tmp/zori-1".into(),
            hidden: vec!["/Users/u/.ssh".into(), "/Users/u/my \"ws\"/.env".into()],
            visible: Vec::new(),
            protected: vec![
                ProtectedPath { path: "/Users/u/my \"ws\"/sub/.git".into(), stub: Some(PathKind::Dir) },
                ProtectedPath { path: "/Users/u/.zshrc".into(), stub: Some(PathKind::File) },
            ],
            network: Network::Off,
            limits: Limits { processes: None, file_size: None, memory: None },
        }
    }

    #[test]
    fn a_workspace_without_network() {
        let rules = r#"(allow file-write* (subpath "/Users/u/my \"ws\""))
(allow file-write* (subpath "/Users/u/.cargo/registry"))
(allow file-write* (subpath "/private/tmp/zori-1"))
(deny file-write* (subpath "/Users/u/my \"ws\"/sub/.git"))
(deny file-write-unlink (literal "/Users/u/my \"ws\"/sub"))
(deny file-write-unlink (literal "/Users/u/my \"ws\""))
(deny file-read* file-write* (subpath "/Users/u/.ssh"))
(deny file-read* file-write* (subpath "/Users/u/my \"ws\"/.env"))
"#;
        assert_eq!(profile(&spec(), Network::Off).unwrap(), format!("{HEAD}{rules}"));
    }

    #[test]
    fn reading_only_with_network() {
        let spec = Spec { level: Level::ReadOnly, hidden: Vec::new(), ..spec() };
        let rules = r#"(allow file-write* (subpath "/private/tmp/zori-1"))
(allow network-outbound (remote ip))
(allow network-bind (local ip))
(allow network-inbound (local ip))
(allow system-socket)
"#;
        assert_eq!(profile(&spec, Network::On).unwrap(), format!("{HEAD}{rules}"));
    }

    #[test]
    fn a_path_that_is_no_text_is_refused() {
        let path = PathBuf::from(OsStr::from_bytes(b"/a\xff"));
        let spec = Spec { roots: vec![path.clone()], ..spec() };
        assert_eq!(profile(&spec, Network::Off), Err(NotUtf8(path)));
    }

    /// Reads a string of the profile's language; returns it and what follows.
    fn unquoted(text: &str) -> (String, &str) {
        let mut chars = text.strip_prefix('"').expect("a string").char_indices();
        let mut out = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return (out, &text[at + 2..]),
                '\\' => out.push(chars.next().expect("something is escaped").1),
                _ => out.push(c),
            }
        }
        panic!("the string does not end: {text}");
    }

    #[test]
    fn whatever_a_path_holds_it_stays_one_string() {
        let letters: Vec<char> = "\"\\()/ a;#\n'\u{e9}\u{202e}".chars().collect();
        let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..20_000 {
            let mut path = String::from("/");
            for _ in 0..seed % 13 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                path.push(letters[usize::try_from(seed >> 33).unwrap() % letters.len()]);
            }
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let text = format!("{}))", quoted(Path::new(&path)).unwrap());
            assert_eq!(unquoted(&text), (path, "))"));
        }
    }
}
