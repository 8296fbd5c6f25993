//! Drives a proxy by every call of noxious-client whose answer Toxiproxy itself defines.

use std::time::Duration;

use noxious_client::{Client, ProxyConfig, StreamDirection, Toxic, ToxicKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

type Failed = Box<dyn std::error::Error>;

/// The address of a server that sends back what it receives.
async fn echo() -> Result<String, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = connection.split();
                tokio::io::copy(&mut read, &mut write).await
            });
        }
    });
    Ok(address)
}

/// From a word to its echo; None where none comes in time.
async fn took(address: &str) -> Option<Duration> {
    let began = Instant::now();
    let back = async {
        let mut connection = TcpStream::connect(address).await.ok()?;
        connection.write_all(b"ping").await.ok()?;
        let mut word = [0; 4];
        connection.read_exact(&mut word).await.ok()
    };
    timeout(Duration::from_secs(1), back).await.ok()??;
    Some(began.elapsed())
}

/// Whether the last word took so many milliseconds, and no two hundred more.
fn is_about(took: Option<Duration>, ms: u64) -> bool {
    took.is_some_and(|took| (ms..ms + 200).contains(&(took.as_millis() as u64)))
}

fn latency(name: &str, ms: u64, direction: StreamDirection) -> Toxic {
    Toxic { kind: ToxicKind::Latency { latency: ms, jitter: 0 }, name: name.to_owned(), toxicity: 1.0, direction }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let port = std::env::args().nth(1).ok_or("usage: clients PORT")?;
    let client = Client::new(&format!("127.0.0.1:{port}"));
    let upstream = echo().await?;
    // The client does not read where a proxy listens, so that it has to be said.
    let listen = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.to_string();

    let mut link = client.create_proxy("link", &listen, &upstream).await?;
    assert!(is_about(took(&listen).await, 0), "data goes through");
    assert!(client.create_proxy("link", &listen, &upstream).await.is_err(), "it is there");
    assert!(client.proxy("none").await.is_err());
    assert_eq!(client.proxy("link").await?.config.upstream, upstream);

    link.add_toxic(&latency("slow", 200, StreamDirection::Downstream)).await?;
    let up = link.add_toxic(&latency("up", 100, StreamDirection::Upstream)).await?;
    // It sends the direction by a key that Toxiproxy does not know and lets pass: all of its toxics are downstream there.
    assert_eq!((up.name.as_str(), up.direction), ("up", StreamDirection::Downstream));
    assert_eq!(link.toxics().await?.len(), 2);
    assert!(is_about(took(&listen).await, 300), "two delays add up");
    let shorter = ToxicKind::Latency { latency: 50, jitter: 0 };
    link.update_toxic("slow", 1.0, shorter, StreamDirection::Downstream).await?;
    assert!(is_about(took(&listen).await, 150));
    link.remove_toxic("up").await?;
    assert!(link.remove_toxic("up").await.is_err(), "it has gone");

    for kind in [
        ToxicKind::Bandwidth { rate: 1 },
        ToxicKind::SlowClose { delay: 50 },
        ToxicKind::Slicer { average_size: 2, size_variation: 1, delay: 10 },
        ToxicKind::LimitData { bytes: 100 },
        ToxicKind::Timeout { timeout: 0 },
    ] {
        let toxic = Toxic { kind, name: "one".into(), toxicity: 1.0, direction: StreamDirection::Downstream };
        assert_eq!(link.add_toxic(&toxic).await?.kind, toxic.kind);
        let passes = !matches!(toxic.kind, ToxicKind::Timeout { .. });
        assert_eq!(took(&listen).await.is_some(), passes, "{:?}", toxic.kind);
        link.remove_toxic("one").await?;
    }

    link.disable().await?;
    assert!(!client.proxy("link").await?.is_enabled() && took(&listen).await.is_none(), "nobody listens");
    link.enable().await?;
    assert!(link.is_enabled() && took(&listen).await.is_some());
    client.reset_state().await?;
    assert!(link.toxics().await?.is_empty() && is_about(took(&listen).await, 0));

    let other = ProxyConfig {
        name: "other".into(),
        listen: "127.0.0.1:0".into(),
        upstream: upstream.clone(),
        enabled: true,
        rand_seed: None,
    };
    // It expects a list, and Toxiproxy answers with an object that holds one.
    assert!(client.populate(&[link.config.clone(), other]).await.is_err());
    assert_eq!(client.proxies().await?.len(), 2);
    for (_, proxy) in client.proxies().await? {
        proxy.delete().await?;
    }
    assert!(client.proxies().await?.is_empty());
    println!("noxious-client: every call was answered as it expects");
    Ok(())
}
