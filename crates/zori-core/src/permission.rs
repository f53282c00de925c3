//! Decisions about calls, and the facts about paths that they need. `zori-policy` decides.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::confine::Holding;

/// What an entry of a folder is, for a walk that looks for what a command would reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Anything but a folder or a link.
    File,
    /// A directory.
    Folder,
    /// A link, with where it leads in the end; nothing if it leads nowhere.
    Link(Option<PathBuf>),
}

/// A verdict and how it came about (`docs/contracts/permissions.md`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What happens.
    pub verdict: Verdict,
    /// The class the call was put in.
    pub class: Class,
    /// Why, for people and for the model.
    pub reason: String,
    /// What is allowed in its place, where there is such a thing (DEC-3).
    pub instead: Option<String>,
    /// The rule that decided, if one did.
    pub rule: Option<RuleRef>,
    /// Which of the twelve steps decided, from 1 to 12 (`docs/contracts/permissions.md`).
    pub step: u8,
    /// Whether it is a shell text that is not known before it runs.
    pub unresolved: bool,
    /// Whether the call is denied only because nobody can be asked about it.
    pub nobody_to_ask: bool,
}

impl Decision {
    /// A decision nothing more is known about: no rule, no step's particulars.
    pub fn new(verdict: Verdict, class: Class, reason: impl Into<String>) -> Self {
        Self {
            verdict,
            class,
            reason: reason.into(),
            instead: None,
            rule: None,
            step: 11,
            unresolved: false,
            nobody_to_ask: false,
        }
    }
}

/// The word that the reason begins with if nobody can be asked. Models and clients know it; code looks at
/// [`Decision::nobody_to_ask`].
pub const APPROVAL_UNAVAILABLE: &str = "approval_unavailable";

/// What happens to a call. The order is from weak to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// The user is asked.
    Ask,
    /// It does not run.
    Deny,
}

impl Verdict {
    /// Returns the name rules and policy files use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

macro_rules! classes {
    ($($name:ident $text:literal $about:literal),* $(,)?) => {
        /// What kind of thing a call does (`docs/contracts/permissions.md`). The order is from weak to strict: a call
        /// has the strictest class of its parts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Class { $(#[doc = $about] $name),* }

        impl Class {
            /// Every class.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the name the contract uses.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Returns one line that says what it means.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $about),* }
            }
        }
    };
}

classes! {
    Internal "I" "Internal state: task list, plan text, question to the user.",
    Read "R" "Reads, lists or searches inside a workspace root.",
    ShellRead "XR" "A shell command that provably only reads.",
    Agent "A" "Starts a sub-agent.",
    MemoryWrite "IM" "Writes to the memory store.",
    Network "N" "Fetches from the network.",
    McpRead "MR" "An MCP tool that only reads, of a server the user trusts.",
    ReadOutside "RX" "Reads outside the workspace.",
    ReadSensitive "RS" "Reads what is sensitive: keys, credentials, histories.",
    Write "W" "Creates or edits inside a workspace root.",
    ShellFile "XF" "A plain file operation by the shell, inside the workspace.",
    WriteOutside "WX" "Creates or edits outside the workspace.",
    WriteProtected "WP" "Creates or edits what is protected: hooks, start-up files, settings.",
    Mcp "MX" "Any other MCP tool.",
    Schedule "IS" "Has a prompt run later, when nobody watches.",
    Shell "X" "Any other shell command.",
    ShellUnknown "XU" "A shell command that is not known before it runs.",
}

impl Class {
    /// Returns whether it may change something; `plan` refuses these.
    pub fn changes(self) -> bool {
        match self {
            Self::Write
            | Self::WriteOutside
            | Self::WriteProtected
            | Self::ShellFile
            | Self::Shell
            | Self::ShellUnknown
            | Self::Mcp
            | Self::Schedule
            | Self::MemoryWrite => true,
            Self::Internal
            | Self::Read
            | Self::ReadOutside
            | Self::ReadSensitive
            | Self::ShellRead
            | Self::Network
            | Self::McpRead
            | Self::Agent => false,
        }
    }
}

/// A rule, as a decision names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRef {
    /// The rule as it was written.
    pub text: Arc<str>,
    /// Whose rule it is.
    pub layer: Layer,
    /// Where it stands: `FILE:LINE`, or the flag.
    pub source: Arc<str>,
}

/// Whose word it is, from strong to weak (RULE-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The administrator's file.
    Managed,
    /// The command line.
    Flags,
    /// An approval given in this session.
    Session,
    /// The user's config file.
    User,
    /// The project's own settings, which can only tighten.
    Project,
}

impl Layer {
    /// Returns the name used in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Flags => "flags",
            Self::Session => "session",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// What the file system says about a path (P-1, P-2). Gathered before a decision, which itself looks at nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// Every place the path stands for, all with resolved folders: its own, that of each link it leads over, and
    /// last where it ends, which need not exist (P-4).
    pub places: Vec<PathBuf>,
    /// What is there.
    pub kind: PathKind,
    /// How many names the file has; more than one may reach outside (P-6).
    pub links: u64,
}

impl PathFacts {
    /// What holds for a path nothing is known about: it stands for itself, and nothing is there.
    pub fn by_text(path: PathBuf) -> Self {
        Self { places: vec![path], kind: PathKind::Missing, links: 0 }
    }
}

/// What the file system said about the paths of a call when it was judged. What the call opens is exactly that (P-3).
#[derive(Clone, Default)]
pub struct PathSnapshot {
    facts: Arc<HashMap<PathBuf, PathFacts>>,
    withheld: Option<Arc<Withheld>>,
    obligations: Obligations,
}

/// What a decision found that the call itself has to keep to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Obligations {
    /// It runs without a question because it only reads, so nothing may make its programs do more (SH-11).
    pub read_only: bool,
    /// A name may lead to an address of this machine or network (DECISIONS 54).
    pub private_addresses: bool,
    /// What the mode wants of the sandbox.
    pub holding: Holding,
}

/// Says of a file whether it is kept back.
type Withheld = dyn Fn(&Path) -> bool + Send + Sync;

impl PathSnapshot {
    /// Keeps what was found.
    pub fn new(facts: HashMap<PathBuf, PathFacts>) -> Self {
        Self { facts: Arc::new(facts), withheld: None, obligations: Obligations::default() }
    }

    /// Keeps from a search of a folder the files that `withheld` holds of.
    pub fn withholding(mut self, withheld: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.withheld = Some(Arc::new(withheld));
        self
    }

    /// Keeps what the decision found beside the paths.
    pub fn with_obligations(mut self, obligations: Obligations) -> Self {
        self.obligations = obligations;
        self
    }

    /// Returns what the decision found beside the paths.
    pub fn obligations(&self) -> Obligations {
        self.obligations
    }

    /// Returns what a path stood for; `None` if nobody asked about it.
    pub fn of(&self, path: &Path) -> Option<&PathFacts> {
        self.facts.get(path)
    }

    /// Returns whether the contents of a file in a folder that may be read are kept back.
    pub fn withholds(&self, path: &Path) -> bool {
        self.withheld.as_ref().is_some_and(|withheld| withheld(path))
    }
}

impl fmt::Debug for PathSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathSnapshot").field(&self.facts).finish()
    }
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing yet.
    Missing,
    /// A regular file.
    File,
    /// A folder.
    /// A folder.
    Folder,
    /// A pipe, socket or device.
    Special,
    /// It cannot be said: a loop of links, a folder that may not be entered.
    Unknown,
}
