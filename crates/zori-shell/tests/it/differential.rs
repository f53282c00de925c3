//! SH-15: generated texts run under real shells, in a scratch folder whose `PATH` holds nothing but programs that record
//! that they ran. Every one that ran has to be in the analysis, or the analysis has to say that it does not know.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use zori_shell::{Analysis, CommandEffect, analyse};
use zori_testkit::random::{Random, cases};
use zori_testkit::shell::{RECORDERS, text};

use crate::show::scene;

const SHELLS: &[&str] = &["/bin/sh", "/bin/dash", "/bin/bash"];

fn knows_all(analysis: &Analysis) -> bool {
    let unknown = |effect: &CommandEffect| matches!(effect, CommandEffect::Unresolved(_));
    analysis.unresolved.is_empty() && !analysis.commands.iter().any(|command| unknown(&command.effect))
}

fn recorders(bin: &Path) {
    fs::create_dir(bin).expect("the scratch folder and the shell are there");
    for name in RECORDERS {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\necho {name} >> \"$RECORD\"\n"))
            .expect("the scratch folder and the shell are there");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .expect("the scratch folder and the shell are there");
    }
}

/// Runs `text` under `shell`; returns what was recorded.
fn run(shell: &str, text: &str, folder: &Path, number: usize) -> String {
    // A file of its own: what a text left in the background may still write.
    let record = folder.join(format!("record{number}"));
    fs::write(&record, "").expect("the scratch folder and the shell are there");
    let mut child = Command::new("/usr/bin/timeout")
        .args(["-s", "KILL", "2", shell, "-c", text])
        .env_clear()
        .env("PATH", folder.join("bin"))
        .env("RECORD", &record)
        .env("HOME", folder)
        .current_dir(folder.join("work"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the scratch folder and the shell are there");
    child.wait().expect("the scratch folder and the shell are there");
    fs::read_to_string(&record).expect("the scratch folder and the shell are there")
}

#[test]
fn what_real_shells_run_is_in_the_analysis() {
    let folder = tempfile::tempdir().unwrap();
    recorders(&folder.path().join("bin"));
    fs::create_dir(folder.path().join("work")).unwrap();
    let mut random = Random::new(15);
    let scene = scene();
    let (mut made, mut known, mut runs, mut ran) = (0, 0, 0, 0);
    let count = cases(300, 20_000);
    while known < count {
        let text = text(&mut random);
        let analysis = analyse(&text, &scene);
        made += 1;
        assert!(made < 40 * count + 1000, "of {made} texts only {known} were understood");
        if !knows_all(&analysis) {
            continue;
        }
        known += 1;
        for shell in SHELLS.iter().filter(|shell| Path::new(shell).exists()) {
            let recorded = run(shell, &text, folder.path(), runs);
            runs += 1;
            for name in recorded.lines() {
                ran += 1;
                let found = analysis.commands.iter().any(|command| command.base_name == name);
                assert!(
                    found,
                    "{shell} ran {name}, which the analysis does not know of:\n{text}\n---\n{text:?}"
                );
            }
        }
    }
    // Texts that run nothing would test nothing.
    assert!(ran > count, "{count} texts ran {ran} programs");
    println!("{count} cases");
}
