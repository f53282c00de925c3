//! Images: with a prompt, from `read`, in sessions; and every way in which one is refused.

use serde_json::{Value, json};
use zori_core::image::Image;
use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, fixture};

use crate::world::{with_model, world};

/// Returns `box.png` as every wire has it.
fn data() -> String {
    Image::parse(fixture::bytes("images/box.png")).expect("the fixture is whole").base64()
}

/// Puts `box.png`, and pictures that are none, into the working directory.
fn pictures(world: &TestEnv) {
    let png = fixture::bytes("images/box.png");
    world.write("box.png", &png);
    world.write("cut.png", &png[..60]);
    world.write("empty.png", "");
    world.write("text.png", "hello");
    world.write("d.svg", "<svg xmlns='x'/>");
    world.write("p.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic");
    world.write("dir/x", "");
    let mut wide = png.clone();
    wide[16..20].copy_from_slice(&9_000_u32.to_be_bytes());
    world.write("wide.png", wide);
    world.write("huge.png", [&png[..], &vec![0; 15_000_000]].concat());
}

fn block() -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data()}})
}

/// Returns the content of a message without the marks for the cache.
fn content(message: &Value) -> Value {
    let mut content = message["content"].clone();
    for block in content.as_array_mut().expect("content is a list") {
        block.as_object_mut().expect("a block is an object").remove("cache_control");
    }
    content
}

#[test]
fn with_a_prompt_and_again_after_resuming() {
    let (world, server) = with_model([anthropic::text("A box."), anthropic::text("Still a box.")]);
    pictures(&world);
    let run = world.run(&["exec", "--session", "s", "--image", "box.png", "-p", "what?", "--image=box.png"]);
    insta::assert_snapshot!(run, @r"
    A box.
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it
    [exit status: 0]
    ");
    let asked = json!([block(), block(), {"type": "text", "text": "what?"}]);
    assert_eq!(content(&server.request(0).messages()[0]), asked);
    insta::assert_snapshot!(world.run(&["sessions", "show", "s"]), @r"
    ### Session (schema v1)

    ### You
    [image png 24x16 96 bytes]
    [image png 24x16 96 bytes]
    what?

    ### Assistant
    A box.
    [exit status: 0]
    ");
    world.run(&["sessions", "resume", "s", "-p", "sure?"]).success();
    let again = server.request(1).messages();
    assert_eq!(content(&again[0]), asked);
}

#[test]
fn from_read() {
    let (world, server) = with_model([
        anthropic::tool_use("t1", "read", json!({"path": "box.png"})),
        anthropic::text("A box."),
    ]);
    pictures(&world);
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "-p", "look"]), @r"
    A box.
    ------- stderr -------
    ⚙ Running read... Done. (X.XXs)
    [image png 24x16 96 bytes]
    [exit status: 0]
    ");
    let result = &content(&server.request(1).messages()[2])[0];
    assert_eq!(result["content"][1], block());
}

/// Nothing is sent, and the file is named with a way out.
#[test]
fn what_cannot_be_sent() {
    let (world, server) = with_model([anthropic::text("never")]);
    pictures(&world);
    let check = |file: &str| world.run(&["exec", "--no-save", "-p", "x", "--image", file]).to_string();
    insta::assert_snapshot!(check("none.png"), @r"
    ------- stderr -------
    Error: there is no image `none.png`
    [exit status: 2]
    ");
    insta::assert_snapshot!(check("dir"), @r"
    ------- stderr -------
    Error: `dir` is a directory, not an image
    [exit status: 2]
    ");
    insta::assert_snapshot!(check("empty.png"), @r"
    ------- stderr -------
    Error: `empty.png` is empty
    Hint: the model can read other files itself: name them in the prompt
    [exit status: 2]
    ");
    insta::assert_snapshot!(check("text.png"), @r"
    ------- stderr -------
    Error: `text.png` is no image: only PNG, JPEG, GIF and WebP are
    Hint: the model can read other files itself: name them in the prompt
    [exit status: 2]
    ");
    insta::assert_snapshot!(check("cut.png"), @r"
    ------- stderr -------
    Error: `cut.png` is a png image that is damaged or cut off
    Hint: open it in a viewer, and save it again
    [exit status: 2]
    ");
    insta::assert_snapshot!(check("d.svg"), @r"
    ------- stderr -------
    Error: `d.svg` is in the format SVG, which models do not take
    Hint: convert it first, for example with `magick d.svg image.png`
    [exit status: 2]
    ");
    insta::assert_snapshot!(check("p.heic"), @r"
    ------- stderr -------
    Error: `p.heic` is in the format HEIC, which models do not take
    Hint: convert it first, for example with `magick p.heic image.png`
    [exit status: 2]
    ");
    insta::assert_snapshot!(check("wide.png"), @r"
    ------- stderr -------
    Error: `wide.png` [image png 9000x16 96 bytes] cannot be sent: Anthropic takes images of up to 8000 pixels on either side
    Hint: make it smaller first, for example with `magick wide.png -resize 2000x2000 image.png`
    [exit status: 2]
    ");
    insta::assert_snapshot!(check("huge.png"), @r"
    ------- stderr -------
    Error: `huge.png` has 15.0 MB; an image may have 14.0 MB at most
    Hint: make it smaller first, for example with `magick huge.png -resize 2000x2000 image.png`
    [exit status: 2]
    ");
    assert_eq!(server.count(), 0);
}

#[test]
fn where_it_has_no_meaning() {
    let world = world();
    insta::assert_snapshot!(world.run(&["--image", "a.png", "sessions", "list"]), @"
    ------- stderr -------
    Error: `--image` is no option of this command
    Hint: it goes with `zori exec`, `zori chat`, `zori tui`
    [exit status: 2]
    ");
}

/// A model that nobody knows is sent the image; its refusal is explained.
#[test]
fn a_model_that_may_not_see() {
    let refusal = json!({"error": {"message": "image input is not supported"}});
    let server = ModelServer::start([Reply::json(400, refusal)]);
    let mut world = world();
    world.set_var("OLLAMA_BASE_URL", format!("{}/v1", server.url()));
    pictures(&world);
    let args = ["exec", "--no-save", "--model", "ollama:llama3", "--image", "box.png", "-p", "what?"];
    insta::assert_snapshot!(world.run(&args), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 400: image input is not supported
      Details: {"error":{"message":"image input is not supported"}}
    Warning: The request had an image, and it is not known whether `llama3` sees images. If it does not, say `images = false` in a table `[models."ollama:llama3"]` of the config file
    [exit status: 1]
    "#);
    let url = format!("data:image/png;base64,{}", data());
    assert_eq!(
        server.request(0).messages().last().unwrap()["content"],
        json!([{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "what?"}])
    );
}

#[test]
fn in_the_chat() {
    let (mut world, server) = with_model([anthropic::text("A box."), anthropic::text("Two.")]);
    let base = world.base().to_owned();
    world.set_var("ZDX_HOME", base);
    pictures(&world);
    let lines = "/image box.png\nwhat?\n/image box.png and this?\n/image none.png\n/image\n/history\n:q\n";
    insta::assert_snapshot!(world.run_with_stdin(&["--as", "zdx", "--no-save"], lines), @r"
    A box.
    Two.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    you> Attached to the next prompt: box.png [image png 24x16 96 bytes]
    you> you> you> Error: there is no image `$WORK/none.png`
    you> Error: `/image PATH` attaches an image to the next prompt
    Hint: PNG, JPEG, GIF or WebP
    you> you> [image png 24x16 96 bytes]
    you> what?
    A box.
    you> [image png 24x16 96 bytes]
    you> and this?
    Two.
    you> Goodbye!
    [exit status: 0]
    ");
    assert_eq!(
        content(server.request(1).messages().last().unwrap()),
        json!([block(), {"type": "text", "text": "and this?"}])
    );
}

/// `--image` goes with the first prompt of a chat, and with no other.
#[test]
fn with_the_start_of_a_chat() {
    let (mut world, server) = with_model([anthropic::text("A box."), anthropic::text("Yes.")]);
    let base = world.base().to_owned();
    world.set_var("ZDX_HOME", base);
    pictures(&world);
    let args = ["--as", "zdx", "--no-save", "--image", "box.png"];
    insta::assert_snapshot!(world.run_with_stdin(&args, "what?\nsure?\n:q\n"), @r"
    A box.
    Yes.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    Attached to the first prompt: [image png 24x16 96 bytes]
    you> you> you> Goodbye!
    [exit status: 0]
    ");
    let messages = server.request(1).messages();
    let shown: Vec<_> = messages.iter().map(content).collect();
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    assert_eq!(shown, [json!([block(), {"type": "text", "text": "what?"}]), text("A box."), text("sure?")]);
    let args = ["--as", "zdx", "--no-save", "--image", "cut.png"];
    insta::assert_snapshot!(world.run_with_stdin(&args, "what?\n"), @r"
    ------- stderr -------
    Error: `cut.png` is a png image that is damaged or cut off
    Hint: open it in a viewer, and save it again
    [exit status: 2]
    ");
}
