//! Host rules: `domain:x.org`, `domain:*.x.org`.

/// A host, or all below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    host: String,
    below: bool,
}

impl HostPattern {
    /// Reads a pattern; `None` where it is no host name. A lone `*` is not one: that is the tool's name without more.
    pub fn parse(text: &str) -> Option<Self> {
        let (below, host) = match text.strip_prefix("*.") {
            Some(host) => (true, host),
            None => (false, text),
        };
        let host = clean(host)?;
        Some(Self { host, below })
    }

    /// Returns whether a URL's host is meant. A URL without one is never.
    pub fn matches(&self, url: &str) -> bool {
        let Some(host) = host(url) else { return false };
        match host.strip_suffix(&self.host) {
            Some("") => !self.below,
            Some(rest) => self.below && rest.ends_with('.'),
            None => false,
        }
    }
}

/// Returns the host of a URL: lower case, without port, user and final dot. `None` for whatever tries to look like one.
pub fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    // A backslash is a slash to some and a letter to others.
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(v6) => {
            return v6.split_once(']').map(|(address, _)| format!("[{}]", address.to_ascii_lowercase()));
        }
        None => host.split_once(':').map_or(host, |(host, _)| host),
    };
    clean(host)
}

fn clean(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    (!host.is_empty() && host.chars().all(plain) && !host.starts_with('.') && !host.contains(".."))
        .then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (rule, url, expected) in [
            ("x.org", "https://x.org/a", true),
            ("x.org", "https://X.ORG./a", true),
            ("x.org", "https://x.org:8443", true),
            ("x.org", "https://user:pw@x.org/", true),
            ("x.org", "https://a.x.org/", false),
            ("x.org", "https://x.org.evil.net/", false),
            ("x.org", "https://evil.net/x.org", false),
            ("x.org", "https://x.org@evil.net/", false),
            ("x.org", "https://evil.net#@x.org", false),
            ("x.org", "https://evil.net\\@x.org", false),
            ("*.x.org", "https://a.x.org/", true),
            ("*.x.org", "https://a.b.x.org/", true),
            ("*.x.org", "https://x.org/", false),
            ("*.x.org", "https://ax.org/", false),
            ("x.org", "x.org", false),
            ("x.org", "https://x\u{0}.org", false),
        ] {
            assert_eq!(HostPattern::parse(rule).unwrap().matches(url), expected, "{rule} on {url:?}");
        }
        for bad in ["", "*", "*.", "a b", "x..org", "é.org"] {
            assert_eq!(HostPattern::parse(bad), None, "{bad}");
        }
    }
}
