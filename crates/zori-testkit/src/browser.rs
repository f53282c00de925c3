//! A minimal browser: requests a page and follows redirects.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A page, after all redirects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it was found.
    pub url: String,
    pub status: u16,
    /// Everything that came.
    pub text: String,
}

/// Visits a page and follows its redirects.
///
/// # Panics
///
/// When a server does not answer, or redirects do not end.
#[track_caller]
pub fn visit(url: &str) -> Page {
    let mut url = url.to_owned();
    for _ in 0..5 {
        let page = request("GET", &url, &[]).unwrap_or_else(|| panic!("{url} does not answer"));
        match header(&page.text, "location") {
            Some(location) if (300..400).contains(&page.status) => url = location,
            _ => return page,
        }
    }
    panic!("{url} leads nowhere")
}

/// Sends one request; `None` without an answer. A header given here replaces the usual one of that name.
pub fn request(method: &str, url: &str, headers: &[(&str, &str)]) -> Option<Page> {
    let rest = url.strip_prefix("http://").expect("a URL begins with http://");
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\nConnection: close\r\n");
    let usual = [("Host", host), ("Content-Length", "0")];
    let kept = usual.iter().filter(|(name, _)| !headers.iter().any(|(given, _)| given == name));
    for (name, value) in kept.chain(headers) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    let mut bytes = Vec::new();
    // A server that resets after its answer has answered.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1)?.parse().ok()?;
    Some(Page { url: url.to_owned(), status, text })
}

/// Returns a header of an answer; `name` in lower case.
pub fn header(text: &str, name: &str) -> Option<String> {
    let head = text.split("\r\n\r\n").next().unwrap_or_default();
    let found = head.lines().filter_map(|line| line.split_once(':'));
    let mut found = found.filter(|(n, _)| n.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().to_owned())
}

/// Returns a parameter of a URL's query, decoded.
pub fn parameter(url: &str, name: &str) -> Option<String> {
    let query = url.split_once('?')?.1;
    fields(query).into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// Returns the fields of a form or a query, decoded.
pub fn fields(form: &str) -> Vec<(String, String)> {
    form.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (decode(key), decode(value)))
        .collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if let (b'%', Some(digits)) = (first, after.get(..2)) {
            let digits = std::str::from_utf8(digits).expect("an escape has digits");
            bytes.push(u8::from_str_radix(digits, 16).expect("an escape has digits"));
            rest = &after[2..];
        } else {
            bytes.push(if *first == b'+' { b' ' } else { *first });
        }
    }
    String::from_utf8(bytes).expect("a parameter is text")
}
