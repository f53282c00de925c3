//! Time as a value. Code takes a [`Clock`] instead of reading one, so that tests can fix it.

use std::fmt;
use std::time::Duration;

/// A moment, in whole seconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// The wall clock and the monotonic clock of a run.
pub trait Clock: Send + Sync {
    /// Returns the wall-clock time. It may jump; only time stamps use it (CLK-1).
    fn now(&self) -> Timestamp;
    /// Returns the time since some fixed moment. It never goes back; durations use it.
    fn elapsed(&self) -> Duration;
}

/// The calendar form of a [`Timestamp`], in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Civil {
    year: i64,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
}

impl Timestamp {
    fn civil(self) -> Civil {
        // Days to date in the proleptic Gregorian calendar, counting years from March (Howard Hinnant's
        // `civil_from_days`).
        let (days, secs) = (self.0.div_euclid(86_400), self.0.rem_euclid(86_400));
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_index = (5 * day_of_year + 2) / 153;
        let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
        Civil {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: month as u32,
            day: (day_of_year - (153 * month_index + 2) / 5 + 1) as u32,
            hour: (secs / 3_600) as u32,
            minute: (secs / 60 % 60) as u32,
            second: (secs % 60) as u32,
        }
    }

    fn from_civil(c: Civil) -> Self {
        let year = c.year - i64::from(c.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month_index = i64::from(if c.month > 2 { c.month - 3 } else { c.month + 9 });
        let day_of_year = (153 * month_index + 2) / 5 + i64::from(c.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        Self(days * 86_400 + i64::from(c.hour) * 3_600 + i64::from(c.minute) * 60 + i64::from(c.second))
    }

    /// Returns the RFC 3339 text in UTC with whole seconds, `2026-11-15T21:15:00Z` (SES-3).
    pub fn rfc3339(self) -> String {
        let c = self.civil();
        format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", c.year, c.month, c.day, c.hour, c.minute, c.second)
    }

    /// Returns `21:15:00`, in UTC.
    pub fn time_of_day(self) -> String {
        let c = self.civil();
        format!("{:02}:{:02}:{:02}", c.hour, c.minute, c.second)
    }

    /// Returns `2026-11-15 21:15`, in UTC, as `sessions list` shows it.
    pub fn minutes(self) -> String {
        let c = self.civil();
        format!("{:04}-{:02}-{:02} {:02}:{:02}", c.year, c.month, c.day, c.hour, c.minute)
    }

    /// Reads the form an HTTP date has, `Sun, 06 Nov 1994 08:49:37 GMT`; the other historical forms are not met.
    pub fn parse_http_date(text: &str) -> Option<Self> {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (_, rest) = text.trim().split_once(", ")?;
        let mut words = rest.split_ascii_whitespace();
        let day = words.next()?.parse().ok()?;
        let name = words.next()?;
        let month = MONTHS.iter().position(|m| *m == name)? as u32 + 1;
        let year = words.next()?.parse().ok()?;
        let mut clock = words.next()?.split(':').map(|n| n.parse().ok());
        let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
        (words.next() == Some("GMT"))
            .then(|| Self::from_civil(Civil { year, month, day, hour, minute, second }))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_people_know() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696, "2000-02-29T12:34:56Z"),
            (2_147_483_648, "2038-01-19T03:14:08Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ];
        for (secs, text) in cases {
            assert_eq!(Timestamp(secs).rfc3339(), text);
        }
        assert_eq!(Timestamp(951_827_696).minutes(), "2000-02-29 12:34");
    }

    #[test]
    fn http_dates() {
        let parse = Timestamp::parse_http_date;
        assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Timestamp(784_111_777)));
        assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 CET"), None);
        assert_eq!(parse("120"), None);
        assert_eq!(parse("Sun, 06 Foo 1994 08:49:37 GMT"), None);
    }

    #[test]
    fn civil_round_trip() {
        for days in (-200_000..200_000).step_by(37) {
            let stamp = Timestamp(days * 86_400 + 4_321);
            assert_eq!(Timestamp::from_civil(stamp.civil()), stamp);
        }
    }
}
