//! Linux's tables of TCP sockets: who listens on a port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// The state of a socket that listens.
const LISTEN: &str = "0A";
const ROOT: u32 = 0;

/// The listeners of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tables(Vec<Listener>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listener {
    address: IpAddr,
    port: u16,
    uid: u32,
}

impl Tables {
    /// Reads the tables `tcp` and `tcp6`; one that is not there is empty.
    pub(super) fn read(folder: &Path) -> Self {
        let tables =
            ["tcp", "tcp6"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap_or_default());
        Self(tables.iter().flat_map(|table| table.lines().filter_map(listener)).collect())
    }

    /// Returns whether there is a listener for 127.0.0.1 and this port, and every such listener belongs to this user or
    /// to root.
    pub(super) fn trusted(&self, port: u16, uid: u32) -> bool {
        let takes = |listener: &&Listener| listener.port == port && takes_loopback(listener.address);
        let mut listeners = self.0.iter().filter(takes).peekable();
        listeners.peek().is_some() && listeners.all(|l| l.uid == uid || l.uid == ROOT)
    }
}

fn takes_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_unspecified() || v4 == Ipv4Addr::LOCALHOST,
        IpAddr::V6(v6) => {
            v6.is_unspecified() || v6.to_ipv4_mapped().is_some_and(|v4| takes_loopback(v4.into()))
        }
    }
}

/// Reads a row: number, local address, remote address, state, queues, timer, retransmissions, user.
fn listener(row: &str) -> Option<Listener> {
    let mut fields = row.split_ascii_whitespace();
    let (address, port) = fields.nth(1)?.split_once(':')?;
    let state = fields.nth(1)?;
    let uid = fields.nth(3)?.parse().ok()?;
    let port = u16::from_str_radix(port, 16).ok()?;
    (state == LISTEN).then_some(Listener { address: parse_address(address)?, port, uid })
}

/// Reads an address: words of the machine's byte order, in hexadecimal.
fn parse_address(hex: &str) -> Option<IpAddr> {
    let word = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::to_ne_bytes);
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(hex)?).into()),
        32 if hex.is_ascii() => {
            let mut bytes = [0; 16];
            for (at, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(&hex[at * 8..at * 8 + 8])?);
            }
            Some(Ipv6Addr::from(bytes).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of a machine with this byte order, which is every machine we build for.
    fn tables() -> Tables {
        let folder = tempfile::tempdir().unwrap();
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let row = |address: &str, state: &str, uid: u32| {
            format!(
                "   0: {address} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 {uid:>5} 0 9 1 0 100\n"
            )
        };
        let tcp = [
            head.to_owned(),
            row("0100007F:1F90", "0A", 1000),
            row("0100007F:2CAA", "0A", 1001),
            row("00000000:04D2", "0A", 0),
            row("0100007F:0001", "01", 1000),
            row("0101A8C0:0002", "0A", 1000),
            row("0100007F:0003", "0A", 1000),
            "nonsense\n".to_owned(),
            row("0100007:zz", "0A", 1000),
        ];
        let tcp6 = [
            head.to_owned(),
            row("00000000000000000000000000000000:1F40", "0A", 1000),
            row("0000000000000000FFFF00000100007F:0004", "0A", 1000),
            row("00000000000000000000000001000000:0005", "0A", 1000),
            row("00000000000000000000000000000000:0003", "0A", 1001),
        ];
        std::fs::write(folder.path().join("tcp"), tcp.concat()).unwrap();
        std::fs::write(folder.path().join("tcp6"), tcp6.concat()).unwrap();
        Tables::read(folder.path())
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn who_listens() {
        let tables = tables();
        for (port, expected, why) in [
            (8080, true, "ours"),
            (11434, false, "somebody else's"),
            (1234, true, "root's, on every address"),
            (8000, true, "ours, on every address of both kinds"),
            (4, true, "an address of one kind written as the other"),
            (1, false, "a connection, no listener"),
            (2, false, "on another address"),
            (5, false, "on the other kind's loopback"),
            (3, false, "ours and somebody else's"),
            (6, false, "nobody's"),
        ] {
            assert_eq!(tables.trusted(port, 1000), expected, "{why}");
        }
    }

    #[test]
    fn without_tables_nobody_is_trusted() {
        let empty = tempfile::tempdir().unwrap();
        let tables = Tables::read(&empty.path().join("net"));
        assert_eq!(tables, Tables::default());
        assert!(!tables.trusted(8080, 0));
    }
}
