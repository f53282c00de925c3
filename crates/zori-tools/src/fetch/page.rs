//! A fetched page, turned into text of bounded size.

use serde::Serialize;
use zori_core::cancel::Cancel;
use zori_core::text::prefix;
use zori_core::tool::ToolOutput;
use zori_core::transport::HttpResponse;

use super::html;
use crate::walk::start::cancelled;

/// How much text a result holds.
const MAX_TEXT: usize = 100 << 10;

/// How a body becomes text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// It is rendered.
    Html,
    /// It is taken as it is; bytes that are not UTF-8 are replaced.
    Text,
}

impl PageKind {
    /// Returns how to turn a response's body into text; `None` if it is not text.
    pub fn of(response: &HttpResponse) -> Option<Self> {
        // Without a type it is most often text; a wrong guess shows.
        let Some(value) = response.header("content-type") else { return Some(Self::Text) };
        let mime = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let (top, sub) = mime.split_once('/').unwrap_or((&mime, ""));
        let is_text = top == "text"
            || ["json", "+json", "xml", "+xml", "yaml", "javascript", "toml", "x-sh"]
                .iter()
                .any(|end| sub.ends_with(end))
            || mime.is_empty();
        match mime.as_str() {
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            _ if is_text => Some(Self::Text),
            _ => None,
        }
    }
}

/// A page that was fetched.
pub struct Page {
    /// The URL that answered.
    pub url: String,
    pub status: u16,
    /// The type, as the server gave it.
    pub content_type: Option<String>,
    /// How the body becomes text.
    pub kind: PageKind,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// Whether it is only the beginning.
    pub cut: bool,
}

#[derive(Serialize)]
struct Data<'a> {
    url: &'a str,
    status: u16,
    content_type: &'a str,
    content: &'a str,
    truncated: bool,
}

impl Page {
    /// Returns the result for the model.
    pub fn output(&self, cancel: &Cancel) -> ToolOutput {
        let Some(text) = text(&self.body, self.kind, cancel) else { return cancelled() };
        let content = prefix(&text, MAX_TEXT);
        let data = Data {
            url: &self.url,
            status: self.status,
            content_type: self.content_type.as_deref().unwrap_or_default(),
            content,
            truncated: self.cut || content.len() < text.len(),
        };
        ToolOutput::success(&serde_json::to_string(&data).expect("strings and numbers are JSON"))
    }
}

/// Returns the beginning of a page on one line, to be quoted in a message.
pub fn quote(body: &[u8], kind: PageKind, max: usize) -> String {
    let text = text(body, kind, &Cancel::new()).unwrap_or_default();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    prefix(&words, max).to_owned()
}

/// Returns a body's text; `None` if the call was cancelled.
fn text(body: &[u8], kind: PageKind, cancel: &Cancel) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    match kind {
        PageKind::Html => html::text(&text, cancel),
        PageKind::Text => Some(text.into_owned()),
    }
}
