//! The names rules have for tools (RULE-1): every product's, without case. A name may mean a family.

use zori_core::tool::ToolKind;

/// What a rule's tool name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolName {
    /// Some of the built-in tools.
    BuiltIn(&'static [ToolKind]),
    /// Starting a sub-agent.
    Agent,
    /// Writing to the memory store.
    Memory,
    /// Having prompts run later.
    Schedule,
    /// Tools of an MCP server: all of them, or those whose name fits (`*` at the end or anywhere).
    Mcp {
        server: String,
        /// The tool; `None` is all.
        tool: Option<String>,
    },
}

use ToolKind::{
    AskUser, Bash, Edit, Fetch, Glob, Grep, JobKill, JobOutput, Ls, MultiEdit, NotebookEdit, Patch, Read,
    Todo, WebSearch, Write,
};

const READERS: &[ToolKind] = &[Read, Grep, Glob, Ls];
const EDITORS: &[ToolKind] = &[Write, Edit, MultiEdit, NotebookEdit, Patch];

/// Names of built-in tools, folded: lower case, no underscore. The first of each line is what messages suggest.
const NAMES: &[(&[&str], &str, &[ToolKind])] = &[
    (&["bash", "shell", "runshell"], "Bash", &[Bash]),
    (&["read", "readfile"], "Read", READERS),
    (&["edit", "replacetext"], "Edit", EDITORS),
    (&["write", "writefile"], "Write", &[Write]),
    (&["multiedit"], "MultiEdit", &[MultiEdit]),
    (&["notebookedit"], "NotebookEdit", &[NotebookEdit]),
    (&["applypatch", "patch"], "apply_patch", &[Patch]),
    (&["glob"], "Glob", &[Glob]),
    (&["grep", "searchtext"], "Grep", &[Grep]),
    (&["ls", "listfiles"], "LS", &[Ls]),
    (&["webfetch", "fetch"], "WebFetch", &[Fetch]),
    (&["websearch"], "WebSearch", &[WebSearch]),
    (&["todowrite", "todo"], "TodoWrite", &[Todo]),
    (&["askuserquestion", "askuser"], "AskUserQuestion", &[AskUser]),
    (&["taskoutput", "bashoutput", "joboutput"], "TaskOutput", &[JobOutput]),
    (&["killshell", "killbash", "taskstop", "jobkill"], "KillShell", &[JobKill]),
];

impl ToolName {
    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix("mcp__") {
            let (server, tool) = match rest.split_once("__") {
                Some((server, "" | "*")) => (server, None),
                Some((server, tool)) => (server, Some(tool.to_owned())),
                None => (rest, None),
            };
            return (!server.is_empty()).then(|| Self::Mcp { server: server.to_owned(), tool });
        }
        match folded(text).as_str() {
            "task" | "agent" => Some(Self::Agent),
            "memory" | "memorysave" => Some(Self::Memory),
            "schedule" => Some(Self::Schedule),
            name => {
                let (_, _, kinds) = NAMES.iter().find(|(names, _, _)| names.contains(&name))?;
                Some(Self::BuiltIn(kinds))
            }
        }
    }

    /// Returns the name that was probably meant.
    pub fn nearest(text: &str) -> Option<&'static str> {
        let known = NAMES.iter().flat_map(|(names, _, _)| *names).copied();
        let near = zori_spelling::nearest(text, known)?;
        NAMES.iter().find(|(names, _, _)| names.contains(&near)).map(|(_, shown, _)| *shown)
    }

    /// Returns whether a built-in tool is meant.
    pub fn covers(&self, kind: ToolKind) -> bool {
        matches!(self, Self::BuiltIn(kinds) if kinds.contains(&kind))
    }

    /// Returns whether the shell tool is meant.
    pub fn covers_shell(&self) -> bool {
        self.covers(Bash)
    }

    /// Returns whether files that are read are meant: then shell operands are, too (RULE-6).
    pub fn covers_reads(&self) -> bool {
        self.covers(Read)
    }

    /// Returns whether files that are written are meant.
    pub fn covers_writes(&self) -> bool {
        self.covers(Write) || self.covers(Edit)
    }

    /// Returns whether exactly this tool of a server is meant.
    pub fn names_mcp(&self, called_server: &str, called_tool: &str) -> bool {
        matches!(self, Self::Mcp { server, tool: Some(tool) }
            if server.eq_ignore_ascii_case(called_server) && tool == called_tool)
    }

    /// Returns whether a tool of a server is meant.
    pub fn covers_mcp(&self, called_server: &str, called_tool: &str) -> bool {
        match self {
            Self::Mcp { server, tool } => {
                server.eq_ignore_ascii_case(called_server)
                    && tool.as_ref().is_none_or(|pattern| super::words::glob(pattern, called_tool))
            }
            _ => false,
        }
    }
}

fn folded(text: &str) -> String {
    text.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_and_other_products() {
        let covers = |name: &str, kind| ToolName::parse(name).unwrap().covers(kind);
        for kind in EDITORS {
            assert!(covers("Edit", *kind) && covers("EDIT", *kind));
        }
        for kind in READERS {
            assert!(covers("read_file", *kind));
        }
        assert!(covers("Write", Write) && !covers("Write", Edit));
        assert!(covers("web_fetch", Fetch) && covers("WebFetch", Fetch));
        assert!(covers("shell", Bash) && !covers("bash", Read));
        assert_eq!(ToolName::parse("Nope"), None);
        assert_eq!(ToolName::nearest("Raed"), Some("Read"));
        assert_eq!(ToolName::nearest("Nonsense"), None);
    }

    #[test]
    fn servers() {
        let covers =
            |rule: &str, tool| ToolName::parse(rule).is_some_and(|name| name.covers_mcp("git_hub", tool));
        assert!(covers("mcp__git_hub", "get_issue"));
        assert!(covers("mcp__git_hub__*", "get_issue"));
        assert!(covers("mcp__git_hub__get_*", "get_issue"));
        assert!(covers("mcp__git_hub__get_issue", "get_issue"));
        assert!(!covers("mcp__git_hub__get_*", "set_issue"));
        assert!(!covers("mcp__other", "get_issue"));
        assert_eq!(ToolName::parse("mcp__"), None);
    }
}
