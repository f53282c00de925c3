use std::sync::Arc;

use zori_core::cost::Spent;
use zori_core::event::TurnEvent;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::{AgentId, CallId, SessionId};
use zori_core::input::Approval;
use zori_core::outcome::{CancelCause, Outcome};
use zori_core::permission::{Class, Decision, Verdict};
use zori_core::provider::StopReason;
use zori_core::question::{
    Choice, ChoiceOption, FileAction, FileDiff, FormField, FormPart, Grant, Preview, Question, Replaced,
};
use zori_core::time::Timestamp;

use super::*;
use crate::cell::Signs;
use crate::chat;
use crate::commands::CommandInfo;
use crate::composer::LONG;
use crate::keymap::Keymap;
use crate::keys::Key;
use crate::state::{Facts, Options};

/// A chat under test: keys and events at times, and what comes of them.
struct Stage {
    state: State,
    now: Duration,
    effects: Vec<Effect>,
}

fn stage() -> Stage {
    let command = |name, args| CommandInfo {
        name,
        args,
        about: "about it",
        category: "Session",
        waits: true,
        ..CommandInfo::NOTHING
    };
    let options = Options {
        signs: Signs::Unicode,
        motion: true,
        keymap: Keymap::default(),
        vim: false,
        thinking: crate::state::Thinking::Fold,
        commands: vec![command("/model", "[NAME]"), command("/mode", ""), command("/recap", "")],
        shift_enter: false,
        brackets_pastes: true,
        modes: vec!["yolo".into(), "default".into()],
        ..Options::default()
    };
    let facts = Facts {
        model: "opus-5-5".into(),
        mode: "yolo".into(),
        spent: Some(Spent::NOTHING),
        folder: "~/proj".into(),
        ..Facts::default()
    };
    let mut state = State::new(Size { rows: 24, columns: 80 }, options, facts);
    state.draft.kept = Draft::default();
    Stage { state, now: Duration::from_secs(10), effects: Vec::new() }
}

impl Stage {
    fn take(&mut self, msg: Msg<'_>) -> &mut Self {
        let effects = update(&mut self.state, self.now, msg);
        self.effects.extend(
            effects.into_iter().filter(|effect| !matches!(effect, Effect::Keep(_) | Effect::LookAround)),
        );
        self
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self.take(Msg::Tick)
    }

    /// Presses a key a second after what came before.
    fn key(&mut self, key: &str) -> &mut Self {
        self.wait(1000).key_now(key)
    }

    fn key_now(&mut self, key: &str) -> &mut Self {
        let key = Key::parse(key).unwrap();
        self.take(Msg::Term(TermEvent::Key(key)))
    }

    fn typed(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.wait(50).take(Msg::Term(TermEvent::Key(Key::plain(crate::keys::KeyCode::Char(c)))));
        }
        self
    }

    fn turn(&mut self) -> &mut Self {
        self.take(Msg::TurnBegins("what?".into()))
    }

    fn over(&mut self, outcome: Outcome) -> &mut Self {
        let over = TurnOver {
            outcome: Some(outcome),
            error: None,
            details: None,
            ways_out: Vec::new(),
            context: 0,
            spent: Spent::NOTHING,
        };
        self.take(Msg::TurnOver(over))
    }

    /// The model reads what was sent into the turn.
    fn steered(&mut self, text: &str) -> &mut Self {
        let event = Event {
            seq: 0,
            at: Timestamp(0),
            session: SessionId::parse("s").unwrap(),
            agent: AgentId::MAIN,
            parent: None,
            kind: TurnEvent::Steered { text: text.into() }.into(),
        };
        self.take(Msg::Event(&event))
    }

    fn asked(&mut self, class: Class, command: &str) -> &mut Self {
        let preview = Preview::Command { command: command.to_owned(), cwd: "/w".into(), sandbox: None };
        let question =
            Question { tool: "bash".into(), preview, grants: Vec::new(), explanation: vec!["step 1".into()] };
        let decision = Decision::new(Verdict::Ask, class, "no rule covers it");
        let call = CallId::new(format!("call-{}", self.state.questions.len()));
        self.take(Msg::Asked(Asked::new(call, Arc::new(question), decision, None, None)))
    }

    fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    fn text(&self) -> String {
        self.state.composer.buffer.text()
    }

    fn screen(&self) -> String {
        chat::view(&self.state).rows.iter().map(|row| row.text()).collect::<Vec<_>>().join("\n")
    }
}

fn none() -> Vec<Effect> {
    Vec::new()
}

fn approved(call: &str) -> Effect {
    Effect::Input(Input::Approve { call: CallId::new(call), answer: Approval::Allow })
}

#[test]
fn enter_sends_and_in_a_turn_it_queues() {
    let mut stage = stage();
    stage.typed("fix it").key("enter");
    assert_eq!(stage.effects(), [Effect::Prompt("fix it".into())]);
    stage.turn().typed("and test").key("enter").typed("now").key("tab");
    assert_eq!(stage.effects(), [Effect::Input(Input::Steer("now".into()))]);
    assert_eq!(stage.state.queue.items, [Prompt::from("and test")]);
    stage.steered("now").over(Outcome::Completed(StopReason::EndTurn));
    assert_eq!(stage.effects(), [Effect::Prompt("and test".into())]);
}

/// The model reads what is sent into a turn with the next results; a turn that has none ends without.
#[test]
fn what_the_turn_did_not_read_is_sent_after_it() {
    let mut stage = stage();
    stage.turn().typed("later").key("enter").typed("one").key("tab").typed("two").key("tab").typed("three");
    stage.key("tab").steered("one").over(Outcome::Completed(StopReason::EndTurn));
    let steer = |text: &str| Effect::Input(Input::Steer(text.into()));
    assert_eq!(stage.effects(), [steer("one"), steer("two"), steer("three"), Effect::Prompt("two".into())]);
    assert_eq!(stage.state.queue.items, [Prompt::from("three"), Prompt::from("later")]);
}

#[test]
fn the_queue_is_edited_and_held_after_a_stop() {
    let mut stage = stage();
    stage.turn().typed("one").key("enter").typed("two").key("enter").key("up");
    assert_eq!(stage.text(), "two");
    stage.key("enter").key("esc");
    assert_eq!(stage.effects(), [Effect::Input(Input::Cancel(CancelCause::User))]);
    stage.over(Outcome::Cancelled(CancelCause::User));
    assert_eq!(stage.effects(), none(), "what is queued is held");
    assert_eq!(stage.text(), "what?", "nothing came of the prompt, so it is back");
    stage.key("ctrl+c").key("enter");
    assert_eq!(stage.effects(), [Effect::Prompt("one".into())]);
}

/// The pairs of KEY-3 by the time between them.
#[test]
fn ctrl_c_twice_leaves_within_two_seconds() {
    for (between, leaves) in [(0, true), (50, true), (500, true), (2500, false)] {
        let mut stage = stage();
        stage.key("ctrl+c").wait(between).key_now("ctrl+c");
        assert_eq!(stage.effects() == [Effect::Leave], leaves, "{between} ms");
    }
    let mut stage = stage();
    stage.key("ctrl+c").key_now("a").key_now("backspace").key_now("ctrl+c");
    assert_eq!(stage.effects(), none(), "a key came between");
    stage.key("a").key("ctrl+c");
    assert_eq!((stage.text().as_str(), stage.effects()), ("", none()), "a draft is put away first");
    stage.key("up");
    assert_eq!(stage.text(), "a");
}

#[test]
fn ctrl_d_leaves_on_nothing_and_deletes_else() {
    let mut stage = stage();
    stage.typed("ab").key("ctrl+a").key("ctrl+d");
    assert_eq!((stage.text().as_str(), stage.effects()), ("b", none()));
    stage.key("ctrl+d").key("ctrl+d");
    assert_eq!(stage.effects(), [Effect::Leave]);
    stage.turn().key("ctrl+d");
    assert_eq!(stage.effects(), none());
    stage.wait(100).key_now("ctrl+d");
    assert_eq!(stage.effects(), [Effect::Input(Input::Cancel(CancelCause::User)), Effect::Leave]);
}

/// SAF-1, SAF-2: a key answers only what has been read, and not in the middle of typing.
#[test]
fn a_question_is_not_answered_by_accident() {
    for (drawn_before, last_key_before, answers) in [
        (None, 5000, false),
        (Some(1), 5000, false),
        (Some(499), 5000, false),
        (Some(500), 5000, true),
        (Some(800), 699, false),
        (Some(800), 700, true),
    ] {
        let mut stage = stage();
        stage.turn();
        stage.now += Duration::from_secs(20);
        let end = stage.now;
        stage.now = end - Duration::from_millis(last_key_before);
        stage.key_now("left");
        stage.asked(Class::Shell, "ls");
        if let Some(before) = drawn_before {
            stage.now = end - Duration::from_millis(before);
            stage.take(Msg::Drawn);
        }
        stage.now = end;
        stage.key_now("y");
        assert_eq!(stage.effects() == [approved("call-0")], answers, "{drawn_before:?} {last_key_before}");
        assert_eq!(stage.text().is_empty(), answers, "a key that does not answer is text");
    }
}

#[test]
fn a_draft_keeps_its_keys_until_tab() {
    let mut stage = stage();
    stage.turn().typed("then tag it").asked(Class::Shell, "git push").take(Msg::Drawn);
    stage.wait(5000).key_now("y");
    assert_eq!((stage.text().as_str(), stage.effects()), ("then tag ity", none()));
    stage.key("backspace").key("tab").key_now("y");
    assert_eq!((stage.text().as_str(), stage.effects()), ("then tag it", vec![approved("call-0")]));
}

#[test]
fn a_paste_answers_nothing_and_enter_approves_nothing() {
    let mut stage = stage();
    stage.turn().asked(Class::Shell, "ls").take(Msg::Drawn).wait(5000);
    stage.take(Msg::Term(TermEvent::Paste("y".into())));
    assert_eq!((stage.text().as_str(), stage.effects()), ("y", none()));
    stage.key("backspace").wait(5000).key_now("enter");
    assert!(matches!(stage.effects().as_slice(), [Effect::Explain { .. }]), "Enter explains");
    assert!(stage.state.questions[0].explained);
}

/// APR-5: explaining answers nothing and asks a model once, which reads the question and nothing else; what it says stands behind the steps, whenever
/// it comes.
#[test]
fn an_explanation_asks_a_model_once() {
    let mut stage = stage();
    stage.turn().asked(Class::Shell, "rm x").take(Msg::Drawn).wait(5000).key_now("e");
    let call = CallId::new("call-0");
    let question = stage.state.questions[0].question.clone();
    assert_eq!(stage.effects(), [Effect::Explain { call: call.clone(), question }]);
    let shown = |stage: &Stage| {
        let screen = stage.screen();
        let from = screen.find("    risk").map_or("", |at| &screen[at..]);
        from.lines()
            .take_while(|line| line.starts_with("    "))
            .map(|line| line.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let risk = "risk high: `rm` deletes or formats";
    assert_eq!(shown(&stage), [risk, "step 1", "the model is asked …"]);
    // The answer to a question that nobody asks any more is nobody's.
    stage.take(Msg::Explained { call: CallId::new("call-7"), words: Ok("Something else.".into()) });
    stage.take(Msg::Explained { call: call.clone(), words: Ok("It removes x.".into()) });
    assert_eq!(shown(&stage), [risk, "step 1", "the model says: It removes x."]);
    stage.wait(5000).key_now("e").wait(5000).key_now("e");
    assert_eq!(shown(&stage), [risk, "step 1", "the model says: It removes x."]);
    assert_eq!((stage.effects(), stage.state.questions.len()), (none(), 1));
    stage.take(Msg::Explained { call, words: Err("no connection".into()) });
    assert_eq!(shown(&stage), [risk, "step 1", "the model does not explain it: no connection"]);
}

/// Where it has no room beside what is asked about, the explanation is a page, which takes up what the model says later.
#[test]
fn an_explanation_may_be_a_page() {
    let mut stage = stage();
    stage.take(Msg::Resized(Size { rows: 10, columns: 60 }));
    stage.turn().asked(Class::Shell, "one\ntwo\nthree").take(Msg::Drawn).wait(5000).key_now("e");
    assert!(stage.state.pager.as_ref().is_some_and(Pager::is_explanation));
    stage.take(Msg::Explained { call: CallId::new("call-0"), words: Ok("Three words.".into()) });
    let page: Vec<String> = crate::pager::screen(&stage.state).iter().map(Row::text).collect();
    assert!(page.iter().any(|row| row == "the model says: Three words."), "{page:?}");
    assert!(!stage.state.questions[0].explained);
}

/// What is being read stays where the model's words have no room: they are on a page.
#[test]
fn words_of_a_model_that_have_no_room() {
    let mut stage = stage();
    stage.take(Msg::Resized(Size { rows: 24, columns: 60 }));
    stage.turn().asked(Class::Shell, "ls").take(Msg::Drawn).wait(5000).key_now("e");
    assert!(stage.screen().contains("the model is asked …") && stage.state.pager.is_none());
    let words = "It lists the folder. ".repeat(60);
    stage.take(Msg::Explained { call: CallId::new("call-0"), words: Ok(words) });
    let screen = stage.screen();
    assert!(
        screen.contains("    risk low") && screen.contains("the model has explained it; e shows it"),
        "{screen}"
    );
    stage.wait(5000).key_now("e");
    assert!(stage.state.pager.as_ref().is_some_and(Pager::is_explanation));
    let page: Vec<String> = crate::pager::screen(&stage.state).iter().map(Row::text).collect();
    assert!(page.iter().any(|row| row.starts_with("the model says: It lists")), "{page:?}");
}

/// KEY-6: the arrows go through the answers, and Enter gives the one they are at.
#[test]
fn arrows_choose_an_answer() {
    let mut stage = stage();
    stage
        .turn()
        .asked(Class::Shell, "ls")
        .take(Msg::Drawn)
        .wait(5000)
        .key_now("left")
        .key("left")
        .key("enter");
    assert!(stage.state.questions.is_empty());
    let answer = Approval::Reject { reason: None };
    assert_eq!(stage.effects(), [Effect::Input(Input::Approve { call: CallId::new("call-0"), answer })]);
}

/// STA-4: once, when nobody looks: the window is not in front, or no key came for a minute.
#[test]
fn somebody_elsewhere_is_told() {
    let told = |focused: Option<bool>, seconds: u64| {
        let mut stage = stage();
        stage.state.focused = focused;
        stage.key("left").turn();
        stage.now += Duration::from_secs(seconds);
        stage.over(Outcome::Completed(StopReason::EndTurn));
        stage.effects().iter().filter(|effect| matches!(effect, Effect::Notify(_))).count()
    };
    assert_eq!([told(Some(false), 9), told(Some(false), 10), told(Some(true), 90)], [0, 1, 0]);
    assert_eq!([told(None, 59), told(None, 60)], [0, 1]);
}

/// RSM-2: the keys of the list of sessions.
#[test]
fn keys_of_the_list_of_sessions() {
    let mut stage = stage();
    let about = "about it";
    let resume = CommandInfo { name: "/resume", args: "[ID]", about, waits: true, ..CommandInfo::NOTHING };
    stage.state.options.commands.push(resume);
    let find = |word: &str, everywhere| {
        Effect::Find(FindRequest::Argument { command: "/resume", word: word.into(), everywhere })
    };
    let item = |id: &str, label: &str| Item {
        text: id.into(),
        args: String::new(),
        about: "2 messages".into(),
        label: Some(label.into()),
    };
    stage.typed("/resume ");
    assert_eq!(stage.effects(), [find("", false)]);
    let items = vec![item("s1", "  2h  fix add()"), item("s2", "  1d  speed")];
    stage.take(Msg::Found { word: String::new(), items, of: 2, all: 9, pending: false });
    let head = format!("{:<79}", "› /resume");
    let note = "this folder 2 of 2 · Ctrl-A all 9 · Ctrl-P shows · Ctrl-D trash";
    let head = format!("{}{note}", &head[..head.len() - note.chars().count()]);
    assert_eq!(
        stage.screen(),
        ["", &head, "    2h  fix add()  2 messages", "    1d  speed      2 messages"].join("\n")
    );
    stage.key("down").key("ctrl+p").key("ctrl+d");
    assert_eq!(stage.effects(), [Effect::Preview("s2".into()), Effect::Trash("s2".into()), find("", false)]);
    stage.key("ctrl+a");
    assert_eq!(stage.effects(), [find("", true)]);
    stage.typed("x");
    assert_eq!(stage.effects(), [find("x", true)]);
    stage.take(Msg::Found { word: "x".into(), items: Vec::new(), of: 9, all: 9, pending: false });
    stage.key("ctrl+d");
    assert_eq!((stage.text().as_str(), stage.effects()), ("/resume x", none()), "nothing is chosen");
}

#[test]
fn an_answer_counts_once_and_the_next_question_has_its_own_guard() {
    let mut stage = stage();
    stage.turn().asked(Class::Shell, "ls").asked(Class::Shell, "rm x").take(Msg::Drawn).wait(5000);
    stage.key_now("y").key_now("y");
    assert_eq!((stage.text().as_str(), stage.effects()), ("y", vec![approved("call-0")]));
    assert_eq!(stage.state.questions.len(), 1);
}

/// SAF-4: what hides rows or is serious has to be read to its end.
#[test]
fn what_is_hidden_is_read_first() {
    let mut stage = stage();
    let long: String = (0..100).map(|i| format!("echo {i}\n")).collect();
    stage.turn().asked(Class::Shell, &long).take(Msg::Drawn).wait(5000).key_now("y");
    assert_eq!(stage.effects(), none());
    assert!(stage.state.pager.is_some(), "y opens the whole text");
    stage.key("y");
    assert_eq!(stage.effects(), none(), "y goes to its end");
    stage.key("y");
    assert_eq!(stage.effects(), [approved("call-0")]);

    let mut stage = self::stage();
    stage.turn().asked(Class::ShellUnknown, "eval $X").take(Msg::Drawn).wait(5000).key_now("y");
    assert!(stage.state.pager.is_some() && stage.effects().is_empty());
}

#[test]
fn no_with_a_reason_keeps_the_draft() {
    let mut stage = stage();
    stage.turn().typed("later").asked(Class::Shell, "ls").take(Msg::Drawn).wait(1000).key_now("tab").key("w");
    assert_eq!(stage.text(), "");
    stage.typed("use rg").key("enter");
    let answer = Approval::Reject { reason: Some("use rg".into()) };
    assert_eq!(stage.effects(), [Effect::Input(Input::Approve { call: CallId::new("call-0"), answer })]);
    assert_eq!(stage.text(), "later");
}

/// ASK-2: numbers choose, several where that is possible, and words are an answer too.
#[test]
fn questions_of_the_model() {
    let option = |label: &str, about: Option<&str>| ChoiceOption {
        label: label.to_owned(),
        description: about.map(str::to_owned),
    };
    let choice = |question: &str, multiple| Choice {
        question: question.to_owned(),
        header: Some("Parser".to_owned()),
        options: vec![option("by hand", Some("more work")), option("generated", None)],
        multiple,
        secret: false,
        form: None,
    };
    let preview = Preview::Choices(vec![
        choice("Which parser?", false),
        choice("Which files?", true),
        choice("What else?", false),
    ]);
    let question = Question { tool: "ask_user".into(), preview, grants: Vec::new(), explanation: Vec::new() };
    let decision = Decision::new(Verdict::Allow, Class::Internal, "it is internal");
    let mut stage = stage();
    stage.turn().typed("later");
    stage.take(Msg::Asked(Asked::new(CallId::new("call-0"), Arc::new(question), decision, None, None)));
    stage.take(Msg::Drawn).wait(1000).key_now("tab");
    let shown = |stage: &Stage| {
        let screen = stage.screen();
        let from = screen.find("? the model asks").unwrap();
        screen[from..].lines().take(5).map(str::trim_end).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        shown(&stage).lines().skip(1).collect::<Vec<_>>().join("\n"),
        "  Which parser?\n  1 by hand  more work\n  2 generated\n  a number chooses · w your own words… · n no answer"
    );
    stage.key("2").take(Msg::Drawn).wait(1000).key_now("tab").key("1").key("2").key("1");
    assert_eq!(
        shown(&stage).lines().skip(1).collect::<Vec<_>>().join("\n"),
        "  Which files?\n  1 [ ] by hand  more work\n  2 [x] generated\n  numbers choose, Enter is done · w your own words… · n no answer"
    );
    stage.key("enter").take(Msg::Drawn).wait(1000).key_now("tab").key("w").typed("nothing").key("enter");
    let answer = Approval::answers(vec!["2".into(), "2".into(), "nothing".into()]);
    assert_eq!(stage.effects(), [Effect::Input(Input::Approve { call: CallId::new("call-0"), answer })]);
    assert_eq!(stage.text(), "later");
}

/// MCP-71: a field of a form may stay as it is; whether the form goes out is asked at its end, and Enter alone does not say so.
#[test]
fn a_form_of_a_server() {
    let option = |label: &&str| ChoiceOption { label: (*label).to_owned(), description: None };
    let choice = |question: &str, options: &[&str], form| Choice {
        question: question.to_owned(),
        header: Some("docs".to_owned()),
        options: options.iter().map(option).collect(),
        multiple: false,
        secret: false,
        form: Some(form),
    };
    let field = |name: &str| {
        let (name, default) = (name.to_owned(), Some("d".into()));
        FormPart::Field(FormField { name, kind: "string", required: true, default })
    };
    let preview = Preview::Choices(vec![
        choice("name [d]", &[], field("name")),
        choice("colour [d]", &["red", "blue"], field("colour")),
        choice("nick [d]", &[], field("nick")),
        choice("Send this to `docs`?", &["send", "decline", "cancel"], FormPart::End),
    ]);
    let question = Question { tool: "x".into(), preview, grants: Vec::new(), explanation: Vec::new() };
    let decision = Decision::new(Verdict::Ask, Class::Internal, "the call asks the user");
    let mut stage = stage();
    stage.turn();
    stage.take(Msg::Asked(Asked::new(CallId::new("call-0"), Arc::new(question), decision, None, None)));
    let shown = |stage: &Stage| {
        let screen = stage.screen();
        let from = screen.find("? ").unwrap();
        let row = |row: &str| row.split_whitespace().collect::<Vec<_>>().join(" ");
        screen[from..]
            .lines()
            .take_while(|line| !line.contains("Asking"))
            .map(row)
            .collect::<Vec<_>>()
            .join("\n")
    };
    stage.take(Msg::Drawn).wait(1000);
    assert_eq!(
        shown(&stage),
        "? the MCP server docs asks 1 of 4\nname [d]\nw your answer… · Enter leaves it as it is · n declines"
    );
    stage.key("enter").take(Msg::Drawn).wait(1000).key("enter").take(Msg::Drawn).wait(1000);
    stage.key("w").key("enter").take(Msg::Drawn).wait(1000).key("enter");
    assert_eq!(
        shown(&stage),
        "? the MCP server docs asks 4 of 4\nSend this to `docs`?\n1 send\n2 decline\n3 cancel\na number chooses · n declines"
    );
    assert_eq!(stage.effects(), []);
    stage.key("1");
    let answer = Approval::answers(["", "", "", "1"].map(str::to_owned).to_vec());
    assert_eq!(stage.effects(), [Effect::Input(Input::Approve { call: CallId::new("call-0"), answer })]);
}

#[test]
fn ctrl_c_rejects_the_question_and_stops() {
    let mut stage = stage();
    stage.turn().asked(Class::Shell, "ls").take(Msg::Drawn).wait(100).key_now("ctrl+c");
    let answer = Approval::Reject { reason: None };
    let call = CallId::new("call-0");
    assert_eq!(
        stage.effects(),
        [Effect::Input(Input::Approve { call, answer }), Effect::Input(Input::Cancel(CancelCause::User))]
    );
}

#[test]
fn completion_opens_filters_and_runs() {
    let mut stage = stage();
    stage.typed("/mo");
    let last = format!("{:<58}2 of 3 · Tab · ⏎ runs", "  /mode          about it");
    assert_eq!(stage.screen(), ["", "› /mo", "  /model [NAME]  about it", &last].join("\n"));
    stage.key("down").key("enter");
    assert_eq!(stage.effects(), [Effect::Command("/mode".into())]);
    stage.typed("/mod").key("tab");
    assert_eq!(stage.text(), "/model ");
    assert!(matches!(
        stage.effects().as_slice(),
        [Effect::Find(FindRequest::Argument { command: "/model", .. })]
    ));
    stage.key("esc");
    assert_eq!(stage.text(), "/model ", "Esc keeps the text");
}

#[test]
fn fast_keys_are_a_paste_where_nobody_brackets_it() {
    let mut stage = stage();
    stage.state.options.brackets_pastes = false;
    stage.key_now("a").key_now("b").key_now("enter").key_now("c");
    assert_eq!((stage.text().as_str(), stage.effects()), ("ab\nc", none()));
    stage.key("enter");
    assert_eq!(stage.effects(), [Effect::Prompt("ab\nc".into())]);
}

/// A long paste that nobody brackets comes in pieces; what ends a line right behind a gap is still of it. After a pause Enter sends.
#[test]
fn a_long_paste_has_gaps() {
    let mut stage = stage();
    stage.state.options.brackets_pastes = false;
    let keys = |stage: &mut Stage, count: usize| {
        (0..count).for_each(|_| {
            stage.key_now("x");
        });
    };
    keys(&mut stage, 300);
    stage.now += Duration::from_millis(50);
    stage.key_now("enter").key_now("y");
    assert_eq!(stage.effects(), none());
    stage.now += Duration::from_millis(70);
    stage.key_now("enter");
    let text = format!("{}\ny", "x".repeat(300));
    assert_eq!(stage.effects(), [Effect::Prompt(text.as_str().into())]);
    // A short one has none.
    keys(&mut stage, 20);
    stage.now += Duration::from_millis(50);
    stage.key_now("enter");
    assert_eq!(stage.effects(), [Effect::Prompt("x".repeat(20).as_str().into())]);
}

#[test]
fn the_mode_is_one_key_away() {
    let mut stage = stage();
    stage.key("shift+tab");
    assert_eq!(stage.effects(), [Effect::SetMode("default".into())]);
}

#[test]
fn nothing_moves_while_idle() {
    let mut stage = stage();
    stage.wait(1000);
    assert_eq!(next_tick(&stage.state), None);
    stage.turn();
    assert_eq!(next_tick(&stage.state), Some(Duration::from_millis(11_250)));
}

/// UI-36: whatever is pressed in whichever order, in turns, questions, reasons, searches and lists, no character is lost: it is in what was sent, in
/// the queue, the composer or the history. A key that answers, opens or closes something is none.
#[test]
fn no_key_is_lost() {
    let mut random = 7u64;
    let mut next = |most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    for round in 0..600 {
        let mut stage = stage();
        let mut typed = String::new();
        for step in 0..40 {
            match next(20) {
                0 => _ = stage.turn(),
                1 => _ = stage.asked(Class::Shell, "ls").take(Msg::Drawn),
                2 => _ = stage.over(Outcome::Completed(StopReason::EndTurn)),
                3 => _ = stage.over(Outcome::Cancelled(CancelCause::User)),
                4 => _ = stage.key_now("esc"),
                5 => _ = stage.key_now("enter"),
                6 => _ = stage.key_now("ctrl+c"),
                7 => _ = stage.key_now("up"),
                8 => _ = stage.key_now("down"),
                9 => _ = stage.key_now("ctrl+enter"),
                // A reason is begun with what was typed put aside.
                10 => {
                    if stage.state.questions.front().is_some_and(|asked| asked.because.is_none()) {
                        stage.key_now("tab");
                        if stage.state.questions[0].entered {
                            stage.key_now("w");
                        }
                    }
                }
                11 => _ = stage.key_now("alt+m"),
                _ => {
                    // Within the guard of any question; each is there once.
                    stage.now += Duration::from_millis(next(60));
                    if let Some(asked) = stage.state.questions.front_mut() {
                        asked.entered = false;
                    }
                    let c = char::from_u32(0x4e00 + step).unwrap();
                    typed.push(c);
                    stage.key_now(&c.to_string());
                }
            }
        }
        let mut kept = stage.text();
        for effect in stage.effects() {
            match effect {
                Effect::Prompt(prompt) => kept.push_str(&prompt.text),
                Effect::Command(line) => kept.push_str(&line),
                Effect::Input(Input::Steer(text)) => kept.push_str(&text),
                Effect::Input(Input::Approve { answer: Approval::Reject { reason }, .. }) => {
                    kept.push_str(&reason.unwrap_or_default());
                }
                Effect::Input(Input::Approve { answer: Approval::Allow, .. }) => {
                    panic!("answered by accident")
                }
                _ => {}
            }
        }
        let state = &stage.state;
        kept.extend(state.queue.items.iter().map(|prompt| prompt.text.as_str()));
        kept.extend(state.questions.iter().filter_map(|asked| asked.because.as_deref()));
        kept.extend(state.put_by.iter().map(|buffer| buffer.text()));
        kept.extend(state.composer.history.search(""));
        kept.push_str(state.composer.history.draft());
        for c in typed.chars() {
            assert!(kept.contains(c), "round {round}: {c} of {typed:?} is not in {kept:?}");
        }
    }
}

#[test]
fn screens() {
    let mut stage = stage();
    stage.turn().typed("also run the tests").key("enter").typed("and look at util.py").wait(400);
    let typed = format!("{:<40}Enter queues · Tab sends into this turn", "› and look at util.py");
    let wanted = [
        "",
        "✷ Waiting for opus-5-5 3s · Esc stops",
        "⏎ queued: also run the tests · ↑ edits",
        &typed,
        "  opus-5-5 · YOLO · $0.00 · ~/proj",
    ];
    assert_eq!(stage.screen(), wanted.join("\n"));
    stage.state.size = Size { rows: 24, columns: 40 };
    let wanted = [
        "",
        "✷ Waiting for opus-5-5 3s · Esc",
        "⏎ queued: also run the tes… · ↑ edits",
        "› and look at util.py",
        "  YOLO · $0.00",
    ];
    assert_eq!(stage.screen(), wanted.join("\n"));
    stage.state.size = Size { rows: 4, columns: 18 };
    assert_eq!(stage.screen(), ["› and look at", "  util.py", "  YOLO · $0.00"].join("\n"));
}

/// A long text that comes key by key, from a terminal that does not bracket pastes: what a key costs does not grow with what was
/// typed before it.
#[test]
fn a_long_paste_key_by_key() {
    for start in ["", "/", "@"] {
        let mut stage = stage();
        stage.state.options.brackets_pastes = false;
        let text: String = (0..50_000)
            .map(|n| match n % 1_000 {
                999 => '\n',
                n if n % 7 == 6 => ' ',
                _ => 'x',
            })
            .collect();
        let word = "y".repeat(50_000);
        let began = stage.now;
        for c in start.chars().chain(word.chars()).chain(text.chars()) {
            stage.now += Duration::from_micros(10);
            let key = if c == '\n' { "enter".to_owned() } else { c.to_string() };
            stage.key_now(if c == ' ' { "space" } else { &key });
        }
        let buffer = &stage.state.composer.buffer;
        assert_eq!(buffer.text(), format!("{start}{word}{text}"));
        assert!(buffer.raw().len() <= LONG, "what is laid out with every frame stays short");
        assert_eq!(buffer.kept_for_undo(), 0, "nothing was taken out");
        let due = (stage.now - began).as_millis() / KEEP_AFTER.as_millis() + 1;
        let made = stage.state.draft.made.get();
        assert!(u128::from(made) <= due, "the draft was put together {made} times, {due} are due");
        let asked = stage.effects.iter().filter(|effect| matches!(effect, Effect::Find(_))).count();
        assert!(asked <= 5_000, "{start}: {asked} searches for what is no name of a file any more");
        stage.wait(1000);
        assert_eq!(stage.state.draft.kept.text, format!("{start}{word}{text}"));
        assert_eq!(stage.state.composer.buffer.raw().chars().count(), 1, "it is one piece, as any paste is");
        stage.key("ctrl+_");
        assert_eq!(stage.text(), "", "and taken back as one");
    }
}

/// SAF-1, SAF-4: a key that is held opens the whole text, and approves nothing however long it is held.
#[test]
fn a_held_key_approves_nothing() {
    let mut stage = stage();
    stage.turn().asked(Class::ShellUnknown, "eval $X").take(Msg::Drawn).wait(5000).key_now("y");
    for _ in 0..100 {
        stage.wait(30).key_now("y");
    }
    assert_eq!(stage.effects(), none());
    stage.wait(700).key_now("y");
    assert_eq!(stage.effects(), [approved("call-0")]);
}

/// UI-36: the draft that stepped aside for a reason is back when nobody has to answer any more, and the reason is an older message.
#[test]
fn a_question_that_goes_gives_the_draft_back() {
    let begun = |stage: &mut Stage| {
        stage.turn().typed("later").asked(Class::Shell, "ls").take(Msg::Drawn).wait(1000).key_now("tab");
        stage.key("w").typed("use rg");
    };
    let mut stage = stage();
    begun(&mut stage);
    stage.key("ctrl+c");
    assert_eq!(stage.text(), "later");
    stage.key("up");
    assert_eq!(stage.text(), "use rg");
    let mut stage = self::stage();
    begun(&mut stage);
    stage.over(Outcome::Cancelled(CancelCause::Terminate));
    assert_eq!(stage.text(), "later");
}

/// CMD-1: what can be done at once is done at once in a turn, by every name it has; what does not exist is said, and what looks like a path is text.
#[test]
fn commands_in_a_turn() {
    let mut stage = stage();
    let exit = CommandInfo { name: "/exit", aliases: &["/quit"], ..CommandInfo::NOTHING };
    let own = CommandInfo { name: "/mine", waits: true, brought: true, ..CommandInfo::NOTHING };
    let rerun = Some(crate::commands::ScreenCommand::Rerun);
    let rerun = CommandInfo { name: "/rerun", waits: true, own: rerun, ..CommandInfo::NOTHING };
    stage.state.options.commands.extend([exit, own, rerun]);
    for (line, runs) in [
        ("/exit", true),
        ("/quit", true),
        ("/QUIT", true),
        ("/nonsense", true),
        ("/recap", false),
        ("/rerun 1", false),
        ("/mine x", false),
        ("/usr/bin/x is odd", false),
        ("//exit", false),
    ] {
        stage.state.queue.items.clear();
        stage.turn().typed(line).key("esc").key("enter");
        let sent = stage.effects().contains(&Effect::Command(line.to_owned()));
        assert_eq!((sent, stage.state.queue.items.len()), (runs, usize::from(!runs)), "{line}");
        stage.state.turn = None;
    }
    stage.turn().typed(":q").key("enter");
    assert_eq!(stage.effects(), [Effect::Input(Input::Cancel(CancelCause::User)), Effect::Leave]);
}

/// An image goes along with a prompt that begins with a path, and with a command that somebody brought along.
#[test]
fn an_image_goes_along_with_what_begins_with_a_slash() {
    let png =
        b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00\x01\
        \x08\x02\x00\x00\x00\x90\x77\x53\xde\x00\x00\x00\x0c\x49\x44\x41\x54\x78\x9c\x63\x60\x60\x60\x00\
        \x00\x00\x04\x00\x01\xf6\x17\x38\x55\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";
    for line in ["/tmp/x.rs what is wrong", "/mine it"] {
        let mut stage = stage();
        let own = CommandInfo { name: "/mine", waits: true, brought: true, ..CommandInfo::NOTHING };
        stage.state.options.commands.push(own);
        stage.typed(line).key("esc");
        stage.state.composer.attach(Image::parse(png.to_vec()).unwrap());
        stage.key("enter");
        let effects = stage.effects();
        let [Effect::Prompt(prompt)] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!((prompt.text.as_str(), prompt.images.len()), (line, 1));
    }
}

/// `?` on nothing lists keys until the next one; in a text, and in what comes as fast as a paste, it is itself.
#[test]
fn a_question_mark_lists_keys() {
    let mut stage = stage();
    stage.key("?");
    assert!(stage.screen().contains("another line"), "{}", stage.screen());
    stage.key("h");
    assert_eq!((stage.text().as_str(), stage.state.shortcuts), ("h", false));
    stage.key("?");
    assert_eq!(stage.text(), "h?");
    stage.key("ctrl+u").key("?").key("?");
    assert_eq!((stage.text().as_str(), stage.state.shortcuts), ("", false));
    stage.key("?").key_now("x");
    assert_eq!(stage.text(), "?x");
}

/// TRN-4, STA-1: a request that is sent again has one row that says when, which time, and why.
#[test]
fn a_retry_says_why() {
    use zori_core::event::{EventKind, MessageEvent};
    use zori_core::failure::{FailureKind, ProviderFailure};
    let mut stage = stage();
    stage.turn();
    let failure = ProviderFailure::new(FailureKind::HttpStatus, "HTTP 429: Too many requests\nat all");
    let retrying = MessageEvent::Retrying { attempt: 2, max: 4, delay: Duration::from_secs(4), failure };
    let event = Event {
        seq: 0,
        at: Timestamp(0),
        session: SessionId::parse("s").unwrap(),
        agent: AgentId::MAIN,
        parent: None,
        kind: EventKind::Message(retrying),
    };
    stage.take(Msg::Event(&event));
    let screen = stage.screen();
    let row = screen.lines().find(|row| row.contains("Retrying")).unwrap();
    assert_eq!(row, "✶ Retrying in 4s (2/4) · HTTP 429: Too many requests · Esc stops");
}

/// UI-9: Enter begins another line, an empty one sends all of them as words, and Esc gives Enter its old meaning.
#[test]
fn several_lines() {
    let mut stage = stage();
    stage.state.begin_lines("/first");
    stage.typed("second").key("enter").key("enter");
    assert_eq!(stage.effects(), [Effect::Prompt("/first\nsecond".into())]);
    assert!(!stage.state.several_lines && stage.text().is_empty());
    stage.state.begin_lines("");
    stage.key("enter");
    assert_eq!((stage.effects(), stage.state.several_lines), (vec![], false));
    stage.state.begin_lines("");
    stage.typed("a").key("enter").typed("b").key("esc");
    assert_eq!((stage.text().as_str(), stage.effects()), ("a\nb", vec![]));
    stage.key("enter");
    assert_eq!(stage.effects(), [Effect::Prompt("a\nb".into())]);
    // In a turn they wait; a line in the middle is no end.
    stage.turn().state.begin_lines("");
    stage.typed("x").key("enter").typed("y").key("up").key("enter").key("down").key("end").key("enter");
    assert_eq!(stage.text(), "x\n\ny\n");
    stage.key("enter");
    assert_eq!((stage.effects(), stage.state.queue.items.len()), (vec![], 1));
    // Whoever puts it away is done with it.
    let mut stage = self::stage();
    stage.state.begin_lines("z");
    stage.key("ctrl+c");
    assert!(!stage.state.several_lines && stage.text().is_empty());
}

/// KEY-3: Ctrl-C twice on nothing leaves, within two seconds and with no key between.
#[test]
fn control_c_twice() {
    for (between, leaves) in
        [(0, true), (50, true), (500, true), (1_999, true), (2_000, false), (2_500, false)]
    {
        let mut stage = stage();
        stage.wait(1000).key_now("ctrl+c");
        assert_eq!(stage.state.hint.as_ref().map(|hint| hint.text.as_str()), Some("Ctrl-C again leaves"));
        stage.wait(between).key_now("ctrl+c");
        let wanted = if leaves { vec![Effect::Leave] } else { none() };
        assert_eq!(stage.effects(), wanted, "{between} ms");
    }
    for key in ["x", "left", "esc", "ctrl+o", "ctrl+r", "?"] {
        let mut stage = stage();
        stage.wait(1000).key_now("ctrl+c").wait(100).key_now(key).wait(100).key_now("ctrl+c");
        assert!(!stage.effects().contains(&Effect::Leave), "{key} stands between them");
    }
}

/// KEY-3: a turn is stopped once, given up after three seconds, and only then does one more end the program.
#[test]
fn control_c_in_a_turn() {
    let stop = || Effect::Input(Input::Cancel(CancelCause::User));
    let mut stage = stage();
    stage.turn().wait(1000).key_now("ctrl+c");
    assert_eq!((stage.effects(), stage.state.queue.held), (vec![stop()], true));
    stage.wait(500).key_now("ctrl+c").wait(2_499);
    assert_eq!(stage.effects(), none(), "it has been told");
    stage.wait(1);
    assert_eq!(stage.effects(), [Effect::Abandon]);
    stage.wait(5_000);
    assert_eq!(stage.effects(), none(), "once");
    stage.key_now("ctrl+c");
    assert_eq!(stage.effects(), [Effect::Die]);
}

/// KEY-3: where a turn was given up, Ctrl-C as the next key ends the program; any other key says that it goes on.
#[test]
fn control_c_after_a_turn_was_given_up() {
    let mut stage = stage();
    stage.state.abandoned = true;
    stage.wait(60_000).key_now("ctrl+c");
    assert_eq!(stage.effects(), [Effect::Die]);
    stage.state.abandoned = true;
    stage.wait(50).key_now("x").wait(50).key_now("ctrl+c");
    assert_eq!((stage.effects(), stage.text().as_str()), (none(), ""), "the draft is put away");
}

/// ACC-2: with reduced motion the sign stands still, and seconds change every ten, whatever else is drawn meanwhile.
#[test]
fn reduced_motion() {
    let mut stage = stage();
    stage.state.options.motion = false;
    stage.turn();
    let shown = |stage: &Stage| {
        let turn = stage.state.turn.as_ref().expect("a turn runs");
        crate::status::status(&stage.state, turn, 80).text()
    };
    stage.wait(9_900);
    assert_eq!(shown(&stage), "✶ Waiting for opus-5-5 0s · Esc stops");
    stage.wait(5_000);
    assert_eq!(shown(&stage), "✶ Waiting for opus-5-5 10s · Esc stops");
}

/// A command whose argument is chosen opens its list when it stands alone; where there is nothing in that, the command is run.
#[test]
fn a_command_alone_opens_its_list() {
    let mut stage = stage();
    let chooses = CommandInfo { args: "[TURN]", waits: true, chooses: true, ..CommandInfo::NOTHING };
    stage.state.options.commands.extend([CommandInfo { name: "/rewind", ..chooses }]);
    let asked = |word: &str| {
        Effect::Find(FindRequest::Argument { command: "/rewind", word: word.into(), everywhere: false })
    };
    let item =
        |text: &str| Item { text: text.into(), args: String::new(), about: String::new(), label: None };
    let found = |word: &str, items: Vec<Item>| Msg::Found {
        word: word.into(),
        of: items.len(),
        all: items.len(),
        items,
        pending: false,
    };
    stage.typed("/rewind").key("enter");
    assert_eq!((stage.effects(), stage.text().as_str()), (vec![asked("")], "/rewind "));
    stage.take(found("", vec![item("2 "), item("1")]));
    // Half of an argument asks for the other half, a whole one is run.
    stage.key("enter");
    assert_eq!((stage.effects(), stage.text().as_str()), (vec![asked("2 ")], "/rewind 2 "));
    stage.take(found("2 ", vec![item("2 both"), item("2 chat")])).key("down").key("enter");
    assert_eq!(stage.effects(), [Effect::Command("/rewind 2 chat".into())]);
    stage.typed("/REWIND").key("enter");
    stage.take(found("", Vec::new()));
    assert_eq!(
        (stage.effects(), stage.text()),
        (vec![asked(""), Effect::Command("/rewind".into())], String::new())
    );
    // Whoever typed the blank goes on typing.
    stage.typed("/rewind ");
    stage.effects();
    stage.take(found("", Vec::new()));
    assert_eq!((stage.effects(), stage.text().as_str()), (none(), "/rewind "));
    // In a turn it waits, and its list opens when that is over.
    stage.key("ctrl+u").turn().typed("/rewind").key("enter");
    assert_eq!((stage.effects(), stage.state.queue.items.len()), (none(), 1));
    stage.over(Outcome::Completed(StopReason::EndTurn));
    assert_eq!((stage.effects(), stage.text().as_str()), (vec![asked("")], "/rewind "));
}

/// A question of the chat itself is told in the title as one about a call is (STA-3).
#[test]
fn the_title_says_that_something_is_asked() {
    let mut stage = stage();
    assert_eq!(stage.state.title(), "~/proj – zori");
    stage.take(Msg::Confirm(Confirm::new(What::Loop, "Continue? [y/N]".into())));
    assert_eq!(stage.state.title(), "? ~/proj – zori");
    stage.turn().state.confirm = None;
    assert_eq!(stage.state.title(), "✶ ~/proj – zori");
}

/// A question of the chat itself is not answered where there is no room for it; what is typed is text.
#[test]
fn no_answer_to_what_nobody_sees() {
    for (rows, columns, answers) in [(24, 80, true), (4, 80, false), (24, 19, false)] {
        let mut stage = stage();
        stage.take(Msg::Confirm(Confirm::new(What::Undo, "Go ahead? [y/N]".into()))).take(Msg::Drawn);
        stage.take(Msg::Resized(Size { rows, columns })).key("y");
        assert_eq!(
            (!stage.effects().is_empty(), stage.text().is_empty()),
            (answers, answers),
            "{rows}x{columns}"
        );
    }
}

/// TRN-6: a file that was written as it was is not among those that changed.
#[test]
fn a_file_that_is_as_it_was_is_not_changed() {
    let changed = |before: &str| {
        let mut output = zori_core::tool::ToolOutput::success("{}");
        output.changes.push(zori_core::tool::FileChange {
            path: "a".into(),
            before: Some(before.into()),
            after: Some("x\n".into()),
        });
        let finished = zori_core::event::ToolFinished {
            call: CallId::new("c1"),
            name: "write".into(),
            kind: None,
            output,
            duration: None,
        };
        let event = Event {
            seq: 0,
            at: Timestamp(0),
            session: SessionId::parse("s").unwrap(),
            agent: AgentId::MAIN,
            parent: None,
            kind: zori_core::event::ToolEvent::ToolFinished(finished).into(),
        };
        let mut stage = stage();
        stage.turn().take(Msg::Event(&event)).over(Outcome::Completed(StopReason::EndTurn));
        stage.state.transcript.drain(80).iter().map(|commit| commit.row.text()).collect::<Vec<_>>()
    };
    assert_eq!((changed("x\n"), changed("y\n")), (Vec::new(), vec!["✓ 0.0s · 1 file +1 -1".to_owned()]));
}

/// KEY-5: a stop says how many files were changed until then.
#[test]
fn a_stop_says_what_was_changed() {
    let mut stage = stage();
    stage.turn();
    stage.state.turn.as_mut().expect("a turn runs").files_changed = vec!["a".into(), "b".into()];
    stage.wait(12_000).over(Outcome::Cancelled(CancelCause::User));
    let rows = stage.state.transcript.drain(80).iter().map(|commit| commit.row.text()).collect::<Vec<_>>();
    assert_eq!(rows, ["■ Stopped after 12s · 2 files changed"]);
}

/// A list of models opens at the one that holds, so that Enter changes nothing; what is typed finds the best one.
#[test]
fn the_list_of_models_opens_at_the_present_one() {
    let mut stage = stage();
    let item =
        |text: &str| Item { text: text.into(), args: String::new(), about: String::new(), label: None };
    let items = || ["fable-5", "opus-5-5", "opus-4"].map(item).to_vec();
    let found = |word: &str| Msg::Found { word: word.into(), items: items(), of: 3, all: 3, pending: false };
    stage.key("alt+m").take(found("")).key("enter");
    assert_eq!(stage.effects().last(), Some(&Effect::Command("/model opus-5-5".into())));
    stage.key("alt+m").typed("5").take(found("5")).key("enter");
    assert_eq!(stage.effects().last(), Some(&Effect::Command("/model fable-5".into())));
}

/// SAF-4, SAF-5: in whatever window, with whatever beside it, a key says yes only to a text that is in sight, and gives only a grant that is.
#[test]
fn what_is_agreed_to_is_in_sight() {
    let command = "rm -rf build && git push origin main";
    let grant = |words: &str, rule: &str| Grant {
        rules: vec![rule.to_owned()],
        words: words.to_owned(),
        scope: zori_core::question::GrantScope::Call,
        past: 0,
    };
    let grants = vec![
        grant("this text", "Bash(rm -rf build && git push origin main)"),
        grant("any push", "Bash(rm -rf build), Bash(git push:*), Edit(//home/me/proj/**)"),
    ];
    let (mut at_once, mut granted) = (0, 0);
    for rows in 2..40 {
        for columns in [10, 19, 20, 30, 40, 59, 60, 100] {
            for (draft, waiting) in [("", 0), ("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk", 0), ("x", 5)] {
                for key in ["y", "1", "2"] {
                    let mut stage = stage();
                    stage.take(Msg::Resized(Size { rows, columns })).turn();
                    stage.state.queue.items = (0..waiting).map(|_| "later".into()).collect();
                    stage.asked(Class::Shell, command);
                    let asked = stage.state.questions.front_mut().expect("it was asked");
                    asked.question =
                        Arc::new(Question { grants: grants.clone(), ..(*asked.question).clone() });
                    stage.take(Msg::Term(TermEvent::Paste(draft.into()))).take(Msg::Drawn).wait(2000);
                    if !draft.is_empty() {
                        stage.key("tab");
                    }
                    let screen = stage.screen();
                    assert!(
                        chat::view(&stage.state).rows.len() < usize::from(rows),
                        "{rows}x{columns}:\n{screen}"
                    );
                    let shown: String = screen.split_whitespace().collect();
                    stage.effects();
                    stage.key(key);
                    let answered = !stage.effects().is_empty();
                    let wanted: String = command.split_whitespace().collect();
                    let whole = shown.contains(&wanted) && shown.contains("?bashwantsto");
                    let rule = grants.get(if key == "2" { 1 } else { 0 }).expect("there are two");
                    let rule: String = rule.rules[0].split_whitespace().collect();
                    let in_sight = whole && (key == "y" || shown.contains(&rule));
                    assert!(in_sight || !answered, "{key} at {rows}x{columns} with {draft:?}:\n{screen}");
                    assert!(answered || stage.state.pager.is_some(), "{key} at {rows}x{columns}:\n{screen}");
                    at_once += usize::from(answered && key == "y");
                    granted += usize::from(answered && key != "y");
                }
            }
        }
    }
    assert!(at_once > 300 && granted > 200, "most windows show what there is: {at_once}, {granted}");
}

/// KEY-5: what is held goes out by Enter alone, not behind another prompt; whoever queues more lets it go on, and so does who sends a prompt again that
/// failed.
#[test]
fn what_is_held_stays_held() {
    let stopped = || {
        let mut stage = stage();
        stage.turn().typed("one").key("enter").key("esc").over(Outcome::Cancelled(CancelCause::User));
        stage.key("ctrl+c").effects();
        stage
    };
    let mut stage = stopped();
    stage.typed("another").key("enter").turn().over(Outcome::Completed(StopReason::EndTurn));
    assert_eq!(stage.effects(), [Effect::Prompt("another".into())]);
    assert!(stage.screen().contains("⏎ held: one · Enter sends · ↑ edits"), "{}", stage.screen());
    stage.key("enter");
    assert_eq!(stage.effects(), [Effect::Prompt("one".into())]);

    let mut stage = stopped();
    stage.turn().typed("two").key("enter");
    assert!(stage.screen().contains("⏎ queued: one\n⏎ queued: two"), "{}", stage.screen());
    stage.over(Outcome::Completed(StopReason::EndTurn));
    assert_eq!(stage.effects(), [Effect::Prompt("one".into())]);

    let mut stage = stopped();
    stage.turn().key("enter").over(Outcome::Completed(StopReason::EndTurn));
    assert_eq!(stage.effects(), [Effect::Prompt("one".into())], "Enter in a turn");

    let mut stage = self::stage();
    let failed = Outcome::Failed(ProviderFailure::new(FailureKind::ApiError, "later"));
    stage.turn().typed("one").key("enter").over(failed);
    assert!(stage.screen().contains("⏎ held: one"), "{}", stage.screen());
    stage.key("enter").turn().over(Outcome::Completed(StopReason::EndTurn));
    assert_eq!(stage.effects(), [Effect::Prompt("what?".into()), Effect::Prompt("one".into())]);

    // Neither a command of the user's nor another prompt is the one that failed.
    let mut stage = self::stage();
    let failed = Outcome::Failed(ProviderFailure::new(FailureKind::ApiError, "later"));
    stage.turn().typed("one").key("enter").over(failed);
    for other in ["", "another"] {
        stage.take(Msg::TurnBegins(other.into())).over(Outcome::Completed(StopReason::EndTurn));
        assert_eq!(stage.effects(), [], "{other}");
    }
    assert!(stage.screen().contains("⏎ held: one"), "{}", stage.screen());
}

/// A small edit is seen whole beside its grants, and one key says yes; only where that cannot be do the texts stand before a part of the diff.
#[test]
fn a_small_edit_needs_one_key() {
    let mut stage = stage();
    stage.take(Msg::Resized(Size { rows: 30, columns: 100 })).turn().asked(Class::Shell, "");
    let asked = stage.state.questions.front_mut().expect("it was asked");
    let diff = "@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n".to_owned();
    let replaced = Some(Replaced { old: "return a - b".into(), new: "return a + b".into() });
    let file = FileDiff { replaced, ..FileDiff::new("/w/calc.py", FileAction::Change, diff) };
    let grant = |words: &str| Grant {
        rules: vec!["Edit(//w/calc.py)".to_owned()],
        words: words.to_owned(),
        scope: zori_core::question::GrantScope::Call,
        past: 0,
    };
    let grants = vec![grant("this path"), grant("anything here"), grant("more"), grant("all of it")];
    asked.question = Arc::new(Question {
        tool: "edit".into(),
        preview: Preview::Changes(vec![file]),
        grants,
        explanation: vec!["step 1".into()],
    });
    stage.take(Msg::Drawn).wait(2000);
    insta::assert_snapshot!(stage.screen(), @"
    ? edit wants to change files                                    any other shell command · mode yolo
        change /w/calc.py
        @@ -1,2 +1,2 @@
         def add(a, b):
        -    return a - b
        +    return a + b
      asked because: step 11, no rule covers it                                              e explains
      y once · n no · w no, because… · e explain · v whole text
      1 this path, this session       Edit(//w/calc.py)
      2 anything here, this session   Edit(//w/calc.py)
      3 more, this session            Edit(//w/calc.py)
      4 all of it, this session       Edit(//w/calc.py)
    ✶ Asking you · Esc: no
    › 
      opus-5-5 · YOLO · $0.00 · ~/proj
    ");
    stage.key("y");
    assert_eq!(stage.effects(), [approved("call-0")]);
    stage.take(Msg::Resized(Size { rows: 20, columns: 40 })).asked(Class::Shell, "make").take(Msg::Drawn);
    assert!(stage.screen().contains("  y yes · n no · w why · e more · v all"), "{}", stage.screen());
}
