//! Calls in the words of other agents: the names of tools and fields that models learnt elsewhere (FOR-9).
//!
//! Names are compared folded: no case, no `-` and `_`, no `functions.` before and no `<|...` behind. What is understood
//! is said in the result. Whatever could mean two things is left alone, to be refused with the names there are. How values are
//! written otherwise is in `foreign/values.rs`.

mod patch_command;
mod values;

use serde_json::{Map, Value};
use zori_core::tool::ToolKind;

use self::patch_command::patch_of;
use self::values::{literal, range, reshaped, times, without_fence, without_prompt, words};
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
    (ToolKind::NotebookEdit, &["editnotebook", "editnotebookfile", "notebookcelledit"]),
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
    (ToolKind::WebSearch, &["websearch", "googlewebsearch", "searchweb", "googlesearch"]),
    (ToolKind::Todo, &["todowrite", "updateplan", "writetodos", "todo", "managetodolist", "updatetodos"]),
    (
        ToolKind::AskUser,
        &["askuserquestion", "askquestion", "askfollowupquestion", "asktheuser", "requestuserinput"],
    ),
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
}
