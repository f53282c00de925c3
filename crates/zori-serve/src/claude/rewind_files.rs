//! `rewind_files`: files go back to before a prompt, whatever the turn does; the answer in the SDKs' words (UNDO-42).

use serde_json::{Value, json};
use zori_host::{FileRewinder, Reason, UndoFailure, Undone};

/// Puts files back to before the prompt of a name, or says what that would do.
pub type Rewind = Box<dyn FnMut(&str, bool) -> Result<Undone, UndoFailure>>;

/// Returns what puts files back in a session that runs.
pub fn running(rewinder: FileRewinder) -> Rewind {
    Box::new(move |prompt, dry_run| rewinder.rewind(prompt, dry_run))
}

/// Returns the answer; an error is the reason why there is none.
pub(super) fn answer(rewind: Option<&mut Rewind>, prompt: &str, dry_run: bool) -> Result<Value, String> {
    let done = match rewind {
        Some(rewind) => rewind(prompt, dry_run),
        None => Err(UndoFailure::NoPrompt),
    };
    match done {
        Ok(undone) => Ok(response(&undone, dry_run)),
        Err(error) if dry_run => Ok(json!({"canRewind": false, "error": error.to_string()})),
        Err(error) => Err(error.to_string()),
    }
}

fn response(undone: &Undone, dry_run: bool) -> Value {
    let restored = || undone.files.iter().flat_map(|report| &report.restored);
    let kept = || undone.files.iter().flat_map(|report| &report.kept);
    let changed: Vec<_> = restored().map(|file| file.path.display().to_string()).collect();
    let stayed: Vec<_> = kept()
        .map(|kept| {
            let saved_as = kept.saved_as.as_ref().map(|path| path.display().to_string());
            json!({"path": kept.path.display().to_string(), "reason": kept.reason.as_str(), "savedAs": saved_as})
        })
        .collect();
    let none = changed.is_empty() && !stayed.is_empty();
    let mut response = json!({
        "canRewind": !none,
        "filesChanged": changed,
        "insertions": restored().map(|file| file.insertions).sum::<u64>(),
        "deletions": restored().map(|file| file.deletions).sum::<u64>(),
        "filesKept": stayed,
    });
    if none {
        response["error"] = "No file can be put back: each was changed since, or cannot be changed.".into();
    }
    if !dry_run {
        let odd = |reason| matches!(reason, Reason::HardLink | Reason::PathMoved | Reason::NotAFile);
        response["skippedLinks"] = kept().filter(|kept| odd(kept.reason)).count().into();
    }
    response
}
