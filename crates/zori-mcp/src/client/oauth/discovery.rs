//! Who gives out tokens for a server: its own metadata (RFC 9728), then that of the server it names (RFC 8414, OpenID's fall-back).

use serde_json::Value;
use zori_core::transport::Transport;

use super::challenge::Challenge;
use super::fetch::{self, origin, quoted, split};
use super::login::LoginError;

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const AUTHORIZATION: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// What was found out.
#[derive(Debug)]
pub struct Discovered {
    /// What tokens are for, as the server itself writes it.
    pub resource: String,
    /// What the server can ask for, in words separated by blanks.
    pub scopes: Option<String>,
    /// Who gives tokens out.
    pub authority: Authority,
}

/// A server that gives out tokens. Its addresses were checked.
#[derive(Debug)]
pub struct Authority {
    pub issuer: String,
    pub authorize: String,
    pub token: String,
    pub register: Option<String>,
    /// How clients may prove who they are there.
    pub methods: Vec<String>,
    pub scopes: Vec<String>,
    /// Whether it reads documents about clients.
    pub reads_documents: bool,
    /// Whether it says who it is when it sends the browser back (RFC 9207).
    pub says_issuer: bool,
}

/// Finds out who gives out tokens for a server.
pub async fn discover(
    transport: &dyn Transport,
    server: &str,
    challenge: &Challenge,
) -> Result<Discovered, LoginError> {
    let described = described(transport, server, challenge).await?;
    let (resource, scopes, issuer) = match &described {
        Some(metadata) => {
            let resource = metadata["resource"].as_str().unwrap_or_default();
            if !covers(resource, server) {
                return Err(LoginError::Refused(format!(
                    "its metadata is that of another server, `{}`",
                    quoted(resource)
                )));
            }
            let issuer = metadata["authorization_servers"][0].as_str();
            let issuer = issuer.ok_or_else(|| {
                LoginError::Refused("its metadata names nobody who gives out tokens".to_owned())
            })?;
            (resource.to_owned(), words(&metadata["scopes_supported"]), issuer.to_owned())
        }
        // Servers of before 2025-06-18 give out tokens themselves.
        None => (
            server.split(['?', '#']).next().unwrap_or(server).to_owned(),
            Vec::new(),
            origin(server).to_owned(),
        ),
    };
    let authority = authority(transport, &issuer).await?.ok_or_else(|| match described {
        Some(_) => LoginError::Refused(format!("`{}` does not say how to log in", quoted(&issuer))),
        None => LoginError::NotOffered,
    })?;
    let scopes = (!scopes.is_empty()).then(|| scopes.join(" "));
    Ok(Discovered { resource, scopes, authority })
}

/// Asks for the metadata of the server itself: where its challenge says it is, else at the usual places.
async fn described(
    transport: &dyn Transport,
    server: &str,
    challenge: &Challenge,
) -> Result<Option<Value>, LoginError> {
    if let Some(place) = &challenge.resource_metadata {
        let found = fetch::get(transport, place).await?.success().filter(Value::is_object);
        return found.map(Some).ok_or_else(|| {
            LoginError::Refused(format!("there is no metadata at `{}`, where it said it is", quoted(place)))
        });
    }
    let (origin, path) = split(server);
    let path = path.trim_end_matches('/');
    let mut places = vec![format!("{origin}{RESOURCE}{path}")];
    if !path.is_empty() {
        places.push(format!("{origin}{RESOURCE}"));
    }
    for place in places {
        if let Some(found) = fetch::get(transport, &place).await?.success().filter(Value::is_object) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns whether a token for a resource is one for this server: the same address, or one above it.
fn covers(resource: &str, server: &str) -> bool {
    let ((of, above), (at, path)) = (split(resource), split(server));
    let above = above.trim_end_matches('/');
    of.eq_ignore_ascii_case(at)
        && !resource.contains('#')
        && path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Asks an issuer how to log in; `None` where it does not say.
async fn authority(transport: &dyn Transport, issuer: &str) -> Result<Option<Authority>, LoginError> {
    fetch::check(issuer)?;
    let (origin, path) = split(issuer);
    let path = path.trim_end_matches('/');
    let mut places = vec![format!("{origin}{AUTHORIZATION}{path}"), format!("{origin}{OPENID}{path}")];
    if !path.is_empty() {
        places.push(format!("{origin}{path}{OPENID}"));
    }
    for place in places {
        if let Some(found) = fetch::get(transport, &place).await?.success().filter(Value::is_object) {
            return read(issuer, &found).map(Some);
        }
    }
    Ok(None)
}

fn read(issuer: &str, metadata: &Value) -> Result<Authority, LoginError> {
    let refused = |why: String| Err(LoginError::Refused(why));
    let said = metadata["issuer"].as_str().unwrap_or_default();
    // An empty path and `/` are the same address; nothing else may differ.
    let same = said == issuer
        || split(issuer).1.len() <= 1 && said.strip_suffix('/').unwrap_or(said) == origin(issuer);
    if !same {
        return refused(format!(
            "the metadata of `{}` is that of another issuer, `{}`",
            quoted(issuer),
            quoted(said)
        ));
    }
    if !words(&metadata["code_challenge_methods_supported"]).iter().any(|method| method == "S256") {
        return refused(format!("`{}` does not protect codes (PKCE with S256)", quoted(issuer)));
    }
    let place = |key: &str| -> Result<Option<String>, LoginError> {
        let Some(url) = metadata[key].as_str() else { return Ok(None) };
        fetch::check(url).map(|()| Some(url.to_owned()))
    };
    let needed = |key: &str| {
        place(key)?
            .ok_or_else(|| LoginError::Refused(format!("`{}` does not name its `{key}`", quoted(issuer))))
    };
    Ok(Authority {
        issuer: said.to_owned(),
        authorize: needed("authorization_endpoint")?,
        token: needed("token_endpoint")?,
        register: place("registration_endpoint")?,
        methods: words(&metadata["token_endpoint_auth_methods_supported"]),
        scopes: words(&metadata["scopes_supported"]),
        reads_documents: metadata["client_id_metadata_document_supported"] == true,
        says_issuer: metadata["authorization_response_iss_parameter_supported"] == true,
    })
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resources() {
        let server = "https://x.example/mcp/a?b";
        for good in
            ["https://x.example", "https://x.example/", "https://X.example/mcp", "https://x.example/mcp/a"]
        {
            assert!(covers(good, server), "{good}");
        }
        for bad in [
            "https://evil.example",
            "http://x.example",
            "https://x.example/mc",
            "https://x.example/mcp/a/b",
            "",
        ] {
            assert!(!covers(bad, server), "{bad}");
        }
    }

    /// Other issuer's metadata, no S256, an address that is none: refused.
    #[test]
    fn metadata() {
        let good = json!({"issuer": "https://as.example", "authorization_endpoint": "https://as.example/a",
            "token_endpoint": "https://as.example/t", "code_challenge_methods_supported": ["plain", "S256"]});
        let with = |key: &str, value: Value| {
            let mut metadata = good.clone();
            metadata[key] = value;
            read("https://as.example", &metadata).map(|found| found.issuer).map_err(|error| error.to_string())
        };
        assert_eq!(with("x", json!(1)).unwrap(), "https://as.example");
        assert_eq!(with("issuer", json!("https://as.example/")).unwrap(), "https://as.example/");
        let refused = |key, value| with(key, value).unwrap_err();
        same(
            &refused("issuer", json!("https://evil.example")),
            "the login was refused: the metadata of `https://as.example` is that of another issuer, `https://evil.example`",
        );
        same(
            &refused("code_challenge_methods_supported", json!(["plain"])),
            "the login was refused: `https://as.example` does not protect codes (PKCE with S256)",
        );
        same(
            &refused("code_challenge_methods_supported", Value::Null),
            "the login was refused: `https://as.example` does not protect codes (PKCE with S256)",
        );
        same(
            &refused("authorization_endpoint", json!("javascript:alert(1)")),
            "the login was refused: the server names the address `javascript:alert(1)`, which is neither HTTPS nor on this machine",
        );
        same(
            &refused("token_endpoint", Value::Null),
            "the login was refused: `https://as.example` does not name its `token_endpoint`",
        );
    }

    #[track_caller]
    fn same(got: &str, wanted: &str) {
        assert_eq!(got, wanted);
    }
}
