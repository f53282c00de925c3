//! The words of a plan: what the model is asked for, its steps in what it answers, and what it is told for each of them.

use std::borrow::Cow;

use zori_core::text::{one_line, prefix};
use zori_index::Plan;

/// The most steps that a plan has; what is beyond is left out.
const MOST: usize = 30;
/// The longest step, in bytes.
const LONGEST: usize = 1_000;

/// Returns what the model is asked for.
pub(super) fn question(goal: &str) -> String {
    format!(
        "Make a plan for this goal:\n\n{goal}\n\nLook at what you need to know, and change nothing yet. End your answer with the steps as a numbered list, \
         one line for each, at most {MOST}. Each step must be understood on its own and say how one sees that it is done. They are carried out one by one, \
         each when the one before is done."
    )
}

/// Returns what the model is told for one step, counted from 0.
pub(super) fn prompt(plan: &Plan, at: usize) -> String {
    let (step, count) = (&plan.steps[at].text, plan.steps.len());
    format!(
        "Step {} of {count} of the plan for this goal: {}\n\n{step}\n\nCarry out this step, and only this one. Check that it is done, and say in a sentence or two what you did.",
        at + 1,
        one_line(&plan.goal)
    )
}

/// Returns the steps that an answer ends with: its last numbered list. What is indented below an item belongs to it.
pub(super) fn of(answer: &str) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let mut fenced = false;
    for line in answer.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        match item(line) {
            // Another list begins.
            Some((1, text)) => steps = vec![text.to_owned()],
            Some((_, text)) if !steps.is_empty() => steps.push(text.to_owned()),
            Some(_) => {}
            None => {
                let below =
                    line.starts_with([' ', '\t']).then(|| line.trim()).filter(|text| !text.is_empty());
                if let (Some(text), Some(step)) = (below, steps.last_mut()) {
                    step.push(' ');
                    step.push_str(text);
                }
            }
        }
    }
    steps.truncate(MOST);
    steps.iter().map(|step| shown(step)).filter(|step| !step.is_empty()).collect()
}

/// Returns the number and the text of an item of a list.
fn item(line: &str) -> Option<(u32, &str)> {
    // Markdown lets up to three blanks stand before it.
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return None;
    }
    let text = text.strip_prefix("**").unwrap_or(text);
    let digits = text.find(|c: char| !c.is_ascii_digit()).filter(|digits| (1..=3).contains(digits))?;
    let (number, rest) = text.split_at(digits);
    let rest = rest.strip_prefix(['.', ')'])?;
    let rest = rest.strip_prefix("**").unwrap_or(rest);
    rest.starts_with([' ', '\t']).then_some((number.parse().ok()?, rest.trim()))
}

fn shown(step: &str) -> String {
    let words: Cow<'_, str> = one_line(step);
    prefix(words.trim(), LONGEST).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_numbered_list() {
        let answer = "I looked:\n\n1. not this\n2. nor this\n\nThe plan:\n\n1. Read `a.rs`.\n   - and its tests\n2) Mend it\n\n  3. **Run** the tests\n\
                      ```\n1. no step\n```\nThat is all.";
        assert_eq!(of(answer), ["Read `a.rs`. - and its tests", "Mend it", "**Run** the tests"]);
        assert_eq!(of("**1.** one\n**2.** two"), ["one", "two"]);
        assert_eq!(of("2. begins in the middle\n1.no blank\nversion 1.2 is out\n2026. a year"), [""; 0]);
        assert_eq!(of("nothing"), [""; 0]);
        assert_eq!(of(""), [""; 0]);
    }

    #[test]
    fn bounded_and_harmless() {
        let long: String = (1..=40).map(|at| format!("{at}. {}\n", "word ".repeat(900))).collect();
        let steps = of(&long);
        assert_eq!(steps.len(), MOST);
        assert!(steps.iter().all(|step| step.len() <= LONGEST));
        assert!(!of("1. a\u{1b}[2Jb").concat().contains('\u{1b}'));
    }
}
