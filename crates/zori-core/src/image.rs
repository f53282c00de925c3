//! Images, as far as a program has to know them that never looks at one: what kind, how large, whether whole.
//!
//! Nothing is decoded. `image/header.rs` reads headers and block lengths, of any bytes.

mod header;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// An image that models take, with its bytes as they came.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    format: ImageFormat,
    width: u32,
    height: u32,
    bytes: Arc<[u8]>,
}

/// The kinds of image that models take.
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
}

/// What bytes are, by the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// An image that models take.
    Like(ImageFormat),
    /// A picture of another kind, by its name.
    Foreign(&'static str),
    /// No picture that is known here.
    Otherwise,
}

/// Why bytes are no image that could be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadImage {
    /// There are none.
    #[error("is empty")]
    Empty,
    /// A picture of a kind that models do not take.
    #[error("is in the format {0}, which models do not take")]
    Foreign(&'static str),
    /// No picture at all.
    #[error("is no image: only PNG, JPEG, GIF and WebP are")]
    NotAnImage,
    /// It stops before its end.
    #[error("is a {} image that is damaged or cut off", .0.as_str())]
    Damaged(ImageFormat),
}

/// Whether a model sees an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It does.
    Clear,
    /// Nobody knows: it is sent, and the provider may refuse it.
    Unknown,
    /// It does not; the text says why, as a sentence without its full stop.
    Not(String),
}

impl ImageFormat {
    /// Every kind.
    pub const ALL: &[Self] = &[Self::Png, Self::Jpeg, Self::Gif, Self::Webp];

    /// Returns the name people use, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }

    /// Returns the name on the wire.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// So many bytes are enough for [`looks`].
pub const LOOK: usize = 512;

/// Tells what bytes are by how they begin; a file's name says nothing.
pub fn looks(bytes: &[u8]) -> Looks {
    header::looks(bytes)
}

impl Image {
    /// Takes bytes that are a whole image.
    pub fn parse(bytes: impl Into<Arc<[u8]>>) -> Result<Self, BadImage> {
        let bytes = bytes.into();
        match looks(&bytes) {
            Looks::Like(format) => match header::size(format, &bytes) {
                Some((width, height)) if width > 0 && height > 0 => Ok(Self { format, width, height, bytes }),
                _ => Err(BadImage::Damaged(format)),
            },
            Looks::Foreign(name) => Err(BadImage::Foreign(name)),
            Looks::Otherwise if bytes.is_empty() => Err(BadImage::Empty),
            Looks::Otherwise => Err(BadImage::NotAnImage),
        }
    }

    /// Takes the bytes back that [`Image::base64`] wrote.
    pub fn from_base64(text: &str) -> Result<Self, BadImage> {
        Self::parse(STANDARD.decode(text).map_err(|_| BadImage::NotAnImage)?)
    }

    /// Returns the bytes as base64, with padding and without line ends.
    pub fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }

    /// Returns which kind it is.
    pub fn format(&self) -> ImageFormat {
        self.format
    }

    /// Returns how many pixels it is wide.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns how many pixels it is high.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the bytes as they came.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// `[image png 640x480 12 kB]`, wherever people or blind models are told of it.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, width, height, bytes } = self;
        write!(f, "[image {} {width}x{height} {}]", format.as_str(), size_in_words(bytes.len() as u64))
    }
}

/// The bytes themselves say nothing to anybody.
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
