//! Starts a program, waits for it, and writes its peak resident size in bytes and the microseconds of CPU it has used
//! to a file: `launch FILE PROGRAM [ARGS]`.
//!
//! A process of its own, because a new process inherits the peak of the one that started it: started from the
//! benchmark, with its megabytes of prepared replies, every program would look at least that large.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// `struct rusage` as 64-bit systems have it: the times of the program and of the kernel, each in seconds and
/// microseconds, then longs, of which the first is the peak.
#[repr(C)]
struct Usage {
    times: [i64; 4],
    peak: i64,
    rest: [i64; 13],
}

unsafe extern "C" {
    fn wait4(pid: i32, status: *mut i32, options: i32, usage: *mut Usage) -> i32;
}

fn main() {
    let mut args = std::env::args_os().skip(1);
    let (file, program) = (args.next().expect("FILE"), args.next().expect("PROGRAM"));
    let mut command = Command::new(program);
    command.args(args).process_group(0);
    let pid = command.spawn().expect("the program starts").id() as i32;
    let mut usage = Usage { times: [0; 4], peak: 0, rest: [0; 13] };
    let mut status = 0;
    // SAFETY: both pointers are to values of the shape the call fills in, and the child is ours.
    let waited = unsafe { wait4(pid, &mut status, 0, &mut usage) };
    assert_eq!(waited, pid, "the child can be waited for");
    // Linux counts kibibytes, macOS bytes.
    let bytes = if cfg!(target_os = "macos") { usage.peak } else { usage.peak * 1024 };
    // macOS has 32 bits of microseconds, and rubbish may be in the others.
    let [seconds, micros, kernel_seconds, kernel_micros] = usage.times;
    let cpu = (seconds + kernel_seconds) * 1_000_000 + (micros as i32 + kernel_micros as i32) as i64;
    std::fs::write(file, format!("{bytes} {cpu}")).expect("FILE can be written");
    std::process::exit(i32::from(status != 0));
}
