//! What the line chat lets people choose by number (ACC-1): the lists of the screen, printed once, and a line that names one of them.

use zori_contract::failure::Failure;
use zori_core::provider::Effort;
use zori_tui::completion::Item;
use zori_tui::row::{Row, Span};
use zori_tui::wrap;

use super::Chat;
use super::lines::{Line, Lines};
use crate::screen::{self, Sessions};
use zori_setup::data_dir::DataDir;

/// So many are printed; of more the newest or the first are.
const MOST: usize = 20;
/// The widest column of names.
const WIDEST: usize = 48;

/// A command without its argument, and what that can be.
struct Choices {
    command: &'static str,
    items: Vec<Item>,
}

impl Chat<'_, '_> {
    /// Returns the line that is meant by one: itself, or the command in it with what was chosen for it; `None` if nothing was.
    pub(super) fn chosen(&mut self, line: &str, lines: &mut Lines) -> Result<Option<String>, Failure> {
        match self.choices(line) {
            Some(choices) => self.choose(&choices, lines),
            None => Ok(Some(line.to_owned())),
        }
    }

    /// Returns what a line without an argument lets people choose from.
    fn choices(&self, line: &str) -> Option<Choices> {
        self.cells.as_ref()?;
        let is = |name: &str| line.eq_ignore_ascii_case(name);
        let (command, items) = if is("/model") {
            ("/model", self.models())
        } else if is("/resume") {
            ("/resume", self.sessions())
        } else if is("/effort") {
            ("/effort", self.efforts())
        } else if is("/theme") {
            ("/theme", screen::themes(self.plain.run.base.as_ref().map(DataDir::dir)))
        } else {
            return None;
        };
        // Where there is nothing to choose from, the command says why.
        (!items.is_empty()).then_some(Choices { command, items })
    }

    /// Returns the models of this provider: for another one the chat has to be left.
    fn models(&self) -> Vec<Item> {
        let session = self.plain.session();
        let (model, context) = (session.model(), session.context_tokens());
        let here = self.plain.host.settings.model.facts.models;
        let all = screen::models(&self.plain, &self.cx.app.env);
        all.iter().take(here.len()).map(|choice| choice.item(model, context)).collect()
    }

    /// Returns how much the model may think, with what holds now.
    fn efforts(&self) -> Vec<Item> {
        let now = self.plain.host.settings.request.effort.map_or("default", Effort::as_str);
        let mut all = screen::efforts();
        for item in all.iter_mut().filter(|item| item.text == now) {
            item.about = format!("{}   now", item.about).trim_start().to_owned();
        }
        all
    }

    /// Returns the other sessions of this folder, newest first.
    fn sessions(&self) -> Vec<Item> {
        let current = self.plain.session().id().to_string();
        let mut listed = Sessions::of(&self.plain).list(false).items;
        listed.retain(|item| item.text != current);
        listed
    }

    /// Prints what can be chosen, and reads what is.
    fn choose(&mut self, choices: &Choices, lines: &mut Lines) -> Result<Option<String>, Failure> {
        let Choices { command, items } = choices;
        let shown = &items[..items.len().min(MOST)];
        let name = |item: &Item| item.label.as_deref().unwrap_or(&item.text).trim().to_owned();
        let column = shown.iter().map(|item| wrap::width(&name(item))).max().unwrap_or(0).min(WIDEST);
        let wide = self
            .cells
            .as_ref()
            .map_or(usize::MAX, |cells| cells.with(|chat| usize::from(chat.state.size.columns)));
        for (at, item) in shown.iter().enumerate() {
            let name = name(item);
            let gap = " ".repeat(column.saturating_sub(wrap::width(&name)) + 2);
            // What is left of a line that is too long would stand below its number.
            let line = format!("{:>3}  {name}{gap}{}", at + 1, item.about);
            let line = wrap::truncate(&Row::from(Span::new(line.trim_end())), wide);
            self.cx.ui.say(&line.text());
        }
        if items.len() > shown.len() {
            let more = items.len() - shown.len();
            self.cx.ui.say(&format!("     … {more} more: `{command} NAME` takes any of them"));
        }
        let question = format!("Which, 1 to {}? (Enter: none)", shown.len());
        let said = match lines.ask(&question, &self.signals)? {
            Line::Text(text) => text.trim().to_owned(),
            Line::End => String::new(),
        };
        let number = said.trim_start_matches('#').parse::<usize>().ok();
        let chosen = match (said.as_str(), number) {
            ("", _) => None,
            (_, Some(number)) => match number.checked_sub(1).and_then(|at| shown.get(at)) {
                Some(item) => Some(item.text.clone()),
                None => {
                    self.cx.ui.say(&format!("{number} is none of them; nothing was changed."));
                    return Ok(None);
                }
            },
            (name, None) => Some(name.to_owned()),
        };
        match chosen {
            Some(chosen) => Ok(Some(format!("{command} {chosen}"))),
            None => {
                self.cx.ui.say(super::undo::NOTHING_CHANGED);
                Ok(None)
            }
        }
    }
}
