//! What the user says, from the blocks an editor sends: words, images, files it embeds and files it points at.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};
use zori_core::image::Image;
use zori_core::input::Prompt;

use crate::error::RequestError;

/// Reads a prompt. The order of the words is kept; images stand before them, as everywhere.
pub(crate) fn read(blocks: Vec<ContentBlock>) -> Result<Prompt, Error> {
    let mut prompt = Prompt::from("");
    for (index, block) in blocks.into_iter().enumerate() {
        let place = format!("prompt[{index}]");
        match block {
            ContentBlock::Text(block) => prompt.text.push_str(&block.text),
            ContentBlock::Image(block) => prompt.images.push(image(&block.data, &place)?),
            ContentBlock::ResourceLink(link) => prompt.text.push_str(&named(&link.name, &link.uri)),
            ContentBlock::Resource(embedded) => match embedded.resource {
                EmbeddedResourceResource::TextResourceContents(file) => {
                    prompt.text.push_str(&enclosed(&file.uri, &file.text));
                }
                EmbeddedResourceResource::BlobResourceContents(file)
                    if file
                        .mime_type
                        .as_deref()
                        .is_some_and(|kind| kind.starts_with("image/") || kind == "application/pdf") =>
                {
                    prompt.images.push(image(&file.blob, &place)?);
                }
                EmbeddedResourceResource::BlobResourceContents(file) => {
                    let what = file.mime_type.as_deref().unwrap_or("unknown kind");
                    let why = format!("`{place}`: `{}` is neither text nor an image ({what})", file.uri);
                    return Err(RequestError::invalid(why).into());
                }
                _ => {
                    return Err(
                        RequestError::invalid(format!("`{place}` is a resource of an unknown kind")).into()
                    );
                }
            },
            ContentBlock::Audio(_) => {
                return Err(RequestError::invalid(format!("`{place}` is audio, which is not offered")).into());
            }
            _ => return Err(RequestError::invalid(format!("`{place}` is content of an unknown kind")).into()),
        }
    }
    if prompt.text.trim().is_empty() && prompt.images.is_empty() {
        return Err(RequestError::invalid("the prompt is empty").into());
    }
    Ok(prompt)
}

fn image(data: &str, place: &str) -> Result<Image, Error> {
    Image::from_base64(data).map_err(|bad| RequestError::invalid(format!("`{place}` {bad}")).into())
}

/// A file the model can read itself, by its path where it has one.
fn named(name: &str, uri: &str) -> String {
    match path(uri) {
        Some(path) => format!("@{path}"),
        None => format!("[{name}]({uri})"),
    }
}

/// A file the editor shows as it is there, with changes that are not saved.
fn enclosed(uri: &str, text: &str) -> String {
    let name = path(uri).unwrap_or_else(|| uri.to_owned());
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("\n<file path=\"{name}\">\n{text}{end}</file>\n")
}

/// Returns the path of a `file:` address.
fn path(uri: &str) -> Option<String> {
    let path = uri.strip_prefix("file://")?;
    if !path.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(blocks: serde_json::Value) -> Result<(String, usize), String> {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        read(blocks).map(|prompt| (prompt.text, prompt.images.len())).map_err(|error| error.message)
    }

    /// A PNG of one pixel.
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    #[test]
    fn what_editors_send() {
        let link = json!({"type": "resource_link", "name": "main.rs", "uri": "file:///w/src/my%20main.rs"});
        let page = json!({"type": "resource_link", "name": "Docs", "uri": "https://example.org/x"});
        let file = json!({"type": "resource", "resource": {"uri": "file:///w/a.txt", "text": "one"}});
        let image = json!({"type": "image", "mimeType": "image/png", "data": PIXEL});
        let blob =
            json!({"type": "resource", "resource": {"uri": "x:1", "mimeType": "image/png", "blob": PIXEL}});
        for (blocks, wanted) in [
            (json!([{"type": "text", "text": "Look at "}, link]), ("Look at @/w/src/my main.rs", 0)),
            (json!([page]), ("[Docs](https://example.org/x)", 0)),
            (
                json!([{"type": "text", "text": "Fix"}, file]),
                ("Fix\n<file path=\"/w/a.txt\">\none\n</file>\n", 0),
            ),
            (json!([image, {"type": "text", "text": "?"}, blob]), ("?", 2)),
        ] {
            assert_eq!(said(blocks), Ok((wanted.0.to_owned(), wanted.1)));
        }
    }

    #[test]
    fn what_cannot_be_sent() {
        for (blocks, wanted) in [
            (json!([]), "the prompt is empty"),
            (json!([{"type": "text", "text": " \n"}]), "the prompt is empty"),
            (
                json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]),
                "`prompt[0]` is audio, which is not offered",
            ),
            (json!([{"type": "image", "data": "", "mimeType": "image/png"}]), "`prompt[0]` is empty"),
            (
                json!([{"type": "resource", "resource": {"uri": "x:1", "blob": "AA==", "mimeType": "a/b"}}]),
                "`prompt[0]`: `x:1` is neither text nor an image (a/b)",
            ),
        ] {
            assert_eq!(said(blocks), Err(wanted.to_owned()));
        }
    }
}
