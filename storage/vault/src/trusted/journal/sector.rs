//! The sectors of the journal's file. A group of changes takes consecutive sectors, and each of them can be checked
//! alone.
//!
//! | bytes | contents |
//! |---|---|
//! | 0 to 3 | the CRC-32C of the other bytes |
//! | 4 to 7 | the number of sectors of the group after this one |
//! | 8 to 15 | the number of the group |
//! | 16 to 23 | the number of the group before it |
//! | 24 to 31 | the position of the sector in the journal |
//! | 32 to 511 | bytes of the group, zeros after its end |
//!
//! A disk writes a sector as a whole or not at all. So a crash leaves a sector as it was written, or as it was before:
//! zeros, or a sector of another group. Anything else is damage.

use crc_fast::CrcAlgorithm;
use std::io::{self, Write};

/// The number of bytes that a disk writes at once.
pub(super) const SECTOR: usize = 512;
const HEADER: usize = 32;

/// An upper bound on the numbers of groups and on positions, so that no sum of them overflows.
pub(super) const LIMIT: u64 = 1 << 62;

/// The header of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SectorHeader {
    /// The number of sectors of the group after this one.
    pub(super) left: u32,
    /// The number of the group.
    pub(super) group: u64,
    /// The number of the group before it, which was durable when this one was written.
    pub(super) previous: u64,
    /// The position of the sector in the journal.
    pub(super) at: u64,
}

/// A sector as it is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sector<'a> {
    /// The sector was never written.
    Blank,
    /// The sector is neither as it was written nor as it was before.
    Damaged,
    Whole(SectorHeader, &'a [u8]),
}

impl Sector<'_> {
    /// Checks the bytes of a sector.
    pub(super) fn of(bytes: &[u8]) -> Sector<'_> {
        match decode(bytes) {
            Some((header, data)) => Sector::Whole(header, data),
            None if bytes.iter().all(|byte| *byte == 0) => Sector::Blank,
            None => Sector::Damaged,
        }
    }

    /// Corrects the checksum of a sector with any contents.
    #[cfg(test)]
    pub(super) fn correct(bytes: &mut [u8]) {
        let crc = checksum(&bytes[4..]);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
    }
}

fn decode(bytes: &[u8]) -> Option<(SectorHeader, &[u8])> {
    let (crc, rest) = bytes.split_first_chunk().filter(|_| bytes.len() == SECTOR)?;
    if u32::from_le_bytes(*crc) != checksum(rest) {
        return None;
    }
    let (left, rest) = rest.split_first_chunk()?;
    let (group, rest) = rest.split_first_chunk()?;
    let (previous, rest) = rest.split_first_chunk()?;
    let (at, data) = rest.split_first_chunk()?;
    let header = SectorHeader {
        left: u32::from_le_bytes(*left),
        group: u64::from_le_bytes(*group),
        previous: u64::from_le_bytes(*previous),
        at: u64::from_le_bytes(*at),
    };
    let is_possible = header.previous < header.group && header.group < LIMIT && header.at < LIMIT;
    is_possible.then_some((header, data))
}

fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Builds the sectors of a group.
#[derive(Default)]
pub(super) struct GroupWriter {
    sectors: Vec<u8>,
}

impl Write for GroupWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let within = self.sectors.len() % SECTOR;
        if within == 0 && !bytes.is_empty() {
            self.sectors.resize(self.sectors.len() + HEADER, 0);
        }
        let room = SECTOR - within.max(HEADER);
        let some = &bytes[..bytes.len().min(room)];
        self.sectors.extend_from_slice(some);
        Ok(some.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl GroupWriter {
    /// Returns the sectors of the group, whose first one is at `at`.
    pub(super) fn finish(self, group: u64, previous: u64, at: u64) -> Vec<u8> {
        let mut sectors = self.sectors;
        sectors.resize(sectors.len().next_multiple_of(SECTOR), 0);
        let count = sectors.len() / SECTOR;
        for (nth, sector) in sectors.chunks_exact_mut(SECTOR).enumerate() {
            sector[4..8].copy_from_slice(&((count - 1 - nth) as u32).to_le_bytes());
            sector[8..16].copy_from_slice(&group.to_le_bytes());
            sector[16..24].copy_from_slice(&previous.to_le_bytes());
            sector[24..HEADER].copy_from_slice(&(at + nth as u64).to_le_bytes());
            let crc = checksum(&sector[4..]);
            sector[..4].copy_from_slice(&crc.to_le_bytes());
        }
        sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn group(bytes: &[u8]) -> Vec<u8> {
        let mut writer = GroupWriter::default();
        writer.write_all(bytes).unwrap();
        writer.finish(7, 5, 100)
    }

    proptest! {
        #[test]
        fn the_bytes_of_a_group_come_out_of_its_sectors(bytes in prop::collection::vec(any::<u8>(), 1..2000)) {
            let sectors = group(&bytes);
            let (mut read, count) = (Vec::new(), sectors.len() / SECTOR);
            for (nth, sector) in sectors.chunks(SECTOR).enumerate() {
                let Sector::Whole(header, data) = Sector::of(sector) else { panic!("sector {nth}") };
                let left = (count - 1 - nth) as u32;
                prop_assert_eq!(header, SectorHeader { left, group: 7, previous: 5, at: 100 + nth as u64 });
                read.extend_from_slice(data);
            }
            prop_assert!(read.len() - bytes.len() < SECTOR - HEADER);
            prop_assert!(read.starts_with(&bytes) && read[bytes.len()..].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn a_changed_bit_anywhere_in_a_sector_is_damage_and_a_blank_one_is_not() {
        let whole = group(&[9; 300]);
        for bit in 0..8 * SECTOR {
            let mut spoilt = whole.clone();
            spoilt[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Sector::of(&spoilt), Sector::Damaged, "bit {bit}");
        }
        assert_eq!(Sector::of(&[0; SECTOR]), Sector::Blank);
        assert_eq!(Sector::of(&whole[..100]), Sector::Damaged, "cut off");
    }
}
