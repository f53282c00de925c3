//! Compiles verdicts to BPF instructions, as far as a filter of system calls needs them.

use super::Arch;
use super::table::{Check, Verdict};

/// One instruction, laid out as the kernel wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    /// What to do.
    pub code: u16,
    /// How many instructions to skip if so.
    pub yes: u8,
    /// How many to skip if not.
    pub no: u8,
    /// The number it works with.
    pub value: u32,
}

impl Instruction {
    pub fn bytes(&self) -> [u8; 8] {
        let [code, value] = [u32::from(self.code), self.value].map(u32::to_ne_bytes);
        let code = if cfg!(target_endian = "little") { [code[0], code[1]] } else { [code[2], code[3]] };
        [code[0], code[1], self.yes, self.no, value[0], value[1], value[2], value[3]]
    }
}

/// Load a word of the call; the value is its offset.
pub const LOAD: u16 = 0x20;
/// Keep the bits of the value.
pub const AND: u16 = 0x54;
/// Skip, depending on whether the word is the value.
pub const IS: u16 = 0x15;
/// The same for "not less than the value".
pub const AT_LEAST: u16 = 0x35;
/// The same for "has one of the value's bits".
pub const HAS: u16 = 0x45;
/// End with the value as the answer.
pub const ANSWER: u16 = 0x06;

/// The answers: go on, fail with an error number (to be added), end the process.
pub const ALLOW: u32 = 0x7fff_0000;
/// See [`ALLOW`].
pub const FAIL: u32 = 0x0005_0000;
/// See [`ALLOW`].
pub const KILL: u32 = 0x8000_0000;
/// Wait until a process that listens has answered.
pub const ASK: u32 = 0x7fc0_0000;

/// Where things are in the kernel's description of a call.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGUMENTS: u32 = 16;
/// Numbers from here on are of the x32 interface, which shares the architecture's name.
const X32: u32 = 0x4000_0000;

/// Assembles a filter: the first call with the number at hand decides, others are allowed.
pub fn assemble(arch: Arch, calls: impl Iterator<Item = (u32, Verdict)>) -> Vec<Instruction> {
    let mut out = vec![
        step(LOAD, ARCH),
        jump(IS, arch.audit(), 1, 0),
        step(ANSWER, KILL),
        step(LOAD, NUMBER),
        jump(AT_LEAST, X32, 0, 1),
        step(ANSWER, KILL),
    ];
    for (number, verdict) in calls {
        let body = body(verdict);
        out.push(jump(IS, number, 0, distance(body.len())));
        out.extend(body);
    }
    out.push(step(ANSWER, ALLOW));
    out
}

/// What happens to a call whose number has matched. It always ends with an answer, so the number need not be loaded
/// again.
fn body(verdict: Verdict) -> Vec<Instruction> {
    let (checks, errno, passed) = match verdict {
        Verdict::Refuse(errno) => return vec![step(ANSWER, FAIL | errno)],
        Verdict::AllowIf(checks, errno) => (checks, errno, ALLOW),
        Verdict::AskIf(checks, errno) => (checks, errno, ASK),
    };
    let mut out = Vec::new();
    // Jumps to the refusal, whose place is known at the end: the place of each, and whether its "yes" goes there.
    let mut refusing = Vec::new();
    let mut push = |out: &mut Vec<Instruction>, instruction, yes_refuses| {
        refusing.push((out.len(), yes_refuses));
        out.push(instruction);
    };
    for check in checks {
        match *check {
            Check::OneOf { arg, mask, values } => {
                out.extend([step(LOAD, low(arg)), step(AND, mask)]);
                let (last, others) = values.split_last().expect("a list in the table has values");
                for (n, value) in others.iter().enumerate() {
                    out.push(jump(IS, *value, distance(others.len() - n), 0));
                }
                push(&mut out, jump(IS, *last, 0, 0), false);
            }
            Check::NoneOf { arg, values } => {
                out.push(step(LOAD, low(arg)));
                for value in values {
                    push(&mut out, jump(IS, *value, 0, 0), true);
                }
            }
            Check::NoBits { arg, mask } => {
                out.push(step(LOAD, low(arg)));
                push(&mut out, jump(HAS, mask, 0, 0), true);
            }
            Check::Null { arg } => {
                for offset in [low(arg), low(arg) + 4] {
                    out.push(step(LOAD, offset));
                    push(&mut out, jump(IS, 0, 0, 0), false);
                }
            }
        }
    }
    let refusal = out.len() + 1;
    out.extend([step(ANSWER, passed), step(ANSWER, FAIL | errno)]);
    for (at, yes_refuses) in refusing {
        let skip = distance(refusal - at - 1);
        if yes_refuses { out[at].yes = skip } else { out[at].no = skip }
    }
    out
}

/// Where the low half of an argument is: both architectures are little-endian. The kernel itself looks at no more of
/// an `int`, so what the upper half holds must not matter here either.
fn low(arg: u32) -> u32 {
    ARGUMENTS + 8 * arg
}

fn step(code: u16, value: u32) -> Instruction {
    Instruction { code, yes: 0, no: 0, value }
}

fn jump(code: u16, value: u32, yes: u8, no: u8) -> Instruction {
    Instruction { code, yes, no, value }
}

fn distance(instructions: usize) -> u8 {
    u8::try_from(instructions).expect("the lists in the table are short")
}
