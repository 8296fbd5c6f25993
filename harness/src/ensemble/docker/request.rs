//! The container requests: ZooKeeper is configured by the environment of its official image, Toxiproxy needs nothing.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::{HostConfig, HostConfigLogConfig};
use testcontainers::core::{Host, IntoContainerPort as _};
use testcontainers::{ContainerRequest, GenericImage, ImageExt as _};

use super::super::local::LOGBACK;
use super::super::server_options::{collector, pauses};
use super::engine::generic;
use super::networks::Networks;
use super::options::DockerOptions;
use super::ports::Ports;

const CLIENT_PORT: u16 = 2181;
const API_PORT: u16 = 8474;
/// Bound for the engine to start a container; the programs inside may need longer.
const START_WITHIN: Duration = Duration::from_secs(90);

/// Server `id`, on the clients' network; the caller adds the networks of its pairs.
pub(super) fn server(
    id: u32,
    container: &str,
    options: &DockerOptions,
    ports: &Ports,
    networks: &Networks,
    labels: &HashMap<String, String>,
) -> ContainerRequest<GenericImage> {
    let mut request = base(&options.zookeeper_image, container, networks, labels)
        .with_mapped_port(ports.client(id), CLIENT_PORT.tcp())
        // Images that log by logback read this before their own: they would log a line per refused create.
        .with_copy_to("/conf/logback.xml", LOGBACK.as_bytes().to_vec());
    for peer in 1..=options.servers.count {
        request = request.with_host(name(peer), Host::Addr(networks.address(id, peer).into()));
    }
    for (key, value) in environment(id, options) {
        request = request.with_env_var(key, value);
    }
    request.with_host_config_modifier(local)
}

/// Toxiproxy, on the clients' network; its links listen on the same ports inside and outside.
pub(super) fn toxiproxy(
    container: &str,
    options: &DockerOptions,
    ports: &Ports,
    networks: &Networks,
    labels: &HashMap<String, String>,
) -> ContainerRequest<GenericImage> {
    let mut request =
        base(&options.toxiproxy_image, container, networks, labels).with_mapped_port(ports.api(), API_PORT.tcp());
    for link in ports.links() {
        request = request.with_mapped_port(link, link.tcp());
    }
    request.with_host_config_modifier(|config| {
        local(config);
        // Names unknown to the engine (those of killed servers) must not be looked up on the Internet. No DNS server
        // runs at the container's own address, so these lookups fail at once.
        config.dns = Some(vec!["127.0.0.1".to_owned()]);
    })
}

/// The servers' names for each other.
fn name(server: u32) -> String {
    format!("zk{server}")
}

fn base(
    image: &str,
    container: &str,
    networks: &Networks,
    labels: &HashMap<String, String>,
) -> ContainerRequest<GenericImage> {
    ContainerRequest::from(generic(image))
        .with_container_name(container)
        .with_labels(labels.clone())
        .with_network(networks.clients())
        .with_startup_timeout(START_WITHIN)
}

/// Published on this machine's loopback only, and with a readable log regardless of the engine's default.
fn local(config: &mut HostConfig) {
    for bindings in config.port_bindings.iter_mut().flat_map(HashMap::values_mut) {
        bindings.iter_mut().flatten().for_each(|binding| binding.host_ip = Some("127.0.0.1".to_owned()));
    }
    config.log_config = Some(HostConfigLogConfig { typ: Some("json-file".to_owned()), config: None });
}

/// The settings of a local ensemble's servers, as environment variables of the image.
fn environment(id: u32, options: &DockerOptions) -> Vec<(&'static str, String)> {
    let servers: Vec<_> = (1..=options.servers.count)
        .map(|peer| format!("server.{peer}={}:2888:3888;{CLIENT_PORT}", name(peer)))
        .collect();
    let mut extra = format!(
        "clientPortListenBacklog=4096 forceSync={} fsync.warningthresholdms=1000 preAllocSize=4096 snapCount=10000000 {}",
        if options.servers.fsync { "yes" } else { "no" },
        pauses().join(" "),
    );
    if options.servers.count > 1 {
        extra.push_str(" quorumListenOnAllIPs=true");
    }
    if id == 1 {
        options.extra_config.lines().for_each(|line| extra.extend([" ", line]));
    }
    let collector = collector(options.servers.heap_mb).map_or_else(String::new, |flag| format!("{flag} "));
    let ticks = &options.servers;
    vec![
        ("ZOO_MY_ID", id.to_string()),
        ("ZOO_SERVERS", servers.join(" ")),
        ("ZOO_TICK_TIME", options.servers.tick_ms.to_string()),
        ("ZOO_INIT_LIMIT", ticks.init().to_string()),
        ("ZOO_SYNC_LIMIT", ticks.sync().to_string()),
        ("ZOO_MAX_CLIENT_CNXNS", "0".to_owned()),
        ("ZOO_4LW_COMMANDS_WHITELIST", "*".to_owned()),
        ("ZOO_ADMINSERVER_ENABLED", "false".to_owned()),
        ("ZOO_CFG_EXTRA", extra),
        ("ZK_SERVER_HEAP", options.servers.heap_mb.to_string()),
        ("JMXDISABLE", "true".to_owned()),
        (
            "SERVER_JVMFLAGS",
            format!("{collector}-XX:-UsePerfData -XX:+ExitOnOutOfMemoryError -Djava.net.preferIPv4Stack=true"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::options::DockerOptions;
    use super::environment;
    use crate::ensemble::server_options::ServerOptions;

    fn value(options: &DockerOptions, id: u32, key: &str) -> String {
        environment(id, options).into_iter().find(|(k, _)| *k == key).expect("it is given").1
    }

    #[test]
    fn servers_are_configured_as_local_ones_are() {
        let options = DockerOptions {
            extra_config: "a=b\nc=d\n".to_owned(),
            ..DockerOptions::new(ServerOptions { tick_ms: 100, ..ServerOptions::of(3) })
        };
        assert_eq!(
            value(&options, 2, "ZOO_SERVERS"),
            "server.1=zk1:2888:3888;2181 server.2=zk2:2888:3888;2181 server.3=zk3:2888:3888;2181"
        );
        assert_eq!(
            (value(&options, 2, "ZOO_INIT_LIMIT"), value(&options, 2, "ZOO_SYNC_LIMIT")),
            ("200".into(), "100".into())
        );
        assert!(value(&options, 1, "ZOO_CFG_EXTRA").ends_with(" quorumListenOnAllIPs=true a=b c=d"));
        assert!(value(&options, 2, "ZOO_CFG_EXTRA").ends_with(" quorumListenOnAllIPs=true"));
        let servers = ServerOptions { init_limit: Some(7), sync_limit: Some(3), ..options.servers };
        let given = DockerOptions { servers, ..options };
        assert_eq!((value(&given, 2, "ZOO_INIT_LIMIT"), value(&given, 2, "ZOO_SYNC_LIMIT")), ("7".into(), "3".into()));
    }
}
