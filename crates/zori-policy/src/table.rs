//! What happens when no rule decided: the table of `security.md` 2.3, mode by class.

use zori_core::permission::{Class, Verdict};

use crate::mode::{Choice, Mode};

/// Returns the cell of the table, `balanced` included.
pub fn verdict(choice: Choice, class: Class) -> Verdict {
    if choice.is_balanced() && class == Class::Xr {
        return Verdict::Ask;
    }
    cell(choice.mode, class)
}

fn cell(mode: Mode, class: Class) -> Verdict {
    use Class::{A, I, Im, Mr, Mx, N, R, Rs, Rx, W, Wp, Wx, X, Xf, Xr, Xu};
    use Verdict::{Allow, Ask, Deny};
    match (mode, class) {
        (Mode::Yolo, _) => Allow,
        (Mode::Deny, _) => Deny,
        (_, I) => Allow,
        (Mode::Paranoid, _) => Ask,
        (_, R | Xr | A) => Allow,
        (Mode::AcceptEdits, W | Xf | Im) | (Mode::Default, Im) => Allow,
        (Mode::AcceptEdits | Mode::Default, _) => Ask,
        (Mode::Plan, Rx | Rs | N | Mr) => Ask,
        (Mode::Plan, W | Wx | Wp | Xf | X | Xu | Mx | Im) => Deny,
        (Mode::DontAsk, _) => Deny,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::Chosen;

    /// The table of `security.md` 2.3 as it is written there: class, then a letter for each mode in the order of
    /// `Mode::ALL` (a allow, ? ask, d deny).
    const WRITTEN: &[(Class, &str)] = &[
        (Class::R, "aaa?aad"),
        (Class::Rx, "a????dd"),
        (Class::Rs, "a????dd"),
        (Class::W, "aa??ddd"),
        (Class::Wx, "a???ddd"),
        (Class::Wp, "a???ddd"),
        (Class::Xr, "aaa?aad"),
        (Class::Xf, "aa??ddd"),
        (Class::X, "a???ddd"),
        (Class::Xu, "a???ddd"),
        (Class::N, "a????dd"),
        (Class::Mr, "a????dd"),
        (Class::Mx, "a???ddd"),
        (Class::A, "aaa?aad"),
        (Class::I, "aaaaaad"),
        (Class::Im, "aaa?ddd"),
    ];

    #[test]
    fn all_112_cells() {
        assert_eq!(WRITTEN.len(), Class::ALL.len());
        for (class, row) in WRITTEN {
            let read = |mode: &Mode| match verdict(Choice { mode: *mode, chosen: Chosen::ByName }, *class) {
                Verdict::Allow => 'a',
                Verdict::Ask => '?',
                Verdict::Deny => 'd',
            };
            let got: String = Mode::ALL.iter().map(read).collect();
            assert_eq!(got, *row, "{}", class.as_str());
        }
    }

    #[test]
    fn balanced_asks_for_readers_of_the_shell() {
        assert_eq!(verdict(Choice::AGENT_ZERO, Class::Xr), Verdict::Ask);
        assert_eq!(verdict(Choice::AGENT_ZERO, Class::R), Verdict::Allow);
    }
}
