//! `/debug-dump`: writing what is sent and received to files, from now on or no more.

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;

use super::Next;
use crate::chat::Chat;
use zori_setup::debug_dump::DebugDump;

/// Switches debug dumps on or off.
pub(super) fn run(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let said = switch(&chat.plain.run.dump, rest)?;
    chat.cx.ui.say(&said);
    Ok(Next::Done)
}

/// Switches them; returns what to say about it.
pub fn switch(dump: &DebugDump, rest: &str) -> Result<String, Failure> {
    let on = match rest {
        "" | "on" => true,
        "off" => false,
        other => {
            let message = format!("`/debug-dump {other}`: it takes `on` or `off`");
            return Err(Failure::new(&VALIDATION_ERROR, message));
        }
    };
    Ok(match dump.switch(on) {
        Ok(folder) if on => format!("Debug dumps go to {}.", folder.display()),
        Ok(_) => "No debug dumps are written.".to_owned(),
        Err(why) => why,
    })
}
