//! Values whose name says that they are secret: for logs, dumps and audit records.
//!
//! Only strings are replaced: a count of tokens is no token.

use serde_json::Value;

use crate::mask::REDACTED;

/// Parts of names of secrets.
const PARTS: &[&str] = &["token", "secret", "password", "passwd", "key", "credential", "auth", "cookie"];

/// Names that contain such a part and are no secrets.
const HARMLESS: &[&str] = &[
    "api_base",
    "author",
    "authors",
    "auth_methods",
    "fix_command",
    "idempotency_key",
    "key_count",
    "keyword",
    "keywords",
    "max_tokens",
    "missing_scopes",
    "page_token",
    "primary_id_field",
    "reauth_command",
    "reauth_env_var",
    "resume_token",
    "token_env_vars",
    "tokenizer",
];

/// Returns whether a value of this name is a secret: a field, a header, a variable or a flag.
pub fn is_secret(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_lowercase().replace('-', "_");
    if HARMLESS.contains(&name.as_str()) || name.ends_with("_tokens") {
        return false;
    }
    PARTS.iter().any(|part| name.contains(part)) || name.ends_with("_pass") || name.starts_with("api_")
}

/// Replaces the strings below names of secrets.
pub fn value(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(self::value),
        Value::Object(map) => {
            for (name, inner) in map {
                match inner {
                    Value::String(text) if is_secret(name) => *text = REDACTED.to_owned(),
                    inner => self::value(inner),
                }
            }
        }
        _ => {}
    }
}

/// Returns an address without the user and password in it.
pub fn address(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{REDACTED}{}", &rest[at..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_tell() {
        for name in
            ["Authorization", "X-Api-Key", "ANTHROPIC_API_KEY", "DB_PASS", "--access-token", "Set-Cookie"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in ["input_tokens", "max_tokens", "author", "idempotency-key", "path", "monkey_count_"] {
            assert_eq!(is_secret(name), name == "monkey_count_", "{name}");
        }
    }

    #[test]
    fn only_strings_are_replaced() {
        let mut record = json!({"args": [{"token": "x", "token_limit": 7, "nested": {"secret": ["a"]}}]});
        value(&mut record);
        assert_eq!(
            record,
            json!({"args": [{"token": "[REDACTED]", "token_limit": 7, "nested": {"secret": ["a"]}}]})
        );
    }
}
