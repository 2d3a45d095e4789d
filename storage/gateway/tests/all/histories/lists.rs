//! Compares the lists of keys and versions, and the blocks in use, with those of the model.

use super::BLOCKS;
use super::harness::{Harness, read_all};
use super::step::key_name;
use ameles_gateway::Error;
use ameles_gateway::objects::listing::ListRequest;

impl Harness {
    pub(super) fn list(&self, container: u8, limit: usize) {
        let (account, name) = self.account(container);
        let mut request = ListRequest { limit, ..ListRequest::default() };
        let mut listed = Vec::new();
        loop {
            let page = match (account.list(name, &request), self.model.contains_key(&container)) {
                (Ok(page), true) => page,
                (Err(Error::NoSuchContainer), false) => return,
                (outcome, known) => panic!("the gateway says {outcome:?}, known to the model: {known}"),
            };
            listed.extend(page.entries.into_iter().map(|(key, object)| (key, object.etag.clone())));
            match page.next {
                Some(next) => request.after = next,
                None => break,
            }
        }
        let known = self.model[&container].all_current().map(|(key, (_, etag))| (key.clone(), etag.clone()));
        assert_eq!(listed, known.collect::<Vec<_>>());
    }

    pub(super) fn list_versions(&self, container: u8, limit: usize, delimiter: bool) {
        let (account, name) = self.account(container);
        let delimiter = if delimiter { "/" } else { "" };
        let mut request = ListRequest { limit, delimiter: delimiter.into(), ..ListRequest::default() };
        let mut after = None;
        let (mut listed, mut prefixes) = (Vec::new(), Vec::new());
        loop {
            let page = match (account.list_versions(name, &request, after), self.model.get(&container)) {
                (Ok(page), Some(_)) => page,
                (Err(Error::NoSuchContainer), None) => return,
                (outcome, known) => panic!("the gateway says {outcome:?}, the model knows {known:?}"),
            };
            assert!(page.entries.len() + page.prefixes.len() <= limit);
            listed.extend(page.entries.into_iter().map(|listed| {
                let etag = (!listed.object.version.is_marker()).then(|| listed.object.etag.clone());
                (listed.key, listed.is_latest, listed.object.version.id(), etag)
            }));
            prefixes.extend(page.prefixes);
            match page.next {
                Some((key, version)) => (request.after, after) = (key, version),
                None => break,
            }
        }
        let grouped = |key: &str| !delimiter.is_empty() && key.contains('/');
        let keys = &self.model[&container].keys;
        let known = keys.iter().filter(|(key, _)| !grouped(key)).flat_map(|(key, versions)| {
            versions.iter().enumerate().map(move |(nth, (id, content))| {
                (key.clone(), nth == 0, *id, content.as_ref().map(|(_, etag)| etag.clone()))
            })
        });
        assert_eq!(listed, known.collect::<Vec<_>>());
        let groups = if keys.keys().any(|key| grouped(key)) { vec!["a/"] } else { vec![] };
        assert_eq!(prefixes, groups);
    }

    pub(super) fn list_all(&self) {
        for container in 0..3 {
            self.list_versions(container, 2, false);
            self.list_versions(container, 1, true);
        }
    }

    /// Checks that every version reads back, and that no block is lost or held twice.
    pub(super) async fn check(&self) {
        self.gateway.settle().await;
        let mut held = 0;
        for (&container, model) in &self.model {
            let (account, name) = self.account(container);
            for key in (0..5).map(key_name) {
                match (account.object(name, &key), model.current(&key)) {
                    (Ok(object), Some((_, etag))) => assert_eq!(&object.etag, etag),
                    (Err(Error::NoSuchKey), None) => {}
                    (found, known) => panic!("the gateway says {found:?}, the model says {known:?}"),
                }
                for (id, content) in model.keys.get(&key).into_iter().flatten() {
                    match (account.version(name, &key, Some(*id)), content) {
                        (Ok(object), Some((body, _))) => {
                            assert_eq!(&read_all(&self.gateway, &object, None).await.expect("read"), body);
                            held += object.blocks();
                        }
                        (Err(Error::DeleteMarker { version, .. }), None) => assert_eq!(version, *id),
                        (found, known) => panic!("the gateway says {found:?}, the model says {known:?}"),
                    }
                }
            }
        }
        self.gateway.settle().await;
        let usage = self.gateway.usage();
        assert_eq!(usage.free_blocks, BLOCKS - held - usage.packed.blocks);
    }
}
