//! Slash commands as the chat sees them. The table itself is the binary's, which runs most of them; what shows cells is run here.

/// A slash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandInfo {
    /// Its name, with the slash.
    pub name: &'static str,
    /// What it is called, too.
    pub aliases: &'static [&'static str],
    pub args: &'static str,
    pub about: &'static str,
    pub category: &'static str,
    /// Whether it waits for the end of a running turn.
    pub waits: bool,
    /// Whether somebody brought it along: it is a prompt then.
    pub brought: bool,
    /// Whether what stands behind it is chosen from a list, which Enter behind the name alone opens.
    pub chooses: bool,
    /// Whether the screen itself does it.
    pub own: Option<ScreenCommand>,
}

impl CommandInfo {
    /// One without a name, for those that say only what is special about them.
    pub const NOTHING: Self = Self {
        name: "",
        aliases: &[],
        args: "",
        about: "",
        category: "",
        waits: false,
        brought: false,
        chooses: false,
        own: None,
    };

    /// Returns whether it is called so, in whichever case (CMD-1).
    pub fn is_called(&self, name: &str) -> bool {
        std::iter::once(&self.name).chain(self.aliases).any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// A command that is about the screen or its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenCommand {
    Show,
    Copy,
    Find,
    Todo,
    Keys,
    Help,
    Rerun,
    Aside,
    History,
    Editor,
    Theme,
    /// The composer takes several lines (UI-9).
    Lines,
}

/// Returns whether a line is a command of the program's own, or looks like one; a path does not, and what somebody brought along is a prompt.
pub fn is_command(commands: &[CommandInfo], line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    match commands.iter().find(|command| command.is_called(word)) {
        Some(command) => !command.brought,
        None => word.strip_prefix('/').is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        }),
    }
}

/// Returns a name without the quotes around it (UI-8).
pub fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = ['"', '\''].iter().find_map(|quote| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inner.contains(*quote)).then_some(inner)
    });
    inner.unwrap_or(text)
}

/// Returns whether the sign at the beginning of a text is doubled, and meant as it is (CMP-6).
pub fn is_doubled(text: &str) -> bool {
    ["//", "!!!", "##"].iter().any(|doubled| text.starts_with(doubled))
}

/// Returns the line for AGENTS.md that a text is (CMP-6). A heading of a longer text is none.
pub fn guideline(text: &str) -> Option<&str> {
    let line = text.strip_prefix('#').filter(|_| !is_doubled(text))?;
    (!line.contains('\n') && !line.trim().is_empty()).then(|| line.trim())
}

/// Returns the commands that a word may become, best first.
pub fn matching<'a>(commands: &'a [CommandInfo], word: &str) -> Vec<&'a CommandInfo> {
    let typed = word.trim_start_matches('/').to_lowercase();
    let mut found: Vec<(usize, &CommandInfo)> = commands
        .iter()
        .filter_map(|command| {
            let name = command.name.trim_start_matches('/');
            let rank = if name == typed {
                0
            } else if name.starts_with(&typed) {
                1
            } else if name.contains(&typed) {
                2
            } else if subsequence(&typed, name) {
                3
            } else {
                return None;
            };
            Some((rank, command))
        })
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, command)| command).collect()
}

/// Returns whether the letters of a word occur in another in this order.
pub fn subsequence(letters: &str, of: &str) -> bool {
    let mut rest = of.chars();
    letters.chars().all(|letter| rest.any(|c| c == letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_around_a_name() {
        for (text, name) in [
            (" \"my project\" ", "my project"),
            ("'x'", "x"),
            ("it's", "it's"),
            ("\"", "\""),
            ("\"a\" or \"b\"", "\"a\" or \"b\""),
        ] {
            assert_eq!(unquoted(text), name);
        }
    }

    #[test]
    fn best_first() {
        let command = |name| CommandInfo { name, ..CommandInfo::NOTHING };
        let all = ["/compact", "/copy", "/config", "/recap", "/show"].map(command);
        let found = |word| matching(&all, word).iter().map(|command| command.name).collect::<Vec<_>>();
        assert_eq!(found("/co"), ["/compact", "/copy", "/config"]);
        assert_eq!(found("/cap"), ["/recap"]);
        assert_eq!(found("/x"), [""; 0]);
        assert_eq!(found("/").len(), 5);
    }
}
