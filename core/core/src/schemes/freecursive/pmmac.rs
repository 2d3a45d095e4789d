//! PMMAC, PosMap MAC: Freecursive ORAM, section 6. A tag over a block, its counter and its payload detects a block that
//! was changed, exchanged or replayed. The counter on the trusted side says which version was written last.

use super::counters::NEVER;
use crate::types::BlockId;
use aes::Aes128;
use cmac::{Cmac, KeyInit, Mac};

/// The number of bytes of a tag. The paper's have 80 bits.
pub const TAG_BYTES: usize = 16;

/// Tags by CMAC with AES-128, of the payload, the block's number and its counter, 8 bytes each and the lowest first.
/// The payload comes first, so that the tags of one payload under two counters share all but the last block of AES.
///
/// The key is overwritten when it is dropped.
pub struct Tags {
    keyed: Cmac<Aes128>,
}

impl Tags {
    /// Creates the tag function with this key.
    pub fn new(key: &[u8; 16]) -> Self {
        Tags { keyed: Cmac::new(key.into()) }
    }

    /// Writes the tag behind a payload: into its last [`TAG_BYTES`] bytes.
    ///
    /// # Panics
    /// If there is no room for a tag.
    pub fn write(&self, block: BlockId, counter: u64, tagged: &mut [u8]) {
        let (payload, tag) = split(tagged);
        tag.copy_from_slice(&self.mac(block, counter, payload).finalize().into_bytes());
    }

    /// Returns in constant time whether a tag matches. A block that was never mapped has none.
    ///
    /// # Panics
    /// As [`write`](Self::write).
    pub fn fits(&self, block: BlockId, counter: u64, tagged: &[u8]) -> bool {
        let (payload, tag) = tagged.split_at(tagged.len() - TAG_BYTES);
        counter == NEVER || self.mac(block, counter, payload).verify_slice(tag).is_ok()
    }

    fn mac(&self, block: BlockId, counter: u64, payload: &[u8]) -> Cmac<Aes128> {
        let mac = self.keyed.clone();
        mac.chain_update(payload).chain_update(block.0.to_le_bytes()).chain_update(counter.to_le_bytes())
    }
}

/// A payload and its tag.
///
/// # Panics
/// If there is no room for a tag.
pub(super) fn split(tagged: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    tagged.split_at_mut(tagged.len() - TAG_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// RFC 4493, section 4: the key and the message of example 4 (64 bytes).
    #[test]
    fn a_tag_is_the_cmac_of_payload_block_and_counter() {
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let message: [u128; 4] = [
            0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a,
            0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51,
            0x30c8_1c46_a35c_e411_e5fb_c119_1a0a_52ef,
            0xf69f_2445_df4f_9b17_ad2b_417b_e66c_3710,
        ];
        let message: Vec<u8> = message.iter().flat_map(|words| words.to_be_bytes()).collect();
        let word = |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().unwrap());
        let (tags, block, counter) = (Tags::new(&key), BlockId(word(48)), word(56));
        let mut tagged = Vec::from(&message[..48]);
        tagged.resize(48 + TAG_BYTES, 0);
        tags.write(block, counter, &mut tagged);
        assert_eq!(tagged[48..], 0x51f0_bebf_7e3b_9d92_fc49_7417_7936_3cfe_u128.to_be_bytes());
        assert!(tags.fits(block, counter, &tagged));
        assert!(
            !tags.fits(BlockId(block.0 + 1), counter, &tagged) && !tags.fits(block, counter - 1, &tagged)
        );
        for at in 0..tagged.len() {
            tagged[at] ^= 1;
            assert!(!tags.fits(block, counter, &tagged), "byte {at}");
            tagged[at] ^= 1;
        }
    }
}
