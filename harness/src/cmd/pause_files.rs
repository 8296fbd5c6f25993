//! The files of `tune --pauses`: no pause may stand in two of them. A part that is given twice makes the logs longer
//! than they are, and their claims stronger.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use anyhow::bail;
use hustings_record::Nanos;
use hustings_record::words::plural;
use hustings_reports::tune::pauses::PauseLog;

/// So many pauses of two files, and such a share of the shorter one, may be the same by chance.
const SHARED_MAX: usize = 1;
const SHARED_SHARE_MAX: f64 = 0.01;
/// Lists of milliseconds tell no times. Two of them may begin with so many equal pauses by chance.
const EQUAL_MAX: usize = 8;

/// What is known of the files that were read.
#[derive(Default)]
pub(super) struct PauseFiles<'a> {
    read: Vec<PauseFile<'a>>,
}

struct PauseFile<'a> {
    path: &'a Path,
    is_empty: bool,
    /// A digest of the pauses and their times since the beginning of the log.
    content: u64,
    /// Of the pauses with times, sorted.
    marks: Vec<u64>,
    /// The lengths in the order of the log, where it tells no times.
    untimed: Vec<Nanos>,
}

impl<'a> PauseFiles<'a> {
    /// Notes the log of another file. Refuses one that holds pauses of an earlier file, or its own twice.
    pub(super) fn add(&mut self, path: &'a Path, log: &mut PauseLog) -> anyhow::Result<()> {
        let (content, marks) = (content_of(log), std::mem::take(&mut log.marks));
        let lengths = log.pauses.iter().map(|pause| pause.lasted);
        let untimed = if marks.is_empty() { lengths.collect() } else { Vec::new() };
        let file = PauseFile { path, is_empty: log.pauses.is_empty(), content, marks, untimed };
        let shown = path.display();
        let twice = file.marks.windows(2).filter(|pair| pair[0] == pair[1]).count();
        if is_no_chance(twice, file.marks.len()) {
            let pauses = plural(twice as u64, "pause", "pauses");
            bail!("--pauses: {shown} holds {pauses} twice, with the same times; give each part of a log once");
        }
        for other in &self.read {
            let (earlier, shared) = (other.path.display(), shared(&file.marks, &other.marks));
            if !file.is_empty && file.content == other.content {
                bail!("--pauses: {shown} holds the same pauses as {earlier}; name each log once");
            }
            if is_no_chance(shared, file.marks.len().min(other.marks.len())) {
                let pauses = plural(shared as u64, "pause", "pauses");
                bail!(
                    "--pauses: {shown} holds {pauses} that {earlier} holds too, with the same times; give each part \
                     of a log once"
                );
            }
            if begins_equally(&file, other) {
                let (whole, part) =
                    if file.untimed.len() > other.untimed.len() { (shown, earlier) } else { (earlier, shown) };
                bail!("--pauses: {whole} begins with all pauses of {part}; leave {part} out");
            }
        }
        self.read.push(file);
        Ok(())
    }
}

fn content_of(log: &PauseLog) -> u64 {
    let mut hasher = DefaultHasher::new();
    log.pauses.iter().for_each(|pause| (pause.ended, pause.lasted).hash(&mut hasher));
    log.coverage.span.hash(&mut hasher);
    hasher.finish()
}

/// Whether so many equal pauses, of `all` that could be, are none by chance.
fn is_no_chance(equal: usize, all: usize) -> bool {
    equal > 0 && (equal == all || equal > SHARED_MAX && equal as f64 > SHARED_SHARE_MAX * all as f64)
}

/// How many marks are in both of these sorted lists.
fn shared(one: &[u64], other: &[u64]) -> usize {
    one.iter().filter(|mark| other.binary_search(mark).is_ok()).count()
}

/// Whether one of them holds all pauses of the other, and goes on.
fn begins_equally(one: &PauseFile<'_>, other: &PauseFile<'_>) -> bool {
    let both = one.untimed.len().min(other.untimed.len());
    both > EQUAL_MAX && one.untimed[..both] == other.untimed[..both]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hustings_reports::tune::pauses::{PauseLog, read};

    use super::PauseFiles;

    fn safepoints(seconds: impl IntoIterator<Item = u64>) -> String {
        let parts = "Reaching safepoint: 1 ns, Cleanup: 1 ns, At safepoint: 1 ns";
        let line = |at: u64| format!("[{at}.000s][safepoint] Safepoint \"x\", {parts}, Total: {} ns\n", 5_000_000 + at);
        seconds.into_iter().map(line).collect()
    }

    fn milliseconds(all: impl IntoIterator<Item = u64>) -> String {
        all.into_iter().map(|ms| format!("{ms}\n")).collect()
    }

    fn read_text(text: &str) -> PauseLog {
        read(text.as_bytes()).expect("a log")
    }

    /// The refusal of the second of two files, if it is refused.
    fn refusal(one: &str, other: &str) -> Option<String> {
        let mut files = PauseFiles::default();
        files.add(Path::new("a.log"), &mut read_text(one)).expect("the first file");
        files.add(Path::new("b.log"), &mut read_text(other)).err().map(|error| error.to_string())
    }

    #[test]
    fn a_log_that_is_the_beginning_of_another_counts_once() {
        let (whole, begun) = (safepoints(0..200), safepoints(0..190));
        for told in [refusal(&whole, &begun), refusal(&begun, &whole)] {
            let told = told.expect("refused");
            assert!(told.contains("b.log holds 190 pauses that a.log holds too, with the same times"), "{told}");
        }
        let told = refusal(&milliseconds(1..=30), &milliseconds(1..=20)).expect("refused");
        assert!(told.contains("a.log begins with all pauses of b.log; leave b.log out"), "{told}");
    }

    #[test]
    fn logs_that_share_a_part_count_it_once_and_those_that_follow_on_each_other_are_two() {
        let told = refusal(&safepoints(0..200), &safepoints(150..400)).expect("refused");
        assert!(told.contains("50 pauses"), "{told}");
        assert_eq!(refusal(&safepoints(0..200), &safepoints(200..400)), None);
        assert_eq!(refusal(&safepoints(0..200), &safepoints(199..400)), None, "one by chance");
        assert!(refusal(&safepoints([7]), &safepoints(0..9)).is_some(), "all of one file");
        assert_eq!(refusal(&milliseconds([12]), &milliseconds([12, 13])), None, "no times, and few pauses");
        assert!(refusal(&milliseconds([12]), &milliseconds([12])).is_some());
    }

    #[test]
    fn a_file_that_holds_a_log_twice_is_refused() {
        let log = safepoints(10..200);
        let told = PauseFiles::default().add(Path::new("a.log"), &mut read_text(&(log.clone() + &log)));
        let told = told.expect_err("refused").to_string();
        assert!(told.contains("a.log holds 190 pauses twice"), "{told}");
    }
}
