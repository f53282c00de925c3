//! A screen as a PNG: cells, drawn with a monospaced font of the machine.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use fontdue::{Font, FontSettings};
use zori_testkit::terminal::{Cell, Colour};

/// The size of a cell, and of the letters in it.
const CELL: (usize, usize) = (10, 21);
const LETTERS: f32 = 16.0;
const BASELINE: i32 = 16;
const MARGIN: usize = 8;

/// Where fonts are, and those that are tried, best first.
const FOLDERS: &[&str] =
    &["/usr/share/fonts", "/usr/local/share/fonts", "/Library/Fonts", "/System/Library/Fonts"];
const FONTS: &[(&str, &str)] = &[
    ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"),
    ("LiberationMono-Regular.ttf", "LiberationMono-Bold.ttf"),
];
/// What has the signs that the first one lacks.
const MORE: &[&str] = &["DejaVuSans.ttf", "NotoSansCJK-Regular.ttc", "unifont.otf"];

type Rgb = [u8; 3];

/// The colours a terminal has of its own.
#[derive(Clone, Copy, Debug)]
pub struct Ground {
    pub foreground: Rgb,
    pub background: Rgb,
    /// The first eight and the bright eight.
    pub ansi: [Rgb; 16],
}

/// Light letters on dark ground, with the colours many terminals have.
pub const DARK: Ground = Ground {
    foreground: [0xd8, 0xde, 0xe9],
    background: [0x14, 0x17, 0x1c],
    ansi: [
        [0x24, 0x2a, 0x33],
        [0xf1, 0x4c, 0x4c],
        [0x23, 0xd1, 0x8b],
        [0xe5, 0xb5, 0x3b],
        [0x3b, 0x8e, 0xea],
        [0xd6, 0x70, 0xd6],
        [0x29, 0xb8, 0xdb],
        [0xc5, 0xc8, 0xc6],
        [0x66, 0x66, 0x66],
        [0xff, 0x7b, 0x72],
        [0x7e, 0xe7, 0x87],
        [0xf2, 0xc1, 0x4e],
        [0x7a, 0xb8, 0xff],
        [0xd2, 0xa8, 0xff],
        [0x6f, 0xd3, 0xc7],
        [0xff, 0xff, 0xff],
    ],
};

/// Dark letters on light ground.
pub const LIGHT: Ground = Ground {
    foreground: [0x1c, 0x1f, 0x24],
    background: [0xff, 0xff, 0xff],
    ansi: [
        [0x00, 0x00, 0x00],
        [0xb3, 0x26, 0x1e],
        [0x1e, 0x6e, 0x34],
        [0x8a, 0x5a, 0x00],
        [0x1f, 0x5f, 0xbf],
        [0x7a, 0x3f, 0xa8],
        [0x0b, 0x6e, 0x75],
        [0x55, 0x55, 0x55],
        [0x66, 0x66, 0x66],
        [0xcd, 0x31, 0x31],
        [0x14, 0xce, 0x14],
        [0xb5, 0xba, 0x00],
        [0x04, 0x51, 0xa5],
        [0xbc, 0x05, 0xbc],
        [0x05, 0x98, 0xbc],
        [0xa5, 0xa5, 0xa5],
    ],
};

/// The fonts of a picture.
pub struct Fonts {
    plain: Font,
    bold: Font,
    more: Vec<Font>,
}

impl Fonts {
    /// Finds fonts on this machine.
    pub fn find() -> Result<Self> {
        let find = |name: &str| FOLDERS.iter().find_map(|folder| find_below(Path::new(folder), name));
        let load = |path: &Path| -> Result<Font> {
            let bytes = std::fs::read(path)?;
            Font::from_bytes(bytes, FontSettings::default())
                .map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))
        };
        let (plain, bold) = FONTS
            .iter()
            .find_map(|(plain, bold)| Some((find(plain)?, find(bold)?)))
            .context("no monospaced font was found; install DejaVu Sans Mono")?;
        let more = MORE.iter().filter_map(|name| find(name)).filter_map(|path| load(&path).ok()).collect();
        Ok(Self { plain: load(&plain)?, bold: load(&bold)?, more })
    }

    fn with(&self, c: char, bold: bool) -> &Font {
        let first = if bold { &self.bold } else { &self.plain };
        let has = |font: &&Font| font.lookup_glyph_index(c) != 0;
        std::iter::once(first).chain(&self.more).find(has).unwrap_or(first)
    }
}

fn find_below(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            folders.push(path);
        } else if path.file_name().is_some_and(|found| found == name) {
            return Some(path);
        }
    }
    folders.iter().find_map(|folder| find_below(folder, name))
}

/// Draws the cells; returns the file.
pub fn draw(cells: &[Vec<Cell>], ground: &Ground, fonts: &Fonts, cursor: (usize, usize)) -> Result<Vec<u8>> {
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let (width, height) = (columns * CELL.0 + 2 * MARGIN, cells.len() * CELL.1 + 2 * MARGIN);
    let mut image = Image { width, pixels: vec![ground.background; width * height] };
    for (row, line) in cells.iter().enumerate() {
        for (column, cell) in line.iter().enumerate() {
            image.cell(row, column, cell, ground, fonts);
        }
    }
    image.frame(cursor, ground.foreground);
    encode(&image, width, height)
}

struct Image {
    width: usize,
    pixels: Vec<Rgb>,
}

impl Image {
    fn cell(&mut self, row: usize, column: usize, cell: &Cell, ground: &Ground, fonts: &Fonts) {
        let mut ink = colour(cell.foreground, ground).unwrap_or(ground.foreground);
        let mut paper = colour(cell.background, ground).unwrap_or(ground.background);
        if cell.inverse {
            std::mem::swap(&mut ink, &mut paper);
        }
        if cell.dim {
            ink = mix(ink, paper, 0.6);
        }
        let (x, y) = (MARGIN + column * CELL.0, MARGIN + row * CELL.1);
        // The second half of a wide character has been painted with the first.
        let wide = if cell.text.is_empty() { 0 } else { CELL.0 };
        for dy in 0..CELL.1 {
            for dx in 0..wide {
                self.pixels[(y + dy) * self.width + x + dx] = paper;
            }
        }
        for c in cell.text.chars().filter(|c| *c != ' ') {
            let (metrics, coverage) = fonts.with(c, cell.bold).rasterize(c, LETTERS);
            for (i, covered) in coverage.iter().enumerate() {
                let px = x as i32 + metrics.xmin + (i % metrics.width) as i32;
                let py =
                    y as i32 + BASELINE - metrics.ymin - metrics.height as i32 + (i / metrics.width) as i32;
                self.blend(px, py, ink, f32::from(*covered) / 255.0);
            }
        }
        if cell.underline {
            for dx in 0..CELL.0 {
                self.blend((x + dx) as i32, y as i32 + BASELINE + 2, ink, 1.0);
            }
        }
    }

    /// Shows where the cursor is.
    fn frame(&mut self, (row, column): (usize, usize), ink: Rgb) {
        let (x, y) = (MARGIN + column * CELL.0, MARGIN + row * CELL.1);
        for dy in 0..CELL.1 {
            for dx in 0..2 {
                self.blend((x + dx) as i32, (y + dy) as i32, ink, 0.9);
            }
        }
    }

    fn blend(&mut self, x: i32, y: i32, ink: Rgb, part: f32) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return };
        if x < self.width
            && let Some(pixel) = self.pixels.get_mut(y * self.width + x)
        {
            *pixel = mix(ink, *pixel, part);
        }
    }
}

fn mix(over: Rgb, under: Rgb, part: f32) -> Rgb {
    std::array::from_fn(|i| (f32::from(over[i]) * part + f32::from(under[i]) * (1.0 - part)).round() as u8)
}

/// Returns the colour a terminal shows for what the program named.
pub fn colour(colour: Colour, ground: &Ground) -> Option<Rgb> {
    match colour {
        Colour::Default => None,
        Colour::Rgb(red, green, blue) => Some([red, green, blue]),
        Colour::Indexed(index @ 0..16) => Some(ground.ansi[usize::from(index)]),
        Colour::Indexed(index @ 16..232) => {
            let part = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let index = index - 16;
            Some([part(index / 36), part(index / 6 % 6), part(index % 6)])
        }
        Colour::Indexed(index) => Some([8 + 10 * (index - 232); 3]),
    }
}

fn encode(image: &Image, width: usize, height: usize) -> Result<Vec<u8>> {
    let mut raw = Vec::with_capacity(image.pixels.len() * 3 + height);
    for row in image.pixels.chunks(width) {
        raw.push(0);
        raw.extend(row.iter().flatten());
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&raw)?;
    let mut head = Vec::new();
    head.extend(u32::try_from(width)?.to_be_bytes());
    head.extend(u32::try_from(height)?.to_be_bytes());
    head.extend([8, 2, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, b"IHDR", &head)?;
    chunk(&mut file, b"IDAT", &packed.finish()?)?;
    chunk(&mut file, b"IEND", &[])?;
    Ok(file)
}

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) -> Result<()> {
    file.extend(u32::try_from(data.len())?.to_be_bytes());
    let mut sum = flate2::Crc::new();
    sum.update(name);
    sum.update(data);
    file.extend(name);
    file.extend(data);
    file.extend(sum.sum().to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_terminal() {
        assert_eq!(colour(Colour::Default, &DARK), None);
        assert_eq!(colour(Colour::Indexed(1), &LIGHT), Some([0xb3, 0x26, 0x1e]));
        assert_eq!(colour(Colour::Indexed(196), &DARK), Some([255, 0, 0]));
        assert_eq!(colour(Colour::Indexed(255), &DARK), Some([238; 3]));
    }

    #[test]
    fn a_picture_is_a_png_with_its_size() {
        let image = Image { width: 2, pixels: vec![[1, 2, 3]; 4] };
        let file = encode(&image, 2, 2).unwrap();
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(&file[12..24], b"IHDR\0\0\0\x02\0\0\0\x02");
        assert!(file.ends_with(b"IEND\xae\x42\x60\x82"));
    }
}
