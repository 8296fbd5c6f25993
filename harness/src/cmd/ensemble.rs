//! Options for the ensemble of a run.

use std::env::var_os;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use clap::ValueEnum;
use hustings_record::words::plural;
use hustings_workloads::scenario::Cell;

use crate::access::Access;
use crate::cmd::access::AccessArgs;
use crate::cmd::connect::{address, servers_and_chroot, word};
use crate::coordinator::links_of_largest_cell;
use crate::ensemble::docker::{TOXIPROXY_IMAGE, TOXIPROXY_IMAGE_VARIABLE, ZOOKEEPER_IMAGE, ZOOKEEPER_IMAGE_VARIABLE};
use crate::ensemble::start::{DockerRequest, EmbeddedRequest, EnsembleRequest, ExternalRequest, LocalRequest};
use crate::links::ExternalToxiproxy;

/// Names an unpacked release for local servers.
const HOME_VARIABLE: &str = "ZOOKEEPER_HOME";

#[derive(Clone, Debug, clap::Args)]
pub(super) struct EnsembleArgs {
    /// What runs the servers [default: auto; external with --connect]
    #[arg(long, value_enum, help_heading = "Ensemble")]
    ensemble: Option<EnsembleChoice>,
    /// Fail rather than fall back to embedded servers, as gates in CI should
    #[arg(long, help_heading = "Ensemble")]
    require_real: bool,
    /// Unpacked ZooKeeper release to use instead of the installed packages
    #[arg(long, value_name = "DIR", env = HOME_VARIABLE, help_heading = "Local ensemble")]
    zookeeper_home: Option<PathBuf>,
    /// First port of the servers; without it, any free ports
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Ensemble")]
    base_port: Option<u16>,
    /// Image of the servers
    #[arg(
        long,
        value_name = "IMAGE",
        env = ZOOKEEPER_IMAGE_VARIABLE,
        default_value = ZOOKEEPER_IMAGE,
        help_heading = "Docker ensemble"
    )]
    zookeeper_image: String,
    /// Image of the Toxiproxy in front of them
    #[arg(
        long,
        value_name = "IMAGE",
        env = TOXIPROXY_IMAGE_VARIABLE,
        default_value = TOXIPROXY_IMAGE,
        help_heading = "Docker ensemble"
    )]
    toxiproxy_image: String,
    /// Client addresses of all servers of an ensemble that runs already, and behind the last one the znode below which to
    /// stay, as `zk1:2181,zk2:2181/some/path`. The run changes only its own znodes
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', value_parser = word, help_heading = "External ensemble")]
    connect: Vec<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// The same servers as Toxiproxy reaches them, in the same order, as `zoo1:2181` [default: as in --connect]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', value_parser = address, help_heading = "External ensemble")]
    toxiproxy_upstreams: Vec<String>,
    /// Toxiproxy to use for the links instead of the embedded proxy, as `127.0.0.1:8474`; its API has no authentication, so
    /// keep it local
    #[arg(long, value_name = "URL", help_heading = "Links")]
    toxiproxy: Option<String>,
    /// Ports that Toxiproxy may open for links, one a host and server, as `21000-21029`: those that its container publishes.
    /// It opens them on all its addresses [default: any free ones, on the loopback address]
    #[arg(long, value_name = "FIRST-LAST", value_parser = range, help_heading = "Links")]
    toxiproxy_ports: Option<(u16, u16)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum EnsembleChoice {
    /// Local servers if this machine has Java and ZooKeeper, else containers, else embedded; says which and why
    Auto,
    /// Real servers as child processes, from Debian's packages or a release
    Local,
    /// Real servers and Toxiproxy as containers
    Docker,
    /// A model of the servers in one process: needs nothing, and its latencies say nothing about ZooKeeper
    Embedded,
    /// Servers that run already: --connect names them
    External,
}

fn range(text: &str) -> Result<(u16, u16), String> {
    let ends = text.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    match ends {
        Some((first, last)) if 0 < first && first <= last => Ok((first, last)),
        _ => Err("give the first and the last port, as 21000-21029".to_owned()),
    }
}

/// Refuses a base port from which on there are too few ports for the servers of these cells.
///
/// # Errors
/// The greatest base port that suffices.
pub(super) fn check_base_port(request: &EnsembleRequest, cells: &[Cell]) -> anyhow::Result<()> {
    for cells in cells.chunk_by(Cell::same_ensemble) {
        let links = u32::try_from(links_of_largest_cell(cells)).unwrap_or(u32::MAX);
        let between = Cell::cut_servers_apart(cells);
        let servers = cells[0].servers;
        let Some((base, count)) = request.ports(servers, links, between) else { return Ok(()) };
        let most = (u32::from(u16::MAX) + 1).saturating_sub(count);
        ensure!(
            u32::from(base) <= most,
            "--base-port {base}: {} and {} links need {count} ports from there on, and ports end at {}; choose {most} at most, \
             or leave it out",
            plural(servers.into(), "server", "servers"),
            if servers == 1 { "its" } else { "their" },
            u16::MAX
        );
    }
    Ok(())
}

impl EnsembleArgs {
    /// The first of these options that was given, environment variables excepted. They have no meaning for commands
    /// that start no servers.
    pub(super) fn given(&self) -> Option<&'static str> {
        [
            (self.ensemble.is_some(), "--ensemble"),
            (self.require_real, "--require-real"),
            (self.base_port.is_some(), "--base-port"),
            (!self.connect.is_empty(), "--connect"),
            (!self.toxiproxy_upstreams.is_empty(), "--toxiproxy-upstreams"),
            (self.toxiproxy.is_some(), "--toxiproxy"),
            (self.toxiproxy_ports.is_some(), "--toxiproxy-ports"),
        ]
        .into_iter()
        .find_map(|(given, option)| given.then_some(option))
        .or_else(|| self.access.given())
        .or_else(|| Some(self.of_other_servers(EnsembleChoice::Embedded)?.0))
    }

    /// The files that these options read.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.access.files()
    }

    /// The first option that names what servers are started from, and is for servers of another kind than `choice`; and
    /// that kind. A value from an environment variable counts as not given: it may be set for other runs.
    fn of_other_servers(&self, choice: EnsembleChoice) -> Option<(&'static str, &'static str)> {
        let (local, containers) = match choice {
            EnsembleChoice::Auto => return None,
            EnsembleChoice::Local => (true, false),
            EnsembleChoice::Docker => (false, true),
            EnsembleChoice::Embedded | EnsembleChoice::External => (false, false),
        };
        let of_variable = var_os(HOME_VARIABLE);
        let home = self.zookeeper_home.as_deref().is_some_and(|home| of_variable.as_deref() != Some(home.as_os_str()));
        let named = |image: &str, usual: &str, variable: &str| {
            !image.is_empty() && image != usual && var_os(variable).is_none_or(|set| set.as_os_str() != image)
        };
        let zookeeper = named(&self.zookeeper_image, ZOOKEEPER_IMAGE, ZOOKEEPER_IMAGE_VARIABLE);
        let toxiproxy = named(&self.toxiproxy_image, TOXIPROXY_IMAGE, TOXIPROXY_IMAGE_VARIABLE);
        [
            (home && !local, ("--zookeeper-home", "local servers")),
            (zookeeper && !containers, ("--zookeeper-image", "servers in containers")),
            (toxiproxy && !containers, ("--toxiproxy-image", "servers in containers")),
        ]
        .into_iter()
        .find_map(|(ignored, option)| ignored.then_some(option))
    }

    /// The requested ensemble.
    ///
    /// # Errors
    /// Contradictory options, each with a remedy.
    pub(super) fn request(self) -> anyhow::Result<EnsembleRequest> {
        let choice = match self.ensemble {
            None if self.connect.is_empty() => EnsembleChoice::Auto,
            None => EnsembleChoice::External,
            Some(choice) => choice,
        };
        self.check(choice)?;
        let toxiproxy =
            self.toxiproxy.as_deref().map(|url| ExternalToxiproxy::at(url, self.toxiproxy_ports)).transpose()?;
        let upstreams = Some(self.toxiproxy_upstreams).filter(|upstreams| !upstreams.is_empty());
        let (zookeeper_home, base_port) = (self.zookeeper_home, self.base_port);
        // An empty variable counts as unset.
        let image = |asked: String, default: &str| if asked.is_empty() { default.to_owned() } else { asked };
        let zookeeper_image = image(self.zookeeper_image, ZOOKEEPER_IMAGE);
        let toxiproxy_image = image(self.toxiproxy_image, TOXIPROXY_IMAGE);
        Ok(match choice {
            EnsembleChoice::External => {
                let (connect, chroot) = servers_and_chroot(&self.connect)?;
                let access = Access { chroot, ..self.access.access()? };
                EnsembleRequest::External(ExternalRequest { connect, upstreams, toxiproxy, access })
            }
            EnsembleChoice::Docker => {
                EnsembleRequest::Docker(DockerRequest { zookeeper_image, toxiproxy_image, base_port })
            }
            EnsembleChoice::Local => EnsembleRequest::Local(LocalRequest { zookeeper_home, base_port, toxiproxy }),
            EnsembleChoice::Embedded => EnsembleRequest::Embedded(EmbeddedRequest { base_port, toxiproxy }),
            EnsembleChoice::Auto => {
                let local = LocalRequest { zookeeper_home, base_port, toxiproxy };
                let docker = DockerRequest { zookeeper_image, toxiproxy_image, base_port };
                EnsembleRequest::Auto { local, docker, real: self.require_real }
            }
        })
    }

    fn check(&self, choice: EnsembleChoice) -> anyhow::Result<()> {
        let name = choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        ensure!(
            !(self.require_real && choice == EnsembleChoice::Embedded),
            "--ensemble embedded is not real: leave it out, or --require-real"
        );
        if choice == EnsembleChoice::External {
            ensure!(
                !self.connect.is_empty(),
                "--ensemble external needs the servers: name them all by --connect HOST:PORT,HOST:PORT,…"
            );
            ensure!(
                self.base_port.is_none(),
                "--base-port is for servers that are started here; those of --connect have ports already: leave it out"
            );
            self.access.check()?;
            ensure!(
                self.toxiproxy.is_none() || !self.access.speaks_tls(),
                "--toxiproxy does not go with --tls-ca: TLS begins in this program, where no Toxiproxy of somebody else need \
                 reach it; leave --toxiproxy out: the embedded proxies can"
            );
        } else {
            ensure!(
                self.connect.is_empty(),
                "--connect names servers that run already, and --ensemble {name} starts its own: use --ensemble external, or \
                 leave --connect out"
            );
            if let Some(option) = self.access.given() {
                bail!(
                    "{option} is for servers that run already: name those by --connect HOST:PORT,HOST:PORT,…, or leave it out"
                );
            }
        }
        if let Some((option, servers)) = self.of_other_servers(choice) {
            bail!("{option} is for {servers}, and --ensemble {name} has none: leave one of the two out");
        }
        if choice == EnsembleChoice::Docker && self.toxiproxy.is_some() {
            bail!("--ensemble docker brings a Toxiproxy of its own (--toxiproxy-image): leave --toxiproxy out");
        }
        if self.toxiproxy.is_none() {
            ensure!(self.toxiproxy_ports.is_none(), "--toxiproxy-ports needs --toxiproxy: whose ports are they?");
            // Without a Toxiproxy, the embedded proxies of this machine connect to the servers.
            ensure!(
                self.toxiproxy_upstreams.is_empty(),
                "--toxiproxy-upstreams needs --toxiproxy: which Toxiproxy reaches the servers like that?"
            );
        }
        let (servers, upstreams) = (self.connect.len(), self.toxiproxy_upstreams.len());
        ensure!(
            upstreams == 0 || choice == EnsembleChoice::External,
            "--toxiproxy-upstreams is about the servers of --connect: name those, or leave it out"
        );
        ensure!(
            upstreams == 0 || upstreams == servers,
            "--connect names {} and --toxiproxy-upstreams {upstreams}: name each once, in the same order",
            plural(servers as u64, "server", "servers")
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::{EnsembleArgs, EnsembleRequest, ZOOKEEPER_IMAGE};

    #[derive(clap::Parser)]
    struct EnsembleParser {
        #[command(flatten)]
        args: EnsembleArgs,
    }

    fn request(words: &str) -> Result<EnsembleRequest, String> {
        let words = std::iter::once("hustings").chain(words.split_whitespace());
        EnsembleParser::try_parse_from(words).map_err(|e| e.to_string())?.args.request().map_err(|e| e.to_string())
    }

    #[test]
    fn an_address_alone_means_an_external_ensemble() {
        let Ok(EnsembleRequest::External(request)) = request("--connect 127.0.0.1:1,127.0.0.1:2") else {
            panic!("not external")
        };
        assert_eq!(request.connect, ["127.0.0.1:1", "127.0.0.1:2"]);
        assert_eq!((request.upstreams, request.toxiproxy), (None, None));
    }

    #[test]
    fn published_ports_mean_a_proxy_that_listens_for_others() {
        let asked = "--connect 127.0.0.1:1 --toxiproxy 127.0.0.1:8474 --toxiproxy-ports 21000-21029 \
                     --toxiproxy-upstreams zoo1:2181";
        let Ok(EnsembleRequest::External(asked)) = request(asked) else { panic!("not external") };
        let place = asked.toxiproxy.expect("a Toxiproxy");
        assert!(place.bind.is_unspecified() && place.reach.is_some_and(|reach| reach.is_loopback()));
        assert_eq!((place.first_port, place.last_port), (Some(21_000), Some(21_029)));
        let Ok(EnsembleRequest::Local(local)) = request("--ensemble local --toxiproxy 127.0.0.1:8474") else {
            panic!("not local")
        };
        assert!(local.toxiproxy.expect("a Toxiproxy").bind.is_loopback());
    }

    #[test]
    fn nothing_said_is_auto_with_the_official_images_behind_it() {
        let Ok(EnsembleRequest::Auto { docker, .. }) = request("--zookeeper-image=") else { panic!("not auto") };
        assert_eq!(docker.zookeeper_image, ZOOKEEPER_IMAGE);
    }

    #[test]
    fn options_that_do_not_go_together_are_refused_with_what_to_change() {
        for (asked, told) in [
            ("--ensemble external", "--connect"),
            ("--ensemble local --connect 127.0.0.1:1", "--ensemble external"),
            ("--connect 127.0.0.1:1 --base-port 1", "--base-port"),
            ("--ensemble embedded --zookeeper-home /zk", "--zookeeper-home is for local servers"),
            ("--connect 127.0.0.1:1 --zookeeper-home /zk", "--ensemble external has none"),
            ("--ensemble embedded --zookeeper-image mine", "--zookeeper-image is for servers in containers"),
            ("--ensemble local --toxiproxy-image mine", "--toxiproxy-image is for servers in containers"),
            ("--ensemble docker --toxiproxy 127.0.0.1:8474", "leave --toxiproxy out"),
            ("--toxiproxy-ports 1-2", "needs --toxiproxy"),
            ("--connect 127.0.0.1:1 --toxiproxy-upstreams zoo1:1", "needs --toxiproxy"),
            ("--toxiproxy 127.0.0.1:1 --toxiproxy-upstreams zoo1:1", "--connect"),
            (
                "--connect 127.0.0.1:1 --toxiproxy 127.0.0.1:1 --toxiproxy-upstreams a:1,b:1",
                "names 1 server and --toxiproxy-upstreams 2",
            ),
            ("--toxiproxy 127.0.0.1:1 --toxiproxy-ports 2-1", "first and the last port"),
            ("--toxiproxy ftp://x", "http://HOST:PORT"),
            ("--connect 127.0.0.1:1/x,127.0.0.1:2", "behind the last one"),
            ("--connect 127.0.0.1:1/x/", "ends with /"),
            ("--auth-file secret", "--auth-file is for servers that run already"),
            ("--ensemble local --sasl-file secret", "--connect HOST:PORT"),
            ("--ensemble embedded --tls-no-hostname-check", "--tls-no-hostname-check is for servers"),
            ("--connect 127.0.0.1:1 --tls-cert c.pem --tls-key k.pem", "--tls-ca"),
            ("--connect 127.0.0.1:1 --tls-ca a.pem --tls-cert c.pem", "--tls-key"),
            ("--connect 127.0.0.1:1 --tls-ca a.pem --tls-key k.pem", "--tls-cert"),
            ("--connect 127.0.0.1:1 --tls-no-hostname-check", "--tls-ca"),
            ("--connect 127.0.0.1:1 --tls-ca a.pem --toxiproxy 127.0.0.1:1", "leave --toxiproxy out"),
            ("--connect 127.0.0.1:1 --auth-file no-such-file", "--auth-file no-such-file"),
            ("--connect 127.0.0.1:1 --tls-ca no-such-file", "--tls-ca no-such-file"),
            ("--connect 127.0.0.1:1 --tls-ca Cargo.toml", "--tls-ca Cargo.toml cannot be used"),
        ] {
            let why = request(asked).expect_err(asked);
            assert!(why.contains(told), "{asked}: {why}");
        }
    }
}
