//! `/model`, `/provider` and `/effort`.

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::provider::Effort;
use zori_host::{ModelError, ModelGate};

use super::{Next, Reopen};
use crate::chat::Chat;
use zori_setup::host_failure::of_model;
use zori_setup::model_choice::unknown_provider;

pub(super) fn model(chat: &mut Chat<'_, '_>, name: &str) -> Result<Next, Failure> {
    if name == "--forget" {
        chat.keep_model(None);
        chat.cx.ui.say("Later chats of this project begin with the model of the settings again.");
        return Ok(Next::Done);
    }
    if !name.is_empty() {
        let models = ModelGate::new(&chat.plain.host.settings);
        match models.check(chat.plain.session().model(), name) {
            Ok((model, max_tokens)) => {
                let provider = chat.plain.host.settings.model.facts.name;
                chat.keep_model(Some(&format!("{provider}:{model}")));
                chat.plain.session_mut().set_model(model, max_tokens);
            }
            Err(error) if error.is_of_this_session() && chat.can_go_on() => {
                return Ok(Next::Reopen(Reopen::Model(name.to_owned())));
            }
            Err(error) => return Err(of_another_provider(error, chat, name)),
        }
    }
    let model = chat.plain.session().model().to_owned();
    chat.cx.ui.say(&format!("Model: {model}"));
    Ok(Next::Done)
}

/// Shows the provider, or goes on with the default model of another.
pub(super) fn provider(chat: &mut Chat<'_, '_>, name: &str) -> Result<Next, Failure> {
    let here = chat.plain.host.settings.model.facts;
    if name.is_empty() || name == here.name {
        chat.cx.ui.say(&format!("Provider: {} ({})", here.name, here.display));
        chat.cx.ui.say("`/provider NAME` goes on with its default model, `/model NAME:MODEL` with another");
        return Ok(Next::Done);
    }
    let settings = &chat.plain.host.settings.model;
    let wanted = settings.provider(name).ok_or_else(|| unknown_provider(name))?;
    model(chat, &format!("{}:{}", wanted.name, wanted.default_model))
}

pub(super) fn effort(chat: &mut Chat<'_, '_>, name: &str) -> Result<Next, Failure> {
    let request = &mut chat.plain.host.settings.request;
    if !name.is_empty() {
        let effort = match name {
            "default" => None,
            name => Some(Effort::by_name(name).ok_or_else(|| {
                let names = Effort::ALL.iter().map(|effort| effort.as_str()).collect::<Vec<_>>().join(", ");
                Failure::new(&VALIDATION_ERROR, format!("`{name}` is no level"))
                    .hint(format!("default, {names}"))
            })?),
        };
        request.effort = effort;
        if let Some(args) = &mut chat.args {
            args.model.thinking = effort;
        }
        chat.plain.session_mut().set_effort(effort);
    }
    let now = chat.plain.host.settings.request.effort.map_or("as the provider has it", Effort::as_str);
    chat.cx.ui.say(&format!("Effort: {now}"));
    Ok(Next::Done)
}

/// Says how the same conversation goes on with a model that a running one cannot change to.
fn of_another_provider(error: ModelError, chat: &Chat<'_, '_>, name: &str) -> Failure {
    let stays = error.is_of_this_session();
    let mut failure = of_model(error);
    if stays {
        let id = chat.plain.session().id();
        let command = format!("{} sessions resume {id} --model {name}", chat.cx.profile.name);
        failure.facts.hints = vec![format!("leave it and run `{command}`")];
    }
    failure
}
