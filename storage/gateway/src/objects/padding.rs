//! Size classes: they round up the number of blocks of an object, so that its size shows less.

/// The rounding of the number of blocks of an object. Padding blocks are allocated, written and read like others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// An object takes as many blocks as its bytes need, and none if it is empty.
    #[default]
    None,
    /// The next power of two of blocks, at least one block.
    PowersOfTwo,
    /// The smallest of these sizes in bytes that holds the object (each rounded up to whole blocks); beyond the
    /// largest, multiples of the largest. Strictly ascending, not empty, none of them 0.
    Classes(Vec<u64>),
}

/// The faults of a list of size classes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaddingError {
    /// The list is empty.
    #[error("the list of size classes is empty: give at least one size in bytes, or turn padding off")]
    Empty,
    /// A class is not larger than the one before it (or is 0).
    #[error(
        "size class {place} ({size} bytes) must be larger than {before} bytes: list the classes in ascending order, each above 0"
    )]
    NotAscending {
        /// The number of the class, from 1.
        place: usize,
        /// The size of the class in bytes.
        size: u64,
        /// The size of the class before it in bytes, 0 for the first one.
        before: u64,
    },
}

impl Padding {
    /// Checks the list of classes.
    ///
    /// # Errors
    /// [`PaddingError`] if it is empty or not strictly ascending.
    pub fn check(&self) -> Result<(), PaddingError> {
        let Padding::Classes(classes) = self else {
            return Ok(());
        };
        if classes.is_empty() {
            return Err(PaddingError::Empty);
        }
        let mut before = 0;
        for (index, &size) in classes.iter().enumerate() {
            if size <= before {
                return Err(PaddingError::NotAscending { place: index + 1, size, before });
            }
            before = size;
        }
        Ok(())
    }

    /// Returns the number of blocks for `bytes` bytes: the padded size of an object or of a part.
    pub fn blocks(&self, bytes: u64, block_bytes: usize) -> u64 {
        self.round(bytes.div_ceil(block_bytes as u64), block_bytes)
    }

    /// Returns the class of a number of blocks.
    pub(crate) fn round(&self, blocks: u64, block_bytes: usize) -> u64 {
        match self {
            Padding::None => blocks,
            Padding::PowersOfTwo => blocks.max(1).next_power_of_two(),
            Padding::Classes(classes) => {
                let blocks = blocks.max(1);
                let mut largest = 1;
                for class in classes {
                    largest = class.div_ceil(block_bytes as u64);
                    if largest >= blocks {
                        return largest;
                    }
                }
                blocks.next_multiple_of(largest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_padding_an_object_takes_what_it_needs() {
        let sizes = [0, 1, 100, 101, 1000].map(|bytes| Padding::None.blocks(bytes, 100));
        assert_eq!(sizes, [0, 1, 1, 2, 10]);
    }

    #[test]
    fn powers_of_two_start_at_one_block() {
        let sizes = [0, 1, 100, 101, 300, 400, 401].map(|bytes| Padding::PowersOfTwo.blocks(bytes, 100));
        assert_eq!(sizes, [1, 1, 1, 2, 4, 4, 8]);
    }

    #[test]
    fn beyond_the_largest_class_come_its_multiples() {
        let padding = Padding::Classes(vec![150, 1000]);
        let sizes = [0, 200, 201, 1000, 1001, 2001].map(|bytes| padding.blocks(bytes, 100));
        assert_eq!(sizes, [2, 2, 10, 10, 20, 30]);
    }

    #[test]
    fn classes_out_of_order_are_refused() {
        assert_eq!(Padding::Classes(vec![]).check(), Err(PaddingError::Empty));
        assert_eq!(
            Padding::Classes(vec![5, 5]).check(),
            Err(PaddingError::NotAscending { place: 2, size: 5, before: 5 })
        );
        assert_eq!(Padding::Classes(vec![1, 5]).check(), Ok(()));
    }
}
