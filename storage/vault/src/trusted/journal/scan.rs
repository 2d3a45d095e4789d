//! Reading the journal's file: the groups that it holds, and where it ends.
//!
//! Groups are written one after the other, and each is durable before the next is written. So at most the last one can
//! be torn: some of its sectors are as they were before. A torn group was never acknowledged, and the journal ends
//! before it. Everything else that is not whole is damage:
//!
//! - a sector that is neither as it was written nor as it was before;
//! - a group that is missing though a later one names it, or one before it, as durable;
//! - a group that is missing though the database holds its changes.
//!
//! A torn group has a number that no later group gets. So its sectors never complete another group.

use super::sector::{LIMIT, SECTOR, Sector, SectorHeader};
use super::segments::{SEGMENT, SEGMENT_SECTORS, Segments, segment_of};
use super::{JournalMark, damaged};
use crate::error::VaultError;
use crate::trusted::commit_group::Change;
use crate::trusted::failure::failure;
use borsh::BorshDeserialize;
use redb::StorageBackend;
use std::collections::BTreeMap;

/// A group of changes with its number.
pub(super) type Group = (u64, Vec<Change>);

/// The journal as an opening finds it.
#[derive(Debug)]
pub(super) struct Scan {
    /// The last group.
    pub(super) last: u64,
    /// The position after the last group.
    pub(super) end: u64,
    /// A number for the next group, which no sector has.
    pub(super) next: u64,
    pub(super) segments: Segments,
}

/// Reads the journal, and hands over its groups after the mark, in order.
///
/// # Errors
/// [`VaultError::Damaged`], and the errors of the disk.
pub(super) fn scan(
    file: &dyn StorageBackend,
    mark: &JournalMark,
    each: &mut dyn FnMut(Group),
) -> Result<Scan, VaultError> {
    if mark.group.max(mark.at).max(mark.applied) >= LIMIT {
        return Err(damaged("its mark in the database is damaged"));
    }
    let places = u32::try_from(file.len().map_err(failure)? / SEGMENT).unwrap_or(u32::MAX);
    let first = segment_of(mark.at.saturating_sub(1));
    let found = find_segments(file, places, first)?;
    let locate = |segment| found.places.get(&segment).map(|(_, place)| *place).or(found.damaged);
    let mut walk = Walk { file, locate, cached: None };
    let (last, end) = walk.run(mark, each)?;
    if found.newest_previous > last || mark.applied > last {
        return Err(damaged(&format!("group {} is missing or damaged", last + 1)));
    }
    let until = segment_of(end + SEGMENT_SECTORS - 1);
    let needed =
        (first..until).map_while(|segment| found.places.get(&segment).map(|(_, place)| *place)).collect();
    let segments = Segments::new(first, needed, places);
    Ok(Scan { last, end, next: found.newest.max(last) + 1, segments })
}

/// The segments that a file holds.
#[derive(Default)]
struct Found {
    /// The place of each segment, and the highest number of a group in it. After a torn group, two places may hold
    /// sectors of one segment. The place with the higher number was written later.
    places: BTreeMap<u64, (u64, u32)>,
    /// The highest number of a group.
    newest: u64,
    /// The highest number of a group that another one names as durable.
    newest_previous: u64,
    /// A place whose first sector is damaged. A segment that is not found may be there: it may have no other sector.
    damaged: Option<u32>,
}

/// Finds the segments from `first` on.
fn find_segments(file: &dyn StorageBackend, places: u32, first: u64) -> Result<Found, VaultError> {
    let mut found = Found::default();
    let mut bytes = vec![0; SEGMENT as usize];
    for place in 0..places {
        file.read(u64::from(place) * SEGMENT, &mut bytes).map_err(failure)?;
        for (within, sector) in bytes.chunks_exact(SECTOR).enumerate() {
            let sector = Sector::of(sector);
            if within == 0 && matches!(sector, Sector::Damaged) {
                found.damaged = Some(place);
            }
            let Sector::Whole(header, _) = sector else { continue };
            found.newest = found.newest.max(header.group);
            found.newest_previous = found.newest_previous.max(header.previous);
            let segment = segment_of(header.at);
            if segment < first || header.at % SEGMENT_SECTORS != within as u64 {
                continue;
            }
            let newest = found.places.entry(segment).or_insert((header.group, place));
            *newest = (*newest).max((header.group, place));
        }
    }
    Ok(found)
}

/// A walk along the journal, group by group.
pub(super) struct Walk<'a, L> {
    pub(super) file: &'a dyn StorageBackend,
    /// Finds the place of a segment.
    pub(super) locate: L,
    /// The segment that was read last.
    pub(super) cached: Option<(u32, Vec<u8>)>,
}

impl<L: Fn(u64) -> Option<u32>> Walk<'_, L> {
    /// Hands over the groups after the mark. Returns the number of the last one, and the position after it.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(super) fn run(
        &mut self,
        mark: &JournalMark,
        each: &mut dyn FnMut(Group),
    ) -> Result<(u64, u64), VaultError> {
        self.check_anchor(mark)?;
        let (mut last, mut at) = (mark.group, mark.at);
        while let Some((header, changes)) = self.read_group(last, at)? {
            last = header.group;
            at += 1 + u64::from(header.left);
            each((last, changes));
        }
        Ok((last, at))
    }

    /// Checks that the last group before the mark is there. Otherwise the file is older than the database.
    fn check_anchor(&mut self, mark: &JournalMark) -> Result<(), VaultError> {
        let Some(before) = mark.at.checked_sub(1) else { return Ok(()) };
        let is_there = match self.sector(before)? {
            Sector::Whole(header, _) => (header.group, header.at, header.left) == (mark.group, before, 0),
            Sector::Blank | Sector::Damaged => false,
        };
        if is_there { Ok(()) } else { Err(damaged("it is damaged, or older than the database")) }
    }

    /// Reads the group after the group `last`. `None` if there is no whole one.
    fn read_group(&mut self, last: u64, at: u64) -> Result<Option<(SectorHeader, Vec<Change>)>, VaultError> {
        let damage = |at| damaged(&format!("sector {at} is damaged"));
        let (first, mut bytes) = match self.sector(at)? {
            Sector::Whole(header, data) if header.at == at && header.group > last => (header, data.to_vec()),
            Sector::Damaged => return Err(damage(at)),
            Sector::Whole(..) | Sector::Blank => return Ok(None),
        };
        if first.previous != last {
            return Err(damaged(&format!("group {} does not follow group {last}", first.group)));
        }
        for nth in 1..=first.left {
            let at = at + u64::from(nth);
            let expected = SectorHeader { left: first.left - nth, at, ..first };
            match self.sector(at)? {
                Sector::Whole(header, data) if header == expected => bytes.extend_from_slice(data),
                Sector::Damaged => return Err(damage(at)),
                Sector::Whole(..) | Sector::Blank => return Ok(None),
            }
        }
        match Vec::<Change>::deserialize(&mut &bytes[..]) {
            Ok(changes) => Ok(Some((first, changes))),
            Err(_) => Err(damaged(&format!("group {} cannot be read", first.group))),
        }
    }

    /// Reads the sector at a position. A segment without a place counts as blank.
    fn sector(&mut self, at: u64) -> Result<Sector<'_>, VaultError> {
        let Some(place) = (self.locate)(segment_of(at)) else { return Ok(Sector::Blank) };
        if self.cached.as_ref().is_none_or(|(cached, _)| *cached != place) {
            let mut bytes = vec![0; SEGMENT as usize];
            self.file.read(u64::from(place) * SEGMENT, &mut bytes).map_err(failure)?;
            self.cached = Some((place, bytes));
        }
        let from = (at % SEGMENT_SECTORS) as usize * SECTOR;
        Ok(self.cached.as_ref().map_or(Sector::Blank, |(_, bytes)| Sector::of(&bytes[from..from + SECTOR])))
    }
}
