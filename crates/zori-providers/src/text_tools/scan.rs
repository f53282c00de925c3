//! Finds calls in streamed text. Text that cannot be a call is passed on at once; text that may become one is held
//! until that is clear.

use std::collections::BTreeSet;

use zori_core::tool::ToolSpec;

use super::parse_call::{self, Written};
use super::{FENCE, TAG};

/// How much is scanned at once: what is passed on is cut off the rest, so the rest should be short.
const STRIDE: usize = 4096;
/// How far the word behind a fence, or the first key of some JSON, may be from its beginning.
const MAX_OPENING: usize = 256;

/// A part of what the model said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text for people.
    Text(String),
    Call {
        name: String,
        /// JSON.
        arguments: String,
    },
}

/// Takes text in pieces of any size.
#[derive(Debug)]
pub(crate) struct Scanner {
    /// Names that make a call of JSON that does not say it is one.
    known: BTreeSet<String>,
    /// Text that has not been emitted.
    held: String,
    /// How far `held` has been searched for the end of what it begins with.
    searched: usize,
    /// The same for the bracket that closes the first one.
    nesting: Nesting,
    state: State,
    /// Whether `held` begins a line.
    line_start: bool,
    /// Whether a call was emitted last; the blanks after it belong to its fence.
    after_call: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Looking for the beginning of a call.
    Text,
    /// In a block of code in some language, which goes on as it is until its fence.
    Code,
    /// `held` begins with a tag.
    Tag,
    /// `held` begins with the fence of a block that may be a call.
    Block,
    /// `held` begins with a brace that may open a call.
    Bare,
}

impl Scanner {
    /// Returns a scanner for calls of these tools.
    pub(crate) fn new(tools: &[ToolSpec]) -> Self {
        Self {
            known: tools.iter().map(|tool| tool.name.clone()).collect(),
            held: String::new(),
            searched: 0,
            nesting: Nesting::default(),
            state: State::Text,
            line_start: true,
            after_call: false,
        }
    }

    /// Adds text; what is clear goes to `out`.
    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.floor_char_boundary(STRIDE));
            self.held.push_str(now);
            while self.step(out) {}
            rest = later;
        }
    }

    /// Ends the text. A call whose end is missing is one if it can be read.
    pub(crate) fn finish(&mut self, out: &mut Vec<Piece>) {
        if matches!(self.state, State::Tag | State::Block | State::Bare) {
            let body = match self.state {
                State::Tag => self.held.strip_prefix(TAG.0).unwrap_or_default(),
                State::Block => self.held.split_once('\n').map_or("", |(_, body)| body),
                _ => &self.held,
            };
            let body = body.to_owned();
            self.settle(self.held.len(), &body, out);
        }
        self.give(self.held.len(), out);
    }

    /// Makes one step; returns whether there may be another.
    fn step(&mut self, out: &mut Vec<Piece>) -> bool {
        match self.state {
            State::Text => self.look(out),
            State::Code => self.pass_code(out),
            State::Tag => self.close_tag(out),
            State::Block => self.close_block(out),
            State::Bare => self.close_bare(out),
        }
    }

    /// Emits text up to where a call may begin.
    fn look(&mut self, out: &mut Vec<Piece>) -> bool {
        let mut line_start = self.line_start;
        let mut begin = None;
        for (at, c) in self.held.char_indices() {
            let rest = &self.held[at..];
            let may_begin = match c {
                '<' => rest.starts_with(TAG.0) || TAG.0.starts_with(rest),
                '`' => line_start && (rest.starts_with(FENCE) || FENCE.starts_with(rest)),
                '{' | '[' => line_start,
                _ => false,
            };
            if may_begin {
                begin = Some(at);
                break;
            }
            line_start = c == '\n' || (line_start && (c == ' ' || c == '\t'));
        }
        let Some(begin) = begin else {
            self.give(self.held.len(), out);
            return false;
        };
        self.give(begin, out);
        if self.held.starts_with(TAG.0) {
            self.state = State::Tag;
            return true;
        }
        if self.held.starts_with(FENCE) {
            return self.open_fence(out);
        }
        if self.held.starts_with(['{', '[']) {
            self.state = State::Bare;
            self.nesting = Nesting::default();
            return true;
        }
        false
    }

    /// Decides by the word behind the fence whether a block may be a call.
    fn open_fence(&mut self, out: &mut Vec<Piece>) -> bool {
        let end = self.held.find('\n');
        if end.is_none() && self.held.len() <= MAX_OPENING {
            return false;
        }
        let language = end.map(|end| self.held[FENCE.len()..end].trim().to_ascii_lowercase());
        match (end, language.as_deref()) {
            (Some(end), Some("" | "json" | "tool" | "tool_call" | "tool_code" | "tool_use")) => {
                self.state = State::Block;
                self.searched = end;
            }
            _ => {
                self.give(end.map_or(self.held.len(), |end| end + 1), out);
                self.state = State::Code;
            }
        }
        true
    }

    /// Emits whole lines of code, until the fence.
    fn pass_code(&mut self, out: &mut Vec<Piece>) -> bool {
        let Some(end) = self.held.find('\n') else {
            // A line that cannot become the fence need not be complete.
            let line = self.held.trim();
            let may_close = FENCE.starts_with(line) && self.held.len() <= MAX_OPENING;
            if !(self.line_start && may_close) {
                self.give(self.held.len(), out);
            }
            return false;
        };
        let closes = self.line_start && self.held[..end].trim() == FENCE;
        self.give(end + 1, out);
        if closes {
            self.state = State::Text;
        }
        true
    }

    fn close_tag(&mut self, out: &mut Vec<Piece>) -> bool {
        let from = self.search_from(TAG.1.len());
        let Some(at) = self.held[from..].find(TAG.1).map(|at| from + at) else {
            self.searched = self.held.len();
            return false;
        };
        let body = self.held[TAG.0.len()..at].to_owned();
        self.settle(at + TAG.1.len(), &body, out);
        true
    }

    fn close_block(&mut self, out: &mut Vec<Piece>) -> bool {
        const END: &str = "\n```";
        let from = self.search_from(END.len());
        let Some(at) = self.held[from..].find(END).map(|at| from + at) else {
            self.searched = self.held.len();
            return false;
        };
        let body_start = self.held.find('\n').unwrap_or(at);
        let body = self.held[body_start..at.max(body_start)].to_owned();
        self.settle(at + END.len(), &body, out);
        true
    }

    fn close_bare(&mut self, out: &mut Vec<Piece>) -> bool {
        if let Some(end) = self.nesting.close(&self.held) {
            let body = self.held[..end].to_owned();
            self.settle(end, &body, out);
            return true;
        }
        // Once the first key was seen to be that of a call, the rest is waited for.
        if self.held.len() <= MAX_OPENING + STRIDE && !may_be_call(&self.held) {
            // Some other JSON goes on, and what follows may begin anew.
            self.state = State::Text;
            self.give(1, out);
            return true;
        }
        false
    }

    /// Emits the first `end` bytes: as calls if `body` can be parsed, else as text.
    fn settle(&mut self, end: usize, body: &str, out: &mut Vec<Piece>) {
        let tagged = self.state == State::Tag;
        self.state = State::Text;
        let is_call = |call: &Written| tagged || call.explicit || self.known.contains(&call.name);
        match parse_call::read(body).filter(|calls| calls.iter().all(is_call)) {
            Some(calls) => {
                self.held.drain(..end);
                self.searched = 0;
                self.line_start = false;
                self.after_call = true;
                let call = |Written { name, arguments, .. }| Piece::Call { name, arguments };
                out.extend(calls.into_iter().map(call));
            }
            None => self.give(end, out),
        }
    }

    /// Emits the first `end` bytes as text.
    fn give(&mut self, end: usize, out: &mut Vec<Piece>) {
        self.searched = 0;
        if end == 0 {
            return;
        }
        let rest = self.held.split_off(end);
        let text = std::mem::replace(&mut self.held, rest);
        let line = text.rsplit('\n').next().unwrap_or_default();
        let blank = line.chars().all(|c| c == ' ' || c == '\t');
        self.line_start = blank && (text.contains('\n') || self.line_start);
        let text = if self.after_call { text.trim_start().to_owned() } else { text };
        if !text.is_empty() {
            self.after_call = false;
            out.push(Piece::Text(text));
        }
    }

    /// Returns from where an end of this length must be looked for.
    fn search_from(&self, len: usize) -> usize {
        let from = self.searched.saturating_sub(len - 1);
        (0..=from).rev().find(|at| self.held.is_char_boundary(*at)).unwrap_or(0)
    }
}

/// How deep a text is inside brackets, up to where it was read.
#[derive(Debug, Default)]
struct Nesting {
    read: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Nesting {
    /// Reads on; returns where the bracket that closes the first one ends.
    fn close(&mut self, text: &str) -> Option<usize> {
        for byte in text.as_bytes()[self.read..].iter().copied() {
            self.read += 1;
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.depth == 0 {
                return Some(self.read);
            }
        }
        None
    }
}

/// Returns whether the beginning of some JSON may be that of a call: its first key says so.
fn may_be_call(text: &str) -> bool {
    let opening = &text[..text.floor_char_boundary(MAX_OPENING)];
    let complete = opening.len() < text.len();
    first_key(opening).unwrap_or(!complete)
}

/// Returns whether the first key is one of a call's; `None` if it is not all there.
fn first_key(text: &str) -> Option<bool> {
    let rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '[');
    let Some(rest) = rest.strip_prefix('{') else { return (!rest.is_empty()).then_some(false) };
    let rest = rest.trim_start();
    let Some(key) = rest.strip_prefix(['"', '\'']) else { return (!rest.is_empty()).then_some(false) };
    match key.find(['"', '\'']) {
        Some(end) => Some(parse_call::KEYS.contains(&&key[..end])),
        None if parse_call::KEYS.iter().any(|known| known.starts_with(key)) => None,
        None => Some(false),
    }
}
