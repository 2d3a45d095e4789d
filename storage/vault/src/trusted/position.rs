//! Positions in the journal in the store, and the names of its objects.

use borsh::{BorshDeserialize, BorshSerialize};

/// The prefix of the names of log objects.
pub const PREFIX: &str = "log/";
/// The prefix of the names of the objects with their payloads.
pub(crate) const PAYLOAD_PREFIX: &str = "log-payload/";

/// The position of a log object: the epoch of its opening, and the number of objects before it in this epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub(crate) struct Position {
    pub(crate) epoch: u32,
    pub(crate) sequence: u64,
}

impl Position {
    /// The position of the first object of an epoch.
    pub(crate) fn first_of(epoch: u32) -> Self {
        Position { epoch, sequence: 0 }
    }

    /// The next position.
    pub(crate) fn next(self) -> Self {
        self.after(1)
    }

    /// The position this many objects later.
    pub(crate) fn after(self, objects: u64) -> Self {
        Position { sequence: self.sequence + objects, ..self }
    }

    /// The name of the object.
    pub(crate) fn name(self) -> String {
        self.name_under(PREFIX)
    }

    /// The name of the object with its payloads.
    pub(crate) fn payload_name(self) -> String {
        self.name_under(PAYLOAD_PREFIX)
    }

    /// The prefix of the names of all objects with payloads in this epoch.
    pub(crate) fn payload_prefix_of_epoch(self) -> String {
        format!("{PAYLOAD_PREFIX}{:08x}-", self.epoch)
    }

    fn name_under(self, prefix: &str) -> String {
        format!("{prefix}{:08x}-{:016x}", self.epoch, self.sequence)
    }

    /// The position in a name, if [`name`](Self::name) makes exactly this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::under(PREFIX, name)
    }

    /// The position in a name, if [`payload_name`](Self::payload_name) makes exactly this name.
    pub(crate) fn of_payloads(name: &str) -> Option<Self> {
        Self::under(PAYLOAD_PREFIX, name)
    }

    fn under(prefix: &str, name: &str) -> Option<Self> {
        let (epoch, sequence) = name.strip_prefix(prefix)?.split_once('-')?;
        let (epoch, sequence) =
            (u32::from_str_radix(epoch, 16).ok()?, u64::from_str_radix(sequence, 16).ok()?);
        let place = Position { epoch, sequence };
        (place.name_under(prefix) == name).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_as_the_vault_gives_it_is_an_objects() {
        let place = Position { epoch: 3, sequence: 18 };
        assert_eq!(Position::of(&place.name()), Some(place));
        assert_eq!(Position::of_payloads(&place.payload_name()), Some(place));
        assert_eq!((Position::of(&place.payload_name()), Position::of_payloads(&place.name())), (None, None));
        for other in ["log/3-12", "log/00000003-+000000000000012", "log/00000003", "journal/00000003-0"] {
            assert_eq!(Position::of(other), None, "{other}");
        }
    }
}
