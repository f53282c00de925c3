//! Standard input and `--input-file`: read when asked for, up to a bound.

use std::fs::File;
use std::io::Read;

use crate::args::Args;
use crate::command::StdinInput;
use crate::error;
use crate::failure::Failure;
use crate::flag::framework;
use crate::path::AbsPath;

/// How much is read from standard input when nobody says otherwise.
pub const DEFAULT_BYTES: usize = 65_536;

/// Reads what the command asked for: the file, else standard input if somebody can have put something there.
pub fn read(
    args: &Args,
    wanted: StdinInput,
    limit: usize,
    (stdin, terminal): (&mut dyn Read, bool),
    cwd: &AbsPath,
) -> Result<Option<Vec<u8>>, Failure> {
    if let Some(name) = args.text(&framework::INPUT_FILE).filter(|name| *name != "-") {
        let path = cwd.join(name);
        let mut bytes = Vec::new();
        return match File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Failure::not_found("input file", &path.to_string()))
            }
            Err(error) => Err(Failure::new(&error::IO_ERROR, format!("cannot read {path}: {error}"))),
        };
    }
    if terminal && !args.has(&framework::INPUT_FILE) {
        return if wanted.required { Err(missing()) } else { Ok(None) };
    }
    let bytes = bounded(stdin, limit)?;
    match bytes.is_empty() {
        true if wanted.required => Err(missing()),
        true => Ok(None),
        false => Ok(Some(bytes)),
    }
}

/// Reads one id from standard input: its first line.
pub fn id(stdin: &mut dyn Read, limit: usize) -> Result<String, Failure> {
    let bytes = bounded(stdin, limit)?;
    let (text, _) = crate::clean::text(&bytes);
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => {
            Err(Failure::new(&error::EMPTY_STDIN, "an id was to come from standard input, which is empty"))
        }
    }
}

/// Reads to the end, unless that is beyond the bound.
fn bounded(stdin: &mut dyn Read, limit: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = stdin.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(&error::IO_ERROR, format!("cannot read standard input: {error}")))?;
    if bytes.len() <= limit {
        return Ok(bytes);
    }
    Err(Failure::new(&error::STDIN_TOO_LARGE, format!("standard input has more than {limit} bytes"))
        .context("received_bytes", bytes.len())
        .context("limit_bytes", limit)
        .hint("use `--input-file PATH`, which has no limit"))
}

fn missing() -> Failure {
    Failure::new(&error::STDIN_REQUIRED, "standard input is needed and there is none")
        .hint("send the input to standard input, or use `--input-file PATH`")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn got(bytes: &[u8], terminal: bool, required: bool) -> Result<Option<usize>, &'static str> {
        let wanted = StdinInput { max_bytes: DEFAULT_BYTES, format: "text", required };
        let cwd = AbsPath::new(Path::new("/")).unwrap();
        let mut stdin = bytes;
        let read = read(&Args::default(), wanted, wanted.max_bytes, (&mut stdin, terminal), &cwd);
        read.map(|bytes| bytes.map(|bytes| bytes.len())).map_err(|failure| failure.kind.code)
    }

    #[test]
    fn the_bound() {
        assert_eq!(got(&[b'x'; 65_535], false, true), Ok(Some(65_535)));
        assert_eq!(got(&[b'x'; 65_536], false, true), Ok(Some(65_536)));
        assert_eq!(got(&[b'x'; 65_537], false, true), Err("STDIN_TOO_LARGE"));
    }

    #[test]
    fn nothing_there() {
        assert_eq!(got(b"", false, true), Err("STDIN_REQUIRED"));
        assert_eq!(got(b"typed", true, true), Err("STDIN_REQUIRED"), "a terminal is not waited for");
        assert_eq!(got(b"", false, false), Ok(None));
    }

    #[test]
    fn one_id() {
        assert_eq!(id(&mut &b"\n  abc  \ndef\n"[..], 99).unwrap(), "abc");
        assert_eq!(id(&mut &b" \n"[..], 99).unwrap_err().kind.code, "EMPTY_STDIN");
    }
}
