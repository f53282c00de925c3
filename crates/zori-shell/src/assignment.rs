//! Variables by what setting them means (SH-9).

/// Names that change how output looks and nothing else.
const HARMLESS: &[&str] = &[
    "LANG",
    "TZ",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "COLUMNS",
    "LINES",
    "TERM",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "CARGO_TERM_COLOR",
    "PYTHONUNBUFFERED",
    "NODE_ENV",
    "CI",
];

/// Whether a command may get this variable and still be approved.
pub fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// Whether a variable decides which program a name means (SH-5).
pub fn decides_programs(name: &str) -> bool {
    matches!(name, "PATH" | "BASH_ALIASES" | "BASH_CMDS")
}

/// Whether an assignment may reach programs although nothing exports it: what is in the environment already stays
/// there, and by custom such names are upper case.
pub fn may_be_exported(name: &str) -> bool {
    !is_harmless(name) && name.len() > 1 && !name.bytes().any(|b| b.is_ascii_lowercase())
}
