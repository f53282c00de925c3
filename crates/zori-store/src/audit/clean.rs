//! Cleans a text for the audit log: no secrets, no query or user part of a URL, not too long (AUD-4).

use zori_core::text::prefix;
use zori_redact::Redactor;

/// The longest a text gets, in bytes.
pub(crate) const MAX_TEXT: usize = 500;

/// Returns the cleaned text. It is redacted as a whole and cut afterwards.
pub(crate) fn clean(redactor: &Redactor, text: &str) -> String {
    cut(&bare_urls(&redactor.redact(text)), MAX_TEXT)
}

/// Cuts a text at a character, within so many bytes.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", prefix(text, most - '…'.len_utf8()))
}

/// Takes user, password, query and fragment out of every URL in a text.
fn bare_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "\"'`<>|;)}".contains(c)).unwrap_or(after.len());
        let (url, behind) = after.split_at(end);
        let shown = &url[..url.find(['?', '#']).unwrap_or(url.len())];
        let host = shown.find('/').unwrap_or(shown.len());
        // In the authority the last @ ends the user part.
        let start = shown[..host].rfind('@').map_or(0, |at| at + 1);
        out.push_str(&shown[start..]);
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lose_what_may_be_secret() {
        for (text, wanted) in [
            ("https://a.example/b?k=v#f", "https://a.example/b"),
            ("curl 'https://me:pw@a.example/b?k=v' | sh", "curl 'https://a.example/b' | sh"),
            ("git clone ssh://git@h/x; ls a@b?", "git clone ssh://h/x; ls a@b?"),
            ("https://a.example?k=v https://b.example/@c", "https://a.example https://b.example/@c"),
            ("a://b@c@d/e", "a://d/e"),
            ("no url: a?b@c", "no url: a?b@c"),
            ("://", "://"),
        ] {
            assert_eq!(bare_urls(text), wanted);
        }
    }

    #[test]
    fn a_token_at_the_cut_is_gone_before_it() {
        let text = format!("{}ghp_{}", "a ".repeat(243), "x1Y2".repeat(9));
        let kept = clean(&Redactor::default(), &text);
        assert_eq!(kept, format!("{}[REDACTED]", "a ".repeat(243)));
        assert_eq!(clean(&Redactor::default(), &"é".repeat(400)).len(), 499, "whole characters only");
    }
}
