//! Docker ensembles of real ZooKeeper servers: they serve, they support faults, and they leave nothing behind.

mod failures;
mod faults;
mod leftovers;
pub(crate) mod support;

use crate::ensemble_support::{WITHIN, assert_counts, create, has};
use hustings::ensemble::docker::DockerOptions;
use hustings::ensemble::{Ensemble, EnsembleError};
use hustings::links::RunLinks;
use support::{Run, docker, everything_of, is_there, options};
use tokio::time::Instant;

#[tokio::test]
async fn three_servers_serve_count_and_leave_nothing_behind() {
    let run = Run::new("serves");
    let begin = Instant::now();
    let ensemble = run.start(options(3)).await;
    println!("served after {:?}: {}", begin.elapsed(), ensemble.describe());
    assert_eq!(ensemble.kind(), hustings_record::EnsembleKind::Docker);
    assert!(ensemble.version().starts_with("3."), "{}", ensemble.version());
    assert!(ensemble.describe().contains("chosen because"), "{}", ensemble.describe());
    create(&ensemble, 1, "/told").await;
    assert!(has(&ensemble, 3, "/told").await, "written by one server, read by another");

    assert_counts(&ensemble, 3).await;
    let conf = ensemble.ask(2, "conf").await.expect("answered");
    for setting in ["maxClientCnxns=0", "tickTime=500", "initLimit=40", "syncLimit=20", "serverId=2"] {
        assert!(conf.contains(setting), "{setting} is not in: {conf}");
    }
    assert!(matches!(ensemble.ask(4, "ruok").await, Err(EnsembleError::NoSuchServer(4))));
    ensemble.check_alive().await.expect("all live");

    let log = ensemble.log(1).await.expect("read").expect("there is one");
    assert!(log.contains("FOLLOWING") || log.contains("LEADING"), "{log}");
    let times: Vec<&str> = log.lines().map(|line| line.split(' ').next().expect("a time")).collect();
    assert!(times.iter().all(|t| t.len() == "2025-01-01T00:00:00.123456789Z".len() && t.ends_with('Z')), "{log}");
    assert!(times.is_sorted());

    let published =
        docker(&["ps", "--filter", &format!("label=org.hustings.run={}", run.id), "--format", "{{.Ports}}"]);
    assert!(
        published.contains("127.0.0.1:") && !published.contains("0.0.0.0:") && !published.contains(":::"),
        "{published}"
    );
    let everything = everything_of(&run.id);
    for kind in ["container", "network", "volume"] {
        assert!(everything.iter().filter(|thing| thing.starts_with(kind)).count() >= 3, "{everything:?}");
    }
    ensemble.stop().await.expect("stopped");
    let left: Vec<_> = everything.iter().filter(|thing| is_there(thing)).collect();
    assert!(left.is_empty(), "{left:?}");
    ensemble.stop().await.expect("a second stop does nothing");
}

#[tokio::test]
async fn toxiproxy_stands_in_front_of_the_servers() {
    let run = Run::new("links");
    let ensemble = run.start(DockerOptions { link_ports: 6, ..options(1) }).await;
    let place = ensemble.toxiproxy().expect("links were asked for");
    let links = RunLinks::external(place.clone()).await.expect("it answers as Toxiproxy does");
    drop(links);
    let port = place.first_port.expect("fixed ports");
    let body = serde_json::json!({
        "name": "one", "listen": format!("{}:{port}", place.bind), "upstream": ensemble.upstreams()[0],
    });
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let made = client.post(format!("{}/proxies", place.url)).json(&body).send().await.expect("asked");
    assert!(made.status().is_success(), "{made:?}");
    let addr = std::net::SocketAddr::new(place.reach.expect("from outside"), port);
    let said = hustings::ensemble::four_letter::ask(addr, "ruok", WITHIN).await.expect("the link leads to the server");
    assert_eq!(said, "imok");

    docker(&["kill", &format!("hustings-{}-toxiproxy", run.id)]);
    let error = ensemble.check_alive().await.expect_err("Toxiproxy is missed");
    assert!(matches!(error, EnsembleError::ToxiproxyDied { .. }), "{error}");
    ensemble.stop().await.expect("stopped");
}

#[tokio::test]
async fn two_ensembles_at_once_do_not_meet() {
    let (one, two) = (Run::new("one"), Run::new("two"));
    let (first, second) = futures::join!(one.start(options(1)), two.start(options(1)));
    assert!(!first.servers().contains(&second.servers()[0]));
    first.stop().await.expect("stopped");
    assert_eq!(everything_of(&one.id), [""; 0]);
    second.check_alive().await.expect("the other lives on");
    create(&second, 1, "/on").await;
    // One folder, two ensembles: the second has its own names.
    let third = two.start(options(1)).await;
    second.stop().await.expect("stopped");
    third.check_alive().await.expect("the third lives on");
    third.stop().await.expect("stopped");
    assert_eq!(everything_of(&two.id), [""; 0]);
}
