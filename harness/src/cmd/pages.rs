//! `hustings completions` and `hustings man`: shell completions and manual pages, from the command line definition.

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::put;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings completions bash > ~/.local/share/bash-completion/completions/hustings
  hustings completions zsh > ~/.zfunc/_hustings
  hustings completions fish > ~/.config/fish/completions/hustings.fish"))]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print the manual page, of the program or of one of its commands
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings man | man -l -
  hustings man run > hustings-run.1"))]
pub(super) struct ManArgs {
    /// The command; none: the program
    command: Option<String>,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hustings", &mut script);
    put(String::from_utf8_lossy(&script))?;
    Ok(Exit::Pass)
}

pub(super) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command.build();
    let known: Vec<String> =
        command.get_subcommands().filter(|one| !one.is_hide_set()).map(|one| one.get_name().to_owned()).collect();
    let page = match &args.command {
        None => command,
        Some(name) => {
            let one = command.find_subcommand(name).filter(|one| !one.is_hide_set()).cloned();
            one.ok_or_else(|| {
                Failure::usage(anyhow::anyhow!("there is no command {name:?}; there are {}", known.join(", ")))
            })?
        }
    };
    let mut text = Vec::new();
    let made = clap_mangen::Man::new(page).render(&mut text).context("the page cannot be made");
    made.map_err(Failure::infrastructure)?;
    put(String::from_utf8_lossy(&text))?;
    Ok(Exit::Pass)
}
