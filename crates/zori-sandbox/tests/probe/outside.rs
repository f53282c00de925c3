//! What stands outside and must not notice anything: listeners, a victim, shared memory, an exclusive network.

use std::fs;
use std::io;
use std::net::{Ipv6Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::attack::{KEY, QUEUE};

pub struct Outside {
    pub tcp: TcpListener,
    /// Absent on a machine without IPv6.
    pub tcp6: Option<TcpListener>,
    pub udp: UdpSocket,
    unix: UnixListener,
    datagram: UnixDatagram,
    abstract_stream: UnixListener,
    abstract_datagram: UnixDatagram,
    pub abstract_name: String,
    pub victim: Child,
}

impl Outside {
    /// Sets everything up; `sock` is a directory for the sockets.
    pub fn new(sock: &Path) -> Self {
        let abstract_name = format!("zori-probe-{}", std::process::id());
        let address = |name: &str| SocketAddr::from_abstract_name(name).unwrap();
        let outside = Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            tcp6: TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).ok(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            unix: UnixListener::bind(sock.join("stream")).unwrap(),
            datagram: UnixDatagram::bind(sock.join("datagram")).unwrap(),
            abstract_stream: UnixListener::bind_addr(&address(&abstract_name)).unwrap(),
            abstract_datagram: UnixDatagram::bind_addr(&address(&format!("{abstract_name}-d"))).unwrap(),
            abstract_name,
            victim: victim(),
        };
        outside.tcp.set_nonblocking(true).unwrap();
        outside.tcp6.iter().for_each(|listener| listener.set_nonblocking(true).unwrap());
        outside.udp.set_nonblocking(true).unwrap();
        outside.unix.set_nonblocking(true).unwrap();
        outside.datagram.set_nonblocking(true).unwrap();
        outside.abstract_stream.set_nonblocking(true).unwrap();
        outside.abstract_datagram.set_nonblocking(true).unwrap();
        shared_things();
        outside
    }

    /// Returns what has been noticed since the last time.
    pub fn noticed(&mut self) -> Vec<&'static str> {
        let mut noticed = Vec::new();
        let mut look = |name, heard: bool| {
            if heard {
                noticed.push(name);
            }
        };
        let mut byte = [0; 16];
        look("tcp connection", self.tcp.accept().is_ok());
        look("tcp6 connection", self.tcp6.as_ref().is_some_and(|listener| listener.accept().is_ok()));
        look("udp packet", self.udp.recv(&mut byte).is_ok());
        look("unix connection", self.unix.accept().is_ok());
        look("unix datagram", self.datagram.recv(&mut byte).is_ok());
        look("abstract connection", self.abstract_stream.accept().is_ok());
        look("abstract datagram", self.abstract_datagram.recv(&mut byte).is_ok());
        let health = fs::read_to_string(format!("/proc/{}/stat", self.victim.id())).unwrap_or_default();
        let state = health.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        if state != Some('S') {
            look("victim", true);
            let _ = self.victim.kill();
            let _ = self.victim.wait();
            self.victim = victim();
        }
        noticed
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        // SAFETY: the calls take numbers, null pointers and a constant string.
        unsafe {
            libc::shmctl(libc::shmget(KEY, 1, 0), libc::IPC_RMID, std::ptr::null_mut());
            libc::semctl(libc::semget(KEY, 1, 0), 0, libc::IPC_RMID);
            libc::syscall(libc::SYS_mq_unlink, QUEUE.as_ptr());
        }
    }
}

/// A process that waits, in a group of its own.
fn victim() -> Child {
    let mut command = Command::new("sleep");
    command.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.process_group(0).spawn().unwrap();
    // Until it has become what it is going to be: a sleeper.
    let stat = format!("/proc/{}/stat", child.id());
    while !fs::read_to_string(&stat).is_ok_and(|text| text.contains("(sleep) S ")) {
        std::thread::yield_now();
    }
    child
}

/// Shared memory, a semaphore and a queue, under names a case knows.
fn shared_things() {
    // SAFETY: the calls take numbers, null pointers and a constant string.
    unsafe {
        libc::shmget(KEY, 64, libc::IPC_CREAT | 0o600);
        libc::semget(KEY, 1, libc::IPC_CREAT | 0o600);
        libc::syscall(libc::SYS_mq_open, QUEUE.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600, 0);
    }
}

/// Moves this process to a network of its own, where nobody else sends packets.
pub fn own_network() {
    // SAFETY: the calls take numbers, or a local request that is large enough.
    unsafe {
        assert_eq!(libc::unshare(libc::CLONE_NEWNET), 0, "{}", io::Error::last_os_error());
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[..2].copy_from_slice(&[b'l'.cast_signed(), b'o'.cast_signed()]);
        request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap();
        assert_eq!(
            libc::ioctl(fd, libc::SIOCSIFFLAGS, &raw const request),
            0,
            "{}",
            io::Error::last_os_error()
        );
        libc::close(fd);
    }
}

/// Becomes an unused, ordinary user.
pub fn become_user(id: u32) {
    // SAFETY: the calls take numbers and a null pointer.
    unsafe {
        assert_eq!(libc::setgroups(0, std::ptr::null()), 0, "{}", io::Error::last_os_error());
        assert_eq!(libc::setgid(id), 0, "{}", io::Error::last_os_error());
        assert_eq!(libc::setuid(id), 0, "{}", io::Error::last_os_error());
        // Whoever changes user is closed to others of that user, who would then be held by that alone.
        assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
    }
}

/// Returns how many packets all interfaces have seen.
pub fn packets() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let fields = |line: &str| {
        let counters: Vec<u64> =
            line.split_once(':').unwrap().1.split_whitespace().map(|n| n.parse().unwrap()).collect();
        counters[1] + counters[9]
    };
    text.lines().skip(2).map(fields).sum()
}
