//! `hustings proxy`: the embedded link proxy as a separate command.

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use crate::cmd::run::seed;
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::say_json;
use crate::links::{VersionAnswer, version_at};
use crate::process::interrupt::Interrupt;
use crate::process::{child, limits};
use crate::proxy::{Options, ProxyServer, Taps};
use crate::sidecar::{self, Sidecar};
use anyhow::Context as _;
use serde_json::json;
use tokio::task::LocalSet;

/// Serve faulty links: a proxy that speaks Toxiproxy's HTTP API
///
/// Prints one line of JSON, {"api":"ADDRESS"}, once the API answers, and serves until it is stopped. Beyond Toxiproxy's
/// toxics there is `hold`, which holds all data up and loses none; `await_upstream`, which tries for a `timeout` to reach a
/// server that refuses; `lose_reply`, which holds the answers to so many `creates` of ZooKeeper's clients back and closes their
/// connections instead; and `plain_greeting`, which takes the address out of the greeting of a ZooKeeper election connection,
/// so that the peer connects back as its configuration says.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  Serve the API where Toxiproxy's clients look for it:
    hustings proxy
  Put a link in front of a server, hold up what the server says, and let it go again:
    curl -d '{\"name\":\"zk\",\"listen\":\"127.0.0.1:22181\",\"upstream\":\"127.0.0.1:2181\"}' localhost:8474/proxies
    curl -d '{\"type\":\"hold\",\"stream\":\"downstream\"}' localhost:8474/proxies/zk/toxics
    curl -X DELETE localhost:8474/proxies/zk/toxics/hold_downstream
  See what went through, reset all connections:
    curl localhost:8474/proxies/zk/stats
    curl -X POST localhost:8474/proxies/zk/disconnect"))]
pub(crate) struct ProxyArgs {
    /// Where the API listens; it has no authentication, so keep it local. Port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8474")]
    listen: SocketAddr,
    /// End when the process with this pid, which must be the parent, ends
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    die_with_parent: Option<u32>,
    /// Take the segments to write own stalls to from standard input
    #[arg(long, hide = true)]
    record: bool,
    /// Seed of jitter, sizes of slices, and of which connections a toxic hits
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = seed)]
    seed: u64,
    /// Accept toxics and ignore them, on proxies whose names end so: to test that users of the proxy notice
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "")]
    lie: Option<String>,
    /// Do not tell of what goes beyond Toxiproxy: to test how users get along with a real one
    #[arg(long, hide = true)]
    plain: bool,
}

pub(crate) fn run(args: &ProxyArgs) -> Result<Exit, Failure> {
    if let Some(parent) = args.die_with_parent {
        child::die_with_parent(parent)
            .with_context(|| format!("--die-with-parent {parent} cannot be granted"))
            .map_err(Failure::infrastructure)?;
    }
    limits::raise_descriptor_limit().context("cannot raise the descriptor limit").map_err(Failure::infrastructure)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::infrastructure)?;
    let served = LocalSet::new().block_on(&runtime, serve(args));
    // A read of standard input may be pending.
    runtime.shutdown_background();
    served
}

async fn serve(args: &ProxyArgs) -> Result<Exit, Failure> {
    let options = Options { listen: args.listen, lie: args.lie.clone(), plain: args.plain, seed: args.seed };
    let server = ProxyServer::bind(options).map_err(|error| unbound(args.listen, error))?;
    let taps = server.taps();
    // As the first process of a container, it receives only signals that it listens to.
    let interrupt = Interrupt::take_over();
    let address = server.address().map_err(Failure::infrastructure)?;
    say_json(json!({ "api": address.to_string() }))?;
    let failed = tokio::select! {
        served = server.serve() => served.map_or_else(anyhow::Error::from, |()| anyhow::anyhow!("the API ended")),
        failed = record(args.record, taps) => match failed {
            Ok(never) => match never {},
            Err(error) => anyhow::Error::from(error).context("cannot take orders from standard input"),
        },
        () = interrupt.first() => return Ok(Exit::Interrupted),
    };
    Err(Failure::infrastructure(failed))
}

/// The failure to listen at this address, by what is there. Blocks for two seconds at most.
fn unbound(listen: SocketAddr, error: io::Error) -> Failure {
    let why = match error.kind() {
        ErrorKind::AddrInUse => match version_at(listen) {
            Some(VersionAnswer::Toxiproxy(version)) => {
                format!("a Toxiproxy {version} runs there: use that one, or choose another address with --listen")
            }
            Some(VersionAnswer::Other(answer)) => format!(
                "another program listens there, which {answer} when asked for a Toxiproxy's version; choose another address \
                 with --listen"
            ),
            None => "another program has that address; choose another with --listen".to_owned(),
        },
        ErrorKind::AddrNotAvailable => {
            "this machine has no such address; choose one of its own with --listen".to_owned()
        }
        ErrorKind::PermissionDenied => {
            "this user may not listen there; choose a port from 1024 on with --listen".to_owned()
        }
        _ => "choose another address with --listen".to_owned(),
    };
    Failure::infrastructure(anyhow::Error::new(error).context(format!("cannot listen on {listen}: {why}")))
}

async fn record(wanted: bool, taps: Taps) -> io::Result<Infallible> {
    if wanted { sidecar::obey(Sidecar::of_links(taps)).await } else { std::future::pending().await }
}
