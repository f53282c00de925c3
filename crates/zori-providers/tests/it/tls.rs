//! TLS on the loopback interface: whom the client trusts, and what it says when it does not.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use rustls::{ServerConnection, StreamOwned};
use zori_core::transport::{HttpRequest, Method, Redirects, Timeouts, Transport};
use zori_providers::http::roots::Roots;
use zori_providers::http::{HttpOptions, HttpTransport, Proxies};
use zori_providers::reachability::{self, Reachability};
use zori_testkit::tls::{AUTHORITY, server_config};

/// Serves one connection; returns where, and whether a request came through.
fn serve() -> (String, JoinHandle<bool>) {
    let config = server_config();
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback interface is there");
    let url = format!("https://{}/", listener.local_addr().expect("it is bound"));
    let task = std::thread::spawn(move || {
        let (socket, _) = listener.accept().expect("the client connects");
        let connection = ServerConnection::new(config).expect("the set-up is valid");
        let mut stream = StreamOwned::new(connection, socket);
        let mut head = [0; 4096];
        if stream.read(&mut head).is_err() {
            return false;
        }
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("the client reads");
        true
    });
    (url, task)
}

/// Fetches with these authorities; returns the status or the failure, and whether the server saw a request.
async fn fetch(roots: Roots) -> (String, bool) {
    let (url, server) = serve();
    let transport = HttpTransport::new(HttpOptions { roots, proxies: Proxies::None });
    let request = HttpRequest {
        method: Method::Get,
        url: url.clone(),
        headers: vec![],
        body: bytes::Bytes::new(),
        limits: Timeouts::DEFAULT,
        redirects: Redirects::SameOrigin,
        addresses: Default::default(),
    };
    let place = url.trim_start_matches("https://").trim_end_matches('/').to_owned();
    let shown = match transport.send(request).await {
        Ok(response) => response.status.to_string(),
        Err(failure) => failure.to_string().replace(&place, "HOST"),
    };
    drop(transport);
    (shown, server.join().expect("the server did not fail"))
}

#[tokio::test]
async fn an_unknown_authority_is_refused() {
    let (shown, seen) = fetch(Roots::embedded()).await;
    assert_eq!(
        (shown.as_str(), seen),
        ("Connection failed: HOST: invalid peer certificate: UnknownIssuer", false)
    );
}

/// Somebody who looks for the reason has to be told this from no connection at all.
#[tokio::test]
async fn an_unknown_authority_is_told_apart() {
    let (url, server) = serve();
    let options = HttpOptions { roots: Roots::embedded(), proxies: Proxies::None };
    let facts = zori_providers::catalog::provider("openai").expect("the catalogue has it");
    let asked = reachability::check(&HttpTransport::new(options), facts, &url, None, Timeouts::DEFAULT).await;
    assert!(matches!(asked, Reachability::Certificate(_)), "{asked:?}");
    assert!(!server.join().expect("the server did not fail"));
}

#[tokio::test]
async fn an_added_authority_is_trusted() {
    let roots = Roots::with_pem(AUTHORITY).expect("the test authority is PEM");
    assert_eq!(fetch(roots).await, ("204".to_owned(), true));
}

/// A file that is looked into late trusts no more and no less.
#[tokio::test]
async fn an_authority_that_is_added_when_it_is_needed() {
    assert_eq!(fetch(Roots::with_pem_later(AUTHORITY.to_vec())).await, ("204".to_owned(), true));
    let bad = "Connection failed: HOST: unexpected error: cannot use the added certificates: the file holds no certificate";
    assert_eq!(fetch(Roots::with_pem_later(b"hello".to_vec())).await, (bad.to_owned(), false));
    let other = include_bytes!("tls/other.pem");
    assert_eq!(
        fetch(Roots::with_pem_later(other.to_vec())).await,
        ("Connection failed: HOST: invalid peer certificate: UnknownIssuer".to_owned(), false)
    );
}
