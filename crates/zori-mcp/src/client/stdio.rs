//! A server that is a program: lines of JSON on its standard input and output (MCP-21).
//!
//! Who starts programs and ends them is a [`Launch`]: this crate starts nothing itself.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use zori_core::BoxFuture;

use super::config::ServerConfig;
use super::log::ServerLog;
use super::peer::{Outgoing, Peer, RpcFailure};

/// A line may be so long.
pub const MAX_MESSAGE: usize = 16 << 20;
/// So long a program may take to end after its input was closed.
const CLOSING: Duration = Duration::from_secs(1);

/// Starts programs so that none is left behind.
pub trait Launch: Send + Sync {
    /// Starts the program of a server. An error is the second half of a sentence.
    fn launch(&self, server: &ServerConfig) -> Result<Launched, String>;

    /// Ends whatever is still there. Blocks until it is gone.
    fn shutdown(&self);
}

/// A program that was started.
pub struct Launched {
    /// Its standard input.
    pub stdin: ChildStdin,
    /// Its standard output.
    pub stdout: ChildStdout,
    /// Its standard error.
    pub stderr: ChildStderr,
    /// The program itself; dropped, it is asked to end, and made to a second later.
    pub program: Box<dyn Program>,
}

/// A running program.
pub trait Program: Send {
    /// Waits for its end, and returns how it ended, in words.
    fn ended(&mut self) -> BoxFuture<'_, String>;
}

/// Carries messages until the program or the connection ends. Ends the program.
pub async fn carry(
    launched: Launched,
    peer: Arc<Peer>,
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
    log: ServerLog,
    mut stop: tokio::sync::watch::Receiver<bool>,
) {
    let Launched { stdin, stdout, stderr, mut program } = launched;
    let writing = async {
        let mut stdin = stdin;
        while let Some(sent) = queue.recv().await {
            let mut line = sent.message.to_string();
            line.push('\n');
            if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
                // Its end says why.
                std::future::pending::<()>().await;
            }
        }
    };
    let reading = async {
        let mut lines = BufReader::new(stdout);
        let mut buffer = Vec::new();
        loop {
            match read_line(&mut lines, &mut buffer).await {
                Ok(Line::End) | Err(_) => return "it closed its output".to_owned(),
                Ok(Line::TooLong) => {
                    return format!("it sent a message of more than {} MiB", MAX_MESSAGE >> 20);
                }
                Ok(Line::Read) => {}
            }
            match serde_json::from_slice::<Value>(&buffer) {
                Ok(message @ (Value::Object(_) | Value::Array(_))) => peer.receive(message),
                _ => log.line(&String::from_utf8_lossy(&buffer)),
            }
        }
    };
    let noting = async {
        let mut lines = BufReader::new(stderr);
        let mut buffer = Vec::new();
        while let Ok(Line::Read | Line::TooLong) = read_line(&mut lines, &mut buffer).await {
            log.line(&String::from_utf8_lossy(&buffer));
        }
    };
    let stopped = async {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let why = {
        // Dropping `writing` at the end of this block closes its input.
        let (mut writing, mut reading, mut noting, mut stopped) = (
            std::pin::pin!(writing),
            std::pin::pin!(reading),
            std::pin::pin!(noting),
            std::pin::pin!(stopped),
        );
        let mut noted = false;
        loop {
            tokio::select! {
                biased;
                // First, so that what was said before the end is said: that a call is cancelled, too.
                () = &mut writing => break None,
                () = &mut stopped => break None,
                why = &mut reading => {
                    // What it says last explains its end.
                    if !noted {
                        let _ = tokio::time::timeout(Duration::from_millis(100), &mut noting).await;
                    }
                    break Some(why);
                }
                () = &mut noting, if !noted => noted = true,
            }
        }
    };
    let ended = tokio::time::timeout(CLOSING, program.ended()).await.ok();
    let mut words = match (ended, why) {
        (Some(end), _) => end,
        (None, Some(why)) => why,
        (None, None) => "it was stopped".to_owned(),
    };
    if let Some(last) = log.last() {
        words = format!("{words}; its last words: {}", zori_core::text::prefix(&last, 300));
    }
    peer.close(RpcFailure::Closed(words));
    drop(program);
}

enum Line {
    Read,
    TooLong,
    End,
}

/// Reads a line without its end. One that is too long is read to its end as well, and not kept.
async fn read_line(reader: &mut BufReader<impl AsyncRead + Unpin>, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    let mut too_long = false;
    loop {
        let chunk = reader.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(if line.is_empty() { Line::End } else { Line::Read });
        }
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let taken = end.unwrap_or(chunk.len());
        if line.len() + taken > MAX_MESSAGE {
            too_long = true;
            line.truncate(MAX_MESSAGE.min(line.len()));
        } else if !too_long {
            line.extend_from_slice(&chunk[..taken]);
        }
        reader.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(if too_long { Line::TooLong } else { Line::Read });
        }
    }
}
