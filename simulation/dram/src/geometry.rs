//! The parts of a memory system, and the mapping from a block's number to the place of the block.

use crate::error::DramError;
use crate::place::Place;
use crate::units::{Block, Bytes};
use serde::{Deserialize, Serialize};

/// The maximum number of banks in a channel, summed over its ranks.
pub const MAX_BANKS: u32 = 64;

/// The size of a block: a cache line, which is what all simulators above read and write.
const BLOCK_BYTES: Bytes = Bytes(64);

/// The maximum number of bursts of a block.
const MAX_BURSTS: u32 = 8;

/// A part of a block's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Field {
    /// The channel, which has its own bus and scheduler.
    Channel,
    /// The rank: chips of a channel that work as one.
    Rank,
    /// The bank of a rank; if the order names the group too, the bank of a group.
    Bank,
    /// The row of a bank.
    Row,
    /// The column of a row: the place of one block in it.
    Column,
    /// The bank group: the lowest bits of the bank of a rank.
    Group,
}

/// The number of each part, all powers of two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// The number of channels of the memory.
    pub channels: u32,
    /// Ranks of a channel.
    pub ranks: u32,
    /// Banks of a rank, in all its groups.
    pub banks: u32,
    /// Bank groups of a rank: banks with the same remainder modulo this. A memory without groups has one.
    #[serde(default = "one")]
    pub groups: u32,
    /// The number of rows in a bank.
    pub rows: u32,
    /// The number of blocks in a row.
    pub columns: u32,
    /// The size of a block.
    pub block_bytes: Bytes,
    /// Bursts that move a block, in consecutive columns of the DRAM: each has a command of its own.
    #[serde(default = "one")]
    pub bursts: u32,
    /// The fields of a block's number, from the lowest bit; each exactly once, except that the group may be left to the
    /// bank.
    pub order: Vec<Field>,
}

/// The number of groups, or bursts, of a memory whose description names none.
fn one() -> u32 {
    1
}

impl Geometry {
    /// The number of a part.
    pub fn number(&self, field: Field) -> u32 {
        match field {
            Field::Channel => self.channels,
            Field::Rank => self.ranks,
            Field::Bank => self.banks / self.number(Field::Group).max(1),
            Field::Row => self.rows,
            Field::Column => self.columns,
            Field::Group if self.order.contains(&Field::Group) => self.groups,
            Field::Group => 1,
        }
    }

    /// The number of blocks of the whole memory.
    pub fn blocks(&self) -> u64 {
        self.order.iter().map(|field| u64::from(self.number(*field))).product()
    }

    /// The size of the whole memory.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.blocks() * self.block_bytes.0)
    }

    /// The number of blocks of a super-row. This is the same row of the same bank in every channel and, if the order
    /// names the group, in every bank group.
    pub fn super_row_blocks(&self) -> u64 {
        u64::from(self.channels) * u64::from(self.number(Field::Group)) * u64::from(self.columns)
    }

    /// Returns what is invalid.
    pub(crate) fn check(&self) -> Result<(), DramError> {
        let invalid = |why: String| Err(DramError::Invalid(why));
        let mut fields = self.order.clone();
        fields.retain(|field| *field != Field::Group || self.groups == 1);
        fields.sort_unstable();
        if fields != [Field::Channel, Field::Rank, Field::Bank, Field::Row, Field::Column]
            || self.order.iter().filter(|field| **field == Field::Group).count() > 1
        {
            return invalid(
                "geometry.order must name channel, rank, bank, row and column once, and group at most once"
                    .into(),
            );
        }
        let numbers = [
            ("channels", self.channels),
            ("ranks", self.ranks),
            ("banks", self.banks),
            ("groups", self.groups),
            ("rows", self.rows),
            ("columns", self.columns),
            ("bursts", self.bursts),
        ];
        if let Some((name, number)) = numbers.iter().find(|(_, number)| !number.is_power_of_two()) {
            return invalid(format!("the number of {name} is {number}: it must be a power of two"));
        }
        if self.groups > self.banks || self.bursts > MAX_BURSTS {
            return invalid(format!(
                "{} groups and {} bursts: at most the {} banks, and {MAX_BURSTS} bursts",
                self.groups, self.bursts, self.banks
            ));
        }
        if self.ranks.checked_mul(self.banks).is_none_or(|banks| banks > MAX_BANKS) {
            let (ranks, banks) = (self.ranks, self.banks);
            return invalid(format!(
                "{ranks} ranks of {banks} banks a channel: at most {MAX_BANKS} banks a channel"
            ));
        }
        if self.order.iter().map(|field| self.number(*field).ilog2()).sum::<u32>() > 48 {
            return invalid("more than 2^48 blocks".into());
        }
        if self.block_bytes != BLOCK_BYTES {
            return invalid(format!(
                "geometry.block_bytes is {}: write {}, the processor's cache line, and the bursts that move it",
                self.block_bytes.0, BLOCK_BYTES.0
            ));
        }
        Ok(())
    }
}

/// The number of fields.
const FIELDS: usize = 6;

/// The mapping from numbers of blocks to places, ready for use.
#[derive(Clone, Debug)]
pub struct Mapping {
    geometry: Geometry,
    blocks: u64,
    /// The lowest bit of each field in a block's number, by the order of [`Field`].
    shift: [u32; FIELDS],
    /// The largest value of each field.
    mask: [u32; FIELDS],
}

/// A name for a block: its number or its place.
pub trait Address: Copy {
    /// Refuses a name that denotes no block of the memory.
    fn check(self, mapping: &Mapping) -> Result<(), DramError>;

    /// The place of a block that [`Address::check`] let pass.
    fn place(self, mapping: &Mapping) -> Place;
}

impl Address for Block {
    #[inline]
    fn check(self, mapping: &Mapping) -> Result<(), DramError> {
        let blocks = mapping.blocks;
        if self.0 < blocks { Ok(()) } else { Err(DramError::NoSuchBlock { block: self, blocks }) }
    }

    #[inline]
    fn place(self, mapping: &Mapping) -> Place {
        mapping.place(self)
    }
}

impl Address for Place {
    fn check(self, mapping: &Mapping) -> Result<(), DramError> {
        let Geometry { channels, ranks, banks, rows, columns, .. } = mapping.geometry;
        let is_known = self.channel < channels
            && self.rank < ranks
            && self.bank < banks
            && self.row < rows
            && self.column < columns;
        if is_known { Ok(()) } else { Err(DramError::NoSuchPlace(self)) }
    }

    fn place(self, _: &Mapping) -> Place {
        self
    }
}

impl Mapping {
    /// Prepares the mapping of a geometry that was checked: its numbers are powers of two.
    pub fn new(geometry: &Geometry) -> Self {
        let (mut shift, mut mask, mut next) = ([0; FIELDS], [0; FIELDS], 0);
        for field in &geometry.order {
            let number = geometry.number(*field);
            shift[*field as usize] = next;
            mask[*field as usize] = number - 1;
            next += number.ilog2();
        }
        Mapping { geometry: geometry.clone(), blocks: geometry.blocks(), shift, mask }
    }

    /// The place of a block; one beyond the memory's end maps to another block's place.
    #[inline]
    pub fn place(&self, block: Block) -> Place {
        let part = |field: Field| (block.0 >> self.shift[field as usize]) as u32 & self.mask[field as usize];
        Place {
            channel: part(Field::Channel),
            rank: part(Field::Rank),
            bank: part(Field::Bank) << self.mask[Field::Group as usize].count_ones() | part(Field::Group),
            row: part(Field::Row),
            column: part(Field::Column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn geometry(order: &[Field]) -> Geometry {
        let order = order.to_vec();
        let (block_bytes, bursts) = (Bytes(64), 1);
        Geometry {
            channels: 4,
            ranks: 2,
            banks: 8,
            groups: 4,
            rows: 16,
            columns: 32,
            block_bytes,
            bursts,
            order,
        }
    }

    #[test]
    fn the_fields_of_a_number_lie_from_the_lowest_bit_in_the_order_that_the_file_gives() {
        let order = [Field::Channel, Field::Bank, Field::Rank, Field::Column, Field::Row];
        let mapping = Mapping::new(&geometry(&order));
        let block = Block(0b10 | 0b101 << 2 | 1 << 5 | 0b10011 << 6 | 0b1010 << 11);
        let place = Place { channel: 0b10, bank: 0b101, rank: 1, column: 0b10011, row: 0b1010 };
        assert_eq!(mapping.place(block), place);
        // The group is the lowest bits of the bank, wherever it lies.
        let order = [Field::Channel, Field::Group, Field::Column, Field::Bank, Field::Rank, Field::Row];
        let geometry = geometry(&order);
        assert!(geometry.check().is_ok());
        assert_eq!(geometry.super_row_blocks(), 4 * 4 * 32);
        let block = Block(0b10 | 0b01 << 2 | 0b10011 << 4 | 1 << 9 | 1 << 10 | 0b1010 << 11);
        assert_eq!(Mapping::new(&geometry).place(block), place);
    }

    #[test]
    fn no_two_blocks_share_a_place() {
        let order = [Field::Row, Field::Channel, Field::Column, Field::Rank, Field::Bank];
        let mapping = Mapping::new(&geometry(&order));
        let places: BTreeSet<Place> = (0..mapping.blocks).map(|block| mapping.place(Block(block))).collect();
        assert_eq!(places.len() as u64, mapping.blocks);
        let highest = Place { channel: 3, rank: 1, bank: 7, row: 15, column: 31 };
        assert_eq!(places.last(), Some(&highest));
    }
}
