//! What somebody who speaks for the user changes while a session runs: model, effort, permission mode, rules, folders.
//!
//! It holds from the next request or the next decision on. What cannot be done is a notice, and changes nothing.

use zori_core::event::{EventKind, NoticeLevel};
use zori_core::input::{Input, PermissionUpdate};
use zori_core::permission::PlaceKind;
use zori_core::render::Sink;
use zori_core::tool::Toolbox;
use zori_policy::Policy;

use crate::control::Control;
use crate::dispatch::Dispatch;
use crate::emitter::Emitter;
use crate::engine::{Engine, Modes};

impl<S: Sink + 'static> Engine<S> {
    /// Does what was said for the next request.
    pub(crate) fn heed(&mut self, control: &mut Control<'_>) {
        let modes = std::mem::take(&mut control.modes).into_iter().map(Input::SetMode);
        for wish in modes.chain(std::mem::take(&mut control.wishes)) {
            self.wish(wish);
        }
    }

    /// Lets hold here, too, what was said to a sub-agent for the session.
    pub(crate) fn update(&mut self, updates: Vec<PermissionUpdate>) {
        for update in updates {
            apply(
                &update,
                &self.shared.modes,
                &mut self.policy,
                &*self.shared.toolbox,
                &mut self.shared.emitter,
            );
            self.granted.push(update);
        }
    }

    /// Does one thing that can be done at once; everything else is not for here.
    pub fn wish(&mut self, wish: Input) {
        match wish {
            Input::SetModel { model, max_tokens } => {
                self.set_max_tokens(max_tokens);
                self.set_model(&model);
            }
            Input::SetMode(name) => {
                set_mode(&name, &self.shared.modes, &mut self.policy, &mut self.shared.emitter)
            }
            Input::SetEffort(effort) => self.shared.settings.effort = effort,
            Input::Prompt(_)
            | Input::Steer(_)
            | Input::Approve { .. }
            | Input::Cancel(_)
            | Input::Compact { .. }
            | Input::UndoCompact
            | Input::Shutdown => {}
        }
    }
}

impl<S: Sink + 'static> Dispatch<'_, '_, S> {
    /// Lets the modes hold that were named since the last decision.
    pub(crate) fn heed(&mut self) {
        for name in std::mem::take(&mut self.control.modes) {
            set_mode(&name, self.modes, self.policy, self.emitter);
        }
    }

    /// Lets hold for the session what came with an approval.
    pub(crate) fn update(&mut self, updates: Vec<PermissionUpdate>) {
        for update in updates {
            apply(&update, self.modes, self.policy, self.toolbox, self.emitter);
            self.granted.push(update);
        }
    }
}

fn apply<S: Sink>(
    update: &PermissionUpdate,
    modes: &Modes,
    policy: &mut Policy,
    toolbox: &dyn Toolbox,
    emitter: &mut Emitter<S>,
) {
    match update {
        PermissionUpdate::SetMode(name) => set_mode(name, modes, policy, emitter),
        PermissionUpdate::AddRule { verdict, rule } => {
            for remark in policy.add_for_session(*verdict, rule) {
                warn(emitter, remark.text);
            }
        }
        PermissionUpdate::AddDirectory(folder) => {
            if let Err(why) = add_root(policy, toolbox, folder) {
                warn(emitter, why);
            }
        }
    }
}

fn set_mode<S: Sink>(name: &str, modes: &Modes, policy: &mut Policy, emitter: &mut Emitter<S>) {
    match modes(name) {
        Ok((mode, shell)) => {
            let from = std::mem::replace(&mut policy.mode, mode).shown();
            policy.shell = shell;
            emitter.emit(EventKind::ModeChanged { from, to: mode.shown() });
        }
        Err(why) => warn(emitter, why),
    }
}

fn add_root(policy: &mut Policy, toolbox: &dyn Toolbox, folder: &std::path::Path) -> Result<(), String> {
    let facts = toolbox.look(folder);
    match facts.places.last() {
        Some(place) if facts.kind == PlaceKind::Folder => {
            if !policy.ground.roots.contains(place) {
                policy.ground.roots.push(place.clone());
            }
            Ok(())
        }
        _ => Err(format!("{} is no folder, and is not added to the workspace", folder.display())),
    }
}

fn warn<S: Sink>(emitter: &mut Emitter<S>, text: String) {
    emitter.emit(EventKind::Notice { level: NoticeLevel::Warning, code: "permission_update", text });
}
