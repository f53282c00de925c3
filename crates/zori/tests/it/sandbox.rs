//! Commands in the sandbox, as a user asks for it. What it holds against is tested in `zori-sandbox`; here it is that a
//! run is really in it, and what is said.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};
use zori_sandbox::{Backend, Machine};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::Size;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, needs};

use crate::chat::screen::{over, type_line};
use crate::world::{command_result, with_model, world};

/// A world in which the model runs this command. `AGENTS.md` is there, and closed to commands in a sandbox. What is
/// outside of the workspace is in `/tmp` here, for which a sandbox has a place of its own.
fn bash(command: &str) -> (TestEnv, ModelServer) {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": command})),
        anthropic::text("Done."),
    ]);
    world.write("AGENTS.md", "Mine.\n");
    (world, model)
}

/// Whether commands can be confined at all, be it in part.
#[track_caller]
fn any_sandbox() -> bool {
    let backend = Machine::detect(&[]).backend;
    needs::part_of_the_system("a sandbox (bubblewrap or Landlock)", backend != Backend::None)
}

#[track_caller]
fn landlock() -> bool {
    needs::part_of_the_system("Landlock", Machine::detect(&[]).no_landlock.is_none())
}

/// What the model sees of the command.
#[track_caller]
fn result(model: &ModelServer) -> Value {
    nth_result(model, 1)
}

/// What it sees of the command in its n-th request.
#[track_caller]
fn nth_result(model: &ModelServer, nth: usize) -> Value {
    let messages = model.request(nth).messages();
    let last = messages.last().expect("a request has messages");
    json!({"data": command_result(last["content"][0]["content"].as_str().expect("a result comes last"))})
}

/// Runs a command with these flags, and returns what the model sees of it.
#[track_caller]
fn run(command: &str, flags: &[&str]) -> (TestEnv, Value) {
    let (world, model) = bash(command);
    world.run(&[&["exec", "-p", "go"], flags].concat()).success();
    (world, result(&model))
}

/// SB-1, SB-2: the workspace can be written, its protected places and everything else cannot; nothing stays behind.
#[test]
fn a_command_writes_to_its_workspace_only() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, model) = bash(
        "echo a > inside; mkdir src && echo b > src/b; echo t > $TMPDIR/t && cat $TMPDIR/t
         echo x > ../outside; echo x > AGENTS.md; mkdir .git/hooks; cat $HOME/.ssh/id_test; cat .env; ls -A",
    );
    world.write(world.home().join(".ssh/id_test"), "secret\n");
    world.write(".env", "TOKEN=secret\n");
    let run = world.run(&["exec", "-p", "go", "--sandbox", "workspace"]).success();
    assert_eq!(run.stdout(), "Done.\n");
    assert_eq!(world.read("inside") + &world.read("src/b"), "a\nb\n");
    assert!(!world.work().join("../outside").exists());
    let result = result(&model).to_string();
    assert!(result.contains(r#""stdout":"t\n"#) && !result.contains("secret"), "{result}");
    let mut left: Vec<_> = fs::read_dir(world.work()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".env", "AGENTS.md", "inside", "src"]);
    assert_eq!(world.read("AGENTS.md"), "Mine.\n");
    assert_eq!(fs::read_dir(world.tmp()).unwrap().count(), 0, "the private folder is gone");
}

/// SB-6.
#[test]
fn a_failure_that_may_be_the_sandboxs_doing_is_told_to_the_model() {
    if !needs::bubblewrap() {
        return;
    }
    let (_, closed) = run("echo x > AGENTS.md", &["--sandbox", "workspace"]);
    let note = closed["data"]["note"].as_str().unwrap();
    assert!(
        note.starts_with("this may be because of the sandbox (workspace, bubblewrap): it lets"),
        "{note}"
    );
    assert_eq!(run("exit 3", &["--sandbox", "workspace"]).1["data"]["note"], json!(null));
}

#[test]
fn a_read_only_workspace() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, result) =
        run("echo x > file; echo y > $TMPDIR/y && cat $TMPDIR/y", &["--sandbox", "read-only"]);
    assert_eq!(result["data"]["stdout"], "y\n");
    assert!(!world.work().join("file").exists());
}

#[test]
fn neither_network_nor_other_processes() {
    if !needs::bubblewrap() {
        return;
    }
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    outside.set_nonblocking(true).unwrap();
    let port = outside.local_addr().unwrap().port();
    let command =
        format!("ls -d /proc/[0-9]* | wc -l; bash -c 'echo hi > /dev/tcp/127.0.0.1/{port}'; echo $?");
    let (_, inside) = run(&command, &["--sandbox", "workspace"]);
    let stdout = inside["data"]["stdout"].as_str().unwrap();
    let [processes, code] = stdout.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{stdout}") };
    assert!(processes.parse::<u32>().unwrap() < 8, "{stdout}");
    assert_eq!(code, "1");
    assert!(outside.accept().is_err());
    // The same without a sandbox gets through, so the test can tell.
    let (_, free) = run(&command, &["--sandbox", "off"]);
    assert!(free["data"]["stdout"].as_str().unwrap().ends_with("\n0\n"), "{free}");
    assert!(outside.accept().is_ok());
}

#[test]
fn the_network_by_setting() {
    if !needs::bubblewrap() {
        return;
    }
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let (world, model) = bash(&format!("bash -c 'echo hi > /dev/tcp/127.0.0.1/{port}'"));
    world.write(world.base().join("config.toml"), "sandbox = \"required\"\nsandbox_network = \"on\"\n");
    world.run(&["exec", "-p", "go"]).success();
    assert_eq!(result(&model)["data"]["exit_code"], 0);
}

/// The second command finds a lock free that something the first has left in the background would hold.
#[test]
fn what_stays_in_the_background_ends_with_its_command() {
    if !needs::bubblewrap() {
        return;
    }
    let leave = "flock lock sleep 600 > /dev/null 2>&1 & while flock -n lock true; do sleep 0.01; done";
    let look = "flock -n lock echo free || echo held";
    for (sandbox, found) in [("workspace", "free\n"), ("off", "held\n")] {
        let call = |id, command| anthropic::tool_use(id, "bash", json!({ "command": command }));
        let (world, model) = with_model([call("t0", leave), call("t1", look), anthropic::text("Done.")]);
        world.run(&["exec", "-p", "go", "--sandbox", sandbox]).success();
        assert_eq!(nth_result(&model, 2)["data"]["stdout"], found, "{sandbox}");
    }
}

/// DECISIONS 12: off under yolo unless asked for.
#[test]
fn off_unless_asked_for() {
    for flags in [&[][..], &["--sandbox", "off"], &["--permission-mode", "yolo"]] {
        let (world, _) = run("echo x > ../outside", flags);
        assert_eq!(world.read("../outside"), "x\n", "{flags:?}");
    }
}

/// DECISIONS 12: on in the other modes; what a rule lets run is still confined (SB-6).
#[test]
fn on_in_the_other_modes() {
    if !any_sandbox() {
        return;
    }
    let (world, model) = bash("sh ./script");
    world.write("script", "echo x > AGENTS.md\n");
    let flags = ["--permission-mode", "default", "--allow", "Bash(sh ./script)"];
    world.run(&[&["exec", "-p", "go"], &flags[..]].concat()).success();
    assert_eq!(result(&model)["data"]["exit_code"], 2, "{}", result(&model));
    assert_eq!(world.read("AGENTS.md"), "Mine.\n");
}

#[test]
fn a_cache_of_the_users() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, model) = bash("echo x > $HOME/.cache/x; echo y > $HOME/y");
    fs::create_dir(world.home().join(".cache")).unwrap();
    world
        .write(world.base().join("config.toml"), "sandbox = \"required\"\nsandbox_caches = [\"~/.cache\"]\n");
    world.run(&["exec", "-p", "go"]).success();
    assert_eq!(world.read("../home/.cache/x"), "x\n");
    assert!(!world.home().join("y").exists(), "{}", result(&model));
}

/// TRUST-4: a project cannot switch it off.
#[test]
fn a_project_cannot_weaken_it() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, model) = bash("echo x > AGENTS.md");
    world.write(".zori/config.toml", "sandbox = \"off\"\nsandbox_network = \"on\"\n");
    let run = world.run(&["exec", "-p", "go", "--sandbox", "workspace"]).success();
    assert!(
        run.stderr().contains("`sandbox`, `sandbox_network` in $WORK/.zori/config.toml is ignored"),
        "{run}"
    );
    // Which number says that a redirect failed is the shell's choice.
    assert_ne!(result(&model)["data"]["exit_code"], 0);
}

#[test]
fn values_that_mean_nothing() {
    let world = world();
    insta::assert_snapshot!(world.run(&["exec", "-p", "x", "--sandbox", "on"]), @"
    ------- stderr -------
    Error: `--sandbox` takes workspace, read-only or off, not `on`
    [exit status: 2]
    ");
    world.write(world.base().join("config.toml"), "sandbox = \"yes\"\n");
    assert_eq!(world.run(&["exec", "-p", "x"]).code(), Some(2));
}

/// A copy of `bwrap` inside the workspace is not trusted, so a workspace that has the system's has no complete sandbox.
#[test]
fn required_and_not_there() {
    let (world, model) = with_model::<anthropic::Message>([]);
    let run = world.run(&["exec", "-p", "go", "--root", "/usr", "--sandbox", "workspace"]);
    assert_eq!(run.code(), Some(4), "{run}");
    let said = run.stderr();
    assert!(said.starts_with("Error: a complete sandbox is required, and this machine "), "{said}");
    assert!(said.contains("or do without with `--sandbox off`"), "{said}");
    assert_eq!(model.requests().len(), 0);
    assert_eq!(fs::read_dir(world.tmp()).unwrap().count(), 0);
}

#[test]
fn the_chat_says_what_is_in_force() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, _) = with_model::<anthropic::Message>([]);
    let mut pty = world.pty(&["--no-save", "--sandbox", "workspace"], Size::CLASSIC);
    type_line(&mut pty, 1, "/status");
    type_line(&mut pty, 2, "/quit");
    let text = over(pty);
    assert!(text.contains("\nSandbox: workspace, no network, by bubblewrap\n"), "{text}");
    assert!(text.contains("\nSandbox:  workspace, no network, by bubblewrap\n"), "{text}");
}

/// P-9.
#[test]
fn the_private_folder_is_private() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, model) = bash("stat -c %a $TMPDIR");
    world.run(&["exec", "-p", "go", "--sandbox", "workspace"]).success();
    assert_eq!(result(&model)["data"]["stdout"], "700\n");
    assert_eq!(fs::metadata(world.tmp()).unwrap().permissions().mode() & 0o700, 0o700);
}

/// A world with a repository that has one commit.
fn repository(command: &str) -> (TestEnv, ModelServer) {
    let (world, model) = bash(command);
    world.write("a.txt", "one\n");
    git(&world, &["init", "-q", "-b", "main"]);
    git(&world, &["config", "user.name", "A"]);
    git(&world, &["config", "user.email", "a@example.com"]);
    git(&world, &["add", "-A"]);
    git(&world, &["commit", "-q", "-m", "first"]);
    world.write("a.txt", "two\n");
    (world, model)
}

/// Runs git outside of any sandbox.
#[track_caller]
fn git(world: &TestEnv, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(world.work()).env("HOME", world.home());
    let output = command.env("GIT_CONFIG_NOSYSTEM", "1").output().expect("git is installed");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("git prints text")
}

/// `.git` is written by git itself. What git runs stays closed to it, and what that leaves behind is gone.
#[test]
fn git_alone_writes_its_repository() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, model) = repository(
        "git add -A && git commit -q -m second && git checkout -q -b topic && git tag v1 && git stash list && git log --oneline",
    );
    world.run(&["exec", "-p", "go", "--sandbox", "workspace"]).success();
    assert_eq!(result(&model)["data"]["exit_code"], 0, "{}", result(&model));
    assert_eq!(git(&world, &["log", "--format=%s %D"]), "second HEAD -> topic, tag: v1, main\nfirst \n");
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
    for left in ["commondir", "config.worktree", "modules", "worktrees"] {
        assert!(!world.work().join(".git").join(left).exists(), "{left}");
    }
}

/// Nothing of a protected place that is missing is seen inside: neither by a listing nor by git. What a command makes there
/// is beside it afterwards, under a name nobody looks for, and the model is told.
#[test]
fn nothing_phantom_is_seen() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, model) = repository(
        "ls -A; git status --porcelain; for f in .yarnrc .yarnrc.yml .npmrc CLAUDE.md .vscode .cargo; do test -e $f && echo $f; done
         echo evil > CLAUDE.md; mkdir -p .vscode .cargo && echo evil > .vscode/tasks.json && echo x > .cargo/config.toml",
    );
    world.run(&["exec", "-p", "go", "--sandbox", "workspace"]).success();
    let seen = result(&model);
    assert_eq!(seen["data"]["stdout"], ".git\nAGENTS.md\na.txt\n M a.txt\n", "{seen}");
    let note = seen["data"]["note"].as_str().unwrap_or_default();
    assert!(note.contains("/CLAUDE.md` (now `CLAUDE.md.set-aside`)"), "{seen}");
    let mut left: Vec<_> = fs::read_dir(world.work()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".cargo", ".git", ".vscode.set-aside", "AGENTS.md", "CLAUDE.md.set-aside", "a.txt"]);
    assert!(!world.work().join(".cargo/config.toml").exists());
    assert_eq!(world.read("CLAUDE.md.set-aside"), "evil\n");
}

/// A tracked `.env` is hidden from commands and not from git alone: it would look emptied, and be committed as that.
#[test]
fn a_tracked_secret_does_not_break_git() {
    if !needs::bubblewrap() {
        return;
    }
    let calls =
        ["git status --porcelain", "git diff --stat", "git add -A && git commit -q -m second", "cat .env"];
    let calls: Vec<_> = calls
        .iter()
        .enumerate()
        .map(|(at, command)| anthropic::tool_use(&format!("t{at}"), "bash", json!({ "command": command })))
        .chain([anthropic::text("Done.")])
        .collect();
    let (world, model) = with_model(calls);
    world.write("AGENTS.md", "Mine.\n");
    world.write("a.txt", "one\n");
    for name in [".env", ".env.production"] {
        world.write(name, "TOKEN=hidden-from-commands\n");
    }
    git(&world, &["init", "-q", "-b", "main"]);
    git(&world, &["config", "user.name", "A"]);
    git(&world, &["config", "user.email", "a@example.com"]);
    git(&world, &["add", "-A"]);
    git(&world, &["commit", "-q", "-m", "first"]);
    world.write("a.txt", "two\n");
    world.run(&["exec", "-p", "go", "--sandbox", "workspace"]).success();
    assert_eq!(nth_result(&model, 1)["data"]["stdout"], " M a.txt\n");
    let diff = nth_result(&model, 2);
    assert!(
        diff["data"]["stdout"]
            .as_str()
            .unwrap()
            .ends_with(" 1 file changed, 1 insertion(+), 1 deletion(-)\n")
    );
    assert_eq!(nth_result(&model, 3)["data"]["exit_code"], 0);
    assert_eq!(git(&world, &["show", "--stat", "--format=%s"]).lines().next(), Some("second"));
    assert_eq!(git(&world, &["show", "HEAD:.env"]), "TOKEN=hidden-from-commands\n");
    let read = nth_result(&model, 4);
    assert!(!read.to_string().contains("hidden-from-commands") && read["data"]["exit_code"] != 0, "{read}");
}

/// Of zori's own state a command reads the skills and nothing else, also of what comes to be after the first one.
#[test]
fn the_base_directory_is_not_read() {
    if !any_sandbox() {
        return;
    }
    let look = "cat $BASE/skills/a/SKILL.md; cat $BASE/config.toml $BASE/later; ls $BASE/sessions; echo x > $BASE/skills/b";
    let call = |id, command: &str| anthropic::tool_use(id, "bash", json!({ "command": command }));
    let (world, model) = with_model([call("t0", "true"), call("t1", look), anthropic::text("Done.")]);
    world.write(world.base().join("skills/a/SKILL.md"), "a skill\n");
    world.write(world.base().join("config.toml"), "sandbox = \"auto\"\n");
    let mut command = world.cmd(&["exec", "-p", "go"]);
    command.env("BASE", world.base());
    world.start(command, Stdin::Null, Stdout::Captured).finish().success();
    let seen = nth_result(&model, 2);
    assert_eq!(seen["data"]["stdout"], "a skill\n", "{seen}");
    assert!(!world.base().join("skills/b").exists());
}

/// `plan` lets nothing be changed, also where it comes to hold in the middle of a chat that began without a sandbox.
#[test]
fn plan_in_the_middle_of_a_chat_confines() {
    if !needs::bubblewrap() {
        return;
    }
    let call = |id, command: &str| anthropic::tool_use(id, "bash", json!({ "command": command }));
    let (world, model) = with_model([
        call("t0", "echo free > ../outside"),
        anthropic::text("One."),
        call("t1", "echo $TMPDIR"),
        anthropic::text("Two."),
    ]);
    let mut pty = world.pty(&["--plain", "--no-save"], Size { rows: 50, cols: 160 });
    type_line(&mut pty, 1, "go");
    type_line(&mut pty, 2, "/mode plan");
    type_line(&mut pty, 3, "look");
    type_line(&mut pty, 4, ":q");
    let text = over(pty);
    assert!(text.contains("\nSandbox: read-only, no network, by bubblewrap\n"), "{text}");
    assert_eq!(world.read("../outside"), "free\n");
    let seen = nth_result(&model, 3);
    assert!(seen["data"]["stdout"].as_str().unwrap().contains("/zori-box-"), "{seen}");
}

/// A hook of the user's may run what the model wrote: it gets at no other hook, and not at what git runs.
#[test]
fn what_git_runs_is_closed_to_its_hooks() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, model) = repository("git commit -q -a -m second");
    let hook = world.write(".git/hooks/pre-commit", "#!/bin/sh\nsh ./check.sh\n");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let before = world.read(".git/config");
    world.write(
        "check.sh",
        "cd .git; for f in hooks/post-checkout hooks/pre-commit config config.worktree commondir modules/x worktrees/x; do
           (echo x > $f) && echo $f is open; test -e $f && rm -f $f && echo $f is gone
         done; mv hooks elsewhere && echo hooks can be moved; cd ..; mv .git moved && echo all can be moved
         echo x > .git/from-a-hook; exit 0
",
    );
    world.run(&["exec", "-p", "go", "--sandbox", "workspace"]).success();
    let seen = result(&model);
    assert_eq!(seen["data"]["exit_code"], 0, "{seen}");
    assert!(!seen.to_string().contains(" is open"), "{seen}");
    assert!(!seen.to_string().contains(" is gone") && !seen.to_string().contains("can be moved"), "{seen}");
    assert_eq!(world.read(".git/from-a-hook"), "x\n", "the hook ran, with the repository open");
    assert_eq!(world.read(".git/config"), before);
    assert_eq!(world.read(".git/hooks/pre-commit"), "#!/bin/sh\nsh ./check.sh\n");
    assert!(!world.work().join(".git/hooks/post-checkout").exists());
    assert!(!world.work().join(".git/commondir").exists());
    assert_eq!(git(&world, &["log", "--format=%s"]), "second\nfirst\n");
}

/// SB-6: the way out is to let git be alone.
#[test]
fn git_beside_other_programs_is_told_how_to_write() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, model) = repository("sh ./x; git commit -q -a -m second");
    world.run(&["exec", "-p", "go", "--sandbox", "workspace"]).success();
    let note = result(&model)["data"]["note"].as_str().unwrap().to_owned();
    assert!(note.ends_with("with literal words: make it a call of its own"), "{note}");
    assert_eq!(git(&world, &["log", "--format=%s"]), "first\n");
}

/// DECISIONS 38: `-y` is nobody who looked at the command, so the network stays off.
#[test]
fn yes_in_advance_brings_no_network() {
    if !any_sandbox() {
        return;
    }
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    outside.set_nonblocking(true).unwrap();
    let port = outside.local_addr().unwrap().port();
    let (world, model) = bash("bash ./script");
    world.write("script", format!("echo hi > /dev/tcp/127.0.0.1/{port}\n"));
    world.run(&["exec", "-y", "-p", "go", "--permission-mode", "default"]).success();
    assert_eq!(result(&model)["data"]["exit_code"], 1, "{}", result(&model));
    assert!(outside.accept().is_err());
}

/// DECISIONS 38 and DEC-4: a person sees what the command runs in, and their yes brings the network.
#[test]
fn a_person_brings_the_network() {
    if !needs::bubblewrap() {
        return;
    }
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let (world, model) = bash("bash ./script");
    world.write("script", format!("echo hi > /dev/tcp/127.0.0.1/{port}\n"));
    let mut pty = world.pty(&["--no-save", "--permission-mode", "default"], Size { rows: 50, cols: 160 });
    type_line(&mut pty, 1, "go");
    pty.wait_for("  sandbox: workspace, network, by bubblewrap");
    pty.wait_for("[A]pprove / [R]eject / [E]xplain? ");
    pty.send("y\r");
    type_line(&mut pty, 2, ":q");
    let text = over(pty);
    assert!(text.contains("\nSandbox: workspace, no network, by bubblewrap\n"), "{text}");
    assert_eq!(result(&model)["data"]["exit_code"], 0, "{}", result(&model));
}

/// DEC-4: a program that answers questions is told the same; its yes is nobody's who looked.
#[test]
fn a_program_is_told_what_a_command_runs_in() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, _model) = bash("sh ./script");
    let mut run = world.start(
        world.cmd(&["--json", "--no-save", "--permission-mode", "default"]),
        Stdin::Open,
        Stdout::Captured,
    );
    run.write_stdin("go\n").wait_for_stdout("elicitation");
    let asked = run.stdout();
    assert!(asked.contains(r"\n  sandbox: workspace, no network, by bubblewrap\n  | sh ./script"), "{asked}");
    run.close_stdin();
    run.finish();
}

/// AUD-1.
#[test]
fn what_the_sandbox_denies_is_in_the_audit_log() {
    if !needs::bubblewrap() {
        return;
    }
    let (world, _) = run("echo x > AGENTS.md", &["--sandbox", "workspace"]);
    let shown = world.run(&["audit-log", "--event", "sandbox", "--output", "plain"]).success().stdout();
    assert!(shown.trim_end().ends_with("  sandbox   bash  echo x > AGENTS.md  (files)"), "{shown}");
    assert_eq!(shown.lines().count(), 1, "{shown}");
    let (world, _) = run("exit 3", &["--sandbox", "workspace"]);
    let none = world.run(&["audit-log", "--event", "sandbox", "--output", "plain"]).success();
    assert!(!none.stdout().contains("bash"), "{none}");
}

/// The machine with nothing in the place of `bwrap`: the rest of it is Landlock's.
fn without_bubblewrap(world: &TestEnv, args: &[&str]) -> Command {
    let inner = world.cmd(args);
    if !matches!(Machine::detect(&[]).backend, Backend::Bubblewrap(_)) {
        return inner;
    }
    let mut command = Command::new("bwrap");
    command.args(["--dev-bind", "/", "/", "--bind", "/dev/null", "/usr/bin/bwrap", "--"]);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(world.work()).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// SB-3: Landlock confines in part, and is called so.
#[test]
fn landlock_confines_in_part() {
    if !landlock() {
        return;
    }
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    outside.set_nonblocking(true).unwrap();
    let port = outside.local_addr().unwrap().port();
    let (world, model) = bash(&format!(
        "echo a > src/a; echo t > $TMPDIR/t && cat $TMPDIR/t; cat $HOME/.ssh/id_test; cat .env
         bash -c 'echo hi > /dev/tcp/127.0.0.1/{port}'; echo x > .git/config; echo x > ../outside"
    ));
    world.write(world.home().join(".ssh/id_test"), "secret\n");
    world.write(".env", "TOKEN=secret\n");
    world.write(".git/config", "[core]\n");
    fs::create_dir(world.work().join("src")).unwrap();
    world.write(world.base().join("config.toml"), "sandbox = \"auto\"\n");
    let command = without_bubblewrap(&world, &["exec", "-p", "go"]);
    world.start(command, Stdin::Null, Stdout::Captured).finish().success();
    let seen = result(&model);
    assert_eq!(seen["data"]["stdout"], "t\n", "{seen}");
    assert_ne!(seen["data"]["exit_code"], 0, "{seen}");
    let note = seen["data"]["note"].as_str().unwrap();
    assert!(note.starts_with("this may be because of the sandbox (workspace, landlock): it lets"), "{note}");
    assert_eq!(world.read("src/a") + &world.read(".git/config"), "a\n[core]\n");
    assert!(!world.work().join("../outside").exists() && outside.accept().is_err());
    assert_eq!(fs::read_dir(world.tmp()).unwrap().count(), 0, "the private folder is gone");
}

/// Landlock has no processes of its own to end: what left its group ends with zori (DECISIONS 53).
#[test]
fn daemons_end_with_the_program_under_landlock() {
    if !landlock() {
        return;
    }
    let (world, _model) = bash(
        "touch lock; setsid -f flock src/lock sleep 600 > /dev/null 2>&1; while flock -n src/lock true; do :; done",
    );
    fs::create_dir(world.work().join("src")).unwrap();
    let lock = world.write("src/lock", "");
    world.write(world.base().join("config.toml"), "sandbox = \"auto\"\n");
    let command = without_bubblewrap(&world, &["exec", "-p", "go"]);
    world.start(command, Stdin::Null, Stdout::Captured).finish().success();
    let file = fs::File::open(lock).unwrap();
    assert!(
        zori_testkit::wait::poll(zori_testkit::wait::BOUND, || file.try_lock().ok()).is_some(),
        "it goes on"
    );
}

/// `required` wants a complete one.
#[test]
fn landlock_is_not_enough_where_a_sandbox_is_required() {
    if !landlock() {
        return;
    }
    let (world, model) = with_model::<anthropic::Message>([]);
    let command = without_bubblewrap(&world, &["exec", "-p", "go", "--sandbox", "workspace"]);
    let said = world.start(command, Stdin::Null, Stdout::Captured).finish().to_string();
    // A copy that was hidden is there and cannot be used; on a machine without one there is nothing.
    insta::assert_snapshot!(said.replace("/usr/bin/bwrap: is not a program", "bubblewrap is not installed"), @r#"
    ------- stderr -------
    Error: a complete sandbox is required, and this machine offers only Landlock, which is partial: bubblewrap is not installed
    Hint: install the package `bubblewrap` (apt, dnf, pacman, zypper and apk all call it so), take what there is with `sandbox = "auto"`, or do without with `--sandbox off`
    [exit status: 4]
    "#);
    assert_eq!(model.count(), 0);
}
