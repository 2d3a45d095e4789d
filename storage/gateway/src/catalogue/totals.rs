//! The totals of a container, an account or an upload.

use super::object::Object;

/// The number of objects and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The number of objects. Expired ones count until they are removed.
    pub objects: u64,
    /// The bytes of the objects, without padding.
    pub bytes: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, object: &Object) {
        self.objects += 1;
        self.bytes += object.bytes();
    }

    pub(crate) fn remove(&mut self, object: &Object) {
        self.objects -= 1;
        self.bytes -= object.bytes();
    }
}

impl std::ops::Add for Totals {
    type Output = Totals;

    fn add(self, other: Totals) -> Totals {
        Totals { objects: self.objects + other.objects, bytes: self.bytes + other.bytes }
    }
}

impl std::ops::Sub for Totals {
    type Output = Totals;

    fn sub(self, other: Totals) -> Totals {
        Totals { objects: self.objects - other.objects, bytes: self.bytes - other.bytes }
    }
}
