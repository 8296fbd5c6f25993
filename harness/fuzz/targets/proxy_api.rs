//! Any requests to the embedded proxy's API, one a line: method, path, body. Each is answered, none with a failure of the
//! proxy's own, and afterwards the API still serves.
#![no_main]

use std::cell::OnceCell;
use std::net::SocketAddr;
use std::time::Duration;

use hustings::proxy::{Options, ProxyServer};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// Requests of one input.
const REQUESTS_MAX: usize = 16;
/// An answer takes no longer than this.
const ANSWER_MAX: Duration = Duration::from_secs(5);

const CANNOT: &[u8] = b"cannot listen on";

struct Proxy {
    runtime: Runtime,
    address: SocketAddr,
}

thread_local! {
    static PROXY: OnceCell<Proxy> = const { OnceCell::new() };
}

fuzz_target!(|text: &str| {
    PROXY.with(|proxy| {
        let proxy = proxy.get_or_init(start);
        proxy.runtime.block_on(async {
            let mut line = Line { address: proxy.address, stream: None };
            for request in text.lines().take(REQUESTS_MAX) {
                let mut words = request.splitn(3, ' ');
                let (method, path, body) = (words.next(), words.next(), words.next());
                let (Some(method), Some(path)) = (method.filter(|m| is_word(m)), path) else { continue };
                let (status, answer) = line.ask(method, path, body.unwrap_or_default()).await;
                // As Toxiproxy answers where an address is none of this machine's.
                let cannot_listen = answer.windows(CANNOT.len()).any(|part| part == CANNOT);
                assert!((200..500).contains(&status) || cannot_listen, "{request} was answered with {status}");
            }
            line.clean_up().await;
        });
    });
});

fn start() -> Proxy {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let address = runtime.block_on(async {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = ProxyServer::bind(Options { listen, lie: None, plain: false, seed: 1 }).expect("a free port");
        let address = server.address().expect("its address");
        tokio::spawn(server.serve());
        address
    });
    Proxy { runtime, address }
}

fn is_word(method: &str) -> bool {
    !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A connection to the API that is kept as long as the proxy keeps it.
struct Line {
    address: SocketAddr,
    stream: Option<TcpStream>,
}

impl Line {
    /// Sends a request. Gives the status and the body of the answer.
    async fn ask(&mut self, method: &str, path: &str, body: &str) -> (u16, Vec<u8>) {
        let path: String = path.chars().filter(|c| c.is_ascii_graphic() && *c != '#').collect();
        let request = format!(
            "{method} /{} HTTP/1.1\r\nHost: fuzz\r\nContent-Length: {}\r\n\r\n{body}",
            path.trim_start_matches('/'),
            body.len()
        );
        let answer = tokio::time::timeout(ANSWER_MAX, self.exchange(request.as_bytes(), method == "HEAD")).await;
        let answer = answer.unwrap_or_else(|_| panic!("{method} {path} was not answered"));
        answer.unwrap_or_else(|error| panic!("{method} {path} got no answer: {error}"))
    }

    async fn exchange(&mut self, request: &[u8], head: bool) -> std::io::Result<(u16, Vec<u8>)> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => TcpStream::connect(self.address).await?,
        };
        stream.write_all(request).await?;
        let mut got = Vec::new();
        let (end, length, closes) = loop {
            if let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n") {
                let headers = String::from_utf8_lossy(&got[..end]).to_ascii_lowercase();
                let of = |name: &str| headers.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
                let length: usize = if head { 0 } else { of("content-length:").unwrap_or(0) };
                break (end + 4, length, headers.contains("connection: close"));
            }
            if stream.read_buf(&mut got).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        };
        while got.len() < end + length {
            if stream.read_buf(&mut got).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = String::from_utf8_lossy(&got[..end]).split(' ').nth(1).and_then(|word| word.parse().ok());
        if !closes {
            self.stream = Some(stream);
        }
        Ok((status.unwrap_or(0), got[end..end + length].to_vec()))
    }

    /// Takes down what the requests put up.
    async fn clean_up(&mut self) {
        let (status, body) = self.ask("GET", "/proxies", "").await;
        assert_eq!(status, 200, "the API still serves");
        let proxies: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&body).expect("the proxies by name");
        for name in proxies.keys() {
            let quoted: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let (status, _) = self.ask("DELETE", &format!("/proxies/{quoted}"), "").await;
            assert_eq!(status, 204, "{name} can be deleted");
        }
    }
}
