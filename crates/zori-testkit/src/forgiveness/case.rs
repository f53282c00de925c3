//! The tables of cases: what a model sends, and what should come of it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A group of cases, with the percentage it has to reach.
#[derive(Debug)]
pub struct Group {
    pub letter: char,
    pub name: &'static str,
    pub goal: u32,
    text: &'static str,
}

/// The groups of the contract.
pub const GROUPS: &[Group] = &[
    Group {
        letter: 'A',
        name: "edits",
        goal: 85,
        text: include_str!("../../../../fixtures/forgiveness/edits.toml"),
    },
    Group {
        letter: 'B',
        name: "patches",
        goal: 90,
        text: include_str!("../../../../fixtures/forgiveness/patches.toml"),
    },
    Group {
        letter: 'C',
        name: "calls",
        goal: 85,
        text: include_str!("../../../../fixtures/forgiveness/calls.toml"),
    },
    Group {
        letter: 'D',
        name: "commands",
        goal: 90,
        text: include_str!("../../../../fixtures/forgiveness/commands.toml"),
    },
    Group {
        letter: 'E',
        name: "replies",
        goal: 90,
        text: include_str!("../../../../fixtures/forgiveness/replies.toml"),
    },
];

/// One case. `$WORK` in a call stands for the working directory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// The files before, by path.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The same for files that are not text, in hexadecimal.
    #[serde(default)]
    pub hex: BTreeMap<String, String>,
    /// Right calls before the mistake, one reply each.
    #[serde(default)]
    pub first: Vec<Call>,
    /// The calls of the reply with the mistake.
    #[serde(default)]
    pub calls: Vec<Call>,
    /// Whole replies, where the mistake is not in a call.
    #[serde(default)]
    pub replies: Vec<ReplyLine>,
    /// The files that should have another content afterwards. All others stay.
    #[serde(default)]
    pub want: BTreeMap<String, String>,
    #[serde(default)]
    pub want_hex: BTreeMap<String, String>,
    /// The files that should be gone afterwards.
    #[serde(default)]
    pub gone: Vec<String>,
    /// Whether the calls should be refused.
    #[serde(default)]
    pub refused: bool,
    /// What the results must tell the model, and what they must not.
    #[serde(default)]
    pub shows: Vec<String>,
    #[serde(default)]
    pub hides: Vec<String>,
    /// How many bytes the results may have in all.
    pub most: Option<usize>,
    /// The exit code of the run.
    #[serde(default)]
    pub exit: i32,
    /// What the run must print.
    pub stdout: Option<String>,
    /// How many requests there may be.
    pub requests: Option<usize>,
    /// The content of `config.toml`.
    #[serde(default)]
    pub config: String,
}

/// A call: the tool's name, and its input as it is sent.
#[derive(Clone, Debug, Deserialize)]
pub struct Call(pub String, pub String);

/// A reply of the model.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplyLine {
    pub thinking: Option<String>,
    pub text: Option<String>,
    pub calls: Vec<Call>,
    /// The id of every call.
    pub id: Option<String>,
    pub stop: Option<String>,
    /// The connection ends after so many events.
    pub cut: Option<usize>,
    /// The event of this number is not JSON.
    pub broken: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    case: Vec<Case>,
}

/// Reads the cases of a group.
///
/// # Panics
///
/// When the table is wrong, or two cases have one name.
pub fn parse(group: &Group) -> Vec<Case> {
    let table: Table = match toml::from_str(group.text) {
        Ok(table) => table,
        Err(error) => panic!("fixtures/forgiveness/{}.toml: {error}", group.name),
    };
    let mut names: Vec<&str> = table.case.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        panic!("fixtures/forgiveness/{}.toml: two cases are called `{}`", group.name, twice[0]);
    }
    table.case
}

impl Case {
    /// Returns the replies before the last word, with the prefix of call ids that belong to the mistake.
    pub(super) fn is_judged(id: &str) -> bool {
        !id.starts_with("first_")
    }

    /// Returns the files as they are before.
    pub(super) fn before(&self) -> BTreeMap<String, Vec<u8>> {
        merged(&self.files, &self.hex)
    }

    /// Returns the files as they should be afterwards.
    pub(super) fn after(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.before();
        files.extend(merged(&self.want, &self.want_hex));
        self.gone.iter().for_each(|path| drop(files.remove(path)));
        files
    }

    /// Returns whether files should change.
    pub(super) fn wants_change(&self) -> bool {
        !self.want.is_empty() || !self.want_hex.is_empty() || !self.gone.is_empty()
    }
}

fn merged(text: &BTreeMap<String, String>, hex: &BTreeMap<String, String>) -> BTreeMap<String, Vec<u8>> {
    let text = text.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes()));
    text.chain(hex.iter().map(|(path, hex)| (path.clone(), bytes(hex)))).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("two digits are a byte"))
        .collect()
}
