//! The twelve themes (UI-12, THM-1). A test computes their contrast.

use super::{Palette, Rgb};

/// The themes by name, in the order of the menu.
#[rustfmt::skip]
pub const THEMES: [(&str, Palette); 12] = [
    //                          primary   secondary warning   error     success   accent    foregr.   backgr.   surface   panel     boost
    ("Studio Light",   palette([0x1F5FBF, 0x0B6E75, 0x8A5A00, 0xB3261E, 0x1E6E34, 0x7A3FA8, 0x1C1F24, 0xFAFAF7, 0xF1F1EC, 0xE6E6DF, 0xFFFFFF], true)),
    ("Studio Dark",    palette([0x7AB8FF, 0x6FD3C7, 0xF2C14E, 0xFF7B72, 0x7EE787, 0xD2A8FF, 0xE3E6EB, 0x14171C, 0x1B1F26, 0x242A33, 0x2E3641], false)),
    ("High Tech 2026", palette([0x00E5FF, 0x7CF5C4, 0xFFD166, 0xFF5C8A, 0x3DFFA2, 0xB18CFF, 0xD7F5FF, 0x060B14, 0x0B1420, 0x112033, 0x173050], false)),
    ("Atari 800XL",    palette([0x9CC8FF, 0x8FE0E8, 0xF4D35E, 0xFFB3A6, 0xA6E88C, 0xE3B3FF, 0xE8F2FF, 0x0B3A6E, 0x0E4480, 0x134F92, 0x1A5CA6], false)),
    ("Commodore C64",  palette([0xB8B0FF, 0x9FE6E0, 0xF0E58A, 0xFFA8A0, 0xA8F0A0, 0xE8B0F0, 0xE6E2FF, 0x2B2278, 0x33298A, 0x3C319C, 0x463AAE], false)),
    ("ZX Spectrum",    palette([0x5CC8FF, 0x00E6E6, 0xFFFF3D, 0xFF6B6B, 0x3DFF3D, 0xFF7BFF, 0xFFFFFF, 0x000000, 0x101018, 0x1C1C2C, 0x28283E], false)),
    ("Atari ST",       palette([0x0B5A2A, 0x12587A, 0x7A4E00, 0xA3161A, 0x0B5A2A, 0x5A2E91, 0x101010, 0xFFFFFF, 0xE9F6EC, 0xD3ECD9, 0xFFFFFF], true)),
    ("Amiga 500",      palette([0xFFC985, 0xFFFFFF, 0xFFD24D, 0xFFC4B8, 0xB8F5A0, 0xFFC98A, 0xFFFFFF, 0x0A3F8F, 0x0E4AA3, 0x1456B6, 0x1C63C9], false)),
    ("MS DOS XT PC",   palette([0x5CFF8F, 0x8CE8B0, 0xE8E85C, 0xFF8080, 0x5CFF8F, 0xA8FFC4, 0xB8F5C8, 0x040A05, 0x08120A, 0x0D1C10, 0x142A18], false)),
    ("Mac One",        palette([0x000000, 0x303030, 0x5A4500, 0x7A1010, 0x1F4F1F, 0x2A2A6A, 0x000000, 0xFFFFFF, 0xF4F4F4, 0xE4E4E4, 0xFFFFFF], true)),
    ("Mac Classic",    palette([0x24408E, 0x3A5A6A, 0x7A5200, 0x9C1C1C, 0x1F5F2F, 0x5F3A86, 0x111111, 0xEEEEEE, 0xE2E2E2, 0xD4D4D4, 0xFFFFFF], true)),
    ("Mac Aqua",       palette([0x0A58B0, 0x0B6B8A, 0x855400, 0xB0201A, 0x1B6B30, 0x6A3FA0, 0x14202C, 0xF4F9FF, 0xE6F1FC, 0xD5E7F8, 0xFFFFFF], true)),
];

const fn palette(colours: [u32; 11], light: bool) -> Palette {
    let [primary, secondary, warning, error, success, accent, foreground, background, surface, panel, boost] =
        colours;
    Palette {
        primary: rgb(primary),
        secondary: rgb(secondary),
        warning: rgb(warning),
        error: rgb(error),
        success: rgb(success),
        accent: rgb(accent),
        foreground: rgb(foreground),
        background: rgb(background),
        surface: rgb(surface),
        panel: rgb(panel),
        boost: rgb(boost),
        light,
    }
}

const fn rgb(number: u32) -> Rgb {
    let [_, r, g, b] = number.to_be_bytes();
    Rgb(r, g, b)
}
