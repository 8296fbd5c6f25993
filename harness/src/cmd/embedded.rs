//! `hustings embedded`: the servers of an embedded ensemble, in a separate process.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use hustings_workloads::model::Options;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use crate::ensemble::embedded::{ORDER_BYTES_MAX, OrderOutcome, ServerOrder};
use crate::process::{child, interrupt, limits};
use crate::sidecar::Sidecar;
use crate::wire::serve::EmbeddedServers;

/// Serve ZooKeeper's protocol from the model: started by `run`
///
/// Prints one line of JSON, {"servers":["ADDRESS",…]}, once all of them listen. Then it takes orders, one a line of standard
/// input, and answers each by a line of standard output, until standard input ends.
#[derive(Debug, clap::Args)]
pub(crate) struct EmbeddedArgs {
    /// How many servers
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=9))]
    servers: u16,
    /// ZooKeeper's tickTime
    #[arg(long, value_name = "MS", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..))]
    tick_ms: u64,
    /// ZooKeeper's syncLimit
    #[arg(long, value_name = "TICKS", default_value_t = 5)]
    sync_limit: u64,
    /// Port of the first server, followed by those of the others; 0 takes any free ones
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    first_port: u16,
    /// Seed of passwords
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// End when the process with this pid, which must be the parent, ends
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    die_with_parent: Option<u32>,
}

pub(crate) fn run(args: &EmbeddedArgs) -> anyhow::Result<()> {
    if let Some(parent) = args.die_with_parent {
        child::die_with_parent(parent).with_context(|| format!("--die-with-parent {parent} cannot be granted"))?;
    }
    limits::raise_descriptor_limit().context("cannot raise the descriptor limit")?;
    let runtime = Builder::new_current_thread().enable_all().build().context("no async runtime")?;
    let served = LocalSet::new().block_on(&runtime, serve(args));
    // A read of standard input may be pending.
    runtime.shutdown_background();
    served
}

async fn serve(args: &EmbeddedArgs) -> anyhow::Result<()> {
    interrupt::survive_file_size_limit().context("signals cannot be listened to")?;
    let options = Options {
        tick_ms: args.tick_ms,
        timeout_min_ms: 2 * args.tick_ms,
        timeout_max_ms: 20 * args.tick_ms,
        sync_limit: args.sync_limit,
        seed: args.seed,
        ..Options::default()
    };
    let port = |server: u16| if args.first_port == 0 { 0 } else { args.first_port.saturating_add(server) };
    let addresses: Vec<SocketAddr> =
        (0..args.servers).map(|server| (Ipv4Addr::LOCALHOST, port(server)).into()).collect();
    let servers = EmbeddedServers::start(options, &addresses).context("a server cannot listen")?;
    let said: Vec<String> = servers.addresses().iter().map(ToString::to_string).collect();
    let mut out = tokio::io::stdout();
    out.write_all(format!("{}\n", json!({ "servers": said })).as_bytes()).await?;
    out.flush().await?;

    let mut orders = BufReader::new(tokio::io::stdin());
    let mut sidecar = Sidecar::default();
    loop {
        let mut line = Vec::new();
        tokio::select! {
            read = async { (&mut orders).take(ORDER_BYTES_MAX).read_until(b'\n', &mut line).await } => { read?; }
            never = sidecar.write() => match never {},
        }
        if line.is_empty() {
            return Ok(());
        }
        let outcome = match serde_json::from_slice(&line) {
            Ok(ServerOrder::Record { order }) => sidecar.obey(order).map(|()| String::new()),
            Ok(order) => tokio::select! {
                outcome = carry_out(&servers, order) => outcome,
                never = sidecar.write() => match never {},
            },
            Err(error) => Err(format!("this is no order: {error}")),
        };
        let outcome = outcome.map_or_else(OrderOutcome::Refused, OrderOutcome::Seen);
        let mut told = serde_json::to_vec(&outcome)?;
        told.push(b'\n');
        out.write_all(&told).await?;
        out.flush().await?;
    }
}

async fn carry_out(servers: &EmbeddedServers, order: ServerOrder) -> Result<String, String> {
    match order {
        ServerOrder::Kill { server } => servers.kill(server).await,
        ServerOrder::Start { server, empty } => servers.start_again(server, empty),
        ServerOrder::Pause { server } => servers.pause(server),
        ServerOrder::Resume { server } => servers.resume(server),
        ServerOrder::Log { server } => servers.log(server),
        ServerOrder::Cut { servers: parted } => servers.part(&parted, true),
        ServerOrder::Rejoin { servers: parted } => servers.part(&parted, false),
        ServerOrder::Record { .. } => Err("this is no order to a server".to_owned()),
    }
}
