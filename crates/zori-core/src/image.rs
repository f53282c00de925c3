//! Images, and PDF documents, which models see in the same way: format, size, and whether they are complete. Nothing is decoded; `image/header.rs` reads headers and block
//! lengths.

mod header;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// An image in a format that models accept, with its original bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    format: ImageFormat,
    width: u32,
    height: u32,
    bytes: Arc<[u8]>,
}

/// The image formats that models accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
    /// A PDF document, which has pages in the place of pixels.
    Pdf,
}

/// What bytes are, by their first few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// An image in an accepted format.
    Supported(ImageFormat),
    /// An image in another format, by its name.
    Unsupported(&'static str),
    /// No known image format.
    Unknown,
}

/// Why bytes cannot be sent as an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadImage {
    /// There are no bytes.
    #[error("is empty")]
    Empty,
    /// An image in a format that models do not accept.
    #[error("is in the format {0}, which models do not take")]
    Foreign(&'static str),
    /// Not an image.
    #[error("is no image: only PNG, JPEG, GIF and WebP are")]
    NotAnImage,
    /// The image is incomplete.
    #[error("is a {} {} that is damaged or cut off", .0.as_str(), .0.noun())]
    Damaged(ImageFormat),
}

/// Whether a model supports an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSupport {
    /// The model accepts the image.
    Supported,
    /// Unknown: the image is sent, and the provider may refuse it.
    Unknown,
    /// The model does not accept the image; the text says why, as a sentence without its full stop.
    Unsupported(String),
}

impl ImageFormat {
    /// Every format of pictures.
    pub const ALL: &[Self] = &[Self::Png, Self::Jpeg, Self::Gif, Self::Webp];
    /// The same and documents.
    pub const WITH_DOCUMENTS: &[Self] = &[Self::Png, Self::Jpeg, Self::Gif, Self::Webp, Self::Pdf];

    /// Returns the name people use, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Gif => "gif",
            Self::Webp => "webp",
            Self::Pdf => "pdf",
        }
    }

    /// Returns the name on the wire.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
        }
    }

    /// Returns whether it is a document, which APIs take by another way than pictures.
    pub fn is_document(self) -> bool {
        self == Self::Pdf
    }

    /// Returns what such a thing is called.
    pub fn noun(self) -> &'static str {
        if self.is_document() { "document" } else { "image" }
    }
}

/// How many bytes [`signature`] needs.
pub const LOOK: usize = 512;

/// Tells what bytes are by how they begin; a file's name says nothing.
pub fn signature(bytes: &[u8]) -> Signature {
    header::signature(bytes)
}

impl Image {
    /// Parses the bytes of a complete image.
    pub fn parse(bytes: impl Into<Arc<[u8]>>) -> Result<Self, BadImage> {
        let bytes = bytes.into();
        match signature(&bytes) {
            Signature::Supported(format) => match header::size(format, &bytes) {
                Some((width, height)) if format.is_document() || (width > 0 && height > 0) => {
                    Ok(Self { format, width, height, bytes })
                }
                _ => Err(BadImage::Damaged(format)),
            },
            Signature::Unsupported(name) => Err(BadImage::Foreign(name)),
            Signature::Unknown if bytes.is_empty() => Err(BadImage::Empty),
            Signature::Unknown => Err(BadImage::NotAnImage),
        }
    }

    /// Parses what [`Image::base64`] wrote.
    pub fn from_base64(text: &str) -> Result<Self, BadImage> {
        Self::parse(STANDARD.decode(text).map_err(|_| BadImage::NotAnImage)?)
    }

    /// Returns the bytes as base64, with padding and without line ends.
    pub fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }

    /// Returns the format that the header told.
    pub fn format(&self) -> ImageFormat {
        self.format
    }

    /// Returns the width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the original bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// `[image png 640x480 12 kB]`, for people and for models that do not see it.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, width, height, bytes } = self;
        if format.is_document() {
            return write!(f, "[document {} {}]", format.as_str(), size_in_words(bytes.len() as u64));
        }
        write!(f, "[image {} {width}x{height} {}]", format.as_str(), size_in_words(bytes.len() as u64))
    }
}

/// Leaves out the bytes.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns a number of bytes as people say it: `67 bytes`, `12 kB`, `3.9 MB`.
pub fn size_in_words(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests;
