//! The kinds of cells (chapter 6 of the contract), a file each: what a person said, an answer, a tool call, what a model thought, words to the user.

mod agent;
mod answer;
mod arguments;
mod diff;
mod notice;
mod output;
mod thinking;
mod tool;
mod user;
mod words;

pub use answer::AnswerCell;
pub use diff::{AskedChange, ChangedPlace, line_counts};
pub use notice::{ErrorCell, NoticeCell, compacted};
pub use output::{printed_row, printed_rows};
pub use thinking::ThinkingCell;
pub use tool::{ToolCell, joined, joined_row};
pub use user::UserCell;
pub use words::{bytes, counted, dollars, duration, thousands};

use crate::cell::Signs;

/// A sign before a cell: what it says where only ASCII can be shown (ACC-3).
#[derive(Clone, Copy)]
struct Sign {
    unicode: &'static str,
    ascii: &'static str,
}

impl Sign {
    const DOT: Self = Self { unicode: "●", ascii: "*" };
    const CROSS: Self = Self { unicode: "✗", ascii: "x" };
    const DENIED: Self = Self { unicode: "⊘", ascii: "-" };
    const USER: Self = Self { unicode: "›", ascii: ">" };
    const THOUGHT: Self = Self { unicode: "∴", ascii: ":" };

    fn of(self, signs: Signs) -> &'static str {
        match signs {
            Signs::Unicode => self.unicode,
            Signs::Ascii => self.ascii,
        }
    }
}

#[cfg(test)]
mod tests;
