//! `/image`: a picture for the next prompt.

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_host::settings::WorkspaceSettings;

use super::Next;
use crate::attachment::{self, Viewer};
use crate::chat::Chat;
use crate::typed_path;

/// Attaches an image to the next prompt, which may stand behind the path.
pub(super) fn image(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let WorkspaceSettings { home, root, .. } = &chat.plain.host.settings.workspace;
    let at = |path: &str| typed_path::resolve(path, root, home.as_deref());
    let (path, words) = path_and_words(rest, |path| at(path).is_file());
    if path.is_empty() {
        let usage = "`/image PATH` attaches an image to the next prompt";
        return Err(Failure::new(&VALIDATION_ERROR, usage).hint("PNG, JPEG, GIF or WebP"));
    }
    let viewer = Viewer { facts: chat.plain.host.settings.model.facts, model: chat.plain.session().model() };
    let image = attachment::load(&at(path), viewer)?;
    let all: Vec<_> = chat.attached.iter().cloned().chain([image.clone()]).collect();
    attachment::check_sum(&all)?;
    chat.attached = all;
    if words.is_empty() {
        chat.cx.ui.say(&format!("Attached to the next prompt: {path} {image}"));
        return Ok(Next::Done);
    }
    Ok(Next::Ask(words.to_owned()))
}

/// Tells a path from the words behind it: it is in quotes, or all of it is a file, or it is the first word.
fn path_and_words(rest: &str, is_file: impl Fn(&str) -> bool) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some((path, words)) = rest.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return (path, words.trim());
        }
    }
    if is_file(rest) {
        return (rest, "");
    }
    let (path, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (path, words.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_words() {
        for (rest, expected) in [
            ("", ("", "")),
            ("a.png", ("a.png", "")),
            ("a.png  what is it?", ("a.png", "what is it?")),
            ("my shot.png", ("my shot.png", "")),
            ("\"my shot.png\" what?", ("my shot.png", "what?")),
            ("'b c' d", ("b c", "d")),
            ("\"open", ("\"open", "")),
        ] {
            assert_eq!(path_and_words(rest, |path| path == "my shot.png"), expected, "{rest}");
        }
    }
}
