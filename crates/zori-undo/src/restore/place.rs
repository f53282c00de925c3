//! One path of a restore: temporary file, exchange, verify, unlink; back again where something is not as expected.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use zori_core::files::ClientFiles;

use crate::contents::Contents;
use crate::disk::{Bytes, Disk, Folder, Found, split};
use crate::lease::{Lease, Writers};
use crate::plan::{Reason, Step};
use crate::state::{Content, State, same};

/// What became of a path.
#[derive(Debug)]
pub(super) enum Placed {
    /// It is as it should be, as far as this step goes.
    Done,
    /// It stays as it is.
    Kept { reason: Reason, saved_as: Option<PathBuf> },
}

const fn kept(reason: Reason) -> io::Result<Placed> {
    Ok(Placed::Kept { reason, saved_as: None })
}

/// What a restore works on.
pub(super) struct Placement<'a> {
    pub(super) disk: &'a Disk,
    pub(super) contents: &'a dyn Contents,
    pub(super) client: Option<&'a dyn ClientFiles>,
}

/// A name in its folder, and the temporary one beside it.
struct Spot {
    folder: Folder,
    name: OsString,
    temp: OsString,
}

impl Placement<'_> {
    fn spot(&self, step: &Step, temp: &str) -> io::Result<Spot> {
        let (folder, name) = split(&step.path).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Spot { folder: self.disk.folder(folder)?, name, temp: temp.into() })
    }

    fn look(&self, folder: &Folder, name: &OsStr) -> io::Result<Found> {
        self.disk.look(folder, name, u64::MAX)
    }

    /// Returns whether a path is what it should become.
    pub(super) fn is_done(&self, step: &Step) -> bool {
        let look = || {
            let spot = self.spot(step, "")?;
            self.look(&spot.folder, &spot.name)
        };
        look().is_ok_and(|found| found.state().is_some_and(|now| now == step.target.as_ref()))
    }

    /// Removes a file or link.
    pub(super) fn remove(&self, step: &Step, temp: &str) -> io::Result<Placed> {
        let spot = match self.spot(step, temp) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Placed::Done),
            spot => spot?,
        };
        match self.look(&spot.folder, &spot.name)? {
            Found::Nothing => return Ok(Placed::Done),
            Found::State(now) if now.is_dir() && step.target.as_ref().is_some_and(State::is_dir) => {
                return Ok(Placed::Done);
            }
            Found::State(now) if same(Some(&now), step.expect.as_ref()) => {}
            Found::State(_) => return kept(Reason::ChangedSince),
            Found::Special => return kept(Reason::NotAFile),
        }
        match self.disk.rename_to_free(&spot.folder, &spot.name, &spot.temp) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Placed::Done),
            renamed => renamed?,
        }
        if self.unlink_if(&spot, &spot.temp, step.expect.as_ref())? {
            return Ok(Placed::Done);
        }
        self.put_back(&spot, step)
    }

    /// Replaces a file or link by another.
    pub(super) fn replace(&self, step: &Step, temp: &str) -> io::Result<Placed> {
        let spot = self.spot(step, temp)?;
        let now = match self.look(&spot.folder, &spot.name)? {
            Found::Nothing => return kept(Reason::DeletedByYou),
            Found::Special => return kept(Reason::NotAFile),
            Found::State(now) => now,
        };
        if step.target.as_ref() == Some(&now) {
            return Ok(Placed::Done);
        }
        if !same(Some(&now), step.expect.as_ref()) {
            return kept(Reason::ChangedSince);
        }
        if let (Some(State::File { content: a, .. }), Some(State::File { content: b, mode, .. })) =
            (&step.expect, &step.target)
            && a == b
        {
            self.disk.set_mode(&spot.folder, &spot.name, *mode)?;
            return Ok(Placed::Done);
        }
        let stat = self.disk.stat(&spot.folder, &spot.name)?;
        if stat.is_some_and(|stat| stat.st_nlink > 1) {
            return kept(Reason::HardLink);
        }
        if self.write_in_client(step) {
            match self.look(&spot.folder, &spot.name)? {
                Found::State(State::File { content, .. })
                    if step.target.as_ref().and_then(State::content) == Some(&content) =>
                {
                    if let Some(State::File { mode, .. }) = &step.target {
                        self.disk.set_mode(&spot.folder, &spot.name, *mode)?;
                    }
                    return Ok(Placed::Done);
                }
                // It has the text in its buffer, and the disk gets it here.
                Found::State(now) if same(Some(&now), step.expect.as_ref()) => {}
                _ => return kept(Reason::ChangedSince),
            }
        }
        if !self.stage(&spot, step)? {
            return kept(Reason::ContentGone);
        }
        match self.disk.exchange(&spot.folder, &spot.temp, &spot.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.disk.remove(&spot.folder, &spot.temp)?;
                return kept(Reason::DeletedByYou);
            }
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::NOSYS)) => {
                return self.replace_without_exchange(&spot, step);
            }
            exchanged => exchanged?,
        }
        if self.unlink_if(&spot, &spot.temp, step.expect.as_ref())? {
            return Ok(Placed::Done);
        }
        // Somebody wrote between the look and the exchange.
        self.disk.exchange(&spot.folder, &spot.temp, &spot.name)?;
        if self.unlink_if(&spot, &spot.temp, step.target.as_ref())? {
            return kept(Reason::ChangedSince);
        }
        self.save_aside(&spot, step)
    }

    /// Has the client write a file that it holds as it is expected, so that its editor shows what is there (UNDO-12). Returns
    /// whether it did. A text that an editor would not write byte for byte is written on disk only.
    fn write_in_client(&self, step: &Step) -> bool {
        let Some(client) = self.client.filter(|client| client.writes()) else { return false };
        let Some(held) = client.read(&step.path) else { return false };
        let text = |state: &Option<State>| match state.as_ref().and_then(State::content) {
            Some(Content::Stored(hash)) => {
                self.contents.get(hash).and_then(|bytes| String::from_utf8(bytes).ok())
            }
            _ => None,
        };
        let (Some(expect), Some(target)) = (text(&step.expect), text(&step.target)) else { return false };
        if target.contains('\r') || target.starts_with('\u{feff}') {
            return false;
        }
        held == expect && client.write(&step.path, &target).is_some_and(|written| written.is_ok())
    }

    /// For file systems that cannot exchange: the old file gets a second name before the new one takes its place.
    fn replace_without_exchange(&self, spot: &Spot, step: &Step) -> io::Result<Placed> {
        self.disk.remove(&spot.folder, &spot.temp)?;
        self.disk.rename_to_free(&spot.folder, &spot.name, &spot.temp)?;
        if !self.unlink_if(spot, &spot.temp, step.expect.as_ref())? {
            return self.put_back(spot, step);
        }
        self.create_at(spot, step)
    }

    /// Makes a file or link where nothing is.
    pub(super) fn create(&self, step: &Step, temp: &str) -> io::Result<Placed> {
        let spot = self.spot(step, temp)?;
        match self.look(&spot.folder, &spot.name)? {
            Found::Nothing => self.create_at(&spot, step),
            Found::State(now) if step.target.as_ref() == Some(&now) => Ok(Placed::Done),
            Found::State(_) => kept(Reason::Exists),
            Found::Special => kept(Reason::NotAFile),
        }
    }

    fn create_at(&self, spot: &Spot, step: &Step) -> io::Result<Placed> {
        if !self.stage(spot, step)? {
            return kept(Reason::ContentGone);
        }
        match self.disk.rename_to_free(&spot.folder, &spot.temp, &spot.name) {
            Ok(()) => Ok(Placed::Done),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.disk.remove(&spot.folder, &spot.temp)?;
                kept(Reason::Exists)
            }
            Err(error) => Err(error),
        }
    }

    /// Removes a folder that is empty.
    pub(super) fn remove_dir(&self, step: &Step) -> io::Result<Placed> {
        let spot = match self.spot(step, "") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Placed::Done),
            spot => spot?,
        };
        match self.look(&spot.folder, &spot.name)? {
            Found::Nothing => return Ok(Placed::Done),
            Found::State(State::Dir { .. }) => {}
            // It was a folder before a crash, and is what it should become since.
            Found::State(now) if step.target.as_ref() == Some(&now) => return Ok(Placed::Done),
            Found::State(_) | Found::Special => return kept(Reason::ChangedSince),
        }
        match self.disk.remove_dir(&spot.folder, &spot.name) {
            Ok(()) => Ok(Placed::Done),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT) => Ok(Placed::Done),
                Some(Errno::NOTEMPTY | Errno::EXIST) => kept(Reason::NotEmpty),
                _ => Err(error),
            },
        }
    }

    /// Makes a folder.
    pub(super) fn make_dir(&self, step: &Step) -> io::Result<Placed> {
        let spot = self.spot(step, "")?;
        let Some(State::Dir { mode }) = step.target else { return Ok(Placed::Done) };
        match self.look(&spot.folder, &spot.name)? {
            Found::Nothing => {
                // What belongs into it comes next; then it gets its own permissions.
                self.disk.make_dir(&spot.folder, &spot.name, mode | 0o700)?;
                Ok(Placed::Done)
            }
            // Made by us before a crash, or by somebody else meanwhile; a folder loses nothing by its permissions.
            Found::State(State::Dir { .. }) => Ok(Placed::Done),
            Found::State(_) | Found::Special => kept(Reason::Exists),
        }
    }

    /// Sets the permissions of a folder.
    pub(super) fn set_dir_mode(&self, step: &Step) -> io::Result<Placed> {
        let spot = self.spot(step, "")?;
        let Some(State::Dir { mode }) = step.target else { return Ok(Placed::Done) };
        let was_dir = step.expect.as_ref().is_some_and(State::is_dir);
        match self.look(&spot.folder, &spot.name)? {
            Found::State(State::Dir { mode: now }) if now == mode => Ok(Placed::Done),
            Found::State(now) if now.is_dir() && (Some(&now) == step.expect.as_ref() || !was_dir) => {
                self.disk.set_mode(&spot.folder, &spot.name, mode)?;
                Ok(Placed::Done)
            }
            Found::Nothing => kept(Reason::DeletedByYou),
            Found::State(_) | Found::Special => kept(Reason::ChangedSince),
        }
    }

    /// Deals with what a crash or a failure left under the temporary name: one of ours is removed, somebody's own goes back.
    pub(super) fn settle(&self, step: &Step, temp: &str) -> io::Result<Placed> {
        let spot = match self.spot(step, temp) {
            // Without the folder there is nothing in it; what cannot be opened is told when it is needed.
            Err(_) => return Ok(Placed::Done),
            Ok(spot) => spot,
        };
        let found = self.look(&spot.folder, &spot.temp)?;
        let Found::State(left) = found else { return Ok(Placed::Done) };
        if self.is_ours(&left, &spot, step)? {
            if self.unlink_if(&spot, &spot.temp, Some(&left))? {
                return Ok(Placed::Done);
            }
            return self.save_aside(&spot, step);
        }
        self.put_back(&spot, step)
    }

    /// Returns whether the store has what is under the temporary name: what was there, what shall be, or a part of that.
    fn is_ours(&self, left: &State, spot: &Spot, step: &Step) -> io::Result<bool> {
        match left {
            State::File { content, .. } => {
                let of = |state: &Option<State>| state.as_ref().and_then(State::content) == Some(content);
                if of(&step.expect) || of(&step.target) {
                    return Ok(true);
                }
                let Some(State::File { content: Content::Stored(hash), .. }) = &step.target else {
                    return Ok(false);
                };
                let left = self.disk.open(&spot.folder, &spot.temp)?;
                if let Some(mut whole) = self.contents.file(hash) {
                    return self.disk.begins(&left, &mut whole);
                }
                let Some(whole) = self.contents.get(hash) else { return Ok(false) };
                self.disk.begins(&left, &mut whole.as_slice())
            }
            State::Link { .. } => Ok([&step.expect, &step.target].contains(&&Some(left.clone()))),
            State::Dir { .. } => Ok(false),
        }
    }

    /// Writes what shall be there under the temporary name. Returns whether its content is known.
    fn stage(&self, spot: &Spot, step: &Step) -> io::Result<bool> {
        match &step.target {
            Some(State::File { content: Content::Stored(hash), mode, .. }) => {
                if let Some(file) = self.contents.file(hash) {
                    self.disk.create(&spot.folder, &spot.temp, Bytes::In(&file), *mode)?;
                    return Ok(true);
                }
                let Some(bytes) = self.contents.get(hash) else { return Ok(false) };
                self.disk.create(&spot.folder, &spot.temp, Bytes::Here(&bytes), *mode)?;
                Ok(true)
            }
            Some(State::Link { to }) => {
                self.disk.link(&spot.folder, &spot.temp, to)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Unlinks a name if it is what is expected and nobody can write to it. Returns whether it did.
    fn unlink_if(&self, spot: &Spot, name: &OsStr, expect: Option<&State>) -> io::Result<bool> {
        match expect {
            Some(State::File { content: Content::Stored(hash), mode, .. }) => {
                let stat = self.disk.stat(&spot.folder, name)?;
                let as_expected = stat.is_some_and(|stat| {
                    rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file()
                        && crate::disk::permissions(&stat) == *mode
                });
                if !as_expected {
                    return Ok(false);
                }
                let file = match self.disk.open(&spot.folder, name) {
                    // Our own file, which nobody may read: it was captured by its bytes, so this is another.
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
                    file => file?,
                };
                let (lease, writers) = Lease::take(&file);
                if writers == Writers::Some || self.disk.hash(&file)?.0 != *hash {
                    return Ok(false);
                }
                if writers == Writers::Unknown && self.disk.hash(&file)?.0 != *hash {
                    return Ok(false);
                }
                if !lease.holds() {
                    return Ok(false);
                }
                self.disk.remove(&spot.folder, name)?;
                Ok(true)
            }
            Some(link @ State::Link { .. }) => {
                let found = self.look(&spot.folder, name)?;
                if !matches!(&found, Found::State(now) if now == link) {
                    return Ok(false);
                }
                self.disk.remove(&spot.folder, name)?;
                Ok(true)
            }
            Some(State::File { .. } | State::Dir { .. }) | None => Ok(false),
        }
    }

    /// Gives what is under the temporary name its own name back.
    fn put_back(&self, spot: &Spot, step: &Step) -> io::Result<Placed> {
        match self.disk.rename_to_free(&spot.folder, &spot.temp, &spot.name) {
            Ok(()) => return kept(Reason::ChangedSince),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let now = self.look(&spot.folder, &spot.name)?;
        if step.target.is_some() && now.state() == Some(step.target.as_ref()) {
            self.disk.exchange(&spot.folder, &spot.temp, &spot.name)?;
            if self.unlink_if(spot, &spot.temp, step.target.as_ref())? {
                return kept(Reason::ChangedSince);
            }
        }
        self.save_aside(spot, step)
    }

    /// Keeps what is under the temporary name beside the path, where a person finds it.
    fn save_aside(&self, spot: &Spot, step: &Step) -> io::Result<Placed> {
        for number in 1.. {
            let mut name = spot.name.clone();
            name.push(format!(".zori-kept-{number}"));
            match self.disk.rename_to_free(&spot.folder, &spot.temp, &name) {
                Ok(()) => {
                    let saved_as = Some(step.path.with_file_name(name));
                    return Ok(Placed::Kept { reason: Reason::ChangedSince, saved_as });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("there is a number that is free")
    }
}
