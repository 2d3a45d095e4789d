//! Controllers that are broken on purpose, each in one place: the tests must find every one.

/// A change of the RTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The fault.
    pub fault: &'static str,
    /// The file that is changed.
    pub file: &'static str,
    /// The text that is replaced where it comes first.
    pub from: &'static str,
    /// The text in its place.
    pub to: &'static str,
}

impl Mutant {
    /// Faults that show in addresses, ciphertexts or answers: those that a comparison with the core must find.
    pub const WRONG: [Mutant; 9] = [
        Mutant {
            fault: "a bucket off by one",
            file: "lethe_bucket_offset.sv",
            from: "(right_i ? Right : Left)",
            to: "(right_i ? Right : Right)",
        },
        Mutant {
            fault: "an IV that is given twice",
            file: "lethe_schedule.sv",
            from: "iv_q <= iv_q + 1'b1;",
            to: "iv_q <= iv_q + 64'(evictions_q[0]);",
        },
        Mutant {
            fault: "a pad of a body that is used for a second writing",
            file: "lethe_eviction_masks.sv",
            from: "iv: count + 64'(writing_q)",
            to: "iv: count",
        },
        Mutant {
            fault: "an eviction count that rounds the other way",
            file: "lethe_path_walk.sv",
            from: "65'(!right_o)",
            to: "65'(right_o)",
        },
        Mutant {
            fault: "evictions from left to right",
            file: "lethe_pkg.sv",
            from: "path[c.leaf_level-1-nth] = evictions[nth];",
            to: "path[nth] = evictions[nth];",
        },
        Mutant {
            fault: "a full bucket that takes one more",
            file: "lethe_push_to_leaf.sv",
            from: "occupied_q[level] == CountBits'(BlocksPerBucket)",
            to: "1'b0",
        },
        Mutant {
            fault: "a block that goes below its leaf's path",
            file: "lethe_shared_levels.sv",
            from: "assign shared_o = ~t1 & (t1 - 1'b1);",
            to: "assign shared_o = t1 ^ (t1 - 1'b1);",
        },
        Mutant {
            fault: "a block of interest that stays in its header",
            file: "lethe_unload.sv",
            from: "kept[place].valid = row[place].valid && !hit[place];",
            to: "kept[place].valid = row[place].valid;",
        },
        Mutant {
            fault: "a header that is read before it was written",
            file: "lethe_read_issue.sv",
            from: "any_before_q && !before_whole_q ? shared : '0",
            to: "'0",
        },
    ];

    /// Faults of the front end: those that a comparison with the core must find.
    pub const FRONT_END: [Mutant; 3] = [
        Mutant {
            fault: "a leaf that is not drawn anew",
            file: "lethe_front_end.sv",
            from: "asked_new_q ? new_q : old_q",
            to: "old_q",
        },
        Mutant {
            fault: "a straggler that is left behind",
            file: "lethe_front_end.sv",
            from: "assign is_turn = !by_table && straggler_valid && !turn_done_q;",
            to: "assign is_turn = 1'b0;",
        },
        Mutant {
            fault: "a PosMap block that is lost when it leaves the PLB",
            file: "lethe_front_end.sv",
            from: "victim_valid_q ? Put : Fetched",
            to: "Fetched",
        },
    ];

    /// Faults that show only in cycles: those that the judge of the bus must find.
    pub const TELLING: [Mutant; 2] = [
        Mutant {
            fault: "a scan that ends with the last block",
            file: "lethe_resident_list.sv",
            from: "reading_q <= scanned_q != CountBits'(Places - 1);",
            to: "reading_q <= scanned_q + 1'b1 < before_q;",
        },
        Mutant {
            fault: "a dummy that takes a cycle less",
            file: "lethe_stash.sv",
            from: "state_d = last_beat ? Push : Read;",
            to: "state_d = !last_beat ? Read : has_block ? Push : Settle;",
        },
    ];
}
