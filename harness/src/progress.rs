//! Progress for people: a bar on a terminal, plain lines elsewhere. Nothing is ever read back from here.

use std::io::Write as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows how far a run is. Clones show the same.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    plain: bool,
}

impl Progress {
    /// For `cells` cells. Without a terminal on standard error, or when `quiet`, no bar is drawn.
    #[must_use]
    pub fn new(cells: u64, terminal: bool, quiet: bool) -> Self {
        let target = if terminal && !quiet { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(cells), target);
        let style = ProgressStyle::with_template("{elapsed_precise} [{bar:24}] {pos}/{len} cells  {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, plain: !terminal && !quiet }
    }

    /// Something that is worth a line of its own.
    pub fn line(&self, text: &str) {
        if self.plain {
            // A run must not end because nobody reads along any more.
            let _ = writeln!(std::io::stderr(), "{text}");
        } else {
            self.bar.println(text);
        }
    }

    /// What is going on now; overwritten by the next.
    pub fn now(&self, text: &str) {
        self.bar.set_message(text.to_owned());
    }

    /// A cell is done.
    pub fn cell_done(&self, text: &str) {
        self.line(text);
        self.bar.inc(1);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
