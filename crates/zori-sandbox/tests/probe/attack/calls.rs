//! System calls that must not reach the kernel. They are called with nonsense: an answer about the nonsense means that
//! nobody refused them before.

use std::io;

use super::{Outcome, check};

pub fn attack(name: &str, args: &[&str]) -> Outcome {
    Some(match (name, args) {
        ("reach", [call]) => reach(number(call), [-1; 6]),
        ("ioctl", [request]) => {
            let request = i64::from_str_radix(request.trim_start_matches("0x"), 16).unwrap();
            reach(libc::SYS_ioctl, [0, request, 0, 0, 0, 0])
        }
        ("socket-high-bits", []) => reach(libc::SYS_socket, [0x1_0000_0002, 1, 0, 0, 0, 0]),
        _ => return None,
    })
}

fn reach(call: i64, [a, b, c, d, e, f]: [i64; 6]) -> io::Result<()> {
    // SAFETY: no argument is an address at which anything could be.
    let result = check(unsafe { libc::syscall(call, a, b, c, d, e, f) });
    match result {
        Err(error) => match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => Err(error),
            _ => Ok(()),
        },
        Ok(_) => Ok(()),
    }
}

fn number(name: &str) -> i64 {
    match name {
        "ptrace" => libc::SYS_ptrace,
        "process_vm_readv" => libc::SYS_process_vm_readv,
        "process_vm_writev" => libc::SYS_process_vm_writev,
        "io_uring_setup" => libc::SYS_io_uring_setup,
        "io_uring_enter" => libc::SYS_io_uring_enter,
        "io_uring_register" => libc::SYS_io_uring_register,
        "userfaultfd" => libc::SYS_userfaultfd,
        "keyctl" => libc::SYS_keyctl,
        "add_key" => libc::SYS_add_key,
        "request_key" => libc::SYS_request_key,
        "bpf" => libc::SYS_bpf,
        "perf_event_open" => libc::SYS_perf_event_open,
        "mount" => libc::SYS_mount,
        "umount2" => libc::SYS_umount2,
        "pivot_root" => libc::SYS_pivot_root,
        "open_tree" => libc::SYS_open_tree,
        "move_mount" => libc::SYS_move_mount,
        "fsopen" => libc::SYS_fsopen,
        "fsconfig" => libc::SYS_fsconfig,
        "fsmount" => libc::SYS_fsmount,
        "fspick" => libc::SYS_fspick,
        "mount_setattr" => libc::SYS_mount_setattr,
        "unshare" => libc::SYS_unshare,
        "setns" => libc::SYS_setns,
        "clone3" => libc::SYS_clone3,
        "name_to_handle_at" => libc::SYS_name_to_handle_at,
        "open_by_handle_at" => libc::SYS_open_by_handle_at,
        "fanotify_init" => libc::SYS_fanotify_init,
        "kcmp" => libc::SYS_kcmp,
        "pidfd_getfd" => libc::SYS_pidfd_getfd,
        "process_madvise" => libc::SYS_process_madvise,
        "init_module" => libc::SYS_init_module,
        "finit_module" => libc::SYS_finit_module,
        "delete_module" => libc::SYS_delete_module,
        "kexec_load" => libc::SYS_kexec_load,
        "swapon" => libc::SYS_swapon,
        "acct" => libc::SYS_acct,
        "quotactl" => libc::SYS_quotactl,
        "settimeofday" => libc::SYS_settimeofday,
        "sethostname" => libc::SYS_sethostname,
        "setdomainname" => libc::SYS_setdomainname,
        "syslog" => libc::SYS_syslog,
        "vhangup" => libc::SYS_vhangup,
        _ => panic!("no number for {name}"),
    }
}
