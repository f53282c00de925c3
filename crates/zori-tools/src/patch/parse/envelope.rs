//! The form between `*** Begin Patch` and `*** End Patch`.

use super::{Action, FilePatch, Hunk, HunkLine, PatchError, bad_line, hunk_line, range_header};

/// Reads the lines from `at` on, which is after the first marker.
pub(super) fn parse(lines: &[&str], mut at: usize) -> Result<Vec<FilePatch>, PatchError> {
    let mut files = Vec::new();
    loop {
        let line = lines.get(at).ok_or(PatchError::NoEnd)?.trim_end();
        let start = at;
        at += 1;
        if line == "*** End Patch" {
            return Ok(files);
        } else if line.is_empty() {
            continue;
        } else if let Some(path) = header(line, "*** Add File:") {
            let body = body(lines, &mut at);
            let mut content = String::new();
            for (n, line) in body.iter().enumerate() {
                // A line whose plus got lost can only be meant as content when it is empty.
                match line.strip_prefix('+') {
                    Some(text) => content.push_str(text),
                    None if line.is_empty() => {}
                    None => return bad_line(start + 1 + n, "each line of an added file starts with `+`"),
                }
                content.push('\n');
            }
            files.push(FilePatch { path, action: Action::Add(content) });
        } else if let Some(path) = header(line, "*** Delete File:") {
            files.push(FilePatch { path, action: Action::Delete });
        } else if let Some(path) = header(line, "*** Update File:") {
            let move_to = lines.get(at).and_then(|line| header(line.trim_end(), "*** Move to:"));
            at += usize::from(move_to.is_some());
            let hunks = hunks(lines, &mut at)?;
            if hunks.is_empty() && move_to.is_none() {
                return bad_line(start, "an update needs at least one changed line");
            }
            files.push(FilePatch { path, action: Action::Update { hunks, move_to } });
        } else {
            return bad_line(
                start,
                "expected `*** Add File:`, `*** Delete File:`, `*** Update File:` or `*** End Patch`",
            );
        }
    }
}

fn header(line: &str, marker: &str) -> Option<String> {
    line.strip_prefix(marker).map(|path| path.trim().to_owned()).filter(|path| !path.is_empty())
}

/// Takes the lines up to the next marker.
fn body<'a>(lines: &'a [&'a str], at: &mut usize) -> &'a [&'a str] {
    let rest = &lines[*at..];
    let mut len = rest.iter().position(|line| line.starts_with("*** ")).unwrap_or(rest.len());
    *at += len;
    while len > 0 && rest[len - 1].is_empty() {
        len -= 1;
    }
    &rest[..len]
}

fn hunks(lines: &[&str], at: &mut usize) -> Result<Vec<Hunk>, PatchError> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut hunk = Hunk::default();
    while let Some(line) = lines.get(*at) {
        if line.trim_end() == "*** End of File" {
            hunk.at_end = true;
        } else if line.starts_with("*** ") {
            break;
        } else if let Some(header) = line.strip_prefix("@@") {
            if !hunk.lines.is_empty() {
                hunks.push(std::mem::take(&mut hunk));
            }
            match range_header(line) {
                Some((start, ..)) => hunk.line = Some(start),
                None => {
                    let text = header.trim().trim_end_matches("@@").trim_end();
                    if !text.is_empty() {
                        hunk.seek.push(text.to_owned());
                    }
                }
            }
        } else if line.starts_with('\\') {
            hunk.bare_end = true;
        } else {
            // A line that stays may have lost its blank.
            hunk.lines.push(hunk_line(line).unwrap_or_else(|| HunkLine::Keep((*line).to_owned())));
        }
        *at += 1;
    }
    if !hunk.lines.is_empty() {
        hunks.push(hunk);
    }
    Ok(hunks)
}
