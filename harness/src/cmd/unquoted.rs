//! A command without quotes: of `--candidate python3 my.py` only `python3` is the command, and `my.py` a stray word.

use anyhow::anyhow;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use hustings_record::words::as_typed;
use hustings_workloads::scenario::ShippedScenario;

use crate::cmd::in_full;
use crate::console::exit::Failure;

/// Options whose value is a command.
const COMMAND_OPTIONS: [&str; 2] = ["--candidate", "--against-candidate"];

/// Adds to an error about a stray word how to quote the command that it follows, if there is one.
pub(super) fn with_tip(mut error: clap::Error, words: &[String]) -> clap::Error {
    let tip = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(stray)) if error.kind() == ErrorKind::UnknownArgument => remedy(stray, words),
        Some(_) | None => None,
    };
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Adds to an error about a scenario that its name may be a stray word, if there is a command and nothing shows that it
/// is a scenario.
pub(super) fn with_hint(failure: Failure, scenario: &str, has_command: bool) -> Failure {
    let is_scenario = ShippedScenario::find(scenario).is_some() || scenario.ends_with(".toml");
    if is_scenario || !has_command {
        return failure;
    }
    let (why, word) = (in_full(&failure.error), as_typed(scenario));
    let hint = format!("if {word} is an argument of your program, quote the command: --candidate 'python3 my.py'");
    Failure { error: anyhow!("{why}; {hint}"), ..failure }
}

fn remedy(stray: &str, words: &[String]) -> Option<String> {
    // Of letters behind one dash, the error names the first.
    let is_stray = |word: &str| word == stray || (stray.starts_with('-') && word.starts_with(stray));
    (0..words.len()).find_map(|at| {
        let (option, first, after) = command_at(words, at)?;
        let own: Vec<&str> = after.iter().map(String::as_str).take_while(|word| !word.starts_with("--")).collect();
        let count = match own.iter().position(|word| is_stray(word))? {
            0 => own.len(),
            // The word before it was taken for the scenario.
            before => before,
        };
        let line = shlex::try_join(std::iter::once(first).chain(own[..count].iter().copied())).ok()?;
        Some(format!("quote a command that has arguments: {option} {}", shlex::try_quote(&line).ok()?))
    })
}

/// The option at this place, the first word of its command, and the words after that.
fn command_at(words: &[String], at: usize) -> Option<(&'static str, &str, &[String])> {
    let word = words.get(at)?;
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word.as_str(), None),
    };
    let option = COMMAND_OPTIONS.into_iter().find(|option| *option == name)?;
    match value {
        Some(first) => Some((option, first, words.get(at + 1..)?)),
        None => Some((option, words.get(at + 1)?, words.get(at + 2..)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::parsed;

    fn refused(line: &str) -> String {
        let words: Vec<String> = format!("hustings {line}").split(' ').map(str::to_owned).collect();
        with_tip(parsed(&words).expect_err(line), &words).to_string()
    }

    #[test]
    fn a_command_without_quotes_is_refused_with_the_quotes_that_it_lacks() {
        for (line, quoted) in [
            ("run quick --candidate python3 my.py", "--candidate 'python3 my.py'"),
            ("run quick --candidate=python3 my.py --seed 7", "--candidate 'python3 my.py'"),
            ("run quick --candidate python3 -uB my.py --seed 7", "--candidate 'python3 -uB my.py'"),
            ("run quick --candidate ./new --against-candidate python3 old.py", "--against-candidate 'python3 old.py'"),
            ("run --candidate python3 my.py more", "--candidate 'python3 my.py'"),
        ] {
            let error = refused(line);
            assert!(error.contains(&format!("tip: quote a command that has arguments: {quoted}\n")), "{line}: {error}");
        }
    }

    #[test]
    fn a_stray_word_elsewhere_is_no_part_of_a_command() {
        for line in ["run quick more --candidate ./mine", "run quick --candidate ./mine --sede 7", "run quick more"] {
            let error = refused(line);
            assert!(!error.contains("quote"), "{line}: {error}");
        }
    }

    #[test]
    fn an_argument_that_is_taken_for_the_scenario_is_refused_with_the_remedy() {
        let hinted = |scenario, has_command| {
            let error = with_hint(Failure::usage(anyhow!("no such file")), scenario, has_command).error;
            in_full(&error)
        };
        let hint = "if my.py is an argument of your program, quote the command: --candidate 'python3 my.py'";
        assert_eq!(hinted("my.py", true), format!("no such file; {hint}"));
        for (scenario, has_command) in [("my.py", false), ("quick", true), ("mine.toml", true)] {
            assert_eq!(hinted(scenario, has_command), "no such file");
        }
    }
}
