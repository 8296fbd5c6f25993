//! Compares two variants of an operation by measuring them in turn, so that other load affects both equally.

use std::time::Duration;

pub(crate) struct PathComparison {
    what: &'static str,
    ways: [&'static str; 2],
    direct: Vec<Duration>,
    linked: Vec<Duration>,
}

impl PathComparison {
    /// `ways`: the names of the two variants.
    pub(crate) fn new(what: &'static str, ways: [&'static str; 2]) -> Self {
        Self { what, ways, direct: Vec::new(), linked: Vec::new() }
    }

    pub(crate) fn push(&mut self, direct: Duration, linked: Duration) {
        self.direct.push(direct);
        self.linked.push(linked);
    }

    /// Prints both medians and their ratio.
    pub(crate) fn tell(mut self) {
        let (direct, linked) = (middle(&mut self.direct), middle(&mut self.linked));
        let ratio = linked.as_secs_f64() / direct.as_secs_f64();
        let pairs = self.direct.len();
        let [one, other] = self.ways;
        println!("{}, {pairs} in turn: {one} p50 {direct:?}, {other} {linked:?}, ratio {ratio:.2}\n", self.what);
    }
}

fn middle(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}
