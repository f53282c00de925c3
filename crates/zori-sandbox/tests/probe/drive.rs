//! Runs all cases against one backend, and prints a line for each that did what it should not have, then a summary.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use zori_core::confine::{CommandStart, Confine, Consent, Holding};
use zori_sandbox::{Backend, Machine, Requirement, Sandbox};

use crate::cases::{self, Case, Free, On};
use crate::outside::{self, Outside};
use crate::world::{SECRET, World};

/// Runs the cases; `backend` is `bubblewrap`, `landlock` or `none`, `user` a number to become.
pub fn drive(backend: &str, user: &str, scratch: &Path) {
    let user: u32 = user.parse().unwrap();
    // SAFETY: the call takes nothing.
    let is_root = unsafe { libc::geteuid() } == 0;
    if is_root {
        outside::own_network();
        if user != 0 {
            outside::become_user(user);
        }
    }
    let world = World { scratch: scratch.to_owned() };
    world.build();
    let found = Machine::detect(&[world.workspace()]);
    let machine = match backend {
        "bubblewrap" => found,
        "landlock" => Machine::from_findings(Err("not asked for".into()), found.landlock),
        _ => Machine::from_findings(Err("not asked for".into()), 0),
    };
    let name = match &machine.backend {
        Backend::Bubblewrap(_) => "bubblewrap",
        Backend::Landlock(_) => "landlock",
        Backend::None => "none",
    };
    if name != backend {
        println!("missing: {}", machine.explain().join("; "));
        return;
    }
    let sandbox = Sandbox::with_machine(machine, world.spec(), Requirement::Auto);
    Driver::new(world, sandbox, user).run(backend, is_root);
}

struct Driver {
    world: World,
    sandbox: Sandbox,
    outside: Outside,
    user: u32,
    /// A descriptor of the secret that was left open for children by mistake.
    leaked: i32,
}

impl Driver {
    fn new(world: World, sandbox: Sandbox, user: u32) -> Self {
        let sock = world.scratch.join("sock");
        let _ = fs::remove_dir_all(&sock);
        fs::create_dir(&sock).unwrap();
        let outside = Outside::new(&sock);
        // SAFETY: the calls take numbers. The copies are without the mark that closes them when a program starts.
        let leaked = unsafe {
            libc::dup(outside.tcp.as_raw_fd());
            libc::dup(File::open(world.secret()).unwrap().into_raw_fd())
        };
        std::env::set_current_dir(world.home()).unwrap();
        Self { world, sandbox, outside, user, leaked }
    }

    fn run(mut self, backend: &str, exclusive: bool) {
        let (mut ran, mut wrong) = (0, 0);
        let before = outside::packets();
        for case in cases::all() {
            if backend == "landlock" && case.on == On::Bubblewrap {
                continue;
            }
            ran += 1;
            let escaped = self.escaped(case);
            let expected = if backend == "none" { case.free } else { Free::Held };
            let fits = match expected {
                Free::Escapes => escaped.is_some(),
                Free::Held => escaped.is_none(),
                Free::Either => true,
            };
            if !fits {
                wrong += 1;
                println!("{}: {}", case.id, escaped.as_deref().unwrap_or("held without a sandbox"));
            }
        }
        if backend != "none" && exclusive {
            let seen = outside::packets() - before;
            println!("packets: {seen}");
        }
        println!("{ran} cases, {wrong} wrong");
    }

    /// Runs a case; returns what got out.
    fn escaped(&mut self, case: &Case) -> Option<String> {
        let before = self.world.state();
        let start = CommandStart {
            command: "",
            cwd: &self.world.workspace(),
            consent: Consent::Rule,
            holding: Holding::Usual,
        };
        let confined = self.sandbox.prepare(&start).unwrap();
        let mut child = self.spawn(case, confined.wrapper, confined.env, confined.in_child);
        let mut output = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
        child.wait().unwrap();
        drop(confined.hold);

        let mut found = Vec::new();
        let text = String::from_utf8_lossy(&output);
        if text.contains("ESCAPED") || text.contains(SECRET) {
            found.push(format!("printed {:?}", text.trim()));
        }
        let after = self.world.state();
        for (path, what) in &after {
            if before.get(path) != Some(what) {
                found.push(format!("{} is {what}", path.display()));
            }
        }
        found.extend(
            before
                .keys()
                .filter(|path| !after.contains_key(*path))
                .map(|p| format!("{} is gone", p.display())),
        );
        found.extend(self.outside.noticed().iter().map(|what| format!("{what} noticed something")));
        if case.id == "outlive" {
            found.extend(survivor());
        }
        if found.is_empty() {
            self.world.tidy();
            return None;
        }
        self.world.build();
        std::env::set_current_dir(self.world.home()).unwrap();
        Some(found.join("; "))
    }

    fn spawn(
        &self,
        case: &Case,
        wrapper: Vec<std::ffi::OsString>,
        env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
        mut in_child: Option<zori_core::confine::InChild>,
    ) -> Child {
        let words: Vec<_> = wrapper.into_iter().chain(["sh", "-c", case.sh].map(Into::into)).collect();
        let mut command = Command::new(&words[0]);
        let log = OpenOptions::new().create(true).append(true).open(self.world.scratch.join("log")).unwrap();
        command.args(&words[1..]).current_dir(self.world.workspace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let port6 = self.outside.tcp6.as_ref().map_or(1, |listener| listener.local_addr().unwrap().port());
        let scratch = self.world.scratch.display();
        command.envs(env).env_remove("ZSECRET").envs([
            ("H", self.world.home().display().to_string()),
            ("O", self.world.outside().display().to_string()),
            ("W", self.world.workspace().display().to_string()),
            ("P", self.world.scratch.join("sandbox-probe").display().to_string()),
            ("Z", std::process::id().to_string()),
            ("V", self.outside.victim.id().to_string()),
            ("U", self.user.to_string()),
            ("FD", self.leaked.to_string()),
            ("TCP", self.outside.tcp.local_addr().unwrap().port().to_string()),
            ("TCP6", port6.to_string()),
            ("UDP", self.outside.udp.local_addr().unwrap().port().to_string()),
            ("SOCK", format!("{scratch}/sock/stream")),
            ("DGRAM", format!("{scratch}/sock/datagram")),
            ("ABS", self.outside.abstract_name.clone()),
        ]);
        let confined = in_child.is_some();
        // SAFETY: the closure makes system calls only, as the sandbox promises of its own part. It does what zori's own
        // starter of commands does.
        unsafe {
            command.pre_exec(move || {
                libc::setsid();
                if confined {
                    libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
                }
                in_child.as_mut().map_or(Ok(()), |enter| enter())
            });
        }
        command.spawn().unwrap_or_else(|error: io::Error| panic!("{}: {error}", case.id))
    }
}

/// Looks for the process that was to outlive its command, which may be about to start; ends it.
fn survivor() -> Option<String> {
    (0..10).find_map(|round| {
        if round > 0 {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        found_surviving()
    })
}

fn found_surviving() -> Option<String> {
    // Its own number, since other runs of these cases may be under way.
    let sought = format!("sleep\x0098{}\0", std::process::id());
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if line == sought.as_bytes() {
            let pid: i32 = process.file_name().to_str().unwrap().parse().unwrap();
            // SAFETY: the call takes numbers.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            return Some("a process goes on".to_owned());
        }
    }
    None
}
