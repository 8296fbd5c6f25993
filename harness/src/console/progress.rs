//! Progress for people: a bar on a terminal, a line a phase elsewhere. Nothing is ever read back from here.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hustings_reports::render::clean_prose;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::console::output::inform;

/// Where nothing can be drawn over, a phase that takes long is told of again after this.
const TOLD_AGAIN: Duration = Duration::from_secs(15);

/// Shows how far something is. Clones show the same.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    /// Lines instead of a bar: what was told last, and when.
    plain: Option<Arc<Mutex<(String, Instant)>>>,
}

impl Progress {
    /// For so many `units` ("cells", "seeds"). Where nothing can be drawn over there are lines, when `quiet` there is nothing.
    #[must_use]
    pub fn new(total: u64, units: &str, screen: bool, quiet: bool) -> Self {
        Self::with(Some(total), &format!("[{{bar:24}}] {{pos}}/{{len}} {units}"), screen, quiet)
    }

    /// For nobody knows how much.
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

    /// Something that is worth a line of its own.
    pub fn line(&self, text: &str) {
        if self.plain.is_some() {
            inform!("{text}");
        } else {
            self.bar.println(clean_prose(text));
        }
    }

    /// What is going on now; overwritten by the next. Elsewhere than on a terminal only what begins is told, and told again
    /// when it takes long.
    pub fn now(&self, text: &str) {
        self.bar.set_message(clean_prose(text));
        let Some(Ok(mut last)) = self.plain.as_ref().map(|plain| plain.lock()) else { return };
        let phase: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
        let (told, at) = &mut *last;
        if *told != phase || at.elapsed() > TOLD_AGAIN {
            (*told, *at) = (phase, Instant::now());
            inform!("  {text}");
        }
    }

    /// So many are done.
    pub fn done(&self, count: u64) {
        self.bar.set_position(count);
    }

    /// A cell is done.
    pub fn cell_done(&self, text: &str) {
        self.line(text);
        self.bar.inc(1);
    }

    /// There are so many more to do.
    pub fn more(&self, count: u64) {
        self.bar.inc_length(count);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
