//! What "always" adds when a person approves (DEC-2): one allow rule for the normalised call, without a wildcard.

use std::path::Path;

use zori_core::permission::{Class, Decision, Verdict};
use zori_core::tool::ToolKind;

use crate::call::{Call, Part};
use crate::paths::Access;
use crate::rules::host;
use crate::rules::words::{WordPattern, quoted};

/// Returns the rule that would allow exactly this call from now on. `None` where that is not offered: for what is not
/// known before it runs, for what a step before the allow rules asked about, and for calls that no rule can name.
pub fn always(call: &Call, decision: &Decision) -> Option<String> {
    let offered = decision.verdict == Verdict::Ask
        && decision.step == 11
        && !decision.unresolved
        && !matches!(decision.class, Class::Rs | Class::Wp | Class::Xu);
    let [part] = call.parts.as_slice() else { return None };
    if !offered {
        return None;
    }
    match part {
        Part::File(access, path) => {
            let name = match (access, call.kind) {
                (_, Some(ToolKind::Write)) => "Write",
                (Access::Write, _) => "Edit",
                (Access::Read, _) => "Read",
            };
            Some(format!("{name}({})", escaped(path)?))
        }
        Part::Shell(shell) => {
            let text = match shell.analysis.commands.as_slice() {
                [command] if shell.analysis.single => {
                    let words: Option<Vec<&str>> = command.argv.iter().map(|word| word.literal()).collect();
                    quoted(&words?)
                }
                // More than one command: exactly this text, or nothing.
                _ => shell.text.trim().to_owned(),
            };
            let exact = WordPattern::parse(&text).is_ok_and(|pattern| !pattern.has_wildcard());
            (exact && !text.contains('\n')).then(|| format!("Bash({text})"))
        }
        Part::Net { url } => Some(format!("WebFetch(domain:{})", host::host(url)?)),
        Part::Mcp { server, tool, .. } => (!tool.contains('*')).then(|| format!("mcp__{server}__{tool}")),
        Part::Agent => Some("Task".to_owned()),
        Part::Memory => Some("Memory".to_owned()),
        Part::Internal => None,
    }
}

/// An absolute path as a pattern that means only itself.
fn escaped(path: &Path) -> Option<String> {
    let mut out = String::from("/");
    for c in path.to_str()?.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use zori_core::tool::Effect;

    use super::*;
    use crate::decide::decide;
    use crate::testing::{allow, policy};

    fn offered(kind: ToolKind, effect: Effect) -> String {
        let mut policy = policy("default");
        let call = Call::new("tool", Some(kind), &[effect], &policy.ground);
        let decision = decide(&policy, &call);
        let Some(rule) = always(&call, &decision) else { return format!("none, {}", decision.reason) };
        allow(&mut policy, &rule);
        assert_eq!(decide(&policy, &call).verdict, Verdict::Allow, "{rule} covers what it was made for");
        rule
    }

    #[test]
    fn the_rule_names_the_call_and_nothing_more() {
        assert_eq!(offered(ToolKind::Write, Effect::Write("/ws/a[1]*.rs".into())), r"Write(//ws/a\[1]\*.rs)");
        assert_eq!(offered(ToolKind::Edit, Effect::Write("/out/b".into())), "Edit(//out/b)");
        assert_eq!(offered(ToolKind::Read, Effect::Read("/out/b".into())), "Read(//out/b)");
        assert_eq!(
            offered(ToolKind::Fetch, Effect::Net { url: "https://docs.rs/x".into() }),
            "WebFetch(domain:docs.rs)"
        );
        let mcp = Effect::Mcp { server: "gh".into(), tool: "get".into(), trusted_reader: false };
        assert_eq!(offered(ToolKind::Bash, mcp), "mcp__gh__get");
    }

    #[test]
    fn not_for_what_is_guarded() {
        let none = |effect| offered(ToolKind::Read, effect).starts_with("none");
        assert!(none(Effect::Read("/ws/.env".into())));
        assert!(none(Effect::Write("/ws/.git/config".into())));
    }
}
