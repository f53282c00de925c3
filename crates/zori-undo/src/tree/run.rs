//! Neighbours in the order of their keys, packed: of each key only what differs from the one before it.
//!
//! A record is three numbers and two texts: how much of the key is shared with the one before, the rest of the key, and the value. Paths
//! share most of their bytes with their neighbours, so that a record is little longer than its value.

use std::cmp::Ordering;

use super::varint;

/// A run that becomes longer is split. To find a key half a run is gone through.
const MOST: usize = 1024;

/// At least one record.
#[derive(Debug)]
pub(super) struct Run(Box<[u8]>);

/// A key and its value, as they are written behind another key.
#[derive(Clone, Copy)]
struct Record<'a> {
    shared: usize,
    rest: &'a [u8],
    value: &'a [u8],
    /// Where the next one begins.
    end: usize,
}

/// Where a key is in a run, or would be.
struct Place<'a> {
    at: usize,
    /// How much of the key is shared with the one before.
    shared: usize,
    is_found: bool,
    /// The key's own record, or the one that would come behind it.
    record: Option<Record<'a>>,
    /// How much of the key is shared with that one.
    shared_behind: usize,
}

impl Run {
    pub(super) fn new(key: &[u8], value: &[u8]) -> Self {
        let mut packed = Vec::with_capacity(key.len() + value.len() + 3 * varint::MOST);
        write(&mut packed, 0, [key, &[]], value);
        Self(packed.into())
    }

    /// Takes what comes behind the last key, unless there would be too little room for what comes in between.
    pub(super) fn append(&mut self, last: &[u8], key: &[u8], value: &[u8]) -> bool {
        if self.0.len() > MOST * 3 / 4 {
            return false;
        }
        let shared = common(last, key);
        let mut packed = Vec::from(std::mem::take(&mut self.0));
        packed.reserve_exact(key.len() - shared + value.len() + 3 * varint::MOST);
        write(&mut packed, shared, [&key[shared..], &[]], value);
        self.0 = packed.into();
        true
    }

    pub(super) fn first(&self) -> &[u8] {
        read(&self.0, 0).expect("a run has a record").rest
    }

    pub(super) fn last(&self) -> Vec<u8> {
        let mut reader = self.reader();
        while reader.next().is_some() {}
        reader.key
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let place = self.place(key);
        place.record.filter(|_| place.is_found).map(|record| record.value)
    }

    /// Returns the value that was there.
    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) -> Option<Box<[u8]>> {
        let place = self.place(key);
        let mut packed = Vec::with_capacity(self.0.len() + key.len() + value.len() + 3 * varint::MOST);
        packed.extend(&self.0[..place.at]);
        write(&mut packed, place.shared, [&key[place.shared..], &[]], value);
        let mut end = self.0.len();
        let mut old = None;
        if let Some(record) = place.record {
            end = record.end;
            if place.is_found {
                old = Some(record.value.into());
            } else {
                let rest = &record.rest[place.shared_behind - record.shared..];
                write(&mut packed, place.shared_behind, [rest, &[]], record.value);
            }
        }
        packed.extend(&self.0[end..]);
        self.0 = packed.into();
        old
    }

    /// Returns the value that was there, and whether the run has no record any more: then it is to be dropped.
    pub(super) fn remove(&mut self, key: &[u8]) -> Option<(Box<[u8]>, bool)> {
        let place = self.place(key);
        let gone = place.record.filter(|_| place.is_found)?;
        let mut packed = Vec::with_capacity(self.0.len());
        packed.extend(&self.0[..place.at]);
        let mut end = gone.end;
        if let Some(next) = read(&self.0, gone.end) {
            end = next.end;
            let shared = next.shared.min(gone.shared);
            write(&mut packed, shared, [&gone.rest[..next.shared - shared], next.rest], next.value);
        }
        packed.extend(&self.0[end..]);
        let old = gone.value.into();
        self.0 = packed.into();
        Some((old, self.0.is_empty()))
    }

    /// Takes the second half off a run that has become too long.
    pub(super) fn split(&mut self) -> Option<Self> {
        if self.0.len() <= MOST {
            return None;
        }
        let mut reader = self.reader();
        while reader.at < self.0.len() / 2 {
            reader.next();
        }
        let middle = reader.at;
        let value = reader.next()?;
        let mut second = Vec::with_capacity(self.0.len() - middle + reader.key.len());
        write(&mut second, 0, [&reader.key, &[]], value);
        second.extend(&self.0[reader.at..]);
        self.0 = self.0[..middle].into();
        Some(Self(second.into()))
    }

    /// Returns how many bytes it takes.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.0.len()
    }

    pub(super) fn reader(&self) -> Reader<'_> {
        Reader { run: &self.0, at: 0, key: Vec::new() }
    }

    fn place(&self, key: &[u8]) -> Place<'_> {
        let (mut at, mut shared) = (0, 0);
        while let Some(record) = read(&self.0, at) {
            // Whoever shares more with the one before than the key does comes before the key as that one does.
            if record.shared <= shared {
                let more = match record.shared == shared {
                    true => common(&key[shared..], record.rest),
                    false => 0,
                };
                let shared_behind = record.shared + more;
                let order = match record.shared == shared {
                    true => key[shared_behind..].cmp(&record.rest[more..]),
                    false => Ordering::Less,
                };
                if order.is_le() {
                    let is_found = order.is_eq();
                    return Place { at, shared, is_found, record: Some(record), shared_behind };
                }
                shared = shared_behind;
            }
            at = record.end;
        }
        Place { at, shared, is_found: false, record: None, shared_behind: 0 }
    }
}

/// Goes through a run.
#[derive(Default)]
pub(super) struct Reader<'a> {
    run: &'a [u8],
    at: usize,
    /// The key of the record that was read last.
    pub(super) key: Vec<u8>,
}

impl<'a> Reader<'a> {
    /// Returns the value of the next record.
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let record = read(self.run, self.at)?;
        self.key.truncate(record.shared);
        self.key.extend(record.rest);
        self.at = record.end;
        Some(record.value)
    }
}

fn read(run: &[u8], at: usize) -> Option<Record<'_>> {
    let mut left = run.get(at..).filter(|left| !left.is_empty())?;
    let mut number = || varint::take(&mut left) as usize;
    let (shared, rest, value) = (number(), number(), number());
    let (rest, left) = left.split_at(rest);
    let (value, left) = left.split_at(value);
    Some(Record { shared, rest, value, end: run.len() - left.len() })
}

fn write(run: &mut Vec<u8>, shared: usize, rest: [&[u8]; 2], value: &[u8]) {
    for number in [shared, rest[0].len() + rest[1].len(), value.len()] {
        varint::put(run, number as u64);
    }
    for bytes in [rest[0], rest[1], value] {
        run.extend(bytes);
    }
}

/// Returns how long the beginning is that two texts share.
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
