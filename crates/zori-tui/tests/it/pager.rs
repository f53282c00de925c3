//! The pager over all cells: those that run, too, and without laying out anew what does not change (Ctrl-O, `/show`, `/find`).

use zori_core::tool::{ToolKind, ToolOutput};
use zori_tui::commands::{CommandInfo, ScreenCommand};
use zori_tui::pager;
use zori_tui::row::Row;
use zori_tui::state::{Size, Thinking};
use zori_tui::transcript::Transcript;
use zori_tui::update::{Effect, Msg};

use crate::stage::{Chat, shell};

/// A chat of twelve rows with the commands that are about cells.
fn chat() -> Chat {
    let mut chat = Chat::new(Size { rows: 12, columns: 80 });
    let own = |name, own| CommandInfo { name, args: "N", own: Some(own), ..CommandInfo::NOTHING };
    let commands = [
        own("/show", ScreenCommand::Show),
        own("/copy", ScreenCommand::Copy),
        own("/find", ScreenCommand::Find),
        own("/keys", ScreenCommand::Keys),
    ];
    chat.state.options.commands.extend(commands);
    chat
}

fn screen(chat: &Chat) -> Vec<String> {
    pager::screen(&chat.state).iter().map(|row: &Row| row.text().trim_end().to_owned()).collect()
}

/// The first row of the page, and where it is.
fn place(chat: &Chat) -> (String, String) {
    let rows = screen(chat);
    let last = rows.last().expect("there are rows");
    let at = last.rsplit("  ").next().unwrap_or_default();
    (rows[0].clone(), at.to_owned())
}

fn run(chat: &mut Chat, command: &str) {
    chat.calls(ToolKind::Bash, &serde_json::json!({ "command": command }).to_string());
}

fn lines(from: usize, to: usize) -> String {
    (from..to).map(|i| format!("line {i}\n")).collect()
}

/// What a running command printed so far is there, and more of it as it comes.
#[test]
fn a_command_that_runs() {
    let mut chat = chat();
    chat.turn("go");
    run(&mut chat, "make");
    chat.prints(&lines(0, 40)).wait(3000).key("ctrl+o");
    let rows = screen(&chat);
    assert_eq!((rows[10].as_str(), rows[0].as_str()), ("  line 39", "  line 29"));
    chat.prints("line 40\n");
    assert_eq!(screen(&chat)[10], "  line 40", "the end follows what comes");
    chat.key("g").prints("line 41\n");
    insta::assert_snapshot!(place(&chat).0, @"zori 0.2 · opus-5-5 · ~/proj (main) · YOLO: runs everything; Shift-Tab: ask");
    chat.key("G").prints("line 42\n");
    assert_eq!(screen(&chat)[10], "  line 42");
    chat.key("q").typed("/show 1").key("enter");
    assert_eq!(place(&chat).0, format!("{:<65}running 3s  #1", "● $ make"));
    chat.key("q").typed("/copy 1").key("enter");
    let copied = chat.effects.iter().find_map(|effect| match effect {
        Effect::Copy(text) => Some(text.lines().last().unwrap_or_default().to_owned()),
        _ => None,
    });
    assert_eq!(copied.as_deref(), Some("  line 42"));
}

/// What is being answered and thought is there as well, once each.
#[test]
fn an_answer_that_comes() {
    let mut chat = chat();
    chat.turn("go").thinks("first this").says("It is **so**.\n\nAnd th").key("ctrl+o");
    let rows = screen(&chat);
    assert_eq!(rows[3..10], ["› go", "", "∴ Thought 50ms · 3 tokens", "first this", "", "It is so.", ""]);
    chat.key("q");
    chat.frame();
    chat.says("us.").key("ctrl+o");
    let all = screen(&chat).join("\n");
    assert_eq!((all.matches("It is so.").count(), all.matches("And thus.").count()), (1, 1), "{all}");
}

/// `/find` goes to the newest place; `n` and `N` go around; what is nowhere is said.
#[test]
fn words_are_found() {
    let mut chat = chat();
    chat.turn("go");
    run(&mut chat, "make");
    chat.ends(ToolKind::Bash, shell(&lines(0, 60), 0), 10);
    chat.typed("/find LINE 3").key("enter");
    assert_eq!(place(&chat).0, "  line 39");
    chat.key("N");
    assert_eq!(place(&chat).0, "  line 38");
    chat.key("n").key("n");
    assert_eq!(place(&chat).0, "  line 3", "it goes around");
    chat.key("N");
    assert_eq!(place(&chat).0, "  line 39");
    chat.key("/").typed("nothing").key("enter");
    insta::assert_snapshot!(screen(&chat)[11], @"`nothing` is nowhere here · / searches anew · q back                48-58 of 68");
}

/// `e` makes cells short and long, and what is looked at stays where it is.
#[test]
fn folding_keeps_the_place() {
    let mut chat = chat();
    chat.turn("go");
    for i in 0..4 {
        run(&mut chat, &format!("make {i}"));
        chat.ends(ToolKind::Bash, shell(&lines(0, 30), 0), 10);
    }
    chat.frame();
    chat.typed("/show 2").key("enter");
    let mut first = vec![place(&chat).0];
    for keys in [&["e"][..], &["e", "j", "e"]] {
        keys.iter().for_each(|key| _ = chat.key(key));
        first.push(place(&chat).0);
    }
    insta::assert_snapshot!(first.join("\n"), @"
    ● $ make 1                                                    exit 0 · 10ms  #2
    ● $ make 1                                                    exit 0 · 10ms  #2
    ● $ make 1                                                    exit 0 · 10ms  #2
    ");
}

/// A conversation that begins anew while its cells are looked at, as by a `/clear` that was queued.
#[test]
fn a_conversation_that_begins_anew() {
    let mut chat = chat();
    chat.turn("go");
    run(&mut chat, "make");
    chat.ends(ToolKind::Bash, shell(&lines(0, 60), 0), 10);
    chat.frame();
    chat.key("ctrl+o");
    chat.state.transcript = Transcript::new(chat.state.options.signs, chat.state.options.thinking);
    chat.wait(100);
    assert_eq!(place(&chat), (String::new(), "0-0 of 0".to_owned()));
}

/// TRN-3: where a file has all of it, `/show` opens that; where it is gone, the cell.
#[test]
fn what_was_spilled() {
    let mut chat = chat();
    chat.turn("go");
    run(&mut chat, "make");
    let data = r#"{"stdout":"a","stderr":"","exit_code":0,"stdout_file":"/tmp/z/1-stdout.txt"}"#;
    let mut output = ToolOutput::success(data);
    output.process = shell("", 0).process;
    chat.ends(ToolKind::Bash, output, 10);
    chat.frame();
    chat.effects.clear();
    chat.typed("/show 1").key("enter");
    let file = "/tmp/z/1-stdout.txt".to_owned();
    assert!(chat.effects.contains(&Effect::ShowFile { number: 1, file }), "{:?}", chat.effects);
    chat.take(Msg::ShowCell(1));
    insta::assert_snapshot!(screen(&chat).join("\n"), @"
    zori 0.2 · opus-5-5 · ~/proj (main) · YOLO: runs everything; Shift-Tab: ask
    first
    AGENTS.md · ? keys

    › go

    ● $ make                                                      exit 0 · 10ms  #1
      make
      a


    q back · / n N search · e folds · c copies · r reruns · space b page…  1-9 of 9
    ");
    chat.key("q").typed("/show 9").key("enter");
    assert!(chat.state.pager.is_none());
}

/// With `ui.thinking = "show"` thoughts are seen while they come.
#[test]
fn thinking_is_seen_as_it_comes() {
    let mut chat = chat();
    chat.state.options.thinking = Thinking::Show;
    chat.state.transcript = Transcript::new(chat.state.options.signs, Thinking::Show);
    chat.turn("go").thinks("first this,\nthen th").wait(2000);
    chat.frame();
    let rows: Vec<String> = zori_tui::chat::view(&chat.state).rows.iter().map(Row::text).collect();
    assert_eq!(rows[1..4], ["∴ Thought 2.0s · 5 tokens", "first this,", "then th"]);
}
