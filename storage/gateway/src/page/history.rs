//! The updates of the last minute, for a page that opens now. They are as secret as the page.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// The number of updates that are kept: one for each column of the page's maps, and the one before the first.
const MAX_UPDATES: usize = 121;

/// The updates as JSON; bounded.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<VecDeque<String>>);

impl History {
    /// Adds the newest update.
    pub(super) fn push(&self, update_json: String) {
        let mut updates = self.0.lock();
        if updates.len() == MAX_UPDATES {
            updates.pop_front();
        }
        updates.push_back(update_json);
    }

    /// Returns all updates as a JSON array, the oldest first.
    pub(super) fn all(&self) -> String {
        let updates = self.0.lock();
        let updates: Vec<&str> = updates.iter().map(String::as_str).collect();
        format!("[{}]", updates.join(","))
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
