//! Servers that only answer clients authenticated by SASL.

use super::server::Server;
use super::stage::{ObserverIdentity, PASSWORD, USER, below, lock_down, passes, refused, secret, with_faults};
use crate::run_support::Bench;

const ROOT: &str = "/ours";

#[tokio::test]
async fn servers_that_demand_sasl_bear_a_run_with_every_end_of_a_session() {
    let bench = Bench::new();
    let users = format!(
        "Server {{\n  org.apache.zookeeper.server.auth.DigestLoginModule required\n  user_{USER}=\"{PASSWORD}\";\n}};\n"
    );
    let users = bench.file("users.jaas", &users);
    let config = "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n\
                  sessionRequireClientSASLAuth=true\n";
    let server = Server::start(config, &[format!("-Djava.security.auth.login.config={}", users.display())]).await;
    lock_down(&ObserverIdentity::Sasl.client(&server.address()).await, ROOT).await;

    let connect = format!("{}{ROOT}", server.address());
    let there = ["--connect", connect.as_str()];
    let wrong = format!("{USER}:wrong");
    refused(&bench, &there, &[], &["authentication failed", &server.address(), "--sasl-file"]);
    refused(&bench, &there, &[("HUSTINGS_SASL", &wrong)], &["authentication failed", "--sasl-file", "JAAS"]);
    let file = bench.file("secret", &format!("{}\n", secret())).display().to_string();
    passes(&bench, &with_faults(""), &[&there[..], &["--sasl-file", &file]].concat(), &[]);
    assert_eq!(below(ObserverIdentity::Sasl, &server.address(), ROOT).await, Vec::<String>::new());
    assert_eq!(
        below(ObserverIdentity::Sasl, &server.address(), "/").await.len(),
        2,
        "the servers' own and what was there"
    );
}
