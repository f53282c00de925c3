//! Images and PDF documents that `read` recognises by their first bytes, whatever the file is called. The model gets the image itself.

use std::io::{Read, Seek};
use std::path::Path;

use serde::Serialize;
use zori_core::image::{self, BadImage, Image, ImageFormat, Signature, size_in_words};
use zori_core::tool::{ToolCode, ToolOutput};

use crate::paths;
use crate::textfile::{FileError, Opened};

/// The largest image that is read; as base64 it is what the strictest vendor takes.
const MAX_IMAGE: u64 = 3_932_160;
/// The largest document; as base64 it still fits into a request.
const MAX_DOCUMENT: u64 = 14_000_000;

/// Whether a file is an image.
pub(super) enum ImageCheck {
    /// No image: the file is at its start again.
    Otherwise(Opened),
    /// An image, or why it cannot be returned.
    Answered(ToolOutput),
}

#[derive(Serialize)]
struct Data {
    path: String,
    image: &'static str,
    width: u32,
    height: u32,
    bytes: u64,
}

/// Looks at the first bytes, and reads the rest if they are an image's.
pub(super) fn look(path: &Path, mut opened: Opened) -> Result<ImageCheck, ToolOutput> {
    let failed = |error| FileError::from_io(path, error).output();
    let mut bytes = Vec::new();
    (&mut opened.file).take(image::LOOK as u64).read_to_end(&mut bytes).map_err(failed)?;
    match image::signature(&bytes) {
        Signature::Supported(format) if opened.meta.len > most(format) => {
            Ok(ImageCheck::Answered(too_large(path, &opened, format)))
        }
        Signature::Supported(format) => {
            (&mut opened.file).take(most(format)).read_to_end(&mut bytes).map_err(failed)?;
            Ok(ImageCheck::Answered(answer(path, &opened, bytes)))
        }
        // A drawing in text is worth reading as text.
        Signature::Unsupported(name) if name != "SVG" => {
            Ok(ImageCheck::Answered(refusal(path, &BadImage::Foreign(name))))
        }
        Signature::Unsupported(_) | Signature::Unknown => {
            opened.file.rewind().map_err(failed)?;
            Ok(ImageCheck::Otherwise(opened))
        }
    }
}

fn answer(path: &Path, opened: &Opened, bytes: Vec<u8>) -> ToolOutput {
    let image = match Image::parse(bytes) {
        Ok(image) => image,
        Err(bad) => return refusal(path, &bad),
    };
    if image.format().is_document() {
        let data = serde_json::json!({
            "path": paths::shown(&opened.real), "document": image.format().as_str(), "bytes": image.bytes().len(),
        });
        return ToolOutput { images: vec![image], ..ToolOutput::success(&data.to_string()) };
    }
    let data = Data {
        path: paths::shown(&opened.real),
        image: image.format().as_str(),
        width: image.width(),
        height: image.height(),
        bytes: image.bytes().len() as u64,
    };
    let data = serde_json::to_string(&data).expect("strings and numbers are JSON");
    ToolOutput { images: vec![image], ..ToolOutput::success(&data) }
}

fn refusal(path: &Path, bad: &BadImage) -> ToolOutput {
    let advice = match bad {
        BadImage::Foreign(_) => "convert it to PNG in the shell",
        _ => "inspect it with `file` in the shell",
    };
    ToolOutput::failure(ToolCode::ReadError, format!("{} {bad}; {advice}", path.display()))
}

fn most(format: ImageFormat) -> u64 {
    if format.is_document() { MAX_DOCUMENT } else { MAX_IMAGE }
}

fn too_large(path: &Path, opened: &Opened, format: ImageFormat) -> ToolOutput {
    let (size, most) = (size_in_words(opened.meta.len), size_in_words(most(format)));
    if format.is_document() {
        let message = format!(
            "{} is a {} document of {size}; documents of up to {most} can be shown: take the text out of it in the shell",
            path.display(),
            format.as_str()
        );
        return ToolOutput::failure(ToolCode::ReadError, message);
    }
    let message = format!(
        "{} is an image of {size}; images of up to {most} can be shown: make a smaller one in the shell",
        path.display()
    );
    ToolOutput::failure(ToolCode::ReadError, message)
}
