//! A provider whose access token ends: it is renewed before a request when its time is over, and once more when the
//! server refuses it (AUTH-4).

use std::sync::{Arc, Mutex, PoisonError};

use zori_core::BoxFuture;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{ChunkStream, Provider, Request};
use zori_core::search::{SearchAnswer, SearchQuery};
use zori_core::secret::{Secret, Secrets};
use zori_core::time::Clock;
use zori_core::transport::Transport;
use zori_providers::oauth::Client;

use crate::LOOKUP;
use crate::grant::Grant;
use crate::store::CredentialStore;

/// How a login is renewed.
#[derive(Clone)]
pub struct Renewal {
    /// The account it belongs to.
    pub account: &'static str,
    /// Where it is kept.
    pub store: Arc<dyn CredentialStore>,
    /// The client that asks for new tokens.
    pub client: Client,
}

/// What a renewing provider is made from.
pub struct Parts {
    /// The provider's name.
    pub name: &'static str,
    /// The login, as it was found.
    pub grant: Grant,
    /// How it is renewed; `None` where it cannot be.
    pub renewal: Option<Renewal>,
    /// Who sends.
    pub transport: Arc<dyn Transport>,
    /// Tells when a token has ended.
    pub clock: Arc<dyn Clock>,
    /// New tokens are added here, so that they are taken out of text.
    pub secrets: Secrets,
    /// Makes the provider for an access token.
    pub make: Box<dyn Fn(Secret) -> Arc<dyn Provider> + Send + Sync>,
}

/// A provider that renews its access token.
pub struct Renewing {
    parts: Parts,
    current: Mutex<(Grant, Arc<dyn Provider>)>,
    /// One renewal at a time: a server that rotates refresh tokens takes each but once. It guards nothing else, and is
    /// held while the server is asked.
    turnstile: tokio::sync::Mutex<()>,
}

impl Renewing {
    /// Returns the provider; nothing is sent yet.
    pub fn new(parts: Parts) -> Self {
        let provider = (parts.make)(parts.grant.access.clone());
        let current = Mutex::new((parts.grant.clone(), provider));
        Self { parts, current, turnstile: tokio::sync::Mutex::default() }
    }

    fn current(&self) -> (Grant, Arc<dyn Provider>) {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn ask(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        let (mut grant, mut provider) = self.current();
        let expired = grant.is_expired(self.parts.clock.now());
        if expired {
            (grant, provider) = self.renewed(&grant).await?;
        }
        match provider.stream(request).await {
            // A token that is new already is refused for another reason.
            Err(failure) if failure.status == Some(401) && !expired && self.can_renew(&grant) => {
                let (_, provider) = self.renewed(&grant).await?;
                provider.stream(request).await
            }
            answer => answer,
        }
    }

    fn can_renew(&self, grant: &Grant) -> bool {
        self.parts.renewal.is_some() && grant.refresh.is_some()
    }

    /// Returns a login that is newer than `old`.
    async fn renewed(&self, old: &Grant) -> Result<(Grant, Arc<dyn Provider>), ProviderFailure> {
        let _one_at_a_time = self.turnstile.lock().await;
        let (grant, provider) = self.current();
        if grant != *old {
            return Ok((grant, provider));
        }
        let Some((renewal, refresh)) = self.parts.renewal.as_ref().zip(old.refresh.as_ref()) else {
            return Err(refused("the login has expired, and nothing is known to renew it with"));
        };
        let grant = match self.found_newer(renewal, old).await {
            Some(grant) => grant,
            None => self.ask_for_newer(renewal, refresh).await?,
        };
        let provider = (self.parts.make)(grant.access.clone());
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = (grant.clone(), provider.clone());
        Ok((grant, provider))
    }

    /// Looks whether another process has renewed the login in the meantime.
    async fn found_newer(&self, renewal: &Renewal, old: &Grant) -> Option<Grant> {
        let (store, account) = (renewal.store.clone(), renewal.account);
        let found = tokio::task::spawn_blocking(move || store.get(account, LOOKUP)).await.ok()?.ok()??;
        let newer = found != *old && !found.is_expired(self.parts.clock.now());
        newer.then(|| {
            found.tell(&self.parts.secrets);
            found
        })
    }

    async fn ask_for_newer(&self, renewal: &Renewal, refresh: &Secret) -> Result<Grant, ProviderFailure> {
        let tokens = renewal.client.refresh(&*self.parts.transport, refresh).await.map_err(|failure| {
            refused(&format!("the login has expired and could not be renewed: {}", failure.message))
        })?;
        let grant = Grant::oauth(tokens, self.parts.clock.now());
        grant.tell(&self.parts.secrets);
        let (store, account, kept) = (renewal.store.clone(), renewal.account, grant.clone());
        // A store that fails costs the next run a login. This one has its token.
        let _ = tokio::task::spawn_blocking(move || store.set(account, &kept)).await;
        Ok(grant)
    }
}

fn refused(message: &str) -> ProviderFailure {
    ProviderFailure::new(FailureKind::Auth, message)
}

impl Provider for Renewing {
    fn name(&self) -> &str {
        self.parts.name
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(self.ask(request))
    }

    fn searches(&self) -> bool {
        self.current().1.searches()
    }

    fn search<'a>(
        &'a self,
        model: &'a str,
        search: &'a SearchQuery,
    ) -> BoxFuture<'a, Result<SearchAnswer, ProviderFailure>> {
        // A login that has ended was renewed by the request that asked for the search.
        let (_, provider) = self.current();
        Box::pin(async move { provider.search(model, search).await })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use zori_core::provider::Delivery;
    use zori_core::time::Timestamp;
    use zori_providers::replay::{Exchange, ReplayTransport};

    use super::*;
    use crate::grant::Kind;
    use crate::store::memory::MemoryStore;

    const NOW: i64 = 1_000;

    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> Timestamp {
            Timestamp(NOW)
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }

    /// Refuses every token, and says which it was.
    struct Refuses(Secret);

    impl Provider for Refuses {
        fn name(&self) -> &str {
            "refuses"
        }

        fn stream<'a>(&'a self, _: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
            let message = format!("not {}", self.0.reveal());
            let failure = ProviderFailure::new(FailureKind::HttpStatus, message);
            Box::pin(async move { Err(ProviderFailure { status: Some(401), ..failure }) })
        }
    }

    fn login(access: &str, expires_at: i64) -> Grant {
        Grant {
            kind: Kind::OAuth,
            access: access.into(),
            refresh: Some("refresh".into()),
            expires_at: Some(Timestamp(expires_at)),
            more: None,
        }
    }

    /// Asks with an old login while the store has another; returns what came of it and how often tokens were asked for.
    async fn asked(old: Grant, stored: &Grant) -> (String, usize, String) {
        let store = Arc::new(MemoryStore::default());
        store.set("openai", stored).unwrap();
        let body = r#"{"access_token":"asked-for","expires_in":60}"#;
        let transport = Arc::new(ReplayTransport::new([Exchange::json(body)]));
        let client = Client { client_id: "c".into(), token_url: "http://auth.test/".into() };
        let provider = Renewing::new(Parts {
            name: "openai",
            grant: old,
            renewal: Some(Renewal { account: "openai", store: store.clone(), client }),
            transport: transport.clone(),
            clock: Arc::new(Stopped),
            secrets: Secrets::default(),
            make: Box::new(|token| Arc::new(Refuses(token))),
        });
        let request = Request {
            model: "m",
            system: None,
            tools: &Arc::from([]),
            messages: &[],
            max_tokens: None,
            temperature: None,
            effort: None,
            delivery: Delivery::Whole,
        };
        let failure = provider.stream(&request).await.err().expect("every token is refused");
        let kept = store.get("openai", Duration::ZERO).unwrap().expect("something is stored");
        (failure.message, transport.requests().len(), kept.access.reveal().to_owned())
    }

    #[tokio::test]
    async fn a_login_is_renewed_once() {
        let old = login("old", NOW);
        assert_eq!(asked(old.clone(), &old).await, ("not asked-for".into(), 1, "asked-for".into()));
        let refused = login("refused", NOW + 600);
        assert_eq!(asked(refused.clone(), &refused).await, ("not asked-for".into(), 1, "asked-for".into()));
    }

    /// A refresh token that is used twice is taken for stolen by servers that rotate them.
    #[tokio::test]
    async fn what_another_process_has_renewed_is_taken() {
        let newer = login("newer", NOW + 600);
        assert_eq!(asked(login("old", NOW), &newer).await, ("not newer".into(), 0, "newer".into()));
        let stale = login("stale", NOW - 600);
        assert_eq!(asked(login("old", NOW), &stale).await, ("not asked-for".into(), 1, "asked-for".into()));
    }
}
