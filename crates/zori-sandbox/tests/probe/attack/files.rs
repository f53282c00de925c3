//! Files, without a shell's help.

use std::ffi::{CStr, CString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{Outcome, check};

pub fn attack(name: &str, args: &[&str]) -> Outcome {
    Some(match (name, args) {
        ("open", [path, "r"]) => File::open(path).map(drop),
        ("open", [path, _]) => OpenOptions::new().write(true).open(path).map(drop),
        ("mmap-read", [path]) => mmap(path, false),
        ("mmap-write", [path]) => mmap(path, true),
        ("path-fd", [path]) => path_fd(path),
        ("memfd-exec", [program, arg]) => memfd_exec(program, arg),
        ("sendfile", [path]) => sendfile(path),
        ("handle", [path]) => handle(path),
        ("exchange", [one, other]) => {
            let (one, other) = (CString::new(*one).unwrap(), CString::new(*other).unwrap());
            let here = libc::AT_FDCWD;
            // SAFETY: both strings end with NUL and live as long as the call.
            let done =
                unsafe { libc::renameat2(here, one.as_ptr(), here, other.as_ptr(), libc::RENAME_EXCHANGE) };
            check(done).map(drop)
        }
        ("truncate", [path]) => {
            let path = CString::new(*path).unwrap();
            // SAFETY: the string ends with NUL and lives as long as the call.
            check(unsafe { libc::truncate(path.as_ptr(), 1) }).map(drop)
        }
        ("ftruncate", [path]) => OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(1)),
        ("fallocate", [path]) => OpenOptions::new().write(true).open(path).and_then(|file| {
            // SAFETY: the call takes numbers.
            check(unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, 4096) }).map(drop)
        }),
        ("creat", [path]) => {
            let path = CString::new(*path).unwrap();
            // SAFETY: the string ends with NUL and lives as long as the call.
            check(unsafe { libc::creat(path.as_ptr(), 0o644) }).map(drop)
        }
        ("tmpfile", [dir, name]) => tmpfile(dir, name),
        ("attribute", [path]) => attribute(path, c"user.zori", b"x"),
        // A list of rights that says no more than a mode changes the mode.
        ("rights", [path]) => {
            let everybody = |tag: u8| [tag, 0, 7, 0, 0xff, 0xff, 0xff, 0xff];
            let list = [&[2, 0, 0, 0][..], &everybody(1), &everybody(4), &everybody(0x20)].concat();
            attribute(path, c"system.posix_acl_access", &list)
        }
        _ => return None,
    })
}

fn attribute(path: &str, name: &CStr, value: &[u8]) -> io::Result<()> {
    let path = CString::new(path).unwrap();
    // SAFETY: the strings end with NUL, and all of it lives as long as the call.
    let done = unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    check(done).map(drop)
}

fn mmap(path: &str, write: bool) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(write).open(path)?;
    let rights = if write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    // SAFETY: a fresh mapping of a file that is longer than the few bytes looked at.
    unsafe {
        let page = libc::mmap(std::ptr::null_mut(), 4096, rights, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let bytes = std::slice::from_raw_parts_mut(page.cast::<u8>(), 6);
        if write {
            bytes[0] = b'X';
        } else {
            io::stdout().write_all(bytes)?;
        }
    }
    Ok(())
}

/// Opens a place without the right to, and again through that descriptor.
fn path_fd(path: &str) -> io::Result<()> {
    let name = CString::new(path).unwrap();
    // SAFETY: the string ends with NUL and lives as long as the call.
    let fd = check(unsafe { libc::open(name.as_ptr(), libc::O_PATH) })?;
    let text = fs::read_to_string(format!("/proc/self/fd/{fd}"))?;
    if text.is_empty() { Err(io::Error::other("empty")) } else { Ok(()) }
}

/// Runs a program from memory that was never a file.
fn memfd_exec(program: &str, arg: &str) -> io::Result<()> {
    // SAFETY: the string ends with NUL and lives as long as the call; the descriptor is ours alone.
    let mut copy = unsafe {
        let fd = check(libc::memfd_create(c"x".as_ptr(), 0))?;
        File::from_raw_fd(i32::try_from(fd).unwrap())
    };
    copy.write_all(&fs::read(program)?)?;
    Err(Command::new(format!("/proc/self/fd/{}", copy.as_raw_fd())).arg(arg).exec())
}

fn sendfile(path: &str) -> io::Result<()> {
    let file = File::open(path)?;
    // SAFETY: the call takes numbers and a null pointer.
    let sent = unsafe { libc::sendfile(1, file.as_raw_fd(), std::ptr::null_mut(), 100) };
    if check(i64::try_from(sent).unwrap())? == 0 { Err(io::Error::other("empty")) } else { Ok(()) }
}

/// Opens a file by its number on the disk, past all directories.
fn handle(path: &str) -> io::Result<()> {
    let path = CString::new(path).unwrap();
    let mut handle = [0_u32; 34];
    handle[0] = 128;
    let mut mount = 0_i32;
    // SAFETY: the string ends with NUL, the handle has the room it says, and the descriptor is ours alone.
    let mut file = unsafe {
        check(libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::AT_FDCWD,
            path.as_ptr(),
            handle.as_mut_ptr(),
            &raw mut mount,
            0,
        ))?;
        let fd = libc::syscall(libc::SYS_open_by_handle_at, libc::AT_FDCWD, handle.as_ptr(), libc::O_RDONLY);
        File::from_raw_fd(i32::try_from(check(fd)?).unwrap())
    };
    let mut text = String::new();
    file.read_to_string(&mut text).map(drop)
}

/// Makes a file without a name, then names it.
fn tmpfile(dir: &str, name: &str) -> io::Result<()> {
    let (at, name) = (CString::new(dir).unwrap(), CString::new(format!("{dir}/{name}")).unwrap());
    // SAFETY: the strings end with NUL and live as long as the calls.
    unsafe {
        let fd = check(libc::open(at.as_ptr(), libc::O_TMPFILE | libc::O_WRONLY, 0o644))?;
        let from = CString::new(format!("/proc/self/fd/{fd}")).unwrap();
        let here = libc::AT_FDCWD;
        check(libc::linkat(here, from.as_ptr(), here, name.as_ptr(), libc::AT_SYMLINK_FOLLOW)).map(drop)
    }
}
