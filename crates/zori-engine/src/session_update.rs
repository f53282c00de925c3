//! Changes to a running session that a front end makes for the user: model, effort, permission mode, rules, folders.
//!
//! A change takes effect with the next request or the next decision. One that is refused becomes a notice and changes
//! nothing.

use zori_core::event::{Notice, NoticeLevel, StateEvent};
use zori_core::input::{Input, PermissionUpdate};
use zori_core::permission::PathKind;
use zori_core::render::Sink;
use zori_core::tool::Toolbox;
use zori_policy::Policy;

use crate::control::Control;
use crate::dispatch::Dispatch;
use crate::emitter::Emitter;
use crate::engine::Engine;
use crate::parts::ModeLookup;

impl<S: Sink + 'static> Engine<S> {
    /// Applies the updates that arrived for the next request.
    pub(crate) fn apply_pending(&mut self, control: &mut Control<'_>) {
        let modes = std::mem::take(&mut control.modes).into_iter().map(Input::SetMode);
        for update in modes.chain(std::mem::take(&mut control.updates)) {
            self.apply(update);
        }
    }

    /// Applies permissions that the user granted to a sub-agent for the whole session.
    pub(crate) fn grant(&mut self, updates: Vec<PermissionUpdate>) {
        for update in updates {
            apply_update(
                &update,
                &self.shared.modes,
                &mut self.policy,
                &*self.shared.toolbox,
                &mut self.shared.emitter,
            );
            self.granted.push(update);
        }
    }

    /// Applies a change of model, mode or effort; ignores every other input.
    pub fn apply(&mut self, update: Input) {
        match update {
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
            | Input::Shell { .. }
            | Input::UndoCompact
            | Input::Shutdown => {}
        }
    }
}

impl<S: Sink + 'static> Dispatch<'_, '_, S> {
    /// Applies the mode changes that arrived since the last decision.
    pub(crate) fn apply_pending_modes(&mut self) {
        for name in std::mem::take(&mut self.control.modes) {
            set_mode(&name, self.modes, self.policy, self.emitter);
        }
    }

    /// Applies the permissions that came with an approval, for the rest of the session.
    pub(crate) fn grant(&mut self, updates: Vec<PermissionUpdate>) {
        for update in updates {
            apply_update(&update, self.modes, self.policy, self.toolbox, self.emitter);
            self.granted.push(update);
        }
    }
}

fn apply_update<S: Sink>(
    update: &PermissionUpdate,
    modes: &ModeLookup,
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

fn set_mode<S: Sink>(name: &str, modes: &ModeLookup, policy: &mut Policy, emitter: &mut Emitter<S>) {
    match modes(name) {
        Ok((mode, shell)) => {
            let from = std::mem::replace(&mut policy.mode, mode).shown();
            policy.shell = shell;
            emitter.emit(StateEvent::ModeChanged { from, to: mode.shown() });
        }
        Err(why) => warn(emitter, why),
    }
}

fn add_root(policy: &mut Policy, toolbox: &dyn Toolbox, folder: &std::path::Path) -> Result<(), String> {
    let facts = toolbox.path_facts(folder);
    match facts.places.last() {
        Some(place) if facts.kind == PathKind::Folder => {
            if !policy.workspace.roots.contains(place) {
                policy.workspace.roots.push(place.clone());
            }
            Ok(())
        }
        _ => Err(format!("{} is no folder, and is not added to the workspace", folder.display())),
    }
}

fn warn<S: Sink>(emitter: &mut Emitter<S>, text: String) {
    emitter.emit(Notice { level: NoticeLevel::Warning, code: "permission_update", text });
}
