//! What works inside, and what is left when a command has ended.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tempfile::TempDir;
use zori_core::confine::{CommandStart, Confine, Consent, Holding};
use zori_sandbox::{
    Backend, Level, Limits, Machine, Network, PathKind, ProtectedPath, Requirement, Sandbox, Spec,
};
use zori_testkit::needs;

/// A workspace to confine commands to.
struct World {
    dir: TempDir,
}

/// Both kinds of sandbox, as far as this machine has them.
#[track_caller]
fn machines() -> Vec<Machine> {
    let complete = Machine::detect(&[]);
    let partial = Machine::from_findings(Err("not asked for".into()), complete.landlock);
    let mut machines = Vec::new();
    if needs::part_of_the_system("bubblewrap", matches!(complete.backend, Backend::Bubblewrap(_))) {
        machines.push(complete);
    }
    if needs::part_of_the_system("Landlock", partial.backend != Backend::None) {
        machines.push(partial);
    }
    machines
}

impl World {
    fn new() -> Self {
        let dir = tempfile::Builder::new().tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["ws/src", "ws/.git", "tmp", "home/.ssh"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("ws/AGENTS.real"), "real\n").unwrap();
        symlink("AGENTS.real", dir.path().join("ws/CLAUDE.md")).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn spec(&self, level: Level) -> Spec {
        let protected = [(".git", Some(PathKind::Dir)), (".vscode", None), ("CLAUDE.md", None)];
        Spec {
            level,
            roots: vec![self.path("ws")],
            caches: Vec::new(),
            temp: self.path("tmp"),
            hidden: vec![self.path("home/.ssh")],
            visible: Vec::new(),
            protected: protected
                .map(|(path, stub)| ProtectedPath { path: self.path("ws").join(path), stub })
                .into(),
            network: Network::Off,
            limits: Limits { processes: None, file_size: None, memory: None },
        }
    }

    /// Runs a command in each sandbox there is; what it prints and how it ends must be the same in all.
    #[track_caller]
    fn check(&self, level: Level, consent: Consent, sh: &str, shown: &str) {
        let run = |machine: &Machine| {
            let sandbox = Sandbox::with_machine(machine.clone(), self.spec(level), Requirement::Auto);
            run_in(&sandbox, &self.path("ws"), consent, sh)
        };
        let seen: Vec<String> = machines().iter().map(run).collect();
        assert!(seen.iter().all(|text| text == shown), "{seen:#?}");
    }
}

fn run_in(sandbox: &Sandbox, cwd: &Path, consent: Consent, sh: &str) -> String {
    let confined =
        sandbox.prepare(&CommandStart { command: sh, cwd, consent, holding: Holding::Usual }).unwrap();
    let words: Vec<_> = confined.wrapper.into_iter().chain(["sh", "-c", sh].map(Into::into)).collect();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(cwd).envs(confined.env).stdin(Stdio::null());
    let mut in_child = confined.in_child;
    // SAFETY: the closure makes two system calls, and what the sandbox promises to be async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
            in_child.as_mut().map_or(Ok(()), |enter| enter())
        });
    }
    let output = command.output().unwrap();
    drop(confined.hold);
    let text = [output.stdout, output.stderr].concat();
    format!("{}[{}]", String::from_utf8(text).unwrap(), code(output.status))
}

/// The exit code as a shell tells it: bubblewrap, which stands between, can tell of a signal in no other way.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| Some(128 + status.signal()?)).unwrap()
}

#[track_caller]
fn works(sh: &str, shown: &str) {
    World::new().check(Level::Workspace, Consent::Rule, sh, shown);
}

#[test]
fn ordinary_commands() {
    works("echo hi; echo there >&2; exit 7", "hi\nthere\n[7]");
    works(
        "echo one > src/a && mv src/a src/b && mkdir -p src/d && cat src/b; ls src; rm -r src/b src/d",
        "one\nb\nd\n[0]",
    );
    works(
        "head -1 /etc/passwd | cut -d: -f1; ls /usr/bin/env; echo x > /dev/null",
        "root\n/usr/bin/env\n[0]",
    );
    works("f=$(mktemp) && echo t > $f && cat $f && rm $f", "t\n[0]");
    works("(sleep 0; echo sub) | cat; for i in 1 2; do echo $i & done | sort; wait", "sub\n1\n2\n[0]");
    works("pwd | sed 's|.*/||'; cat CLAUDE.md", "ws\nreal\n[0]");
    works("kill -KILL $$", "[137]");
}

/// Modes and times of files that may be written: by path, by descriptor, of folders, as archivers and builds set them.
#[test]
fn modes_and_times() {
    works(
        "echo x > src/a && chmod 600 src/a && stat -c %a src/a && chmod u+x,g+r src/a && stat -c %a src/a
         touch -d @86400 src/a && stat -c %Y src/a; cp -p src/a src/b && stat -c '%a %Y' src/b
         mkdir src/d && chmod 711 src/d && stat -c %a src/d; cd src && chmod 640 ./b && stat -c %a b; touch new && ls new
         tar cf t.tar b && rm b && tar xf t.tar && stat -c '%a %Y' b; chmod 600 missing 2>/dev/null; echo $?; cd ..; rm -r src/*",
        "600\n740\n86400\n740 86400\n711\n640\nnew\n640 86400\n1\n[0]",
    );
}

/// What copies and unpacks sets the owner to whom it is already; that works, and nobody else gets a file.
#[test]
fn owners() {
    works(
        "umask 022; echo x > src/a && chown $(id -u):$(id -g) src/a; echo $?; cp -a src/a src/b; echo $?; ln -s a src/l; cp -a src/l src/m; echo $?
         chown -h $(id -u) src/l; echo $?; mkdir src/d && install -m 600 src/a src/d/c && stat -c '%a %u' src/d/c | sed \"s/ $(id -u)$/ me/\"
         chown 4242 src/a 2>/dev/null; echo $?; chgrp 4242 src/a 2>/dev/null; echo $?; rm -r src/*",
        "0\n0\n0\n0\n600 me\n1\n1\n[0]",
    );
}

#[test]
fn nothing_of_ours_is_open_inside() {
    works("exec 2>&1; ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 [0]");
}

#[test]
fn reading_only() {
    let world = World::new();
    world.check(
        Level::ReadOnly,
        Consent::Rule,
        "echo x 2>/dev/null > src/a; cat CLAUDE.md; echo t > $TMPDIR/x && cat $TMPDIR/x",
        "real\nt\n[0]",
    );
    assert!(!world.path("ws/src/a").exists());
}

/// An approved call has the network (DECISIONS 38); the same one without approval does not.
#[test]
fn a_person_gives_the_network() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sh = format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}' 2>/dev/null && echo in",
        listener.local_addr().unwrap().port()
    );
    world.check(Level::Workspace, Consent::Rule, &sh, "[1]");
    world.check(Level::Workspace, Consent::Person, &sh, "in\n[0]");
}

/// Stubs are gone, and a link that was replaced is back.
#[test]
fn nothing_is_left_behind() {
    let world = World::new();
    world.check(
        Level::Workspace,
        Consent::Rule,
        "{ rm -f CLAUDE.md; echo evil > CLAUDE.md; } 2>/dev/null; exit 0",
        "[0]",
    );
    let mut names: Vec<_> = fs::read_dir(world.path("ws"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".git", "AGENTS.real", "CLAUDE.md", "src"]);
    assert_eq!(fs::read_link(world.path("ws/CLAUDE.md")).unwrap(), Path::new("AGENTS.real"));
}

#[test]
fn required_and_missing_is_refused() {
    let world = World::new();
    let refusal = |landlock| {
        let machine = Machine::from_findings(Err("bubblewrap is not installed".into()), landlock);
        let sandbox = Sandbox::with_machine(machine, world.spec(Level::Workspace), Requirement::Required);
        let start = CommandStart {
            command: "true",
            cwd: Path::new("/"),
            consent: Consent::Rule,
            holding: Holding::Usual,
        };
        sandbox.prepare(&start).map(|_| ()).unwrap_err().to_string()
    };
    let way_out = "bubblewrap is not installed; install the package `bubblewrap` (apt, dnf, pacman, zypper and apk all \
                   call it so), take what there is with `sandbox = \"auto\"`, or do without with `--sandbox off`";
    assert_eq!(refusal(0), format!("a complete sandbox is required, and this machine has none: {way_out}"));
    assert_eq!(
        refusal(7),
        format!(
            "a complete sandbox is required, and this machine offers only Landlock, which is partial: {way_out}"
        )
    );
}
