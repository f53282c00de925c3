use super::bpf::{ALLOW, AND, ANSWER, ASK, AT_LEAST, FAIL, HAS, IS, KILL, LOAD};
use super::*;

/// A system call as the kernel describes it to a filter.
struct Seen {
    arch: u32,
    number: u32,
    args: [u64; 6],
}

/// Runs a filter as the kernel would.
fn run(program: &[Instruction], seen: &Seen) -> u32 {
    let word = |offset: u32| match offset {
        0 => seen.number,
        4 => seen.arch,
        16.. if offset < 64 && offset.is_multiple_of(4) => {
            let arg = seen.args[(offset as usize - 16) / 8];
            if offset.is_multiple_of(8) { arg as u32 } else { (arg >> 32) as u32 }
        }
        _ => panic!("the kernel refuses to load from {offset}"),
    };
    let (mut at, mut value) = (0, 0);
    loop {
        let Instruction { code, yes, no, value: k } = program[at];
        at += 1;
        let jump = |taken: bool| usize::from(if taken { yes } else { no });
        match code {
            LOAD => value = word(k),
            AND => value &= k,
            IS => at += jump(value == k),
            AT_LEAST => at += jump(value >= k),
            HAS => at += jump(value & k != 0),
            ANSWER => return k,
            _ => panic!("unknown instruction {code:#x}"),
        }
    }
}

fn shown(answer: u32) -> String {
    match answer {
        ALLOW => "allow".to_owned(),
        KILL => "kill".to_owned(),
        ASK => "ask".to_owned(),
        _ if answer & 0xffff_0000 == FAIL => format!("errno {}", answer & 0xffff),
        _ => panic!("unknown answer {answer:#x}"),
    }
}

const OFFLINE: Policy = Policy { network: Network::Off, space: NamespaceUse::Own };
const ONLINE: Policy = Policy { network: Network::On, space: NamespaceUse::Own };
const LANDLOCK: Policy = Policy { network: Network::Off, space: NamespaceUse::Shared };

fn number(arch: Arch, name: &str) -> u32 {
    let call = table::CALLS.iter().find(|call| call.name == name).unwrap_or_else(|| panic!("{name}"));
    call.number(arch).unwrap_or_else(|| panic!("{name} on {arch:?}"))
}

/// What happens to a call of the table, on both processors.
#[track_caller]
fn check(policy: Policy, name: &str, args: &[u64], expected: &str) {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let mut seen =
            Seen { arch: arch.audit(), number: number(arch, name), args: [0xdead_beef_dead_beef; 6] };
        seen.args[..args.len()].copy_from_slice(args);
        assert_eq!(shown(run(&program(arch, policy), &seen)), expected, "{name}{args:x?} on {arch:?}");
    }
}

#[test]
fn what_is_in_the_table_does_what_it_says() {
    for policy in [OFFLINE, ONLINE, LANDLOCK] {
        for call in table::CALLS.iter().filter(|call| call.when.applies(policy)) {
            for arch in [Arch::X86_64, Arch::Aarch64] {
                let (Some(number), table::Verdict::Refuse(errno)) = (call.number(arch), call.verdict) else {
                    continue;
                };
                for args in [[0; 6], [u64::MAX; 6]] {
                    let answer = run(&program(arch, policy), &Seen { arch: arch.audit(), number, args });
                    assert_eq!(shown(answer), format!("errno {errno}"), "{} on {arch:?}", call.name);
                }
            }
        }
    }
}

#[test]
fn foreign_calls_end_the_process() {
    for (arch, audit, number, expected) in [
        (Arch::X86_64, 0xc000_003e, 0, "allow"),
        (Arch::X86_64, 0x4000_0003, 0, "kill"),
        (Arch::X86_64, 0xc000_00b7, 0, "kill"),
        (Arch::X86_64, 0xc000_003e, 0x4000_0000, "kill"),
        (Arch::X86_64, 0xc000_003e, 0x4000_0000 + 101, "kill"),
        (Arch::X86_64, 0xc000_003e, u32::MAX, "kill"),
        (Arch::Aarch64, 0xc000_00b7, 63, "allow"),
        (Arch::Aarch64, 0x4000_0028, 63, "kill"),
    ] {
        let seen = Seen { arch: audit, number, args: [0; 6] };
        assert_eq!(shown(run(&program(arch, OFFLINE), &seen)), expected, "{audit:#x} {number:#x}");
    }
}

#[test]
fn sockets_without_network() {
    check(OFFLINE, "socket", &[1, 1, 0], "allow");
    // With close-on-exec and non-blocking.
    check(OFFLINE, "socket", &[1, 1 | 0o2_004_000, 0], "allow");
    check(OFFLINE, "socket", &[1, 2, 0], "errno 1");
    check(OFFLINE, "socket", &[1, 5, 0], "errno 1");
    for family in (0..64).filter(|family| *family != 1) {
        check(OFFLINE, "socket", &[family, 1, 0], "errno 1");
    }
    // The kernel looks at the low half alone.
    check(OFFLINE, "socket", &[0x1_0000_0002, 1, 0], "errno 1");
    check(OFFLINE, "socket", &[0x1_0000_0001, 1, 0], "allow");
    check(OFFLINE, "connect", &[3, 0, 0], "errno 1");
    check(OFFLINE, "sendto", &[3, 0, 0, 0, 0, 0], "allow");
    check(OFFLINE, "sendto", &[3, 0, 0, 0, 0x7fff_0000_0000, 16], "errno 1");
    check(OFFLINE, "sendto", &[3, 0, 0, 0, 0x7000, 16], "errno 1");
    check(OFFLINE, "socketpair", &[1, 1, 0], "allow");
    check(OFFLINE, "socketpair", &[1, 5, 0], "allow");
    check(OFFLINE, "socketpair", &[1, 2, 0], "errno 1");
}

#[test]
fn sockets_with_network() {
    for (family, kind, protocol, expected) in [
        (2, 1, 0, "allow"),
        (2, 1, 6, "allow"),
        (10, 2, 17, "allow"),
        (16, 3, 0, "allow"),
        (16, 3, 9, "errno 1"),
        (2, 2, 1, "errno 1"),
        (2, 3, 255, "errno 1"),
        (1, 1, 0, "errno 1"),
        (17, 3, 768, "errno 1"),
        (40, 1, 0, "errno 1"),
    ] {
        check(ONLINE, "socket", &[family, kind, protocol], expected);
    }
    check(ONLINE, "connect", &[3, 0, 0], "allow");
    check(ONLINE, "socketpair", &[1, 2, 0], "errno 1");
}

#[test]
fn calls_that_depend_on_an_argument() {
    check(OFFLINE, "ioctl", &[0, 0x5413], "allow");
    check(OFFLINE, "ioctl", &[0, 0x5412], "errno 1");
    check(OFFLINE, "ioctl", &[0, 0xffff_ffff_0000_5412], "errno 1");
    check(OFFLINE, "ioctl", &[0, 0x541c], "errno 1");
    check(OFFLINE, "clone", &[0x0120_0011], "allow");
    for flag in [0x80, 0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000] {
        check(OFFLINE, "clone", &[flag], "errno 1");
    }
    check(OFFLINE, "clone3", &[], "errno 38");
    check(OFFLINE, "prlimit64", &[0], "allow");
    check(OFFLINE, "prlimit64", &[1], "errno 1");
    check(OFFLINE, "mknodat", &[0, 0, 0o010_644], "allow");
    check(OFFLINE, "mknodat", &[0, 0, 0o020_644], "errno 1");
    check(OFFLINE, "mknodat", &[0, 0, 0o060_644], "errno 1");
    check(OFFLINE, "fchmodat", &[0, 0, 0o4755], "errno 1");
    check(OFFLINE, "fchmodat", &[0, 0, 0o755], "allow");
    check(LANDLOCK, "fchmodat", &[0, 0, 0o755], "ask");
    check(LANDLOCK, "utimensat", &[0, 0, 0, 0], "ask");
    check(LANDLOCK, "fchmodat", &[0, 0, 0o4755], "errno 1");
    check(LANDLOCK, "fchownat", &[0, 0, 0, 0, 0], "ask");
    check(LANDLOCK, "fchown", &[0, 0, 0], "ask");
    check(OFFLINE, "fchown", &[0, 0, 0], "allow");
    for name in
        ["setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "setxattrat"]
    {
        check(LANDLOCK, name, &[0, 0, 0, 0, 0], "errno 95");
        check(OFFLINE, name, &[0, 0, 0, 0, 0], "allow");
    }
    check(LANDLOCK, "fchmod", &[0, 0o2755], "errno 1");
    check(OFFLINE, "shmget", &[], "allow");
    check(LANDLOCK, "shmget", &[], "errno 1");
}

/// Our numbers beside libc's, for the processor at hand.
#[test]
fn numbers() {
    let names = [
        ("ioctl", libc::SYS_ioctl),
        ("clone", libc::SYS_clone),
        ("clone3", libc::SYS_clone3),
        ("socket", libc::SYS_socket),
        ("socketpair", libc::SYS_socketpair),
        ("connect", libc::SYS_connect),
        ("bind", libc::SYS_bind),
        ("listen", libc::SYS_listen),
        ("sendto", libc::SYS_sendto),
        ("sendmmsg", libc::SYS_sendmmsg),
        ("ptrace", libc::SYS_ptrace),
        ("process_vm_readv", libc::SYS_process_vm_readv),
        ("process_vm_writev", libc::SYS_process_vm_writev),
        ("process_madvise", libc::SYS_process_madvise),
        ("pidfd_getfd", libc::SYS_pidfd_getfd),
        ("kcmp", libc::SYS_kcmp),
        ("prlimit64", libc::SYS_prlimit64),
        ("io_uring_setup", libc::SYS_io_uring_setup),
        ("io_uring_enter", libc::SYS_io_uring_enter),
        ("io_uring_register", libc::SYS_io_uring_register),
        ("userfaultfd", libc::SYS_userfaultfd),
        ("add_key", libc::SYS_add_key),
        ("request_key", libc::SYS_request_key),
        ("keyctl", libc::SYS_keyctl),
        ("bpf", libc::SYS_bpf),
        ("perf_event_open", libc::SYS_perf_event_open),
        ("fanotify_init", libc::SYS_fanotify_init),
        ("mount", libc::SYS_mount),
        ("umount2", libc::SYS_umount2),
        ("pivot_root", libc::SYS_pivot_root),
        ("chroot", libc::SYS_chroot),
        ("open_tree", libc::SYS_open_tree),
        ("move_mount", libc::SYS_move_mount),
        ("fsopen", libc::SYS_fsopen),
        ("fsconfig", libc::SYS_fsconfig),
        ("fsmount", libc::SYS_fsmount),
        ("fspick", libc::SYS_fspick),
        ("mount_setattr", libc::SYS_mount_setattr),
        ("name_to_handle_at", libc::SYS_name_to_handle_at),
        ("open_by_handle_at", libc::SYS_open_by_handle_at),
        ("unshare", libc::SYS_unshare),
        ("setns", libc::SYS_setns),
        ("mknodat", libc::SYS_mknodat),
        ("init_module", libc::SYS_init_module),
        ("finit_module", libc::SYS_finit_module),
        ("delete_module", libc::SYS_delete_module),
        ("kexec_load", libc::SYS_kexec_load),
        ("reboot", libc::SYS_reboot),
        ("swapon", libc::SYS_swapon),
        ("swapoff", libc::SYS_swapoff),
        ("acct", libc::SYS_acct),
        ("quotactl", libc::SYS_quotactl),
        ("quotactl_fd", libc::SYS_quotactl_fd),
        ("settimeofday", libc::SYS_settimeofday),
        ("clock_settime", libc::SYS_clock_settime),
        ("sethostname", libc::SYS_sethostname),
        ("setdomainname", libc::SYS_setdomainname),
        ("syslog", libc::SYS_syslog),
        ("vhangup", libc::SYS_vhangup),
        ("shmget", libc::SYS_shmget),
        ("shmat", libc::SYS_shmat),
        ("shmctl", libc::SYS_shmctl),
        ("semget", libc::SYS_semget),
        ("semop", libc::SYS_semop),
        ("semtimedop", libc::SYS_semtimedop),
        ("semctl", libc::SYS_semctl),
        ("msgget", libc::SYS_msgget),
        ("msgsnd", libc::SYS_msgsnd),
        ("msgrcv", libc::SYS_msgrcv),
        ("msgctl", libc::SYS_msgctl),
        ("mq_open", libc::SYS_mq_open),
        ("mq_unlink", libc::SYS_mq_unlink),
        ("fchmod", libc::SYS_fchmod),
        ("fchmodat", libc::SYS_fchmodat),
        ("setxattr", libc::SYS_setxattr),
        ("lsetxattr", libc::SYS_lsetxattr),
        ("fsetxattr", libc::SYS_fsetxattr),
        ("removexattr", libc::SYS_removexattr),
        ("lremovexattr", libc::SYS_lremovexattr),
        ("fremovexattr", libc::SYS_fremovexattr),
        ("fchown", libc::SYS_fchown),
        ("fchownat", libc::SYS_fchownat),
    ];
    for (name, theirs) in names {
        assert_eq!(i64::from(number(Arch::here().unwrap(), name)), theirs, "{name}");
    }
}

#[test]
fn bytes_are_the_kernels() {
    let program = [Instruction { code: 0x15, yes: 1, no: 2, value: 0x0102_0304 }];
    let expected = if cfg!(target_endian = "little") {
        [0x15, 0, 1, 2, 4, 3, 2, 1]
    } else {
        [0, 0x15, 1, 2, 1, 2, 3, 4]
    };
    assert_eq!(bytes(&program), expected);
}
