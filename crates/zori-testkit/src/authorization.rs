//! An authorization server on a loopback port: OAuth's code flow with PKCE and refresh, and OpenRouter's key flow.
//!
//! It checks what such a server has to check: the client, the redirect, the challenge, that a code is used once and a
//! refresh token is known. Its user consents at once, or refuses; [`AuthFault`] is what the token endpoint may have.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use sha2::{Digest, Sha256};
use zori_core::secret::{base64url, percent};

use crate::browser::fields;
use crate::loopback::{Answer, Loopback};
use crate::server::Request;
use crate::wait;

/// The client the server knows.
pub const CLIENT_ID: &str = "zori-test-client";

/// How the server misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthFault {
    /// Nothing.
    None,
    /// The user says no.
    Denied,
    /// The token endpoint answers with this status.
    Status(u16),
    /// The token endpoint answers with a page.
    Garbage,
    /// The token endpoint never answers.
    Stall,
}

/// The tokens it issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenOptions {
    /// How long an access token is good for.
    pub expires_in: u64,
    /// Whether each refresh gives a new refresh token, and takes the old one back.
    pub rotate: bool,
}

/// The server. It ends when dropped.
#[derive(Debug)]
pub struct AuthorizationServer {
    http: Loopback,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    fault: AuthFault,
    issue: TokenOptions,
    /// What each code was issued for.
    codes: BTreeMap<String, Code>,
    refresh_tokens: Vec<String>,
    issued: Vec<String>,
    /// What was asked of the token endpoint, as forms.
    asked: Vec<Vec<(String, String)>>,
}

#[derive(Debug)]
struct Code {
    challenge: String,
    redirect_uri: String,
}

impl AuthorizationServer {
    pub fn start(fault: AuthFault, issue: TokenOptions) -> Self {
        let state = State {
            fault,
            issue,
            codes: BTreeMap::new(),
            refresh_tokens: Vec::new(),
            issued: Vec::new(),
            asked: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let http = Loopback::start(|_| {
            let state = Arc::clone(&state);
            move |request: &Request| lock(&state).answer(request)
        });
        Self { http, state }
    }

    pub fn url(&self) -> String {
        self.http.url()
    }

    /// Returns the section of the config file that sends a provider's users here.
    pub fn config(&self, provider: &str) -> String {
        let url = self.url();
        format!(
            "[auth.{provider}]\nclient_id = \"{CLIENT_ID}\"\nauthorize_url = \"{url}/authorize\"\n\
             token_url = \"{url}/token\"\nscopes = \"models read\"\n"
        )
    }

    /// Sets another fault from here on.
    pub fn set_fault(&self, fault: AuthFault) {
        lock(&self.state).fault = fault;
    }

    /// Accepts a refresh token as one of its own.
    pub fn accept_refresh_token(&self, refresh_token: &str) {
        lock(&self.state).refresh_tokens.push(refresh_token.to_owned());
    }

    /// Returns every access token, refresh token and key it issued, in order.
    pub fn issued(&self) -> Vec<String> {
        lock(&self.state).issued.clone()
    }

    /// Returns what the token endpoint was asked.
    pub fn asked(&self) -> Vec<Vec<(String, String)>> {
        lock(&self.state).asked.clone()
    }

    /// Waits until the token endpoint was asked that often.
    #[track_caller]
    pub fn wait_for_asked(&self, count: usize) {
        wait::until(format_args!("token request {count}"), || lock(&self.state).asked.len() >= count);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn answer(&mut self, request: &Request) -> Answer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        match (request.method.as_str(), path) {
            ("GET", "/authorize") => self.authorize(&fields(query).into_iter().collect()),
            ("GET", "/auth") => self.authorize_key(&fields(query).into_iter().collect()),
            ("POST", "/token") => {
                let form = fields(&String::from_utf8_lossy(&request.body));
                self.asked.push(form.clone());
                self.fault().unwrap_or_else(|| self.token(&form.into_iter().collect()))
            }
            ("POST", "/api/v1/auth/keys") => {
                let asked = request.json();
                let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
                let names = ["code", "code_verifier", "code_challenge_method"];
                self.asked.push(names.map(|name| (name.to_owned(), text(name))).to_vec());
                self.fault().unwrap_or_else(|| self.key(&text("code"), &text("code_verifier")))
            }
            _ => refused(404, "not_found"),
        }
    }

    fn fault(&self) -> Option<Answer> {
        match self.fault {
            AuthFault::None | AuthFault::Denied => None,
            AuthFault::Status(status) => Some(refused(status, "server_error")),
            AuthFault::Garbage => {
                let page = vec![("content-type", "text/html".to_owned())];
                Some(Answer::Whole(200, page, "<html>Welcome!</html>".to_owned()))
            }
            AuthFault::Stall => Some(Answer::Never),
        }
    }

    fn authorize(&mut self, asked: &BTreeMap<String, String>) -> Answer {
        let get = |name: &str| asked.get(name).map_or("", String::as_str);
        let right = get("response_type") == "code"
            && get("client_id") == CLIENT_ID
            && get("code_challenge_method") == "S256"
            && !get("code_challenge").is_empty()
            && !get("state").is_empty()
            && get("redirect_uri").starts_with("http://127.0.0.1:");
        if !right {
            return refused(400, "invalid_request");
        }
        let (back, state) = (get("redirect_uri"), percent(get("state")));
        if self.fault == AuthFault::Denied {
            return Answer::redirect(format!(
                "{back}?error=access_denied&error_description=The+user+said+no&state={state}"
            ));
        }
        let code = self.code(get("code_challenge"), back);
        Answer::redirect(format!("{back}?code={code}&state={state}"))
    }

    fn authorize_key(&mut self, asked: &BTreeMap<String, String>) -> Answer {
        let get = |name: &str| asked.get(name).map_or("", String::as_str);
        if get("callback_url").is_empty() || get("code_challenge_method") != "S256" {
            return refused(400, "invalid_request");
        }
        let back = get("callback_url");
        let code = self.code(get("code_challenge"), back);
        Answer::redirect(format!("{back}?code={code}"))
    }

    fn code(&mut self, challenge: &str, redirect_uri: &str) -> String {
        let code = format!("code-{}", self.codes.len());
        let given = Code { challenge: challenge.to_owned(), redirect_uri: redirect_uri.to_owned() };
        self.codes.insert(code.clone(), given);
        code
    }

    /// Takes a code back if the verifier is that of its challenge.
    fn redeem(&mut self, code: &str, verifier: &str) -> Option<Code> {
        let given = self.codes.remove(code)?;
        (base64url(&Sha256::digest(verifier)) == given.challenge).then_some(given)
    }

    fn token(&mut self, asked: &BTreeMap<String, String>) -> Answer {
        let get = |name: &str| asked.get(name).map_or("", String::as_str);
        if get("client_id") != CLIENT_ID {
            return refused(401, "invalid_client");
        }
        match get("grant_type") {
            "authorization_code" => match self.redeem(get("code"), get("code_verifier")) {
                Some(code) if code.redirect_uri == get("redirect_uri") => self.tokens(true),
                _ => refused(400, "invalid_grant"),
            },
            "refresh_token" => {
                let known = self.refresh_tokens.iter().position(|known| known == get("refresh_token"));
                let Some(at) = known else { return refused(400, "invalid_grant") };
                if self.issue.rotate {
                    self.refresh_tokens.remove(at);
                }
                self.tokens(self.issue.rotate)
            }
            _ => refused(400, "unsupported_grant_type"),
        }
    }

    fn tokens(&mut self, with_refresh: bool) -> Answer {
        let access = self.give("access");
        let mut body = json!({
            "access_token": access, "token_type": "Bearer", "expires_in": self.issue.expires_in,
        });
        if with_refresh {
            let refresh = self.give("refresh");
            body["refresh_token"] = json!(refresh);
            self.refresh_tokens.push(refresh);
        }
        Answer::json(200, &body)
    }

    fn key(&mut self, code: &str, verifier: &str) -> Answer {
        match self.redeem(code, verifier) {
            Some(_) => Answer::json(200, &json!({"key": self.give("key"), "user_id": "u"})),
            None => refused(403, "invalid code or verifier"),
        }
    }

    /// Makes a secret with characters that look different when encoded.
    fn give(&mut self, what: &str) -> String {
        let secret = format!("{what}+token/{:04}=\"secret\"", self.issued.len());
        self.issued.push(secret.clone());
        secret
    }
}

fn refused(status: u16, error: &str) -> Answer {
    Answer::json(status, &json!({"error": error}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser;

    const ISSUE: TokenOptions = TokenOptions { expires_in: 60, rotate: true };
    /// The example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn form(fields: &[(&str, &str)]) -> BTreeMap<String, String> {
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn status(answer: &Answer) -> u16 {
        match answer {
            Answer::Whole(status, ..) => *status,
            Answer::Events(_) | Answer::Never => 0,
        }
    }

    #[test]
    fn a_code_is_good_once_and_for_its_verifier() {
        let server = AuthorizationServer::start(AuthFault::None, ISSUE);
        let mut state = lock(&server.state);
        let ask = |state: &mut State, code: &str, verifier: &str| {
            let fields = [
                ("grant_type", "authorization_code"),
                ("client_id", CLIENT_ID),
                ("redirect_uri", "http://127.0.0.1:1/"),
                ("code", code),
                ("code_verifier", verifier),
            ];
            status(&state.token(&form(&fields)))
        };
        let code = state.code(CHALLENGE, "http://127.0.0.1:1/");
        assert_eq!([ask(&mut state, &code, VERIFIER), ask(&mut state, &code, VERIFIER)], [200, 400]);
        let code = state.code(CHALLENGE, "http://127.0.0.1:1/");
        assert_eq!(ask(&mut state, &code, "another"), 400);
        let code = state.code(CHALLENGE, "http://127.0.0.1:2/");
        assert_eq!(ask(&mut state, &code, VERIFIER), 400, "another redirect");
    }

    #[test]
    fn a_rotated_refresh_token_is_good_once() {
        let server = AuthorizationServer::start(AuthFault::None, ISSUE);
        server.accept_refresh_token("first");
        let mut state = lock(&server.state);
        let fields = [("grant_type", "refresh_token"), ("client_id", CLIENT_ID), ("refresh_token", "first")];
        let mut ask = || status(&state.token(&form(&fields)));
        assert_eq!([ask(), ask()], [200, 400]);
    }

    #[test]
    fn what_lacks_something_is_refused() {
        let server = AuthorizationServer::start(AuthFault::None, ISSUE);
        assert_eq!(browser::visit(&format!("{}/authorize?response_type=code", server.url())).status, 400);
        assert_eq!(browser::visit(&format!("{}/nothing", server.url())).status, 404);
    }
}
