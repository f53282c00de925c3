//! UI-30 to UI-32: whatever size the window takes, each committed row is there once and the viewport is where it belongs.

use proptest::prelude::*;
use zori_testkit::pty;
use zori_testkit::terminal::{Kind, Terminal, forbidden};
use zori_tui::state::Size;
use zori_tui::terminal::inline::Reflow;

use crate::stage::Chat;

/// A dozen sizes; the rows stay above what the model that cuts would throw away itself.
const SIZES: [(u16, u16); 13] = [
    (24, 80),
    (24, 60),
    (24, 100),
    (30, 40),
    (30, 120),
    (30, 33),
    (36, 99),
    (36, 50),
    (36, 81),
    (36, 79),
    (40, 45),
    (40, 132),
    (40, 80),
];

struct Window {
    chat: Chat,
    terminal: Terminal,
    bytes: String,
    committed: Vec<String>,
}

impl Window {
    fn new(kind: Kind) -> Self {
        let (rows, columns) = SIZES[0];
        let mut terminal = Terminal::new(kind, pty::Size { rows, cols: columns });
        terminal.feed("shell-1\r\nshell-2\r\n$ zori\r\n");
        let chat = Chat::new(Size { rows, columns });
        Self {
            chat,
            terminal,
            bytes: String::new(),
            committed: vec!["shell-1".into(), "shell-2".into(), "$ zori".into()],
        }
    }

    fn frame(&mut self) {
        let frame = self.chat.frame();
        self.terminal.feed(&frame);
        self.bytes.push_str(&frame);
    }

    /// Streams an answer with some rows of their own.
    fn stream(&mut self, count: usize) {
        for _ in 0..count {
            let row = format!("UNIQ-{:03} lorem ipsum", self.committed.len());
            self.chat.says(&format!("{row}\n\n"));
            self.committed.push(row);
            self.frame();
        }
    }

    fn resize(&mut self, (rows, columns): (u16, u16), reflow: Reflow) {
        self.terminal.resize(pty::Size { rows, cols: columns });
        self.chat.resize(Size { rows, columns }, reflow);
        self.frame();
    }

    #[track_caller]
    fn check_rows(&self) {
        let rows = self.terminal.rows();
        for wanted in &self.committed {
            let count = rows.iter().filter(|row| row.trim_end() == wanted).count();
            assert_eq!(count, 1, "`{wanted}` in\n{}", rows.join("\n"));
        }
        assert_eq!(forbidden(&self.bytes), Vec::<String>::new());
    }

    /// Nothing of an old viewport is left: the footer, which is in every frame, is there once.
    #[track_caller]
    fn check_viewport(&self) {
        let rows = self.terminal.rows();
        let footers = rows.iter().filter(|row| row.contains("YOLO ·")).count();
        assert_eq!(footers, 1, "{}", rows.join("\n"));
        assert!(rows.last().is_some_and(|row| row.contains("YOLO ·")), "{}", rows.join("\n"));
    }
}

#[test]
fn a_terminal_that_cuts_keeps_every_row() {
    for streaming in [false, true] {
        let mut window = Window::new(Kind::Cutting);
        window.chat.turn("go").says("\n");
        window.stream(30);
        for size in SIZES {
            window.resize(size, Reflow::No);
            if streaming {
                window.stream(2);
            }
            window.check_viewport();
        }
        window.check_rows();
    }
}

#[test]
fn a_terminal_that_reflows_keeps_every_row() {
    for streaming in [false, true] {
        let mut window = Window::new(Kind::Reflowing);
        window.chat.turn("go").says("\n");
        window.stream(30);
        window.chat.typed("a draft that is long enough to become several rows when the window is narrow, and one again later");
        window.frame();
        for size in SIZES {
            window.resize(size, Reflow::Yes);
            if streaming {
                window.stream(2);
            }
            window.check_viewport();
        }
        window.check_rows();
    }
}

/// Who is not in the table is taken not to reflow: then rows of the old viewport may be left behind, but none is lost.
#[test]
fn a_wrong_guess_loses_nothing() {
    let mut window = Window::new(Kind::Reflowing);
    window.chat.turn("go").says("\n");
    window.stream(30);
    for size in SIZES {
        window.resize(size, Reflow::No);
        window.stream(1);
    }
    window.check_rows();
}

/// A storm of sizes: only the last one is drawn for, as the 30 ms of UI-32 have it.
#[test]
fn a_storm_of_sizes_is_one_redraw() {
    let mut window = Window::new(Kind::Reflowing);
    window.chat.turn("go").says("\n");
    window.stream(10);
    for i in 0..200 {
        let (rows, columns) = SIZES[i % SIZES.len()];
        window.terminal.resize(pty::Size { rows, cols: columns });
        window.chat.resize(Size { rows, columns }, Reflow::Yes);
    }
    window.frame();
    window.check_rows();
    window.check_viewport();
}

#[test]
fn one_by_one_and_back() {
    let mut window = Window::new(Kind::Reflowing);
    window.chat.turn("go").says("\n");
    window.stream(5);
    for size in [(1, 1), (2, 3), (1, 200), (60, 1), (24, 80)] {
        window.resize(size, Reflow::Yes);
        window.stream(1);
    }
    let rows = window.terminal.rows();
    for wanted in &window.committed {
        assert!(
            rows.iter().any(|row| row.contains(wanted.as_str())) || rows.concat().contains(wanted.as_str()),
            "{wanted}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any sizes, with rows coming between them: none is lost or doubled where the terminal reflows.
    #[test]
    fn any_sizes(
        steps in proptest::collection::vec((10_u16..50, 25_u16..140, 0_usize..4), 1..12),
        draft in "[a-d ]{0,150}",
    ) {
        let mut window = Window::new(Kind::Reflowing);
        window.chat.turn("go").says("\n");
        window.stream(20);
        window.chat.typed(&draft);
        window.frame();
        for (rows, columns, count) in steps {
            window.resize((rows, columns), Reflow::Yes);
            window.stream(count);
        }
        window.check_rows();
    }
}
