//! Transfer of pages from a parent to its child: sealed one after the other in untrusted memory, with a key for this
//! transfer only. The parent seals each once, and the child opens each once.

use super::forked::drop_and_wipe;
use crate::error::Error;
use crate::fault::poll_now::poll_now;
use crate::options::Options;
use crate::page::PAGE_BYTES;
use crate::scheme_error::SchemeError;
use crate::shared::SharedMapping;
use ameles_core::store::Store;
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{Bucket, Slot};
use ameles_seal::pages::{PageError, PageKey, SealedPages, TableVersions, memory_bytes};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

pub(crate) struct Transfer {
    pages: Option<Box<SealedPages<SharedMapping, TableVersions>>>,
}

impl Transfer {
    /// Makes room for all pages of a region; memory is used only when a page is sealed.
    pub(crate) fn new(options: &Options) -> Result<Self, Error> {
        let layout =
            Layout::new(vec![Extent { buckets: options.pages, slots: 1, slot_bytes: PAGE_BYTES as u32 }]);
        let bytes = memory_bytes(&layout, options.cipher).map_err(SchemeError::from)?;
        let memory = SharedMapping::new(bytes)
            .map_err(|errno| Error::System { what: "untrusted memory for a child", errno })?;
        let mut rng = ChaCha20Rng::try_from_os_rng().map_err(|error| Error::Entropy(error.into()))?;
        let key = PageKey::draw(options.cipher, &mut rng);
        let pages = SealedPages::new(memory, &layout, key, TableVersions::new(options.pages))
            .map_err(SchemeError::from)?;
        Ok(Transfer { pages: Some(Box::new(pages)) })
    }

    fn pages(&self) -> &SealedPages<SharedMapping, TableVersions> {
        self.pages.as_ref().expect("they are there until this is dropped")
    }

    /// Seals the next page.
    pub(crate) fn seal(&self, at: u64, page: &[u8]) -> Result<(), PageError> {
        poll_now(self.pages().write(&[Bucket(at)], page)).expect("memory answers at once")
    }

    /// Opens a page.
    pub(crate) fn open(&self, at: u64, into: &mut [u8]) -> Result<(), PageError> {
        poll_now(self.pages().read(&[Slot { bucket: Bucket(at), index: 0 }], into))
            .expect("memory answers at once")
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.pages.take().into_iter().for_each(drop_and_wipe);
    }
}
