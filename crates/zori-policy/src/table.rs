//! What happens when no rule decided: the table of `docs/contracts/permissions.md`, mode by class.

use zori_core::permission::{Class, Verdict};

use crate::mode::{Mode, ModeChoice};

/// Returns the cell of the table, `balanced` included.
pub fn verdict(choice: ModeChoice, class: Class) -> Verdict {
    if choice.is_balanced() && class == Class::ShellRead {
        return Verdict::Ask;
    }
    cell(choice.mode, class)
}

fn cell(mode: Mode, class: Class) -> Verdict {
    use Verdict::{Allow, Ask, Deny};
    match (mode, class) {
        (Mode::Yolo, _) => Allow,
        (Mode::Deny, _) => Deny,
        (_, Class::Internal) => Allow,
        (Mode::Paranoid, _) => Ask,
        (_, Class::Read | Class::ShellRead | Class::Agent) => Allow,
        (Mode::AcceptEdits, Class::Write | Class::ShellFile) => Allow,
        (Mode::AcceptEdits | Mode::Default, Class::MemoryWrite) => Allow,
        (Mode::AcceptEdits | Mode::Default, _) => Ask,
        (Mode::Plan, class) if class.changes() => Deny,
        (Mode::Plan, _) => Ask,
        (Mode::DontAsk, _) => Deny,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::ModeSource;

    /// The table of `docs/contracts/permissions.md` as it is written there: class, then a letter for each mode in the
    /// order of `Mode::ALL` (a allow, ? ask, d deny).
    const WRITTEN: &[(Class, &str)] = &[
        (Class::Read, "aaa?aad"),
        (Class::ReadOutside, "a????dd"),
        (Class::ReadSensitive, "a????dd"),
        (Class::Write, "aa??ddd"),
        (Class::WriteOutside, "a???ddd"),
        (Class::WriteProtected, "a???ddd"),
        (Class::ShellRead, "aaa?aad"),
        (Class::ShellFile, "aa??ddd"),
        (Class::Shell, "a???ddd"),
        (Class::ShellUnknown, "a???ddd"),
        (Class::Network, "a????dd"),
        (Class::McpRead, "a????dd"),
        (Class::Mcp, "a???ddd"),
        (Class::Agent, "aaa?aad"),
        (Class::Internal, "aaaaaad"),
        (Class::MemoryWrite, "aaa?ddd"),
        (Class::Schedule, "a???ddd"),
    ];

    #[test]
    fn all_119_cells() {
        assert_eq!(WRITTEN.len(), Class::ALL.len());
        for (class, row) in WRITTEN {
            let read =
                |mode: &Mode| match verdict(ModeChoice { mode: *mode, source: ModeSource::ByName }, *class) {
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
        assert_eq!(verdict(ModeChoice::AGENT_ZERO, Class::ShellRead), Verdict::Ask);
        assert_eq!(verdict(ModeChoice::AGENT_ZERO, Class::Read), Verdict::Allow);
    }
}
