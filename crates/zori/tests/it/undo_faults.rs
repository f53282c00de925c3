//! What stands in the way of an undo by command: a disk without space, a store that belongs to somebody else.

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::needs;

use crate::world::{with_model, with_mounts};

/// The contract's row "disk full, restore": it stops with 3, leaves nothing half written, and goes on when there is space again.
#[test]
fn a_full_disk_as_root() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "echo short > long; echo two > a"})),
        anthropic::text("Done."),
    ]);
    let work = world.work().display().to_string();
    let script = format!(
        r#"mount -t tmpfs -o size=1m,mode=700 none {work} && cd {work} || exit 99
           mkdir .git; seq 80000 > long; echo one > a; cksum long a > "$HOME/before"
           "$0" exec --quiet --session s -p go || exit 98
           cat /dev/zero > filler 2>/dev/null
           echo "-- full"; "$0" undo --yes --output plain; echo "exit $?"
           ls -A; cat a; cat long
           rm filler
           echo "-- space again"; "$0" undo --yes --output plain; echo "exit $?"
           ls -A; cksum long a | cmp - "$HOME/before" && echo "as before""#
    );
    let Some(output) = with_mounts(&world, &script, &[]) else { return };
    insta::assert_snapshot!(output, @"
    Done.
    -- full
    No file went back to before turn 1.
    Kept a: the system refused to change it
    Kept long: the system refused to change it
    Not covered: 1 command may have changed files outside $WORK
    Stopped: $WORK/a: No space left on device (os error 28)
    exit 3
    .git
    a
    filler
    long
    two
    short
    -- space again
    Put back 2 files to before turn 1: a, long
    Not covered: 1 command may have changed files outside $WORK
    exit 0
    .git
    a
    long
    as before
    ------- stderr -------
    Error: 2 of 2 files were not put back
    [exit status: 0]
    ");
}

/// The contract's row "store foreign": undo is off, exit 4, and nothing of it is read.
#[test]
fn a_store_of_another_user_as_root() {
    if !needs::root() {
        return;
    }
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "echo 1 > a"})),
        anthropic::text("One."),
        anthropic::text("Two."),
    ]);
    world.write(".git/HEAD", "ref: refs/heads/main\n");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    let projects = std::fs::read_dir(world.base().join("projects")).expect("there is a project");
    let stores = projects.flatten().map(|entry| entry.path().join("undo"));
    let store = stores.into_iter().find(|dir| dir.is_dir()).expect("something was captured");
    std::os::unix::fs::chown(&store, Some(1), Some(1)).expect("root may give it away");
    let key =
        store.parent().and_then(|dir| dir.file_name()).expect("it has a key").to_string_lossy().into_owned();
    let shown = |text: String| text.replace(&key, "$KEY");
    insta::assert_snapshot!(shown(world.run(&["undo", "--yes"]).to_string()), @"
    ------- stderr -------
    Error: undo is off: $BASE/projects/$KEY/undo belongs to another user
    [exit status: 4]
    ");
    insta::assert_snapshot!(shown(world.run(&["exec", "--session", "s", "-p", "second"]).to_string()), @"
    Two.
    ------- stderr -------
    Warning: undo is off: $BASE/projects/$KEY/undo belongs to another user
    [exit status: 0]
    ");
    assert_eq!(world.read("a"), "1\n");
}
