//! `/plan GOAL` (`docs/contracts/plans.md`): the model looks around and proposes steps, the person says yes, and each step is a turn of its own.
//! How far a plan is stands in the database, so that it can be resumed in another session.
//!
//! The front ends drive it: after each turn they look at [`PlanState`], ask where steps are proposed, and begin the next step where one is due.

mod steps;

use zori_contract::error::{NOT_FOUND, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_core::outcome::Outcome;
use zori_core::text::one_line;
use zori_core::time::Clock as _;
use zori_frontends::jsonl::EventWriter;
use zori_host::{Answers, SystemClock, TurnEnd};
use zori_index::{Plan, PlanStatus, ProjectStore, StepStatus};
use zori_policy::Mode;

use super::Chat;
use super::lines::{Line, Lines};
use super::slash::Next;
use super::supervised::{Answer, answer};
use zori_setup::host_failure::of_mode;
use zori_setup::memory::{place, unusable};

/// How many plans `/plan list` shows.
const LISTED: u32 = 20;

/// Where a chat is with a plan.
#[derive(Debug, Default)]
pub enum PlanState {
    /// No plan is at work.
    #[default]
    Idle,
    /// The turn that runs is to end with the steps.
    Proposing {
        goal: String,
        /// The mode that comes back afterwards.
        mode: String,
    },
    /// Somebody has to say yes to these steps.
    Proposed { goal: String, steps: Vec<String> },
    /// A step of this plan is due.
    Due(Plan),
    /// The turn that runs is this step, counted from 0.
    Running { plan: Plan, at: usize },
}

/// What is asked of `/plan`.
#[derive(Debug, PartialEq, Eq)]
enum Asked<'a> {
    Goal(&'a str),
    List,
    Status(Option<i64>),
    Resume(Option<i64>),
    Cancel(Option<i64>),
}

/// Reads what stands behind `/plan`. A word that is a command here is one only alone or before a number.
fn asked(rest: &str) -> Asked<'_> {
    let mut words = rest.split_whitespace();
    let (word, number, more) = (words.next(), words.next(), words.next());
    let number = match (number.map(str::parse), more) {
        (None, _) => Some(None),
        (Some(Ok(number)), None) => Some(Some(number)),
        _ => None,
    };
    match (word, number) {
        (None, _) => Asked::Status(None),
        (Some("list"), Some(None)) => Asked::List,
        (Some("status"), Some(number)) => Asked::Status(number),
        (Some("resume"), Some(number)) => Asked::Resume(number),
        (Some("cancel"), Some(number)) => Asked::Cancel(number),
        _ => Asked::Goal(rest.trim()),
    }
}

/// Runs `/plan`.
pub(super) fn plan(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    match asked(rest) {
        Asked::Goal(goal) => chat.propose(goal),
        Asked::List => {
            let plans = match chat.read_plans()? {
                Some(store) => store.plans(LISTED).map_err(|error| unusable(&error))?,
                None => Vec::new(),
            };
            if plans.is_empty() {
                chat.cx.ui.say("There are no plans in this project; `/plan GOAL` makes one.");
            }
            plans.iter().for_each(|plan| chat.cx.ui.say(&head(plan)));
            Ok(Next::Done)
        }
        Asked::Status(number) => {
            match (number, chat.wanted_plan(number)) {
                (_, Ok(plan)) => lines(&plan).iter().for_each(|line| chat.cx.ui.say(line)),
                (None, Err(failure)) if failure.kind == &NOT_FOUND => {
                    chat.cx
                        .ui
                        .say("No plan is open; `/plan GOAL` makes one, `/plan list` shows those there were.");
                }
                (_, Err(failure)) => return Err(failure),
            }
            Ok(Next::Done)
        }
        Asked::Resume(number) => {
            let plan = chat.wanted_plan(number)?;
            if plan.status != PlanStatus::Open {
                let message =
                    format!("plan {} is {}; only an open one can be resumed", plan.id, plan.status.as_str());
                return Err(Failure::new(&VALIDATION_ERROR, message));
            }
            chat.plan = PlanState::Due(plan);
            Ok(chat.begin_step()?.map_or(Next::Done, Next::Ask))
        }
        Asked::Cancel(number) => {
            let mut plan = chat.wanted_plan(number)?;
            if plan.status != PlanStatus::Open {
                let message = format!("plan {} is {} already", plan.id, plan.status.as_str());
                return Err(Failure::new(&VALIDATION_ERROR, message));
            }
            plan.status = PlanStatus::Cancelled;
            chat.keep(&plan)?;
            chat.cx.ui.say(&format!("Cancelled plan {}: {}", plan.id, one_line(&plan.goal)));
            Ok(Next::Done)
        }
    }
}

impl Chat<'_, '_> {
    /// Has the model look around and end with steps; it may change nothing meanwhile.
    fn propose(&mut self, goal: &str) -> Result<Next, Failure> {
        self.plans()?;
        let mode = self.plain.session().policy().mode.shown().to_owned();
        self.use_mode(Mode::Plan.as_str())?;
        self.plan = PlanState::Proposing { goal: goal.to_owned(), mode };
        Ok(Next::Ask(steps::question(goal)))
    }

    /// Has a mode hold for this session, without it becoming the one of later ones.
    fn use_mode(&mut self, name: &str) -> Result<(), Failure> {
        let settings = &self.plain.host.settings;
        let (choice, shell) = settings.permission.modes.named("/plan", name).map_err(of_mode)?;
        settings.tools.child_env.set_mode(choice.mode);
        self.plain.session_mut().set_mode(choice, shell);
        Ok(())
    }

    /// Takes note of a turn that is over, if it was one of a plan.
    pub fn plan_turn_over(&mut self, end: &TurnEnd) {
        self.plan_turn_ended(matches!(end.summary.outcome, Outcome::Completed(_)), &end.summary.text);
    }

    /// Takes note of a turn that was given up: its plan stops there, and no later prompt goes on with it.
    pub fn plan_turn_abandoned(&mut self) {
        self.plan_turn_ended(false, "");
    }

    fn plan_turn_ended(&mut self, completed: bool, answer: &str) {
        match std::mem::take(&mut self.plan) {
            PlanState::Proposing { goal, mode } => {
                // Somebody who chose another mode meanwhile meant it.
                if self.plain.session().policy().mode.mode == Mode::Plan
                    && let Err(failure) = self.use_mode(&mode)
                {
                    self.cx.ui.report(&failure);
                }
                let steps = steps::of(answer);
                match (completed, steps.is_empty()) {
                    (false, _) => self.cx.ui.say("There is no plan, since the turn did not come to its end."),
                    (true, true) => self.cx.ui.say("The model named no steps, so there is no plan."),
                    (true, false) => self.plan = PlanState::Proposed { goal, steps },
                }
            }
            PlanState::Running { mut plan, at } => {
                plan.steps[at].status = if completed { StepStatus::Done } else { StepStatus::Failed };
                if completed && plan.next_step().is_none() {
                    plan.status = PlanStatus::Done;
                }
                if let Err(failure) = self.keep(&plan) {
                    self.cx.ui.report(&failure);
                }
                match (completed, plan.status) {
                    (false, _) => self.cx.ui.say(&format!(
                        "Plan {} stopped at step {} of {}: `/plan resume` goes on with it, `/plan cancel` ends it.",
                        plan.id,
                        at + 1,
                        plan.steps.len()
                    )),
                    (true, PlanStatus::Done) => {
                        self.cx.ui.say(&format!("Plan {} is done: {} steps.", plan.id, plan.steps.len()));
                    }
                    (true, _) => self.plan = PlanState::Due(plan),
                }
            }
            other => self.plan = other,
        }
    }

    /// Returns what is asked about proposed steps, and what stands above it; `None` where no steps wait. With `-y` nobody is asked.
    pub fn plan_question(&mut self) -> Option<(Vec<String>, String)> {
        let PlanState::Proposed { steps, .. } = &self.plan else { return None };
        let mut lines: Vec<_> = steps.iter().zip(1..).map(|(step, at)| format!("{at}. {step}")).collect();
        if self.plain.session().policy().mode.mode == Mode::Plan {
            lines
                .push("The mode is plan, in which nothing can be changed; `/mode` takes another.".to_owned());
        }
        let question = match steps.len() {
            1 => "Run this step? [y/N]".to_owned(),
            count => format!("Run these {count} steps? [y/N]"),
        };
        if self.plain.host.settings.permission.answers == Answers::Yes {
            self.answer_plan(true);
            return None;
        }
        Some((lines, question))
    }

    /// Takes the answer to that.
    pub fn answer_plan(&mut self, yes: bool) {
        let PlanState::Proposed { goal, steps } = std::mem::take(&mut self.plan) else { return };
        if !yes {
            return self.cx.ui.say("The plan was dropped.");
        }
        let session = self.plain.session().id().to_string();
        let added = self.plans().and_then(|mut store| {
            store.add_plan(&session, &goal, &steps, now()).map_err(|error| unusable(&error))
        });
        match added {
            Ok(plan) => self.plan = PlanState::Due(plan),
            Err(failure) => _ = self.cx.ui.report(&failure),
        }
    }

    /// Begins the step that is due, if one is; returns its prompt.
    pub fn begin_step(&mut self) -> Result<Option<String>, Failure> {
        let PlanState::Due(mut plan) = std::mem::take(&mut self.plan) else { return Ok(None) };
        let Some(at) = plan.next_step() else { return Ok(None) };
        plan.steps[at].status = StepStatus::Running;
        self.keep(&plan)?;
        self.cx.ui.say(&format!(
            "Step {} of {}: {}",
            at + 1,
            plan.steps.len(),
            one_line(&plan.steps[at].text)
        ));
        let prompt = steps::prompt(&plan, at);
        self.plan = PlanState::Running { plan, at };
        Ok(Some(prompt))
    }

    /// Goes on with a plan after a turn, at the terminal.
    pub(super) fn follow_plan(&mut self, lines: &mut Lines) -> Result<(), Failure> {
        while self.signals.ending().is_none() {
            if let Some((above, question)) = self.plan_question() {
                above.iter().for_each(|line| self.cx.ui.say(line));
                let said = loop {
                    let said = match lines.ask(&question, &self.signals)? {
                        Line::Text(text) => answer(&text),
                        Line::End => Answer::Leave,
                    };
                    if said != Answer::Unclear {
                        break said;
                    }
                };
                self.answer_plan(said == Answer::Continue);
            }
            match self.begin_step() {
                Ok(Some(prompt)) => _ = self.turn(prompt),
                Ok(None) => return Ok(()),
                Err(failure) => {
                    self.cx.ui.report(&failure);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Asks the program behind `--json` about proposed steps. Returns whether it wants the session to end.
    pub(super) fn ask_client_about_plan(&mut self, events: &EventWriter) -> bool {
        let Some((above, question)) = self.plan_question() else { return false };
        // Nobody is asked where questions are not allowed (D-18).
        if self.plain.run.bare {
            self.answer_plan(false);
            return false;
        }
        let question =
            self.cx.app.redactor().redact(&format!("{}\n{question}", above.join("\n"))).into_owned();
        loop {
            let Some(said) = self.ask_client(events, &question) else {
                self.answer_plan(false);
                return true;
            };
            if events.is_closed() {
                return true;
            }
            if said != Answer::Unclear {
                self.answer_plan(said == Answer::Continue);
                return false;
            }
        }
    }

    /// Returns a plan by its number, or the newest open one.
    fn wanted_plan(&self, number: Option<i64>) -> Result<Plan, Failure> {
        let found = match (self.read_plans()?, number) {
            (Some(store), Some(id)) => store.plan(id).map_err(|error| unusable(&error))?,
            (Some(store), None) => store.open_plan().map_err(|error| unusable(&error))?,
            (None, _) => None,
        };
        found.ok_or_else(|| {
            let message = match number {
                Some(id) => format!("there is no plan {id} in this project"),
                None => "no plan is open in this project".to_owned(),
            };
            Failure::new(&NOT_FOUND, message)
                .hint("`/plan list` shows those there are, `/plan GOAL` makes one")
        })
    }

    fn keep(&self, plan: &Plan) -> Result<(), Failure> {
        self.plans()?.keep_plan(plan, now()).map_err(|error| unusable(&error))
    }

    /// Opens the database for writing. A session that is not saved keeps no plan.
    fn plans(&self) -> Result<ProjectStore, Failure> {
        let PlainSessionPlace { base, root, temp } = self.plan_place()?;
        place(base, root, temp).open().map_err(|error| unusable(&error))
    }

    fn read_plans(&self) -> Result<Option<ProjectStore>, Failure> {
        let PlainSessionPlace { base, root, temp } = self.plan_place()?;
        place(base, root, temp).read().map_err(|error| unusable(&error))
    }

    fn plan_place(&self) -> Result<PlainSessionPlace<'_>, Failure> {
        let base = self.plain.run.base.as_ref().filter(|_| self.plain.session().is_saved());
        let base = base.ok_or_else(|| {
            Failure::new(
                &VALIDATION_ERROR,
                "`/plan` keeps its steps with the session, and this one is not saved",
            )
            .hint("start the chat without `--no-save`")
        })?;
        Ok(PlainSessionPlace {
            base,
            root: &self.plain.host.settings.workspace.root,
            temp: self.cx.app.env.temp_dir(),
        })
    }
}

/// What says where the plans of a chat are.
struct PlainSessionPlace<'a> {
    base: &'a zori_setup::data_dir::DataDir,
    root: &'a std::path::Path,
    temp: &'a std::path::Path,
}

fn now() -> i64 {
    SystemClock::new().now().0
}

/// Returns a plan in one line.
fn head(plan: &Plan) -> String {
    let done = plan.steps.iter().filter(|step| step.status == StepStatus::Done).count();
    let (id, status, goal) = (plan.id, plan.status.as_str(), one_line(&plan.goal));
    format!("{id}  {status}, {done} of {} steps done  {goal}", plan.steps.len())
}

/// Returns a plan with its steps.
fn lines(plan: &Plan) -> Vec<String> {
    let step = |(step, at): (&zori_index::Step, u32)| {
        format!("  {at}. {:<7}  {}", step.status.as_str(), one_line(&step.text))
    };
    [head(plan)].into_iter().chain(plan.steps.iter().zip(1..).map(step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_it() {
        for (rest, wanted) in [
            ("", Asked::Status(None)),
            ("list", Asked::List),
            ("status 3", Asked::Status(Some(3))),
            ("resume", Asked::Resume(None)),
            ("cancel 12", Asked::Cancel(Some(12))),
            (" mend the parser ", Asked::Goal("mend the parser")),
            ("list all callers of add()", Asked::Goal("list all callers of add()")),
            ("resume 3 downloads", Asked::Goal("resume 3 downloads")),
            ("cancel orders", Asked::Goal("cancel orders")),
            ("list 3", Asked::Goal("list 3")),
        ] {
            assert_eq!(asked(rest), wanted, "{rest}");
        }
    }
}
