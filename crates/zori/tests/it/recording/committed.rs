//! Every recording in `fixtures/recordings` is replayed from end to end.

use zori_testkit::{fixture, needs};

use super::offline;
use crate::world::world;

/// Each with what it prints; a file that is not listed here fails the test.
const COMMITTED: &[(&str, &str)] = &[
    (
        "anthropic_edit.recording.jsonl",
        "I will look at it first. \nThe typo is mended: it prints `hello` now. \n",
    ),
    ("chat_retry.recording.jsonl", "It prints `helo`, which is misspelt.\n"),
];

#[test]
fn every_committed_recording() {
    // What was recorded says that bash runs commands.
    if needs::program("bash").is_none() {
        return;
    }
    let folder = fixture::path("recordings");
    let mut found: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".recording.jsonl"))
        .collect();
    found.sort();
    assert_eq!(found, COMMITTED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, printed) in COMMITTED {
        let mut world = world();
        offline(&mut world);
        world.write("greet.sh", "echo helo\n");
        let file = folder.join(name);
        let output = world.run(&["exec", "--no-save", "--replay", file.to_str().unwrap()]);
        assert_eq!((output.stdout().as_str(), output.code()), (*printed, Some(0)), "{name}: {output}");
    }
}
