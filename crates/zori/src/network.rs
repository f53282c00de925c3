//! What a run's requests go through: the network, the network with a recorder before it (`--record`), or a recording
//! in place of it (`--replay`). The model and the tools share it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_contract::error::{ALREADY_EXISTS, VALIDATION_ERROR};
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::input::Prompt;
use zori_core::transport::Transport;
use zori_providers::http::roots::Roots;
use zori_providers::http::{HttpOptions, HttpTransport, Proxies};
use zori_providers::recording::player::{Departure, Folders, Player, Strictness};
use zori_providers::recording::recorder::{Recorder, RecordingTransport};
use zori_providers::recording::secrets::Secrets;
use zori_providers::recording::{Recorded, Recording, Shape, Start};

use crate::args::LowArgs;
use crate::clock::SystemClock;
use crate::commands::Cx;
use crate::error::{RECORDING_UNUSABLE, SETTING_INVALID};
use crate::settings::Settings;
use crate::ui::Ui;

/// A recording that is longer than this is none that a person waits for.
const MAX_RECORDING: u64 = 1 << 30;

/// What `--record` and `--replay` ask for.
pub enum Tape {
    /// Neither.
    None,
    /// A recording is written to this file.
    Record(PathBuf),
    /// This traffic stands for the network.
    Replay(Vec<Recorded>, Folders, Strictness),
}

/// The way to the model and to the web.
pub struct Network {
    /// Who sends.
    pub transport: Arc<dyn Transport>,
    /// Who sends what is nobody's business but ours: logins are renewed here, past the recorder.
    pub private: Arc<dyn Transport>,
    end: End,
}

/// What is at the other end of it.
enum End {
    Live,
    Recorded(Arc<Recorder>, PathBuf),
    Replayed(Arc<Player>),
}

impl Network {
    /// Opens it. The file of a recording is made here, so nothing that could be refused may come after this.
    pub fn open(cx: &Cx<'_>, settings: &Settings) -> Result<Self, Failure> {
        Ok(match &settings.tape {
            Tape::None => {
                let transport = http_to(&settings.choice.base_url)?;
                Self { private: transport.clone(), transport, end: End::Live }
            }
            Tape::Record(path) => {
                let inner = http_to(&settings.choice.base_url)?;
                let recorder = Arc::new(recorder(cx, settings, path)?);
                let transport = Arc::new(RecordingTransport::new(inner.clone(), recorder.clone()));
                Self { transport, private: inner, end: End::Recorded(recorder, path.clone()) }
            }
            Tape::Replay(traffic, folders, strictness) => {
                let player = Arc::new(Player::new(traffic.clone(), folders.clone(), *strictness));
                Self { transport: player.clone(), private: player.clone(), end: End::Replayed(player) }
            }
        })
    }

    /// Takes down what the user said and showed.
    pub fn prompt(&self, prompt: &Prompt) {
        if let End::Recorded(recorder, _) = &self.end {
            recorder.prompt(prompt);
        }
    }

    /// Says what a turn has brought to light; returns whether there is more to replay.
    pub fn turn_over(&self, ui: &mut Ui) -> bool {
        match &self.end {
            End::Live => {}
            End::Recorded(recorder, path) => {
                if let Some(error) = recorder.take_failure() {
                    let path = path.display();
                    ui.warn(&format!("Failed to write the recording: {error}; {path} ends before that"));
                }
            }
            End::Replayed(player) => {
                player.take_notes().iter().for_each(|note| ui.warn(note));
                let Some(departure) = player.departure() else { return true };
                if departure == Departure::ToolResult {
                    ui.say("Hint: tools really run on a replay: start it where the files are as they were");
                }
                if departure != Departure::Beyond {
                    ui.say("Hint: `--replay-lenient` goes on with the recorded answers");
                }
                return false;
            }
        }
        true
    }

    /// Ends it. A replay that has left requests over is not the recorded run.
    pub fn close(&self, ui: &mut Ui) -> Exit {
        match &self.end {
            // The end of an answer may be written after its turn.
            End::Recorded(..) => {
                self.turn_over(ui);
                Exit::Success
            }
            End::Replayed(player) if player.departure().is_none() && player.unasked() > 0 => {
                let rest = match player.unasked() {
                    1 => "1 more request".to_owned(),
                    n => format!("{n} more requests"),
                };
                ui.say(&format!("Error [replay]: the recording has {rest} that this run did not make"));
                Exit::General
            }
            End::Live | End::Replayed(_) => Exit::Success,
        }
    }
}

/// HTTP with the embedded certificate authorities, and those of `SSL_CERT_FILE` if it is set.
pub fn http() -> Result<Arc<dyn Transport>, Failure> {
    http_to("https:")
}

/// The same for a run whose first request goes to this address: without TLS nobody waits for the file to be understood.
fn http_to(address: &str) -> Result<Arc<dyn Transport>, Failure> {
    let roots = match std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()) {
        None => Roots::embedded(),
        Some(path) => {
            let unusable = |why: String| {
                let message = format!("cannot use SSL_CERT_FILE {}: {why}", path.display());
                Failure::new(&SETTING_INVALID, message)
            };
            let pem = std::fs::read(&path).map_err(|error| unusable(error.to_string()))?;
            match address.starts_with("http:") {
                true => Roots::with_pem_later(pem),
                false => Roots::with_pem(&pem).map_err(|error| unusable(error.to_string()))?,
            }
        }
    };
    // The client knows `*` for names only, but whoever writes it means addresses, too.
    let everything = |name| std::env::var(name).is_ok_and(|hosts| hosts.trim() == "*");
    let direct = everything("NO_PROXY") || everything("no_proxy");
    let proxies = if direct { Proxies::None } else { Proxies::Environment };
    Ok(Arc::new(HttpTransport::new(HttpOptions { roots, proxies })))
}

/// Makes the file and writes its first line.
fn recorder(cx: &Cx<'_>, settings: &Settings, path: &Path) -> Result<Recorder, Failure> {
    let choice = &settings.choice;
    let start = Start {
        program: concat!("zori ", env!("CARGO_PKG_VERSION")).to_owned(),
        profile: cx.profile.name.to_owned(),
        root: settings.root.display().to_string(),
        provider: choice.facts.name.to_owned(),
        base_url: choice.base_url.clone(),
        model: choice.model.to_string(),
        shape: Shape {
            system: settings.system.as_deref().map(str::to_owned),
            max_tokens: settings.max_tokens,
            temperature: settings.temperature,
            effort: settings.effort,
            delivery: settings.delivery,
            tool_style: settings.tool_calls,
        },
    };
    // A password in the address is one more.
    if let Some(password) = password(&choice.base_url) {
        choice.secrets.add(&password.into());
    }
    let secrets = Secrets::new(&choice.secrets);
    let failed = |error: std::io::Error| {
        Failure::new(&RECORDING_UNUSABLE, format!("cannot write the recording {}: {error}", path.display()))
    };
    let mut options = OpenOptions::new();
    let file = match options.append(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("the file {} exists already and is left alone", path.display());
            return Err(Failure::new(&ALREADY_EXISTS, message)
                .hint("give `--record` the name of a new file, or remove that one"));
        }
        opened => opened.map_err(failed)?,
    };
    Recorder::start(Box::new(file), &start, secrets, Arc::new(SystemClock::new())).map_err(|error| {
        // Less than the first line is no recording.
        let _ = std::fs::remove_file(path);
        failed(error)
    })
}

/// Returns the password in a URL.
fn password(url: &str) -> Option<&str> {
    let authority = url.split("://").nth(1)?.split('/').next()?;
    Some(authority.rsplit_once('@')?.0.split_once(':')?.1)
}

/// Reads the recording of `--replay`, and holds the flags against it.
pub fn load(cx: &Cx<'_>, args: &LowArgs, path: &Path) -> Result<Recording, Failure> {
    let unusable =
        |why: String| Failure::new(&RECORDING_UNUSABLE, format!("cannot replay {}: {why}", path.display()));
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_RECORDING + 1).read_to_end(&mut bytes))
        .map_err(|error| unusable(error.to_string()))?;
    if bytes.len() as u64 > MAX_RECORDING {
        return Err(unusable(format!("it is longer than {} MiB", MAX_RECORDING >> 20)));
    }
    // A recording that was cut in the middle of a letter is cut in the middle of a line.
    let text = String::from_utf8_lossy(&bytes);
    let recording = Recording::parse(&text)
        .map_err(|error| unusable(error.to_string()).hint("`--record FILE` writes recordings"))?;
    agree(cx, args, &recording.start)?;
    Ok(recording)
}

/// Checks that nothing is asked for that the recorded run was not.
fn agree(cx: &Cx<'_>, args: &LowArgs, start: &Start) -> Result<(), Failure> {
    let model = args.model.as_deref().map(|model| {
        model.strip_prefix(start.provider.as_str()).and_then(|rest| rest.strip_prefix(':')).unwrap_or(model)
    });
    let thinking = start.shape.effort.map_or("none", |effort| effort.as_str());
    let given = [
        ("--as", Some(cx.profile.name), start.profile.as_str()),
        ("--provider", args.provider.as_deref(), &start.provider),
        ("--model", model, &start.model),
        ("--thinking", args.thinking.map(|effort| effort.as_str()), thinking),
    ];
    for (flag, given, recorded) in given {
        if let Some(given) = given.filter(|given| *given != recorded) {
            let message = format!("`{flag} {given}` does not fit the recording, which has `{recorded}`");
            let way = if flag == "--as" {
                format!("give `--as {recorded}`")
            } else {
                format!("leave `{flag}` out")
            };
            return Err(Failure::new(&VALIDATION_ERROR, message).hint(way));
        }
    }
    match &args.system_prompt {
        Some(_) => Err(Failure::new(
            &VALIDATION_ERROR,
            "`--system-prompt` and `--replay` exclude each other: a recording has its own",
        )),
        None => Ok(()),
    }
}
