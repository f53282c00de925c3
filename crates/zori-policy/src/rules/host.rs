//! Host rules: `domain:x.org`, `domain:*.x.org`.
//!
//! An address is compared by what it is, not by how it is written: `0x7f.1` is 127.0.0.1.

use std::net::{Ipv4Addr, Ipv6Addr};

use zori_core::transport::Network;

/// A host, or all below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    host: String,
    below: bool,
}

impl HostPattern {
    /// Parses a pattern; `None` if it is not a host name. A lone `*` is not one: that is the tool's name without more.
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

/// Returns the host of a URL: lower case, without port, user and final dot. `None` for anything that only looks like
/// one.
pub fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    // A backslash is a slash to some and a letter to others.
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(v6) => {
            let address: Ipv6Addr = v6.split_once(']')?.0.parse().ok()?;
            return Some(match address.to_ipv4_mapped() {
                Some(v4) => v4.to_string(),
                None => format!("[{address}]"),
            });
        }
        None => host.split_once(':').map_or(host, |(host, _)| host),
    };
    let host = clean(&decoded(host)?)?;
    // What ends in a number is an address, however it is written, or nothing.
    match host.rsplit('.').next().is_some_and(|last| number(last).is_some()) {
        true => address(&host).map(|v4| v4.to_string()),
        false => Some(host),
    }
}

/// Returns whether a URL names a host that cannot be judged: letters that a client turns into others (`①` into `1`, `。` into a dot), a
/// zone behind an address, five numbers. What has no host at all is refused by who would fetch it.
pub fn is_unreadable(url: &str) -> bool {
    let names_one = |rest: &str| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']);
    url.split_once("://").is_some_and(|(_, rest)| names_one(rest)) && host(url).is_none()
}

/// Returns what a URL's host belongs to, if the text tells: an address, or a name that always means this machine or a
/// cloud's own.
pub fn network(url: &str) -> Option<Network> {
    let host = host(url)?;
    if let Some(v6) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return v6.parse().ok().map(|address: Ipv6Addr| Network::of(address.into()));
    }
    if let Ok(v4) = host.parse::<Ipv4Addr>() {
        return Some(Network::of(v4.into()));
    }
    match host.as_str() {
        "localhost" => Some(Network::Loopback),
        name if name.ends_with(".localhost") => Some(Network::Loopback),
        "metadata" | "metadata.google.internal" | "instance-data" | "instance-data.ec2.internal" => {
            Some(Network::LinkLocal)
        }
        _ => None,
    }
}

/// Replaces `%41` and its like.
fn decoded(host: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(host.len());
    let mut rest = host.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// A number as the parts of an address are written: decimal, `0x` hexadecimal, `0` octal.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some("") => return Some(0),
        Some(digits) => (digits, 16),
        None => match text.strip_prefix('0').filter(|rest| !rest.is_empty()) {
            Some(digits) => (digits, 8),
            None => (text, 10),
        },
    };
    if !digits.bytes().all(|b| char::from(b).is_digit(radix)) || digits.len() > 20 {
        // `08` is no octal number, but it is no name either.
        return (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then_some(u64::MAX);
    }
    u64::from_str_radix(digits, radix).ok()
}

/// An address in any of its spellings: the last of fewer than four parts fills the rest.
fn address(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let room = 4 - first.len() as u32;
    if *last >= 1_u64 << (8 * room) {
        return None;
    }
    let high = first.iter().enumerate().map(|(at, part)| part << (8 * (3 - at))).sum::<u64>();
    Some(Ipv4Addr::from(u32::try_from(high + last).ok()?))
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
        let local = HostPattern::parse("127.0.0.1").unwrap();
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1:80/",
            "http://127.1/",
            "http://%31%32%37.0.0.1/",
            "http://[::ffff:127.0.0.1]/",
            "http://127.0.0.1./",
        ] {
            assert!(local.matches(url), "{url}");
            assert_eq!(network(url), Some(Network::Loopback), "{url}");
        }
        for url in ["http://1.2.3.4.5/", "http://256.1.1.1/", "http://1.2.3.08/", "http://0x1ffffffff/"] {
            assert_eq!(host(url), None, "{url}");
        }
        for url in [
            "http://①⑥⑨.254.169.254/",
            "http://169。254。169。254/",
            "http://１６９.254.169.254/",
            "http://%E2%91%A0%E2%91%A5%E2%91%A8.254.169.254/",
            "http://[fe80::1%25eth0]/",
            "http://1.2.3.4.5/",
            "http://\u{ad}localhost/",
        ] {
            assert!(is_unreadable(url), "{url}");
        }
        for url in [
            "http://x.org/①",
            "http://xn--mnchen-3ya.de/",
            "http://[::1]:80/",
            "file:///etc/passwd",
            "x.org",
            "http://",
        ] {
            assert!(!is_unreadable(url), "{url}");
        }
        assert_eq!(network("http://169.254.169.254/latest"), Some(Network::LinkLocal));
        assert_eq!(network("http://a.localhost:3000/"), Some(Network::Loopback));
        assert_eq!(network("https://docs.rs/"), None);
        for bad in ["", "*", "*.", "a b", "x..org", "é.org"] {
            assert_eq!(HostPattern::parse(bad), None, "{bad}");
        }
    }
}
