//! Controllers that are broken on purpose, each in one place: the tests must find every one.

/// A change of the RTL: an expression with another in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The fault.
    pub fault: &'static str,
    /// The file that is changed.
    pub file: &'static str,
    /// The expression that is replaced where it comes first.
    pub from: &'static str,
    /// The expression in its place.
    pub to: &'static str,
}

impl Mutant {
    /// All of them. A library of mutants has every one in it, and a run chooses.
    pub const ALL: [&[Mutant]; 7] = [
        &Mutant::FUNCTIONAL,
        &Mutant::FRONT_END,
        &[Mutant::UNCHECKED_TAGS],
        &Mutant::LEAKING_PACER,
        &Mutant::OPTIONS,
        &Mutant::LEAKING_OPTIONS,
        &Mutant::LEAKING,
    ];

    /// The number by which a run chooses it: its index among all, counted from 1.
    ///
    /// # Panics
    /// If it is not in [`Mutant::ALL`].
    pub fn number(&self) -> u32 {
        let place = Mutant::ALL.concat().iter().position(|mutant| mutant == self);
        place.expect("it is one of all") as u32 + 1
    }

    /// The faults that show in addresses, ciphertexts or answers: those that a comparison with the core must find.
    pub const FUNCTIONAL: [Mutant; 9] = [
        Mutant {
            fault: "a bucket off by one",
            file: "ameles_bucket_offset.sv",
            from: "(right_i ? Right : Left)",
            to: "(right_i ? Right : Right)",
        },
        Mutant {
            fault: "an IV that is given twice",
            file: "ameles_schedule.sv",
            from: "iv_q + 1'b1",
            to: "iv_q + 64'(evictions_q[0])",
        },
        Mutant {
            fault: "a pad of a body that is used for a second writing",
            file: "ameles_eviction_masks.sv",
            from: "count + 64'(writing_q)",
            to: "count",
        },
        Mutant {
            fault: "an eviction count that rounds the other way",
            file: "ameles_path_walk.sv",
            from: "65'(!right_o)",
            to: "65'(right_o)",
        },
        Mutant {
            fault: "evictions from left to right",
            file: "ameles_pkg.sv",
            from: "evictions[nth]",
            to: "evictions[c.leaf_level-1-nth]",
        },
        Mutant {
            fault: "a full bucket that takes one more",
            file: "ameles_push_to_leaf.sv",
            from: "occupied_q[level] == CountBits'(Places)",
            to: "1'b0",
        },
        Mutant {
            fault: "a block that goes below its leaf's path",
            file: "ameles_shared_levels.sv",
            from: "~t1 & (t1 - 1'b1)",
            to: "t1 ^ (t1 - 1'b1)",
        },
        Mutant {
            fault: "a block of interest that stays in its header",
            file: "ameles_unload.sv",
            from: "row[place].valid && !hit[place]",
            to: "row[place].valid",
        },
        Mutant {
            fault: "a header that is read before it was written",
            file: "ameles_read_issue.sv",
            from: "any_before_q && !before_whole_q ? shared : '0",
            to: "'0",
        },
    ];

    /// The faults of the front end: those that a comparison with the core must detect.
    pub const FRONT_END: [Mutant; 3] = [
        Mutant {
            fault: "a leaf that is not redrawn",
            file: "ameles_front_end.sv",
            from: "asked_new_q ? new_q : old_q",
            to: "old_q",
        },
        Mutant {
            fault: "a straggler that is left behind",
            file: "ameles_front_end.sv",
            from: "!by_table && straggler_valid && !turn_done_q",
            to: "1'b0",
        },
        Mutant {
            fault: "a PosMap block that is lost when it leaves the PLB",
            file: "ameles_front_end.sv",
            from: "is_fetch && victim_valid_q",
            to: "1'b0",
        },
    ];

    /// A controller that ignores the tags.
    pub const UNCHECKED_TAGS: Mutant = Mutant {
        fault: "tags that are not compared",
        file: "ameles_pmmac.sv",
        from: "fits_q ? Give : Refuse",
        to: "Give",
    };

    /// The faults that show through the pacer, only in cycles: those that the judge of the bus must find.
    pub const LEAKING_PACER: [Mutant; 4] = [
        Mutant {
            fault: "a write that has its path before its data",
            file: "ameles_front_end.sv",
            from: "(whole || !(is_last && write_q))",
            to: "1'b1",
        },
        Mutant {
            fault: "a slot for no block that has no put",
            file: "ameles_pacer.sv",
            from: "(Paced || offered.put)",
            to: "is_real && offered.put",
        },
        Mutant {
            fault: "leaves that delay masks",
            file: "ameles_mask_engine.sv",
            from: "turn_q == '0",
            to: "turn_q == '0 || leaf_input.valid",
        },
        Mutant {
            fault: "a slot that a request opens early",
            file: "ameles_pacer.sv",
            from: "left_q == '0",
            to: "left_q == '0 || slot.valid && left_q < 20",
        },
    ];

    /// The faults of the tree top, of its scan, of sizes by level and of subtrees: those that a comparison with the
    /// core must find.
    pub const OPTIONS: [Mutant; 4] = [
        Mutant {
            fault: "a block of the tree top that is lost",
            file: "ameles_tree_top.sv",
            from: "CountBits'(place) < occupied_q[level]",
            to: "CountBits'(place) + 1'b1 < occupied_q[level]",
        },
        Mutant {
            fault: "a small bucket that takes as many blocks as the others",
            file: "ameles_push_to_leaf.sv",
            from: "CountBits'(Places)",
            to: "CountBits'(BlocksPerBucket)",
        },
        Mutant {
            fault: "a twin that replaces the block next to it",
            file: "ameles_push_to_leaf.sv",
            from: "(nearest & filled) != '0 ? next : nearest",
            to: "nearest",
        },
        Mutant {
            fault: "a subtree at the address of another",
            file: "ameles_bucket_offset.sv",
            from: "layer_begins[layer_q] + below",
            to: "layer_begins[layer_q] + begins_q",
        },
    ];

    /// The faults of the tree top that show only in cycles.
    pub const LEAKING_OPTIONS: [Mutant; 1] = [Mutant {
        fault: "a scan of the tree top that leaves empty places out",
        file: "ameles_tree_top.sv",
        from: "32'(place_q) + Lanes >= places(Cfg, 32'(row_level_q))",
        to: "!row.places[place_q].valid || 32'(place_q) + Lanes >= places(Cfg, 32'(row_level_q))",
    }];

    /// The faults that show only in cycles: those that the judge of the bus must find.
    pub const LEAKING: [Mutant; 2] = [
        Mutant {
            fault: "a scan that ends with the last block",
            file: "ameles_resident_list.sv",
            from: "32'(scanned_q) + Lanes < Places",
            to: "32'(scanned_q) + Lanes < 32'(before_q)",
        },
        Mutant {
            fault: "a dummy that takes a cycle less",
            file: "ameles_stash.sv",
            from: "!last_beat ? Read : HasTags ? NewTag : Push",
            to: "!last_beat ? Read : has_block ? Push : Settle",
        },
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn each_mutant_changes_a_text_that_is_there() {
        let rtl = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hardware/rtl");
        for mutant in Mutant::ALL.concat() {
            let text = std::fs::read_to_string(rtl.join(mutant.file)).unwrap();
            assert!(text.contains(mutant.from), "{}: {}", mutant.file, mutant.fault);
            assert_ne!(mutant.from, mutant.to);
        }
    }

    #[test]
    fn a_mutant_is_identified_by_its_number() {
        let numbers: Vec<u32> = Mutant::ALL.concat().iter().map(Mutant::number).collect();
        assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
    }
}
