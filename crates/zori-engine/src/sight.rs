//! Images and models that do not see them: what such a model is sent instead, and what a tool answers it.
//!
//! The conversation keeps its images, for the next model that does.

use std::borrow::Cow;
use std::sync::Arc;

use zori_core::image::{Image, Sight};
use zori_core::message::{Block, Message, ToolResult};
use zori_core::tool::{ToolCode, ToolOutput};

/// Returns whether a model sees an image.
pub type Eyes = Arc<dyn Fn(&str, &Image) -> Sight + Send + Sync>;

/// What was put in the place of messages with images. Kept, so that providers recognise what they have encoded.
#[derive(Default)]
pub(crate) struct View {
    replaced: Vec<(Arc<Message>, Arc<Message>)>,
    /// Whether the user knows.
    pub(crate) told: bool,
}

/// The conversation as one model takes it.
pub(crate) struct Seen<'a> {
    pub(crate) messages: Cow<'a, [Arc<Message>]>,
    /// How many images are left out, and why the first of them.
    pub(crate) hidden: Option<(usize, String)>,
}

impl View {
    /// Puts a note in the place of every image that the model does not see.
    pub(crate) fn of<'a>(
        &mut self,
        messages: &'a [Arc<Message>],
        sees: &dyn Fn(&Image) -> Sight,
    ) -> Seen<'a> {
        let mut hidden = None;
        for image in messages.iter().flat_map(|message| message.images()) {
            if let Sight::Not(why) = sees(image) {
                hidden.get_or_insert((0, why)).0 += 1;
            }
        }
        if hidden.is_none() {
            return Seen { messages: Cow::Borrowed(messages), hidden };
        }
        let known = std::mem::take(&mut self.replaced);
        let replace = |message: &Arc<Message>| {
            if message.images().next().is_none() {
                return message.clone();
            }
            let found = known.iter().find(|(source, _)| Arc::ptr_eq(source, message));
            let view = found.map_or_else(|| Arc::new(noted(message, sees)), |(_, view)| view.clone());
            self.replaced.push((message.clone(), view.clone()));
            view
        };
        Seen { messages: messages.iter().map(replace).collect(), hidden }
    }
}

fn noted(message: &Message, sees: &dyn Fn(&Image) -> Sight) -> Message {
    let hides = |image: &Image| matches!(sees(image), Sight::Not(_));
    let mut blocks = Vec::with_capacity(message.blocks.len());
    for block in &message.blocks {
        match block {
            Block::Image(image) if hides(image) => blocks.push(Block::Text(note(image))),
            Block::ToolResult(result) if result.images.iter().any(hides) => {
                let (gone, images): (Vec<_>, Vec<_>) = result.images.iter().cloned().partition(hides);
                let notes: Vec<_> = gone.iter().map(note).collect();
                let text = format!("{}\n{}", result.content(), notes.join("\n"));
                blocks.push(Block::ToolResult(ToolResult {
                    images,
                    text: Some(text.into()),
                    ..result.clone()
                }));
            }
            block => blocks.push(block.clone()),
        }
    }
    Message { role: message.role, blocks }
}

fn note(image: &Image) -> String {
    format!("{image} (left out: you cannot see it)")
}

/// Returns a tool's output as the model takes it: a failure in the place of an image that it does not see.
pub(crate) fn shown(output: ToolOutput, sees: &dyn Fn(&Image) -> Sight) -> ToolOutput {
    let hidden = output.images.iter().find_map(|image| match sees(image) {
        Sight::Not(why) => Some(format!("The file is an image, {image}, and you cannot see it: {why}")),
        Sight::Clear | Sight::Unknown => None,
    });
    let Some(message) = hidden else { return output };
    let text = output.text.is_some().then(|| message.as_str().into());
    ToolOutput { text, ..ToolOutput::failure(ToolCode::ReadError, message) }
}

#[cfg(test)]
mod tests {
    use zori_core::ids::CallId;
    use zori_core::message::Role;

    use super::*;

    fn image() -> Image {
        Image::parse(&include_bytes!("../../../fixtures/images/box.png")[..]).unwrap()
    }

    fn gif() -> Image {
        Image::parse(&include_bytes!("../../../fixtures/images/box.gif")[..]).unwrap()
    }

    fn no_png(image: &Image) -> Sight {
        match image.format().as_str() {
            "png" => Sight::Not("no png here".into()),
            _ => Sight::Clear,
        }
    }

    fn conversation() -> Vec<Arc<Message>> {
        let output = ToolOutput::success("{}");
        let result = ToolResult {
            call: CallId::new("c"),
            name: "read".into(),
            ok: true,
            envelope: output.envelope,
            text: None,
            images: vec![image(), gif()],
        };
        let message = |role, blocks| Arc::new(Message { role, blocks });
        vec![
            message(Role::User, vec![Block::Image(image()), Block::Text("what?".into())]),
            message(Role::Assistant, vec![Block::Text("this".into())]),
            message(Role::User, vec![Block::ToolResult(result)]),
        ]
    }

    #[test]
    fn a_model_that_sees_gets_what_is_there() {
        let messages = conversation();
        let seen = View::default();
        let Seen { messages: same, hidden } = { seen }.of(&messages, &|_| Sight::Unknown);
        assert!(matches!(same, Cow::Borrowed(_)));
        assert_eq!(hidden, None);
    }

    #[test]
    fn notes_stand_in_the_place_of_images_and_stay_the_same() {
        let messages = conversation();
        let mut view = View::default();
        let first = view.of(&messages, &no_png).messages.into_owned();
        let Seen { messages: second, hidden } = view.of(&messages, &no_png);
        assert_eq!(hidden, Some((2, "no png here".to_owned())));
        assert!(first.iter().zip(second.iter()).all(|(a, b)| Arc::ptr_eq(a, b)));
        assert!(Arc::ptr_eq(&first[1], &messages[1]));
        assert_eq!(first[0].text(), "[image png 24x16 96 bytes] (left out: you cannot see it)what?");
        let Block::ToolResult(result) = &first[2].blocks[0] else { panic!("{:?}", first[2]) };
        assert_eq!(
            result.content(),
            "{\"ok\":true,\"data\":{}}\n[image png 24x16 96 bytes] (left out: you cannot see it)"
        );
        assert_eq!(result.images, [gif()]);
    }

    #[test]
    fn a_tool_says_that_an_image_cannot_be_seen() {
        let output = ToolOutput { images: vec![image()], ..ToolOutput::success("{}") };
        let answered = shown(output.clone(), &no_png);
        assert_eq!(
            answered.envelope.get(),
            r#"{"ok":false,"error":{"code":"read_error","message":"The file is an image, [image png 24x16 96 bytes], and you cannot see it: no png here"}}"#
        );
        assert_eq!(answered.images, []);
        assert_eq!(shown(output.clone(), &|_| Sight::Clear).images, output.images);
    }
}
