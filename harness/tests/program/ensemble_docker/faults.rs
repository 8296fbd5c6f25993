//! Faults on servers in containers.

use hustings::ensemble::docker::DockerEnsemble;
use hustings::ensemble::{Ensemble, EnsembleError};
use tokio::time::Instant;

use super::support::{Run, control, docker, everything_of, is_there, options};
use crate::ensemble_support::{create, has, leader_among, mode, stops_serving};

#[tokio::test]
async fn a_single_server_is_killed_paused_and_started_again_and_nothing_is_left_of_it() {
    let run = Run::new("single");
    let ensemble = run.start(options(1)).await;
    cuts_that_leave_a_side_empty_are_refused(&ensemble).await;
    a_paused_server_says_nothing_until_it_is_resumed(&ensemble, &format!("hustings-{}-zk1", run.id)).await;
    a_killed_server_starts_again_with_its_old_data_or_without(&ensemble).await;

    docker(&["kill", &format!("hustings-{}-zk1", run.id)]);
    let error = ensemble.check_alive().await.expect_err("nobody meant to kill it");
    assert!(matches!(&error, EnsembleError::Died { server: 1, status, .. } if status.contains("137")), "{error}");
    let everything = everything_of(&run.id);
    ensemble.stop().await.expect("stopped");
    assert!(!everything.iter().any(|thing| is_there(thing)));
}

async fn a_killed_server_starts_again_with_its_old_data_or_without(ensemble: &DockerEnsemble) {
    create(ensemble, 1, "/kept").await;
    println!("{}", control(ensemble).kill(1).await.expect("killed"));
    ensemble.check_alive().await.expect("a server that was killed on purpose is not missed");
    assert_eq!(mode(ensemble, 1).await, None);
    assert!(control(ensemble).kill(1).await.is_err(), "it is dead already");
    assert!(control(ensemble).pause(1).await.is_err(), "it is dead");
    println!("{}", control(ensemble).start(1, false).await.expect("started"));
    assert!(has(ensemble, 1, "/kept").await);
    assert!(control(ensemble).start(1, false).await.is_err(), "it runs");

    let lines = ensemble.log(1).await.expect("read").expect("a log").lines().count();
    control(ensemble).kill(1).await.expect("killed");
    println!("{}", control(ensemble).start(1, true).await.expect("started"));
    assert!(!has(ensemble, 1, "/kept").await);
    let log = ensemble.log(1).await.expect("read").expect("a log");
    assert!(log.lines().count() > lines, "what it logged before is not lost");
    ensemble.check_alive().await.expect("it lives");
}

async fn a_paused_server_says_nothing_until_it_is_resumed(ensemble: &DockerEnsemble, container: &str) {
    println!("{}", control(ensemble).pause(1).await.expect("paused"));
    assert_eq!(mode(ensemble, 1).await, None);
    ensemble.check_alive().await.expect("it is not dead");
    assert!(control(ensemble).pause(1).await.is_err(), "it is paused already");
    println!("{}", control(ensemble).resume(1).await.expect("resumed"));
    assert_eq!(mode(ensemble, 1).await.as_deref(), Some("standalone"));
    assert!(matches!(control(ensemble).resume(1).await, Err(EnsembleError::InEffect(_))), "it is not paused");
    // The pause fails, and the container is paused all the same.
    docker(&["pause", container]);
    assert!(control(ensemble).pause(1).await.is_err(), "the engine refuses it");
    println!("{}", control(ensemble).resume(1).await.expect("resumed"));
    assert_eq!(mode(ensemble, 1).await.as_deref(), Some("standalone"));
    // A paused server can be killed, too.
    control(ensemble).pause(1).await.expect("paused");
    control(ensemble).kill(1).await.expect("killed");
    control(ensemble).start(1, false).await.expect("started");
    assert!(!has(ensemble, 1, "/nothing").await, "it serves");
}

async fn cuts_that_leave_a_side_empty_are_refused(ensemble: &DockerEnsemble) {
    for servers in [&[][..], &[1]] {
        assert!(matches!(control(ensemble).cut(servers).await, Err(EnsembleError::Control { .. })), "{servers:?}");
    }
    assert!(matches!(control(ensemble).cut(&[2]).await, Err(EnsembleError::NoSuchServer(2))));
}

#[tokio::test]
async fn a_leader_that_is_cut_off_is_replaced_and_falls_in_again() {
    let run = Run::new("cut");
    let ensemble = run.start(options(3)).await;
    let old = leader_among(&ensemble, &[1, 2, 3]).await;
    let others: Vec<u32> = (1..=3).filter(|id| *id != old).collect();

    println!("{}", control(&ensemble).cut(&[old]).await.expect("cut").0);
    let begin = Instant::now();
    let new = leader_among(&ensemble, &others).await;
    println!("{new} leads {:?} after the cut", begin.elapsed());
    let reached = ensemble.ask(old, "ruok").await.expect("clients still reach the one that is cut off");
    assert_eq!(reached, "imok");
    stops_serving(&ensemble, &[old]).await;
    create(&ensemble, new, "/meanwhile").await;
    ensemble.check_alive().await.expect("nobody died");
    assert!(control(&ensemble).cut(&[old]).await.is_err(), "it is cut off already");
    assert!(control(&ensemble).rejoin(&others).await.is_err(), "no such cut was made");

    println!("{}", control(&ensemble).rejoin(&[old]).await.expect("rejoined"));
    leader_among(&ensemble, &[1, 2, 3]).await;
    assert!(has(&ensemble, old, "/meanwhile").await, "it has what was written without it");
    assert!(control(&ensemble).rejoin(&[old]).await.is_err(), "it is not cut off");
    ensemble.stop().await.expect("stopped");
}

#[tokio::test]
async fn servers_that_are_cut_off_together_still_reach_each_other() {
    let run = Run::new("halves");
    let ensemble = run.start(options(5)).await;
    leader_among(&ensemble, &[1, 2, 3, 4, 5]).await;
    control(&ensemble).cut(&[1, 2]).await.expect("cut");
    let leader = leader_among(&ensemble, &[3, 4, 5]).await;
    stops_serving(&ensemble, &[1, 2]).await;
    control(&ensemble).rejoin(&[1, 2]).await.expect("rejoined");

    // Any three servers are a quorum, with the old leader or without.
    leader_among(&ensemble, &[1, 2, 3, 4, 5]).await;
    let without: Vec<u32> = (3..=5).filter(|id| *id != leader).collect();
    let with = [1, 2, leader];
    control(&ensemble).cut(&without).await.expect("cut");
    leader_among(&ensemble, &with).await;
    stops_serving(&ensemble, &without).await;
    // A server that is killed and restarted in between stays on its side; one that is down at the rejoin also rejoins.
    control(&ensemble).kill(without[0]).await.expect("killed");
    control(&ensemble).start(without[0], true).await.expect("started");
    leader_among(&ensemble, &with).await;
    assert_eq!(mode(&ensemble, without[0]).await, None);
    control(&ensemble).kill(without[0]).await.expect("killed");
    control(&ensemble).rejoin(&without).await.expect("rejoined");
    control(&ensemble).start(without[0], false).await.expect("started");
    leader_among(&ensemble, &[1, 2, 3, 4, 5]).await;
    ensemble.stop().await.expect("stopped");
}
