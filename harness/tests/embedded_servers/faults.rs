//! Faults on embedded servers have the same effects as on processes.

use std::time::{Duration, Instant};

use hustings::ensemble::embedded::EmbeddedEnsemble;
use hustings::ensemble::four_letter::{mode, parse_mntr};
use hustings::ensemble::{Ensemble as _, ServerControl as _};
use hustings_workloads::model::{Request, ZnodeLifetime};
use tokio::io::AsyncReadExt as _;
use tokio::time::{sleep, timeout};

use super::client::{RawConnection, SOON, ask_with_password};
use super::on_servers;

async fn modes(ensemble: &EmbeddedEnsemble) -> Vec<Option<String>> {
    let mut modes = Vec::new();
    for server in (1..).take(ensemble.servers().len()) {
        let text = timeout(Duration::from_millis(300), ensemble.ask(server, "srvr")).await;
        modes.push(text.ok().and_then(Result::ok).and_then(|text| mode(&text).map(ToOwned::to_owned)));
    }
    modes
}

async fn until(ensemble: &EmbeddedEnsemble, what: &str, is: impl Fn(&[Option<String>]) -> bool) -> Vec<Option<String>> {
    let started = Instant::now();
    loop {
        let modes = modes(ensemble).await;
        if is(&modes) {
            return modes;
        }
        assert!(started.elapsed() < SOON, "{what}: not in time, {modes:?}");
        sleep(Duration::from_millis(10)).await;
    }
}

fn leader(modes: &[Option<String>]) -> Option<u32> {
    (1..).zip(modes).find(|(_, mode)| mode.as_deref() == Some("leader")).map(|(server, _)| server)
}

fn all_serve(modes: &[Option<String>]) -> bool {
    leader(modes).is_some() && modes.iter().all(Option::is_some)
}

#[test]
fn a_killed_leader_is_succeeded_and_sessions_and_data_go_on() {
    on_servers(3, 200, async |ensemble| {
        let servers = ensemble.servers();
        let old = leader(&until(ensemble, "a leader", all_serve).await).expect("a leader");
        let mut client = RawConnection::open(servers[old as usize - 1], 4_000).await.expect("a session");
        client.create("/kept", b"data", ZnodeLifetime::Ephemeral).await.expect("answered").expect("created");
        let seen = ensemble.kill(old).await.expect("killed");
        assert!(seen.contains("refused"), "{seen}");
        let read = timeout(SOON, client.stream.read(&mut [0; 1])).await.expect("told");
        assert!(matches!(read, Ok(0) | Err(_)), "its connections are reset: {read:?}");
        assert!(ensemble.kill(old).await.is_err(), "it is dead already");

        let new = until(ensemble, "a successor", |modes| leader(modes).is_some_and(|new| new != old)).await;
        let other = leader(&new).expect("a leader");
        let mut again = RawConnection::with(servers[other as usize - 1], &client.again()).await.expect("connected");
        assert_eq!(again.granted.session, client.granted.session, "the session goes on");
        assert!(again.exists("/kept").await);
        let wrong = hustings_workloads::model::Connect { password: [9; 16], ..client.again() };
        let refused = RawConnection::with(servers[other as usize - 1], &wrong).await.expect("answered");
        assert_eq!((refused.granted.session, refused.granted.timeout_ms), (0, 0), "a wrong password");
        for length in [0, 3, 17, 400] {
            let server = servers[other as usize - 1];
            let granted = ask_with_password(server, 0, length).await;
            assert!(granted.session != 0 && granted.timeout_ms == 4_000, "a new session, with any password: {length}");
            let refused = ask_with_password(server, client.granted.session, length).await;
            assert_eq!((refused.session, refused.timeout_ms), (0, 0), "that of no session: {length}");
        }

        ensemble.start(old, true).await.expect("started");
        assert!(ensemble.start(old, true).await.is_err(), "it runs already");
        until(ensemble, "it follows", |modes| all_serve(modes) && leader(modes) == Some(other)).await;
        let mut there = RawConnection::open(servers[old as usize - 1], 4_000).await.expect("a session");
        assert!(there.exists("/kept").await, "what it had lost it has from the leader");
        let log = ensemble.log(other).await.expect("told").expect("a log");
        assert!(log.contains("LEADING - LEADER ELECTION TOOK"), "{log}");
        let metrics = parse_mntr(&ensemble.ask(other, "mntr").await.expect("answered"));
        assert_eq!(metrics["cnt_unavailable_time"], 1.0, "{metrics:?}");
        assert!(metrics["sum_unavailable_time"] >= 400.0, "{metrics:?}");
    });
}

#[test]
fn all_servers_killed_and_started_again_have_what_they_had() {
    on_servers(3, 200, async |ensemble| {
        let servers = ensemble.servers();
        let mut client = RawConnection::open(servers[0], 4_000).await.expect("a session");
        client.create("/kept", b"data", ZnodeLifetime::Persistent).await.expect("answered").expect("created");
        for server in 1..=3 {
            ensemble.kill(server).await.expect("killed");
        }
        for server in 1..=3 {
            ensemble.start(server, false).await.expect("started");
        }
        until(ensemble, "they serve", all_serve).await;
        let mut again = RawConnection::with(servers[2], &client.again()).await.expect("connected");
        assert_eq!(again.granted.session, client.granted.session);
        assert!(again.exists("/kept").await);
    });
}

#[test]
fn a_paused_server_is_silent_and_goes_on_where_it_was() {
    on_servers(3, 200, async |ensemble| {
        let servers = ensemble.servers();
        let modes = until(ensemble, "a leader", all_serve).await;
        let follower = if leader(&modes) == Some(1) { 2 } else { 1 };
        let mut client = RawConnection::open(servers[follower as usize - 1], 4_000).await.expect("a session");
        let seen = ensemble.pause(follower).await.expect("paused");
        assert!(seen.contains("neither reads nor answers"), "{seen}");
        assert!(ensemble.pause(follower).await.is_err(), "it is paused already");
        client.send(&Request::Sync { path: "/".into() }).await.expect("sent");
        let nothing = timeout(Duration::from_millis(300), client.stream.read(&mut [0; 1])).await;
        assert!(nothing.is_err(), "a paused server answers nobody: {nothing:?}");
        let elsewhere = tokio::net::TcpStream::connect(servers[follower as usize - 1]).await;
        assert!(elsewhere.is_ok(), "the kernel takes connections for it");
        ensemble.resume(follower).await.expect("resumed");
        let answered = timeout(SOON, client.stream.read(&mut [0; 64])).await.expect("in time").expect("readable");
        assert!(answered > 0, "it answers what it was asked");
    });
}

#[test]
fn a_leader_that_is_cut_off_serves_nobody_and_comes_back_as_a_follower() {
    on_servers(3, 200, async |ensemble| {
        let old = leader(&until(ensemble, "a leader", all_serve).await).expect("a leader");
        let mut client = RawConnection::open(ensemble.servers()[old as usize - 1], 4_000).await.expect("a session");
        ensemble.cut(&[old]).await.expect("cut off");
        // It cannot commit from the start.
        client.send(&Request::Sync { path: "/".into() }).await.expect("sent");
        let kind = hustings_workloads::model::CreateKind::default();
        let acl = hustings_workloads::model::Acl::open();
        let create = Request::Create { path: "/lost".into(), data: vec![], acl, kind, with_stat: false };
        client.send(&create).await.expect("sent");
        let modes = until(ensemble, "another leader", |modes| {
            leader(modes).is_some_and(|new| new != old) && modes[old as usize - 1].is_none()
        })
        .await;
        let new = leader(&modes).expect("a leader");
        let mut rest = Vec::new();
        let _ = timeout(SOON, client.stream.read_to_end(&mut rest)).await.expect("its connections are closed");
        ensemble.rejoin(&[old]).await.expect("rejoined");
        until(ensemble, "it follows", |modes| all_serve(modes) && leader(modes) == Some(new)).await;
        let mut there = RawConnection::open(ensemble.servers()[old as usize - 1], 4_000).await.expect("a session");
        assert!(!there.exists("/lost").await, "what no quorum had was never committed");
    });
}

#[test]
fn what_cannot_be_done_is_refused() {
    on_servers(1, 200, async |ensemble| {
        assert!(ensemble.kill(2).await.is_err());
        assert!(ensemble.resume(1).await.is_err());
        assert!(ensemble.start(1, false).await.is_err());
        assert!(ensemble.cut(&[1]).await.is_err());
        ensemble.kill(1).await.expect("killed");
        assert!(ensemble.pause(1).await.is_err());
        ensemble.start(1, false).await.expect("started");
    });
}
