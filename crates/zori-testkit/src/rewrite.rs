//! Makes output comparable: what differs from run to run gets a name.

use std::path::Path;

/// Paths and the names they get. The longest path is replaced first, so that `$BASE` inside `$HOME` wins.
#[derive(Clone, Debug, Default)]
pub struct Rewrite {
    paths: Vec<(String, &'static str)>,
}

impl Rewrite {
    /// Returns the rewriting of these paths, and of what [`Rewrite::apply`] always rewrites.
    pub fn new(paths: &[(&Path, &'static str)]) -> Self {
        let mut paths: Vec<_> =
            paths.iter().map(|(path, name)| (path.to_string_lossy().into_owned(), *name)).collect();
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self { paths }
    }

    /// Replaces the paths, loopback ports (`$PORT`), durations such as `(0.01s)` by `(X.XXs)`, and UUIDs
    /// (`$SESSION`).
    pub fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, name) in &self.paths {
            text = text.replace(path.as_str(), name);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let (replacement, taken) =
                port(rest).or_else(|| duration(rest)).or_else(|| uuid(rest)).unwrap_or(("", 0));
            if taken == 0 {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            } else {
                out.push_str(replacement);
                rest = &rest[taken..];
            }
        }
        out
    }
}

/// What to write instead of the beginning of a text, and how many bytes that beginning has.
type Match = Option<(&'static str, usize)>;

fn port(text: &str) -> Match {
    const HOSTS: [(&str, &str); 3] =
        [("127.0.0.1:", "127.0.0.1:$PORT"), ("localhost:", "localhost:$PORT"), ("[::1]:", "[::1]:$PORT")];
    HOSTS.iter().find_map(|(host, renamed)| {
        let digits = count_digits(text.strip_prefix(host)?);
        (digits > 0).then_some((*renamed, host.len() + digits))
    })
}

fn duration(text: &str) -> Match {
    let inner = text.strip_prefix('(')?;
    let whole = count_digits(inner);
    let fraction = inner[whole..].strip_prefix('.')?;
    let ok = whole > 0 && count_digits(fraction) == 2 && fraction[2..].starts_with("s)");
    ok.then_some(("(X.XXs)", 1 + whole + 1 + 2 + 2))
}

fn uuid(text: &str) -> Match {
    let bytes = text.as_bytes().get(..36)?;
    let fits = bytes.iter().enumerate().all(|(i, byte)| match i {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    fits.then_some(("$SESSION", 36))
}

fn count_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(text: &str) -> String {
        Rewrite::new(&[(Path::new("/t/home"), "$HOME"), (Path::new("/t/home/.config/zori"), "$BASE")])
            .apply(text)
    }

    #[test]
    fn paths_longest_first() {
        assert_eq!(rewrite("/t/home/.config/zori/config.toml /t/home/x"), "$BASE/config.toml $HOME/x");
    }

    #[test]
    fn ports_durations_and_ids() {
        assert_eq!(
            rewrite("é http://127.0.0.1:40123/v1 Done. (12.34s) 00000000-0000-4000-8000-00000000000a!"),
            "é http://127.0.0.1:$PORT/v1 Done. (X.XXs) $SESSION!"
        );
    }

    #[test]
    fn lookalikes_stay() {
        let same = "127.0.0.1: (1.5s) (s) 0000-é (.12s) 127.0.0.1";
        assert_eq!(rewrite(same), same);
    }
}
