//! Options of a Docker ensemble.

use std::time::Duration;

use super::super::server_options::ServerOptions;

/// Environment variables for other images than the official ones, which follow them.
pub const ZOOKEEPER_IMAGE_VARIABLE: &str = "HUSTINGS_ZOOKEEPER_IMAGE";
pub const TOXIPROXY_IMAGE_VARIABLE: &str = "HUSTINGS_TOXIPROXY_IMAGE";

pub const ZOOKEEPER_IMAGE: &str = "zookeeper:3.9";
pub const TOXIPROXY_IMAGE: &str = "ghcr.io/shopify/toxiproxy:2.12.0";

#[derive(Clone, Debug)]
pub struct DockerOptions {
    pub servers: ServerOptions,
    /// Any image that is configured like the official one.
    pub zookeeper_image: String,
    /// Any image that serves Toxiproxy's API on port 8474 without configuration.
    pub toxiproxy_image: String,
    /// Number of ports for Toxiproxy's links; 0: there is no Toxiproxy.
    pub link_ports: u16,
    /// First client port; the following ones are the other client ports, Toxiproxy's API and the links. None: any free
    /// ports.
    pub base_port: Option<u16>,
    /// Deadline for all servers to serve.
    pub start_within: Duration,
    /// Completes the sentence "chosen because …".
    pub why: String,
    /// Lines added to the end of server 1's configuration, for tests that need a server that does not start. No spaces
    /// within a line.
    pub extra_config: String,
}

impl DockerOptions {
    /// Servers without Toxiproxy, of the images that the environment names (`HUSTINGS_ZOOKEEPER_IMAGE`,
    /// `HUSTINGS_TOXIPROXY_IMAGE`), else of the official ones.
    #[must_use]
    pub fn new(servers: ServerOptions) -> Self {
        let image = |variable, official: &str| {
            std::env::var(variable).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| official.to_owned())
        };
        Self {
            servers,
            zookeeper_image: image(ZOOKEEPER_IMAGE_VARIABLE, ZOOKEEPER_IMAGE),
            toxiproxy_image: image(TOXIPROXY_IMAGE_VARIABLE, TOXIPROXY_IMAGE),
            link_ports: 0,
            base_port: None,
            start_within: Duration::from_secs(120),
            why: "it was asked for".to_owned(),
            extra_config: String::new(),
        }
    }
}
