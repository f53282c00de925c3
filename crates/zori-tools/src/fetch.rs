//! The `web_fetch` tool: one GET through the program's own transport, bounded in time and size, as text.
//!
//! Permissions decide which hosts may be contacted, before this runs. [`url`] says which URLs make sense at all,
//! [`page`] turns a body into text.

mod html;
pub mod page;
pub mod url;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};
use zori_core::transport::{
    Addresses, ByteStream, HttpRequest, HttpResponse, Method, Redirects, Timeouts, TransportFailure,
    named_headers,
};

use crate::blocking;
use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;
use crate::fetch::page::{Page, PageKind};

/// How much of a body is read.
const MAX_BODY: usize = 5 << 20;

/// How much of an error page is quoted.
const MAX_QUOTE: usize = 300;

const LIMITS: Timeouts = Timeouts {
    connect: Some(Duration::from_secs(15)),
    first_byte: Some(Duration::from_secs(60)),
    idle: Some(Duration::from_secs(30)),
    pings: None,
};

/// The definition of `web_fetch`.
pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Fetch,
    about: "Fetch a web page; HTML becomes text.",
    params: &[
        Param { name: "url", aliases: &["uri"], ty: Ty::Text, need: Need::Required, about: "http or https" },
        Param { name: "raw", aliases: &[], ty: Ty::Flag, need: Need::Optional, about: "return HTML source" },
    ],
};

pub struct Fetch {
    env: Arc<ToolEnv>,
}

impl Fetch {
    pub fn new(env: Arc<ToolEnv>) -> Self {
        Self { env }
    }
}

#[derive(Deserialize)]
struct FetchArgs {
    url: String,
    raw: Option<bool>,
}

impl FetchArgs {
    fn parse(args: &RawValue) -> Self {
        serde_json::from_str(args.get()).expect("arguments are checked before a tool sees them")
    }
}

impl Tool for Fetch {
    fn kind(&self) -> Option<ToolKind> {
        Some(ToolKind::Fetch)
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        vec![Effect::Net { url: FetchArgs::parse(args).url }]
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args = FetchArgs::parse(args);
        Box::pin(async move {
            let work = async { self.fetch(cx, args).await.unwrap_or_else(|failure| failure) };
            blocking::within(self.env.timeout, work).await
        })
    }
}

impl Fetch {
    async fn fetch(&self, cx: ToolCx, args: FetchArgs) -> Result<ToolOutput, ToolOutput> {
        url::check(&args.url).map_err(|error| {
            ToolOutput::failure(ToolCode::InvalidInput, format!("`url` cannot be fetched: {error}"))
        })?;
        // An address in the URL itself was judged; a name has to lead to one that may be contacted.
        let addresses = match cx.snapshot.obligations().private_addresses {
            true => Addresses::NotLinkLocal,
            false => Addresses::Public,
        };
        let sent = self.env.transport.send(request(args.url, addresses)).await;
        let mut response = sent.map_err(|error| match error {
            TransportFailure::Redirect(place) => failed(format!(
                "it redirects to {place}, which is another place: fetch that with a call of its own"
            )),
            error => lost(&error),
        })?;
        let kind = PageKind::of(&response);
        if !(200..300).contains(&response.status) {
            return Err(refused(&mut response, kind).await);
        }
        if let Some(encoding) = response.header("content-encoding").filter(|value| *value != "identity") {
            return Err(failed(format!(
                "{} sent a body encoded with {encoding}, which was not asked for",
                response.url
            )));
        }
        let Some(kind) = kind else {
            let mime = response.header("content-type").unwrap_or_default();
            return Err(failed(format!(
                "{} is {mime}, not text; download it with `bash` if it is needed",
                response.url
            )));
        };
        let (body, cut) = read(&mut response.body, MAX_BODY).await.map_err(|e| lost(&e))?;
        let page = Page {
            url: response.url,
            status: response.status,
            content_type: response
                .headers
                .into_iter()
                .find(|(name, _)| name == "content-type")
                .map(|(_, v)| v),
            kind: if args.raw == Some(true) { PageKind::Text } else { kind },
            body,
            cut,
        };
        // Rendering takes a moment for a large page; the time limit is the one around all of this.
        Ok(blocking::run(cx.cancel, None, move |cancel| page.output(cancel)).await)
    }
}

fn request(url: String, addresses: Addresses) -> HttpRequest {
    HttpRequest {
        method: Method::Get,
        url,
        headers: named_headers([
            ("accept", "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5".to_owned()),
            ("user-agent", "zori".to_owned()),
        ]),
        body: Default::default(),
        limits: LIMITS,
        // Another place is another call, which is judged by itself.
        redirects: Redirects::SameOrigin,
        addresses,
    }
}

/// Reads at most `max` bytes, and says whether there are more.
async fn read(stream: &mut ByteStream, max: usize) -> Result<(Vec<u8>, bool), TransportFailure> {
    let mut body = Vec::new();
    while let Some(chunk) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        let chunk = chunk?;
        let room = max - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            return Ok((body, true));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((body, false))
}

/// Returns the failure for a status other than success; it quotes the beginning of the page.
async fn refused(response: &mut HttpResponse, kind: Option<PageKind>) -> ToolOutput {
    let said = match kind {
        Some(kind) => match read(&mut response.body, MAX_QUOTE * 16).await {
            Ok((body, _)) => page::quote(&body, kind, MAX_QUOTE),
            Err(_) => String::new(),
        },
        None => String::new(),
    };
    let separator = if said.is_empty() { "" } else { ": " };
    failed(format!("HTTP {} from {}{separator}{said}", response.status, response.url))
}

fn lost(error: &TransportFailure) -> ToolOutput {
    failed(error.to_string())
}

fn failed(message: String) -> ToolOutput {
    ToolOutput::failure(ToolCode::FetchError, message)
}

#[cfg(test)]
mod tests;
