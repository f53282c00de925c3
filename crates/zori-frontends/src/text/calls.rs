//! The calls of one reply, so that two of the same tool can be told apart on stderr.

use zori_core::event::ToolRequested;
use zori_core::ids::CallId;
use zori_core::text::one_line;

/// The calls of the reply at hand, in request order.
#[derive(Default)]
pub(super) struct Calls {
    requested: Vec<(CallId, String)>,
    of: usize,
}

impl Calls {
    pub(super) fn clear(&mut self) {
        self.requested.clear();
        self.of = 0;
    }

    pub(super) fn add(&mut self, request: &ToolRequested) {
        self.of = request.of;
        self.requested.push((request.call.id.clone(), request.call.name.clone()));
    }

    /// Returns whether several calls run together, so that each line has to stand alone (OUT-5).
    pub(super) fn parallel(&self) -> bool {
        self.of > 1
    }

    /// Returns the tool's name, with its number where the reply calls that tool more than once.
    pub(super) fn label(&self, call: &CallId, name: &str) -> String {
        let mut same = self.requested.iter().filter(|(_, other)| other == name);
        let number = same.position(|(id, _)| id == call).map_or(0, |before| before + 1);
        let several = self.requested.iter().filter(|(_, other)| other == name).count() > 1;
        let name = one_line(name);
        if several && number > 0 { format!("{name} #{number}") } else { name.into_owned() }
    }
}
