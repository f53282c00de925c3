//! Sockets of all kinds.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::Path;

use super::{Outcome, check, number};

pub fn attack(name: &str, args: &[&str]) -> Outcome {
    Some(match (name, args) {
        ("tcp", [host, port]) => TcpStream::connect((number::<IpAddr>(host), number(port))).map(drop),
        ("tcp-non-blocking", [_, port]) => raw_connect(libc::SOCK_STREAM | libc::SOCK_NONBLOCK, number(port)),
        ("tcp-fast-open", [_, port]) => raw_send(libc::SOCK_STREAM, number(port), libc::MSG_FASTOPEN),
        ("listen", [host]) => TcpListener::bind((number::<IpAddr>(host), 0)).map(drop),
        ("udp", [_, port]) => UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|s| s.send_to(b"x", (Ipv4Addr::LOCALHOST, number(port))))
            .map(drop),
        ("udp-connected", [_, port]) => raw_connect(libc::SOCK_DGRAM, number(port)),
        ("udp-message", [_, port]) => raw_message(number(port), false),
        ("udp-messages", [_, port]) => raw_message(number(port), true),
        ("socket", [family, kind, protocol]) => {
            socket(number(family), number(kind), number(protocol)).map(drop)
        }
        ("vsock", []) => vsock(),
        ("unix", [path]) => UnixStream::connect(path).map(drop),
        ("unix-datagram", [path]) => UnixDatagram::unbound().and_then(|s| s.send_to(b"x", path)).map(drop),
        ("unix-datagram-connected", [path]) => UnixDatagram::unbound().and_then(|s| s.connect(path)),
        ("unix-pair-message", [path]) => pair_message(path),
        ("unix-pair-connect", [path]) => UnixDatagram::pair().and_then(|(s, _)| {
            s.connect(path)?;
            s.send(b"x").map(drop)
        }),
        ("bind-path", [path]) => UnixListener::bind(path).map(drop),
        ("listen-unbound", []) => socket(libc::AF_UNIX, libc::SOCK_STREAM, 0)
            // SAFETY: the call takes numbers.
            .and_then(|fd| check(unsafe { libc::bind(fd, [1_u16, 0].as_ptr().cast(), 2) }).map(drop)),
        ("abstract", [name]) => abstract_name(name).and_then(|a| UnixStream::connect_addr(&a)).map(drop),
        ("abstract-datagram", [name]) => {
            abstract_name(name).and_then(|a| UnixDatagram::unbound()?.send_to_addr(b"x", &a)).map(drop)
        }
        ("abstract-listen", [name]) => {
            abstract_name(name).and_then(|a| UnixListener::bind_addr(&a)).map(drop)
        }
        ("inherited-socket", []) => inherited(),
        _ => return None,
    })
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<i32> {
    // SAFETY: the call takes numbers.
    check(unsafe { libc::socket(family, kind, protocol) }).map(|fd| i32::try_from(fd).unwrap())
}

fn loopback(port: u16) -> libc::sockaddr_in {
    // SAFETY: the structure is made of numbers, for which zero is a value.
    let mut address: libc::sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::AF_INET as u16;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from(Ipv4Addr::LOCALHOST).to_be();
    address
}

fn raw_connect(kind: i32, port: u16) -> io::Result<()> {
    let fd = socket(libc::AF_INET, kind, 0)?;
    let address = loopback(port);
    // SAFETY: the address is a local value of the size given.
    match check(unsafe {
        libc::connect(fd, (&raw const address).cast(), size_of::<libc::sockaddr_in>() as u32)
    }) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other.map(drop),
    }
}

fn raw_send(kind: i32, port: u16, flags: i32) -> io::Result<()> {
    let fd = socket(libc::AF_INET, kind, 0)?;
    let address = loopback(port);
    // SAFETY: address and data are local values of the sizes given.
    let sent = unsafe {
        let size = size_of::<libc::sockaddr_in>() as u32;
        libc::sendto(fd, c"x".as_ptr().cast(), 1, flags, (&raw const address).cast(), size)
    };
    check(i64::try_from(sent).unwrap()).map(drop)
}

fn raw_message(port: u16, several: bool) -> io::Result<()> {
    let fd = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut address = loopback(port);
    let size = size_of::<libc::sockaddr_in>() as u32;
    message(fd, (&raw mut address).cast(), size, several)
}

fn message(fd: i32, address: *mut libc::c_void, size: u32, several: bool) -> io::Result<()> {
    let mut data = *b"x";
    let mut part = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: the structures are made of numbers and pointers, for which zero is a value; what they point to is local,
    // or the caller's, and lives longer than the calls.
    unsafe {
        let mut outer: libc::mmsghdr = zeroed();
        outer.msg_hdr.msg_name = address;
        outer.msg_hdr.msg_namelen = size;
        outer.msg_hdr.msg_iov = &raw mut part;
        outer.msg_hdr.msg_iovlen = 1;
        let sent = if several {
            i64::from(libc::sendmmsg(fd, &raw mut outer, 1, 0))
        } else {
            i64::try_from(libc::sendmsg(fd, &raw const outer.msg_hdr, 0)).unwrap()
        };
        check(sent).map(drop)
    }
}

/// A pair is connected already, but a datagram can say where it wants to go.
fn pair_message(path: &str) -> io::Result<()> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_DGRAM, 0, ends.as_mut_ptr()) })?;
    // SAFETY: the structure is made of numbers, for which zero is a value.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as u16;
    let bytes = Path::new(path).as_os_str().as_encoded_bytes();
    for (place, byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = byte.cast_signed();
    }
    message(ends[0], (&raw mut address).cast(), size_of::<libc::sockaddr_un>() as u32, false)
}

fn vsock() -> io::Result<()> {
    let fd = socket(libc::AF_VSOCK, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
    // SAFETY: the structure is made of numbers, for which zero is a value; it is a local value of the size given.
    let done = unsafe {
        let mut address: libc::sockaddr_vm = zeroed();
        address.svm_family = libc::AF_VSOCK as u16;
        address.svm_cid = 2;
        address.svm_port = 1;
        libc::connect(fd, (&raw const address).cast(), size_of::<libc::sockaddr_vm>() as u32)
    };
    check(done).map(drop)
}

fn abstract_name(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name)
}

/// Looks for a socket among the descriptors that were left open by whoever started us.
fn inherited() -> io::Result<()> {
    for fd in 3..64 {
        let (mut kind, mut size) = (0_i32, 4_u32);
        // SAFETY: the two local values are as large as the call is told.
        let known = unsafe {
            libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &raw mut size)
        };
        if known == 0 {
            return Ok(());
        }
    }
    Err(io::Error::other("none"))
}
