//! A result of a server's tool as the model gets it (MCP-50): texts joined, images beside them, anything else in a private file
//! that is named.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zori_core::image::Image;
use zori_core::text;
use zori_core::tool::{ToolCode, ToolOutput};

/// More text than this is cut in the middle, and kept whole in a file.
const MAX_TEXT: usize = 64 << 10;
/// So many images count.
const MAX_IMAGES: usize = 20;

/// Where what does not fit the conversation is put.
pub struct PrivateFiles {
    folder: PathBuf,
    count: AtomicU64,
}

impl PrivateFiles {
    /// Puts files into this folder, which is made when it is needed.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, count: AtomicU64::new(0) }
    }

    fn keep(&self, extension: &str, bytes: &[u8]) -> Option<PathBuf> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).ok()?;
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let path = self.folder.join(format!("{number}.{extension}"));
        let mut file =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
        file.write_all(bytes).ok()?;
        Some(path)
    }

    /// Removes them all.
    pub fn remove(&self) {
        if self.count.load(Ordering::Relaxed) > 0 {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Lays a result out.
pub fn laid_out(result: &Value, files: &PrivateFiles) -> ToolOutput {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for block in result["content"].as_array().into_iter().flatten() {
        texts.extend(laid_out_block(block, &mut images, files));
    }
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    if texts.is_empty() {
        texts.extend(structured.map(Value::to_string));
    }
    let told: String = texts.join("\n").chars().filter(|c| !text::invisible(*c)).collect();
    let told = bounded(told, files);
    if result["isError"] == true {
        let message = if told.is_empty() { "the tool failed and said nothing".to_owned() } else { told };
        return failed(message);
    }
    let told = if told.is_empty() && images.is_empty() { "(no output)".to_owned() } else { told };
    let mut data = json!({ "content": told });
    if let Some(structured) = structured {
        data["structured"] = structured.clone();
    }
    let mut output = ToolOutput::success(&data.to_string());
    output.text = Some(told.into());
    output.images = images;
    output
}

/// A call that the server failed.
pub fn failed(message: String) -> ToolOutput {
    let mut output = ToolOutput::failure_with(ToolCode::ExecError, message.clone(), r#"{"exit_code":1}"#);
    output.text = Some(message.into());
    output
}

fn laid_out_block(block: &Value, images: &mut Vec<Image>, files: &PrivateFiles) -> Option<String> {
    let mime = |value: &Value| value["mimeType"].as_str().unwrap_or("application/octet-stream").to_owned();
    match block["type"].as_str().unwrap_or_default() {
        "text" => block["text"].as_str().map(str::to_owned),
        "image" => image(block["data"].as_str().unwrap_or_default(), &mime(block), images, files),
        "audio" => Some(blob("audio", block["data"].as_str().unwrap_or_default(), &mime(block), files)),
        "resource_link" => {
            let name = block["title"].as_str().or(block["name"].as_str()).unwrap_or_default();
            Some(format!("[resource {} {}]", block["uri"].as_str().unwrap_or_default(), text::one_line(name)))
        }
        "resource" => {
            let resource = &block["resource"];
            let uri = resource["uri"].as_str().unwrap_or_default();
            if let Some(text) = resource["text"].as_str() {
                return Some(format!("[resource {uri}]\n{text}"));
            }
            let (data, mime) = (resource["blob"].as_str().unwrap_or_default(), mime(resource));
            match mime.starts_with("image/") {
                true => image(data, &mime, images, files),
                false => Some(blob("resource", data, &mime, files)),
            }
        }
        other => Some(format!("[content of the type {}]", if other.is_empty() { "none" } else { other })),
    }
}

fn image(data: &str, mime: &str, images: &mut Vec<Image>, files: &PrivateFiles) -> Option<String> {
    if images.len() >= MAX_IMAGES {
        return Some(format!("[one more image, which is left out: only {MAX_IMAGES} count]"));
    }
    match Image::from_base64(data) {
        Ok(image) => {
            images.push(image);
            None
        }
        Err(_) => Some(blob("image", data, mime, files)),
    }
}

fn blob(kind: &str, data: &str, mime: &str, files: &PrivateFiles) -> String {
    let Ok(bytes) = STANDARD.decode(data.trim()) else {
        return format!("[{kind} {mime}, which is not valid base64]");
    };
    let extension = mime.rsplit('/').next().unwrap_or_default();
    let fits =
        !extension.is_empty() && extension.len() <= 8 && extension.chars().all(|c| c.is_ascii_alphanumeric());
    let extension = if fits { extension } else { "bin" };
    match files.keep(extension, &bytes) {
        Some(path) => format!("[{kind} {mime}, {} bytes: {}]", bytes.len(), path.display()),
        None => format!("[{kind} {mime}, {} bytes, which could not be kept]", bytes.len()),
    }
}

/// Cuts a long text in the middle, and keeps the whole.
fn bounded(told: String, files: &PrivateFiles) -> String {
    if told.len() <= MAX_TEXT {
        return told;
    }
    let place = match files.keep("txt", told.as_bytes()) {
        Some(path) => format!("the whole is in {}", path.display()),
        None => "the rest could not be kept".to_owned(),
    };
    let (head, tail) = (text::prefix(&told, MAX_TEXT / 2), text::suffix(&told, MAX_TEXT / 2));
    let left_out = told.len() - head.len() - tail.len();
    format!("{head}\n[{left_out} bytes left out; {place}]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(name: &str) -> PrivateFiles {
        PrivateFiles::new(std::env::temp_dir().join(format!("zori-mcp-{name}-{}", std::process::id())))
    }

    fn text_of(result: Value) -> String {
        laid_out(&result, &files("rows")).text.unwrap().to_string()
    }

    #[test]
    fn every_row_of_the_table() {
        let of = |block: Value| text_of(json!({"content": [block]}));
        assert_eq!(
            text_of(
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b\u{e0041}"}]})
            ),
            "a\nb"
        );
        assert_eq!(
            of(json!({"type": "resource_link", "uri": "file:///x", "name": "x"})),
            "[resource file:///x x]"
        );
        assert_eq!(
            of(json!({"type": "resource", "resource": {"uri": "u:1", "text": "t"}})),
            "[resource u:1]\nt"
        );
        assert_eq!(of(json!({"type": "hologram"})), "[content of the type hologram]");
        assert_eq!(
            of(json!({"type": "audio", "data": "!", "mimeType": "audio/wav"})),
            "[audio audio/wav, which is not valid base64]"
        );
        assert_eq!(text_of(json!({"content": [], "structuredContent": {"n": 1}})), r#"{"n":1}"#);
        assert_eq!(text_of(json!({})), "(no output)");
        let failed =
            laid_out(&json!({"isError": true, "content": [{"type": "text", "text": "no"}]}), &files("e"));
        assert_eq!(failed.failure.unwrap().message, "no");
        let both = json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 1}});
        let both = laid_out(&both, &files("s"));
        assert_eq!(both.envelope.get(), r#"{"ok":true,"data":{"content":"a","structured":{"n":1}}}"#);
    }

    #[test]
    fn what_is_no_text_is_in_a_file() {
        let files = files("blob");
        let result = json!({"content": [{"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}]});
        let told = laid_out(&result, &files).text.unwrap().to_string();
        assert!(told.starts_with("[audio audio/wav, 3 bytes: ") && told.ends_with("/1.wav]"), "{told}");
        let long = laid_out(&json!({"content": [{"type": "text", "text": "x".repeat(70_000)}]}), &files);
        let long = long.text.unwrap();
        assert!(
            long.len() < 66_000 && long.contains("4464 bytes left out; the whole is in "),
            "{}",
            long.len()
        );
        files.remove();
    }
}
