//! The command line: one file per subcommand.

mod access;
#[cfg(test)]
mod advice;
mod baseline;
mod calibrate;
mod candidate;
mod chaos;
mod clean;
mod compare;
mod connect;
mod doctor;
mod dry;
mod embedded;
mod ensemble;
mod explain;
mod export;
mod external_cleanup;
mod files;
mod gate;
mod guard;
mod history;
mod init;
mod junit;
mod list;
mod mutations;
mod needs;
mod only;
mod pages;
mod pause_files;
mod programs;
mod proxy;
mod report;
mod run;
mod schema;
mod search;
mod simulate;
mod tune;
mod unquoted;

use std::ffi::OsString;

use anyhow::Context as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use hustings_reports::render::{clean_line, clean_prose};
use hustings_workloads::scenario::shortened;
use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tracing_subscriber::EnvFilter;

use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, write_error_as_it_is, write_failure};
use crate::host;
use crate::process::capacity::check_descriptors;
use crate::process::interrupt;
use crate::process::limits::on_usual_stack;

/// Benchmark ZooKeeper leader elections, and break them on purpose
///
/// Puts thousands of candidates on many elections of a real ensemble, injects faults, and tells how long a failover takes,
/// how many clients a leader's death wakes up, and whether two candidates ever led at once.
///
/// Without a subcommand: `hustings run quick`.
#[derive(Debug, Parser)]
#[command(name = "hustings", version, after_help = with_codes("`hustings COMMAND --help` has examples of each."))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::RunArgs>),
    Simulate(Box<simulate::SimulateArgs>),
    Calibrate(calibrate::CalibrateArgs),
    Tune(Box<tune::TuneArgs>),
    Init(init::InitArgs),
    List(list::ListArgs),
    Explain(explain::ExplainArgs),
    Check(report::CheckArgs),
    Report(report::ReportArgs),
    Compare(compare::CompareArgs),
    Gate(gate::GateArgs),
    Export(export::ExportArgs),
    Schema(schema::SchemaArgs),
    Baseline(baseline::BaselineArgs),
    Proxy(proxy::ProxyArgs),
    Candidate(candidate::CandidateArgs),
    Doctor(doctor::DoctorArgs),
    Clean(clean::CleanArgs),
    Completions(pages::CompletionsArgs),
    Man(pages::ManArgs),
    #[command(hide = true)]
    Guard(guard::GuardArgs),
    #[command(hide = true)]
    Embedded(embedded::EmbeddedArgs),
    /// One host of candidates; started by `run`
    #[command(hide = true)]
    Host(host::HostArgs),
}

/// The commands that only the harness starts. Stop requests are for their parent, which ends them.
const INTERNAL: [&str; 3] = ["guard", "embedded", "host"];

/// Names from outside may be as long as files.
const ERROR_CHARS_MAX: usize = 4_000;

/// Executes the command line on a stack that is large enough.
#[must_use]
pub fn main() -> Exit {
    on_usual_stack(command_line).unwrap_or_else(|error| {
        inform!("error: the stack (ulimit -s) is too small, and there can be no other: {error}");
        Exit::Infrastructure
    })
}

/// Parses the command line, executes it, and reports errors. Its stack is not that of its caller, which may be small.
#[inline(never)]
fn command_line() -> Exit {
    tell_of_bugs();
    let ready = get_ready();
    let cli = match parsed(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
            return unparsed(readable(unquoted::with_tip(without_false_tips(error), &words)));
        }
    };
    log_if_asked();
    let command = cli.command.unwrap_or_else(|| Command::Run(Box::new(run::RunArgs::of_quick())));
    let done = ready.and_then(|()| dispatch(command));
    interrupt::unless_ending();
    match done {
        Ok(exit) => exit,
        Err(Failure { exit, error }) => {
            write_failure(&format!("error: {}", begun(&in_full(&error))));
            exit
        }
    }
}

/// Parses a command line, and refuses options without those that they need.
fn parsed(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let mut matches = command.try_get_matches_from_mut(words)?;
    needs::check(&mut command, &matches)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// The first step of every command: from then on a stop request ends it with exit code 130, at any time.
fn get_ready() -> Result<(), Failure> {
    check_descriptors().map_err(Failure::infrastructure)?;
    if std::env::args_os().nth(1).is_some_and(|word| INTERNAL.iter().any(|name| word == *name)) {
        return Ok(());
    }
    interrupt::listen().context("signals cannot be listened to").map_err(Failure::infrastructure)
}

/// An error's text, without its end if it is too long.
fn begun(told: &str) -> String {
    let shown: String = told.chars().take(ERROR_CHARS_MAX).collect();
    let more = if shown.len() < told.len() { "…" } else { "" };
    format!("{shown}{more}")
}

/// Prints an error of the command line's parser, or ends with the help or the version that was asked for.
fn unparsed(error: clap::Error) -> Exit {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    write_error_as_it_is(clean_prose(&begun(error.render().to_string().trim_end())));
    if error.kind() == ErrorKind::InvalidUtf8
        && let Some(word) = std::env::args_os().find(|word| word.to_str().is_none())
    {
        inform!("it is {:?}", shortened(&word.to_string_lossy()));
    }
    Exit::Usage
}

/// Cleans and shortens the given words that the error repeats.
fn readable(mut error: clap::Error) -> clap::Error {
    let mut words = Vec::new();
    for (kind, value) in error.context() {
        if let ContextValue::String(word) = value {
            words.push((kind, clean_line(&shortened(word))));
        }
    }
    for (kind, word) in words {
        error.insert(kind, ContextValue::String(word));
    }
    error
}

/// Removes the tip "To pass it as a value, use `--`", which helps only where a program's arguments follow.
fn without_false_tips(mut error: clap::Error) -> clap::Error {
    if !std::env::args_os().any(|word| word == "candidate") {
        error.remove(ContextKind::Suggested);
    }
    error
}

/// Adds to a panic's message that it is a bug, and what to do.
fn tell_of_bugs() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        inform!(
            "this is a bug of hustings {}: please report it with the lines above, and with what HUSTINGS_LOG=debug says; what was \
             recorded until now can be read (`hustings check`), and `hustings clean` removes what may be left behind",
            env!("CARGO_PKG_VERSION")
        );
    }));
}

/// An error with its causes, except those that its text already contains.
fn in_full(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| {
        if told.is_empty() {
            cause
        } else if told.contains(&cause) {
            told
        } else {
            format!("{told}: {cause}")
        }
    })
}

fn dispatch(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => block_on(run::run(*args, typed())),
        Command::Host(args) => {
            let in_order = block_on(async { host::run(args).await.map_err(Failure::infrastructure) })?;
            Ok(if in_order { Exit::Pass } else { Exit::Infrastructure })
        }
        Command::Simulate(args) => simulate::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Tune(args) => block_on(tune::run(*args, typed())),
        Command::Init(args) => init::run(&args),
        Command::List(args) => list::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Completions(args) => pages::completions(&args),
        Command::Man(args) => pages::man(&args),
        Command::Check(args) => report::check(&args),
        Command::Report(args) => report::report(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Gate(args) => gate::run(&args),
        Command::Baseline(args) => baseline::run(&args),
        Command::Proxy(args) => proxy::run(&args),
        Command::Embedded(args) => embedded::run(&args).map(|()| Exit::Pass).map_err(Failure::infrastructure),
        Command::Candidate(args) => block_on(candidate::run(args)),
        Command::Doctor(args) => doctor::run(&args),
        Command::Clean(args) => clean::run(&args),
        Command::Guard(args) => match guard::run(&args).map_err(Failure::infrastructure)? {},
    }
}

/// Developer diagnostics on standard error: `HUSTINGS_LOG=debug`, or a more detailed tracing filter. Hosts inherit it.
fn log_if_asked() {
    let Ok(asked) = std::env::var("HUSTINGS_LOG") else { return };
    match EnvFilter::try_new(&asked) {
        Ok(filter) => tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init(),
        Err(error) => inform!("warning: HUSTINGS_LOG is no filter, and nothing is logged: {error}"),
    }
}

/// Runs a future on this thread: children end with the thread that starts them, and this one lives longest.
fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::infrastructure)?;
    let done = LocalSet::new().block_on(&runtime, future);
    // Pending blocking calls must not delay the exit.
    runtime.shutdown_background();
    done
}

/// The command line as it was typed, for the record.
fn typed() -> String {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let quoted = words.iter().map(|word| {
        let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,%+".contains(c)) && !word.is_empty();
        if plain { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    });
    std::iter::once("hustings".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}
