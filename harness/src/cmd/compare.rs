//! `hustings compare`: is one run worse than another, better, the same, or is the evidence insufficient?

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use hustings_record::EnsembleKind;
use hustings_reports::analysis::MutationTesting;
use hustings_reports::compare::{ComparisonReport, ComparisonRules, compare, names, noise, overall, sides_of};
use hustings_reports::render;
use hustings_reports::summary::Summary;

use crate::cmd::only::NameFilter;
use crate::cmd::report::{damage, read_summary, width};
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, is_coloured, say_json, write_error_as_it_is};

/// Compare two runs: is the new one worse, better, the same, or does the evidence not suffice to tell?
///
/// What is compared is the injection, never the handover: all faults that were planned for one moment share their circumstances.
/// Three injections a side never suffice, four may; with many cells each needs more.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings compare runs/before runs/after
  hustings compare runs/before runs/after --only '*-crash' --delta 10%
  hustings compare runs/20260102-030405-gate      the two sides of a run with --against
  hustings compare runs/one runs/again --noise    two runs of one build: how far apart are they on this machine?"))]
pub(super) struct CompareArgs {
    /// Folder of the record that the other is compared with, or of one with two sides
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// Folder of the other record
    #[arg(value_name = "NEW")]
    new: Option<PathBuf>,
    /// Compare only the cells of this name; `*` stands for anything; may be given many times
    #[arg(long, value_name = "CELL")]
    only: Vec<String>,
    /// Treat a difference of at most this share of the median (such as `5%`) as the same [default: 15%, or half a round trip to
    /// the servers if that is more]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    delta: Option<f64>,
    /// How likely any of the comparisons is to be called worse or better by chance alone, as `5%`
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    alpha: f64,
    /// The two are runs of one build: print how far apart they are, and which --delta suits this machine
    #[arg(long, requires = "new")]
    noise: bool,
    /// Compare runs that are not alike, or cells that only one of them has; the result says so
    #[arg(long)]
    force: bool,
    /// Leave cells out whose events are damaged or missing, and say which
    #[arg(long)]
    salvage: bool,
    /// Print the comparison as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Parses a share such as `5%` or `0.05`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    let share = share.ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "a share between 0 and 100 %, as in `5%` or `0.05`".to_owned())
}

/// Compares two records, or the two sides of one.
pub(super) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let rules = ComparisonRules { alpha: args.alpha, ..rules(args.delta) };
    let only = NameFilter::new(&args.only);
    let wanted = |name: &str| only.wants(name);
    let damage = damage(args.salvage);
    let base = read_summary(&args.base, damage, MutationTesting::Nothing)?;
    let new = args.new.as_ref().map(|new| read_summary(new, damage, MutationTesting::Nothing)).transpose()?;
    if let (Some(path), Some(new)) = (&args.new, &new) {
        refuse_one((&args.base, &base), (path, new))?;
    }
    only.check(&names([Some(&base), new.as_ref()].into_iter().flatten())).map_err(Failure::usage)?;
    let compared = match &new {
        Some(new) => compare(&base, new, rules, wanted, args.force),
        None => sides_of(&base, rules, wanted),
    };
    let comparing = compared.map_err(Failure::usage)?;
    if !args.noise {
        return tell(&comparing, args.json);
    }
    let found = noise(&comparing).ok_or_else(|| {
        let why = "no injection of the two cost a lead, so that nothing tells how far apart they lie";
        Failure { exit: Exit::Inconclusive, error: anyhow!(why) }
    })?;
    write_error_as_it_is(render::noise(&found));
    if args.json {
        say_json(serde_json::to_string_pretty(&found).map_err(Failure::infrastructure)?)?;
    }
    Ok(Exit::Pass)
}

/// The tolerance rules: as requested, else the default.
pub(super) fn rules(delta: Option<f64>) -> ComparisonRules {
    delta.map_or_else(ComparisonRules::default, ComparisonRules::within)
}

/// Comparing a record with itself says nothing. Simulations have no unique names: the same seed is the same run.
pub(super) fn refuse_one((base, of_base): (&Path, &Summary), (new, of_new): (&Path, &Summary)) -> Result<(), Failure> {
    let simulated = of_base.manifest.ensemble_kind == EnsembleKind::Simulated;
    let one_place = base.canonicalize().ok().is_some_and(|base| new.canonicalize().is_ok_and(|new| new == base));
    if one_place || !simulated && of_base.manifest.run == of_new.manifest.run {
        return Err(Failure::usage(anyhow!("{} and {} are one record", base.display(), new.display())));
    }
    Ok(())
}

/// Compares the two sides of a run that has just ended. The exit code is that of the run as a whole.
pub(super) fn of_run(summary: &Summary, rules: ComparisonRules, json: bool) -> Result<Exit, Failure> {
    let comparing = sides_of(summary, rules, |_| true).map_err(Failure::usage)?;
    let compared = tell(&comparing, json)?;
    // It uses only the repetitions that are not left out, as the comparison does.
    let overall = overall(summary, Some(&comparing));
    if Exit::from(overall) != compared {
        inform!("the run as a whole: {overall}; the summary above says why");
    } else if compared == Exit::Inconclusive {
        inform!(
            "`run` asks whether the two sides are the same; `hustings gate {}` asks whether the new side is no worse",
            summary.manifest.folder
        );
    }
    Ok(overall.into())
}

fn tell(comparing: &ComparisonReport, json: bool) -> Result<Exit, Failure> {
    write_error_as_it_is(render::comparison(comparing, width(), is_coloured()));
    if json {
        say_json(serde_json::to_string_pretty(comparing).map_err(Failure::infrastructure)?)?;
    }
    Ok(comparing.answer.verdict().into())
}
