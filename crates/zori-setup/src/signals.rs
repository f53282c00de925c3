//! SIGINT, SIGTERM and SIGHUP: the first cancels, a second SIGINT ends the program at once (INT-1, INT-2, INT-5).
//!
//! One thread waits for signals and turns them into `Input::Cancel` for the turn that runs. Nothing but flags is
//! touched inside a handler.

use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals as Iter;
use tokio::sync::mpsc;
use zori_contract::cancel::{Cancel, Cause, Ends};
use zori_contract::error::{CANCELLED, IO_ERROR};
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::event::Event;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_host::{Peer, PeerRequest};

use crate::audit::CommandRecord;

/// How long a turn may take to end after SIGTERM or SIGHUP. It cannot hear them while nobody reads its output.
const GRACE: Duration = Duration::from_secs(5);

/// The signals that arrived, and the listener for the next one.
#[derive(Clone)]
pub struct Signals {
    shared: Arc<Shared>,
    /// Whether the program goes on when whoever has this is over.
    within: bool,
}

struct Shared {
    /// A SIGINT came and nobody has dealt with it: the next one exits from within the handler.
    interrupted: Arc<AtomicBool>,
    /// The first SIGTERM or SIGHUP, else 0. It ends the program, the chat too.
    ending: AtomicI32,
    /// The time of the command is over. It ends the program, the chat too.
    expired: AtomicBool,
    /// The program is about to end by itself.
    leaving: AtomicBool,
    listener: Mutex<Listener>,
    /// What has to be done before the program dies of a signal.
    last_act: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// The audit record of the command.
    record: CommandRecord,
}

/// Receives the next signal.
enum Listener {
    /// Nobody waits; the flags are checked later.
    Nobody,
    /// A turn runs.
    Turn(mpsc::Sender<Input>),
    /// A line is awaited: a signal ends the program, and must restore the terminal itself.
    Editor(fn()),
    /// The screen hears of it and ends by itself; `restore` puts the terminal right where it does not.
    Screen { heard: mpsc::UnboundedSender<i32>, restore: fn() },
}

impl Signals {
    /// Takes the signals over, for the rest of the program's life. The command's clock is one of them.
    /// A signal that ends the program ends the record, too.
    pub fn install(cancel: &Cancel, record: &CommandRecord) -> Result<Self, Failure> {
        let failed =
            |error: std::io::Error| Failure::new(&IO_ERROR, format!("cannot handle signals: {error}"));
        let shared = Arc::new(Shared {
            interrupted: Arc::default(),
            ending: AtomicI32::new(0),
            expired: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            listener: Mutex::new(Listener::Nobody),
            last_act: Mutex::new(None),
            record: record.clone(),
        });
        // What our parent ignores, such as SIGHUP below `nohup`, stays ignored.
        let ignored = ignored_signals();
        let heard = |signal: &i32| *signal == SIGTERM || ignored & (1 << (signal - 1)) == 0;
        if heard(&SIGINT) {
            // The order matters: the second SIGINT must find the flag set by the first one.
            let code = i32::from(Exit::Interrupted.code());
            let flag = &shared.interrupted;
            signal_hook::flag::register_conditional_shutdown(SIGINT, code, flag.clone()).map_err(failed)?;
            signal_hook::flag::register(SIGINT, flag.clone()).map_err(failed)?;
        }
        // A file-size limit is then an error of the write (FS-4) and not the end of the program. A handler, unlike
        // ignoring the signal, is not inherited by children.
        signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(failed)?;
        // A parent that ignores SIGCHLD hands that down, and then no exit code of a child can be had.
        signal_hook::flag::register(SIGCHLD, Arc::default()).map_err(failed)?;
        let mut signals = Iter::new([SIGINT, SIGTERM, SIGHUP].iter().filter(|s| heard(s))).map_err(failed)?;
        let thread = shared.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .stack_size(64 * 1024)
            .spawn(move || signals.forever().for_each(|signal| thread.on_signal(signal)))
            .map_err(failed)?;
        let on_cancel = shared.clone();
        cancel.on_cancel(move |cause| match cause {
            Cause::Timeout { .. } => on_cancel.on_timeout(),
            Cause::Interrupt | Cause::Terminate => on_cancel.on_told(),
        });
        Ok(Self { shared, within: false })
    }

    /// Returns the same for something that is over before the program is, such as a demo inside a chat.
    pub fn within(&self) -> Self {
        Self { within: true, ..self.clone() }
    }

    /// Has this done before the program dies of a signal, or of the end of its time. Of several the last one counts.
    pub fn before_death(&self, act: impl FnOnce() + Send + 'static) {
        *self.shared.last_act.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(act));
    }

    /// Returns an error when a signal came before anything that could be cancelled was under way.
    pub fn check(&self) -> Result<(), Failure> {
        if self.shared.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::new(&CANCELLED, "interrupted"));
        }
        Ok(())
    }

    /// Sends cancels to a turn until the guard is dropped. What came before the turn is sent at once.
    pub fn listen(&self, inputs: mpsc::Sender<Input>) -> ListenGuard<'_> {
        // The listener first: a signal that comes after the flags were looked at must find it.
        self.shared.set_listener(Listener::Turn(inputs.clone()));
        let ending = self.shared.ending.load(Ordering::Relaxed);
        if ending != 0 {
            // The channel is new and has room.
            let _ = inputs.try_send(Input::Cancel(cause(ending)));
        } else if self.shared.expired.load(Ordering::Relaxed) {
            let _ = inputs.try_send(Input::Cancel(CancelCause::Deadline));
        } else if self.shared.interrupted.load(Ordering::Relaxed) {
            let _ = inputs.try_send(Input::Cancel(CancelCause::User));
        }
        ListenGuard { signals: self }
    }

    /// Runs a turn whose peer also receives signals.
    pub fn during<P: Peer, T>(&self, peer: &mut P, turn: impl FnOnce(&mut SignalPeer<'_, P>) -> T) -> T {
        let (sender, signals) = mpsc::channel(16);
        let _listening = self.listen(sender);
        turn(&mut SignalPeer { peer, signals })
    }

    /// Lets every signal end the program while a line is awaited; `restore` puts the terminal right. Ctrl-C in the
    /// line editor is a key, not a signal.
    pub fn while_editing(&self, restore: fn()) -> ListenGuard<'_> {
        self.shared.set_listener(Listener::Editor(restore));
        // A Ctrl-C that came just before found nobody, and means the same: without this it would be lost.
        if self.shared.interrupted.load(Ordering::Relaxed) {
            restore();
            self.shared.die(SIGINT);
        }
        ListenGuard { signals: self }
    }

    /// Tells the screen of every signal until the guard is dropped.
    pub fn to_screen(&self, heard: mpsc::UnboundedSender<i32>, restore: fn()) -> ScreenGuard {
        self.shared.set_listener(Listener::Screen { heard: heard.clone(), restore });
        if self.shared.interrupted.swap(false, Ordering::Relaxed) {
            let _ = heard.send(SIGINT);
        }
        let ending = self.shared.ending.load(Ordering::Relaxed);
        if ending != 0 {
            let _ = heard.send(ending);
        }
        ScreenGuard { shared: self.shared.clone() }
    }

    /// The program is about to end and nothing is left to cancel: the next Ctrl-C ends it at once (INT-2).
    pub fn leave(&self) {
        if self.within {
            return;
        }
        self.shared.leaving.store(true, Ordering::Relaxed);
        self.shared.interrupted.store(true, Ordering::Relaxed);
    }

    /// Returns the exit code of a signal that ends the program, if one came; the end of its time is one.
    pub fn ending(&self) -> Option<Exit> {
        if self.shared.expired.load(Ordering::Relaxed) {
            return Some(Exit::Timeout);
        }
        (self.shared.ending.load(Ordering::Relaxed) != 0).then_some(Exit::Terminated)
    }

    /// Dies of SIGHUP if that is what came, so that the parent sees it; otherwise returns.
    pub fn die_of_hangup(&self) {
        if self.shared.ending.load(Ordering::Relaxed) == SIGHUP {
            self.shared.act();
            self.shared.record.end_at_once(128 + SIGHUP as u8);
            // Restores the default action and raises the signal again.
            let _ = signal_hook::low_level::emulate_default_handler(SIGHUP);
        }
    }
}

impl Shared {
    /// Cancels the turn that runs. Says whether the program ends by itself now; where it waits for a person or for
    /// standard input it would not.
    fn on_timeout(&self) -> Ends {
        self.expired.store(true, Ordering::Relaxed);
        match &*self.listener.lock().unwrap_or_else(PoisonError::into_inner) {
            Listener::Turn(inputs) => {
                // A full channel has a cancel in it already, or a turn that reads it soon.
                let _ = inputs.try_send(Input::Cancel(CancelCause::Deadline));
                Ends::ByItself
            }
            Listener::Editor(restore) | Listener::Screen { restore, .. } => {
                restore();
                self.act();
                Ends::Never
            }
            Listener::Nobody if self.leaving.load(Ordering::Relaxed) => Ends::ByItself,
            Listener::Nobody => {
                self.act();
                Ends::Never
            }
        }
    }

    /// Says whether a program that somebody else told of a signal ends by itself now: whoever listens hears of the signal here, too.
    fn on_told(&self) -> Ends {
        match &*self.listener.lock().unwrap_or_else(PoisonError::into_inner) {
            Listener::Nobody if !self.leaving.load(Ordering::Relaxed) => Ends::Never,
            _ => Ends::ByItself,
        }
    }
}

/// A peer, and the signals that come while it attends a turn.
pub struct SignalPeer<'p, P> {
    peer: &'p mut P,
    signals: mpsc::Receiver<Input>,
}

impl<P: Peer> Peer for SignalPeer<'_, P> {
    fn ask(&mut self, request: PeerRequest) {
        self.peer.ask(request);
    }

    fn tell(&mut self, event: &Event) {
        self.peer.tell(event);
    }

    async fn next(&mut self) -> Input {
        tokio::select! {
            biased;
            Some(input) = self.signals.recv() => input,
            input = self.peer.next() => input,
        }
    }
}

/// Keeps a listener registered until it is dropped.
pub struct ListenGuard<'a> {
    signals: &'a Signals,
}

/// Keeps the screen listening until it is dropped.
pub struct ScreenGuard {
    shared: Arc<Shared>,
}

impl Drop for ScreenGuard {
    fn drop(&mut self) {
        self.shared.set_listener(Listener::Nobody);
    }
}

impl Drop for ListenGuard<'_> {
    fn drop(&mut self) {
        self.signals.shared.set_listener(Listener::Nobody);
        // The turn has dealt with it; the next Ctrl-C is a first one again.
        self.signals.shared.interrupted.store(false, Ordering::Relaxed);
    }
}

impl Shared {
    fn set_listener(&self, listener: Listener) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = listener;
    }

    /// Does what has to be done before the end.
    fn act(&self) {
        let act = self.last_act.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(act) = act {
            act();
        }
    }

    fn on_signal(self: &Arc<Self>, signal: i32) {
        // The shell says that the terminal is closed, and so does the system: the second must not cut off what the first began.
        let first = || self.ending.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if signal != SIGINT && !first() {
            return;
        }
        match &*self.listener.lock().unwrap_or_else(PoisonError::into_inner) {
            Listener::Nobody if signal == SIGINT => {}
            // Nothing is under way that could lose anything.
            Listener::Nobody => self.die(signal),
            Listener::Turn(inputs) => {
                // A full channel has a cancel in it already, or a turn that reads it soon.
                let _ = inputs.try_send(Input::Cancel(cause(signal)));
                if signal != SIGINT {
                    // Without it the turn has only its own word.
                    self.die_later(signal, || {});
                }
            }
            Listener::Editor(restore) => {
                restore();
                self.die(signal);
            }
            Listener::Screen { heard, restore } => {
                // Another one must not end the program in the handler, with the terminal as the screen has it.
                self.interrupted.store(false, Ordering::Relaxed);
                let _ = heard.send(signal);
                if signal != SIGINT {
                    self.die_later(signal, *restore);
                }
            }
        }
    }

    /// Dies of a signal when its time is over. This goes with a program that ends by itself.
    fn die_later(self: &Arc<Self>, signal: i32, restore: fn()) {
        let shared = self.clone();
        let _ = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
            std::thread::sleep(GRACE);
            restore();
            shared.die(signal);
        });
    }

    fn die(&self, signal: i32) {
        self.act();
        self.record.end_at_once(128 + signal as u8);
        if signal == SIGHUP {
            let _ = signal_hook::low_level::emulate_default_handler(SIGHUP);
        }
        let exit = if signal == SIGINT { Exit::Interrupted } else { Exit::Terminated };
        std::process::exit(i32::from(exit.code()));
    }
}

/// Returns the signal source for commands that have nothing to clean up. A second SIGINT ends the program at
/// once; a second SIGTERM changes nothing. There is no thread here: the framework has one that waits for the end of the time.
pub fn for_utility_commands() -> Result<zori_contract::world::Signals, Failure> {
    let failed = |error: std::io::Error| Failure::new(&IO_ERROR, format!("cannot handle signals: {error}"));
    let ignored = ignored_signals();
    let (mut reads, writes) = UnixStream::pair().map_err(failed)?;
    if ignored & (1 << (SIGINT - 1)) == 0 {
        let flag = Arc::default();
        // The order matters: the second SIGINT must find the flag set by the first one.
        let code = i32::from(Exit::Interrupted.code());
        signal_hook::flag::register_conditional_shutdown(SIGINT, code, Arc::clone(&flag)).map_err(failed)?;
        signal_hook::flag::register(SIGINT, flag).map_err(failed)?;
        signal_hook::low_level::pipe::register(SIGINT, writes.try_clone().map_err(failed)?)
            .map_err(failed)?;
    }
    let terminated: Arc<AtomicBool> = Arc::default();
    signal_hook::flag::register(SIGTERM, terminated.clone()).map_err(failed)?;
    signal_hook::low_level::pipe::register(SIGTERM, writes).map_err(failed)?;
    Ok(Box::new(move |time| {
        // A time that cannot be set would be none.
        reads.set_read_timeout(time).ok()?;
        loop {
            match reads.read(&mut [0]) {
                Ok(0) => return None,
                Ok(_) if terminated.load(Ordering::Relaxed) => return Some(Cause::Terminate),
                Ok(_) => return Some(Cause::Interrupt),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }))
}

/// Returns the signals our parent had us ignore, as a mask; none where the system does not tell.
fn ignored_signals() -> u64 {
    // One read has it all; a file of unknown size would be read in small steps.
    let mut status = [0; 8192];
    let read = std::fs::File::open("/proc/self/status").and_then(|mut file| file.read(&mut status));
    let status = String::from_utf8_lossy(&status[..read.unwrap_or(0)]);
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Returns what a turn hears of a signal.
pub fn cause(signal: i32) -> CancelCause {
    match signal {
        SIGTERM => CancelCause::Terminate,
        SIGHUP => CancelCause::Hangup,
        _ => CancelCause::User,
    }
}
