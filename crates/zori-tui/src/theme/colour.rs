//! Colours as numbers: mixing, contrast, and the nearest that a terminal has.

/// How many colours a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// None: bold, dim and reverse are left.
    None,
    Ansi16,
    Indexed256,
    True,
}

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// The levels of the 6x6x6 cube.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

impl Rgb {
    /// Reads six hexadecimal digits, with or without `#`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        if digits.len() != 6 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, r, g, b] = number.to_be_bytes();
        Some(Self(r, g, b))
    }

    /// Returns `percent` of this colour over another.
    pub fn over(self, ground: Self, percent: u32) -> Self {
        let mix = |a: u8, b: u8| {
            let mixed = (u32::from(a) * percent + u32::from(b) * (100 - percent) + 50) / 100;
            u8::try_from(mixed).expect("between two bytes")
        };
        Self(mix(self.0, ground.0), mix(self.1, ground.1), mix(self.2, ground.2))
    }

    /// Returns the relative luminance, from 0 to 1, as WCAG 2 defines it.
    pub fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// Returns the contrast with another colour, from 1 to 21, as WCAG 2 defines it.
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Returns the nearest of the 256 colours that every terminal draws alike: the cube and the greys.
    pub fn indexed(self) -> u8 {
        let level = |channel: u8| {
            (0..6_u8).min_by_key(|i| CUBE[usize::from(*i)].abs_diff(channel)).expect("the cube has levels")
        };
        let (r, g, b) = (level(self.0), level(self.1), level(self.2));
        let cube = Self(CUBE[usize::from(r)], CUBE[usize::from(g)], CUBE[usize::from(b)]);
        let grey = (0..24_u8).min_by_key(|i| self.distance(Self::grey(*i))).expect("there are greys");
        match self.distance(Self::grey(grey)) < self.distance(cube) {
            true => 232 + grey,
            false => 16 + 36 * r + 6 * g + b,
        }
    }

    fn grey(step: u8) -> Self {
        let level = 8 + 10 * step;
        Self(level, level, level)
    }

    fn distance(self, other: Self) -> u32 {
        let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        square(self.0, other.0) + square(self.1, other.1) + square(self.2, other.2)
    }
}
