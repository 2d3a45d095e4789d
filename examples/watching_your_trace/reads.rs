//! The reads of a person in a day, by block number.

/// The number of blocks.
pub(crate) const BLOCKS: u64 = 1024;

/// The reads of a day. The steps are: a folder is read through; a document is opened again and again; a few files are
/// read in turn; an archive is searched; the first folder is read through again.
pub(crate) fn working_day_reads() -> Vec<u64> {
    let mut reads: Vec<u64> = (120..200).collect();
    for hour in 0..12 {
        reads.extend([700, 700, 701, 380 + 3 * hour]);
    }
    for _ in 0..10 {
        reads.extend([520, 548, 571, 590, 612]);
    }
    let (mut low, mut high) = (0, BLOCKS);
    for _ in 0..4 {
        for sought in [905, 861, 990] {
            while high - low > 1 {
                let middle = (low + high) / 2;
                reads.push(middle);
                if middle <= sought { low = middle } else { high = middle }
            }
            (low, high) = (0, BLOCKS);
        }
    }
    reads.extend(120..200);
    reads
}
