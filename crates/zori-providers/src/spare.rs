//! Incoming JSON without memory of its own: what a delta repeats every time must not cost an allocation every time.
//!
//! serde borrows a `Cow` only where it is the field itself, not inside an `Option`; a `Vec` takes memory for one
//! element; and serde_json remembers in a buffer how deep it is in what it skips. These types are the way around.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Text that is looked at, borrowed where nothing in it is escaped; also as `Option<Looked>`.
#[derive(Debug, Deserialize)]
pub(crate) struct Looked<'a>(#[serde(borrow)] Cow<'a, str>);

impl Looked<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

/// A list that has one element nearly always; only a second one takes memory.
#[derive(Debug)]
pub(crate) struct Few<T> {
    first: Option<T>,
    more: Vec<T>,
}

impl<T> Few<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, more: Vec::new() }
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.more)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor(PhantomData))
    }
}

struct FewVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Few<T>, A::Error> {
        let mut few = Few { first: list.next_element()?, more: Vec::new() };
        while let Some(element) = list.next_element()? {
            few.more.push(element);
        }
        Ok(few)
    }
}

/// A list of flat objects that nobody reads, or anything else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread;

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnreadVisitor::<UnreadElement>(PhantomData))
    }
}

/// What is in such a list. One level below it the buffer is not needed any more.
struct UnreadElement;

impl<'de> Deserialize<'de> for UnreadElement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnreadVisitor::<IgnoredAny>(PhantomData)).map(|_| Self)
    }
}

/// Skips a value whose elements are `E`s.
struct UnreadVisitor<E>(PhantomData<E>);

impl<'de, E: Deserialize<'de>> Visitor<'de> for UnreadVisitor<E> {
    type Value = Unread;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unread, A::Error> {
        while list.next_element::<E>()?.is_some() {}
        Ok(Unread)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Unread, A::Error> {
        while object.next_entry::<IgnoredAny, E>()?.is_some() {}
        Ok(Unread)
    }

    fn visit_unit<X: Error>(self) -> Result<Unread, X> {
        Ok(Unread)
    }

    fn visit_bool<X: Error>(self, _: bool) -> Result<Unread, X> {
        Ok(Unread)
    }

    fn visit_u64<X: Error>(self, _: u64) -> Result<Unread, X> {
        Ok(Unread)
    }

    fn visit_i64<X: Error>(self, _: i64) -> Result<Unread, X> {
        Ok(Unread)
    }

    fn visit_f64<X: Error>(self, _: f64) -> Result<Unread, X> {
        Ok(Unread)
    }

    fn visit_str<X: Error>(self, _: &str) -> Result<Unread, X> {
        Ok(Unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Event<'a> {
        #[serde(borrow, default)]
        model: Option<Looked<'a>>,
    }

    #[test]
    fn text_is_borrowed_where_it_can_be() {
        let read =
            |json: &'static str| serde_json::from_str::<Event<'_>>(json).unwrap().model.map(|model| model.0);
        assert!(matches!(read(r#"{"model":"m"}"#), Some(Cow::Borrowed("m"))));
        assert!(matches!(read(r#"{"model":"a\nb"}"#), Some(Cow::Owned(text)) if text == "a\nb"));
        assert!(read(r#"{"model":null}"#).is_none() && read("{}").is_none());
    }

    #[test]
    fn a_list_in_its_order() {
        let read = |json: &str| serde_json::from_str::<Few<u8>>(json).map(Vec::from_iter);
        for list in [vec![], vec![7], vec![7, 8, 9]] {
            assert_eq!(read(&format!("{list:?}")).unwrap(), list);
        }
        for wrong in ["{}", "null", "[7,true]", "[7", "7"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn anything_can_be_left_unread() {
        let list = r#"[{"modality":"TEXT","tokenCount":1.5},[-1],{"a":{"b":[[]]}},"x\n",true]"#;
        for json in [list, "[]", "{}", "null", "-7", "7", "1.5", "\"x\"", "false"] {
            assert!(serde_json::from_str::<Unread>(json).is_ok(), "{json}");
        }
        assert!(serde_json::from_str::<Unread>("[{]").is_err());
    }
}
