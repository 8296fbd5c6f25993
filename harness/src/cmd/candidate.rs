//! `hustings candidate`: checks external programs, and runs this program as one.

use anyhow::{anyhow, bail};
use hustings_record::StepDown;
use hustings_reports::verdict::Verdict;
use hustings_workloads::adapters::PROTOCOL_DOCUMENT;
use hustings_workloads::recipes::RecipeKind;
use hustings_workloads::scenario::{
    self, RESOURCE_PLACEHOLDER, says_where_to_write, unknown_placeholder, uses_placeholders,
};
use serde_json::Value;

use crate::cmd::programs::is_there;
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, put, say_json};
use crate::foreign::kit::{CheckOutcome, Command, ExaminationReport, KitFinding, Need, examine, run_of};
use crate::foreign::own::{Flaw, OwnRecipe, stand};
use crate::process::interrupt::Interrupt;
use crate::process::working_directory;

/// Check an external program, or run as one
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings candidate check -- python3 my_candidate.py        is it fit to take part, and what can be told of it?
  hustings candidate check --json -- java Candidate.java
  hustings candidate check --config socket=netty -- java Candidate.java
                                                             with parameters of its own
  hustings candidate check -- hustings candidate stand lock-race

`hustings candidate protocol` prints the protocol. workloads/adapters/hustings_candidate.py speaks it for a Python program, and
the files of that name beside it for Java, C and Go. A program that does not speak it is not checked but run, and judged by its
writes:
  hustings run split-brain --candidate './my {connect} {group} {resource}' --set election.groups=1"))]
pub(super) struct CandidateArgs {
    #[command(subcommand)]
    action: CandidateAction,
}

#[derive(Debug, clap::Subcommand)]
enum CandidateAction {
    /// Take a program through everything that a run asks of one, on embedded servers
    Check {
        /// Print what was found as JSON on standard output
        #[arg(long)]
        json: bool,
        /// A parameter of the program's own, as a scenario's `config` has it; may be given several times
        #[arg(long, value_name = "KEY=VALUE", value_parser = parameter)]
        config: Vec<(String, Value)>,
        /// The program and its arguments, run as they are given, by no shell. It speaks the protocol: {connect}, {group},
        /// {resource} and {timeout_ms} are for programs that do not, and for `hustings run --candidate`
        #[arg(last = true, required = true, value_name = "CMD")]
        command: Vec<String>,
    },
    /// Print the protocol by which a program takes part, for its author
    Protocol,
    /// Run a built-in recipe as an external program, over the protocol
    Stand {
        /// The recipe, as `hustings list` has it
        #[arg(value_name = "RECIPE")]
        recipe: RecipeKind,
        /// When a leader that lost its connection stops to believe; as it is told where this is left out
        #[arg(long)]
        step_down: Option<StepDown>,
        /// How often `poll-race` tries, in milliseconds
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
        poll_interval_ms: u64,
        /// What to do wrong on purpose: to see it caught
        #[arg(long, hide = true)]
        flaw: Option<Flaw>,
    },
}

pub(super) async fn run(args: CandidateArgs) -> Result<Exit, Failure> {
    match args.action {
        CandidateAction::Check { json, config, command } => {
            check(Command { line: command, config: config.into_iter().collect() }, json).await
        }
        CandidateAction::Protocol => {
            put(PROTOCOL_DOCUMENT)?;
            Ok(Exit::Pass)
        }
        CandidateAction::Stand { recipe, step_down, poll_interval_ms, flaw } => {
            stand(OwnRecipe { recipe, step_down, poll_interval_ms, flaw }).await.map_err(Failure::usage)?;
            Ok(Exit::Pass)
        }
    }
}

/// The value is parsed like that of `run --set`.
fn parameter(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("it is KEY=VALUE")?;
    let value = serde_json::to_value(scenario::value(value)).map_err(|error| error.to_string())?;
    Ok((key.to_owned(), value))
}

/// The command with `{resource}`, which a run of such a program needs.
fn complete(line: &[String]) -> Vec<String> {
    let missing = (!says_where_to_write(line)).then(|| RESOURCE_PLACEHOLDER.to_owned());
    line.iter().cloned().chain(missing).collect()
}

/// Refuses a program that does not speak the protocol: nearly all that is checked is asked, or answered, by it.
fn speaks(line: &[String]) -> anyhow::Result<()> {
    if let Some(problem) = unknown_placeholder(line) {
        bail!(problem);
    }
    if uses_placeholders(line) {
        bail!(
            "{{connect}}, {{group}}, {{resource}} and {{timeout_ms}} are for programs that do not speak the protocol, and a check needs \
             it; run the program, with {{resource}} for its writes: {} --set election.groups=1",
            run_of(&complete(line))
        );
    }
    Ok(())
}

async fn check(command: Command, json: bool) -> Result<Exit, Failure> {
    speaks(&command.line).and_then(|()| is_there(&command.line)).map_err(Failure::usage)?;
    working_directory::required().map_err(Failure::infrastructure)?;
    let exe = std::env::current_exe().map_err(Failure::infrastructure)?;
    let interrupt = Interrupt::take_over();
    // Dropping the future ends the programs and removes its folder.
    let examined = tokio::select! {
        examined = examine(&exe, command, |what| inform!("… {what}")) => examined.map_err(Failure::infrastructure)?,
        () = interrupt.first() => return Ok(Exit::Interrupted),
    };
    tell(&examined);
    if json {
        say_json(serde_json::to_string_pretty(&examined).map_err(Failure::infrastructure)?)?;
    }
    if let Some(why) = examined.trouble {
        return Err(Failure::infrastructure(anyhow!(why)));
    }
    Ok(if examined.passes() { Verdict::Pass } else { Verdict::Fail }.into())
}

fn tell(examined: &ExaminationReport) {
    for (need, head) in [(Need::Required, "required"), (Need::Optional, "optional"), (Need::Advised, "advised")] {
        inform!("{head}:");
        examined.of(need).for_each(line);
    }
    let grades: Vec<&str> = examined.evidence.iter().map(|grade| grade.name()).collect();
    let evidence = if grades.is_empty() { "none".to_owned() } else { grades.join(", ") };
    inform!("evidence that verdicts on it can have: {evidence}");
    if !examined.last_words.is_empty() {
        inform!("the last lines of its log:");
        examined.last_words.iter().for_each(|line| inform!("  {}", hustings_reports::render::clean_line(line)));
    }
    if examined.passes() {
        inform!("not tested here:");
        examined.not_tested.iter().for_each(|what| inform!("  – {what}"));
        inform!("next: {}", hustings_reports::render::clean_line(&examined.next));
    }
    let sign = if examined.passes() {
        "✓ it can take part"
    } else if examined.trouble.is_some() {
        "– no verdict: the examination itself failed; above is what it found until then"
    } else {
        "✗ it cannot take part as it is"
    };
    inform!("{sign}");
}

fn line(outcome: &CheckOutcome) {
    let sign = match outcome.result {
        KitFinding::Passed => "✓",
        KitFinding::Failed => "✗",
        KitFinding::Untested => "–",
    };
    let text = hustings_reports::render::clean_line(&outcome.text);
    inform!("  {sign} {:<38} {:<8} {text}", outcome.name, outcome.grade.name());
}
