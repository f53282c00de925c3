//! SH-15: generated texts run under real shells, in a scratch folder whose `PATH` holds nothing but programs that record
//! that they ran. Every one that ran has to be in the analysis, or the analysis has to say that it does not know.
//!
//! The analysis follows the shell that will run a text (FOR-1): one for bash alone is held against bash, one for `sh`
//! against every shell that may go by that name.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use zori_shell::{Analysis, CommandEffect, Shell, ShellContext, analyse};
use zori_testkit::needs;
use zori_testkit::random::{Random, cases};
use zori_testkit::shell::{RECORDERS, text};

use crate::show::context;

/// A shell as it is called, and the arguments that make it the one that is meant.
type Called<'a> = (&'a Path, &'a [&'a str]);

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
fn run((shell, args): Called<'_>, text: &str, folder: &Path, number: usize) -> String {
    // A file of its own: what a text left in the background may still write.
    let record = folder.join(format!("record{number}"));
    fs::write(&record, "").expect("the scratch folder and the shell are there");
    let mut child = Command::new("/usr/bin/timeout")
        .args(["-s", "KILL", "2"])
        .arg(shell)
        .args(args)
        .args(["-c", text])
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

/// bash, and bash under the name of sh where no other is.
#[test]
fn what_sh_runs_is_in_the_analysis() {
    held_against(Shell::Sh, 15, &[(Path::new("/bin/sh"), &[])]);
}

#[test]
fn what_dash_runs_is_in_the_analysis_for_sh() {
    let Some(dash) = needs::program("dash") else { return };
    held_against(Shell::Sh, 16, &[(&dash, &[])]);
}

#[test]
fn what_bash_runs_is_in_the_analysis_for_sh() {
    let Some(bash) = needs::program("bash") else { return };
    held_against(Shell::Sh, 17, &[(&bash, &["--posix"]), (&bash, &[])]);
}

/// Only one reading is made here, so that nothing of the other can stand in for what it misses.
#[test]
fn what_bash_runs_is_in_the_analysis_for_bash() {
    let Some(bash) = needs::program("bash") else { return };
    held_against(Shell::Bash, 18, &[(&bash, &[])]);
}

#[expect(clippy::print_stdout, reason = "soak counts the cases")]
fn held_against(by: Shell, seed: u64, shells: &[Called<'_>]) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    recorders(&folder.path().join("bin"));
    fs::create_dir(folder.path().join("work")).expect("the folder is new");
    let mut random = Random::new(seed);
    let context = ShellContext { shell: by, ..context() };
    let (mut made, mut known, mut runs, mut ran) = (0, 0, 0, 0);
    let count = cases(150, 10_000);
    while known < count {
        let text = text(&mut random);
        let analysis = analyse(&text, &context);
        made += 1;
        assert!(made < 40 * count + 1000, "of {made} texts only {known} were understood");
        if !knows_all(&analysis) {
            continue;
        }
        known += 1;
        for called in shells {
            let recorded = run(*called, &text, folder.path(), runs);
            runs += 1;
            for name in recorded.lines() {
                ran += 1;
                let found = analysis.commands.iter().any(|command| command.base_name == name);
                assert!(
                    found,
                    "{called:?} ran {name}, which the analysis for {by:?} does not know of:\n{text}\n---\n{text:?}"
                );
            }
        }
    }
    // Texts that run nothing would test nothing.
    assert!(ran > count, "{count} texts ran {ran} programs");
    println!("{count} cases");
}
