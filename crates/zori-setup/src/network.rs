//! What a run's requests go through: the network, the network with a recorder before it (`--record`), or a recording
//! in place of it (`--replay`). The model and the tools share it; `--proxy` and the variables say which way it goes.

mod logging_transport;

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_contract::args::Args;
use zori_contract::error::{ALREADY_EXISTS, VALIDATION_ERROR};
use zori_contract::failure::{Failure, Network as Way};
use zori_contract::mode::Verbosity;
use zori_core::transport::Transport;
use zori_host::{Network, SessionSettings, SystemClock};
use zori_providers::http::roots::Roots;
use zori_providers::http::{HttpOptions, HttpTransport, Proxies};
use zori_providers::recording::player::{Folders, Player, Strictness};
use zori_providers::recording::recorder::Recorder;
use zori_providers::recording::secrets::Secrets;
use zori_providers::recording::servers::ServerWriter;
use zori_providers::recording::{RecordedExchange, Recording, Shape, Start};

use self::logging_transport::LoggingTransport;
use crate::agent_cx::AgentCx;
use crate::args::LowArgs;
use crate::args::flags;
use crate::environment::Environment;
use crate::error::{RECORDING_UNUSABLE, SETTING_INVALID};
use crate::settings::RunSettings;

/// A recording that is longer than this is none that a person waits for.
const MAX_RECORDING: u64 = 1 << 30;

/// What `--record` and `--replay` ask for.
pub enum RecordingMode {
    /// Neither.
    None,
    /// A recording is written to this file, what is said with MCP servers through this.
    Record(PathBuf, Arc<ServerWriter>),
    /// This traffic stands for the network.
    Replay(Vec<RecordedExchange>, Folders, Strictness),
}

/// Opens the network of a session. The file of a recording is made here, so nothing that could be refused may come after
/// this.
pub fn open(cx: &AgentCx<'_>, session: &SessionSettings, run: &RunSettings) -> Result<Network, Failure> {
    let address = &session.model.base_url;
    Ok(match &run.recording_mode {
        RecordingMode::None => Network::live(run.dump.transport(cx.app.network.http_to(address)?)),
        RecordingMode::Record(path, servers) => {
            let transport = run.dump.transport(cx.app.network.http_to(address)?);
            let recorder = Arc::new(recorder(cx, session, path)?);
            servers.attach(&recorder);
            Network::recorded(transport, recorder, path.clone())
        }
        RecordingMode::Replay(traffic, folders, strictness) => {
            Network::replayed(Arc::new(Player::new(traffic.clone(), folders.clone(), *strictness)))
        }
    })
}

/// Variables that name certificates to trust beside the embedded ones.
const CERTIFICATES: &[&str] = &["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"];

/// Which way requests go: what the command line says, else the variables.
#[derive(Clone)]
pub struct NetworkOptions {
    /// What `--proxy URL` or `--no-proxy` says; both are stronger than the variables.
    proxies: Option<Proxies>,
    /// Whether requests are told on standard error: `--debug`.
    logged: bool,
    env: Environment,
}

impl NetworkOptions {
    /// Reads the command line.
    pub fn new(args: &Args, verbosity: Verbosity, env: &Environment) -> Self {
        let proxies = match args.text(&flags::PROXY) {
            Some(url) => Some(Proxies::Only(url.to_owned())),
            None => args.has(&flags::NO_PROXY).then_some(Proxies::None),
        };
        Self { proxies, logged: verbosity == Verbosity::Debug, env: env.clone() }
    }

    /// HTTP with the embedded certificate authorities, and those of the files that variables name.
    pub fn http(&self) -> Result<Arc<dyn Transport>, Failure> {
        self.http_to("https:")
    }

    /// The same for a run whose first request goes to this address: without TLS nobody waits for the files to be understood.
    pub fn http_to(&self, address: &str) -> Result<Arc<dyn Transport>, Failure> {
        let later = address.starts_with("http:");
        let (mut pem, mut understood, mut read) = (Vec::new(), Vec::new(), Vec::new());
        for name in CERTIFICATES {
            // Whoever sets one of them for all programs sets the others to the same file.
            let Some(path) = self.env.path(name).filter(|path| !read.contains(path)) else { continue };
            let unusable = |why: String| {
                Failure::new(&SETTING_INVALID, format!("cannot use {name} {}: {why}", path.display()))
            };
            let bytes = std::fs::read(&path).map_err(|error| unusable(error.to_string()))?;
            if !later {
                understood.push(Roots::with_pem(&bytes).map_err(|error| unusable(error.to_string()))?);
            }
            match pem.is_empty() {
                true => pem = bytes,
                false => {
                    pem.push(b'\n');
                    pem.extend(bytes);
                }
            }
            read.push(path);
        }
        let roots = match understood.len() {
            _ if read.is_empty() => Roots::embedded(),
            0 => Roots::with_pem_later(pem),
            // A bundle takes milliseconds; one alone, as is usual, is understood once.
            1 => understood.remove(0),
            _ => Roots::with_pem(&pem).map_err(|error| {
                Failure::new(&SETTING_INVALID, format!("cannot use the certificates: {error}"))
            })?,
        };
        let transport: Arc<dyn Transport> =
            Arc::new(HttpTransport::new(HttpOptions { roots, proxies: self.proxies() }));
        Ok(match self.logged {
            true => Arc::new(LoggingTransport::new(transport, self.env.clone())),
            false => transport,
        })
    }

    fn proxies(&self) -> Proxies {
        if let Some(chosen) = &self.proxies {
            return chosen.clone();
        }
        // The client knows `*` for names only, but whoever writes it means addresses, too.
        let everything = |name| self.env.text(name).is_some_and(|hosts| hosts.trim() == "*");
        if everything("NO_PROXY") || everything("no_proxy") { Proxies::None } else { Proxies::Environment }
    }

    /// Says how requests to this address go out, for those whose request did not come back.
    pub fn way_to(&self, url: &str, program: &str) -> Way {
        let proxies = self.proxies();
        let said = |names: &[&str]| {
            let mut found =
                names.iter().filter_map(|name| Some((name.to_string(), self.env.text(name)?.to_owned())));
            found.find(|(_, value)| !value.is_empty())
        };
        let proxy_used = proxies.used_for(url);
        let variables: &[&str] = match url.starts_with("https:") {
            true => &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
            false => &["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
        };
        let proxy_source = match (&proxy_used, &proxies) {
            (None, _) => None,
            (Some(_), Proxies::Only(_)) => Some("--proxy".to_owned()),
            (Some(_), _) => said(variables).map(|(name, _)| name),
        };
        Way {
            url: url.to_owned(),
            status_code: None,
            proxy_used,
            proxy_source,
            no_proxy: said(&["NO_PROXY", "no_proxy"]).map(|(_, hosts)| hosts),
            ssl_verify: true,
            suggestion: format!("{program} doctor"),
        }
    }
}

/// Checks the value of `--proxy`. What is told to a proxy to let one pass is no business of those who see a command line.
pub fn check_proxy(url: &str) -> Result<(), String> {
    let host = url.split("://").nth(1).unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Err(
            "`--proxy` takes no name and password, which others could read: set `HTTPS_PROXY` to the \
                    address with them"
                .to_owned(),
        );
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    if name.is_empty() || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(format!("`--proxy` takes an address such as http://127.0.0.1:3128, not `{url}`"));
    }
    Ok(())
}

/// Makes the file and writes its first line.
fn recorder(cx: &AgentCx<'_>, session: &SessionSettings, path: &Path) -> Result<Recorder, Failure> {
    let SessionSettings { model, request, workspace, .. } = session;
    let start = Start {
        program: concat!("zori ", env!("CARGO_PKG_VERSION")).to_owned(),
        profile: cx.profile.name.to_owned(),
        root: workspace.root.display().to_string(),
        provider: model.facts.name.to_owned(),
        base_url: model.base_url.clone(),
        model: model.name.to_string(),
        shape: Shape {
            system: request.system.as_deref().map(str::to_owned),
            max_tokens: request.max_tokens,
            temperature: request.temperature,
            effort: request.effort,
            delivery: request.delivery,
            tool_style: model.tool_calls,
        },
    };
    // A password in the address is one more.
    if let Some(password) = password(&model.base_url) {
        model.secrets.add(&password.into());
    }
    let secrets = Secrets::new(&model.secrets);
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
pub fn load(cx: &AgentCx<'_>, args: &LowArgs, path: &Path) -> Result<Recording, Failure> {
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
fn agree(cx: &AgentCx<'_>, args: &LowArgs, start: &Start) -> Result<(), Failure> {
    let model = args.model.name.as_deref().map(|model| {
        model.strip_prefix(start.provider.as_str()).and_then(|rest| rest.strip_prefix(':')).unwrap_or(model)
    });
    let thinking = start.shape.effort.map_or("none", |effort| effort.as_str());
    let given = [
        ("--as", Some(cx.profile.name), start.profile.as_str()),
        ("--provider", args.model.provider.as_deref(), &start.provider),
        ("--model", model, &start.model),
        ("--thinking", args.model.thinking.map(|effort| effort.as_str()), thinking),
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
    match &args.prompt.system {
        Some(_) => Err(Failure::new(
            &VALIDATION_ERROR,
            "`--system-prompt` and `--replay` exclude each other: a recording has its own",
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_proxies() {
        for url in ["http://proxy", "http://127.0.0.1:3128/", "https://[::1]:8080", "http://[::1]"] {
            assert_eq!(check_proxy(url), Ok(()), "{url}");
        }
        for url in ["http://:3128", "http://proxy:port", "http://proxy:99999", "http:///x"] {
            let told = format!("`--proxy` takes an address such as http://127.0.0.1:3128, not `{url}`");
            assert_eq!(check_proxy(url), Err(told));
        }
        let told = check_proxy("http://me:hunter2@proxy").unwrap_err();
        assert!(told.contains("HTTPS_PROXY") && !told.contains("hunter2"), "{told}");
    }
}
