//! Descriptions of servers for people who debug: names, and no value that may be a secret.

use std::fmt::{self, Debug, Formatter};

use super::Way;
use crate::client::oauth::OauthSettings;

/// Arguments and addresses are left out, too: some have a key written into them.
impl Debug for Way {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, env, env_pass, .. } => {
                let names: Vec<_> = env.keys().chain(env_pass).collect();
                f.debug_struct("Stdio").field("command", command).field("env", &names).finish_non_exhaustive()
            }
            Self::Http { sse, headers, .. } => {
                let names: Vec<_> = headers.keys().collect();
                f.debug_struct("Http").field("sse", sse).field("headers", &names).finish_non_exhaustive()
            }
        }
    }
}

impl Debug for OauthSettings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthSettings")
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn no_secret_is_printed() {
        let values = |name: &str| BTreeMap::from([(name.to_owned(), "planted".to_owned())]);
        let program = Way::Stdio {
            command: "server".into(),
            args: vec!["--key".into(), "planted".into()],
            env: values("TOKEN"),
            env_pass: vec!["LANG".into()],
            cwd: None,
        };
        let headers = values("x-key");
        let address = Way::Http { url: "https://x.example/?key=planted".into(), sse: false, headers };
        let login = OauthSettings {
            client_id: Some("me".into()),
            client_secret: Some("planted".into()),
            ..OauthSettings::default()
        };
        assert_eq!(
            [format!("{program:?}"), format!("{address:?}"), format!("{login:?}")],
            [
                r#"Stdio { command: "server", env: ["TOKEN", "LANG"], .. }"#,
                r#"Http { sse: false, headers: ["x-key"], .. }"#,
                r#"OauthSettings { client_id: Some("me"), scopes: None, .. }"#,
            ]
        );
    }
}
