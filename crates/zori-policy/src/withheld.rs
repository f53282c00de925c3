//! Files that a search of a folder keeps back, although the folder may be read: those that a rule denies or asks about,
//! and those that may hold secrets (RULE-1).

use std::path::Path;

use zori_core::permission::Verdict;
use zori_core::tool::{Effect, ToolKind};

use crate::policy::Approver;
use crate::{Call, Policy, decide};

/// Steps whose question is about the file itself: ask rules, and sensitive files.
const ABOUT_THE_FILE: [u8; 2] = [7, 9];

/// Returns whether a search withholds a file's contents. `approved`: a person approved the search and knows what is in
/// the folder; denied files stay withheld.
pub fn withheld(policy: &Policy, approved: bool) -> impl Fn(&Path) -> bool + Send + Sync + use<> {
    let policy = Policy { approver: Approver::Present, ..policy.clone() };
    move |path| {
        let effect = Effect::Read(path.to_owned());
        let decision =
            decide(&policy, &Call::new("read", Some(ToolKind::Read), &[effect], &policy.workspace));
        match decision.verdict {
            Verdict::Allow => false,
            Verdict::Ask => !approved && ABOUT_THE_FILE.contains(&decision.step),
            Verdict::Deny => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::PolicyFile;

    fn kept(mode: &str, deny: &str, approved: bool) -> Vec<&'static str> {
        let text = format!(
            r#"{{"version":1,"workspace":"/ws","home":"/home/u","profiles":{{"p":{{"mode":"{mode}","deny":[{deny}]}}}}}}"#
        );
        let policy = PolicyFile::parse(&text, "f").unwrap().policy("p", "f").unwrap().0;
        let withheld = withheld(&policy, approved);
        let files = ["/ws/a.rs", "/ws/key.pem", "/ws/sub/.env", "/ws/notes.txt", "/other/a.rs"];
        files.into_iter().filter(|file| withheld(Path::new(file))).collect()
    }

    #[test]
    fn by_mode_rule_and_person() {
        assert_eq!(kept("default", "", false), ["/ws/key.pem", "/ws/sub/.env"]);
        assert_eq!(kept("default", "", true), [""; 0]);
        assert_eq!(kept("yolo", "", false), [""; 0]);
        let deny = r#""Read(notes.txt)""#;
        assert_eq!(kept("yolo", deny, false), ["/ws/notes.txt"]);
        assert_eq!(kept("default", deny, true), ["/ws/notes.txt"]);
    }
}
