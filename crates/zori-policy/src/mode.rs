//! Permission modes, and the names other products have for them (`docs/contracts/permissions.md`, MODE-5).

/// How much is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// No questions.
    Yolo,
    /// Edits in the workspace run, the rest as `default`.
    AcceptEdits,
    /// Reads run, changes ask.
    Default,
    /// Every call asks.
    Paranoid,
    /// Reads run, changes are denied.
    Plan,
    /// Like `default`, but what would ask is denied.
    DontAsk,
    /// Nothing runs.
    Deny,
}

/// Which protocol a mode's name belongs to. It decides between meanings of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Command line, environment, config, ACP: our own names.
    Own,
    Claude,
    /// The Yume dialect of it.
    Yume,
    /// The Agent Zero panel.
    AgentZero,
}

/// A mode and how it came to be in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeChoice {
    pub mode: Mode,
    /// Who chose it.
    pub source: ModeSource,
}

/// Who chose a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeSource {
    /// Nobody: it is the default.
    Implicit,
    /// The user, by a name of ours.
    ByName,
    /// By one of Agent Zero's three names, which bring that product's lists and no shell with them (MODE-6).
    AsAgentZero,
}

/// A name that selects a mode.
struct Name {
    text: &'static str,
    mode: Mode,
    /// The only protocol that uses it; `None` means all.
    only: Option<Protocol>,
}

const fn name(text: &'static str, mode: Mode) -> Name {
    Name { text, mode, only: None }
}

/// Every name; the first match counts, so the ones of a single protocol come first.
const NAMES: &[Name] = &[
    Name { text: "auto", mode: Mode::Yolo, only: Some(Protocol::Yume) },
    name("yolo", Mode::Yolo),
    name("bypassPermissions", Mode::Yolo),
    name("god_mode", Mode::Yolo),
    name("acceptEdits", Mode::AcceptEdits),
    name("default", Mode::Default),
    name("balanced", Mode::Default),
    name("auto", Mode::Default),
    name("paranoid", Mode::Paranoid),
    name("interactive", Mode::Paranoid),
    name("plan", Mode::Plan),
    name("dontAsk", Mode::DontAsk),
    name("deny", Mode::Deny),
];

/// The names that make a choice Agent Zero's.
const AGENT_ZERO: &[&str] = &["paranoid", "balanced", "god_mode"];

impl Mode {
    /// Every mode, in the order of the table.
    pub const ALL: &[Self] = &[
        Self::Yolo,
        Self::AcceptEdits,
        Self::Default,
        Self::Paranoid,
        Self::Plan,
        Self::DontAsk,
        Self::Deny,
    ];

    /// Returns our own name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yolo => "yolo",
            Self::AcceptEdits => "acceptEdits",
            Self::Default => "default",
            Self::Paranoid => "paranoid",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::Deny => "deny",
        }
    }

    /// Returns the name a protocol has for it; ours where it has none.
    pub fn name_in(self, protocol: Protocol) -> &'static str {
        match (protocol, self) {
            (Protocol::Claude, Self::Yolo) => "bypassPermissions",
            (Protocol::Yume, Self::Yolo) => "auto",
            (Protocol::Yume, Self::Paranoid) => "interactive",
            (Protocol::AgentZero, Self::Yolo) => "god_mode",
            (Protocol::AgentZero, Self::Default) => "balanced",
            (_, mode) => mode.as_str(),
        }
    }

    /// Returns one line that says what it means.
    pub fn about(self) -> &'static str {
        match self {
            Self::Yolo => "no questions",
            Self::AcceptEdits => "edits in the workspace run, the rest as default",
            Self::Default => "reads run, changes ask",
            Self::Paranoid => "every call asks",
            Self::Plan => "reads run, changes are denied",
            Self::DontAsk => "like default, but what would ask is denied",
            Self::Deny => "nothing runs",
        }
    }
}

impl ModeChoice {
    /// Returns a mode that nobody chose.
    pub fn implicit(mode: Mode) -> Self {
        Self { mode, source: ModeSource::Implicit }
    }

    /// What the provider `agent-zero` starts with (DECISIONS 11).
    pub const AGENT_ZERO: Self = Self { mode: Mode::Default, source: ModeSource::AsAgentZero };

    /// The names of that provider's own modes, from the one that asks most on.
    pub const OF_AGENT_ZERO: &'static [&'static str] = AGENT_ZERO;

    /// Parses a name. Case does not matter; `None` for an unknown name.
    pub fn named(text: &str, protocol: Protocol) -> Option<Self> {
        let fits = |name: &&Name| {
            name.text.eq_ignore_ascii_case(text) && name.only.is_none_or(|only| only == protocol)
        };
        let found = NAMES.iter().find(fits)?;
        let source =
            if AGENT_ZERO.contains(&found.text) { ModeSource::AsAgentZero } else { ModeSource::ByName };
        Some(Self { mode: found.mode, source })
    }

    /// Returns the name to show: the one of the product whose rules apply.
    pub fn shown(self) -> &'static str {
        match self.source {
            ModeSource::AsAgentZero => self.mode.name_in(Protocol::AgentZero),
            ModeSource::Implicit | ModeSource::ByName => self.mode.as_str(),
        }
    }

    /// Whether it is `balanced`: readers of the shell ask as well unless whitelisted (MODE-6).
    pub fn is_balanced(self) -> bool {
        self.mode == Mode::Default && self.source == ModeSource::AsAgentZero
    }

    /// Returns the names a user may choose from, for messages.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<_> = NAMES.iter().map(|name| name.text).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_product() {
        let read = |protocol| {
            let say = |name: &&str| {
                let choice = ModeChoice::named(name, protocol).unwrap();
                format!("{name}={}/{:?}", choice.mode.as_str(), choice.source)
            };
            ModeChoice::names().iter().map(say).collect::<Vec<_>>().join(" ")
        };
        let own = "acceptEdits=acceptEdits/ByName auto=default/ByName balanced=default/AsAgentZero \
            bypassPermissions=yolo/ByName default=default/ByName deny=deny/ByName dontAsk=dontAsk/ByName \
            god_mode=yolo/AsAgentZero interactive=paranoid/ByName paranoid=paranoid/AsAgentZero plan=plan/ByName \
            yolo=yolo/ByName";
        assert_eq!(read(Protocol::Own), own);
        assert_eq!(read(Protocol::Claude), own);
        assert_eq!(read(Protocol::Yume), own.replace("auto=default", "auto=yolo"));
        assert_eq!(ModeChoice::named("YOLO", Protocol::Own).unwrap().mode, Mode::Yolo);
        assert_eq!(ModeChoice::named("", Protocol::Own), None);
        assert_eq!(ModeChoice::named("sudo", Protocol::Own), None);
    }

    #[test]
    fn each_protocol_reads_back_what_it_reports() {
        for protocol in [Protocol::Own, Protocol::Claude, Protocol::Yume, Protocol::AgentZero] {
            for mode in Mode::ALL {
                let name = mode.name_in(protocol);
                assert_eq!(ModeChoice::named(name, protocol).unwrap().mode, *mode, "{name} in {protocol:?}");
            }
        }
        assert_eq!(Mode::Yolo.name_in(Protocol::Claude), "bypassPermissions");
        assert_eq!(Mode::Yolo.name_in(Protocol::Yume), "auto");
    }
}
