//! Walks over folders: links that lead back, and folders nested too deeply.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::notes::{envelope_of, run, world};

/// F-061: it ends, and says where the link is and where it leads.
#[test]
fn a_link_that_leads_back() {
    let env = world();
    env.write("drafts/a/one.txt", "123");
    symlink("..", env.work().join("drafts/a/up")).unwrap();
    let output = env.run(&["scan", "drafts"]);
    let error = envelope_of(&output)["error"].clone();
    assert_eq!((output.code(), &error["code"]), (Some(4), &json!("SYMLINK_LOOP")));
    assert_eq!(
        (&error["path"], &error["loop_target"]),
        (&json!("$WORK/drafts/a/up"), &json!("$WORK/drafts"))
    );
    assert_eq!(error["fix_required"], "Remove the link.");
    assert_eq!(error["hint"], "remove the link, or add `--no-follow-symlinks`");
}

/// O-040.
#[test]
fn links_can_be_left_alone_and_the_depth_bounded() {
    let env = world();
    env.write("drafts/a/one.txt", "123");
    env.write("elsewhere/two.txt", "12");
    symlink("..", env.work().join("drafts/a/up")).unwrap();
    let stays = run(&env, &["scan", "drafts", "--no-follow-symlinks"]);
    assert_eq!(stays["data"], json!([{"path": "$WORK/drafts/a/one.txt", "bytes": 3}]));
    std::fs::remove_file(env.work().join("drafts/a/up")).unwrap();
    symlink("../elsewhere", env.work().join("drafts/link")).unwrap();
    let follows = run(&env, &["scan", "drafts"]);
    assert_eq!(
        follows["data"],
        json!([{"path": "$WORK/drafts/a/one.txt", "bytes": 3}, {"path": "$WORK/drafts/link/two.txt", "bytes": 2}])
    );
    let output = env.run(&["scan", "drafts", "--max-depth", "0"]);
    let error = envelope_of(&output)["error"].clone();
    assert_eq!(
        (output.code(), &error["code"], &error["max_depth"]),
        (Some(4), &json!("DEPTH_EXCEEDED"), &json!(0))
    );
    // They are flags of commands that walk, and of no others.
    assert_eq!(env.run(&["list", "--max-depth", "1"]).code(), Some(2));
}
