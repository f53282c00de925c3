//! Moments, durations and ids, as text. Nobody here reads a clock: the numbers are handed in.

use std::time::Duration;

/// The longest duration that can be asked for: what a year has, roughly.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// Returns a moment in seconds since 1970 as ISO 8601 in UTC, `2026-11-15T21:15:00Z`.
pub fn rfc3339(seconds: i64) -> String {
    // Days to date in the proleptic Gregorian calendar, counting years from March.
    let (days, secs) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (secs / 3_600, secs / 60 % 60, secs % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Reads `500ms`, `30s`, `5m`, `1h` or a bare number of seconds; `None` where it is none of these.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let millis = match unit {
        "ms" => 1,
        "s" | "" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let time = number.parse::<u64>().ok()?.checked_mul(millis).map(Duration::from_millis)?;
    (time <= LONGEST).then_some(time)
}

/// Makes a ULID: 48 bits of time, 80 random bits, 26 letters that sort by time.
pub fn ulid(unix_ms: u64, random: [u8; 10]) -> String {
    const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let low = random.iter().fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
    let bits = u128::from(unix_ms & 0xffff_ffff_ffff) << 80 | low;
    (0..26).rev().map(|n| char::from(LETTERS[(bits >> (n * 5) & 31) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_people_know() {
        for (secs, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696, "2000-02-29T12:34:56Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(secs), text);
        }
    }

    #[test]
    fn how_a_duration_is_written() {
        let millis = |text| parse_duration(text).map(|time| time.as_millis());
        let good =
            [("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("1h", 3_600_000), ("7", 7_000), ("0", 0)];
        for (text, wanted) in good {
            assert_eq!(millis(text), Some(wanted), "{text}");
        }
        for text in ["", "s", "-1", "1.5s", "1d", "5 s", "99999999999h", "18446744073709551616"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }

    /// The time part is the example of the ULID specification.
    #[test]
    fn ids_sort_by_time() {
        assert_eq!(ulid(1_469_918_176_385, [0; 10]), "01ARYZ6S410000000000000000");
        assert_eq!(ulid(0, [255; 10]), "0000000000ZZZZZZZZZZZZZZZZ");
    }
}
