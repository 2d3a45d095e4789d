"""Proves properties of cells, each in its own file. Exits with 0 only if all of them hold.

A variant of each proof, with its property or cell broken on purpose, must fail and runs first: it shows that the solver
can refute. See `solver.py` for the meaning of a proof. With the argument `long` it makes the proofs that take minutes.
"""

import os
import sys

from solver import HERE, by_induction, by_reachability, fails, within

REPLACED_AES = [f"{HERE}/replaced_aes_pkg.sv", f"{HERE}/replaced_aes.sv"]
STASH = [
    *("stash", "unload", "plan", "free_list", "resident_list", "push_to_leaf", "shared_levels", "deepest_room"),
    *("path_walk", "write_back", "burst", "bucket_offset", "fifo", "ram"),
    *("tree_top", "plan_queue", "bucket_tags"),
]
READS = [
    f"{HERE}/read_issue_among_writes.sv",
    *("read_issue", "path_walk", "bucket_offset", "burst", "shared_levels"),
]
SCHEDULE = ["schedule", f"{HERE}/schedule_among_requests.sv"]
PAIR = [*STASH, f"{HERE}/stash_and_write_back.sv"]
BACKEND = [
    *REPLACED_AES, f"{HERE}/watched_chunk.sv",
    *("backend", "check", "read_room", "stall_watch"),
    *("schedule", "read_issue", "write_masks", "bucket_masks", "eviction_masks", "mask_engine", "mask_stream"),
    *("arrive", "job_walk", *STASH),
]
RAW = {"Raw": "1'b1"}
PATH = {"Raw": "1'b0"}
TOP = {"TopLevels": 1}
TAGS = {"TagBits": 128}
TWO_LANES = {"ScanLanes": 2}
TWO_BEATS = {"BlockBeats": 2}
BLOCK_RAM = {"BlockRam": "1'b1"}
LEVELS = [{"LeafLevel": level} for level in range(21)]

# The statement of a proof, its file, the cells that it needs, the method, and the configurations. Then the number of cycles in
# which the broken variant must fail, and its configuration.
PROOFS = [
    ("PushBack is the deepest level of both paths that has room", "push_back_proof",
     ["shared_levels", "deepest_room"], by_induction, LEVELS, 1, {"LeafLevel": 5}),
    ("a twin gets the place that it would get a cycle later", "push_twin_proof",
     ["push_to_leaf", "shared_levels", "deepest_room"], by_induction,
     [{"LeafLevel": 0, "BlocksPerBucket": 1}, {"LeafLevel": 5}, {"LeafLevel": 5, "LevelBlocks": "256'h0202010203"},
      {"LeafLevel": 20}], 10, {"LeafLevel": 1, "BlocksPerBucket": 1}),
    ("queues keep their words and the order of them", "fifo_proof", ["fifo", "ram"], by_induction,
     [{"Depth": 1}, {"Depth": 4}, {"Depth": 5, "Width": 7}, {"Depth": 16}, {"Depth": 4} | BLOCK_RAM,
      {"Depth": 6, "Width": 7} | BLOCK_RAM],
     8, BLOCK_RAM),
    ("a slot that is taken is not given out", "free_list_proof", ["free_list", "fifo", "ram"], by_induction,
     [{"Slots": 4}, {"Slots": 5}, {"Slots": 6}], 8, {}),
    ("no IV is given twice", "schedule_masks_proof", SCHEDULE, by_induction, [RAW, PATH], 8, RAW),
    ("no mask of a path that goes back is requested twice", "write_masks_proof",
     ["write_masks", "bucket_masks", "job_walk", "path_walk"], by_induction,
     [RAW, PATH, PATH | {"LeafLevel": 0}, PATH | {"BusBits": 128}, RAW | {"BusBits": 128, "LeafLevel": 5},
      PATH | TOP, RAW | {"TopLevels": 4}], 40, RAW | {"LeafLevel": 1}),
    ("no mask of an eviction that goes back is requested twice", "eviction_masks_proof", ["eviction_masks", "path_walk"],
     by_induction, [{"LeafLevel": 0}, {"LeafLevel": 5}, {"LeafLevel": 20, "BlocksPerBucket": 1},
      {"LeafLevel": 5, "TopLevels": 2}], 60,
     {"LeafLevel": 1, "BlocksPerBucket": 1}),
    ("no mask is lost", "mask_stream_proof", ["mask_stream", "fifo", "ram"], by_induction,
     [{}, BLOCK_RAM], 20, {}),
    ("each mask is made of its own request, in order", "mask_engine_proof",
     [*REPLACED_AES, f"{HERE}/copied_chunk.sv", "mask_engine", "mask_stream", "fifo", "ram"], by_induction,
     [RAW, PATH, PATH | {"Paced": "1'b0", "Lanes": 2}], 10, PATH),
    ("bursts stay, cross no page and cover their stretch", "burst_proof", ["burst"], by_induction,
     [{}, {"BusBits": 128, "MostBeats": 40}], 10, {}),
    ("no two buckets overlap in memory", "bucket_offset_proof", ["bucket_offset", "path_walk"], by_induction,
     [{"LeafLevel": 0}, {"LeafLevel": 20}, {"LeafLevel": 5, "FirstLevel": 2}, {"LeafLevel": 5, "SubtreeLevels": 3},
      {"LeafLevel": 5, "SubtreeLevels": 2, "FirstLevel": 1}], 10, {"LeafLevel": 3}),
    ("answers of memory stay until they are taken", "arrive_handshakes_proof",
     ["arrive", "job_walk", "path_walk", "fifo", "ram", "bucket_masks"], by_induction, [RAW, PATH, PATH | {"LeafLevel": 0}], 10, RAW),
    ("the room for answers of memory is never exceeded", "read_room_proof",
     ["read_room", "arrive", "job_walk", "path_walk", "bucket_masks", "fifo", "ram"], by_induction,
     [RAW, PATH, PATH | {"LeafLevel": 0}, RAW | {"LeafLevel": 5}, PATH | {"LeafLevel": 2, "BlockBeats": 4}], 16,
     RAW | {"LeafLevel": 0, "BlocksPerBucket": 1}),
    ("a job stays until it is taken", "schedule_handshakes_proof", SCHEDULE, by_induction, [RAW, PATH], 10, RAW),
    ("addresses of reads stay until they are taken", "read_issue_handshakes_proof",
     READS, by_induction, [RAW, PATH, PATH | {"LeafLevel": 5}, RAW | TOP], 20, RAW),
    ("no bucket is read before its newest contents are written or on chip", "read_issue_newest_proof", READS, by_induction,
     [*(scheme | {"LeafLevel": level} for scheme in (RAW, PATH) for level in (0, 1, 2, 5, 20)), RAW | TOP, PATH | TOP],
     30, PATH),
    ("addresses and beats of writes stay until they are taken", "write_back_handshakes_proof",
     ["write_back", "path_walk", "bucket_offset", "burst", "fifo", "ram"], by_induction,
     [RAW, PATH, RAW | {"BlockBeats": 2, "BlocksPerBucket": 2},
      RAW | TAGS, PATH | TAGS | {"BlocksPerBucket": 2}], 20, RAW),
    ("what the stash offers stays until it is taken", "stash_handshakes_proof", PAIR, by_reachability,
     [PATH, PATH | TWO_BEATS], 20, RAW | TWO_BEATS),
    ("no write goes to a slot of the stash that holds a block", "stash_slots_proof", PAIR, within(24), [RAW, PATH], 20, PATH),
    ("masks of evictions are taken in turn", "eviction_turns_proof", PAIR, by_reachability, [{}, TWO_BEATS], 20, {}),
]

LONG = [
    ("masks of evictions are taken in turn", "eviction_turns_proof", PAIR, by_reachability, [TOP, TAGS], 20, {}),
    ("no mask is used twice", "backend_pads_proof", BACKEND, within(40), [RAW, PATH], 30, RAW),
    ("what the stash offers stays until it is taken", "stash_handshakes_proof", PAIR, by_reachability,
     [RAW, PATH | TOP, PATH | TAGS], 20, RAW | TWO_BEATS),
    ("no write goes to a slot of the stash that holds a block", "stash_slots_proof", PAIR, within(26),
     [scheme | more for scheme in (RAW, PATH) for more in ({}, TOP | TWO_LANES, TAGS, TAGS | TOP | TWO_LANES)], 20, PATH),
]


def seconds():
    """Returns the processor time of this program and those that it started, in seconds."""
    return sum(os.times()[:4])


def main():
    for says, top, cells, how, configurations, depth, broken in LONG if sys.argv[1:] == ["long"] else PROOFS:
        began = seconds()
        fails(top, cells, broken, depth)
        for configuration in configurations:
            how(top, cells, configuration)
        print(f"{says}: {how.__name__}, {len(configurations)} configurations, {seconds() - began:.1f} s")


if __name__ == "__main__":
    main()
