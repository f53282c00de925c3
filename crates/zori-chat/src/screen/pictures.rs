//! Images and text of the clipboard, and images whose path was pasted or dropped (CMP-7). The clipboard is read by the programs that the system has for it.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use zori_core::image::{Image, ImageSupport};
use zori_providers::catalog::{MAX_PROMPT_BYTES, ProviderFacts};
use zori_tui::update::Pasted;

use crate::attachment::{self, Viewer};
use crate::typed_path;
use zori_setup::environment::Environment;

/// A program that prints what is on the clipboard.
struct Reader {
    /// Only where this variable is set.
    needs: Option<&'static str>,
    program: &'static str,
    args: &'static [&'static str],
}

const IMAGES: &[Reader] = &[
    Reader {
        needs: Some("WAYLAND_DISPLAY"),
        program: "wl-paste",
        args: &["--no-newline", "--type", "image/png"],
    },
    Reader {
        needs: Some("DISPLAY"),
        program: "xclip",
        args: &["-selection", "clipboard", "-target", "image/png", "-out"],
    },
    Reader { needs: None, program: "pngpaste", args: &["-"] },
];

const TEXTS: &[Reader] = &[
    Reader { needs: Some("WAYLAND_DISPLAY"), program: "wl-paste", args: &["--no-newline", "--type", "text"] },
    Reader { needs: Some("DISPLAY"), program: "xclip", args: &["-selection", "clipboard", "-out"] },
    Reader { needs: Some("DISPLAY"), program: "xsel", args: &["--clipboard", "--output"] },
    Reader { needs: None, program: "pbpaste", args: &[] },
];

/// How long they may take together. They ask another program for what it has, and that may not answer at all; the chat waits meanwhile.
const LIMIT: Duration = Duration::from_secs(3);

/// Returns what is on the clipboard.
pub fn clipboard(env: &Environment, facts: &'static ProviderFacts, model: &str) -> Pasted {
    let until = Instant::now() + LIMIT;
    let read = |readers: &[Reader]| readers.iter().find_map(|reader| reader.run(env, until));
    if let Some(bytes) = read(IMAGES).filter(|bytes| !bytes.is_empty()) {
        return match Image::parse(bytes) {
            Ok(image) => match facts.image_support(model, &image) {
                ImageSupport::Supported | ImageSupport::Unknown => Pasted::Image(image),
                ImageSupport::Unsupported(why) => {
                    Pasted::Refused(format!("the image {image} cannot be sent: {why}"))
                }
            },
            Err(bad) => Pasted::Refused(format!("the image on the clipboard {bad}")),
        };
    }
    match read(TEXTS) {
        Some(bytes) if !bytes.is_empty() => Pasted::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Some(_) => Pasted::Refused("the clipboard is empty".to_owned()),
        None if Instant::now() >= until => Pasted::Refused(
            "the program that has the clipboard does not answer; paste with the terminal's own key".to_owned(),
        ),
        None => Pasted::Refused(
            "no program here reads the clipboard (wl-paste, xclip, xsel, pbpaste); paste with the terminal's own key".to_owned(),
        ),
    }
}

impl Reader {
    /// Returns what it prints until then; `None` where it has nothing, or is not there.
    fn run(&self, env: &Environment, until: Instant) -> Option<Vec<u8>> {
        if self.needs.is_some_and(|name| env.text(name).is_none_or(str::is_empty)) {
            return None;
        }
        let mut child = Command::new(self.program)
            .args(self.args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let stdout = child.stdout.take()?;
        let (sender, printed) = mpsc::channel();
        let read = move || {
            let mut bytes = Vec::new();
            let whole = stdout.take(MAX_PROMPT_BYTES + 1).read_to_end(&mut bytes).is_ok();
            // Nobody waits for what comes too late.
            let _ = sender.send(whole.then_some(bytes));
        };
        let reading = std::thread::Builder::new().name("clipboard".into()).spawn(read);
        let left = until.saturating_duration_since(Instant::now());
        let bytes = reading.ok().and_then(|_| printed.recv_timeout(left).ok()).flatten();
        if bytes.is_none() {
            // It may have ended by itself.
            let _ = child.kill();
        }
        let ended = child.wait().ok()?;
        bytes.filter(|_| ended.success())
    }
}

/// Returns the image that a pasted path names; the text itself where it names none.
pub fn dropped(
    root: &Path,
    home: Option<&Path>,
    text: &str,
    facts: &'static ProviderFacts,
    model: &str,
) -> Pasted {
    let path = unquoted(text);
    let file = typed_path::resolve(&path, root, home);
    if !file.is_file() {
        return Pasted::Text(text.to_owned());
    }
    match attachment::load(&file, Viewer { facts, model }) {
        Ok(image) => Pasted::Image(image),
        Err(failure) => Pasted::Refused(failure.message),
    }
}

/// Takes off what terminals put around a dropped path: quotes, backslashes, `file://` with percent signs.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        return inner.replace("'\\''", "'");
    }
    if let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return inner.to_owned();
    }
    if let Some(path) = text.strip_prefix("file://") {
        return percent_decoded(path.find('/').map_or(path, |slash| &path[slash..]));
    }
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    out
}

fn percent_decoded(text: &str) -> String {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that does not answer keeps nobody waiting, and one that does is read whole.
    #[test]
    fn programs_that_read_the_clipboard() {
        let env = Environment::default();
        let run = |program: &'static str, args: &'static [&'static str], limit: u64| {
            Reader { needs: None, program, args }.run(&env, Instant::now() + Duration::from_millis(limit))
        };
        let begun = Instant::now();
        assert_eq!(run("sleep", &["60"], 50), None);
        assert!(begun.elapsed() < Duration::from_secs(30), "it was waited for");
        assert_eq!(run("printf", &["a b"], 20_000), Some(b"a b".to_vec()));
        assert_eq!(run("false", &[], 20_000), None);
        assert_eq!(run("no-such-program", &[], 20_000), None);
    }

    #[test]
    fn paths_as_terminals_drop_them() {
        for (dropped, path) in [
            ("'/tmp/my shot.png'", "/tmp/my shot.png"),
            ("'/tmp/it'\\''s.png' ", "/tmp/it's.png"),
            ("/tmp/my\\ shot\\(1\\).png", "/tmp/my shot(1).png"),
            ("\"/tmp/a b.png\"", "/tmp/a b.png"),
            ("file:///tmp/gr%C3%BC%20a.png", "/tmp/grü a.png"),
            ("file://host/tmp/a.png", "/tmp/a.png"),
            ("a.png", "a.png"),
            ("100%.png", "100%.png"),
        ] {
            assert_eq!(unquoted(dropped), path, "{dropped}");
        }
        assert_eq!(percent_decoded("/100%/a%2"), "/100%/a%2");
    }
}
