//! A patch that a model hands to a shell, because another agent takes its patches so.

use serde_json::{Map, Value};

use super::values::is_shell;

/// Returns the patch of a command that is nothing but `apply_patch` and its patch, perhaps in another folder.
pub(super) fn patch_of(map: &Map<String, Value>) -> Option<String> {
    let command = map.get("command").or_else(|| map.get("cmd"))?;
    let text = match command {
        Value::Array(words) => match &words[..] {
            [Value::String(program), Value::String(patch)] if program == "apply_patch" => {
                return Some(patch.clone());
            }
            [Value::String(shell), Value::String(flag), Value::String(text)] if is_shell(shell, flag) => text,
            _ => return None,
        },
        Value::String(text) => text,
        _ => return None,
    };
    let (folder, text) = match text.trim().strip_prefix("cd ").and_then(|text| text.split_once("&&")) {
        Some((folder, text)) => (Some(folder.trim()), text.trim()),
        None => (None, text.trim()),
    };
    let rest = text.strip_prefix("apply_patch")?.trim_start().strip_prefix("<<")?;
    let (word, body) = rest.split_once('\n')?;
    let word = word.trim().trim_matches(['\'', '"']);
    let body = body.trim_end().strip_suffix(word)?;
    if !body.trim_start().starts_with("*** Begin Patch") || word.is_empty() {
        return None;
    }
    match folder {
        None => Some(body.to_owned()),
        Some(folder) => in_folder(body, folder),
    }
}

/// Returns the patch with its paths in a folder; `None` where a shell would read the folder's name otherwise.
fn in_folder(patch: &str, folder: &str) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "_-./+@".contains(c);
    let folder = folder.trim_matches(['"', '\'']);
    if folder.is_empty() || folder.starts_with('-') || !folder.chars().all(plain) {
        return None;
    }
    let line = |line: &str| {
        let heads = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
        let moved = heads.iter().find_map(|head| Some((*head, line.strip_prefix(head)?.trim())));
        match moved.filter(|(_, path)| !path.starts_with('/')) {
            Some((head, path)) => format!("{head}{}/{path}\n", folder.trim_end_matches('/')),
            None => format!("{line}\n"),
        }
    };
    Some(patch.lines().map(line).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_as_a_command() {
        let of = |value: Value| patch_of(value.as_object().unwrap());
        let patch = "*** Begin Patch\n*** Delete File: x\n*** End Patch\n";
        assert_eq!(of(json!({"command": ["apply_patch", patch]})), Some(patch.to_owned()));
        assert_eq!(
            of(json!({"command": format!("apply_patch <<'EOF'\n{patch}EOF")})),
            Some(patch.to_owned())
        );
        assert_eq!(
            of(json!({"command": format!("cd x && apply_patch <<'EOF'\n{patch}EOF")})),
            Some(patch.replace("File: x", "File: x/x"))
        );
        assert_eq!(of(json!({"command": format!("cd $D && apply_patch <<'EOF'\n{patch}EOF")})), None);
        assert_eq!(of(json!({"command": "apply_patch --help"})), None);
    }
}
