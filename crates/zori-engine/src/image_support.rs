//! Replaces images by notes for models that do not support them, in requests and in tool outputs.
//!
//! The conversation keeps its images, for a later model that does.

use std::borrow::Cow;
use std::sync::Arc;

use zori_core::image::{Image, ImageSupport};
use zori_core::message::{Block, Message, ToolResult};
use zori_core::tool::{ToolCode, ToolOutput};

/// Returns whether a model supports an image, by the model's id.
pub type ImageSupportLookup = Arc<dyn Fn(&str, &Image) -> ImageSupport + Send + Sync>;

/// Replaces unsupported images in messages. It keeps the replaced messages, so that providers recognise what they have
/// encoded.
#[derive(Default)]
pub(crate) struct ImageFilter {
    replaced: Vec<(Arc<Message>, Arc<Message>)>,
    /// Whether the user has been told.
    pub(crate) notified: bool,
}

/// A conversation without the images that the model does not support.
pub(crate) struct FilteredMessages<'a> {
    pub(crate) messages: Cow<'a, [Arc<Message>]>,
    /// How many images were left out, and the reason for the first.
    pub(crate) hidden: Option<(usize, String)>,
}

impl ImageFilter {
    /// Puts a note in the place of every image that the model does not support.
    pub(crate) fn filter<'a>(
        &mut self,
        messages: &'a [Arc<Message>],
        support: &dyn Fn(&Image) -> ImageSupport,
    ) -> FilteredMessages<'a> {
        let mut hidden = None;
        for image in messages.iter().flat_map(|message| message.images()) {
            if let ImageSupport::Unsupported(why) = support(image) {
                hidden.get_or_insert((0, why)).0 += 1;
            }
        }
        if hidden.is_none() {
            return FilteredMessages { messages: Cow::Borrowed(messages), hidden };
        }
        let known = std::mem::take(&mut self.replaced);
        let replace = |message: &Arc<Message>| {
            if message.images().next().is_none() {
                return message.clone();
            }
            let found = known.iter().find(|(source, _)| Arc::ptr_eq(source, message));
            let view = found.map_or_else(|| Arc::new(with_notes(message, support)), |(_, view)| view.clone());
            self.replaced.push((message.clone(), view.clone()));
            view
        };
        FilteredMessages { messages: messages.iter().map(replace).collect(), hidden }
    }
}

fn with_notes(message: &Message, support: &dyn Fn(&Image) -> ImageSupport) -> Message {
    let hides = |image: &Image| matches!(support(image), ImageSupport::Unsupported(_));
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

/// Turns a tool's output into a failure if it has an image that the model does not support.
pub(crate) fn check_output(output: ToolOutput, support: &dyn Fn(&Image) -> ImageSupport) -> ToolOutput {
    let hidden = output.images.iter().find_map(|image| match support(image) {
        ImageSupport::Unsupported(why) => {
            Some(format!("The file is an image, {image}, and you cannot see it: {why}"))
        }
        ImageSupport::Supported | ImageSupport::Unknown => None,
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

    fn no_png(image: &Image) -> ImageSupport {
        match image.format().as_str() {
            "png" => ImageSupport::Unsupported("no png here".into()),
            _ => ImageSupport::Supported,
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
        let mut filter = ImageFilter::default();
        let FilteredMessages { messages: same, hidden } =
            filter.filter(&messages, &|_| ImageSupport::Unknown);
        assert!(matches!(same, Cow::Borrowed(_)));
        assert_eq!(hidden, None);
    }

    #[test]
    fn notes_stand_in_the_place_of_images_and_stay_the_same() {
        let messages = conversation();
        let mut filter = ImageFilter::default();
        let first = filter.filter(&messages, &no_png).messages.into_owned();
        let FilteredMessages { messages: second, hidden } = filter.filter(&messages, &no_png);
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
        let answered = check_output(output.clone(), &no_png);
        assert_eq!(
            answered.envelope.get(),
            r#"{"ok":false,"error":{"code":"read_error","message":"The file is an image, [image png 24x16 96 bytes], and you cannot see it: no png here"}}"#
        );
        assert_eq!(answered.images, []);
        assert_eq!(check_output(output.clone(), &|_| ImageSupport::Supported).images, output.images);
    }
}
