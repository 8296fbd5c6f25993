//! Many, slow, half-open and misbehaving clients.

use std::time::{Duration, Instant};

use futures::future::join_all;
use hustings::ensemble::Ensemble as _;
use hustings::ensemble::embedded::EmbeddedEnsemble;
use hustings::process::limits::raise_descriptor_limit;
use hustings::wire::jute::FRAME_BYTES_MAX;
use hustings_workloads::model::{Request, ZnodeLifetime};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{RawConnection, SOON};
use super::on_servers;

const SILENT: usize = 7_000;
const WITH_SESSION: usize = 3_000;

/// The duration of the slowest of some writes.
async fn slowest_write(ensemble: &EmbeddedEnsemble, place: &str) -> Duration {
    let mut slowest = Duration::ZERO;
    for (number, server) in ensemble.servers().into_iter().cycle().take(60).enumerate() {
        let mut client = RawConnection::open(server, 60_000).await.expect("a session");
        let started = Instant::now();
        client
            .create(&format!("/{place}-{number}"), b"x", ZnodeLifetime::Ephemeral)
            .await
            .expect("answered")
            .expect("created");
        slowest = slowest.max(started.elapsed());
        client.ask(&Request::CloseSession).await.expect("answered").expect("closed");
    }
    slowest
}

fn resident_mb(ensemble: &EmbeddedEnsemble) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", ensemble.pid().expect("it runs"))).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") / 1_024
}

#[test]
fn ten_thousand_idle_connections_do_no_harm() {
    on_servers(3, 3_000, async |ensemble| {
        let limit = raise_descriptor_limit().expect("raised");
        assert!(limit > (SILENT + WITH_SESSION + 500) as u64, "the machine allows {limit} descriptors");
        let before = slowest_write(ensemble, "before").await;
        let servers = ensemble.servers();
        let mut silent = Vec::new();
        let mut sessions = Vec::new();
        for number in 0..SILENT {
            silent.push(TcpStream::connect(servers[number % 3]).await.expect("connected"));
        }
        for number in 0..WITH_SESSION {
            sessions.push(RawConnection::open(servers[number % 3], 60_000).await.expect("a session"));
        }
        let during = slowest_write(ensemble, "during").await;
        let resident = resident_mb(ensemble);
        println!("write {before:?} before, {during:?} among {} idle; {resident} MB resident", SILENT + WITH_SESSION);
        assert!(during < Duration::from_secs(1), "{during:?}");
        assert!(resident < 300, "{resident} MB");
        // A silent connection is closed; a client with a session stays.
        for mut stream in silent {
            let read = timeout(2 * SOON, stream.read(&mut [0; 1])).await.expect("shown out");
            assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
        }
        let asked = sessions.iter_mut().map(|raw| async { raw.exists("/").await });
        assert!(join_all(asked).await.into_iter().all(|found| found));
    });
}

#[test]
fn what_is_no_message_ends_its_own_connection_only() {
    on_servers(1, 1_000, async |ensemble| {
        let server = ensemble.servers()[0];
        let mut witness = RawConnection::open(server, 20_000).await.expect("a session");
        let too_long = (FRAME_BYTES_MAX as u32 + 1).to_be_bytes();
        let nonsense: [&[u8]; 7] = [
            &[0xff; 64],
            &too_long,
            b"GET / HTTP/1.1\r\n\r\n",
            &[0, 0, 0, 0],
            &[0, 0, 0, 3, 1, 2, 3],
            &i32::MIN.to_be_bytes(),
            // A connect request with a password of 2^31-1 bytes.
            &[&[0, 0, 0, 28][..], &[0; 24], &[0x7f, 0xff, 0xff, 0xff]].concat(),
        ];
        for bytes in nonsense {
            for with_session in [false, true] {
                if with_session && bytes.len() > 24 && bytes[3] == 28 {
                    continue;
                }
                let mut stream = if with_session {
                    RawConnection::open(server, 20_000).await.expect("a session").stream
                } else {
                    TcpStream::connect(server).await.expect("connected")
                };
                stream.write_all(bytes).await.expect("sent");
                let mut rest = Vec::new();
                let read = timeout(SOON, stream.read_to_end(&mut rest)).await;
                assert!(read.is_ok(), "{bytes:?} (session: {with_session}) did not end its connection");
                assert!(rest.is_empty(), "{bytes:?} was answered: {rest:?}");
            }
        }
        assert!(witness.exists("/").await, "another connection is not concerned");
    });
}

#[test]
fn a_request_that_nobody_understands_is_answered_so() {
    on_servers(1, 1_000, async |ensemble| {
        use hustings::wire::client::{SessionEvent, read_session_event};
        use hustings::wire::stream::read_frame;
        let mut raw = RawConnection::open(ensemble.servers()[0], 20_000).await.expect("a session");
        let frame = |op: i32| [&8_u32.to_be_bytes()[..], &7_i32.to_be_bytes(), &op.to_be_bytes()].concat();
        for (op, told) in [(hustings::wire::op_code::EXISTS, -5), (4_711, -6)] {
            raw.stream.write_all(&frame(op)).await.expect("sent");
            let message = timeout(SOON, read_frame(&mut raw.stream)).await.expect("in time").expect("answered");
            let answer = read_session_event(&message).expect("an answer");
            assert!(matches!(answer, SessionEvent::Reply { xid: 7, error, .. } if error == told), "{op}: {answer:?}");
        }
        let ended = timeout(SOON, read_frame(&mut raw.stream)).await.expect("in time");
        assert!(ended.is_err(), "what is no operation ends the connection");
    });
}

#[test]
fn a_client_that_does_not_read_is_given_up_and_costs_little() {
    on_servers(1, 3_000, async |ensemble| {
        let server = ensemble.servers()[0];
        let mut witness = RawConnection::open(server, 20_000).await.expect("a session");
        witness.create("/large", &[7; 1_000_000], ZnodeLifetime::Persistent).await.expect("answered").expect("created");
        let before = resident_mb(ensemble);
        let mut slow = RawConnection::open(server, 20_000).await.expect("a session");
        for _ in 0..300 {
            // The server may close the connection while the client still sends.
            if slow.send(&Request::GetData { path: "/large".into(), watch: false }).await.is_err() {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(witness.exists("/large").await);
        let grown = resident_mb(ensemble).saturating_sub(before);
        let mut told = Vec::new();
        let ended = timeout(SOON, slow.stream.read_to_end(&mut told)).await.expect("the connection ends");
        println!("{} MB were read of 300, {grown} MB were kept ready, {ended:?}", told.len() / 1_000_000);
        assert!(told.len() < 100_000_000, "{} bytes were told", told.len());
        assert!(grown < 60, "{grown} MB");
    });
}

#[test]
fn a_client_that_vanishes_loses_its_session_and_nobody_elses() {
    on_servers(3, 100, async |ensemble| {
        let servers = ensemble.servers();
        let mut half_open = RawConnection::open(servers[0], 1_000).await.expect("a session");
        half_open.create("/half-open", b"", ZnodeLifetime::Ephemeral).await.expect("answered").expect("created");
        // It stays connected and sends nothing more.
        let mut witness = RawConnection::open(servers[1], 2_000).await.expect("a session");
        let started = Instant::now();
        while witness.exists("/half-open").await {
            assert!(started.elapsed() < SOON, "its session does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let took = started.elapsed();
        assert!(took > Duration::from_millis(800), "T had not passed: {took:?}");
        let ended = timeout(SOON, half_open.stream.read(&mut [0; 1])).await.expect("told");
        assert!(matches!(ended, Ok(0) | Err(_)), "its server closes the connection: {ended:?}");
    });
}
