//! A proxy process, its API by hand-written HTTP, and servers behind it.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_hustings");
/// Long enough for any expected event, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);
/// How long to listen for data that must not arrive.
pub(crate) const QUIET: Duration = Duration::from_millis(200);

pub(crate) struct Proxy {
    child: Child,
    pub(crate) api: SocketAddr,
}

impl Proxy {
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut command = Command::new(EXE);
        command.args(["proxy", "--listen", "127.0.0.1:0"]).args(options).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self { child, api: ready["api"].as_str().unwrap().parse().unwrap() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.api)
    }

    /// Status and body.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (status, text) = http(self.api, method, path, body);
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    pub(crate) fn link(&self, upstream: SocketAddr) -> SocketAddr {
        self.named_link("link", upstream)
    }

    pub(crate) fn named_link(&self, name: &str, upstream: SocketAddr) -> SocketAddr {
        let request = json!({ "name": name, "listen": "127.0.0.1:0", "upstream": upstream.to_string() });
        let (status, made) = self.call("POST", "/proxies", &request.to_string());
        assert_eq!(status, 201, "{made}");
        made["listen"].as_str().unwrap().parse().unwrap()
    }

    pub(crate) fn toxic(&self, kind: &str, stream: &str, attributes: Value) {
        let request = json!({ "type": kind, "stream": stream, "attributes": attributes });
        let (status, made) = self.call("POST", "/proxies/link/toxics", &request.to_string());
        assert_eq!(status, 200, "{made}");
    }

    pub(crate) fn heal(&self, toxic: &str) {
        assert_eq!(self.call("DELETE", &format!("/proxies/link/toxics/{toxic}"), "").0, 204);
    }

    pub(crate) fn stats(&self) -> Value {
        self.call("GET", "/proxies/link/stats", "").1
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A proxy with a link to a server that sends everything back, and a connection over it.
pub(crate) fn echoing(options: &[&str]) -> (Proxy, TcpStream) {
    let proxy = Proxy::start(options);
    let stream = connect(proxy.link(echo().0));
    (proxy, stream)
}

/// Sends this, and gets it back.
pub(crate) fn echoes(stream: &mut TcpStream, data: &[u8]) {
    stream.write_all(data).unwrap();
    assert!(read_exactly(stream, data.len()) == data, "what comes back is what was sent");
}

pub(crate) fn http(api: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    let answer = raw(api, (head + body).as_bytes());
    let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    (status, answer.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.to_owned()))
}

/// The answer to these bytes.
pub(crate) fn raw(api: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(api).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    // It may close the connection on garbage before the end of it.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Whether no data arrives for `QUIET`.
pub(crate) fn is_quiet(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(QUIET)).unwrap();
    let came = stream.read(&mut [0]);
    stream.set_read_timeout(Some(SOON)).unwrap();
    matches!(came, Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

pub(crate) fn read_exactly(stream: &mut TcpStream, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    stream.read_exact(&mut data).unwrap();
    data
}

/// Waits until the condition holds, or fails.
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < SOON, "never came true: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Serves each connection on its own thread, and counts them.
pub(crate) fn server(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, SeqCst);
            stream.set_nodelay(true).unwrap();
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    (address, count)
}

pub(crate) fn echo() -> (SocketAddr, Arc<AtomicUsize>) {
    server(|mut stream| {
        let mut copy = stream.try_clone().unwrap();
        // A reset ends it in the same way as an end of the stream.
        let _ = std::io::copy(&mut stream, &mut copy);
    })
}

/// The size of its answer to `mntr`.
pub(crate) const MNTR_BYTES: usize = 8_000;

/// Answers like ZooKeeper: a long text to `mntr`, `imok` to any other four letters, a ConnectResponse with this session
/// to anything longer. A connect request much longer than usual is read to its end, and the connection is closed.
pub(crate) fn zookeeper(session: i64) -> SocketAddr {
    server(move |mut stream| {
        let mut question = [0; 64];
        let Ok(n) = stream.read(&mut question) else { return };
        if n == 4 {
            let answer = if question.starts_with(b"mntr") { vec![b'x'; MNTR_BYTES] } else { b"imok".to_vec() };
            let _ = stream.write_all(&answer);
            return;
        }
        let length = question.first_chunk().map_or(0, |length| u32::from_be_bytes(*length) as usize);
        if (64..1_048_576).contains(&length) {
            let _ = std::io::copy(&mut (&stream).take((length + 4 - n) as u64), &mut std::io::sink());
            return;
        }
        let mut answer: Vec<u8> = [37_i32, 0, 4000].iter().flat_map(|field| field.to_be_bytes()).collect();
        answer.extend(session.to_be_bytes());
        answer.resize(41, 0);
        while stream.write_all(&answer).is_ok() && matches!(stream.read(&mut question), Ok(1..)) {}
    })
    .0
}

/// Bytes in which a loss, a duplicate or a wrong order is visible.
pub(crate) fn pattern(bytes: usize) -> Vec<u8> {
    let mut n = 1_u32;
    let mut next = || {
        n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        n.to_be_bytes()[0]
    };
    (0..bytes).map(|_| next()).collect()
}
