//! `hustings schema`: the guaranteed format of our files, for programs that read them.

use hustings_reports::schema::{of_events, of_summary};

use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::put;

/// Print the JSON schema of `summary.json`, or of a record's events
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings schema > summary.schema.json
  hustings schema --events | jq '.oneOf[].properties.e.const'      every kind of event that there is"))]
pub(super) struct SchemaArgs {
    /// That of each line of the segments in `events/`
    #[arg(long)]
    events: bool,
}

pub(super) fn run(args: &SchemaArgs) -> Result<Exit, Failure> {
    put(&if args.events { of_events() } else { of_summary() })?;
    Ok(Exit::Pass)
}
