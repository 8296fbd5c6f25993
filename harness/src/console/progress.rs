//! Progress for people: a bar on a terminal, otherwise one line per phase. No code reads it back.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hustings_reports::render::clean_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::console::output::inform;

/// Interval at which a long phase is reported again if no bar can be drawn.
const TOLD_AGAIN: Duration = Duration::from_secs(15);

/// Shows progress. Clones share the same display.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    /// If lines replace the bar: the last phase reported, and when.
    plain: Option<Arc<Mutex<(String, Instant)>>>,
}

impl Progress {
    /// For this many `units` ("cells", "seeds"). Without a screen it prints lines, and if `quiet` nothing.
    #[must_use]
    pub fn new(total: u64, units: &str, screen: bool, quiet: bool) -> Self {
        Self::with(Some(total), &format!("[{{bar:24}}] {{pos}}/{{len}} {units}"), screen, quiet)
    }

    /// For an unknown total.
    #[must_use]
    pub fn endless(screen: bool, quiet: bool) -> Self {
        Self::with(None, "{spinner}", screen, quiet)
    }

    fn with(total: Option<u64>, shown: &str, screen: bool, quiet: bool) -> Self {
        let target = if screen && !quiet { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(total, target);
        let style = ProgressStyle::with_template(&format!("{{elapsed_precise}} {shown}  {{wide_msg}}"));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(200));
        let plain = (!screen && !quiet).then(|| Arc::new(Mutex::new((String::new(), Instant::now()))));
        Self { bar, plain }
    }

    /// Prints a separate line.
    pub fn line(&self, text: &str) {
        if self.plain.is_some() {
            inform!("{text}");
        } else {
            self.bar.println(clean_line(text));
        }
    }

    /// Shows the current activity, and overwrites the previous one. Without a terminal, it reports only new phases, and
    /// repeats a phase that takes long.
    pub fn now(&self, text: &str) {
        self.bar.set_message(clean_line(text));
        let Some(Ok(mut last)) = self.plain.as_ref().map(|plain| plain.lock()) else { return };
        let phase: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
        let (told, at) = &mut *last;
        if *told != phase || at.elapsed() > TOLD_AGAIN {
            (*told, *at) = (phase, Instant::now());
            inform!("  {text}");
        }
    }

    /// Sets the number of completed units.
    pub fn done(&self, count: u64) {
        self.bar.set_position(count);
    }

    /// One cell is complete.
    pub fn cell_done(&self, text: &str) {
        self.line(text);
        self.bar.inc(1);
    }

    /// Adds this many units to the total.
    pub fn more(&self, count: u64) {
        self.bar.inc_length(count);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
