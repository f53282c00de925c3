//! What is being typed, kept and brought back (CMP-10).

use zori_core::event::NoticeLevel;
use zori_core::input::Prompt;
use zori_setup::drafts::KeptDraft;
use zori_tui::state::Draft;

use super::Screen;
use super::outside::Outside;

impl Outside {
    /// Keeps what is typed, so that it is there after the program was killed.
    pub(super) fn keep(&self, draft: &Draft) {
        let Some(drafts) = &self.drafts else { return };
        if draft == &Draft::default() {
            return drafts.forget(&self.session);
        }
        let begun = self.sessions.has(&self.session);
        let kept = KeptDraft {
            draft: draft.text.clone(),
            queue: draft.queue.clone(),
            // Nothing was said yet, so that no session leads to it.
            root: (!begun).then(|| self.root.clone()),
            process: (!begun).then(std::process::id),
        };
        drafts.keep(&self.session, &kept);
    }

    /// Reads what was kept of this session.
    fn kept(&self) -> Draft {
        let kept = self.drafts.as_ref().and_then(|drafts| drafts.read(&self.session));
        kept.map_or_else(Draft::default, as_typed)
    }
}

fn as_typed(kept: KeptDraft) -> Draft {
    Draft { text: kept.draft, queue: kept.queue }
}

impl Screen<'_, '_> {
    /// Brings back what was being typed when the session was last left.
    pub(super) fn restore_draft(&mut self, resumed: bool) {
        let draft = self.outside.kept();
        if !resumed || draft == Draft::default() {
            return;
        }
        self.display.state.draft.kept = draft.clone();
        self.take_draft(draft);
        self.say(NoticeLevel::Info, "What was being typed is back.");
    }

    /// Brings back what was being typed in a chat of this folder that ended before anything was said in it.
    pub(super) fn take_over_draft(&mut self) {
        let outside = &self.outside;
        let Some(kept) = outside.drafts.as_ref().and_then(|drafts| drafts.take_over(&outside.root)) else {
            return;
        };
        let draft = as_typed(kept);
        // It is this chat's from now on.
        self.outside.keep(&draft);
        self.display.state.draft.kept = draft.clone();
        self.take_draft(draft);
        self.say(NoticeLevel::Info, "What was being typed here before is back.");
    }

    pub(super) fn take_draft(&mut self, draft: Draft) {
        self.display.state.composer.set(&draft.text);
        self.display.state.queue.items = draft.queue.iter().map(|text| Prompt::from(text.as_str())).collect();
        self.display.state.queue.held = !draft.queue.is_empty();
        self.display.state.queue.behind_failed = None;
    }
}
