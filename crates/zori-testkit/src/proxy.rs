//! A proxy that passes requests on, or fails in one of the ways proxies do.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::net::sockopt;

/// What the proxy does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyBehaviour {
    /// Passes it on.
    Forward,
    /// Answers with this status itself.
    Refuse(u16),
    /// Takes it and never answers.
    Stall,
    /// Resets the connection.
    Reset,
}

/// A proxy on a loopback port. It stops listening when the test process ends.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts listening.
    pub fn start(behaviour: ProxyBehaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port can be had");
        let address = listener.local_addr().expect("a bound socket has an address");
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let noted = Arc::clone(&noted);
                // A client that breaks off shows in the test's assertions.
                std::thread::spawn(move || serve(stream, behaviour, &noted));
            }
        });
        Self { address, seen }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns what it was asked, as `METHOD target`.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(mut client: TcpStream, behaviour: ProxyBehaviour, seen: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let first = head.lines().next().unwrap_or_default();
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{method} {target}"));
    match behaviour {
        ProxyBehaviour::Refuse(status) => {
            let answer =
                format!("HTTP/1.1 {status} Refused\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            client.write_all(answer.as_bytes())
        }
        // Reading sees the end when the client gives up.
        ProxyBehaviour::Stall => reader.read_to_end(&mut Vec::new()).map(drop),
        ProxyBehaviour::Reset => Ok(sockopt::set_socket_linger(&client, Some(Duration::ZERO))?),
        ProxyBehaviour::Forward if method == "CONNECT" => {
            let server = TcpStream::connect(target)?;
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            pass_on(reader, client, server)
        }
        ProxyBehaviour::Forward => {
            let Some((host, path)) = target.strip_prefix("http://").and_then(|rest| rest.split_once('/'))
            else {
                return Ok(());
            };
            let mut server = TcpStream::connect(host)?;
            server.write_all(head.replacen(target, &format!("/{path}"), 1).as_bytes())?;
            pass_on(reader, client, server)
        }
    }
}

/// Copies both ways until both have ended.
fn pass_on(mut from_client: impl Read, mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
    let mut from_server = server.try_clone()?;
    let back = std::thread::spawn(move || {
        let copied = io::copy(&mut from_server, &mut client);
        let _ = client.shutdown(Shutdown::Both);
        copied
    });
    let there = io::copy(&mut from_client, &mut server);
    let _ = server.shutdown(Shutdown::Write);
    let _ = back.join();
    there.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::Reply;
    use crate::server::ModelServer;

    fn ask(proxy: &Proxy, text: &str) -> String {
        let mut stream = TcpStream::connect(proxy.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn passes_requests_on() {
        let server = ModelServer::start([Reply::raw("one"), Reply::raw("two")]);
        let proxy = Proxy::start(ProxyBehaviour::Forward);
        assert_eq!(ask(&proxy, &format!("GET {}/a?b HTTP/1.1\r\n\r\n", server.url())), "one");
        let host = server.url().replace("http://", "");
        let tunnelled = ask(&proxy, &format!("CONNECT {host} HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\n\r\n"));
        assert_eq!(tunnelled, "HTTP/1.1 200 Connection established\r\n\r\ntwo");
        assert_eq!([server.request(0).path, server.request(1).path], ["/a?b", "/c"]);
        assert_eq!(proxy.seen(), [format!("GET {}/a?b", server.url()), format!("CONNECT {host}")]);
    }

    #[test]
    fn refuses() {
        let proxy = Proxy::start(ProxyBehaviour::Refuse(407));
        assert!(ask(&proxy, "CONNECT a:1 HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 407 "));
    }
}
