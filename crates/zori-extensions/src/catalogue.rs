//! The catalogue of skills that a model reads, within a budget (SK-4).

use crate::skill::Skill;

/// Returns the catalogue: whole descriptions, then shorter ones, then names, then a hint to search, whatever fits. Empty without skills.
pub fn text(skills: &[&Skill], budget: usize) -> String {
    let mut sorted: Vec<&Skill> = skills.iter().copied().filter(|skill| !skill.by_person_only).collect();
    if sorted.is_empty() {
        return String::new();
    }
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    for most in [usize::MAX, 120, 60] {
        let lines =
            sorted.iter().map(|skill| format!("- {}: {}\n", skill.name, cut(&skill.description, most)));
        let whole = format!("{HEAD}{}", lines.collect::<String>());
        if whole.len() <= budget {
            return whole.trim_end().to_owned();
        }
    }
    let names: Vec<&str> = sorted.iter().map(|skill| skill.name.as_str()).collect();
    let whole = format!("{HEAD}{}", names.join(", "));
    if whole.len() <= budget {
        return whole;
    }
    format!(
        "# Skills\n\nThere are {} skills. The tool `skill` with `query` finds the one for a task.",
        sorted.len()
    )
}

const HEAD: &str =
    "# Skills\n\nInstructions for some tasks. Before such a task, load them with the tool `skill`.\n\n";

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::command::Origin;

    fn skills(count: usize, about: usize) -> Vec<Skill> {
        let one = |n: usize| {
            let text = format!("---\nname: s{n:03}\ndescription: {}\n---\n", "x".repeat(about));
            crate::skill::read(Path::new(&format!("/s/s{n:03}")), text.as_bytes(), Origin::User).unwrap()
        };
        (0..count).rev().map(one).collect()
    }

    #[test]
    fn as_much_as_fits() {
        let made = |count: usize, about: usize| {
            let skills = skills(count, about);
            text(&skills.iter().collect::<Vec<_>>(), 4096)
        };
        assert_eq!(made(0, 1), "");
        assert!(made(2, 10).ends_with("\n- s000: xxxxxxxxxx\n- s001: xxxxxxxxxx"), "{}", made(2, 10));
        assert!(made(20, 500).contains(&format!("- s019: {}...", "x".repeat(120))));
        assert!(made(50, 500).contains(&format!("- s019: {}...", "x".repeat(60))));
        assert!(made(200, 500).ends_with(", s198, s199"));
        assert!(made(900, 500).starts_with("# Skills\n\nThere are 900 skills."));
        assert!([20, 50, 200, 900].iter().all(|count| made(*count, 500).len() <= 4096));
    }
}
