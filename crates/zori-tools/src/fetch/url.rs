//! Which URLs can be fetched. Parsing them properly is the transport's business.

/// Why a URL is refused before anything is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Only these two can be fetched.
    #[error("it must begin with http:// or https://")]
    Scheme,
    /// There is nothing to contact.
    #[error("it names no host")]
    NoHost,
    /// They would end up in logs and in the session.
    #[error("it holds credentials; leave out the part before the `@`")]
    Credentials,
    /// Programs disagree about what these mean in a URL, so none may decide it differently from the permission.
    #[error("it holds a blank, a control character or a backslash; percent-encode it")]
    BadCharacter,
}

pub fn check(url: &str) -> Result<(), UrlError> {
    if url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err(UrlError::BadCharacter);
    }
    let (scheme, rest) = url.split_once("://").ok_or(UrlError::Scheme)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(UrlError::Scheme);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(UrlError::Credentials);
    }
    if authority.is_empty() || authority.starts_with(':') {
        return Err(UrlError::NoHost);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let cases = [
            ("https://example.com", Ok(())),
            ("HTTP://example.com:80/a?b=c@d#e", Ok(())),
            ("http://[::1]:8080/", Ok(())),
            ("example.com", Err(UrlError::Scheme)),
            ("file:///etc/passwd", Err(UrlError::Scheme)),
            ("ftp://example.com", Err(UrlError::Scheme)),
            ("https:/example.com", Err(UrlError::Scheme)),
            ("https:///x", Err(UrlError::NoHost)),
            ("https://:80/", Err(UrlError::NoHost)),
            ("https://user:secret@example.com/", Err(UrlError::Credentials)),
            ("https://example.com\\@other/", Err(UrlError::BadCharacter)),
            ("https://example.com/a b", Err(UrlError::BadCharacter)),
            ("https://example.com/\n", Err(UrlError::BadCharacter)),
            ("", Err(UrlError::Scheme)),
        ];
        for (url, result) in cases {
            assert_eq!(check(url), result, "{url}");
        }
    }
}
