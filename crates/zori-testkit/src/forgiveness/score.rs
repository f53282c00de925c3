//! What a case is worth: 2 for the intended effect or the right refusal, 1 for a flaw that does no harm or a refusal
//! that lets the model mend its call, 0 for no help, -1 for a run that does not end, -2 for a wrong effect.

use std::fmt;

use super::case::{Case, Group};
use super::play::Played;

/// A case and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    pub name: String,
    pub points: i32,
    /// Why it is not 2.
    pub why: String,
    /// How long the refusal was, if it was one.
    pub refusal: Option<usize>,
}

/// The figures of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    pub cases: usize,
    pub percent: i32,
    pub wrong: usize,
    pub hangs: usize,
}

impl Summary {
    /// Adds the cases of a group up.
    pub fn of(scored: &[Scored]) -> Self {
        let points: i32 = scored.iter().map(|scored| scored.points).sum();
        let most = i32::try_from(2 * scored.len()).unwrap_or(i32::MAX).max(1);
        let count = |points: i32| scored.iter().filter(|scored| scored.points == points).count();
        Self { cases: scored.len(), percent: points * 100 / most, wrong: count(-2), hangs: count(-1) }
    }

    /// Returns whether the group reaches its goal, with no wrong effect and no hang.
    pub fn reaches(&self, group: &Group) -> bool {
        self.wrong == 0 && self.hangs == 0 && self.percent >= i32::try_from(group.goal).unwrap_or(i32::MAX)
    }
}

impl fmt::Display for Scored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>2} {}: {}", self.points, self.name, self.why)
    }
}

/// Judges what came of a case.
pub(super) fn score(case: &Case, played: &Played) -> Scored {
    let told: String = played.results.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join("\n");
    let failed = played.results.iter().any(|(_, error)| *error);
    let (points, why) = judged(case, played, &told, failed);
    let refusal = (failed && case.refused).then_some(told.len());
    Scored { name: case.name.clone(), points, why, refusal }
}

fn judged(case: &Case, played: &Played, told: &str, failed: bool) -> (i32, String) {
    let Some((code, stdout, stderr)) = &played.ended else { return (-1, "the run did not end".to_owned()) };
    let (before, after) = (case.before(), case.after());
    let changed = played.files != before;
    if played.files != after && changed {
        return (-2, format!("wrong effect: {}\ntold: {told}", differences(&after, &played.files)));
    }
    if let Some(why) = &played.bad_history {
        return (0, format!("a request that providers refuse: {why}"));
    }
    let flaw = flaw(case, played, told);
    match (case.wants_change(), case.refused) {
        (true, _) if !changed => match failed {
            true => (1, format!("refused, but could be done: {told}")),
            false => (0, format!("nothing was done: {told}{stdout}{stderr}")),
        },
        (false, true) if !failed => (0, format!("not refused: {told}")),
        (false, false) if failed => (1, format!("failed: {told}")),
        _ if *code != Some(case.exit) => {
            (0, format!("exit code {code:?}, not {}\n{stdout}{stderr}", case.exit))
        }
        _ if case.stdout.as_ref().is_some_and(|wanted| !stdout.contains(wanted.as_str())) => {
            (0, format!("stdout is {stdout:?}"))
        }
        _ => match flaw {
            Some(flaw) => (1, flaw),
            None => (2, String::new()),
        },
    }
}

fn flaw(case: &Case, played: &Played, told: &str) -> Option<String> {
    if let Some(missing) = case.shows.iter().find(|part| !told.contains(part.as_str())) {
        return Some(format!("does not say {missing:?}: {told}"));
    }
    if let Some(part) = case.hides.iter().find(|part| told.contains(part.as_str())) {
        return Some(format!("says {part:?}: {told}"));
    }
    if let Some(most) = case.most.filter(|most| told.len() > *most) {
        return Some(format!("{} bytes, at most {most} are read", told.len()));
    }
    let requests = case.requests.filter(|most| played.requests > *most);
    requests.map(|most| format!("{} requests, at most {most} are needed", played.requests))
}

fn differences(
    wanted: &std::collections::BTreeMap<String, Vec<u8>>,
    found: &std::collections::BTreeMap<String, Vec<u8>>,
) -> String {
    let mut out = String::new();
    for path in wanted.keys().chain(found.keys().filter(|path| !wanted.contains_key(*path))) {
        let shown = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
            files.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let (wanted, found) = (shown(wanted), shown(found));
        if wanted != found {
            out.push_str(&format!("{path}: wanted {wanted:?}, found {found:?}; "));
        }
    }
    out
}
