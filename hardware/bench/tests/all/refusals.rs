//! Choices that are not possible: when a design is built, each is refused with its own message, and with no other
//! message.

use ameles_hardware_bench::{Configuration, DesignBuilder, FrontEnd, Scheme};

/// Changes of possible choices, with the beginning of the sentence that refuses each.
type Refusals<'a, T> = &'a [(&'a str, fn(&mut T))];

const OF_TREES: Refusals<Configuration> = &[
    ("leaf_level is over 31", |c| c.leaf_level = 32),
    ("blocks_per_bucket is not 1 to 64", |c| c.blocks_per_bucket = 0),
    ("blocks_per_bucket is not 1 to 64", |c| c.blocks_per_bucket = 65),
    ("eviction_rate is 0", |c| c.eviction_rate = 0),
    ("eviction_rate is not below twice blocks_per_bucket", |c| c.eviction_rate = 10),
    ("stash_blocks is 0", |c| c.stash_blocks = 0),
    ("bus_bits is not 128, 256 or 512", |c| c.bus_bits = 0),
    ("bus_bits is not 128, 256 or 512", |c| c.bus_bits = 64),
    ("bus_bits is not 128, 256 or 512", |c| c.bus_bits = 384),
    ("block_bytes is not a power of two", |c| c.block_bytes = 0),
    ("block_bytes is not a power of two", |c| c.block_bytes = 96),
    ("block_bytes is over 4096", |c| c.block_bytes = 8192),
    ("block_bytes is less than a beat", |c| c.block_bytes = 32),
    ("aes_lanes is 0", |c| c.aes_lanes = 0),
    ("aes_lanes is more than the widest mask has chunks", |c| c.aes_lanes = 5),
    ("mask_beats is below 2", |c| c.mask_beats = 1),
    ("level_blocks has more than blocks_per_bucket", |c| c.level_blocks[7] = 6),
    ("level_blocks is for Path ORAM", |c| c.level_blocks[7] = 4),
    ("top_levels is over leaf_level or over 16", |c| (c.leaf_level, c.blocks, c.top_levels) = (5, 60, 6)),
    ("top_levels is over leaf_level or over 16", |c| c.top_levels = 17),
    ("scan_lanes is not 1 or 2", |c| c.scan_lanes = 0),
    ("scan_lanes is not 1 or 2", |c| c.scan_lanes = 3),
    ("subtree_levels is over the levels that memory holds", |c| (c.top_levels, c.subtree_levels) = (14, 8)),
    ("stall_cycles is 2^31 or more", |c| c.stall_cycles = u32::MAX),
    ("blocks is 0", |c| c.blocks = 0),
    ("blocks, with those of the PosMaps, is more than the tree has room for", |c| {
        c.blocks = 4 * (1 << 20) + 1
    }),
    ("AddressBits does not reach the end of the tree", |c| (c.leaf_level, c.block_bytes) = (31, 4096)),
];

const OF_FRONT_ENDS: Refusals<(Configuration, FrontEnd)> = &[
    ("block_bytes is less than a beat", |(c, _)| c.block_bytes = 32),
    ("block_bytes is not a power of two", |(c, _)| c.block_bytes = 0),
    ("capacity is 0", |(c, _)| c.blocks = 0),
    ("capacity is over 2^30", |(c, _)| c.blocks = (1 << 30) + 1),
    ("labels is not a power of two", |(_, f)| f.labels = 0),
    ("labels is not a power of two", |(_, f)| f.labels = 1),
    ("labels is not a power of two", |(_, f)| f.labels = 24),
    ("label_bits is not 2 to 63", |(_, f)| f.label_bits = 1),
    ("label_bits is not 2 to 63", |(_, f)| f.label_bits = 64),
    ("labels of label_bits beside a group counter of 64 bits do not fit", |(_, f)| f.label_bits = 15),
    ("trusted is 0", |(_, f)| f.trusted = 0),
    ("look_aside is not a power of two", |(_, f)| f.look_aside = 0),
    ("look_aside is not a power of two", |(_, f)| f.look_aside = 96),
    ("label_bits is too few", |(_, f)| f.label_bits = 5),
    ("slot_cycles is 2^31 or more", |(_, f)| f.slot_cycles = u32::MAX),
    ("aes_lanes is odd", |(c, _)| (c.aes_double, c.aes_lanes) = (true, 1)),
    ("tag_bits is neither 0 nor", |(_, f)| f.tag_bits = 32),
    ("tag_bits is neither 0 nor", |(_, f)| f.tag_bits = 100),
    ("tag_bits is neither 0 nor", |(_, f)| f.tag_bits = 136),
    ("blocks, with those of the PosMaps, is more than the tree has room for", |(c, _)| {
        c.blocks = 4 * (1 << 20)
    }),
    ("mask_beats is below 2", |(c, _)| c.mask_beats = 0),
];

fn assert_refused(configuration: Configuration, sentence: &str) {
    let errors = DesignBuilder::new().unwrap().errors(&configuration).unwrap();
    assert_eq!(errors.len(), 1, "{configuration:?}: {errors:?}");
    assert!(errors[0].contains(sentence), "{sentence}: {errors:?}");
}

#[test]
#[ignore = "needs Verilator: `cargo xtask hardware test` runs it"]
fn each_choice_that_is_not_possible_is_refused_with_a_sentence() {
    let paper = Configuration::paper(Scheme::Raw);
    for (sentence, change) in OF_TREES {
        let mut wrong = paper;
        change(&mut wrong);
        assert_refused(wrong, sentence);
    }
    for (sentence, change) in OF_FRONT_ENDS {
        let whole = paper.with_front_end();
        let mut wrong = (whole, whole.front_end.expect("it has one"));
        change(&mut wrong);
        assert_refused(Configuration { front_end: Some(wrong.1), ..wrong.0 }, sentence);
    }
    for possible in [paper, Configuration::paper(Scheme::Path), paper.with_front_end()] {
        assert_eq!(DesignBuilder::new().unwrap().errors(&possible).unwrap(), Vec::<String>::new());
    }
}
