//! bubblewrap: a tree of mounts and namespaces of its own, built by a small program the distribution installs.
//!
//! [`find`] looks for a copy that can be trusted, [`probe`] whether it works here, [`arguments`] is its command line,
//! [`cleanup`] what is left to do when a command has ended.

mod arguments;
mod cleanup;
pub mod find;
pub mod probe;

use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::{fs, io};

use rustix::pipe::{PipeFlags, pipe_with};
use zori_core::confine::{ConfineError, Confined};

use self::cleanup::Cleanup;
use crate::layout::layout;
use crate::path_state::look_at;
use crate::privileges;
use crate::seccomp::{self, Arch, NamespaceUse, Policy};
use crate::set_aside::SetAside;
use crate::spec::{Network, Spec};
use crate::stubs::Stub;

/// Prepares a command.
pub fn prepare(
    program: &Path,
    spec: &Spec,
    network: Network,
    cwd: &Path,
    set_aside: &SetAside,
) -> Result<Confined, ConfineError> {
    let failed =
        |what: &str, error: io::Error| ConfineError(format!("cannot set up the sandbox: {what}: {error}"));
    let layout = layout(spec, &look_at);
    let mut stubs = Vec::new();
    for (path, kind) in &layout.stubs {
        stubs.extend(Stub::take(path, *kind).map_err(|error| failed(&path.display().to_string(), error))?);
    }
    let filter = seccomp::program(Arch::here()?, Policy { network, space: NamespaceUse::Own });
    let filter = filled_pipe(&seccomp::bytes(&filter)).map_err(|error| failed("filter", error))?;
    let (read, info) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed("pipe", errno.into()))?;

    let mut wrapper = vec![program.as_os_str().to_owned()];
    // A stub that could not be made leaves nothing to mount on, and nothing that a command could write.
    let mounts = layout.mounts.iter().filter(|(path, _)| fs::symlink_metadata(path).is_ok());
    wrapper.extend(arguments::isolation(network));
    wrapper.extend(arguments::tree(mounts));
    wrapper.extend(arguments::start(cwd, filter.as_raw_fd(), info.as_raw_fd()));
    let limits = spec.limits;
    Ok(Confined {
        wrapper,
        env: vec![("TMPDIR".into(), spec.temp.clone().into())],
        in_child: Some(Box::new(move || {
            privileges::keep_on_exec(filter.as_raw_fd())?;
            privileges::keep_on_exec(info.as_raw_fd())?;
            privileges::limit(&limits)
        })),
        wrapper_ends_all: true,
        hold: Box::new(Cleanup::new(read, stubs, &layout.links, layout.guarded, set_aside.clone())),
    })
}

/// Returns the reading end of a pipe that holds some bytes, fewer than a pipe can.
fn filled_pipe(bytes: &[u8]) -> io::Result<OwnedFd> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    fs::File::from(write).write_all(bytes)?;
    Ok(read)
}
