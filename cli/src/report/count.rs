//! Numbers of things, as a person reads them: `1 block`, `2 blocks`.

/// Returns a number with its noun, which has an `s` or an `es` unless there is one.
pub fn count(number: u64, noun: &str) -> String {
    match (number, noun.ends_with('s')) {
        (1, _) => format!("1 {noun}"),
        (_, false) => format!("{number} {noun}s"),
        (_, true) => format!("{number} {noun}es"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_many() {
        assert_eq!(["0 blocks", "1 block", "2 blocks"], [0, 1, 2].map(|number| count(number, "block")));
        assert_eq!(["1 access", "7 accesses"], [1, 7].map(|number| count(number, "access")));
    }
}
