//! The commands about the session itself: help, leaving, another session, its title, its history.

use zori_contract::error::{IO_ERROR, LOCK_HELD, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_core::message::{Block, Role};
use zori_core::text;
use zori_host::{Which, session_id};
use zori_serve::parse_session;
use zori_store::SessionDir;

use super::{COMMANDS, Next, Reopen};
use crate::chat::Chat;
use crate::chat::server_chat;
use zori_setup::find_session;
use zori_setup::session_copy;

pub(super) fn help(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    for command in COMMANDS {
        let names = command.names.join(", ");
        chat.cx.ui.say(&format!("  {:<17} {}", format!("{names} {}", command.args).trim(), command.about));
    }
    for entry in chat.plain.session().extensions().slash_commands() {
        let call = format!("/{} {}", entry.name, entry.args);
        chat.cx.ui.say(&format!("  {:<17} {}", text::one_line(call.trim()), text::one_line(&entry.about)));
    }
    chat.cx
        .ui
        .say("Alt-Enter, Ctrl-J or a backslash at the end of a line starts another one; Tab completes.");
    Ok(Next::Done)
}

pub(super) fn exit(_: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    Ok(Next::Quit)
}

pub(super) fn new(chat: &mut Chat<'_, '_>, title: &str) -> Result<Next, Failure> {
    chat.switch(Which::New)?;
    chat.title = Some(text::one_line(title).into_owned()).filter(|title| !title.is_empty());
    Ok(Next::Done)
}

pub(super) fn clear(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    // Where rows are only appended nothing is erased (ACC-1).
    if chat.cells.is_none() && chat.cx.terminal.stderr && chat.cx.front.events().is_none() {
        chat.cx.ui.raw("\x1b[2J\x1b[3J\x1b[H");
    }
    if let Some(words) = server_chat::reset(&chat.plain) {
        chat.cx.ui.say(&words);
    }
    new(chat, "")
}

pub(super) fn resume(chat: &mut Chat<'_, '_>, id: &str) -> Result<Next, Failure> {
    let Some(base) = &chat.plain.run.base else {
        chat.cx.ui.say("There is no base directory, so there are no sessions.");
        return Ok(Next::Done);
    };
    let sessions = SessionDir::new(base.sessions());
    let people = chat.cx.terminal.interactive() && chat.cx.profile.has_screen();
    let current = chat.plain.session().id().clone();
    let here = chat.plain.host.settings.workspace.root.clone();
    let id = match id {
        // Nobody is taken to another folder unless it is named (RSM-1); `zdx` has the latest of all.
        "" if chat.cx.profile.has_screen() => find_session::latest_in(&sessions, Some(&current), &here)?,
        "" => find_session::latest(&sessions, Some(&current))?,
        // A chat of `zdx` knows whole names only.
        id if !people => Some(parse_session(id)?),
        id => Some(find_session::named(chat.cx.profile, &sessions, id)?),
    };
    match id {
        Some(id) if id == current => chat.cx.ui.say("This is the session you are in."),
        Some(id) if sessions.file(&id).exists() => match chat.switch(Which::Existing(id.clone())) {
            Err(failure) if failure.kind == &LOCK_HELD && people => {
                let copy = session_id();
                session_copy::copy(&sessions, &id, &copy).map_err(|why| Failure::new(&IO_ERROR, why))?;
                chat.switch(Which::Existing(copy))?;
                chat.cx.ui.say(&format!("Session '{id}' is open elsewhere; this is a copy."));
            }
            switched => switched?,
        },
        Some(id) => chat.cx.ui.say(&format!("Session '{id}' is empty or not found.")),
        None => chat.cx.ui.say("No sessions found to resume"),
    }
    Ok(Next::Done)
}

pub(super) fn rename(chat: &mut Chat<'_, '_>, title: &str) -> Result<Next, Failure> {
    let session = chat.plain.session();
    let saved = session.is_saved() && session.totals().turns + session.messages().len() as u32 > 0;
    let Some(base) = chat.plain.run.base.as_ref().filter(|_| saved) else {
        return Err(Failure::new(&VALIDATION_ERROR, "there is no saved session to name yet"));
    };
    let title = text::one_line(title.trim()).into_owned();
    let named = SessionDir::new(base.sessions()).rename(session.id(), &title);
    named.map_err(|error| Failure::new(&IO_ERROR, format!("the title cannot be kept: {error}")))?;
    chat.cx.ui.say(&match title.is_empty() {
        true => "The session has the title of its first prompt again.".to_owned(),
        false => format!("Title: {title}"),
    });
    Ok(Next::Done)
}

pub(super) fn fork(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let session = chat.plain.session();
    let Some(base) =
        chat.plain.run.base.as_ref().filter(|_| session.is_saved() && !session.messages().is_empty())
    else {
        return Err(Failure::new(&VALIDATION_ERROR, "there is no saved conversation to copy yet"));
    };
    let (sessions, copy) = (SessionDir::new(base.sessions()), session_id());
    let copied = session_copy::copy(&sessions, session.id(), &copy);
    copied.map_err(|why| Failure::new(&IO_ERROR, why))?;
    chat.switch(Which::Existing(copy))?;
    Ok(Next::Done)
}

pub(super) fn cd(_: &mut Chat<'_, '_>, folder: &str) -> Result<Next, Failure> {
    match folder {
        "" => Err(Failure::new(&VALIDATION_ERROR, "`/cd FOLDER` goes on in another folder")),
        folder => Ok(Next::Reopen(Reopen::Folder(folder.to_owned()))),
    }
}

pub(super) fn history(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let mut lines = Vec::new();
    for message in chat.plain.session().messages() {
        for block in &message.blocks {
            lines.extend(match (block, message.role) {
                (Block::Text(said), Role::User) => Some(format!("you> {said}")),
                (Block::Text(said), Role::Assistant) => Some(said.clone()),
                (Block::Image(image), _) => Some(format!("you> {image}")),
                (Block::ToolCall(call), _) => {
                    let input = text::one_line(call.input.json());
                    Some(format!("⚙ {} {}", call.name, text::prefix(&input, 200)))
                }
                (Block::Thinking(_) | Block::ToolResult(_), _) => None,
            });
        }
    }
    if lines.is_empty() {
        lines.push("Nothing has been said yet.".into());
    }
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// Summarises what was said so far; the argument says what to dwell on.
pub(super) fn compact(chat: &mut Chat<'_, '_>, focus: &str) -> Result<Next, Failure> {
    if focus == "undo" {
        chat.plain.session_mut().undo_compact();
        return Ok(Next::Done);
    }
    if chat.plain.run.agent_zero.is_some() {
        let why = "an Agent Zero server keeps the conversation itself; nothing of it can be compacted here";
        return Err(Failure::new(&VALIDATION_ERROR, why).hint("`/clear` begins a new chat"));
    }
    Ok(Next::Compact((!focus.is_empty()).then(|| focus.to_owned())))
}

/// Enters the loop; the argument is its first prompt.
pub(super) fn supervise(chat: &mut Chat<'_, '_>, prompt: &str) -> Result<Next, Failure> {
    chat.supervise(true);
    Ok(if prompt.is_empty() { Next::Done } else { Next::Ask(prompt.to_owned()) })
}
