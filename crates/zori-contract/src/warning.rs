//! What a caller should know although it worked.
//!
//! On the wire a warning is twice there: as the string `CODE: text` in `warnings`, which the envelope's schema wants,
//! and with its facts in `meta.warning_details`, in the same order.

use serde::Serialize;

/// Something the caller should know about a run that went well: an entry of `warnings`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The stable code, such as `OUTPUT_TRUNCATED`.
    pub code: &'static str,
    /// What to know, as a fragment or sentence.
    pub message: String,
    /// The field of `data` it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// How many characters the field had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_length: Option<usize>,
    /// How many of them are in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated_to: Option<usize>,
    /// How many bytes there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_bytes: Option<usize>,
    /// How many of them are in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned_bytes: Option<usize>,
    /// The version that no longer has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_in: Option<String>,
    /// Standard error has it already.
    #[serde(skip)]
    pub shown: bool,
}

impl Warning {
    /// A warning without further facts.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            message,
            field: None,
            original_length: None,
            truncated_to: None,
            original_bytes: None,
            returned_bytes: None,
            removed_in: None,
            shown: false,
        }
    }

    /// Says that standard error has it already.
    pub fn already_shown(mut self) -> Self {
        self.shown = true;
        self
    }

    /// Says which field of `data` it is about.
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Says to how many characters it was cut.
    pub fn length(mut self, original: usize, truncated: usize) -> Self {
        (self.original_length, self.truncated_to) = (Some(original), Some(truncated));
        self
    }

    /// Says how much was cut.
    pub fn bytes(mut self, original: usize, returned: usize) -> Self {
        (self.original_bytes, self.returned_bytes) = (Some(original), Some(returned));
        self
    }

    /// Says since when it will be gone.
    pub fn removed_in(mut self, version: impl Into<String>) -> Self {
        self.removed_in = Some(version.into());
        self
    }

    /// Returns the string in `warnings`.
    pub fn line(&self) -> String {
        format!("{}: {}", self.code, self.message)
    }
}
