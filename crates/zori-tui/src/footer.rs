//! The footer (STA-2): model, mode, context, cost, cache, branch and folder, or what of these the user chose.

use crate::cells::thousands;
use crate::row::{Role, Row, Span};
use crate::state::Facts;
use crate::wrap;

/// A part of the footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Model,
    Mode,
    Context,
    Cost,
    Cache,
    Branch,
    Folder,
    Title,
}

impl Part {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::Model, "model"),
        (Self::Mode, "mode"),
        (Self::Context, "context"),
        (Self::Cost, "cost"),
        (Self::Cache, "cache"),
        (Self::Branch, "branch"),
        (Self::Folder, "folder"),
        (Self::Title, "title"),
    ];

    /// What is shown unless the user says otherwise.
    pub const DEFAULT: [Self; 7] =
        [Self::Model, Self::Mode, Self::Context, Self::Cost, Self::Cache, Self::Branch, Self::Folder];

    /// Returns the parts that `ui.footer` names, in its order, and what is wrong with it. The mode is always among them (UI-35): first, if nobody said
    /// where.
    pub fn chosen<'a>(names: impl IntoIterator<Item = &'a str>) -> (Vec<Self>, Vec<String>) {
        let (mut parts, mut wrong) = (Vec::new(), Vec::new());
        for name in names {
            match Self::NAMES.iter().find(|(_, known)| *known == name) {
                Some((part, _)) if parts.contains(part) => {}
                Some((part, _)) => parts.push(*part),
                None => {
                    let names = Self::NAMES.map(|(_, name)| name).join(", ");
                    wrong.push(format!("`{name}` is no part of the footer; there are {names}"));
                }
            }
        }
        if !parts.contains(&Self::Mode) {
            parts.insert(0, Self::Mode);
        }
        (parts, wrong)
    }

    /// Returns whether it is there where there is little room.
    fn is_short(self) -> bool {
        matches!(self, Self::Mode | Self::Context | Self::Cost)
    }

    fn row(self, facts: &Facts, narrow: bool) -> Option<Row> {
        let muted = |text: &str| Some(Row::from(Span::new(text).muted())).filter(|_| !text.is_empty());
        match self {
            Self::Model => muted(&facts.model),
            Self::Mode => {
                let mode = Span::new(facts.mode.to_uppercase());
                Some(match asks_nothing(&facts.mode) {
                    true => mode.role(Role::Warning).reverse().into(),
                    false => mode.bold().into(),
                })
            }
            Self::Context => context(facts, narrow),
            Self::Cost => match facts.spent?.cost {
                Some(cost) => muted(&format!("${}.{:02}", cost.0 / 1_000_000, cost.0 % 1_000_000 / 10_000)),
                None => muted("$?"),
            },
            Self::Cache => {
                let usage = facts.spent?.usage;
                let hits = usage.cache_hits().filter(|_| usage.total() > 0)?;
                muted(&format!("cache {hits}%"))
            }
            Self::Branch => muted(facts.branch.as_deref()?),
            Self::Folder => muted(&facts.folder),
            Self::Title => muted(facts.title.as_deref()?),
        }
    }
}

fn context(facts: &Facts, narrow: bool) -> Option<Row> {
    let Some(window) = facts.window.filter(|window| *window > 0) else {
        let tokens = Span::new(format!("{} tokens", thousands(facts.context))).muted();
        return (facts.context > 0).then(|| tokens.into());
    };
    let percent = facts.context * 100 / window;
    let role = match percent {
        95.. => Role::Error,
        80.. => Role::Warning,
        _ => Role::Muted,
    };
    let text = if narrow { format!("{percent}%") } else { format!("{percent}% of {}", thousands(window)) };
    Some(Span::new(text).role(role).into())
}

/// Returns whether nothing is asked in a mode of this name, which is never to be overlooked (STA-2).
pub fn asks_nothing(mode: &str) -> bool {
    matches!(mode, "yolo" | "god_mode")
}

/// Returns the footer. What does not fit is left out from the right, but never the mode.
pub fn footer(facts: &Facts, parts: &[Part], width: u16) -> Row {
    let narrow = width < 60;
    let mut shown: Vec<(Part, Row)> = parts
        .iter()
        .filter(|part| !narrow || part.is_short())
        .filter_map(|part| Some((*part, part.row(facts, narrow)?)))
        .collect();
    let room = usize::from(width).saturating_sub(2);
    let total = |shown: &[(Part, Row)]| {
        shown.iter().map(|(_, row)| row.width()).sum::<usize>() + 3 * shown.len().saturating_sub(1)
    };
    while total(&shown) > room
        && let Some(last) = shown.iter().rposition(|(part, _)| *part != Part::Mode)
    {
        shown.remove(last);
    }
    let mut row = Row::empty().with("  ");
    for (i, (_, part)) in shown.into_iter().enumerate() {
        if i > 0 {
            row.push(Span::new(" · ").muted());
        }
        row.spans.extend(part.spans);
    }
    wrap::truncate(&row, usize::from(width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zori_core::cost::{MicroUsd, Spent};
    use zori_core::usage::Usage;

    fn facts() -> Facts {
        let usage = Usage { input: 900, cache_read: 9100, ..Usage::NOTHING };
        Facts {
            model: "opus-5-5".into(),
            mode: "yolo".into(),
            context: 42_000,
            window: Some(200_000),
            spent: Some(Spent { usage, cost: Some(MicroUsd(130_400)) }),
            prices: None,
            branch: Some("main".into()),
            folder: "~/proj".into(),
            title: Some("fix add()".into()),
        }
    }

    #[test]
    fn the_mode_is_always_there() {
        let shown = |width| footer(&facts(), &Part::DEFAULT, width).text();
        assert_eq!(shown(99), "  opus-5-5 · YOLO · 21% of 200k · $0.13 · cache 91% · main · ~/proj");
        assert_eq!(shown(60), "  opus-5-5 · YOLO · 21% of 200k · $0.13 · cache 91% · main");
        assert_eq!(shown(39), "  YOLO · 21% · $0.13");
        assert_eq!(shown(10), "  YOLO");
        assert_eq!(shown(4), "  Y…");
    }

    #[test]
    fn what_the_user_chose() {
        let shown = |names: &[&str], width| {
            let (parts, wrong) = Part::chosen(names.iter().copied());
            (footer(&facts(), &parts, width).text(), wrong)
        };
        let right = |text: &str| (text.to_owned(), Vec::new());
        assert_eq!(shown(&["branch", "title", "mode"], 99), right("  main · fix add() · YOLO"));
        assert_eq!(shown(&["branch", "title", "mode"], 59), right("  YOLO"));
        assert_eq!(shown(&["cost", "cost"], 99), right("  YOLO · $0.13"));
        assert_eq!(shown(&[], 99), right("  YOLO"));
        let (text, wrong) = shown(&["colour", "folder"], 99);
        assert_eq!(text, "  YOLO · ~/proj");
        let names = "model, mode, context, cost, cache, branch, folder, title";
        assert_eq!(wrong, [format!("`colour` is no part of the footer; there are {names}")]);
    }
}
