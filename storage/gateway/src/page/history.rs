//! The last minute of the messages to the page, for a page that is opened now. It is as secret as the page.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// Moments that are kept: a column of the page's maps each, and the one before the first.
const MAX_UPDATES: usize = 121;

/// The messages of each moment, as JSON; bounded.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<VecDeque<String>>);

impl History {
    /// Takes the newest moment.
    pub(super) fn push(&self, update_json: String) {
        let mut moments = self.0.lock();
        if moments.len() == MAX_UPDATES {
            moments.pop_front();
        }
        moments.push_back(update_json);
    }

    /// All moments in a JSON array, the oldest first.
    pub(super) fn all(&self) -> String {
        let moments = self.0.lock();
        let moments: Vec<&str> = moments.iter().map(String::as_str).collect();
        format!("[{}]", moments.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_is_kept_and_nothing_older() {
        let history = History::default();
        assert_eq!(history.all(), "[]");
        (0..1000).for_each(|time| history.push(time.to_string()));
        let kept: Vec<u32> = serde_json::from_str(&history.all()).unwrap();
        assert_eq!(kept, (879..1000).collect::<Vec<_>>());
    }
}
