//! A `Transport` that adds what a user wants with every request to a provider of their own: headers and a query.

use std::sync::Arc;

use zori_core::BoxFuture;
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};

use crate::catalog::Custom;

/// Adds headers and a query to every request.
pub struct CustomTransport {
    inner: Arc<dyn Transport>,
    custom: &'static Custom,
}

impl CustomTransport {
    /// Returns a transport that sends through another one.
    pub fn new(inner: Arc<dyn Transport>, custom: &'static Custom) -> Self {
        Self { inner, custom }
    }
}

impl Transport for CustomTransport {
    fn send(&self, mut request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        let Custom { headers, query } = self.custom;
        for (name, value) in *headers {
            // Theirs is the last word, also on a header that the API has.
            request.headers.retain(|(known, _)| known != name);
            request.headers.push(((*name).into(), (*value).to_owned()));
        }
        if !query.is_empty() {
            let separator = if request.url.contains('?') { '&' } else { '?' };
            request.url = format!("{}{separator}{query}", request.url);
        }
        self.inner.send(request)
    }
}
