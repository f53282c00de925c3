//! Any bytes as a config file.
//!
//! What must hold: no panic; the same outcome twice; a file that is refused is refused with its name, line and column, and the
//! place is one that the file has (FS-8); of one that is taken every value can be asked for.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use zori_setup::config::{Config, keys::KEYS};

fuzz_target!(|input: &[u8]| {
    let parse = || Config::parse(input, Path::new("c.toml"), "KEY_VAR").map_err(|failure| failure.message);
    match (parse(), parse()) {
        (Ok(config), Ok(again)) => {
            assert!(config.keys().eq(again.keys()));
            for key in KEYS {
                let _ = (config.text(key.name), config.json(key.name), config.count(key.name));
                let _ = (config.number(key.name), config.money(key.name), config.flag(key.name));
                for (_, line) in config.list(key.name).unwrap_or_default() {
                    assert!(line <= lines(input), "{}: line {line}", key.name);
                }
            }
            let _ = config.hooks();
        }
        (Err(message), Err(again)) => {
            assert_eq!(message, again);
            let place = message.strip_prefix("c.toml:").unwrap_or_else(|| panic!("{message:?} has no name"));
            let mut numbers = place.splitn(3, ':');
            let mut number = || numbers.next().and_then(|text| text.parse::<usize>().ok());
            let (line, column) = (number(), number());
            assert!(line.is_some_and(|line| (1..=lines(input)).contains(&line)), "{message:?}");
            assert!(column.is_some_and(|column| (1..=input.len() + 1).contains(&column)), "{message:?}");
        }
        _ => panic!("refused once of two times"),
    }
});

fn lines(input: &[u8]) -> usize {
    input.iter().filter(|byte| **byte == b'\n').count() + 1
}
