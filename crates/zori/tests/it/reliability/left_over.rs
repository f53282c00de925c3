//! What a killed run left is gone after the next: files on their way to their place, in whatever folder of the project.

use std::fs::File;
use std::time::Duration;

use serde_json::json;
use zori_testkit::anthropic;

use crate::world::with_model;

#[test]
fn files_on_their_way() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "true"})),
        anthropic::tool_use("t2", "write", json!({"path": "build/new.txt", "content": "x"})),
        anthropic::text("Done."),
    ]);
    // The folder `build` is not looked at by undo.
    world.write(".gitignore", "build/\n");
    // No process has such a number; the first one lives.
    let left = ["a/b/.zori-4194305-0.tmp", "build/.zori-4194305-1.tmp"].map(|path| world.write(path, "half"));
    let kept = ["a/.zori-1-0.tmp", "a/.zori-4194305-2.old", "a/zori-4194305-3.tmp"]
        .map(|path| world.write(path, "x"));
    for path in left.iter().chain(&kept) {
        let file = File::options().write(true).open(path).expect("it was just written");
        let now = file.metadata().and_then(|facts| facts.modified()).expect("files have times");
        file.set_modified(now - Duration::from_secs(3_600)).expect("it is ours");
    }
    world.run(&["exec", "-p", "go"]).success();
    assert_eq!(left.map(|path| path.exists()), [false; 2]);
    assert_eq!(kept.map(|path| path.exists()), [true; 3]);
}
