//! The filter of system calls (SB-4): a table of calls ([`table`]), assembled into a program for the kernel ([`bpf`]).
//!
//! What the table does not name is allowed; calls of a foreign architecture end the process. The program is a pure
//! function of a [`Policy`], so its tests run it in an interpreter, for both architectures.

mod bpf;
mod table;
#[cfg(test)]
mod tests;

pub use self::bpf::Instruction;

use zori_core::confine::ConfineError;

use crate::spec::Network;

/// What the filter depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether the network may be used.
    pub network: Network,
    /// Whether the process has namespaces of its own.
    pub space: NamespaceUse,
}

/// Whether a process has namespaces of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceUse {
    /// Nothing: namespaces of its own.
    Own,
    /// Message queues, shared memory and file modes, which Landlock does not know.
    Shared,
}

/// A processor whose call numbers are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// 64-bit Intel and AMD.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

impl Arch {
    /// The processor this program was built for.
    pub fn here() -> Result<Self, ConfineError> {
        if cfg!(target_arch = "x86_64") {
            Ok(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Ok(Self::Aarch64)
        } else {
            Err(ConfineError("the sandbox does not know the system calls of this processor".to_owned()))
        }
    }

    /// The kernel's name for it.
    fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xc000_003e,
            Self::Aarch64 => 0xc000_00b7,
        }
    }
}

/// Returns the names of the system calls that no confined command can make, whatever their arguments.
pub fn refused_calls() -> Vec<&'static str> {
    let refused = |call: &&table::Call| {
        call.when == table::When::Always && matches!(call.verdict, table::Verdict::Refuse(_))
    };
    table::CALLS.iter().filter(refused).map(|call| call.name).collect()
}

/// Assembles the filter.
pub fn program(arch: Arch, policy: Policy) -> Vec<Instruction> {
    let calls = table::CALLS.iter().filter(|call| call.when.applies(policy));
    bpf::assemble(arch, calls.filter_map(|call| Some((call.number(arch)?, call.verdict))))
}

/// Returns the program as bytes, as `bwrap --seccomp` reads them.
pub fn bytes(program: &[Instruction]) -> Vec<u8> {
    program.iter().flat_map(Instruction::bytes).collect()
}
