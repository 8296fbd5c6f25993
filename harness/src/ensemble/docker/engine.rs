//! The Docker engine: its address, bounded requests to it, and its images.

use std::error::Error as _;
use std::fmt::Display;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use bollard::errors::Error;
use bollard::models::ContainerState;
use bollard::{API_DEFAULT_VERSION, Docker};
use hustings_reports::render::clean_short;
use testcontainers::runners::AsyncRunner as _;
use testcontainers::{ContainerRequest, GenericImage};
use tokio::time::{Instant, timeout};

use super::super::EnsembleError;

/// Bound of every request to the engine: it may have to remove a container with a large log on a busy machine.
const CALL_WITHIN: Duration = Duration::from_secs(60);
/// Bound of the first request, for its version.
const PING_WITHIN: Duration = Duration::from_secs(10);
/// Some hundred megabytes over a slow connection.
const PULL_WITHIN: Duration = Duration::from_secs(900);
/// With cgroup v1, a container whose processes are busy starting sometimes cannot be frozen; a moment later it can.
const FREEZE_WITHIN: Duration = Duration::from_secs(10);
const FREEZE_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Part of the engine's error message in that case.
const NOT_FROZEN: &str = "unable to freeze";
/// The longest version and the longest message of an engine that are shown.
const VERSION_CHARS_MAX: usize = 40;
const SHOWN_CHARS_MAX: usize = 1_000;
/// The default socket without DOCKER_HOST, and the sockets of rootless and desktop engines.
const SOCKET: &str = "/var/run/docker.sock";
const USER_SOCKETS: [(&str, &str); 3] = [
    ("XDG_RUNTIME_DIR", ".docker/run/docker.sock"),
    ("HOME", ".docker/run/docker.sock"),
    ("HOME", ".docker/desktop/docker.sock"),
];

/// An engine that answered.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub(super) docker: Docker,
    pub(super) at: String,
    /// As `20.10.24`.
    pub(super) version: String,
}

/// The engine's address: DOCKER_HOST, else the first of the usual sockets that exists.
pub(super) fn address() -> String {
    let given = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(host) = given("DOCKER_HOST") {
        return host;
    }
    let of_user = USER_SOCKETS.iter().filter_map(|(home, path)| Some(Path::new(&given(home)?).join(path)));
    let socket = [SOCKET.into()].into_iter().chain(of_user).find(|path| path.exists());
    format!("unix://{}", socket.unwrap_or_else(|| SOCKET.into()).display())
}

impl Engine {
    /// Connects to the engine, and requests its version.
    pub(super) async fn connect() -> Result<Self, EnsembleError> {
        Self::connect_to(&address()).await
    }

    pub(super) async fn connect_to(at: &str) -> Result<Self, EnsembleError> {
        let docker = client(at)?;
        let unreachable = |why: String| EnsembleError::NoEngine { at: at.to_owned(), why };
        let version = match timeout(PING_WITHIN, docker.version()).await {
            Ok(Ok(version)) => version
                .version
                .map_or_else(|| "of unknown version".to_owned(), |it| clean_short(&it, VERSION_CHARS_MAX)),
            Ok(Err(error)) => {
                return Err(match io_kind(&error) {
                    Some(io::ErrorKind::PermissionDenied) => EnsembleError::EngineForbidden { at: at.to_owned() },
                    _ => unreachable(said(&error)),
                });
            }
            Err(_) => return Err(unreachable(format!("silence for {} s", PING_WITHIN.as_secs()))),
        };
        Ok(Self { docker, at: at.to_owned(), version })
    }

    /// Awaits a reply of the engine, with a bound. `what` completes "the engine cannot …".
    pub(super) async fn call<T>(
        &self,
        what: impl Display,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, EnsembleError> {
        let why = match timeout(CALL_WITHIN, request).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => said(&error),
            Err(_) => format!("no answer within {} s", CALL_WITHIN.as_secs()),
        };
        Err(EnsembleError::Engine { what: what.to_string(), why })
    }

    /// Pauses a container, and retries for a bounded time while it cannot be frozen.
    pub(super) async fn pause(&self, container: &str) -> Result<(), EnsembleError> {
        let begun = Instant::now();
        loop {
            let paused = self.call(format!("pause {container}"), self.docker.pause_container(container)).await;
            match paused {
                Err(EnsembleError::Engine { why, .. })
                    if why.contains(NOT_FROZEN) && begun.elapsed() < FREEZE_WITHIN =>
                {
                    tracing::debug!(container, why, "it is paused again");
                    tokio::time::sleep(FREEZE_AGAIN_AFTER).await;
                }
                paused => return paused,
            }
        }
    }

    /// Whether an image exists locally.
    pub(super) async fn has_image(&self, image: &str) -> Result<bool, EnsembleError> {
        let looked = async {
            match self.docker.inspect_image(image).await {
                Err(error) if status(&error) == Some(404) => Ok(false),
                found => found.map(|_| true),
            }
        };
        self.call(format!("look for the image {image}"), looked).await
    }

    /// Pulls an image unless it exists. `option` names the option for another image.
    pub(super) async fn need_image(&self, image: &str, option: &'static str) -> Result<(), EnsembleError> {
        if self.has_image(image).await? {
            return Ok(());
        }
        tracing::info!(image, "pulling the image");
        let why = match timeout(PULL_WITHIN, ContainerRequest::from(generic(image)).pull_image()).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => reason(&error.to_string()),
            Err(_) => format!("it was not pulled within {} s", PULL_WITHIN.as_secs()),
        };
        Err(EnsembleError::NoImage { image: image.to_owned(), option, why })
    }

    /// The state of a container.
    pub(super) async fn state(&self, container: &str) -> Result<ContainerState, EnsembleError> {
        let inspected =
            self.call(format!("inspect {container}"), self.docker.inspect_container(container, None)).await?;
        Ok(inspected.state.unwrap_or_default())
    }
}

/// Why an image was not pulled, without the common prefix of these messages.
fn reason(said: &str) -> String {
    said.rsplit_once("error: ").map_or(said, |(_, why)| why).to_owned()
}

/// The image in testcontainers' form: name before the last colon, tag after it.
pub(super) fn generic(image: &str) -> GenericImage {
    match image.rsplit_once(':') {
        // A colon before a slash belongs to a registry's port.
        Some((name, tag)) if !tag.contains('/') => GenericImage::new(name, tag),
        _ => GenericImage::new(image, "latest"),
    }
}

fn client(at: &str) -> Result<Docker, EnsembleError> {
    let bad = |why: String| EnsembleError::BadEngine { at: at.to_owned(), why };
    let seconds = CALL_WITHIN.as_secs() * 2;
    let connected = if at.starts_with("unix://") {
        Docker::connect_with_unix(at, seconds, API_DEFAULT_VERSION)
    } else if let Some((_, rest)) = at.split_once("://").filter(|(scheme, _)| ["tcp", "http"].contains(scheme)) {
        // Ports are chosen here and published on the loopback address of the engine's machine.
        if !is_here(rest) {
            return Err(bad("it may be on another machine, and ports are published for its own one only".to_owned()));
        }
        Docker::connect_with_http(at, seconds, API_DEFAULT_VERSION)
    } else {
        return Err(bad("only unix://, tcp:// and http:// addresses will do".to_owned()));
    };
    connected.map_err(|error| EnsembleError::NoEngine { at: at.to_owned(), why: error.to_string() })
}

/// Whether `host:port` is a loopback address.
fn is_here(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// The kind of the underlying I/O error, if there is one.
fn io_kind(error: &Error) -> Option<io::ErrorKind> {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = at {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        at = error.source();
    }
    None
}

/// The status code of an error response.
pub(super) fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// The engine's own message, else the error with all its causes.
fn said(error: &Error) -> String {
    if let Error::DockerResponseServerError { message, .. } = error {
        return clean_short(message.trim(), SHOWN_CHARS_MAX);
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let why = error.to_string();
        if !text.contains(&why) {
            text = format!("{text}: {why}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use testcontainers::Image as _;

    use super::{Engine, client, generic, is_here};
    use crate::ensemble::EnsembleError;

    /// An engine that sends these replies one after the other; its thread ends after the last one.
    fn engine_that_answers(answers: &'static [&'static str]) -> (Engine, std::thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = format!("tcp://{}", listener.local_addr().unwrap());
        let answering = std::thread::spawn(move || {
            for answer in answers {
                let (mut asked, _) = listener.accept().unwrap();
                let _ = asked.read(&mut [0; 4096]).unwrap();
                asked.write_all(answer.as_bytes()).unwrap();
            }
        });
        (Engine { docker: client(&at).unwrap(), at, version: "1".to_owned() }, answering)
    }

    const BUSY: &str = "HTTP/1.1 500 Error\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 52\r\n\r\n\
                        {\"message\":\"cannot pause x: unable to freeze: y   \"}";
    const DONE: &str = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    const GONE: &str = "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n\
                        {\"message\":\"no such\"}";

    #[tokio::test]
    async fn a_container_that_cannot_be_frozen_for_a_moment_is_paused_a_moment_later() {
        let (engine, answered) = engine_that_answers(&[BUSY, BUSY, DONE]);
        engine.pause("zk1").await.unwrap();
        answered.join().unwrap();
        let (engine, answered) = engine_that_answers(&[GONE]);
        let refused = engine.pause("zk1").await.unwrap_err().to_string();
        assert!(refused.contains("no such"), "{refused}");
        answered.join().unwrap();
    }

    #[test]
    fn an_image_is_split_at_its_tag() {
        for (image, name, tag) in [
            ("zookeeper:3.9", "zookeeper", "3.9"),
            ("zookeeper", "zookeeper", "latest"),
            ("localhost:5000/zookeeper", "localhost:5000/zookeeper", "latest"),
            ("localhost:5000/zookeeper:3.9", "localhost:5000/zookeeper", "3.9"),
        ] {
            assert_eq!((generic(image).name(), generic(image).tag()), (name, tag), "{image}");
        }
    }

    #[test]
    fn engines_of_other_machines_are_refused() {
        assert!(["localhost:2375", "127.0.0.1:2375", "[::1]:2375", "127.0.0.1"].into_iter().all(is_here));
        assert!(!["10.0.0.1:2375", "docker:2375", ""].into_iter().any(is_here));
        for at in ["tcp://10.0.0.1:2375", "ssh://me@there", "nonsense"] {
            assert!(matches!(client(at), Err(EnsembleError::BadEngine { .. })), "{at}");
        }
    }
}
