//! `config path` and `config init` (CFG-6, CFG-7).

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;

use super::Cx;
use crate::args::LowArgs;
use crate::base::Base;
use crate::command_error::{CommandError, ErrorCode};
use crate::config::{Config, template};
use crate::exit::Exit;
use crate::settings::check_output;

/// Prints the config file's path, whether or not there is one.
pub fn path(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    check_output(cx, args, &Config::default())?;
    let path = Base::find(cx.profile)?.config();
    Ok(cx.ui.document(&format!("{}\n", path.display())))
}

/// Writes the commented file. An existing one is left alone.
pub fn init(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    check_output(cx, args, &Config::default())?;
    let base = Base::find(cx.profile)?;
    let path = base.config();
    let failed = |error: std::io::Error| {
        let message = format!("cannot write the config file {}: {error}", path.display());
        CommandError::new(ErrorCode::BaseUnusable, message)
    };
    DirBuilder::new().recursive(true).mode(0o700).create(base.dir()).map_err(failed)?;
    let mut file = match File::create_new(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("Config file already exists at {}", path.display());
            return Err(CommandError::new(ErrorCode::AlreadyExists, message));
        }
        Err(error) => return Err(failed(error)),
    };
    let written = file.write_all(template(cx.profile).as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half a file would be worse than none.
        let _ = std::fs::remove_file(&path);
        return Err(failed(error));
    }
    Ok(cx.ui.document(&format!("Created config at {}\n", path.display())))
}
