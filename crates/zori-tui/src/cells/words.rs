//! Numbers as words: times, sizes, counts, money.

use std::time::Duration;

use zori_core::cost::MicroUsd;

/// Returns how long something took: `3ms`, `0.1s`, `12s`, `2m 05s`, `1h 02m`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match time.as_millis() {
        millis @ 0..100 => format!("{millis}ms"),
        millis @ 100..10_000 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        10_000..60_000 => format!("{seconds}s"),
        60_000..3_600_000 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns a count: `412`, `1.2k`, `42k`, `1.5M`.
pub fn thousands(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        1000..10_000 => format!("{}.{}k", number / 1000, number % 1000 / 100),
        10_000..1_000_000 => format!("{}k", number / 1000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// Returns a size: `812 B`, `1.2 kB`, `14 kB`, `3.4 MB`.
pub fn bytes(size: u64) -> String {
    match size {
        0..1000 => format!("{size} B"),
        1000..10_000 => format!("{}.{} kB", size / 1000, size % 1000 / 100),
        10_000..1_000_000 => format!("{} kB", size / 1000),
        _ => format!("{}.{} MB", size / 1_000_000, size % 1_000_000 / 100_000),
    }
}

/// Returns money: `$0.14`, `$?` where the price is not known.
pub fn dollars(cost: Option<MicroUsd>) -> String {
    match cost {
        Some(MicroUsd(micros)) => {
            let cents = (micros + 5_000) / 10_000;
            format!("${}.{:02}", cents / 100, cents % 100)
        }
        None => "$?".to_owned(),
    }
}

/// Returns a number with its noun: `1 row`, `5 rows`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
