//! What the chat switches on in a terminal, and off again (TTY-3).

/// What another program may have left behind: styles, line drawing, a hidden cursor, rows that are not wrapped, keys of an application, reports of
/// the mouse.
pub const CLEAN_UP: &str =
    "\x1b[0m\x1b(B\x0f\x1b[?25h\x1b[?7h\x1b[?1l\x1b>\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l";

/// Bracketed paste, focus reports, colour scheme reports, kitty keys (flag 1), `modifyOtherKeys`, the title put on its stack.
pub const ENTER: &str = "\x1b[?2004h\x1b[?1004h\x1b[?2031h\x1b[>1u\x1b[>4;1m\x1b[22;2t";

/// All of it as it was, in the other order; the cursor is shown and no style is left.
pub const LEAVE: &str = "\x1b[23;2t\x1b[>4;0m\x1b[<1u\x1b[?2031l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[0m";

/// Widths by grapheme cluster (MD-5), for terminals that offer them.
pub const CLUSTERS_ON: &str = "\x1b[?2027h";
pub const CLUSTERS_OFF: &str = "\x1b[?2027l";

/// Reports of the mouse, for its wheel; whoever marks text holds Shift then.
pub const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
pub const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";

/// The other screen, for what is leafed through and gone afterwards.
pub const OTHER_SCREEN: &str = "\x1b[?1049h\x1b[H\x1b[2J";
/// Back to the screen with the scrollback.
pub const OWN_SCREEN: &str = "\x1b[?1049l";

/// Returns the sequence that titles the window. The text is harmless already.
pub fn title(text: &crate::clean::CleanText) -> String {
    format!("\x1b]2;{}\x1b\\", text.as_str())
}
