//! Lists in pages: `--limit`, `--cursor`, and the facts about what was left out.
//!
//! A cursor is self-contained: it says after which row to go on, and in which list. Nothing is kept between two calls.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::reply::Rows;

/// How many rows a list has when nobody says how many.
pub const DEFAULT_LIMIT: usize = 20;

/// What part of a list is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many rows; `None` is all of them.
    pub limit: Option<usize>,
    /// After which row.
    pub cursor: Option<Cursor>,
    /// Names the list: the command and what it was asked to leave out.
    pub filter: String,
}

/// After which row of which list to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The version of this format.
    v: u8,
    /// The list.
    f: String,
    /// How many rows came before.
    o: usize,
    /// The id of the last of them.
    k: Option<String>,
}

impl Cursor {
    /// Reads a cursor of the list; `None` if it is none, or one of another list.
    pub fn parse(text: &str, filter: &str) -> Option<Self> {
        let cursor: Self = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        (cursor.v == 1 && cursor.f == filter).then_some(cursor)
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let json = serde_json::to_vec(self).expect("a cursor is a plain value");
        f.write_str(&URL_SAFE_NO_PAD.encode(json))
    }
}

/// Names a list by its command and the arguments that choose its rows.
pub fn filter<'a>(command: &str, args: impl IntoIterator<Item = (&'a str, &'a [String])>) -> String {
    let mut hash = Sha256::new();
    hash.update(command);
    for (name, values) in args {
        hash.update([0]);
        hash.update(name);
        for value in values {
            hash.update([1]);
            hash.update(value);
        }
    }
    hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// A page that was cut out of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Paged {
    /// The rows of this page, in order.
    pub rows: Vec<Value>,
    total: usize,
    before: usize,
    page_size: usize,
    filter: String,
    id: Option<&'static str>,
}

impl Paged {
    /// Cuts the page out. `id` is the field by which a row is found again when others came or went before it.
    pub fn cut(all: &Rows, page: &Page, id: Option<&'static str>) -> Self {
        let total = all.len;
        let before = page.cursor.as_ref().map_or(0, |cursor| {
            let is_last = |at: &usize| id_of(&all.row(*at), id).is_some_and(|key| Some(key) == cursor.k);
            // Where it was is where it is, as a rule.
            let was = cursor.o.checked_sub(1).filter(|at| *at < total && is_last(at));
            // The row may be gone: then the place it had is the best there is.
            was.or_else(|| (0..total).find(is_last)).map_or(cursor.o, |at| at + 1).min(total)
        });
        let page_size = page.limit.unwrap_or(total);
        let rows = (before..total).take(page_size).map(|at| all.row(at)).collect();
        Self { rows, total, before, page_size, filter: page.filter.clone(), id }
    }

    /// Leaves out what comes after the first `n` rows; the next page begins there.
    pub fn keep(&mut self, n: usize) {
        self.rows.truncate(n);
    }

    /// Adds the facts to `meta`.
    pub fn describe(&self, meta: &mut Map<String, Value>) {
        let next = self.next().map(|cursor| cursor.to_string());
        meta.insert(
            "pagination".into(),
            json!({
                "total": self.total,
                "returned": self.rows.len(),
                "truncated": self.rows.len() < self.total,
                "has_more": next.is_some(),
                "next_cursor": next,
            }),
        );
        meta.insert("total".into(), json!(self.total));
        meta.insert("page_size".into(), json!(self.page_size));
        if let Some(next) = next {
            meta.insert("cursor".into(), json!(next));
        }
    }

    fn next(&self) -> Option<Cursor> {
        let done = self.before + self.rows.len();
        let last = self.rows.last().and_then(|row| id_of(row, self.id));
        (done < self.total).then(|| Cursor { v: 1, f: self.filter.clone(), o: done, k: last })
    }
}

fn id_of(row: &Value, id: Option<&'static str>) -> Option<String> {
    match row.get(id?)? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{Body, Reply};

    fn rows(ids: &[u32]) -> Vec<Value> {
        ids.iter().map(|id| json!({"id": id.to_string()})).collect()
    }

    fn list(ids: &[u32]) -> Rows {
        match Reply::rows(rows(ids)).body {
            Body::Rows(rows) => rows,
            other => panic!("{other:?} is no list"),
        }
    }

    fn page(limit: Option<usize>, cursor: Option<&str>) -> Page {
        let cursor = cursor.map(|text| Cursor::parse(text, "f").unwrap());
        Page { limit, cursor, filter: "f".into() }
    }

    /// Walks the list and returns its pages.
    fn walk(all: &[u32], limit: usize) -> Vec<Vec<Value>> {
        let (mut pages, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let paged = Paged::cut(&list(all), &page(Some(limit), cursor.as_deref()), Some("id"));
            let mut meta = Map::new();
            paged.describe(&mut meta);
            pages.push(paged.rows);
            match meta["pagination"]["next_cursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return pages,
            }
        }
    }

    #[test]
    fn pages_make_up_the_list() {
        let all: Vec<u32> = (0..45).collect();
        for limit in [1, 7, 20, 45, 100] {
            assert_eq!(walk(&all, limit).concat(), rows(&all), "{limit}");
        }
        assert_eq!(walk(&[], 20), [rows(&[])]);
    }

    #[test]
    fn rows_that_come_or_go_do_not_shift_the_page() {
        let first = Paged::cut(&list(&[1, 2, 3, 4]), &page(Some(2), None), Some("id"));
        let cursor = first.next().unwrap().to_string();
        let next = |all: &[u32]| Paged::cut(&list(all), &page(Some(2), Some(&cursor)), Some("id")).rows;
        assert_eq!(next(&[0, 1, 2, 3, 4]), rows(&[3, 4]), "one came before");
        assert_eq!(next(&[1, 3, 4]), rows(&[4]), "the last one seen is gone: by place");
    }

    #[test]
    fn the_facts() {
        let mut paged = Paged::cut(&list(&[1, 2, 3]), &page(None, None), Some("id"));
        let facts = |paged: &Paged| {
            let mut meta = Map::new();
            paged.describe(&mut meta);
            Value::Object(meta)
        };
        let whole =
            json!({"total": 3, "returned": 3, "truncated": false, "has_more": false, "next_cursor": null});
        assert_eq!(facts(&paged), json!({"pagination": whole, "total": 3, "page_size": 3}));
        paged.keep(1);
        let next = paged.next().unwrap().to_string();
        let cut =
            json!({"total": 3, "returned": 1, "truncated": true, "has_more": true, "next_cursor": next});
        assert_eq!(facts(&paged), json!({"pagination": cut, "total": 3, "page_size": 3, "cursor": next}));
    }

    #[test]
    fn a_cursor_of_another_list_is_none() {
        let one = filter("list", [("tag", &["a".to_owned()][..])]);
        let other = filter("list", [("tag", &["b".to_owned()][..])]);
        let text = Cursor { v: 1, f: one.clone(), o: 20, k: None }.to_string();
        assert!(Cursor::parse(&text, &one).is_some());
        assert_eq!(Cursor::parse(&text, &other), None);
        assert_eq!(Cursor::parse("rubbish", &one), None);
        assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
    }
}
