//! Rules: what the user, the administrator and the project wrote down (`docs/contracts/permissions.md`, RULE-1 to
//! RULE-7).
//!
//! [`parse`] reads one, `words` matches commands, `paths::pattern` matches files. Here they are kept by what they say.

pub mod host;
pub mod parse;
pub mod tools;
pub mod words;

use std::path::Path;
use std::sync::Arc;

use zori_core::permission::{Layer, RuleRef, Verdict};

use self::host::HostPattern;
use self::tools::ToolName;
use self::words::WordPattern;
use crate::paths::pattern::{Anchors, PathPattern};

/// One rule that can be matched.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The tools it is about.
    pub tool: ToolName,
    /// Which of their calls.
    pub scope: Scope,
    /// How messages name it.
    pub shown: RuleRef,
}

/// Which calls of a tool a rule is about.
#[derive(Clone, Debug)]
pub enum Scope {
    All,
    /// Shell commands.
    Command(WordPattern),
    /// Files.
    Path(PathPattern),
    Host(HostPattern),
}

/// All rules in force.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What is allowed; never from a project.
    pub allow: Vec<Rule>,
    /// What is asked about.
    pub ask: Vec<Rule>,
    /// What is denied.
    pub deny: Vec<Rule>,
    /// What calls are narrowed to for now.
    pub narrowing: Option<Narrowing>,
}

/// What calls are narrowed to (CUS-3): beside what only looks, these rules have to cover a call.
#[derive(Clone, Debug, Default)]
pub struct Narrowing {
    /// Who narrows, such as `/fix`.
    pub by: String,
    /// What may still be done.
    pub rules: Vec<Rule>,
}

/// A rule as it was found, not yet parsed.
#[derive(Clone, Debug)]
pub struct UnparsedRule {
    /// What it says shall happen.
    pub verdict: Verdict,
    pub text: String,
    /// Whose it is.
    pub layer: Layer,
    /// Where it stands.
    pub source: Arc<str>,
}

/// A warning about a rule, for its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleWarning {
    /// One sentence that names file, line and rule.
    pub text: String,
}

impl Rules {
    /// Reads rules. A rule that cannot be parsed gives a warning; the rest stays as strict as its author may have meant
    /// it (TM-4).
    pub fn read(
        written: Vec<UnparsedRule>,
        anchors: &dyn Fn(&UnparsedRule) -> OwnedAnchors,
    ) -> (Self, Vec<RuleWarning>) {
        let mut rules = Self::default();
        let mut warnings = Vec::new();
        for one in written {
            rules.add(&one, &anchors(&one), &mut warnings);
        }
        (rules, warnings)
    }

    /// Adds one rule, or what is left of it.
    pub fn add(&mut self, written: &UnparsedRule, anchors: &OwnedAnchors, warnings: &mut Vec<RuleWarning>) {
        let UnparsedRule { verdict, text, layer, source } = written;
        let place = |what: String| RuleWarning { text: format!("{source}: rule `{text}`: {what}") };
        let shown = RuleRef { text: text.as_str().into(), layer: *layer, source: source.clone() };
        if *layer == Layer::Project && *verdict == Verdict::Allow {
            warnings.push(place("a project's files cannot allow anything; it is ignored".into()));
            return;
        }
        match parse::rule(text, &anchors.borrow()) {
            Ok((tool, scope)) => {
                if *verdict == Verdict::Allow && grants_everything(&scope) {
                    warnings.push(place("grants arbitrary execution".into()));
                }
                self.list(*verdict).push(Rule { tool, scope, shown });
            }
            Err(error) => {
                // A broken allow is no allow. A broken deny or ask makes its whole tool ask, so that a typing error
                // never opens what was meant to be shut (RULE-1).
                let left = match (verdict, error.tool()) {
                    (Verdict::Allow, _) => "it is ignored",
                    (_, None) => "it has no effect",
                    (_, Some(tool)) => {
                        self.ask.push(Rule { tool, scope: Scope::All, shown });
                        "every call of that tool asks until it is mended"
                    }
                };
                warnings.push(place(format!("{error}; {left}")));
            }
        }
    }

    /// Returns whether a rule may deny shell commands (step 8).
    pub fn deny_shell(&self) -> bool {
        self.deny.iter().any(|rule| rule.tool.covers_shell())
    }

    fn list(&mut self, verdict: Verdict) -> &mut Vec<Rule> {
        match verdict {
            Verdict::Allow => &mut self.allow,
            Verdict::Ask => &mut self.ask,
            Verdict::Deny => &mut self.deny,
        }
    }
}

/// [`Anchors`] that own their paths.
#[derive(Clone, Debug)]
pub struct OwnedAnchors {
    /// The user's home.
    pub home: Option<std::path::PathBuf>,
    pub workspace: std::path::PathBuf,
    /// The root of the file the rule stands in.
    pub rule_root: std::path::PathBuf,
}

impl OwnedAnchors {
    fn borrow(&self) -> Anchors<'_> {
        let path: fn(&std::path::PathBuf) -> &Path = |path| path;
        Anchors {
            home: self.home.as_deref(),
            workspace: path(&self.workspace),
            rule_root: path(&self.rule_root),
        }
    }
}

/// Programs that run their arguments; a wildcard after one of them allows everything (RULE-5).
const RUNNERS: &[&str] = &[
    "ash", "bash", "bun", "busybox", "chroot", "command", "dash", "deno", "doas", "env", "eval", "exec",
    "fish", "irb", "ksh", "lua", "nice", "node", "nohup", "npx", "nsenter", "parallel", "perl", "php",
    "pkexec", "python", "python2", "python3", "ruby", "runuser", "script", "setsid", "sh", "ssh", "stdbuf",
    "su", "sudo", "time", "timeout", "toybox", "unshare", "watch", "xargs", "zsh",
];

/// Whether a program runs what it is given, so that a wildcard behind it allows everything (RULE-5).
pub(crate) fn runs_anything(program: &str) -> bool {
    RUNNERS.contains(&program)
}

fn grants_everything(scope: &Scope) -> bool {
    match scope {
        Scope::Command(pattern) => pattern.has_wildcard() && pattern.first_word().is_none_or(runs_anything),
        Scope::All | Scope::Path(_) | Scope::Host(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(verdict: Verdict, layer: Layer, text: &str) -> String {
        let written = UnparsedRule { verdict, text: text.into(), layer, source: "c.toml:3".into() };
        let anchors = OwnedAnchors { home: None, workspace: "/ws".into(), rule_root: "/ws".into() };
        let (rules, warnings) = Rules::read(vec![written], &|_| anchors.clone());
        let count = format!("{}/{}/{}", rules.allow.len(), rules.ask.len(), rules.deny.len());
        let said: Vec<_> = warnings.into_iter().map(|r| r.text).collect();
        format!("{count} {}", said.join("; "))
    }

    #[test]
    fn good_rules_say_nothing() {
        for text in ["Bash", "Bash(git diff:*)", "Read(./.env)", "WebFetch(domain:*.x.org)", "mcp__a__get_*"]
        {
            assert_eq!(read(Verdict::Deny, Layer::User, text), "0/0/1 ", "{text}");
        }
    }

    #[test]
    fn broken_rules_never_open() {
        use {Layer::User, Verdict::*};
        assert_eq!(
            read(Allow, User, "Bash(git"),
            "0/0/0 c.toml:3: rule `Bash(git`: the `(` is not closed; it is ignored"
        );
        assert_eq!(
            read(Deny, User, "Bash(git"),
            "0/1/0 c.toml:3: rule `Bash(git`: the `(` is not closed; every call of that tool asks until it is mended"
        );
        assert_eq!(
            read(Deny, User, "Bsh(git)"),
            "0/0/0 c.toml:3: rule `Bsh(git)`: there is no tool `Bsh`; did you mean `Bash`?; it has no effect"
        );
        assert_eq!(
            read(Allow, Layer::Project, "Bash"),
            "0/0/0 c.toml:3: rule `Bash`: a project's files cannot allow anything; it is ignored"
        );
    }

    #[test]
    fn wide_rules_are_remarked() {
        use {Layer::User, Verdict::*};
        let wide = |text| read(Allow, User, text).ends_with("grants arbitrary execution");
        for text in ["Bash(bash:*)", "Bash(sudo *)", "Bash(env:*)", "Bash(*)", "Bash(python3:*)"] {
            assert!(wide(text), "{text}");
        }
        for text in ["Bash(bash -n x)", "Bash(git:*)", "Bash(npm run * --ci)"] {
            assert!(!wide(text), "{text}");
        }
    }
}
