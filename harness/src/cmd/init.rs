//! `hustings init`: writes a scenario template with every key explained.

use std::fs;
use std::io::Write as _;

use hustings_workloads::scenario::TEMPLATE;

use crate::cmd::files::{Output, create_new, refuse_records};
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, put};

/// Write a scenario of your own to begin with, with every key explained
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings init my.toml && hustings run my.toml --dry-run
  hustings init - | less"))]
pub(super) struct InitArgs {
    /// The file; it must not be there yet. `-` is standard output
    #[arg(default_value = "my.toml")]
    file: Output,
}

pub(super) fn run(args: &InitArgs) -> Result<Exit, Failure> {
    let Output::File(path) = &args.file else {
        put(TEMPLATE)?;
        return Ok(Exit::Pass);
    };
    refuse_records("FILE", path)?;
    create_new(path)?
        .write_all(TEMPLATE.as_bytes())
        // A partial file could be mistaken for a scenario.
        .inspect_err(|_| _ = fs::remove_file(path))
        .map_err(|cause| args.file.unwritten(cause))?;
    let shown = path.display().to_string();
    let word = shlex::try_quote(&shown).map_or_else(|_| shown.clone(), |word| word.into_owned());
    inform!("{shown}: change what you like, then `hustings run {word} --dry-run`");
    Ok(Exit::Pass)
}
