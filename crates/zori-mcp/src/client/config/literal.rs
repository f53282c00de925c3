//! Secrets that are written out in the description of a server: told by the name before a value, or by what a value looks like (MCP-14, EXT-33).
//!
//! People paste keys wherever the instructions of a server say: behind an option, before an `=`, in a header, in a connection string, in JSON
//! that is one argument. What refers to a variable or to the vault is no secret.

use std::borrow::Cow;

use zori_redact::Redactor;

use super::Way;

/// What is printed in place of one.
const HIDDEN: &str = "[REDACTED]";

/// How surely a name tells that its value is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Surely,
    /// If the value looks like one, too: `--key` also names files.
    Perhaps,
    No,
}

/// Returns the secrets of a description, each with where it stands: the variable, the header, `args` or `url`.
pub(super) fn of(way: &Way) -> Vec<(&str, &str)> {
    let (pairs, place, seen) = match way {
        Way::Stdio { command, args, env, .. } => {
            let words: Vec<&str> = std::iter::once(command).chain(args).map(String::as_str).collect();
            (env, "args", in_words(&words))
        }
        Way::Http { url, headers, .. } => (headers, "url", in_address(url)),
    };
    let in_pair = |(name, value)| in_value(name, value).into_iter().map(move |secret| (name, secret));
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    pairs.flat_map(in_pair).chain(seen.into_iter().map(|secret| (place, secret))).collect()
}

/// Returns a text without these secrets.
pub(super) fn hidden(text: String, secrets: &[(&str, &str)]) -> String {
    secrets.iter().fold(text, |text, (_, secret)| text.replace(secret, HIDDEN))
}

/// Returns the secrets in the value of a variable or header.
pub fn in_value<'a>(name: &str, value: &'a str) -> Vec<&'a str> {
    let text = value.trim();
    if is_scheme(text) {
        // What would stand behind it is not there.
        return Vec::new();
    }
    let (scheme, rest) = text.split_once(' ').unwrap_or(("", text));
    let secret = if is_scheme(scheme) { rest.trim() } else { text };
    if is_literal(secret, told_by(name)) || is_scheme(scheme) && is_literal(secret, Told::Surely) {
        return vec![secret];
    }
    in_text(text)
}

/// Returns the secrets in a command line.
pub fn in_words<'a>(words: &[&'a str]) -> Vec<&'a str> {
    behind_options(words).chain(words.iter().flat_map(|word| in_text(word))).collect()
}

/// Returns the secrets in a command line that a name before them tells, and passwords of addresses; what looks like one is not searched for.
pub fn told_in_words<'a>(words: &[&'a str]) -> Vec<&'a str> {
    behind_options(words).chain(words.iter().flat_map(|word| told_in(word))).collect()
}

fn behind_options<'a>(words: &[&'a str]) -> impl Iterator<Item = &'a str> {
    words.windows(2).filter_map(|pair| {
        let (option, value) = (pair[0], pair[1]);
        let named = option.starts_with('-') && !option.contains(['=', ' ']);
        (named && is_literal(value, told_by(option))).then_some(value)
    })
}

/// Returns the secrets in an address: a password, and what a query names or looks like.
pub fn in_address(url: &str) -> Vec<&str> {
    in_text(url)
}

/// Returns what may be a secret in an address, since nobody would think of it as a name: keys stand in paths, too.
pub fn doubtful_in_address(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let (_, behind_host) = rest.split_once('/')?;
    behind_host.split(['/', '?', '&', '=', '#']).find(|part| part.len() >= 20 && is_random(part))
}

/// Returns the secrets in any text: what stands behind a telling name, passwords of addresses, and keys by their looks.
pub fn in_text(text: &str) -> Vec<&str> {
    let mut found = told_in(text);
    // What only its looks tell is hidden with all that stands around it.
    if found.is_empty() && matches!(Redactor::default().redact(text), Cow::Owned(_)) {
        found.push(text);
    }
    found
}

/// Returns the secrets in a text but for those that only their looks tell.
fn told_in(text: &str) -> Vec<&str> {
    let named = text.match_indices([':', '=']).filter_map(|(at, sign)| named(text, at, sign));
    named.chain(in_user_of_address(text)).collect()
}

/// Returns the value behind a sign, if the name before it tells that it is a secret.
fn named<'a>(text: &'a str, at: usize, sign: &str) -> Option<&'a str> {
    let before = text[..at].trim_end().trim_end_matches(['"', '\'', '\\']);
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name = before.rsplit(|c: char| !is_name(c)).next().unwrap_or_default();
    let told = told_by(name);
    if told == Told::No {
        return None;
    }
    let behind = text[at + 1..].trim_start_matches([' ', '\t', '"', '\'', '\\']);
    let (word, rest) = split_word(behind);
    let value = if is_scheme(word) { split_word(rest.trim_start()).0 } else { word };
    // `image/secret:latest` and `auth:8080` are names with a colon.
    let glued = sign == ":" && !is_scheme(word) && text[at + 1..].starts_with(is_name);
    (is_literal(value, told) && (!glued || value.len() >= 8)).then_some(value)
}

fn split_word(text: &str) -> (&str, &str) {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '&' | ',' | ';' | '}' | ')');
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// Returns the password of the user in an address, or the user where that is a key.
fn in_user_of_address(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#', ' ', '"']).unwrap_or(rest.len())];
    let (user, _) = authority.rsplit_once('@')?;
    match user.split_once(':') {
        Some((_, password)) => is_literal(password, Told::Surely).then_some(password),
        None => is_literal(user, Told::Perhaps).then_some(user),
    }
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Judges a name by its last word: `API_KEY`, `--api-key` and `tavilyApiKey` end in the same one, `KEY_FILE` and `token_limit` in others.
fn told_by(name: &str) -> Told {
    let words = words_of(name);
    let Some((last, before)) = words.split_last() else { return Told::No };
    let ends_in_one =
        ["token", "secret", "password", "passwd", "apikey"].iter().any(|end| last.ends_with(end));
    match last.as_str() {
        "authorization" | "bearer" | "cookie" | "credential" | "credentials" | "pass" | "passphrase"
        | "pwd" => Told::Surely,
        _ if ends_in_one => Told::Surely,
        "key" => {
            let kinds =
                ["access", "api", "app", "auth", "encryption", "private", "secret", "service", "signing"];
            match before.last().is_some_and(|kind| kinds.contains(&kind.as_str())) {
                true => Told::Surely,
                false => Told::Perhaps,
            }
        }
        "auth" | "pat" => Told::Perhaps,
        _ => Told::No,
    }
}

/// Returns the words of a name in lower case: `apiKey`, `API_KEY` and `api-key` have the same two. A number at its end is none.
fn words_of(name: &str) -> Vec<String> {
    let (mut words, mut was_lower) = (vec![String::new()], false);
    for c in name.trim_end_matches(|c: char| c.is_ascii_digit()).chars() {
        if !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = c.is_ascii_lowercase();
        if c.is_ascii_alphanumeric() {
            words.last_mut().expect("there is one").push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether a value is written out, and is no path, option, number or reference.
fn is_literal(value: &str, told: Told) -> bool {
    let refers = ["<", "{", "%", "vault:", "./", "../", "~"];
    let inside = ["${", "{env:", "{file:", "://"];
    let word = ["true", "false", "none", "null"].contains(&value.to_ascii_lowercase().as_str());
    let number = value.len() < 8 && value.bytes().all(|b| b.is_ascii_digit());
    let file = [".json", ".key", ".pem", ".toml", ".txt"].iter().any(|end| value.ends_with(end));
    let is_written = !word
        && !number
        && !file
        && !is_elsewhere(value, told)
        && !refers.iter().any(|start| value.starts_with(start))
        && !inside.iter().any(|part| value.contains(part));
    match told {
        // So short a text stands in words, too.
        Told::Surely => is_written && value.len() >= 4,
        Told::Perhaps => is_written && value.len() >= 12 && is_random(value),
        Told::No => false,
    }
}

/// Returns whether a value is a variable, a path or an option by how it begins. Where a name surely tells of a secret, it may just begin so.
fn is_elsewhere(value: &str, told: Told) -> bool {
    let surely = told == Told::Surely;
    match value.split_at_checked(1) {
        Some(("$", name)) => {
            let is_name = !name.starts_with(|c: char| c.is_ascii_digit())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            !surely || is_name
        }
        Some(("/", path)) => !surely || path.contains('/') || !is_random(path),
        Some(("-", option)) => !surely || option.starts_with('-') || !is_random(option),
        _ => false,
    }
}

/// Returns whether a text has letters and digits as no name has them.
fn is_random(text: &str) -> bool {
    let fits = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+=.".contains(&b));
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    fits && digits >= 3 && letters >= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What instructions of servers tell people to write, each with one secret.
    #[test]
    fn where_people_paste_keys() {
        for words in [
            &["npx", "-y", "@x/context7", "--api-key", "SECRET"][..],
            &["npx", "-y", "@x/cli", "run", "--key", "0f1e2d3c-SECRET-4b5a"],
            &["npx", "-y", "@x/server-postgres", "postgresql://me:SECRET@localhost/db"],
            &["x", "--connectionString", "mongodb+srv://me:SECRET@c.example/db?retryWrites=true"],
            &["npx", "mcp-remote", "https://x.example/sse", "--header", "Authorization: Bearer SECRET"],
            &["npx", "mcp-remote", "https://x.example/sse", "--header", "Authorization:Bearer SECRET"],
            &["npx", "mcp-remote", "https://x.example/sse", "--header", "X-Api-Key: SECRET"],
            &["npx", "mcp-remote", "https://x.example/sse?token=SECRET"],
            &["docker", "run", "-e", "GITLAB_TOKEN=SECRET", "ghcr.io/x/y"],
            &["x", "--config", r#"{"region":"eu","apiKey":"SECRET"}"#],
            &["x", "--config={\"password\": \"SECRET\"}"],
            &["x", "--token=SECRET"],
            &["x", "--api-key", "/3Fab7SECRET9=="],
            &["x", "--token", "-x1Y2zSECRET3"],
            &["x", "--password", "$ecret-SECRET"],
            &["sh", "-c", "API_KEY=SECRET exec x"],
        ] {
            let found = in_words(words);
            assert!(
                found.len() == 1 && found[0].contains("SECRET") && found[0].len() < 24,
                "{words:?}: {found:?}"
            );
        }
        for (name, value) in [
            ("GITHUB_TOKEN", "SECRET"),
            ("Authorization", "Bearer SECRET"),
            ("X-Anything", "Bearer SECRET"),
            ("PGPASSWORD", "SECRET"),
            ("ADO_PAT", "abc123SECRET456"),
            ("DATABASE_URL", "postgres://me:SECRET@localhost/db"),
            ("SENTRY_DSN", "https://0123SECRETabcdef@o1.example/1"),
            ("OPENAPI_MCP_HEADERS", r#"{"Authorization": "Bearer SECRET", "Notion-Version": "2022-06-28"}"#),
            ("OPENAPI_MCP_HEADERS", r#"{\"X-Token\":\"SECRET\"}"#),
        ] {
            let found = in_value(name, value);
            assert!(
                found.len() == 1 && found[0].contains("SECRET") && !found[0].contains(' '),
                "{name}: {found:?}"
            );
        }
        for url in ["https://x.example/mcp/?tavilyApiKey=SECRET", "https://me:SECRET@x.example/mcp"] {
            assert_eq!(in_address(url), ["SECRET"], "{url}");
        }
        // By its looks alone, with what stands around it.
        let key = format!("x ghp_{}", "a1".repeat(18));
        assert_eq!(in_value("SETTING", &key), [key.as_str()]);
        for url in [
            "https://x.example/fc-0123456789abcdef0123456789/v2/mcp",
            "https://x.example/s?c=0123456789abcdef0123",
        ] {
            assert!(doubtful_in_address(url).is_some(), "{url}");
        }
    }

    #[test]
    fn what_is_none() {
        for words in [
            &["uvx", "mcp-server-time==2026.10.19", "--local-timezone=Europe/Paris"][..],
            &[
                "docker",
                "run",
                "-i",
                "--rm",
                "-e",
                "GITLAB_TOKEN",
                "quay.io/x/keycloak:26.0.1",
                "hub/secret:latest",
            ],
            &[
                "x",
                "--key",
                "/etc/tls/key.pem",
                "--key",
                "id_rsa",
                "--key-file",
                "abc123def456",
                "--token-limit",
                "100000",
            ],
            &[
                "x",
                "--password-stdin",
                "--auth",
                "oauth",
                "--max-tokens=4096",
                "--token",
                "-v",
                "--secret",
                "$SECRET",
            ],
            &["x", "--header", "Authorization: Bearer ${TOKEN}", "--api-key", "${KEY}", "--token", "<token>"],
            &["npx", "mcp-remote@0.1.29", "https://auth.example:8443/realms/a1b2c3/mcp", "--auth:8080"],
            &[
                "x",
                "-v",
                "/home/jürgen:/data",
                "größe=5",
                "日本語: 1",
                "--token",
                "/run/secrets/a1b2c3",
                "--password",
                "$DB_PASS2",
            ],
            &["x", "-v", "/home/me/.ssh/key:/key:ro", "monkey=abc123def456", "Bash(gh auth token:*)"],
        ] {
            assert_eq!(in_words(words), [""; 0], "{words:?}");
        }
        for (name, value) in [
            ("GITHUB_TOKEN", "vault:gh"),
            ("Authorization", "Bearer ${vault:gh}"),
            ("Authorization", "Bearer "),
            ("MODE", "fast"),
            ("CACHE_KEY_PREFIX", "abc123def456"),
            ("DATABASE_URL", "postgres://me@localhost/db"),
            ("TOKEN_URL", "https://x.example/token"),
            ("PATH", "/usr/bin:/bin"),
            ("USE_TOKEN", "true"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "key.json"),
        ] {
            assert_eq!(in_value(name, value), [""; 0], "{name}");
        }
        for url in
            ["https://x.example/mcp", "https://x.example/v1/projects/my-project-2026/mcp?read_only=true"]
        {
            assert_eq!((in_address(url), doubtful_in_address(url)), (vec![], None), "{url}");
        }
    }

    #[test]
    fn names_by_their_last_word() {
        for name in
            ["API_KEY", "--api-key", "tavilyApiKey", "X-Api-Key", "ACCESS_TOKEN_2", "authToken", "DB_PASS"]
        {
            assert_eq!(told_by(name), Told::Surely, "{name}");
        }
        for name in ["KEY_FILE", "monkey", "tokens", "--author", "", "--", "token_limit"] {
            assert_eq!(told_by(name), Told::No, "{name}");
        }
        assert_eq!([told_by("--key"), told_by("SORT_KEY"), told_by("MY_PAT")], [Told::Perhaps; 3]);
    }
}
