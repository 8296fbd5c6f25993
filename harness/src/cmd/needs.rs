//! Options that have no effect without another one. The parser checks that itself (`requires`), but not if the other
//! one conflicts with an option that is given.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, Error};

/// Commands, with an option and the one that it needs. Complete where the needed one conflicts with anything.
const NEEDS: [(&str, &str, &str); 9] = [
    ("doctor", "long", "watch"),
    ("run", "candidate_set", "candidate"),
    ("run", "against_candidate", "candidate"),
    ("run", "against_candidate_set", "against_candidate"),
    ("run", "long", "chaos"),
    ("run", "verbose", "dry_run"),
    ("simulate", "all", "seeds"),
    ("simulate", "cell", "schedule"),
    ("simulate", "steps", "schedule"),
];

/// Refuses an option without the one that it needs.
///
/// # Errors
/// The two options.
pub(super) fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), Error> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(()) };
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let of_command = NEEDS.into_iter().filter(|(of, ..)| *of == name);
    let missing = of_command.map(|(_, option, needed)| [option, needed]);
    let mut missing = missing.filter(|[option, needed]| is_given(option) && !is_given(needed));
    let Some(missing) = missing.next() else { return Ok(()) };
    let Some(command) = command.find_subcommand_mut(name) else { return Ok(()) };
    let [option, needed] = missing.map(|id| typed(command, id));
    let why = format!(
        "{option} has no effect without {needed}, which the other options rule out: leave {option} out, or give \
         {needed} in their place"
    );
    Err(command.error(ErrorKind::MissingRequiredArgument, why))
}

/// The option of this name, as it is typed.
fn typed(command: &Command, id: &str) -> String {
    let long = command.get_arguments().find(|arg| arg.get_id().as_str() == id).and_then(Arg::get_long);
    format!("--{}", long.unwrap_or(id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::error::{ContextKind, ContextValue, ErrorKind};
    use clap::{Arg, CommandFactory as _, Error};

    use crate::cmd::{Cli, parsed};

    /// Nearly every option takes one of these.
    const VALUES: [&str; 8] = ["1", "x", "x=1", "5%", "1s", "0..3", "1-2", "127.0.0.1:1"];

    fn refused(command: &str, words: &[&[String]]) -> Option<Error> {
        let begin = ["hustings", command].map(str::to_owned);
        parsed(begin.into_iter().chain(words.concat())).err()
    }

    /// The arguments without which a command says only that they are missing; None: it has other ones.
    fn positional(command: &str) -> Option<Vec<String>> {
        (0..3).map(|count| vec!["x".to_owned(); count]).find(|words| refused(command, &[words.as_slice()]).is_none())
    }

    /// An option with a value that it takes.
    fn with_value(command: &str, positional: &[String], arg: &Arg) -> Option<Vec<String>> {
        let name = format!("--{}", arg.get_long()?);
        if !arg.get_action().takes_values() {
            return Some(vec![name]);
        }
        VALUES.into_iter().map(|value| vec![name.clone(), value.to_owned()]).find(|option| {
            let error = refused(command, &[positional, option.as_slice()]);
            error.is_none_or(|error| !matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue))
        })
    }

    /// The words of the arguments that are missing by the parser's own error.
    fn missing(error: &Error) -> Option<BTreeSet<String>> {
        let ends_name = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(all)) if error.kind() == ErrorKind::MissingRequiredArgument => {
                Some(all.join(" ").split(ends_name).map(str::to_owned).collect())
            }
            _ => None,
        }
    }

    #[test]
    fn an_option_that_needs_another_is_refused_without_it_whatever_else_is_given() {
        let (mut needing, mut ignored) = (BTreeSet::new(), Vec::new());
        let cli = Cli::command();
        for command in cli.get_subcommands() {
            let name = command.get_name();
            let Some(positional) = positional(name) else { continue };
            let of = |arg: &Arg| Some((format!("--{}", arg.get_long()?), with_value(name, &positional, arg)?));
            let options: Vec<(String, Vec<String>)> = command.get_arguments().filter_map(of).collect();
            for (option, words) in &options {
                let error = refused(name, &[positional.as_slice(), words.as_slice()]);
                let Some(needed) = error.and_then(|error| missing(&error)) else { continue };
                needing.insert(format!("{name} {option}"));
                for (other, more) in options.iter().filter(|(other, _)| other != option && !needed.contains(other)) {
                    if refused(name, &[positional.as_slice(), words.as_slice(), more.as_slice()]).is_none() {
                        ignored.push(format!("{name} {option} {other}, without {needed:?}"));
                    }
                }
            }
        }
        assert!(ignored.is_empty(), "{ignored:#?}");
        for known in ["simulate --steps", "simulate --all", "run --candidate-set", "run --delta", "gate --force"] {
            assert!(needing.contains(known), "{known} is not among {needing:#?}");
        }
    }

    #[test]
    fn an_error_names_the_option_and_what_it_needs() {
        for (line, option, needed) in [
            ("simulate quick --seeds 0..3 --steps 999", "--steps", "--schedule"),
            ("simulate quick --seed 3 --cell nonsense", "--cell", "--schedule"),
            ("simulate quick --repeat 2 --steps 999", "--steps", "--schedule"),
            ("simulate quick --all --out folder", "--all", "--seeds"),
            ("run --chaos --candidate x --against-candidate-set x=1", "--against-candidate-set", "--against-candidate"),
            ("run quick --candidate-set x=1 --against-exe x", "--candidate-set", "--candidate,"),
            ("run quick --against-candidate x --against-exe x", "--against-candidate", "--candidate,"),
            ("run quick -v --json", "--verbose", "--dry-run"),
            ("run quick --for 2h --repeat 2", "--for", "--chaos"),
            ("doctor --for 3s --zookeeper-home x", "--for", "--watch"),
        ] {
            let error = parsed(["hustings"].into_iter().chain(line.split(' '))).expect_err(line);
            let told = error.to_string();
            assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument, "{line}: {told}");
            assert!(told.contains(&format!("{option} has no effect without {needed}")), "{line}: {told}");
        }
    }

    #[test]
    fn options_with_what_they_need_are_taken() {
        for line in [
            "hustings simulate quick --schedule 1 --cell x --steps 0,1",
            "hustings simulate quick --seeds 0..3 --all",
            "hustings run quick --candidate x --candidate-set x=1 --against-candidate x --against-candidate-set x=1",
            "hustings run quick --chaos --for 2h",
            "hustings run quick --dry-run -v",
            "hustings run quick",
            "hustings",
        ] {
            assert!(parsed(line.split(' ')).is_ok(), "{line}");
        }
    }
}
