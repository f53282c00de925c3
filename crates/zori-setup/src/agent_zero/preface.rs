//! What goes before a message: the observer's block and the context block, when they are due (CB-1, OBS-2).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zori_contract::failure::Failure;
use zori_core::image::size_in_words;
use zori_core::time::Clock;
use zori_host::SystemClock;
use zori_policy::policy::ShellPolicy;
use zori_policy::{Mode, ModeChoice};
use zori_providers::agent_zero::{Attachment, Preface, PrefaceBuilder};
use zori_redact::Redactor;
use zori_tools::context::{self, BlockFacts, ContextSettings, Previews, Tree};
use zori_tools::toolset::ReadBounds;

use super::Reader;
use super::project::{ActiveNames, DEFAULT, profile_prompt};
use super::redaction::ContextRedactor;
use crate::config::Config;
use crate::environment::Environment;
use crate::error::SETTING_INVALID;

/// When the context block is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Always,
    OnChange,
    Once,
    Manual,
}

/// Builds the blocks from the settings of a run.
pub struct ContextPreface {
    settings: ContextSettings,
    redactor: ContextRedactor,
    due: Due,
    /// What is kept of the observer and has no effect (OBS-5).
    observer_facts: String,
    enabled: bool,
    project: String,
    clock: Arc<dyn Clock>,
    live: Mutex<Live>,
}

/// What changes while the program runs.
struct Live {
    /// The agent profile and its words (`/agent`).
    profile: String,
    profile_prompt: String,
    /// When the observer speaks; `None`: never.
    observer: Option<Due>,
    /// What the tools may do (`/mode`, `/security`).
    rights: Rights,
    /// Files that go with the next message (`/upload --send`).
    attachments: Vec<Attachment>,
    /// The beginning of the last hash that was sent.
    sent: Option<String>,
    /// The files as they were last seen.
    seen: Option<Arc<Tree>>,
}

/// What the server's agent is told of its tools.
struct Rights {
    mode: &'static str,
    shell: bool,
    tools: Vec<String>,
    /// Whether they are other than when the program began.
    changed: bool,
}

impl Rights {
    fn new(mode: ModeChoice, shell: &ShellPolicy) -> Self {
        let tools = tool_lines(mode, shell);
        Self { mode: mode.shown(), shell: shell.allowed, tools, changed: false }
    }
}

/// What the blocks depend on beside the config.
pub struct PrefaceSources<'a> {
    pub config: &'a Config,
    pub env: &'a Environment,
    pub root: PathBuf,
    pub mode: ModeChoice,
    pub shell: &'a ShellPolicy,
    pub redactor: Redactor,
}

impl ContextPreface {
    /// Reads the settings; returns warnings, too.
    pub fn read(sources: PrefaceSources<'_>) -> Result<(Self, Vec<String>), Failure> {
        let PrefaceSources { config, env, root, mode, shell, redactor } = sources;
        let mut reader = Reader::new(config, env);
        let usual = ContextSettings::new(root);
        let flag = |reader: &Reader<'_>, name: &str| {
            let variable = format!("AGENTZERO_CONTEXT_{}", name.to_ascii_uppercase());
            reader.flag(&format!("context.include_{name}"), &variable, true)
        };
        let mut count = |name: &str, default: usize| {
            let variable = format!("AGENTZERO_CONTEXT_{}", name.to_ascii_uppercase());
            reader.count(&format!("context.{name}"), &variable, default)
        };
        let (max_bytes, max_files) =
            (count("max_bytes", usual.max_bytes), count("max_files", usual.max_files));
        let max_depth = count("max_depth", usual.max_depth);
        let max_preview_bytes = count("max_preview_bytes", usual.max_preview_bytes);
        let settings = ContextSettings {
            ignore_dirs: reader.list("context.ignore_dirs").unwrap_or(usual.ignore_dirs),
            respect_gitignore: config.flag("context.respect_gitignore").unwrap_or(true),
            preview_files: reader.list("context.preview_files").unwrap_or(usual.preview_files),
            sensitive_files: reader.list("context.sensitive_files").unwrap_or_default(),
            include_tree: flag(&reader, "tree"),
            include_previews: flag(&reader, "previews"),
            include_git: flag(&reader, "git"),
            include_system: flag(&reader, "system"),
            include_tools: flag(&reader, "tools"),
            max_bytes,
            max_files,
            max_depth,
            max_preview_bytes,
            root: usual.root,
        };
        let due = match reader.text("context.mode", "AGENTZERO_CONTEXT_MODE").unwrap_or("on_change") {
            "always" => Due::Always,
            "on_change" => Due::OnChange,
            "once" => Due::Once,
            "manual" => Due::Manual,
            other => {
                let message = format!("AGENTZERO_CONTEXT_MODE cannot be `{other}`");
                return Err(Failure::new(&SETTING_INVALID, message)
                    .hint("it is `always`, `on_change`, `once` or `manual`"));
            }
        };
        let observer = match config.text("observer.mode").unwrap_or("automatic") {
            _ if !reader.flag("observer.enabled", "AGENTZERO_OBSERVER_ENABLED", false) => None,
            "always" => Some(Due::Always),
            "automatic" => Some(Due::OnChange),
            _ => None,
        };
        let enabled = reader.flag("context.enabled", "AGENTZERO_CONTEXT", true);
        let ActiveNames { project, agent } = ActiveNames::of(config);
        let live = Live {
            profile_prompt: profile_prompt(config, &agent)?,
            profile: agent,
            observer,
            rights: Rights::new(mode, shell),
            attachments: Vec::new(),
            sent: None,
            seen: None,
        };
        let observer_facts = observer_facts(config);
        let (redactor, mut warnings) = ContextRedactor::new(
            reader.list("context.redact_keys"),
            reader.list("context.redact_patterns"),
            redactor,
        );
        warnings.append(&mut reader.warnings);
        let clock = Arc::new(SystemClock::new());
        let live = Mutex::new(live);
        Ok((Self { settings, redactor, due, observer_facts, enabled, project, clock, live }, warnings))
    }

    /// Tells the server's agent from the next block on what its tools may do.
    pub fn set_rights(&self, mode: ModeChoice, shell: &ShellPolicy) {
        let mut live = self.live();
        if (live.rights.mode, live.rights.shell) != (mode.shown(), shell.allowed) {
            live.rights = Rights { changed: true, ..Rights::new(mode, shell) };
        }
    }

    /// Returns how much the tools return where nobody says how much (`docs/contracts/agent-zero.md`, 6).
    pub fn read_bounds(&self) -> ReadBounds {
        let ContextSettings { max_preview_bytes, max_depth, max_files, .. } = self.settings;
        ReadBounds { file_bytes: max_preview_bytes, depth: max_depth, files: max_files }
    }

    /// Returns how many bytes go along with the next message.
    pub fn attached_bytes(&self) -> u64 {
        self.live().attachments.iter().map(|file| file.bytes.len() as u64).sum()
    }

    /// Lets a file go along with the next message.
    pub fn attach(&self, file: Attachment) {
        self.live().attachments.push(file);
    }

    /// Changes when the observer speaks; returns whether the word means something.
    pub fn set_observer(&self, word: &str) -> bool {
        let due = match word {
            "on" | "automatic" => Some(Due::OnChange),
            "always" => Some(Due::Always),
            "off" | "manual" | "disabled" | "false" => None,
            _ => return false,
        };
        self.live().observer = due;
        true
    }

    /// Says when the observer speaks.
    pub fn observer_line(&self) -> String {
        let when = match self.live().observer {
            Some(Due::Always) => "on, with every prompt",
            Some(_) => "on, when the workspace has changed",
            None => "off",
        };
        format!("Observer: {when}")
    }

    /// Returns the settings of the observer that have no effect.
    pub fn observer_facts(&self) -> &str {
        &self.observer_facts
    }

    /// Tells the server's agent other words from the next prompt on. Returns whether the blocks are sent without being asked for.
    pub fn set_profile(&self, name: &str, prompt: String) -> bool {
        let mut live = self.live();
        (live.profile, live.profile_prompt) = (name.to_owned(), prompt);
        self.enabled && self.due != Due::Manual
    }

    /// Returns when the block is sent and what came of it, for a card of the panel (UI-3).
    pub fn status(&self) -> String {
        let mode = match self.due {
            _ if !self.enabled => return "off".to_owned(),
            Due::Always => "always",
            Due::OnChange => "on_change",
            Due::Once => "once",
            Due::Manual => "manual",
        };
        match &self.live().sent {
            Some(hash) => format!("{mode} · sent, hash {hash}"),
            None => format!("{mode} · Pending"),
        }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is noted of a block that was sent: the workspace's hash, what the tools may do where that was changed, and which profile
    /// was told with it. A profile's name may have blanks, so it comes last ([`noted_profile`]).
    fn noted(&self, signature: &str) -> String {
        let live = self.live();
        let Rights { mode, shell, changed, .. } = &live.rights;
        match (live.profile.as_str(), changed) {
            (DEFAULT, false) => signature.to_owned(),
            (profile, false) => format!("{signature} - {profile}"),
            (profile, true) => format!("{signature} {mode}{} {profile}", if *shell { "+shell" } else { "" }),
        }
    }

    /// Returns both blocks as they would be sent now, whether or not they are due.
    pub fn shown(&self) -> Preface {
        let (tree, previews) = self.look();
        let observer = self.live().observer;
        Preface {
            blocks: observer
                .iter()
                .map(|_| self.observation(&tree, &previews))
                .chain([self.block(&tree, &previews)])
                .collect(),
            signature: Some(tree.signature().to_owned()),
            status: self.left_out(&tree, &previews),
            attachments: Vec::new(),
        }
    }

    /// Returns the files as they are now. Where they are what they were, nothing is hashed again.
    fn files(&self) -> Arc<Tree> {
        let tree = Arc::new(Tree::read(&self.settings));
        let before = self.live().seen.replace(tree.clone());
        if let Some(before) = before {
            tree.take_signature_of(&before);
        }
        tree
    }

    fn look(&self) -> (Arc<Tree>, Previews) {
        let redact = |text: &str| self.redactor.redact(text);
        (self.files(), Previews::read(&self.settings, &redact))
    }

    fn block(&self, tree: &Tree, previews: &Previews) -> String {
        let time_utc = self.clock.now().rfc3339();
        let facts = {
            let live = self.live();
            BlockFacts {
                project: self.project.clone(),
                profile: live.profile.clone(),
                profile_prompt: live.profile_prompt.clone(),
                time_utc,
                security_mode: live.rights.mode.to_owned(),
                tools: live.rights.tools.clone(),
            }
        };
        let redact = |text: &str| self.redactor.redact(text);
        context::block(&self.settings, &facts, tree, previews, &redact)
    }

    fn observation(&self, tree: &Tree, previews: &Previews) -> String {
        self.redactor.redact(&context::observer(&self.project, tree, previews))
    }

    /// Says what is missing.
    fn left_out(&self, tree: &Tree, previews: &Previews) -> Vec<String> {
        let mut lines = Vec::new();
        if tree.unreadable > 0 {
            lines.push(format!(
                "Context: {} files or folders cannot be read and are left out",
                tree.unreadable
            ));
        }
        if tree.others > 0 {
            lines.push(format!(
                "Context: {} that are neither files nor folders are left out (links, pipes, devices)",
                tree.others
            ));
        }
        if tree.deeper > 0 {
            let (count, depth) = (tree.deeper, self.settings.max_depth);
            let folders = if count == 1 { "folder is" } else { "folders are" };
            lines.push(format!(
                "Context: {count} {folders} too deep to be entered (`context.max_depth` is {depth})"
            ));
        }
        if tree.truncated {
            let most = tree.files.len();
            lines.push(format!("Context: only the first {most} files are named (`context.max_files`)"));
        }
        if !previews.left_out.is_empty() {
            lines.push(format!("Context: {} may hold secrets and is left out", previews.left_out.join(", ")));
        }
        lines
    }
}

impl PrefaceBuilder for ContextPreface {
    fn build(&self, known: Option<&str>, new_chat: bool) -> Preface {
        let attachments = self.live().attachments.clone();
        let sent = |file: &Attachment| {
            let size = size_in_words(file.bytes.len() as u64);
            format!("With the prompt goes {} ({size})", file.filename)
        };
        let files =
            Preface { status: attachments.iter().map(sent).collect(), attachments, ..Preface::default() };
        let (wanted, observer) = (self.enabled && self.due != Due::Manual, self.live().observer);
        if !wanted && observer.is_none() {
            return files;
        }
        let tree = self.files();
        let signature = tree.signature();
        let noted = self.noted(signature);
        let changed = new_chat || known != Some(noted.as_str());
        // Another profile is news, too.
        let other_profile = known.is_none_or(|known| noted_profile(known) != noted_profile(&noted));
        let is_due = |due: Due| match due {
            Due::Always => true,
            Due::OnChange => changed,
            Due::Once => new_chat || other_profile,
            Due::Manual => false,
        };
        let (observe, describe) = (observer.is_some_and(is_due), wanted && is_due(self.due));
        if !observe && !describe {
            return files;
        }
        let redact = |text: &str| self.redactor.redact(text);
        let previews = Previews::read(&self.settings, &redact);
        let mut preface = Preface { signature: Some(noted), ..files };
        let names: Vec<&str> = previews.files.iter().map(|(name, _)| name.as_str()).collect();
        let (files, bytes, hash) = (tree.files.len(), tree.bytes(), &signature[..signature.len().min(8)]);
        let previewed = names.join(", ");
        if observe {
            preface.blocks.push(self.observation(&tree, &previews));
            preface.status.push(format!(
                "Observer summary ready: files={files}, workspace={bytes}B, previews=[{previewed}], hash={hash}"
            ));
        }
        if describe {
            let block = self.block(&tree, &previews);
            let project = &self.project;
            let mut live = self.live();
            live.sent = Some(hash.to_owned());
            let profile = &live.profile;
            preface.status.push(format!(
                "Context ready ({project}/{profile}): files={files}, workspace={bytes}B, context={}B, previews=[{previewed}], \
                 hash={hash}",
                block.len()
            ));
            drop(live);
            preface.blocks.push(block);
            preface.status.extend(self.left_out(&tree, &previews));
        }
        preface
    }

    fn delivered(&self, attachments: usize) {
        let mut live = self.live();
        let gone = attachments.min(live.attachments.len());
        live.attachments.drain(..gone);
    }
}

/// Returns which profile was told with a block, from what is noted of it.
fn noted_profile(noted: &str) -> &str {
    noted.splitn(3, ' ').nth(2).unwrap_or(DEFAULT)
}

/// Returns the settings of the observer that other clients use, in a row.
fn observer_facts(config: &Config) -> String {
    let facts = [
        ("type", "agent_zero"),
        ("provider", "agent_zero"),
        ("model", "gpt-4o-mini"),
        ("endpoint", ""),
        ("path", ""),
    ];
    let shown = facts.map(|(name, usual)| {
        let value = config.text(&format!("observer.{name}")).unwrap_or(usual);
        format!("{name} {}", if value.is_empty() { "none" } else { value })
    });
    shown.join(", ")
}

/// Returns a line for each tool, and how one is asked for (CB-6).
fn tool_lines(mode: ModeChoice, shell: &ShellPolicy) -> Vec<String> {
    let (read, write) = match mode.mode {
        Mode::Yolo => ("auto", "auto"),
        Mode::AcceptEdits => ("auto", "auto"),
        Mode::Default | Mode::DontAsk => ("auto", "approval"),
        Mode::Paranoid => ("approval", "approval"),
        Mode::Plan => ("auto", "disabled"),
        Mode::Deny => ("disabled", "disabled"),
    };
    let command = match mode.mode {
        _ if !shell.allowed => "disabled",
        Mode::Yolo => "auto",
        Mode::Plan | Mode::Deny => "disabled",
        _ => "approval",
    };
    [
        ("read_file", "path, start_line?, end_line?, max_bytes?", read),
        ("list_files", "path?, max_depth?, max_files?, include_sizes?", read),
        ("search_text", "query, path?, max_matches?, max_files?, max_file_bytes?, case_sensitive?", read),
        ("write_file", "path, content", write),
        ("replace_text", "path, old, new, count?", write),
        ("apply_patch", "patch", write),
        ("shell", "command", command),
    ]
    .iter()
    .map(|(name, arguments, tag)| format!("- {name}({arguments}) [{tag}]"))
    .chain([
        "- to use one, answer with this JSON object only, and nothing around it: \
         {\"type\":\"tool_request\",\"tool_name\":\"read_file\",\"reason\":\"why\",\"payload\":{\"path\":\"README.md\"}}"
            .to_owned(),
        "- the result comes as the next message: {\"tool_result\":{\"tool_name\":..,\"ok\":..,\"output\":..,\"details\":..}}"
            .to_owned(),
    ])
    .collect()
}
