//! Any text as a patch of any text.
//!
//! The text of a file and the patch are parted by a NUL. What must hold: no panic; the same outcome twice; what fits
//! exactly is not done in another way because other things would be forgiven; and the difference of two texts, written as a
//! patch, makes the one of the other.

#![no_main]

use libfuzzer_sys::fuzz_target;
use similar::TextDiff;
use zori_core::tool::Leniency;
use zori_tools::edit::apply::{self, ReplaceCount};
use zori_tools::patch::hunk;
use zori_tools::patch::parse::{Action, parse};

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let (Some(file), patch) = (parts.next(), parts.next().unwrap_or_default()) else { return };
    difference(file, patch);
    let (file, patch) = (String::from_utf8_lossy(file), String::from_utf8_lossy(patch));
    for change in parse(&patch).unwrap_or_default() {
        let Action::Update { hunks, .. } = change.action else { continue };
        let apply = |leniency| hunk::apply(&file, &hunks, leniency);
        let forgiven = apply(Leniency::Forgiving);
        assert_eq!(apply(Leniency::Forgiving), forgiven, "the same outcome twice");
        let exact = apply(Leniency::Exact);
        if let (Ok(exact), Ok(forgiven)) = (&exact, &forgiven)
            && exact.tolerated.is_empty()
        {
            assert_eq!(exact.text, forgiven.text, "what fits exactly is done so");
        }
    }
    // The same texts as one of an edit, parted once more.
    if let Some((old, new)) = patch.split_once('\0')
        && !old.is_empty()
        && let Ok(applied) = apply::apply(&file, old, new, ReplaceCount::Exactly(1), Leniency::Exact)
        && applied.tolerated.is_none()
    {
        assert_eq!(applied.text, file.replacen(old, new, 1));
    }
});

/// Texts with a line for each byte: their difference as a patch makes the second of the first.
fn difference(old: &[u8], new: &[u8]) {
    const MOST: usize = 200;
    let text = |bytes: &[u8]| bytes.iter().take(MOST).map(|byte| format!("line {}\n", byte % 16)).collect();
    let (old, new): (String, String) = (text(old), text(new));
    if old == new || old.is_empty() {
        return;
    }
    let diff = TextDiff::from_lines(&old, &new).unified_diff().header("a/f", "b/f").to_string();
    let files = parse(&diff).unwrap_or_else(|error| panic!("{error}: {diff}"));
    let [file] = &files[..] else { panic!("{} files: {diff}", files.len()) };
    let Action::Update { hunks, .. } = &file.action else { panic!("{:?}: {diff}", file.action) };
    let patched = hunk::apply(&old, hunks, Leniency::Exact);
    assert_eq!(patched.map(|patched| patched.text).as_deref(), Ok(&*new), "{diff}");
}
