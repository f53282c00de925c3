//! Paths as clients spell them: with either separator, with drives, with Windows' long prefix. A client on one system
//! may send the paths of another, and a model mixes what it has seen.
//!
//! [`native`] is a pure function of the text and the platform, so that one machine tests both. What a path means is
//! settled here before a call is judged; the resolver in [`crate::paths`] then sees one spelling only.

/// Whose spelling is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// `/` separates.
    Unix,
    /// `\` separates, and drives have letters.
    Windows,
}

impl Platform {
    /// The one this program runs on.
    pub const HERE: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };
}

/// What a path begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    /// Nothing: it is relative.
    None,
    /// The root of the current drive, or the only one there is.
    Plain,
    Drive(char),
    /// `\\server\share`.
    Network,
}

/// Returns a path in the platform's own spelling, without `.`, `..`, doubled and trailing separators. A path without
/// any of it stays as it is. On Unix a backslash separates as well, so a file with one in its name cannot be meant.
pub fn native(path: &str, platform: Platform) -> String {
    if path.is_empty() {
        return String::new();
    }
    let (root, rest) = root(path, platform);
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split(SEPARATORS) {
        match part {
            "" | "." => {}
            // Above the root is the root; above a relative path is somewhere else.
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if root != Root::None => {}
            part => parts.push(part),
        }
    }
    match platform {
        Platform::Unix => {
            let drive = match root {
                Root::None => String::new(),
                Root::Plain | Root::Network => "/".to_owned(),
                Root::Drive(letter) if parts.is_empty() => format!("/{}", letter.to_ascii_lowercase()),
                Root::Drive(letter) => format!("/{}/", letter.to_ascii_lowercase()),
            };
            joined(drive, &parts, "/")
        }
        Platform::Windows => {
            let drive = match root {
                Root::None => String::new(),
                Root::Plain => "\\".to_owned(),
                Root::Drive(letter) => format!("{}:\\", letter.to_ascii_uppercase()),
                Root::Network => "\\\\".to_owned(),
            };
            joined(drive, &parts, "\\")
        }
    }
}

const SEPARATORS: [char; 2] = ['/', '\\'];

fn joined(start: String, parts: &[&str], separator: &str) -> String {
    match start + &parts.join(separator) {
        nothing if nothing.is_empty() => ".".to_owned(),
        path => path,
    }
}

/// Takes the root off.
fn root(path: &str, platform: Platform) -> (Root, &str) {
    let long = ["\\\\?\\", "//?/", "\\\\.\\"].iter().find_map(|prefix| path.strip_prefix(prefix));
    if let Some(rest) = long {
        let network = rest.get(..4).filter(|start| start.eq_ignore_ascii_case("UNC\\") || *start == "UNC/");
        return match (network, drive(rest)) {
            (Some(start), _) => (Root::Network, &rest[start.len()..]),
            (None, Some((letter, rest))) => (Root::Drive(letter), rest),
            (None, None) => (Root::Plain, rest),
        };
    }
    if let Some((letter, rest)) = drive(path) {
        return (Root::Drive(letter), rest);
    }
    if let Some(rest) = path.strip_prefix("\\\\") {
        return (Root::Network, rest);
    }
    let Some(rest) = path.strip_prefix(SEPARATORS) else { return (Root::None, path) };
    // `/c/a` is how shells on Windows write `C:\a`.
    let (first, after) = rest.split_once(SEPARATORS).unwrap_or((rest, ""));
    let mut letters = first.chars();
    match (platform, letters.next(), letters.next()) {
        (Platform::Windows, Some(letter), None) if path.starts_with('/') && letter.is_ascii_alphabetic() => {
            (Root::Drive(letter), after)
        }
        _ => (Root::Plain, rest),
    }
}

/// Takes `C:\` or `C:/` off. `C:a` is not a drive but a name, which it may be on Unix.
fn drive(path: &str) -> Option<(char, &str)> {
    let letter = path.chars().next().filter(char::is_ascii_alphabetic)?;
    let rest = path[1..].strip_prefix(':')?;
    rest.starts_with(SEPARATORS).then_some((letter, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path as it may come, then as Unix and as Windows spell it.
    const CASES: &[(&str, &str, &str)] = &[
        ("a.txt", "a.txt", "a.txt"),
        ("src/app.tsx", "src/app.tsx", "src\\app.tsx"),
        ("src\\app.tsx", "src/app.tsx", "src\\app.tsx"),
        ("src\\ui/app.tsx", "src/ui/app.tsx", "src\\ui\\app.tsx"),
        ("./src//app\\\\", "src/app", "src\\app"),
        ("src/", "src", "src"),
        (".", ".", "."),
        ("./", ".", "."),
        ("", "", ""),
        ("a/..", ".", "."),
        ("a\\..\\..\\b", "../b", "..\\b"),
        ("../../x", "../../x", "..\\..\\x"),
        ("/usr/b", "/usr/b", "\\usr\\b"),
        ("/ab/../..", "/", "\\"),
        ("\\a\\b", "/a/b", "\\a\\b"),
        ("C:\\a\\b", "/c/a/b", "C:\\a\\b"),
        ("c:/a/b/", "/c/a/b", "C:\\a\\b"),
        ("C:\\", "/c", "C:\\"),
        ("C:\\a\\..\\..\\b", "/c/b", "C:\\b"),
        ("/c/a", "/c/a", "C:\\a"),
        ("/c", "/c", "C:\\"),
        ("/c/a\\b", "/c/a/b", "C:\\a\\b"),
        ("C:a", "C:a", "C:a"),
        ("\\\\?\\C:\\a\\b", "/c/a/b", "C:\\a\\b"),
        ("//?/C:/a/b", "/c/a/b", "C:\\a\\b"),
        ("\\\\?\\UNC\\server\\share\\a", "/server/share/a", "\\\\server\\share\\a"),
        ("\\\\server\\share\\a\\", "/server/share/a", "\\\\server\\share\\a"),
        ("\\\\?\\é", "/é", "\\é"),
        ("~\\x", "~/x", "~\\x"),
        ("dir name\\ä ö.txt", "dir name/ä ö.txt", "dir name\\ä ö.txt"),
        ("...", "...", "..."),
    ];

    #[test]
    fn each_platform_gets_its_own_spelling() {
        for (path, unix, windows) in CASES {
            assert_eq!(native(path, Platform::Unix), *unix, "{path} on Unix");
            assert_eq!(native(path, Platform::Windows), *windows, "{path} on Windows");
        }
    }

    /// What is spelled right is left alone, or a path would change each time somebody looks at it.
    #[test]
    fn twice_is_once() {
        for (path, ..) in CASES {
            for platform in [Platform::Unix, Platform::Windows] {
                let once = native(path, platform);
                assert_eq!(native(&once, platform), once, "{path} on {platform:?}");
            }
        }
    }

    /// None of the other platform's separators is left, so that whoever reads the path reads the same parts.
    #[test]
    fn nothing_is_left_to_be_read_differently() {
        for (path, ..) in CASES {
            let unix = native(path, Platform::Unix);
            assert!(!unix.contains('\\'), "{path}: {unix}");
            let windows = native(path, Platform::Windows);
            assert!(!windows.contains('/'), "{path}: {windows}");
        }
    }
}
