//! When a job runs: a cron line in a time zone, or one moment. Pure; the clock is the caller's.

use std::str::FromStr as _;

use croner::Cron;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// When a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Again and again: five fields, or six with seconds first, in a time zone.
    Cron { line: String, zone: String },
    /// Once, in seconds since 1970; the zone is the one it was given in.
    Once { at: i64, zone: String },
}

/// Why a time cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhenError {
    #[error("`{0}` is not a time zone; names are those of the IANA database, such as `Europe/Berlin`")]
    Zone(String),
    #[error("`{line}` is not a cron line: {why}")]
    Cron { line: String, why: String },
    #[error("`{0}` never comes")]
    Never(String),
    #[error("`{0}` is not a time; write `2027-01-31T09:30` in the time zone, or `2027-01-31T09:30:00Z`")]
    Time(String),
    #[error("`{time}` does not come in {zone}: the clocks leap over it")]
    LeaptOver { time: String, zone: String },
    #[error("`{0}` is past")]
    Past(String),
}

/// Returns whether there is such a time zone.
pub fn zone_known(name: &str) -> bool {
    zone_of(name).is_ok()
}

impl When {
    /// Reads a cron line. One that never comes is refused.
    pub fn cron(line: &str, zone: &str, now: i64) -> Result<Self, WhenError> {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        parse(&line)?;
        zone_of(zone)?;
        let when = Self::Cron { line: line.clone(), zone: zone.to_owned() };
        match next_slot(&when, now) {
            Some(_) => Ok(when),
            None => Err(WhenError::Never(line)),
        }
    }

    /// Reads one moment, which must be to come.
    pub fn once(text: &str, zone: &str, now: i64) -> Result<Self, WhenError> {
        let bad = || WhenError::Time(text.to_owned());
        let at = match text.parse::<Timestamp>() {
            Ok(at) => at,
            Err(_) => {
                let forms = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"];
                let local = forms.iter().find_map(|form| DateTime::strptime(form, text).ok());
                let local = zone_of(zone)?.to_ambiguous_timestamp(local.ok_or_else(bad)?);
                // An hour that comes twice is meant the first time; one that the clocks leap over does not exist.
                match local.offset() {
                    AmbiguousOffset::Gap { .. } => {
                        return Err(WhenError::LeaptOver { time: text.to_owned(), zone: zone.to_owned() });
                    }
                    _ => local.earlier().map_err(|_| bad())?,
                }
            }
        };
        let at = at.as_second();
        zone_of(zone)?;
        if at <= now {
            Err(WhenError::Past(text.to_owned()))
        } else {
            Ok(Self::Once { at, zone: zone.to_owned() })
        }
    }
}

/// Returns the first slot after a moment; `None` where there is none.
pub fn next_slot(when: &When, after: i64) -> Option<i64> {
    match when {
        When::Once { at, .. } => (*at > after).then_some(*at),
        When::Cron { line, zone } => {
            let after = Timestamp::from_second(after).ok()?.to_zoned(zone_of(zone).ok()?);
            let next = parse(line).ok()?.find_next_occurrence(&after, false).ok()?;
            Some(next.timestamp().as_second())
        }
    }
}

/// Returns when the day of a moment began in a time zone, or in UTC where the zone is not known.
pub fn day_begins(now: i64, zone: &str) -> i64 {
    let zone = zone_of(zone).unwrap_or(TimeZone::UTC);
    let begin = Timestamp::from_second(now).ok().and_then(|now| now.to_zoned(zone).start_of_day().ok());
    begin.map_or(now, |begin| begin.timestamp().as_second())
}

/// Returns how many seconds a time zone is ahead of UTC at a moment; 0 where the zone is not known.
pub fn offset(now: i64, zone: &str) -> i32 {
    let zone = zone_of(zone).unwrap_or(TimeZone::UTC);
    Timestamp::from_second(now).map_or(0, |now| zone.to_offset(now).seconds())
}

fn zone_of(name: &str) -> Result<TimeZone, WhenError> {
    TimeZone::get(name).map_err(|_| WhenError::Zone(name.to_owned()))
}

fn parse(line: &str) -> Result<Cron, WhenError> {
    Cron::from_str(line)
        .ok()
        .filter(|_| fields(line).is_some())
        .ok_or_else(|| WhenError::Cron { line: line.to_owned(), why: what_is_wrong(line) })
}

/// The fields of a cron line with seconds: what each is called, and what it takes.
const FIELDS: [(&str, &str); 6] = [
    ("second", "0 to 59"),
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31, or `L` for the last"),
    ("month", "1 to 12, or jan to dec"),
    ("weekday", "0 to 7, where 0 and 7 are Sunday, or sun to sat"),
];

/// Says what of a field is wrong: one of a list, a step, a range that goes down, or the value itself.
fn field_is_wrong(field: &str, name: &str, takes: &str, is_right: impl Fn(&str) -> bool) -> String {
    let part = field.split(',').find(|part| !is_right(part)).unwrap_or(field);
    let (values, step) = part.split_once('/').unwrap_or((part, "1"));
    if is_right(values) && values != part {
        return format!("`{part}`: a step is a number from 1, not `{step}`");
    }
    match values.split_once('-') {
        Some((from, to)) if is_right(from) && is_right(to) => {
            format!("`{values}`: a range goes from the lower {name} to the higher")
        }
        Some((from, to)) if !from.is_empty() => {
            let wrong = if is_right(from) { to } else { from };
            format!("`{wrong}` is no {name}: {takes}")
        }
        _ => format!("`{values}` is no {name}: {takes}"),
    }
}

/// Returns the fields of a line, none for a name; `None` where there are too few or too many.
fn fields(line: &str) -> Option<Vec<&str>> {
    if line.starts_with('@') {
        return Some(Vec::new());
    }
    let fields: Vec<&str> = line.split(' ').filter(|field| !field.is_empty()).collect();
    (5..=6).contains(&fields.len()).then_some(fields)
}

/// Says which field of a line is wrong: the one that is wrong by itself, too.
fn what_is_wrong(line: &str) -> String {
    let Some(fields) = fields(line) else {
        let count = line.split(' ').filter(|field| !field.is_empty()).count();
        return format!("it has {count} fields; five are wanted, or six with seconds first");
    };
    if fields.is_empty() {
        return "names are @yearly, @monthly, @weekly, @daily and @hourly".to_owned();
    }
    let without_seconds = FIELDS.len() - fields.len();
    for (at, (field, (name, takes))) in fields.iter().zip(&FIELDS[without_seconds..]).enumerate() {
        let alone = |part: &str| {
            let mut line = vec!["*"; fields.len()];
            line[at] = part;
            Cron::from_str(&line.join(" ")).is_ok()
        };
        if !alone(field) {
            return field_is_wrong(field, name, takes, alone);
        }
    }
    "its fields do not go together".to_owned()
}
