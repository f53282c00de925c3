//! What is decided about a call, and what has to be known of a path for it. The function that decides is
//! `zori-policy`'s `decide`.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A verdict and how it came about (`security.md` chapter 2).
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
    /// Which step of `security.md` 2.1 decided, from 1 to 12.
    pub step: u8,
    /// What a sandbox would have to let through, should there be one.
    pub reach: Reach,
    /// Whether it is a shell text that is not known before it runs.
    pub unresolved: bool,
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
            reach: Reach::NoProcess,
            unresolved: false,
        }
    }

    /// Returns whether the call is denied only because nobody can be asked about it (step 12).
    pub fn is_unasked(&self) -> bool {
        self.verdict == Verdict::Deny && self.reason.starts_with(UNAVAILABLE)
    }
}

/// How the reason of a call begins that nobody could be asked about; the model and clients know it by this word.
pub const UNAVAILABLE: &str = "approval_unavailable";

/// What happens to a call. The order is from weak to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// Somebody is asked.
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
        /// What kind of thing a call does (`security.md` 2.3). The order is from weak to strict: a call has the
        /// strictest class of its parts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Class { $(#[doc = $about] $name),* }

        impl Class {
            /// Every class.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the name `security.md` uses.
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
    I "I" "Internal state: task list, plan text, question to the user.",
    R "R" "Reads, lists or searches inside a workspace root.",
    Xr "XR" "A shell command that provably only reads.",
    A "A" "Starts a sub-agent.",
    Im "IM" "Writes to the memory store.",
    N "N" "Fetches from the network.",
    Mr "MR" "An MCP tool that only reads, of a server the user trusts.",
    Rx "RX" "Reads outside the workspace.",
    Rs "RS" "Reads what is sensitive: keys, credentials, histories.",
    W "W" "Creates or edits inside a workspace root.",
    Xf "XF" "A plain file operation by the shell, inside the workspace.",
    Wx "WX" "Creates or edits outside the workspace.",
    Wp "WP" "Creates or edits what is protected: hooks, start-up files, settings.",
    Mx "MX" "Any other MCP tool.",
    X "X" "Any other shell command.",
    Xu "XU" "A shell command that is not known before it runs.",
}

impl Class {
    /// Returns whether it may change something; `plan` refuses these.
    pub fn changes(self) -> bool {
        match self {
            Self::W | Self::Wx | Self::Wp | Self::Xf | Self::X | Self::Xu | Self::Mx | Self::Im => true,
            Self::I | Self::R | Self::Rx | Self::Rs | Self::Xr | Self::N | Self::Mr | Self::A => false,
        }
    }

    /// Returns whether it is a shell command.
    pub fn is_shell(self) -> bool {
        matches!(self, Self::Xr | Self::Xf | Self::X | Self::Xu)
    }
}

/// What a sandbox would have to let through (DECISIONS 38).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// No process is started.
    NoProcess,
    /// A process that nobody looked at: no network.
    Offline,
    /// A process that a person approves: with network.
    Online,
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
    pub kind: PlaceKind,
    /// How many names the file has; more than one may reach outside (P-6).
    pub links: u64,
}

impl PathFacts {
    /// What holds for a path nothing is known about: it stands for itself, and nothing is there.
    pub fn by_text(path: PathBuf) -> Self {
        Self { places: vec![path], kind: PlaceKind::Missing, links: 0 }
    }
}

/// What the file system said about the paths of a call when it was judged. What the call opens is exactly that (P-3).
#[derive(Clone, Default)]
pub struct Judged {
    facts: Arc<HashMap<PathBuf, PathFacts>>,
    withheld: Option<Arc<Withheld>>,
}

/// Says of a file whether it is kept back.
type Withheld = dyn Fn(&Path) -> bool + Send + Sync;

impl Judged {
    /// Keeps what was found.
    pub fn new(facts: HashMap<PathBuf, PathFacts>) -> Self {
        Self { facts: Arc::new(facts), withheld: None }
    }

    /// Keeps from a search of a folder the files that `withheld` holds of.
    pub fn withholding(mut self, withheld: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.withheld = Some(Arc::new(withheld));
        self
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

impl fmt::Debug for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Judged").field(&self.facts).finish()
    }
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// Nothing yet.
    Missing,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A pipe, socket or device.
    Special,
    /// It cannot be said: a loop of links, a folder that may not be entered.
    Unknown,
}
