//! TLS in front of a server without it. The certificates are those of the tests of `zori-providers`, whose README says
//! how they were made.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The authority that vouches for it, as PEM.
pub const AUTHORITY: &[u8] = include_bytes!("../../zori-providers/tests/it/tls/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../zori-providers/tests/it/tls/server.pem");
const KEY: &[u8] = include_bytes!("../../zori-providers/tests/it/tls/server.key");

/// Returns the set-up of a server whose certificate [`AUTHORITY`] vouches for.
pub fn server_config() -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).expect("the certificate is PEM");
    let key = PrivateKeyDer::from_pem_slice(KEY).expect("the key is PEM");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default TLS versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("the key fits the certificate");
    Arc::new(config)
}

/// TLS on a loopback port. It stops listening when the test process ends.
#[derive(Debug)]
pub struct TlsFront {
    address: SocketAddr,
}

impl TlsFront {
    /// Starts listening for the server at `http://HOST:PORT`.
    pub fn start(server: &str) -> Self {
        let config = server_config();
        let server = server.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port can be had");
        let address = listener.local_addr().expect("a bound socket has an address");
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (config, server) = (config.clone(), server.clone());
                // A client that trusts nobody shows in the test's assertions.
                std::thread::spawn(move || serve(client, config, &server));
            }
        });
        Self { address }
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }
}

/// Passes one request on, and all that comes back.
fn serve(client: TcpStream, config: Arc<ServerConfig>, server: &str) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut client = BufReader::new(StreamOwned::new(connection, client));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if client.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let length = head.lines().filter_map(|line| line.split_once(": "));
    let mut length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.next().and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    client.read_exact(&mut body)?;
    let mut server = TcpStream::connect(server)?;
    server.write_all(head.as_bytes())?;
    server.write_all(&body)?;
    let mut buffer = [0; 8192];
    loop {
        match server.read(&mut buffer)? {
            0 => return Ok(()),
            n => {
                client.get_mut().write_all(&buffer[..n])?;
                client.get_mut().flush()?;
            }
        }
    }
}
