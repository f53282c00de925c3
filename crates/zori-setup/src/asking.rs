//! Questions about calls, and who answers them: a person at the terminal, a program, `-y`, or nobody (DEC-2 to DEC-4,
//! TERM-2).
//!
//! [`PlainPeer`] is asked by the host, and answers beside the turn, on the same thread. What a question looks like is
//! `zori_frontends::question`; how a line is read while a turn runs is `asking/reply.rs`, what a model says of a call `asking/explanation.rs`.

pub mod explanation;
pub mod reply;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zori_core::input::{Approval, Input};
use zori_core::outcome::CancelCause;
use zori_core::permission::Decision;
use zori_core::question::brief::more_lines;
use zori_core::question::{Choice, FormPart, Grant, GrantScope, Preview, Question, Risk};
use zori_core::text::one_line;
use zori_core::usage::Usage;
use zori_frontends::question::{QuestionText, format_question};
use zori_host::{Answers, Peer, PeerRequest, pending_or};
use zori_redact::Redactor;

pub use crate::asking::reply::discard;
use crate::beside::Asker;
use crate::config::added_rule;
use crate::stdin::Client;
use crate::ui::Ui;

/// What is said when calls were denied because nobody could be asked.
pub const WAYS_OUT: &str = "Hint: nobody could be asked; `--allow RULE` lets such calls run, `-y` answers yes, \
     `--permission-mode MODE` asks less, and the chat asks you";

/// The peer of `exec`, the chat, `--json` and the demo: a person at the terminal, a program on standard input, or nobody.
pub struct PlainPeer {
    answers: Answers,
    person: Person,
    /// The program on standard input, where one speaks there.
    client: Option<Client>,
    /// What a person is asked right now.
    asking: Option<Pin<Box<dyn Future<Output = Input>>>>,
    /// What is answered already.
    answered: VecDeque<Input>,
}

impl PlainPeer {
    /// `rules`: the user's config file, for rules that hold later too; `None` where such rules do not count.
    pub fn new(answers: Answers, redactor: Redactor, rules: Option<PathBuf>, client: Option<Client>) -> Self {
        let person = Person { redactor, rules, asker: None, used: Arc::default() };
        Self { answers, person, client, asking: None, answered: VecDeque::new() }
    }

    /// Returns the program on standard input.
    pub fn client(&mut self) -> Option<&mut Client> {
        self.client.as_mut()
    }

    /// Takes note of who can explain the calls of a turn.
    pub fn turn_begins(&mut self, asker: Asker) {
        self.person.asker = Some(asker);
    }

    /// Puts away what a turn left unanswered; returns what the explanations of its calls have used.
    pub fn turn_over(&mut self) -> Vec<Usage> {
        self.asking = None;
        self.answered.clear();
        if let Some(client) = &mut self.client {
            client.turn_over();
        }
        std::mem::take(&mut *self.person.used())
    }
}

impl Peer for PlainPeer {
    fn ask(&mut self, request: PeerRequest) {
        let PeerRequest::Approval { call, decision, question, .. } = request;
        match (self.answers, &mut self.client) {
            (Answers::Client, Some(client)) => client.ask(call, &question.preview),
            (Answers::Person, _) => {
                let person = self.person.clone();
                self.asking = Some(Box::pin(async move {
                    match person.ask(&decision, &question).await {
                        Some(answer) => Input::Approve { call, answer },
                        None => Input::Cancel(CancelCause::User),
                    }
                }));
            }
            (Answers::Nobody | Answers::Yes | Answers::Client, _) => {
                let why = "nobody answers in this run".to_owned();
                self.answered.push_back(Input::Approve { call, answer: Approval::Unavailable { why } });
            }
        }
    }

    async fn next(&mut self) -> Input {
        if let Some(input) = self.answered.pop_front() {
            return input;
        }
        let Self { asking, client, .. } = self;
        let input = tokio::select! {
            input = pending_or(asking) => input,
            input = client_input(client) => return input,
        };
        self.asking = None;
        input
    }
}

async fn client_input(client: &mut Option<Client>) -> Input {
    match client {
        Some(client) => client.input().await,
        None => std::future::pending().await,
    }
}

/// The person at the terminal.
#[derive(Clone)]
struct Person {
    redactor: Redactor,
    rules: Option<PathBuf>,
    /// Who explains a call, beside the rules.
    asker: Option<Asker>,
    /// What that used.
    used: Arc<Mutex<Vec<Usage>>>,
}

impl Person {
    fn used(&self) -> MutexGuard<'_, Vec<Usage>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what could go wrong and how the decision to ask came about, and then what a model says of the call (APR-5).
    async fn explain(&self, decision: &Decision, question: &Question, ui: &mut Ui) {
        ui.say(&format!("  {}", Risk::of(&question.preview, decision)));
        question.explanation.iter().for_each(|line| ui.say(line));
        let Some(asker) = &self.asker else { return };
        ui.say("  the model is asked ...");
        let said = explanation::ask(asker, question, ()).await;
        self.used().push(said.usage);
        match said.answer {
            Ok(words) => ui.say(&format!("  the model says: {}", one_line(&self.redactor.redact(&words)))),
            Err(why) => {
                ui.say(&format!("  the model does not explain it: {}", one_line(&self.redactor.redact(&why))))
            }
        }
        discard();
    }

    /// Asks. `None` means that they want the turn to end.
    async fn ask(&self, decision: &Decision, question: &Question) -> Option<Approval> {
        let mut ui = Ui::redacted(&self.redactor);
        if let Preview::Choices(choices) = &question.preview {
            return self.put(choices, &mut ui).await;
        }
        let QuestionText { head, shown, mut hidden } = format_question(question, decision, &self.redactor);
        ui.say(&format!("? {head}"));
        shown.iter().for_each(|line| ui.say_redacted(line));
        // What was typed before the question could be read is no answer to it.
        discard();
        loop {
            if !hidden.is_empty() {
                ui.say(&format!("  {}; `v` shows them, and `a` counts only then", more_lines(hidden.len())));
            }
            for line in choices(question, hidden.len(), self.rules.as_deref()) {
                ui.say_redacted(&self.redactor.redact_words(&line));
            }
            ui.raw("[A]pprove / [R]eject / [E]xplain? ");
            match understand(&reply::next().await?, question, hidden.len()) {
                Reply::Remember(_) if self.rules.is_none() => {
                    ui.say("there is no config file it could go to")
                }
                Reply::Remember(index) => {
                    self.remember(&question.grants[index], &mut ui);
                    return Some(Approval::Grant(index));
                }
                Reply::Answer(answer) => return Some(answer),
                Reply::Explain => self.explain(decision, question, &mut ui).await,
                Reply::View => hidden.drain(..).for_each(|line| ui.say_redacted(&line)),
                Reply::Unclear(why) => ui.say(&why),
            }
        }
    }

    /// Puts the model's questions to them, one after another. `None` means that they want the turn to end.
    async fn put(&self, choices: &[Choice], ui: &mut Ui) -> Option<Approval> {
        let mut answers = Vec::new();
        for choice in choices {
            match (&choice.form, choice.header.as_deref()) {
                // Its text says who asks.
                (Some(_), _) => {}
                (None, header) => ui.say(&format!("? {}", header.unwrap_or("The model asks"))),
            }
            zori_frontends::question::asked(choice, &self.redactor).iter().for_each(|line| ui.say(line));
            discard();
            let numbers = match (choice.options.len(), choice.multiple) {
                (0, _) => "",
                (_, false) => "a number, or ",
                (_, true) => "numbers, or ",
            };
            ui.raw(&match &choice.form {
                Some(FormPart::End) => "Your answer (a number; Enter alone sends nothing): ".to_owned(),
                Some(FormPart::Field(_)) if choice.options.is_empty() => {
                    "Your answer (Enter alone leaves it as it is): ".to_owned()
                }
                Some(FormPart::Field(_)) => {
                    format!("Your answer ({numbers}Enter alone leaves it as it is): ")
                }
                None => format!("Your answer ({numbers}your own words; Enter alone for none): "),
            });
            let line = reply::next().await?;
            answers.push(line.trim().to_owned());
        }
        Some(match answers.iter().all(String::is_empty) {
            true => Approval::Reject { reason: None },
            false => Approval::answers(answers),
        })
    }

    /// Writes the rules down for later sessions (DEC-2). They hold in this one whether or not that works.
    fn remember(&self, grant: &Grant, ui: &mut Ui) {
        let Some(file) = &self.rules else { return };
        let file_name = one_line(&file.display().to_string()).into_owned();
        for rule in &grant.rules {
            match added_rule::add(file, rule) {
                Ok(()) => ui.say(&format!("Added to {file_name}: {}", one_line(rule))),
                Err(why) => {
                    ui.warn(&format!("{file_name} was not changed: {why}; the rule holds in this session"))
                }
            }
        }
    }
}

/// What a person's line means.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Answer(Approval),
    /// This grant, and in later sessions too.
    Remember(usize),
    Explain,
    View,
    Unclear(String),
}

/// The answers that are possible; the rules of each grant have a line of their own, because they have to be read.
fn choices(question: &Question, hidden: usize, rules: Option<&Path>) -> Vec<String> {
    let grant = |(number, grant): (usize, &Grant)| {
        let any = if grant.scope == GrantScope::AnyProgram { " (runs any program)" } else { "" };
        format!("  {number}: always in this session: {}{any}{}", one_line(&grant.shown()), grant.covered())
    };
    let grants = (1..).zip(&question.grants).map(grant);
    let later = rules.filter(|_| !question.grants.is_empty()).map(|file| {
        let numbers = (1..=question.grants.len()).map(|number| format!("u{number}"));
        format!(
            "  {}: the same, and in later sessions: it goes to {}",
            numbers.collect::<Vec<_>>().join(", "),
            one_line(&file.display().to_string())
        )
    });
    let view = if hidden > 0 { "; v: view the rest" } else { "" };
    let others = format!("  a or y: yes, once; r or n: no, or `r WHY` to tell the model; e: explain{view}");
    grants.chain(later).chain([others]).collect()
}

fn understand(line: &str, question: &Question, hidden: usize) -> Reply {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let unclear = |why: &str| Reply::Unclear(why.to_owned());
    let word = word.to_lowercase();
    if let Some((index, later)) = grant_number(&word).filter(|_| rest.trim().is_empty()) {
        return match question.grants.get(index) {
            _ if hidden > 0 => Reply::Unclear(format!("{hidden} lines have not been shown; `v` shows them")),
            None if question.grants.is_empty() => unclear("\"always\" is not possible for this call"),
            None => Reply::Unclear(format!("the rules are numbered from 1 to {}", question.grants.len())),
            Some(_) if later => Reply::Remember(index),
            Some(_) => Reply::Answer(Approval::Grant(index)),
        };
    }
    match (word.as_str(), rest.trim()) {
        ("n" | "no" | "r" | "reject", "") => Reply::Answer(Approval::Reject { reason: None }),
        ("n" | "no" | "r" | "reject", reason) => {
            Reply::Answer(Approval::Reject { reason: Some(reason.to_owned()) })
        }
        ("a" | "approve" | "y" | "yes", "") if hidden > 0 => {
            Reply::Unclear(format!("{hidden} lines have not been shown; `v` shows them"))
        }
        ("a" | "approve" | "y" | "yes", "") => Reply::Answer(Approval::Allow),
        ("e" | "explain", "") => Reply::Explain,
        ("v" | "view", "") if hidden > 0 => Reply::View,
        ("v" | "view", "") => unclear("everything has been shown"),
        _ => unclear("that is none of the answers"),
    }
}

/// Reads `2` as the second grant, `u2` as the second for later sessions too; `always` and `u` are the first.
fn grant_number(word: &str) -> Option<(usize, bool)> {
    let (later, number) = match word {
        "always" => (false, "1"),
        "u" | "user" => (true, "1"),
        word => match word.strip_prefix('u') {
            Some(number) => (true, number),
            None => (false, word),
        },
    };
    let digit = number.parse::<usize>().ok().filter(|number| (1..=9).contains(number))?;
    Some((digit - 1, later))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(rules: &[&str]) -> Question {
        let preview = Preview::Input("{}".to_owned());
        let grant = |rule: &&str| Grant {
            rules: vec![(*rule).to_owned()],
            words: String::new(),
            scope: GrantScope::Like,
            past: 0,
        };
        let grants = rules.iter().map(grant).collect();
        Question { tool: "t".to_owned(), preview, grants, explanation: Vec::new() }
    }

    /// Only a plain yes is one, and only to what was shown.
    #[test]
    fn what_answers_mean() {
        let reject =
            |reason: Option<&str>| Reply::Answer(Approval::Reject { reason: reason.map(str::to_owned) });
        let with = question(&["Bash(ls)", "Bash(ls:*)"]);
        for (line, said) in [
            (" n \n", reject(None)),
            ("r\n", reject(None)),
            ("Reject no\n", reject(Some("no"))),
            ("No\n", reject(None)),
            ("n not  here\n", reject(Some("not  here"))),
            ("y\n", Reply::Answer(Approval::Allow)),
            ("YES\n", Reply::Answer(Approval::Allow)),
            ("a\n", Reply::Answer(Approval::Allow)),
            ("Approve\n", Reply::Answer(Approval::Allow)),
            ("always\n", Reply::Answer(Approval::Grant(0))),
            ("1\n", Reply::Answer(Approval::Grant(0))),
            ("2\n", Reply::Answer(Approval::Grant(1))),
            ("u\n", Reply::Remember(0)),
            ("u2\n", Reply::Remember(1)),
            ("e\n", Reply::Explain),
        ] {
            assert_eq!(understand(line, &with, 0), said, "{line}");
        }
        for line in ["", "\n", "yy", "y please", "ja", "a lot", "a2", "v", "3", "u3", "0"] {
            assert!(matches!(understand(line, &with, 0), Reply::Unclear(_)), "{line}");
        }
        for line in ["y", "a", "always", "u", "1", "u2"] {
            let said = Reply::Unclear("7 lines have not been shown; `v` shows them".to_owned());
            assert_eq!(understand(line, &with, 7), said, "{line}");
        }
        assert_eq!(understand("v", &with, 7), Reply::View);
        for line in ["always", "u"] {
            assert!(matches!(understand(line, &question(&[]), 0), Reply::Unclear(_)), "it was not offered");
        }
    }
}
