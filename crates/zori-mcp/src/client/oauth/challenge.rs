//! What a server says when it wants a login: the `WWW-Authenticate` header (RFC 6750, RFC 9728).

use zori_core::transport::HttpResponse;

/// The challenge of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where it says who gives out tokens for it.
    pub resource_metadata: Option<String>,
    /// What a token must be good for.
    pub scope: Option<String>,
    /// What is wrong with the token that was sent.
    pub error: Option<String>,
}

impl Challenge {
    /// Reads the challenge of a response; one without a header is empty.
    pub fn of(response: &HttpResponse) -> Self {
        let bearer = response
            .headers
            .iter()
            .filter(|(name, _)| name == "www-authenticate")
            .find_map(|(_, value)| strip_scheme(value));
        bearer.map(Self::parse).unwrap_or_default()
    }

    /// Returns whether a token was good, but not for this.
    pub fn wants_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn parse(mut rest: &str) -> Self {
        let mut challenge = Self::default();
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let Some((name, after)) = rest.split_once('=') else { return challenge };
            let (value, behind) = value(after.trim_start());
            // Another scheme begins: `Basic realm=`.
            if name.trim().contains(' ') {
                return challenge;
            }
            let field = match name.trim().to_ascii_lowercase().as_str() {
                "resource_metadata" => Some(&mut challenge.resource_metadata),
                "scope" => Some(&mut challenge.scope),
                "error" => Some(&mut challenge.error),
                _ => None,
            };
            if let Some(field) = field
                && field.is_none()
                && !value.is_empty()
            {
                *field = Some(value);
            }
            rest = behind;
        }
    }
}

fn strip_scheme(header: &str) -> Option<&str> {
    let at = header.to_ascii_lowercase().find("bearer")?;
    let begins = at == 0 || header[..at].trim_end().ends_with(',');
    let rest = &header[at + "bearer".len()..];
    (begins && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some(rest)
}

/// Takes a value, quoted or not, from the front of a text.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return (value, &quoted[at + 1..]),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(header: &str) -> (String, String, String) {
        let challenge = strip_scheme(header).map(Challenge::parse).unwrap_or_default();
        let text = |field: Option<String>| field.unwrap_or_default();
        (text(challenge.resource_metadata), text(challenge.scope), text(challenge.error))
    }

    #[test]
    fn headers() {
        let full = r#"Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/y?z=1,2", error_description="no \"way\"""#;
        let wanted = ("https://x/y?z=1,2".to_owned(), "a b".to_owned(), "insufficient_scope".to_owned());
        assert_eq!(of(full), wanted);
        assert_eq!(
            of("bearer scope=a, error=invalid_token"),
            (String::new(), "a".into(), "invalid_token".into())
        );
        assert_eq!(of(r#"Basic realm="x", Bearer scope="a""#).1, "a");
        assert_eq!(of(r#"Bearer scope="a", Basic realm="x", scope="b""#).1, "a");
        for none in ["", "Bearer", "Basic realm=\"bearer\"", "Bearerish scope=a", "Bearer scope"] {
            assert_eq!(of(none), Default::default(), "{none}");
        }
    }
}
