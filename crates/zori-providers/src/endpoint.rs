//! An API's address and credential: what every HTTP provider is made from, and how its requests are sent.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use zori_core::failure::ProviderFailure;
use zori_core::provider::{ChunkStream, Delivery};
use zori_core::secret::Secret;
use zori_core::time::Clock;
use zori_core::transport::{HttpRequest, Method, Redirects, Timeouts, Transport, named_headers};

use crate::answer::{self, Decode};
use crate::failure;
use crate::key::Credential;

/// What a provider is made from.
#[derive(Clone)]
pub struct Endpoint {
    /// Where the API is, as [`ProviderFacts::parse_base_url`](crate::catalog::ProviderFacts::parse_base_url) returned it.
    pub base_url: String,
    /// The credential; servers that need one are not asked without it.
    pub key: Option<Credential>,
    /// Who sends.
    pub transport: Arc<dyn Transport>,
    /// How long each phase of a request may take.
    pub limits: Timeouts,
    /// Reads the dates in `Retry-After`, and measures how long only keep-alives have come.
    pub clock: Arc<dyn Clock>,
}

/// The headers of a request.
pub(crate) type Headers = Vec<(&'static str, String)>;

impl Endpoint {
    /// Returns the request that posts this JSON; `path` begins with a slash.
    pub(crate) fn post(&self, path: &str, mut headers: Headers, body: Vec<u8>) -> HttpRequest {
        headers.insert(0, ("content-type", "application/json".to_owned()));
        HttpRequest {
            method: Method::Post,
            url: format!("{}{path}", self.base_url.trim_end_matches('/')),
            headers: named_headers(headers),
            body: Bytes::from(body),
            limits: self.limits,
            redirects: Redirects::SameOrigin,
            addresses: Default::default(),
        }
    }

    /// Returns the key as a bearer token, for servers that know no other header; `variable` is what the user knows it
    /// by.
    pub(crate) fn bearer(&self, variable: &str) -> Result<(&'static str, String), ProviderFailure> {
        Credential::usable(self.key.as_ref(), variable).map(Credential::bearer)
    }

    /// Sends a request and decodes what comes back.
    pub(crate) async fn ask<D: Decode + Unpin + Send + 'static>(
        &self,
        request: HttpRequest,
        decoder: D,
        delivery: Delivery,
    ) -> Result<ChunkStream, ProviderFailure> {
        answer::ask(&*self.transport, request, decoder, delivery, &self.clock, self.secret()).await
    }

    /// Takes the key out of what a failure quotes.
    pub(crate) fn without_key(&self, failure: ProviderFailure) -> ProviderFailure {
        failure::without(&self.secret(), failure)
    }

    fn secret(&self) -> Secret {
        self.key.as_ref().map(|key| key.secret().clone()).unwrap_or_default()
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the key nor the base URL, which may hold a password.
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}
