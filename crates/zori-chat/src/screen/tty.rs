//! The terminal itself: raw mode, bytes in and out without blocking, its size, and everything put back as it was (TTY-3, TTY-4).

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr, ttyname};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_tui::state::Size;
use zori_tui::terminal::modes;

/// The terminal as it was, for a signal or a panic in the middle. The process has one terminal.
static BEFORE: OnceLock<Termios> = OnceLock::new();
/// What a panic said while nobody could read it.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Whether we switched widths by cluster on.
static CLUSTERS: AtomicBool = AtomicBool::new(false);

/// Whether we are on the other screen for good.
static OTHER_SCREEN: AtomicBool = AtomicBool::new(false);
static MOUSE: AtomicBool = AtomicBool::new(false);

/// How long answers that are due are waited for at the end.
const SWALLOW: Duration = Duration::from_millis(200);
/// How long a terminal may take nothing before nobody waits for it any longer, and how long one that takes a little is waited for.
const STUCK: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
const SLOW: Duration = Duration::from_secs(5);
const HURRY: Duration = Duration::from_millis(500);
/// How much is read at once.
const READ: usize = 64 * 1024;

/// The terminal, in raw mode until it is dropped.
pub struct Tty {
    input: AsyncFd<OwnedFd>,
    /// Watched only while there is a backlog: a terminal that takes a frame would wake us otherwise, with each of them.
    output: OwnedFd,
    /// SIGWINCH, SIGTSTP and SIGCONT, as bytes.
    resized: AsyncFd<UnixStream>,
    suspended: AsyncFd<UnixStream>,
    continued: AsyncFd<UnixStream>,
    /// What the terminal has not taken yet.
    backlog: Vec<u8>,
    /// How long it is waited for with that.
    patience: Duration,
    raw: bool,
}

/// What the terminal had to say.
pub enum Read {
    Bytes(Vec<u8>),
    Resized,
    /// The program was asked to stop for a while.
    Suspended,
    /// The program was stopped without being asked, and goes on.
    Continued,
    /// The terminal took what was due.
    Written,
    /// The terminal is gone.
    End,
}

impl Tty {
    /// Takes the terminal. Must be called within a runtime.
    pub fn open() -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new(&IO_ERROR, format!("cannot use the terminal: {error}"));
        let modes = tcgetattr(io::stdin()).map_err(|errno| failed(errno.into()))?;
        BEFORE.get_or_init(|| modes);
        let input = own_description(io::stdin(), OFlags::RDONLY).map_err(failed)?;
        let output = own_description(io::stdout(), OFlags::WRONLY).map_err(failed)?;
        watched(output.as_fd(), Interest::WRITABLE).map_err(failed)?;
        let mut tty = Self {
            input: watched(input, Interest::READABLE).map_err(failed)?,
            output,
            resized: hear(SIGWINCH).map_err(failed)?,
            suspended: hear(SIGTSTP).map_err(failed)?,
            continued: hear(SIGCONT).map_err(failed)?,
            backlog: Vec::new(),
            patience: SLOW,
            raw: false,
        };
        std::panic::set_hook(Box::new(|info| {
            *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.to_string());
        }));
        tty.enter().map_err(failed)?;
        Ok(tty)
    }

    /// Switches raw mode and the reports on.
    pub fn enter(&mut self) -> io::Result<()> {
        let Some(before) = BEFORE.get() else { return Ok(()) };
        let mut raw = before.clone();
        raw.make_raw();
        // What was typed already stays: it is the user's (UI-36).
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        self.raw = true;
        self.write(modes::ENTER);
        if CLUSTERS.load(Ordering::Relaxed) {
            self.write(modes::CLUSTERS_ON);
        }
        if OTHER_SCREEN.load(Ordering::Relaxed) {
            self.write(modes::OTHER_SCREEN);
        }
        if MOUSE.load(Ordering::Relaxed) {
            self.write(modes::MOUSE_ON);
        }
        // That it goes on is known already.
        empty(self.continued.get_ref());
        Ok(())
    }

    /// Goes to the other screen, or back; whoever lets the terminal go meanwhile leaves it, and comes back to it.
    pub fn use_other_screen(&mut self, on: bool) {
        if OTHER_SCREEN.swap(on, Ordering::Relaxed) != on {
            self.write(if on { modes::OTHER_SCREEN } else { modes::OWN_SCREEN });
        }
    }

    /// Has the terminal report the mouse.
    pub fn use_mouse(&mut self) {
        MOUSE.store(true, Ordering::Relaxed);
        self.write(modes::MOUSE_ON);
    }

    /// Has the terminal count columns by cluster, as we do.
    pub fn use_clusters(&mut self) {
        CLUSTERS.store(true, Ordering::Relaxed);
        self.write(modes::CLUSTERS_ON);
    }

    /// Switches everything on again after somebody else had the terminal without our knowing.
    pub fn enter_again(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.raw) {
            self.write(&leaving());
        }
        self.write(modes::CLEAN_UP);
        self.enter()
    }

    /// Puts the terminal back as it was, for a while or for good.
    pub fn leave(&mut self) {
        if std::mem::take(&mut self.raw) {
            self.drain();
            // What it has not taken by now it never will; how it is to go on matters more.
            self.backlog.clear();
            self.write(&leaving());
            self.drain();
            self.backlog.clear();
            if let Some(before) = BEFORE.get() {
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
            }
        }
    }

    /// Returns the size of the terminal.
    pub fn size(&self) -> Size {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
                Size { rows: size.ws_row, columns: size.ws_col }
            }
            _ => Size { rows: 24, columns: 80 },
        }
    }

    /// Returns whether the terminal has taken everything, so that another frame can be drawn.
    pub fn is_free(&self) -> bool {
        self.backlog.is_empty()
    }

    /// Writes bytes, as far as the terminal takes them now; the rest waits.
    pub fn write(&mut self, bytes: &str) {
        if self.backlog.is_empty() {
            let taken = write_some(&self.output, bytes.as_bytes());
            self.backlog.extend_from_slice(&bytes.as_bytes()[taken..]);
        } else {
            self.backlog.extend_from_slice(bytes.as_bytes());
        }
    }

    /// Waits no longer for a slow terminal than for one that takes nothing: the program has been told to end.
    pub fn hurry(&mut self) {
        self.patience = HURRY;
    }

    /// Waits until the terminal has taken what is due, as long as it takes anything.
    pub fn drain(&mut self) {
        let until = Instant::now() + self.patience;
        while !self.backlog.is_empty() && Instant::now() < until {
            match poll(&mut [PollFd::new(&self.output, PollFlags::OUT)], Some(&STUCK)) {
                Ok(1..) => {}
                Err(Errno::INTR) => continue,
                Ok(_) | Err(_) => return,
            }
            let taken = write_some(&self.output, &self.backlog);
            self.backlog.drain(..taken);
            if taken == 0 {
                return;
            }
        }
    }

    /// Waits for what comes next. A wait that is dropped loses nothing.
    pub async fn next(&mut self) -> Read {
        let Self { input, output, resized, suspended, continued, backlog, .. } = self;
        loop {
            tokio::select! {
                biased;
                ready = input.readable() => {
                    let Ok(mut ready) = ready else { return Read::End };
                    match read_some(input.get_ref()) {
                        Ok(bytes) if bytes.is_empty() => return Read::End,
                        Ok(bytes) => return Read::Bytes(bytes),
                        Err(Errno::AGAIN) => ready.clear_ready(),
                        Err(Errno::INTR) => {}
                        Err(_) => return Read::End,
                    }
                }
                ready = resized.readable() => {
                    if let Ok(mut ready) = ready {
                        empty(resized.get_ref());
                        ready.clear_ready();
                        return Read::Resized;
                    }
                }
                ready = suspended.readable() => {
                    if let Ok(mut ready) = ready {
                        empty(suspended.get_ref());
                        ready.clear_ready();
                        return Read::Suspended;
                    }
                }
                ready = continued.readable() => {
                    if let Ok(mut ready) = ready {
                        empty(continued.get_ref());
                        ready.clear_ready();
                        return Read::Continued;
                    }
                }
                () = takes_more(output), if !backlog.is_empty() => {
                    let taken = write_some(output, backlog);
                    backlog.drain(..taken);
                    if backlog.is_empty() {
                        return Read::Written;
                    }
                }
            }
        }
    }

    /// Waits until the program is asked to stop for a while. Nothing else is looked at: another program has the terminal.
    pub async fn suspension(&mut self) {
        loop {
            if let Ok(mut ready) = self.suspended.readable().await {
                empty(self.suspended.get_ref());
                ready.clear_ready();
                return;
            }
        }
    }

    /// Reads what is still due of the terminal's answers, for 200 ms at most, so that the shell does not get them as keys (TTY-1). What is read
    /// goes to `took`, which says whether more is due.
    pub fn swallow(&mut self, mut took: impl FnMut(&[u8]) -> bool) {
        let until = Instant::now() + SWALLOW;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
            let input = self.input.get_ref();
            if !matches!(poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&left)), Ok(1..)) {
                return;
            }
            match read_some(input) {
                Ok(bytes) if !bytes.is_empty() => {
                    if !took(&bytes) {
                        return;
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                _ => return,
            }
        }
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.leave();
        if !std::thread::panicking() {
            // In the middle of a panic this would be another one, and the end without a word.
            let _ = std::panic::take_hook();
        } else if let Some(said) = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take() {
            zori_setup::ui::Ui::fixed_words().say(&said);
        }
    }
}

/// Returns what puts the modes back.
fn leaving() -> String {
    let clusters = if CLUSTERS.load(Ordering::Relaxed) { modes::CLUSTERS_OFF } else { "" };
    let screen = if OTHER_SCREEN.load(Ordering::Relaxed) { modes::OWN_SCREEN } else { "" };
    let mouse = if MOUSE.load(Ordering::Relaxed) { modes::MOUSE_OFF } else { "" };
    format!("{mouse}{clusters}{screen}{}", modes::LEAVE)
}

/// Puts the terminal right for a signal that ends the program. A terminal that takes nothing does not keep it.
pub fn restore() {
    let stdout = io::stdout();
    if matches!(poll(&mut [PollFd::new(&stdout, PollFlags::OUT)], Some(&Timespec::default())), Ok(1..)) {
        write_some(&stdout, format!("\r\n{}", leaving()).as_bytes());
    }
    if let Some(before) = BEFORE.get() {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
    }
}

/// Opens the terminal behind a stream once more, so that not blocking holds for us alone: the shell has the same description. Where that may not
/// be, the stream itself has to do.
fn own_description(stream: impl AsFd, flags: OFlags) -> io::Result<OwnedFd> {
    let again = ttyname(&stream, Vec::new()).and_then(|name| {
        rustix::fs::open(name, flags | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
    });
    match again {
        Ok(fd) => Ok(fd),
        Err(_) => stream.as_fd().try_clone_to_owned(),
    }
}

/// Has the runtime watch a descriptor.
#[expect(
    deprecated,
    reason = "the other constructor is unsafe code, which this crate has none of; ours live as long as what watches them"
)]
fn watched<T: std::os::fd::AsRawFd>(inner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(inner, interest)
}

/// Waits until the terminal takes more.
async fn takes_more(output: &OwnedFd) {
    match watched(output.as_fd(), Interest::WRITABLE) {
        // An error shows itself with the write.
        Ok(watched) => drop(watched.writable().await),
        // It could be watched when it was opened.
        Err(_) => std::future::pending().await,
    }
}

fn hear(signal: i32) -> io::Result<AsyncFd<UnixStream>> {
    let (reads, writes) = UnixStream::pair()?;
    reads.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(signal, writes)?;
    watched(reads, Interest::READABLE)
}

fn empty(stream: &UnixStream) {
    let mut bytes = [0; 64];
    while matches!(rustix::io::read(stream, &mut bytes), Ok(1..)) {}
}

fn read_some(input: &OwnedFd) -> Result<Vec<u8>, Errno> {
    // A description that may block is read only where something is to be read.
    let mut looked = [PollFd::new(input, PollFlags::IN)];
    if !matches!(poll(&mut looked, Some(&Timespec::default())), Ok(1..)) {
        return Err(Errno::AGAIN);
    }
    let mut bytes = vec![0; READ];
    let count = rustix::io::read(input, &mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}

fn write_some(output: &impl AsFd, bytes: &[u8]) -> usize {
    let mut taken = 0;
    while taken < bytes.len() {
        match rustix::io::write(output, &bytes[taken..]) {
            Ok(count) => taken += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            // Nobody reads any more; the end of the input tells it.
            Err(_) => return bytes.len(),
        }
    }
    taken
}
