//! What can be run, as a table: help, the reference page and later the manifest walk it.

mod audit_log;
mod auth;
mod config;
mod demo;
mod exec;
mod models;
mod policy;
mod sessions;
mod trust;

pub(crate) use exec::compact as exec_compact;
pub(crate) use exec::turn as exec_turn;
pub(crate) use sessions::latest as latest_session;

use std::time::Duration;

use crate::args::LowArgs;
use crate::args::flags::{self, Flag};
use crate::chat;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::profile::Profile;
use crate::terminal::Terminal;
use crate::timeout::Timeout;
use crate::ui::Ui;

const UTILITY_TIME: Duration = Duration::from_secs(30);
const LOGIN_TIME: Duration = Duration::from_secs(300);

/// What a command runs in.
pub struct Cx<'a> {
    /// The name the program was called by.
    pub profile: &'static Profile,
    /// Where the streams go.
    pub terminal: Terminal,
    /// The clock that ends the command.
    pub timeout: Option<Timeout>,
    /// The way out for words.
    pub ui: &'a mut Ui,
}

/// A command.
pub struct Command {
    /// Its name, one word or two; none for the bare call.
    pub path: &'static [&'static str],
    /// What it does, in one line.
    pub about: &'static str,
    /// Examples, shown below the options.
    pub after_help: &'static str,
    /// Its own flags.
    pub flags: &'static [Flag],
    /// Its argument; at most one so far.
    pub args: &'static [Positional],
    /// What its output is (DECISIONS 4, 5).
    pub class: Class,
    /// How it may end.
    pub exits: &'static [Exit],
    /// Does it.
    pub run: fn(&mut Cx<'_>, &LowArgs) -> Result<Exit, CommandError>,
}

impl Command {
    /// Returns whether each run of it is in the audit log: whatever changes something (`cli-agent-spec.md` section 7).
    pub fn is_recorded(&self) -> bool {
        match (self.class, self.path) {
            // It changes nothing but a folder of its own, which goes with it.
            (Class::Agent, ["demo"]) => false,
            (Class::Agent | Class::Interactive, _) => true,
            (Class::Utility, path) => {
                matches!(path, ["auth", "login" | "logout"] | ["config", "init"])
                    || matches!(path, ["trust", "allow" | "deny" | "forget"])
            }
        }
    }

    /// Returns how long it may take when nobody says otherwise (DECISIONS 25). Some wait for a person.
    pub fn time(&self) -> Option<Duration> {
        match (self.class, self.path) {
            (Class::Utility, ["auth", "login"] | ["trust", "allow"]) => Some(LOGIN_TIME),
            (Class::Utility, _) => Some(UTILITY_TIME),
            (Class::Agent | Class::Interactive, _) => None,
        }
    }
}

/// An argument without a flag.
pub struct Positional {
    /// What it is called.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Whether it must be there.
    pub required: bool,
}

/// What a command's output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A result.
    Utility,
    /// What the model says.
    Agent,
    /// A conversation.
    Interactive,
}

/// The groups of two-word commands.
pub const GROUPS: &[(&str, &str)] = &[
    ("sessions", "List, show and resume saved sessions"),
    ("models", "List and show the models there are"),
    ("auth", "Log in, log out, and see where keys come from"),
    ("config", "Find or create the config file"),
    ("policy", "See what would happen to a call, and why"),
    ("trust", "Decide whether a folder's own settings count"),
];

const AGENT_EXITS: &[Exit] = &[
    Exit::Success,
    Exit::General,
    Exit::Usage,
    Exit::Partial,
    Exit::Precondition,
    Exit::Conflict,
    Exit::PermissionDenied,
    Exit::AuthRequired,
    Exit::PaymentRequired,
    Exit::Timeout,
    Exit::RateLimited,
    Exit::Unavailable,
    Exit::Interrupted,
    Exit::Terminated,
];

const TRUST_EXITS: &[Exit] = &[Exit::Success, Exit::General, Exit::Usage, Exit::Precondition, Exit::Timeout];

const FOLDER: Positional =
    Positional { name: "DIR", about: "The folder [default: this one]", required: false };

/// The bare call.
pub const CHAT: Command = Command {
    path: &[],
    about: "Chat with the model at a terminal",
    after_help: "",
    flags: &[flags::PROMPT, flags::IMAGE],
    args: &[],
    class: Class::Interactive,
    exits: &[
        Exit::Success,
        Exit::Usage,
        Exit::Precondition,
        Exit::Conflict,
        Exit::Timeout,
        Exit::Interrupted,
        Exit::Terminated,
    ],
    run: chat::run,
};

/// One prompt, no questions.
pub const EXEC: Command = Command {
    path: &["exec"],
    about: "Run one prompt and print the answer",
    after_help: "Examples:\n  zori exec -p \"What does main.rs do?\"\n  \
                 git diff | zori exec -p \"Review this change\"\n  zori exec < prompt.md\n  \
                 zori exec --image screen.png -p \"What is wrong here?\"",
    flags: &[flags::PROMPT, flags::IMAGE],
    args: &[Positional {
        name: "-",
        about: "Wait for standard input, however long it takes",
        required: false,
    }],
    class: Class::Agent,
    exits: AGENT_EXITS,
    run: exec::run,
};

/// Every command, in the order help lists them.
pub const COMMANDS: &[Command] = &[
    CHAT,
    EXEC,
    Command {
        path: &["demo"],
        about: "Watch a scripted model edit and test a small program; needs no key",
        after_help: "",
        flags: &[flags::KEEP],
        args: &[],
        class: Class::Agent,
        exits: &[
            Exit::Success,
            Exit::General,
            Exit::Usage,
            Exit::Partial,
            Exit::Timeout,
            Exit::Interrupted,
            Exit::Terminated,
        ],
        run: demo::run,
    },
    Command {
        path: &["sessions", "list"],
        about: "List saved sessions, newest first",
        after_help: "",
        flags: &[],
        args: &[],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::Precondition, Exit::Timeout],
        run: sessions::list,
    },
    Command {
        path: &["sessions", "show"],
        about: "Print the transcript of a session",
        after_help: "",
        flags: &[],
        args: &[Positional { name: "ID", about: "The session", required: true }],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::Precondition, Exit::NotFound, Exit::Timeout],
        run: sessions::show,
    },
    Command {
        path: &["sessions", "resume"],
        about: "Go on with a session: chat, or with -p one turn",
        after_help: "Examples:\n  zori sessions resume\n  zori sessions resume -p \"And now the tests\"",
        flags: &[flags::PROMPT, flags::IMAGE],
        args: &[Positional { name: "ID", about: "The session [default: the latest]", required: false }],
        class: Class::Agent,
        exits: AGENT_EXITS,
        run: sessions::resume,
    },
    Command {
        path: &["models", "list"],
        about: "List the models of the catalogue, and of servers on this machine",
        after_help: "`--provider NAME` lists the models of one provider.",
        flags: &[],
        args: &[],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::Precondition, Exit::Timeout],
        run: models::list,
    },
    Command {
        path: &["models", "show"],
        about: "Show what is known of a model",
        after_help: "",
        flags: &[],
        args: &[Positional { name: "MODEL", about: "The model, or `provider:model`", required: true }],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::NotFound, Exit::Timeout],
        run: models::show,
    },
    Command {
        path: &["auth", "login"],
        about: "Log in to a provider, or store its key, in the system's credential store",
        after_help: "Examples:\n  zori auth login --provider openrouter\n  \
                     zori auth login --provider anthropic --with-token < key.txt\n\n\
                     Without `--with-token` a browser opens. It is given five minutes.",
        flags: &[flags::WITH_TOKEN],
        args: &[],
        class: Class::Utility,
        exits: &[
            Exit::Success,
            Exit::General,
            Exit::Usage,
            Exit::Precondition,
            Exit::AuthRequired,
            Exit::Timeout,
            Exit::Unavailable,
            Exit::Interrupted,
            Exit::Terminated,
        ],
        run: auth::login,
    },
    Command {
        path: &["auth", "logout"],
        about: "Forget the stored keys and logins",
        after_help: "`--provider NAME` forgets those of one provider.",
        flags: &[],
        args: &[],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::Precondition, Exit::Timeout],
        run: auth::logout,
    },
    Command {
        path: &["auth", "status"],
        about: "Show where each provider's key comes from",
        after_help: "A key in the environment (`env`) wins over one in the credential store (`store`).",
        flags: &[],
        args: &[],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::Precondition, Exit::Timeout],
        run: auth::status,
    },
    Command {
        path: &["config", "path"],
        about: "Print where the config file is, or would be",
        after_help: "",
        flags: &[],
        args: &[],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::Precondition, Exit::Timeout],
        run: config::path,
    },
    Command {
        path: &["config", "init"],
        about: "Write a config file in which every setting is a comment",
        after_help: "",
        flags: &[],
        args: &[],
        class: Class::Utility,
        exits: &[
            Exit::Success,
            Exit::General,
            Exit::Usage,
            Exit::Precondition,
            Exit::Conflict,
            Exit::Timeout,
        ],
        run: config::init,
    },
    Command {
        path: &["policy", "check"],
        about: "Decide about calls on standard input, a JSON object a line",
        after_help: "Example:\n  \
                     echo '{\"id\":1,\"tool\":\"bash\",\"input\":{\"command\":\"ls\"}}' | zori policy check --policy FILE",
        flags: &[flags::POLICY, flags::PROFILE],
        args: &[],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::Timeout],
        run: policy::check,
    },
    Command {
        path: &["policy", "explain"],
        about: "Say step by step what would happen to a call",
        after_help: "Examples:\n  zori policy explain \"git push\"\n  \
                     zori policy explain --tool read --input '{\"path\":\".env\"}' --permission-mode default",
        flags: &[flags::POLICY, flags::PROFILE, flags::TOOL, flags::INPUT],
        args: &[Positional { name: "COMMAND", about: "A shell command", required: false }],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::Precondition, Exit::Timeout],
        run: policy::explain,
    },
    Command {
        path: &["policy", "test"],
        about: "Hold a policy file against its own expectations",
        after_help: "",
        flags: &[flags::PROFILE, flags::CORPUS],
        args: &[Positional { name: "FILE", about: "The policy file", required: true }],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::General, Exit::Usage, Exit::Timeout],
        run: policy::test,
    },
    Command {
        path: &["trust", "show"],
        about: "Show what a folder's own settings would do, and whether they count",
        after_help: "",
        flags: &[],
        args: &[FOLDER],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::Precondition, Exit::Timeout],
        run: trust::show,
    },
    Command {
        path: &["trust", "allow"],
        about: "Trust a folder: its hooks run, its model and prompt count",
        after_help: "It shows what would become active and asks; `-y` answers. What changes later is asked about again.",
        flags: &[flags::WITHOUT_HOOKS, flags::BELOW],
        args: &[FOLDER],
        class: Class::Utility,
        exits: TRUST_EXITS,
        run: trust::allow,
    },
    Command {
        path: &["trust", "deny"],
        about: "Do not trust a folder, and ask about changes in it (mode default)",
        after_help: "",
        flags: &[],
        args: &[FOLDER],
        class: Class::Utility,
        exits: TRUST_EXITS,
        run: trust::deny,
    },
    Command {
        path: &["trust", "forget"],
        about: "Forget what was decided about a folder",
        after_help: "",
        flags: &[],
        args: &[FOLDER],
        class: Class::Utility,
        exits: TRUST_EXITS,
        run: trust::forget,
    },
    Command {
        path: &["trust", "list"],
        about: "List the folders that were decided about",
        after_help: "",
        flags: &[],
        args: &[],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::Usage, Exit::Precondition, Exit::Timeout],
        run: trust::list,
    },
    Command {
        path: &["audit-log"],
        about: "Show what was decided and what ran, or check that nobody changed it",
        after_help: "The records of this project and those of commands, oldest first. `--root DIR` chooses another\n\
                     project, `--session ID` one session.\n\n\
                     Examples:\n  zori audit-log --event decision --limit 20\n  zori audit-log --verify",
        flags: &[flags::EVENT, flags::LIMIT, flags::VERIFY],
        args: &[],
        class: Class::Utility,
        exits: &[Exit::Success, Exit::General, Exit::Usage, Exit::Precondition, Exit::Timeout],
        run: audit_log::run,
    },
];
