//! The steps of a history, and the names that they use.

use proptest::prelude::*;

#[derive(Clone, Debug)]
pub(super) enum Step {
    CreateContainer(u8),
    DeleteContainer(u8),
    Put {
        container: u8,
        key: u8,
        body: Vec<u8>,
        announce: bool,
    },
    PutIfAbsent {
        container: u8,
        key: u8,
        body: Vec<u8>,
    },
    Get {
        container: u8,
        key: u8,
    },
    GetRange {
        container: u8,
        key: u8,
        start: u64,
        length: u64,
    },
    Delete {
        container: u8,
        keys: Vec<u8>,
    },
    SetVersioning(u8, bool),
    /// Keys, and an index into the versions of each key: a delete may name no version, or one that does not exist.
    Remove {
        container: u8,
        removals: Vec<(u8, Option<u8>)>,
    },
    ListVersions {
        container: u8,
        limit: usize,
        delimiter: bool,
    },
    Copy {
        from: (u8, u8),
        to: (u8, u8),
    },
    Multipart {
        container: u8,
        key: u8,
        parts: Vec<Vec<u8>>,
        skip: u8,
        complete: bool,
    },
    List {
        container: u8,
        limit: usize,
    },
    Reload,
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let container = 0u8..3;
    let key = 0u8..5;
    // Half of the bodies are small enough to share a block.
    let body =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..9), prop::collection::vec(any::<u8>(), 0..150),];
    prop_oneof![
        1 => container.clone().prop_map(Step::CreateContainer),
        1 => container.clone().prop_map(Step::DeleteContainer),
        6 => (container.clone(), key.clone(), body.clone(), any::<bool>())
            .prop_map(|(container, key, body, announce)| Step::Put { container, key, body, announce }),
        1 => (container.clone(), key.clone(), body.clone())
            .prop_map(|(container, key, body)| Step::PutIfAbsent { container, key, body }),
        3 => (container.clone(), key.clone()).prop_map(|(container, key)| Step::Get { container, key }),
        3 => (container.clone(), key.clone(), 0u64..160, 0u64..160)
            .prop_map(|(container, key, start, length)| Step::GetRange { container, key, start, length }),
        2 => (container.clone(), prop::collection::vec(key.clone(), 1..4))
            .prop_map(|(container, keys)| Step::Delete { container, keys }),
        1 => (container.clone(), any::<bool>()).prop_map(|(container, on)| Step::SetVersioning(container, on)),
        2 => (container.clone(), prop::collection::vec((key.clone(), prop::option::of(0u8..4)), 1..5))
            .prop_map(|(container, removals)| Step::Remove { container, removals }),
        2 => (container.clone(), 1usize..4, any::<bool>())
            .prop_map(|(container, limit, delimiter)| Step::ListVersions { container, limit, delimiter }),
        2 => ((container.clone(), key.clone()), (container.clone(), key.clone()))
            .prop_map(|(from, to)| Step::Copy { from, to }),
        2 => (container.clone(), key, prop::collection::vec(body, 1..4), 0u8..4, any::<bool>())
            .prop_map(|(container, key, parts, skip, complete)| Step::Multipart { container, key, parts, skip, complete }),
        2 => (container, 1usize..4).prop_map(|(container, limit)| Step::List { container, limit }),
        1 => Just(Step::Reload),
    ]
}

/// The account and name of a container: two accounts have a container of the same name.
pub(super) fn place(container: u8) -> (&'static str, &'static str) {
    [("a", "container"), ("a", "other"), ("b", "container")][usize::from(container)]
}

pub(super) fn key_name(key: u8) -> String {
    ["a", "a/b", "a/c/d", "b\u{e9}", "z"][usize::from(key)].to_owned()
}
