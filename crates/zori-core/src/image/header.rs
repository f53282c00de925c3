//! Headers of images: what kind, how many pixels, and whether the bytes go on to the end.
//!
//! Every function takes any bytes: what is not there is `None`, and lengths are only ever used to look further.

use super::{ImageFormat, Signature};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Pictures that models do not take, by how they begin.
const FOREIGN: &[(&[u8], &str)] = &[
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"\0\0\x01\0", "ICO"),
    (b"8BPS", "Photoshop"),
    (b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\0\0\0\x0cJXL ", "JPEG XL"),
];

/// Kinds of the container that phones save pictures in, by its brand.
const BRANDS: &[(&[u8; 4], &str)] = &[
    (b"heic", "HEIC"),
    (b"heix", "HEIC"),
    (b"hevc", "HEIC"),
    (b"heim", "HEIC"),
    (b"heis", "HEIC"),
    (b"mif1", "HEIF"),
    (b"msf1", "HEIF"),
    (b"avif", "AVIF"),
    (b"avis", "AVIF"),
];

pub(super) fn signature(bytes: &[u8]) -> Signature {
    let format = match bytes {
        _ if bytes.starts_with(PNG) => ImageFormat::Png,
        _ if bytes.starts_with(b"%PDF-") => ImageFormat::Pdf,
        [0xff, 0xd8, 0xff, ..] => ImageFormat::Jpeg,
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => ImageFormat::Gif,
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => ImageFormat::Webp,
        _ => return foreign(bytes).map_or(Signature::Unknown, Signature::Unsupported),
    };
    Signature::Supported(format)
}

fn foreign(bytes: &[u8]) -> Option<&'static str> {
    if let Some((_, name)) = FOREIGN.iter().find(|(start, _)| bytes.starts_with(start)) {
        // Two letters begin many a text, too; in a picture the bytes behind them are numbers.
        let bitmap = *name != "BMP" || bytes.get(6..10) == Some(&[0; 4]);
        return bitmap.then_some(*name);
    }
    if bytes.get(4..8) == Some(b"ftyp") {
        let brand = bytes.get(8..12)?;
        return BRANDS.iter().find(|(known, _)| *known == brand).map(|(_, name)| *name);
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(super::LOOK)]);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let markup = text.starts_with("<svg") || text.starts_with("<?xml") || text.starts_with("<!");
    (markup && text.contains("<svg")).then_some("SVG")
}

/// Returns width and height; `None` where the image is damaged or stops before its end.
pub(super) fn size(format: ImageFormat, bytes: &[u8]) -> Option<(u32, u32)> {
    match format {
        ImageFormat::Png => png(bytes),
        ImageFormat::Jpeg => jpeg(bytes),
        ImageFormat::Gif => gif(bytes),
        ImageFormat::Webp => webp(bytes),
        ImageFormat::Pdf => pdf(bytes),
    }
}

/// A document has no size in pixels; its last line says that it is the end, and some programs put a little behind it.
fn pdf(bytes: &[u8]) -> Option<(u32, u32)> {
    let end = &bytes[bytes.len().saturating_sub(1024)..];
    end.windows(5).any(|window| window == b"%%EOF").then_some((0, 0))
}

/// Chunks of a length, a name, content and a checksum; the first holds the size, the last is `IEND`.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let found = (bytes.get(12..16)? == b"IHDR").then_some((be32(bytes, 16)?, be32(bytes, 20)?))?;
    let mut at = PNG.len();
    loop {
        let name = bytes.get(at + 4..at + 8)?;
        let end = at.checked_add(12)?.checked_add(be32(bytes, at)? as usize)?;
        if end > bytes.len() {
            return None;
        }
        if name == b"IEND" {
            return Some(found);
        }
        at = end;
    }
}

/// Segments of a mark and a length up to the frame's, which holds the size; behind it, the end mark.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let [0xff, mark] = *bytes.get(at..at + 2)? else { return None };
        match mark {
            // Fill bytes, and marks without a length.
            0xff => at += 1,
            0x01 | 0xd0..=0xd7 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let found = (be16(bytes, at + 7)?, be16(bytes, at + 5)?);
                return bytes.get(at + 9..)?.windows(2).any(|pair| pair == [0xff, 0xd9]).then_some(found);
            }
            // The picture itself, or its end, before anything said how large it is.
            0xd8..=0xda => return None,
            _ => at = at.checked_add(2)?.checked_add(be16(bytes, at + 2)?.max(2) as usize)?,
        }
    }
}

/// A header with the size, then blocks made of pieces that say their length, up to `;`.
fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    let found = (le16(bytes, 6)?, le16(bytes, 8)?);
    let mut at = 13 + colours(*bytes.get(10)?);
    loop {
        at = match *bytes.get(at)? {
            b';' => return Some(found),
            b'!' => pieces(bytes, at + 2)?,
            b',' => pieces(bytes, at + 11 + colours(*bytes.get(at + 9)?))?,
            _ => return None,
        };
    }
}

/// Returns how long a colour table is, by the flags before it.
fn colours(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Returns where a chain of pieces ends.
fn pieces(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            0 => return Some(at + 1),
            len => at += 1 + usize::from(len),
        }
    }
}

/// A container that says its length; the first chunk is one of three kinds, each with the size at another place.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    if (bytes.len() as u64) < u64::from(le32(bytes, 4)?) + 8 {
        return None;
    }
    match bytes.get(12..16)? {
        b"VP8 " => Some((le16(bytes, 26)? & 0x3fff, le16(bytes, 28)? & 0x3fff)),
        b"VP8L" => {
            let bits = le32(bytes, 21)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8X" => {
            let three = |at| Some(le16(bytes, at)? | u32::from(*bytes.get(at + 2)?) << 16);
            Some((three(24)? + 1, three(27)? + 1))
        }
        _ => None,
    }
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_be_bytes(bytes.get(at..)?.first_chunk().copied()?).into())
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?).into())
}
