//! `hustings init`: writes a scenario template with every key explained.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use hustings_workloads::scenario::TEMPLATE;

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
    file: PathBuf,
}

pub(super) fn run(args: &InitArgs) -> Result<Exit, Failure> {
    if args.file.as_os_str() == "-" {
        put(TEMPLATE)?;
        return Ok(Exit::Pass);
    }
    let path = args.file.display();
    let shown = path.to_string();
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&args.file);
    let made = made.with_context(|| format!("{path} cannot be made; choose another name")).map_err(Failure::usage)?;
    (&made)
        .write_all(TEMPLATE.as_bytes())
        // A partial file could be mistaken for a scenario.
        .inspect_err(|_| _ = std::fs::remove_file(&args.file))
        .with_context(|| path.to_string())
        .map_err(Failure::infrastructure)?;
    let word = shlex::try_quote(&shown).map_or_else(|_| shown.clone(), |word| word.into_owned());
    inform!("{path}: change what you like, then `hustings run {word} --dry-run`");
    Ok(Exit::Pass)
}
