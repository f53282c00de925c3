//! `changelog`: the changelog of this program, structured.

use serde_json::{Map, Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::kind::{Kind, Pattern};
use zori_contract::reply::Reply;

use super::{Context, example};
use zori_setup::app::App;

const SINCE: Flag =
    Flag::valued("since", "VERSION", Kind::Name(Pattern::SEMVER), "Only what is newer than this version");

const TEXT: &str = include_str!("../../../../CHANGELOG.md");

/// The headings of an entry, as Keep a Changelog has them; those that are not there are empty.
const HEADINGS: &[&str] = &["added", "changed", "fixed", "removed", "breaking"];

pub const COMMAND: Command<App> = Command {
    flags: const { &[SINCE] },
    examples: &[
        example("everything", "zori changelog"),
        example("what is new", "zori changelog --since 0.1.0"),
    ],
    output_schema: r#"{"type":"object","required":["entries"],"properties":{"entries":{"type":"array","x-ordered":true,
        "items":{"type":"object","required":["version","date","added","changed","fixed","removed","breaking"],
        "properties":{"version":{"type":"string"},"date":{"type":["string","null"]},
        "added":{"type":"array","items":{"type":"string"}}}}}}}"#,
    standalone: true,
    ..Command::new(&["changelog"], "Show what changed, version by version", run)
};

fn run(_: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let since = args.text(&SINCE).and_then(numbers);
    let newer =
        |version: &str| since.is_none_or(|since| numbers(version).is_none_or(|version| version > since));
    let (mut entries, mut text) = (Vec::new(), String::new());
    for section in TEXT.split("\n## ").skip(1) {
        let (title, body) = section.split_once('\n').unwrap_or((section, ""));
        let (version, date) =
            title.split_once(" - ").map_or((title, None), |(version, date)| (version, Some(date)));
        let version = version.trim_matches(['[', ']']);
        if newer(version) {
            entries.push(entry(version, date, body));
            text.push_str(&format!("## {section}\n"));
        }
    }
    Ok(Reply::one(json!({"entries": entries})).text(text))
}

fn entry(version: &str, date: Option<&str>, body: &str) -> Value {
    let mut entry = Map::new();
    entry.insert("version".into(), json!(version));
    entry.insert("date".into(), json!(date));
    for heading in HEADINGS {
        entry.insert((*heading).to_owned(), json!([]));
    }
    for part in body.split("### ").skip(1) {
        let (heading, items) = part.split_once('\n').unwrap_or((part, ""));
        let items: Vec<String> = items
            .split("\n- ")
            .map(|item| item.trim_start_matches("- ").split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|item| !item.is_empty())
            .collect();
        entry.insert(heading.trim().to_lowercase(), json!(items));
    }
    Value::Object(entry)
}

/// Reads the three numbers of a version; what follows them is not looked at.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<u64> = core.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_may_have_several_lines() {
        let body = "\n### Added\n\n- One\n  and more.\n- Two.\n\n### Fixed\n\n- Three.\n";
        assert_eq!(
            entry("1.0.0", None, body),
            json!({"version": "1.0.0", "date": null, "added": ["One and more.", "Two."], "changed": [],
                   "fixed": ["Three."], "removed": [], "breaking": []})
        );
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert!(numbers("0.10.0") > numbers("0.9.9"));
        assert_eq!(numbers("Unreleased"), None);
    }
}
