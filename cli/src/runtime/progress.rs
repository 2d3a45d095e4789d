//! The progress of long work on standard error: bars on a terminal, and occasional lines without one.

use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A bar over a known number of bytes, with speed and time left.
pub fn bytes(what: &'static str, total: u64) -> ProgressBar {
    bar(
        ProgressBar::new(total),
        what,
        "{msg} [{bar:32}] {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left",
    )
}

/// A bar over a known number of steps, with the time left.
pub fn steps(what: &'static str, total: u64) -> ProgressBar {
    bar(ProgressBar::new(total), what, "{msg} [{bar:32}] {human_pos} of {human_len}, {eta} left")
}

/// Moves a bar to `done` of `all` steps of `what`.
pub fn update(bar: &ProgressBar, what: &str, done: u64, all: u64) {
    if done == 0 {
        bar.reset_eta();
    }
    bar.set_message(what.to_owned());
    bar.set_length(all);
    bar.set_position(done);
}

/// Turns a bar into one over a wait, after `done` of `all` seconds.
pub fn update_wait(bar: &ProgressBar, what: &str, done: u64, all: u64) {
    set_style(bar, "{msg} [{bar:32}] {pos} of {len} s");
    bar.set_message(what.to_owned());
    bar.set_length(all);
    bar.set_position(done);
}

/// The number of log lines for a long task.
const TENTHS: u64 = 10;

/// Log lines for consecutive tasks: one at the start of each task, and one after each tenth.
pub struct LogLines {
    start: Instant,
    /// The time from the start of the first task to the start of this one.
    begun: Cell<Duration>,
    /// The tenths in the last line, and the number of steps.
    last: Cell<Option<(u64, u64)>>,
}

impl LogLines {
    /// Starts the log lines of a task.
    pub fn start_now() -> Self {
        LogLines { start: Instant::now(), begun: Cell::default(), last: Cell::new(None) }
    }

    /// Returns a line if one is due after `done` of `all` steps. Another task begins with no step done.
    pub fn next_line(&self, what: &str, done: u64, all: u64) -> Option<String> {
        self.next_line_after(self.start.elapsed(), what, done, all)
    }

    fn next_line_after(&self, elapsed: Duration, what: &str, done: u64, all: u64) -> Option<String> {
        let tenths = done * TENTHS / all.max(1);
        if self.last.get() == Some((tenths, all)) {
            return None;
        }
        self.last.set(Some((tenths, all)));
        let left = if done == 0 {
            self.begun.set(elapsed);
            String::new()
        } else {
            let taken = elapsed.saturating_sub(self.begun.get());
            let left = taken.as_secs_f64() * all.saturating_sub(done) as f64 / done as f64;
            format!(", about {left:.0} s left")
        };
        Some(format!("{done} of {all} done{left}, now {what}"))
    }
}

/// A spinner for work of unknown length.
pub fn spinner(what: &'static str) -> ProgressBar {
    let spinner = bar(ProgressBar::new_spinner(), what, "{spinner} {msg}, {elapsed}");
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

fn bar(bar: ProgressBar, what: &'static str, template: &'static str) -> ProgressBar {
    set_style(&bar, template);
    bar.with_message(what)
}

fn set_style(bar: &ProgressBar, template: &'static str) {
    // An invalid template would give the default style; a test below excludes that.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{InMemoryTerm, ProgressDrawTarget};

    fn drawn(bar: ProgressBar, done: u64) -> String {
        let terminal = InMemoryTerm::new(5, 120);
        bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        bar.set_position(done);
        bar.force_draw();
        terminal.contents()
    }

    #[test]
    fn a_bar_says_what_is_done_and_how_far() {
        let drawn_text = drawn(bytes("checking", 64 << 20), 16 << 20);
        assert!(drawn_text.starts_with("checking [========>"), "{drawn_text}");
        assert!(drawn_text.contains("16.00 MiB of 64.00 MiB"), "{drawn_text}");
        let drawn_text = drawn(steps("restoring", 4000), 1000);
        assert!(drawn_text.contains("1,000 of 4,000"), "{drawn_text}");
        let bar = bytes("fetching", 64 << 20);
        update_wait(&bar, "waiting", 15, 60);
        let drawn_text = drawn(bar, 15);
        assert!(
            drawn_text.starts_with("waiting [========>") && drawn_text.contains("15 of 60 s"),
            "{drawn_text}"
        );
    }

    #[test]
    fn a_log_gets_a_line_for_each_tenth_with_the_time_left() {
        let lines = LogLines::start_now();
        let last: Vec<String> = (0..200)
            .filter_map(|done| lines.next_line_after(Duration::from_secs(done), "ring", done, 200))
            .collect();
        assert_eq!(last.len(), 10);
        assert_eq!(last[0], "0 of 200 done, now ring");
        assert_eq!(last[5], "100 of 200 done, about 100 s left, now ring");
        let of_next = |seconds, done| lines.next_line_after(Duration::from_secs(seconds), "path", done, 100);
        assert_eq!(of_next(200, 0).unwrap(), "0 of 100 done, now path");
        assert_eq!(of_next(230, 50).unwrap(), "50 of 100 done, about 30 s left, now path");
    }

    #[test]
    fn a_spinner_says_what_is_done() {
        assert!(drawn(spinner("opening the vault"), 0).contains("opening the vault"));
    }
}
