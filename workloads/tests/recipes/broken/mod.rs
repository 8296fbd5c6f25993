//! The broken recipes do what they are there to show, and the recipe that each derives from does not, whatever is done to both.

mod beliefs;
mod others;
mod znodes;

use hustings_workloads::booth::Token;
use hustings_workloads::recipes::{RecipeKind, StepDown, cases};

use crate::support::{Bench, Entry, election};

/// Does the same to a broken recipe and to the sound one of its case.
fn both(name: &str, play: impl Fn(RecipeKind) -> Bench) -> (Bench, Bench) {
    let case = cases().iter().find(|case| case.name == name).unwrap();
    (play(case.recipe), play(case.sound.unwrap()))
}

/// A bench on which `n` candidates have stood for a while, and the first leads.
fn bench(n: usize, recipe: RecipeKind) -> Bench {
    let mut bench = Bench::with(n, &election(recipe, StepDown::OnDisconnect));
    bench.advance_ms(300);
    assert_eq!(bench.believers(), [0], "{recipe}");
    bench
}

fn come_back(bench: &mut Bench, index: usize, recipe: RecipeKind) {
    bench.reenter(index, &election(recipe, StepDown::OnDisconnect));
    bench.run();
}

/// The connection goes and is back at once.
fn flap(bench: &mut Bench, index: usize) {
    let id = bench.session(index);
    bench.ensemble.disconnect(id);
    bench.run();
    bench.ensemble.reconnect(id);
    bench.run();
}

fn owned(bench: &Bench, index: usize) -> Vec<String> {
    bench.ensemble.owned_by(bench.session(index))
}

fn tokens(bench: &Bench, index: usize) -> Vec<Token> {
    let token = |entry: &Entry| if let Entry::Grant { token, .. } = entry { Some(*token) } else { None };
    bench.journal(index).iter().filter_map(token).collect()
}
