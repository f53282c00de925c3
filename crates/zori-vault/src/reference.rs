//! References to secrets: `vault:NAME` as a whole value, `${vault:NAME}` inside one (VLT-2).

use crate::file::is_name;

/// What a whole value begins with.
const WHOLE: &str = "vault:";
/// What a reference inside a value begins with; it ends with `}`.
const INSIDE: &str = "${vault:";

/// A value in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Text that stands for itself.
    Text(&'a str),
    /// The name of a secret.
    Name(&'a str),
}

/// A reference that cannot be one. It is not repeated: somebody may have written a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a reference is `vault:NAME` or `${{vault:NAME}}`, and a name has letters, digits, `_`, `-`, `.` and `:`"
)]
pub struct BadReference;

/// Returns the name that a whole value refers to; `None` if it is no reference.
pub fn whole(value: &str) -> Option<&str> {
    value.trim().strip_prefix(WHOLE)
}

/// Returns whether a value has a reference in it, also one that cannot be resolved.
pub fn is_in(value: &str) -> bool {
    whole(value).is_some() || value.contains(INSIDE)
}

/// Takes a value apart.
pub fn parts(value: &str) -> Result<Vec<Part<'_>>, BadReference> {
    let named = |name| if is_name(name) { Ok(Part::Name(name)) } else { Err(BadReference) };
    if let Some(name) = whole(value) {
        return Ok(vec![named(name)?]);
    }
    let (mut parts, mut rest) = (Vec::new(), value);
    while let Some((before, after)) = rest.split_once(INSIDE) {
        let (name, behind) = after.split_once('}').ok_or(BadReference)?;
        parts.push(Part::Text(before));
        parts.push(named(name)?);
        rest = behind;
    }
    parts.push(Part::Text(rest));
    parts.retain(|part| *part != Part::Text(""));
    Ok(parts)
}

/// Returns the names that a value refers to.
pub fn names(value: &str) -> Vec<&str> {
    let name = |part| match part {
        Part::Name(name) => Some(name),
        Part::Text(_) => None,
    };
    parts(value).unwrap_or_default().into_iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_inside() {
        use Part::{Name, Text};
        assert_eq!(parts("vault:A_KEY"), Ok(vec![Name("A_KEY")]));
        assert_eq!(
            parts("Bearer ${vault:A}, ${vault:B}!"),
            Ok(vec![Text("Bearer "), Name("A"), Text(", "), Name("B"), Text("!")])
        );
        assert_eq!(parts("see vault:A"), Ok(vec![Text("see vault:A")]));
        assert_eq!(parts(""), Ok(vec![]));
        for bad in ["vault:", "vault:a b", "${vault:A", "${vault:}", "x${vault:sk/1}"] {
            assert_eq!(parts(bad), Err(BadReference), "{bad}");
            assert!(is_in(bad));
        }
        assert!(!is_in("$vault:A"));
        assert_eq!(names("${vault:A}-${vault:B}"), ["A", "B"]);
    }
}
