//! Images that go with a prompt: files that `--image` or `/image` names, checked before anything is sent.

use std::io::Read;
use std::path::Path;

use zori_contract::failure::Failure;
use zori_core::image::{BadImage, Image, ImageSupport, size_in_words};
use zori_providers::catalog::{MAX_PROMPT_BYTES, ProviderFacts};
use zori_tools::open_dir::OpenError;
use zori_tools::target::Target;
use zori_tools::textfile::{self, FileError};

use zori_setup::error::IMAGE_INVALID;

/// The model that would see the images.
#[derive(Clone, Copy)]
pub struct Viewer<'a> {
    pub facts: &'static ProviderFacts,
    pub model: &'a str,
}

/// Reads all files of a prompt. Relative paths start at the working directory.
pub fn load_all(files: &[String], viewer: Viewer<'_>) -> Result<Vec<Image>, Failure> {
    let images: Vec<Image> =
        files.iter().map(|file| load(Path::new(file), viewer)).collect::<Result<_, _>>()?;
    check_sum(&images)?;
    Ok(images)
}

/// Reads an image file, and checks that the model accepts it.
pub fn load(path: &Path, viewer: Viewer<'_>) -> Result<Image, Failure> {
    let shown = path.display();
    let bytes = read(path)?;
    let image = Image::parse(bytes).map_err(|bad| {
        let error = invalid(format!("`{shown}` {bad}"));
        match bad {
            BadImage::Foreign(_) => error.hint(convert(path)),
            BadImage::Damaged(_) => error.hint("open it in a viewer, and save it again"),
            BadImage::Empty | BadImage::NotAnImage => {
                error.hint("the model can read other files itself: name them in the prompt")
            }
        }
    })?;
    match viewer.facts.image_support(viewer.model, &image) {
        ImageSupport::Supported | ImageSupport::Unknown => Ok(image),
        ImageSupport::Unsupported(why) => Err(refused(path, viewer, &image, &why)),
    }
}

/// Checks that all images of a prompt fit into one request.
pub fn check_sum(images: &[Image]) -> Result<(), Failure> {
    let sum: u64 = images.iter().map(|image| image.bytes().len() as u64).sum();
    if sum <= MAX_PROMPT_BYTES {
        return Ok(());
    }
    let (sum, most) = (size_in_words(sum), size_in_words(MAX_PROMPT_BYTES));
    Err(invalid(format!("the images of the prompt have {sum}; together they may have {most}"))
        .hint("send them with several prompts, or make them smaller"))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let unreadable = |error: FileError| match error {
        FileError::NotFound { .. } => invalid(format!("there is no image `{shown}`")),
        FileError::NotRegular { kind, .. } => invalid(format!("`{shown}` is a {kind}, not an image")),
        error => invalid(error.to_string()),
    };
    let mut opened = std::path::absolute(path)
        .map_err(OpenError::Io)
        .and_then(|path| Target::found(&path))
        .map_err(|error| FileError::from_open(path, error))
        .and_then(|target| textfile::open(&target))
        .map_err(unreadable)?;
    if opened.meta.len > MAX_PROMPT_BYTES {
        let (size, most) = (size_in_words(opened.meta.len), size_in_words(MAX_PROMPT_BYTES));
        return Err(
            invalid(format!("`{shown}` has {size}; an image may have {most} at most")).hint(shrink(path))
        );
    }
    let mut bytes = Vec::new();
    (&mut opened.file)
        .take(MAX_PROMPT_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(FileError::from_io(path, error)))?;
    Ok(bytes)
}

fn refused(path: &Path, viewer: Viewer<'_>, image: &Image, why: &str) -> Failure {
    let error = invalid(format!("`{}` {image} cannot be sent: {why}", path.display()));
    let Viewer { facts, model } = viewer;
    if facts.model(model).is_none_or(|model| model.abilities.images) {
        let fits = facts.api.image_limits().formats.contains(&image.format());
        return error.hint(if fits { shrink(path) } else { convert(path) });
    }
    let others: Vec<_> = facts.sighted().iter().map(|id| format!("`{id}`")).collect();
    match others.is_empty() {
        true => error.hint("use a model that sees images"),
        false => error.hint(format!("choose a model that sees images: {}", others.join(", "))),
    }
}

fn convert(path: &Path) -> String {
    format!("convert it first, for example with `magick {} image.png`", path.display())
}

fn shrink(path: &Path) -> String {
    format!("make it smaller first, for example with `magick {} -resize 2000x2000 image.png`", path.display())
}

fn invalid(message: String) -> Failure {
    Failure::new(&IMAGE_INVALID, message)
}
