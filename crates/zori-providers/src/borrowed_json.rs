//! Incoming JSON that is borrowed: what every delta repeats must not cost an allocation each time.
//!
//! serde borrows a `Cow` only where it is the field itself, not inside an `Option`; a `Vec` takes memory for one
//! element; and serde_json remembers in a buffer how deep it is in what it skips. These types are the way around.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Text that is only inspected, borrowed if nothing in it is escaped; also as `Option<BorrowedText>`.
#[derive(Debug, Deserialize)]
pub(crate) struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

impl BorrowedText<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

/// A list that nearly always has one element; only a second one allocates.
#[derive(Debug)]
pub(crate) struct SmallList<T> {
    first: Option<T>,
    more: Vec<T>,
}

impl<T> SmallList<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl<T> Default for SmallList<T> {
    fn default() -> Self {
        Self { first: None, more: Vec::new() }
    }
}

impl<T> IntoIterator for SmallList<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.more)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for SmallList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(SmallListVisitor(PhantomData))
    }
}

struct SmallListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SmallListVisitor<T> {
    type Value = SmallList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SmallList<T>, A::Error> {
        let mut few = SmallList { first: list.next_element()?, more: Vec::new() };
        while let Some(element) = list.next_element()? {
            few.more.push(element);
        }
        Ok(few)
    }
}

/// A value that is ignored, such as a list of flat objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ignored;

impl<'de> Deserialize<'de> for Ignored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IgnoredVisitor::<IgnoredElement>(PhantomData))
    }
}

/// An element of such a list. One level below, the buffer is no longer needed.
struct IgnoredElement;

impl<'de> Deserialize<'de> for IgnoredElement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IgnoredVisitor::<IgnoredAny>(PhantomData)).map(|_| Self)
    }
}

/// Skips a value whose elements are `E`s.
struct IgnoredVisitor<E>(PhantomData<E>);

impl<'de, E: Deserialize<'de>> Visitor<'de> for IgnoredVisitor<E> {
    type Value = Ignored;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Ignored, A::Error> {
        while list.next_element::<E>()?.is_some() {}
        Ok(Ignored)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Ignored, A::Error> {
        while object.next_entry::<IgnoredAny, E>()?.is_some() {}
        Ok(Ignored)
    }

    fn visit_unit<X: Error>(self) -> Result<Ignored, X> {
        Ok(Ignored)
    }

    fn visit_bool<X: Error>(self, _: bool) -> Result<Ignored, X> {
        Ok(Ignored)
    }

    fn visit_u64<X: Error>(self, _: u64) -> Result<Ignored, X> {
        Ok(Ignored)
    }

    fn visit_i64<X: Error>(self, _: i64) -> Result<Ignored, X> {
        Ok(Ignored)
    }

    fn visit_f64<X: Error>(self, _: f64) -> Result<Ignored, X> {
        Ok(Ignored)
    }

    fn visit_str<X: Error>(self, _: &str) -> Result<Ignored, X> {
        Ok(Ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Event<'a> {
        #[serde(borrow, default)]
        model: Option<BorrowedText<'a>>,
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
        let read = |json: &str| serde_json::from_str::<SmallList<u8>>(json).map(Vec::from_iter);
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
            assert!(serde_json::from_str::<Ignored>(json).is_ok(), "{json}");
        }
        assert!(serde_json::from_str::<Ignored>("[{]").is_err());
    }
}
