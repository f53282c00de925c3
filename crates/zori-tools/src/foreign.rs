//! Calls in the words of other agents: the names of tools and fields that models learnt elsewhere (FOR-9).
//!
//! Names are compared folded: no case, no `-` and `_`, no `functions.` before and no `<|...` behind. What is understood
//! is said in the result. Whatever could mean two things is left alone, to be refused with the names there are.

use serde_json::{Map, Value};
use zori_core::tool::ToolKind;

use crate::args;
use crate::def::{Need, ToolDef, Ty};

/// Tools of other agents, folded, by what they do.
const TOOLS: &[(ToolKind, &[&str])] = &[
    (
        ToolKind::Bash,
        &[
            "runshellcommand",
            "execcommand",
            "shell",
            "shellcommand",
            "execute",
            "executecommand",
            "runcommand",
            "runterminalcmd",
            "runinterminal",
            "runterminalcommand",
            "terminal",
            "command",
            "containerexec",
            "localshell",
            "executebash",
            "runbash",
            "sh",
            "exec",
            "bashtool",
        ],
    ),
    (
        ToolKind::Read,
        &[
            "view",
            "viewfile",
            "readfile",
            "openfile",
            "open",
            "cat",
            "fileread",
            "readtextfile",
            "getfile",
            "viewimage",
        ],
    ),
    (
        ToolKind::Write,
        &[
            "createfile",
            "writefile",
            "writetofile",
            "filewrite",
            "create",
            "savefile",
            "newfile",
            "overwritefile",
        ],
    ),
    (
        ToolKind::Edit,
        &[
            "strreplace",
            "editfile",
            "replace",
            "replacetext",
            "searchreplace",
            "replaceinfile",
            "fileedit",
            "replacestringinfile",
            "strreplaceedit",
            "stringreplace",
            "updatefile",
        ],
    ),
    (ToolKind::MultiEdit, &["multieditfile", "multistrreplace", "multireplacestringinfile"]),
    (ToolKind::Patch, &["applypatch", "patch", "applydiff", "patchfile"]),
    (
        ToolKind::Ls,
        &["listdirectory", "listdir", "listfiles", "ls", "lsdir", "readfolder", "readdirectory", "tree"],
    ),
    (
        ToolKind::Grep,
        &[
            "grepsearch",
            "searchfilecontent",
            "searchtext",
            "searchfiles",
            "ripgrep",
            "rg",
            "codesearchtext",
            "contentsearch",
            "searchcode",
        ],
    ),
    (ToolKind::Glob, &["findfiles", "filesearch", "globsearch", "findfile", "globfiles", "findbyname"]),
    (ToolKind::Fetch, &["fetch", "fetchurl", "webfetch", "fetchwebpage", "readurl", "openurl"]),
    (ToolKind::Todo, &["todowrite", "updateplan", "writetodos", "todo", "managetodolist", "updatetodos"]),
    (ToolKind::Task, &["task", "agent", "spawnagent", "runsubagent", "delegate"]),
];

/// Fields of other agents, folded, by the parameter they mean.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "path",
        &[
            "filepath",
            "filename",
            "file",
            "targetfile",
            "absolutepath",
            "abspath",
            "relativeworkspacepath",
            "dirpath",
            "directory",
            "dir",
            "folder",
            "targetdirectory",
            "relativepath",
            "fullpath",
            "pathname",
            "directorypath",
        ],
    ),
    (
        "old",
        &[
            "oldstr",
            "oldstring",
            "oldtext",
            "search",
            "find",
            "original",
            "oldcode",
            "searchtext",
            "oldcontent",
        ],
    ),
    (
        "new",
        &[
            "newstr",
            "newstring",
            "newtext",
            "replace",
            "replacement",
            "newcode",
            "replacewith",
            "replacetext",
            "newcontent",
        ],
    ),
    ("content", &["contents", "text", "filetext", "filecontent", "filecontents", "body", "code", "data"]),
    ("command", &["cmd", "script", "commandline", "shellcommand", "bashcommand", "commandtext"]),
    ("patch", &["diff", "input", "patchtext", "patchcontent"]),
    ("replace_all", &["replaceall", "allowmultiple", "all", "replaceallmatches"]),
    ("pattern", &["query", "regex", "searchpattern", "searchterm", "globpattern", "searchquery", "keyword"]),
    ("glob", &["include", "includepattern", "fileglob", "filepattern"]),
    ("ignore_case", &["caseinsensitive", "ignorecase"]),
    ("offset", &["startline", "linestart", "start", "fromline", "startlineoneindexed", "lineoffset"]),
    ("limit", &["maxlines", "numlines", "maxresults", "headlimit", "linelimit", "maxmatches"]),
    ("timeout_secs", &["timeoutseconds", "timeoutsec", "timeoutinseconds"]),
    ("url", &["uri", "link", "address"]),
    ("todos", &["items", "tasks", "todolist", "plan"]),
    ("edits", &["changes", "replacements"]),
];

/// Numbers with bounds: what lies outside is moved to the nearest that holds.
const BOUNDS: &[(ToolKind, &str, i64, i64)] = &[
    (ToolKind::Bash, "timeout_secs", 1, 600),
    (ToolKind::Read, "offset", 1, i64::MAX),
    (ToolKind::Read, "limit", 1, i64::MAX),
    (ToolKind::Grep, "limit", 1, 2000),
    (ToolKind::Grep, "offset", 0, i64::MAX),
    (ToolKind::Ls, "depth", 1, 10),
];

/// Returns a name without what models put around and into it.
pub fn folded(name: &str) -> String {
    let name = name.split("<|").next().unwrap_or_default();
    let name = name.split("<｜").next().unwrap_or_default().trim();
    // The place of the call among others: `functions.read:0`.
    let name = match name.rsplit_once(':') {
        Some((before, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => before,
        _ => name,
    };
    let name = ["functions.", "default_api.", "tools.", "tool."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    let kept = |c: &char| !matches!(c, '_' | '-' | '.' | ':' | ' ');
    name.trim_matches(['`', '"', '\'']).chars().filter(kept).flat_map(char::to_lowercase).collect()
}

/// Returns the tool that another agent calls so.
pub fn kind(folded: &str) -> Option<ToolKind> {
    TOOLS.iter().find(|(_, names)| names.contains(&folded)).map(|(kind, _)| *kind)
}

/// Finds the tool that a call with several meanings is for, and turns its arguments into that tool's.
pub fn meant(name: &str, kind: Option<ToolKind>, map: &mut Map<String, Value>) -> Option<ToolKind> {
    let name = folded(name);
    if matches!(name.as_str(), "strreplacebasededittool" | "strreplaceeditor" | "texteditor" | "editor") {
        let command = map.remove("command")?;
        return match command.as_str()? {
            "view" => Some(ToolKind::Read),
            "create" => Some(ToolKind::Write),
            "str_replace" => Some(ToolKind::Edit),
            _ => None,
        };
    }
    match kind? {
        ToolKind::Edit if map.contains_key("edits") && !map.contains_key("old") => Some(ToolKind::MultiEdit),
        ToolKind::Edit if blocks(map) => Some(ToolKind::MultiEdit),
        ToolKind::Bash => match patch_of(map) {
            Some(patch) => {
                *map = Map::from_iter([("patch".to_owned(), Value::String(patch))]);
                Some(ToolKind::Patch)
            }
            None => Some(ToolKind::Bash),
        },
        kind => Some(kind),
    }
}

/// Turns blocks of what is searched for and what replaces it, in a `diff`, into edits. Returns whether it did.
fn blocks(map: &mut Map<String, Value>) -> bool {
    let Some(Value::String(diff)) = map.get("diff") else { return false };
    let mut edits = Vec::new();
    let mut rest = diff.as_str();
    while let Some((_, block)) = rest.split_once("<<<<<<< SEARCH\n") {
        let Some((old, block)) = block.split_once("\n=======\n") else { return false };
        let Some((new, after)) = block.split_once(">>>>>>> REPLACE") else { return false };
        let new = new.strip_suffix('\n').unwrap_or(new);
        edits.push(serde_json::json!({ "old": old, "new": new }));
        rest = after;
    }
    if edits.is_empty() {
        return false;
    }
    map.remove("diff");
    map.insert("edits".to_owned(), Value::Array(edits));
    true
}

/// Takes off what some models put around arguments: another object under a name that says so, or a list of one. A bare
/// string is the one text that the tool needs.
pub fn unwrapped(args: &str, def: Option<&ToolDef>) -> Option<Map<String, Value>> {
    let value: Value = serde_json::from_str(args).ok()?;
    let value = match value {
        Value::Array(mut list) if list.len() == 1 => list.remove(0),
        Value::String(text) if !text.trim_start().starts_with(['{', '[']) => {
            let mut needed = def?.params.iter().filter(|param| param.need == Need::Required);
            let (only, Ty::Text) = (needed.next()?, &def?.params[0].ty) else { return None };
            let alone = needed.next().is_none() && only.name == def?.params[0].name;
            return alone.then(|| Map::from_iter([(only.name.to_owned(), Value::String(text))]));
        }
        other => other,
    };
    let Value::Object(map) = value else { return None };
    Some(inner(&map, def).unwrap_or(map))
}

/// Returns the arguments that are inside others, under a name that says so and that is none of the tool's fields.
pub fn inner(map: &Map<String, Value>, def: Option<&ToolDef>) -> Option<Map<String, Value>> {
    let (key, value) = map.iter().next().filter(|_| map.len() == 1)?;
    let is_own = |def: &ToolDef| {
        def.params.iter().any(|param| param.name == key || param.aliases.contains(&key.as_str()))
    };
    if !matches!(key.as_str(), "arguments" | "parameters" | "input" | "args" | "params")
        || def.is_some_and(is_own)
    {
        return None;
    }
    match value {
        Value::Object(inner) => Some(inner.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// Returns what to do in place of a tool that there is none of.
pub fn instead(name: &str) -> Option<&'static str> {
    match folded(name).as_str() {
        "deletefile" | "removefile" | "delete" | "remove" => Some("delete files with `rm` in a command"),
        "movefile" | "renamefile" => Some("move files with `mv` in a command"),
        "multitoolusepar" | "multitooluseparallel" | "parallel" => {
            Some("make the calls one by one in the same reply")
        }
        _ => None,
    }
}

/// Returns the patch of a command that is nothing but `apply_patch` and its patch, perhaps in another folder.
fn patch_of(map: &Map<String, Value>) -> Option<String> {
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

/// Renames the fields that another agent calls otherwise, and reshapes the values it writes otherwise. `known`: the names
/// that need no renaming. Returns what was done, for the model.
pub fn fields(kind: ToolKind, def: &ToolDef, known: &[&str], map: &mut Map<String, Value>) -> Vec<String> {
    let mut notes = Vec::new();
    range(kind, map);
    times(kind, known, map);
    let foreign: Vec<String> = map.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
    for key in foreign {
        let name = folded(&key);
        let own = known.iter().find(|known| folded(known) == name).copied();
        let meant = own.or_else(|| {
            let of_tool = |field: &str| def.params.iter().any(|param| param.name == field);
            let found = FIELDS.iter().find(|(field, names)| of_tool(field) && names.contains(&name.as_str()));
            found.map(|(field, _)| *field)
        });
        if let Some(meant) = meant.filter(|meant| !map.contains_key(*meant))
            && let Some(value) = map.remove(&key)
        {
            map.insert(meant.to_owned(), value);
        }
    }
    for name in ["command", "cmd"] {
        if let Some(command) = map.get_mut(name).filter(|_| kind == ToolKind::Bash) {
            words(command);
            notes.extend(without_prompt(command));
        }
    }
    reshaped(def, map);
    if kind == ToolKind::Write {
        notes.extend(without_fence(map));
    }
    if kind == ToolKind::Grep {
        notes.extend(literal(map));
    }
    if let Some(content) = map.get_mut("content").filter(|_| kind == ToolKind::Write)
        && matches!(content, Value::Object(_) | Value::Array(_))
    {
        let text = serde_json::to_string_pretty(content).expect("a value is JSON");
        *content = Value::String(text + "\n");
        notes.push("`content` was not a string and was written as JSON".to_owned());
    }
    for item in map.get_mut("edits").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(item) = item.as_object_mut() else { continue };
        for field in ["old", "new", "replace_all"] {
            let names = FIELDS.iter().find(|(name, _)| *name == field).map_or(&[][..], |(_, names)| *names);
            let key = item.keys().find(|key| names.contains(&folded(key).as_str())).cloned();
            if let Some(key) = key.filter(|_| !item.contains_key(field))
                && let Some(value) = item.remove(&key)
            {
                item.insert(field.to_owned(), value);
            }
        }
    }
    for (_, field, least, most) in BOUNDS.iter().filter(|(of, ..)| *of == kind) {
        if let Some(number) = map.get(*field).and_then(args::int)
            && !(*least..=*most).contains(&number)
        {
            let held = number.clamp(*least, *most);
            map.insert((*field).to_owned(), held.into());
            notes.push(format!("`{field}` {number} is out of range; {held} was used"));
        }
    }
    notes
}

/// Takes a shell's prompt off a command of one line: no program is called `$`.
fn without_prompt(command: &mut Value) -> Option<String> {
    let text = command.as_str()?.trim();
    let bare = text.strip_prefix("$ ").filter(|bare| !bare.contains('\n'))?.to_owned();
    *command = Value::String(bare);
    Some("the `$` before the command was left out".to_owned())
}

/// Takes one text for a list of one, and 0 and 1 for false and true.
fn reshaped(def: &ToolDef, map: &mut Map<String, Value>) {
    for param in def.params {
        for name in std::iter::once(&param.name).chain(param.aliases) {
            let Some(value) = map.get_mut(*name) else { continue };
            let meant = match (&param.ty, &*value) {
                (Ty::Text, Value::Array(list)) => match &list[..] {
                    [text @ Value::String(_)] => Some(text.clone()),
                    _ => None,
                },
                (Ty::Flag, Value::Number(number)) => match number.as_u64() {
                    Some(0) => Some(Value::Bool(false)),
                    Some(1) => Some(Value::Bool(true)),
                    _ => None,
                },
                _ => None,
            };
            if let Some(meant) = meant {
                *value = meant;
            }
        }
    }
}

/// Takes the fence off a content that is nothing but a fenced block, where the file is no text that has fences.
fn without_fence(map: &mut Map<String, Value>) -> Option<String> {
    const PROSE: &[&str] = &["md", "markdown", "mdx", "rst", "txt", "adoc", "org", "qmd", "rmd"];
    let path = map.get("path").or_else(|| map.get("file_path"))?.as_str()?;
    let extension = std::path::Path::new(path).extension()?.to_str()?.to_lowercase();
    let content = map.get("content")?.as_str()?;
    let (language, body) = content.trim().strip_prefix("```")?.strip_suffix("\n```")?.split_once('\n')?;
    let is_word = |c: char| c.is_alphanumeric() || "+-_#.".contains(c);
    let fenced = language.trim().chars().all(is_word) && !body.contains("```");
    if !fenced || PROSE.contains(&extension.as_str()) {
        return None;
    }
    let body = format!("{body}\n");
    map.insert("content".to_owned(), Value::String(body));
    Some("`content` was a fenced block; the fence was left out".to_owned())
}

/// Searches for a text as it is where it is no regular expression.
fn literal(map: &mut Map<String, Value>) -> Option<String> {
    let pattern = ["pattern", "query", "regex"].iter().find_map(|name| map.get(*name)?.as_str())?;
    if map.contains_key("literal") || grep_regex::RegexMatcher::new(pattern).is_ok() {
        return None;
    }
    map.insert("literal".to_owned(), Value::Bool(true));
    Some("the pattern is no regular expression; it was searched for as plain text".to_owned())
}

/// A first and a last line become a first line and a number of lines.
fn range(kind: ToolKind, map: &mut Map<String, Value>) {
    if kind != ToolKind::Read {
        return;
    }
    if let Some(Value::Array(range)) = map.remove("view_range")
        && let [first, last] = &range[..]
        && let (Some(first), Some(last)) = (args::int(first), args::int(last))
    {
        map.insert("offset".to_owned(), first.into());
        if last >= first {
            map.insert("limit".to_owned(), (last - first + 1).into());
        }
    }
    let key = map.keys().find(|key| {
        matches!(folded(key).as_str(), "endline" | "lineend" | "toline" | "endlineoneindexedinclusive")
    });
    if let Some(key) = key.cloned()
        && !map.contains_key("limit")
        && let Some(last) = map.remove(&key).as_ref().and_then(args::int)
    {
        let start = map.iter().find(|(key, _)| {
            matches!(folded(key).as_str(), "startline" | "offset" | "linestart" | "fromline")
        });
        let first = start.and_then(|(_, value)| args::int(value)).unwrap_or(1).max(1);
        if last >= first {
            map.insert("limit".to_owned(), (last - first + 1).into());
        }
    }
}

/// A time limit that cannot be seconds is milliseconds.
fn times(kind: ToolKind, known: &[&str], map: &mut Map<String, Value>) {
    // A dialect's own field says what it means.
    if kind != ToolKind::Bash || map.contains_key("timeout_secs") || known.contains(&"timeout") {
        return;
    }
    let key = map
        .keys()
        .find(|key| matches!(folded(key).as_str(), "timeout" | "timeoutms" | "timeoutmilliseconds"));
    if let Some(key) = key.cloned()
        && let Some(number) = map.get(&key).and_then(|value| args::int(value).or_else(|| seconds(value)))
    {
        let milliseconds = folded(&key) != "timeout" || number > 600;
        let seconds = if milliseconds { number.div_euclid(1000).max(1) } else { number };
        map.remove(&key);
        map.insert("timeout_secs".to_owned(), seconds.into());
    }
}

/// Reads `30s`, `500ms` and `2m`, as seconds.
fn seconds(value: &Value) -> Option<i64> {
    let text = value.as_str()?.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: i64 = text[..digits].parse().ok()?;
    match text[digits..].trim() {
        "s" | "sec" | "secs" | "seconds" => Some(number),
        "ms" => Some(number.div_euclid(1000).max(1)),
        "m" | "min" | "minutes" => number.checked_mul(60),
        _ => None,
    }
}

/// Turns a command that is a list of words into its text: that of a shell's `-c`, or the words, quoted where they need it.
fn words(command: &mut Value) {
    let Value::Array(list) = command else { return };
    let words: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    let text = match words.as_deref() {
        Some([shell, flag, text]) if is_shell(shell, flag) => (*text).to_owned(),
        Some(words) if !words.is_empty() => {
            words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
        }
        _ => return,
    };
    *command = Value::String(text);
}

fn is_shell(program: &str, flag: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "bash" | "sh" | "zsh" | "dash") && matches!(flag, "-c" | "-lc" | "-cl" | "-ic" | "-lic")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_folded() {
        for name in [
            "Read",
            "functions.read",
            "default_api.read",
            "read<|channel|>commentary",
            "r-e_ad",
            " read ",
            "functions.read:0",
            "read<｜tool▁sep｜>",
        ] {
            assert_eq!(folded(name), "read", "{name}");
        }
        assert_eq!(kind("runshellcommand"), Some(ToolKind::Bash));
        assert_eq!(kind("teleport"), None);
    }

    /// One name means one tool, or the order of the table would decide.
    #[test]
    fn no_name_is_of_two_tools() {
        let names: Vec<&str> = TOOLS.iter().flat_map(|(_, names)| *names).copied().collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name} is there twice");
            assert_eq!(folded(name), **name, "{name} is not folded");
        }
    }

    fn command(value: Value) -> Value {
        let mut value = value;
        words(&mut value);
        value
    }

    #[test]
    fn commands_as_words() {
        assert_eq!(command(json!(["bash", "-lc", "ls | wc"])), json!("ls | wc"));
        assert_eq!(command(json!(["/bin/sh", "-c", "x"])), json!("x"));
        assert_eq!(command(json!(["cat", "it's", "a.txt"])), json!("cat 'it'\\''s' a.txt"));
        assert_eq!(command(json!(["bash", "x.sh"])), json!("bash x.sh"));
        assert_eq!(command(json!([])), json!([]));
        assert_eq!(command(json!(["a", 1])), json!(["a", 1]));
    }

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

    #[test]
    fn arguments_in_a_wrapping() {
        let read = crate::toolset::def(ToolKind::Read);
        let path = || Some(Map::from_iter([("path".to_owned(), json!("a"))]));
        for args in [
            r#"{"path":"a"}"#,
            r#"{"arguments":{"path":"a"}}"#,
            r#"{"input":"{\"path\":\"a\"}"}"#,
            r#"[{"path":"a"}]"#,
            r#""a""#,
        ] {
            assert_eq!(unwrapped(args, Some(read)), path(), "{args}");
        }
        for args in [r#"[{"path":"a"},{"path":"b"}]"#, "7", "{"] {
            assert_eq!(unwrapped(args, Some(read)), None, "{args}");
        }
        // Two texts are needed, so one of them means neither.
        assert_eq!(unwrapped(r#""a""#, Some(crate::toolset::def(ToolKind::Write))), None);
        // A tool's own field is its own.
        let patch = crate::toolset::def(ToolKind::Patch);
        let own = patch.params[0].name;
        let args = json!({ own: { "path": "a" } }).to_string();
        assert_eq!(unwrapped(&args, Some(patch)), json!({ own: { "path": "a" } }).as_object().cloned());
    }

    #[test]
    fn fences_and_prompts() {
        let written = |path: &str, content: &str| {
            let mut map =
                Map::from_iter([("path".to_owned(), json!(path)), ("content".to_owned(), json!(content))]);
            without_fence(&mut map);
            map["content"].as_str().unwrap().to_owned()
        };
        assert_eq!(written("a.py", "```python\nx = 1\n```\n"), "x = 1\n");
        for (path, content) in [
            ("a.md", "```python\nx = 1\n```\n"),
            ("Makefile", "```\nx\n```"),
            ("a.py", "```python\nx\n```\ny\n```\nz\n```"),
            ("a.py", "x = '```'\n"),
        ] {
            assert_eq!(written(path, content), content, "{path}");
        }
        let bare = |text: &str| {
            let mut value = json!(text);
            without_prompt(&mut value);
            value
        };
        assert_eq!(bare("$ ls -l"), json!("ls -l"));
        assert_eq!(bare("$ ls\na.txt"), json!("$ ls\na.txt"));
        assert_eq!(bare("$x"), json!("$x"));
    }
}
