//! Checks whether the history of a key is that of a register: each operation takes effect at some time between its call
//! and its answer.

use std::collections::HashSet;

/// The contents of a key: the number of a body, or nothing.
pub type Contents = Option<u32>;

/// An operation and its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Put(u32),
    /// A put on the condition that the key holds these contents.
    PutIf(Contents, u32),
    /// A put that was refused because the key held something.
    RefusedIfAbsent,
    /// A put that was refused because the key did not hold this.
    RefusedIf(u32),
    /// A delete, and whether the key held anything.
    Delete(bool),
    Get(Contents),
}

/// An operation with the times of its call and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub called: u64,
    pub answered: u64,
    pub operation: Operation,
    /// True if the operation may never take effect.
    pub is_optional: bool,
}

impl Operation {
    /// The contents after it; `None` if its outcome does not fit those before.
    fn after(self, before: Contents) -> Option<Contents> {
        match self {
            Operation::Put(body) => Some(Some(body)),
            Operation::PutIf(needed, body) => (before == needed).then_some(Some(body)),
            Operation::RefusedIfAbsent => before.is_some().then_some(before),
            Operation::RefusedIf(body) => (before != Some(body)).then_some(before),
            Operation::Delete(was_there) => (before.is_some() == was_there).then_some(None),
            Operation::Get(found) => (before == found).then_some(before),
        }
    }
}

/// Returns true if an order of the operations explains all outcomes. In this order, an operation that was answered
/// before the call of another comes before it.
pub fn is_linearizable(records: &[Record]) -> bool {
    assert!(records.len() <= 64, "the operations are counted in a word");
    search(records, 0, None, &mut HashSet::new())
}

fn search(records: &[Record], done: u64, contents: Contents, seen: &mut HashSet<(u64, Contents)>) -> bool {
    let remaining = || records.iter().enumerate().filter(|(nth, _)| done & (1 << nth) == 0);
    if remaining().all(|(_, record)| record.is_optional) {
        return true;
    }
    if !seen.insert((done, contents)) {
        return false;
    }
    // An optional operation does not constrain the others.
    let first_answer =
        remaining().filter(|(_, record)| !record.is_optional).map(|(_, record)| record.answered).min();
    remaining().any(|(nth, record)| {
        let may_be_next = first_answer.is_none_or(|answered| record.called <= answered);
        let after = record.operation.after(contents).filter(|_| may_be_next);
        after.is_some_and(|after| search(records, done | 1 << nth, after, seen))
    })
}

#[test]
fn histories_of_a_register_are_distinguished_from_others() {
    let record = |called, answered, operation| Record { called, answered, operation, is_optional: false };
    let put = record(0, 10, Operation::Put(1));
    let is_one = |records: &[Record]| is_linearizable(records);
    assert!(is_one(&[put, record(1, 2, Operation::Get(None)), record(3, 4, Operation::Get(Some(1)))]));
    assert!(!is_one(&[put, record(1, 2, Operation::Get(Some(1))), record(3, 4, Operation::Get(None))]));
    assert!(!is_one(&[put, record(11, 12, Operation::Get(None))]));
    let both = [record(0, 5, Operation::PutIf(None, 1)), record(1, 6, Operation::PutIf(None, 2))];
    assert!(!is_one(&both));
    assert!(is_one(&[both[0], record(1, 6, Operation::RefusedIfAbsent)]));
    let optional = Record { is_optional: true, ..put };
    assert!(is_one(&[optional, record(11, 12, Operation::Get(None))]));
    assert!(is_one(&[optional, record(11, 12, Operation::Get(Some(1)))]));
    assert!(!is_one(&[put, record(11, 12, Operation::Delete(false))]));
}
