//! The system calls that are refused or checked, as a table. The numbers are the kernel's; a test compares them with
//! libc's for the processor it runs on.

use super::{Arch, NamespaceUse, Policy};
use crate::spec::Network;

/// A system call.
pub struct Call {
    pub name: &'static str,
    x86_64: Option<u32>,
    aarch64: Option<u32>,
    /// Under which policies it is checked.
    pub when: When,
    pub verdict: Verdict,
}

/// What happens to a call.
#[derive(Clone, Copy, Debug)]
pub enum Verdict {
    /// It fails with this error number.
    Refuse(u32),
    /// It fails with this error number unless all checks hold.
    AllowIf(&'static [Check], u32),
    /// The same, and then it is ours to do or to refuse (`attributes.rs`).
    AskIf(&'static [Check], u32),
}

/// A condition on an argument, which is counted from 0. All but [`Check::Null`] look at its low 32 bits.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// The masked argument is one of these.
    OneOf { arg: u32, mask: u32, values: &'static [u32] },
    /// The argument is none of these.
    NoneOf { arg: u32, values: &'static [u32] },
    /// The argument has none of these bits.
    NoBits { arg: u32, mask: u32 },
    /// The argument is a null pointer.
    Null { arg: u32 },
}

/// Under which policies a call is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// All.
    Always,
    /// Without network.
    Offline,
    /// With network.
    Online,
    /// Without namespaces of its own.
    Shared,
    /// With namespaces of its own.
    Own,
}

impl When {
    /// Returns whether the policy is one of those.
    pub fn applies(self, policy: Policy) -> bool {
        match self {
            Self::Always => true,
            Self::Offline => policy.network == Network::Off,
            Self::Online => policy.network == Network::On,
            Self::Shared => policy.space == NamespaceUse::Shared,
            Self::Own => policy.space == NamespaceUse::Own,
        }
    }
}

impl Call {
    /// Returns its number, if the processor's table has it.
    pub fn number(&self, arch: Arch) -> Option<u32> {
        match arch {
            Arch::X86_64 => self.x86_64,
            Arch::Aarch64 => self.aarch64,
        }
    }
}

const EPERM: u32 = 1;
/// "There is no such call": programs then use the older one, whose arguments a filter can see.
const ENOSYS: u32 = 38;

const ENOTSUP: u32 = 95;

const ALL: u32 = u32::MAX;
/// The kind of a socket, without the flags that share the argument.
const SOCKET_KIND: u32 = 0xf;
const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const AF_NETLINK: u32 = 16;
const STREAM: u32 = 1;
const DATAGRAM: u32 = 2;
const RAW: u32 = 3;
const SEQPACKET: u32 = 5;

/// Flags that ask for a new namespace: time, mount, cgroup, uts, ipc, user, pid, net.
const NEW_NAMESPACES: u32 = 0x7e02_0080;
/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;
const FILE_KIND: u32 = 0o170_000;
/// Everything but devices; 0 is a regular file, too.
const NOT_DEVICES: &[u32] = &[0, 0o100_000, 0o010_000, 0o140_000];
/// Typing for the user, the console's menu of tricks, taking over the console's output.
const TERMINAL_TRICKS: &[u32] = &[0x5412, 0x541c, 0x541d];

const fn refuse(name: &'static str, x86_64: u32, aarch64: u32) -> Call {
    call(name, x86_64, aarch64, When::Always, Verdict::Refuse(EPERM))
}

const fn missing(name: &'static str, number: u32) -> Call {
    call(name, number, number, When::Always, Verdict::Refuse(ENOSYS))
}

const fn refuse_when(when: When, name: &'static str, x86_64: u32, aarch64: u32) -> Call {
    call(name, x86_64, aarch64, when, Verdict::Refuse(EPERM))
}

/// What fails under Landlock as on a file system that does not have it.
const fn unsupported(name: &'static str, x86_64: u32, aarch64: u32) -> Call {
    call(name, x86_64, aarch64, When::Shared, Verdict::Refuse(ENOTSUP))
}

const fn allow_if(
    when: When,
    name: &'static str,
    x86_64: u32,
    aarch64: u32,
    checks: &'static [Check],
) -> Call {
    call(name, x86_64, aarch64, when, Verdict::AllowIf(checks, EPERM))
}

const fn ask_if(name: &'static str, x86_64: u32, aarch64: u32, checks: &'static [Check]) -> Call {
    call(name, x86_64, aarch64, When::Shared, Verdict::AskIf(checks, EPERM))
}

/// What an architecture without the call has in the table.
const NONE: u32 = u32::MAX;

const fn call(name: &'static str, x86_64: u32, aarch64: u32, when: When, verdict: Verdict) -> Call {
    let x86_64 = if x86_64 == NONE { None } else { Some(x86_64) };
    let aarch64 = if aarch64 == NONE { None } else { Some(aarch64) };
    Call { name, x86_64, aarch64, when, verdict }
}

/// The table. The order matters for speed alone: what programs call often comes first.
pub const CALLS: &[Call] = &[
    allow_if(When::Always, "ioctl", 16, 29, &[Check::NoneOf { arg: 1, values: TERMINAL_TRICKS }]),
    // Starting processes, without a namespace of their own.
    allow_if(When::Always, "clone", 56, 220, &[Check::NoBits { arg: 0, mask: NEW_NAMESPACES }]),
    missing("clone3", 435),
    // The network. With it off, a local stream socket can be made and not be used: what only looks whether it can goes
    // on. With it on, local sockets are refused altogether, because a container's or a desktop's would be a way out,
    // and no filter sees whom a call connects to. A datagram pair could be pointed at anybody's socket.
    allow_if(
        When::Offline,
        "socket",
        41,
        198,
        &[
            Check::OneOf { arg: 0, mask: ALL, values: &[AF_UNIX] },
            Check::OneOf { arg: 1, mask: SOCKET_KIND, values: &[STREAM] },
        ],
    ),
    allow_if(
        When::Online,
        "socket",
        41,
        198,
        &[
            Check::OneOf { arg: 0, mask: ALL, values: &[AF_INET, AF_INET6, AF_NETLINK] },
            // Name look-ups ask the kernel for its addresses, through a raw socket of the first netlink protocol.
            Check::OneOf { arg: 1, mask: SOCKET_KIND, values: &[STREAM, DATAGRAM, RAW] },
            Check::OneOf { arg: 2, mask: ALL, values: &[0, 6, 17] },
        ],
    ),
    allow_if(
        When::Always,
        "socketpair",
        53,
        199,
        &[
            Check::OneOf { arg: 0, mask: ALL, values: &[AF_UNIX] },
            Check::OneOf { arg: 1, mask: SOCKET_KIND, values: &[STREAM, SEQPACKET] },
        ],
    ),
    refuse_when(When::Offline, "connect", 42, 203),
    refuse_when(When::Offline, "bind", 49, 200),
    refuse_when(When::Offline, "listen", 50, 201),
    allow_if(When::Offline, "sendto", 44, 206, &[Check::Null { arg: 4 }]),
    refuse_when(When::Offline, "sendmmsg", 307, 269),
    // Other processes.
    refuse("ptrace", 101, 117),
    refuse("process_vm_readv", 310, 270),
    refuse("process_vm_writev", 311, 271),
    refuse("process_madvise", 440, 440),
    refuse("pidfd_getfd", 438, 438),
    refuse("kcmp", 312, 272),
    allow_if(When::Always, "prlimit64", 302, 261, &[Check::OneOf { arg: 0, mask: ALL, values: &[0] }]),
    // Large parts of the kernel that a build has no use for.
    missing("io_uring_setup", 425),
    missing("io_uring_enter", 426),
    missing("io_uring_register", 427),
    refuse("userfaultfd", 323, 282),
    refuse("add_key", 248, 217),
    refuse("request_key", 249, 218),
    refuse("keyctl", 250, 219),
    refuse("bpf", 321, 280),
    refuse("perf_event_open", 298, 241),
    refuse("fanotify_init", 300, 262),
    refuse("lookup_dcookie", 212, 18),
    refuse("nfsservctl", 180, 42),
    refuse("_sysctl", 156, NONE),
    refuse("uselib", 134, NONE),
    refuse("modify_ldt", 154, NONE),
    // What the file tree looks like.
    refuse("mount", 165, 40),
    refuse("umount2", 166, 39),
    refuse("pivot_root", 155, 41),
    refuse("chroot", 161, 51),
    refuse("open_tree", 428, 428),
    refuse("move_mount", 429, 429),
    refuse("fsopen", 430, 430),
    refuse("fsconfig", 431, 431),
    refuse("fsmount", 432, 432),
    refuse("fspick", 433, 433),
    refuse("mount_setattr", 442, 442),
    refuse("open_tree_attr", 467, 467),
    refuse("name_to_handle_at", 303, 264),
    refuse("open_by_handle_at", 304, 265),
    refuse("unshare", 272, 97),
    refuse("setns", 308, 268),
    allow_if(
        When::Always,
        "mknod",
        133,
        NONE,
        &[Check::OneOf { arg: 1, mask: FILE_KIND, values: NOT_DEVICES }],
    ),
    allow_if(
        When::Always,
        "mknodat",
        259,
        33,
        &[Check::OneOf { arg: 2, mask: FILE_KIND, values: NOT_DEVICES }],
    ),
    // The machine.
    refuse("init_module", 175, 105),
    refuse("finit_module", 313, 273),
    refuse("delete_module", 176, 106),
    refuse("kexec_load", 246, 104),
    refuse("kexec_file_load", 320, 294),
    refuse("reboot", 169, 142),
    refuse("swapon", 167, 224),
    refuse("swapoff", 168, 225),
    refuse("acct", 163, 89),
    refuse("quotactl", 179, 60),
    refuse("quotactl_fd", 443, 443),
    refuse("settimeofday", 164, 170),
    refuse("clock_settime", 227, 112),
    refuse("sethostname", 170, 161),
    refuse("setdomainname", 171, 162),
    refuse("iopl", 172, NONE),
    refuse("ioperm", 173, NONE),
    refuse("syslog", 103, 116),
    refuse("vhangup", 153, 58),
    // What Landlock does not know: memory and queues shared by name.
    refuse_when(When::Shared, "shmget", 29, 194),
    refuse_when(When::Shared, "shmat", 30, 196),
    refuse_when(When::Shared, "shmctl", 31, 195),
    refuse_when(When::Shared, "semget", 64, 190),
    refuse_when(When::Shared, "semop", 65, 193),
    refuse_when(When::Shared, "semtimedop", 220, 192),
    refuse_when(When::Shared, "semctl", 66, 191),
    refuse_when(When::Shared, "msgget", 68, 186),
    refuse_when(When::Shared, "msgsnd", 69, 189),
    refuse_when(When::Shared, "msgrcv", 70, 188),
    refuse_when(When::Shared, "msgctl", 71, 187),
    refuse_when(When::Shared, "mq_open", 240, 180),
    refuse_when(When::Shared, "mq_unlink", 241, 181),
    // Rights given to a file by its mode: they would outlive the sandbox.
    allow_if(When::Own, "chmod", 90, NONE, &[Check::NoBits { arg: 1, mask: SET_ID }]),
    allow_if(When::Own, "fchmod", 91, 52, &[Check::NoBits { arg: 1, mask: SET_ID }]),
    allow_if(When::Own, "fchmodat", 268, 53, &[Check::NoBits { arg: 2, mask: SET_ID }]),
    allow_if(When::Own, "fchmodat2", 452, 452, &[Check::NoBits { arg: 2, mask: SET_ID }]),
    // Landlock knows no extended attributes, and a list of rights among them is a mode by another name. Programs take it for a
    // file system without them and set the mode.
    unsupported("setxattr", 188, 5),
    unsupported("lsetxattr", 189, 6),
    unsupported("fsetxattr", 190, 7),
    unsupported("removexattr", 197, 14),
    unsupported("lremovexattr", 198, 15),
    unsupported("fremovexattr", 199, 16),
    unsupported("setxattrat", 463, 463),
    unsupported("removexattrat", 466, 466),
    // Nor does it know modes, times and owners.
    ask_if("chmod", 90, NONE, &[Check::NoBits { arg: 1, mask: SET_ID }]),
    ask_if("fchmod", 91, 52, &[Check::NoBits { arg: 1, mask: SET_ID }]),
    ask_if("fchmodat", 268, 53, &[Check::NoBits { arg: 2, mask: SET_ID }]),
    ask_if("fchmodat2", 452, 452, &[Check::NoBits { arg: 2, mask: SET_ID }]),
    ask_if("utime", 132, NONE, &[]),
    ask_if("utimes", 235, NONE, &[]),
    ask_if("futimesat", 261, NONE, &[]),
    ask_if("utimensat", 280, 88, &[]),
    ask_if("chown", 92, NONE, &[]),
    ask_if("fchown", 93, 55, &[]),
    ask_if("lchown", 94, NONE, &[]),
    ask_if("fchownat", 260, 54, &[]),
    allow_if(When::Always, "creat", 85, NONE, &[Check::NoBits { arg: 1, mask: SET_ID }]),
];
