// The shape of a controller: the choices of its user, and the values that follow from them.
package ameles_pkg;

  // The scheme of the backend. Path ORAM reads and writes a path for each access. RAW ORAM reads a path and writes its
  // headers (access only). After A accesses it reads and writes a path in reverse lexicographic order (eviction only).
  typedef enum logic {
    PathOram = 1'b0,
    RawOram = 1'b1
  } scheme_e;

  // The choices. Letters are those of the papers.
  typedef struct packed {
    scheme_e     scheme;
    int unsigned leaf_level;         // L: the tree has 2^L leaves, and a path L + 1 buckets
    int unsigned blocks_per_bucket;  // Z
    int unsigned eviction_rate;      // A, of RAW ORAM
    int unsigned stash_blocks;       // C: blocks that wait between two paths
    int unsigned blocks;             // N: blocks that have an address
    int unsigned block_bytes;        // bytes of a block
    int unsigned bus_bits;           // bits of a beat on the memory bus
    int unsigned aes_lanes;          // blocks of AES that a cycle begins
    logic        aes_double;         // each two lanes are one pipeline at clk2_i, twice as fast as clk_i
    int unsigned aes_rom_rounds;     // rounds of AES whose S-boxes are in block RAM
    int unsigned mask_beats;         // masks of RAW ORAM's evictions that are made ahead of time
    int unsigned top_levels;         // levels on chip, from the root's: memory holds the others only
    logic [31:0][7:0] level_blocks;  // blocks of a bucket of each level; 0 stands for Z, the maximum
    int unsigned subtree_levels;     // levels whose buckets are together in memory; 0 or 1 for the order of a heap
    int unsigned scan_lanes;         // blocks of the stash and of the tree top that a cycle scans: 1 or 2
    // Of the front end; a backend without a front end has 0 here.
    int unsigned capacity;           // blocks of the user; `blocks` is `space_blocks` then
    int unsigned labels;             // X', counters in a PosMap block: a power of two
    int unsigned label_bits;         // β, bits of a counter in a PosMap block
    int unsigned trusted;            // the maximum of counters in the table on chip
    int unsigned look_aside;         // lines of the PLB: a power of two
    int unsigned tag_bits;           // bits of a block's tag (PMMAC), at most 128; 0 for none
    int unsigned slot_cycles;        // the minimum of cycles from path to path, with paths for no block in between; 0 for no pacer
    int unsigned stall_cycles;       // cycles without a move of memory after which `memory_stalled_o` rises; 0 for never
  } config_t;

  // The operations of a backend. A put has no path, a dummy no block, and a skip neither: it takes a put's time.
  typedef enum logic [2:0] {
    OpRead  = 3'd0,  // answers with the block, which stays in the tree
    OpWrite = 3'd1,  // replaces the block, and answers with its old content
    OpTake  = 3'd2,  // answers with the block, which leaves the tree
    OpPut   = 3'd3,  // puts a block in that is not in the tree
    OpDummy = 3'd4,  // reads a path for no block
    OpSkip  = 3'd5   // puts no block in
  } op_e;

  // The block of a slot: one of the user, or one of the user that is dropped, or one that leaves the PLB.
  typedef enum logic [1:0] {
    FromUser,
    Dropped,
    FromLookAside
  } source_e;

  // A combined request of the front end to the backend: an access, and for a fetched PosMap block the put of the evicted one.
  typedef struct packed {
    op_e         op;
    logic [31:0] block;
    logic [31:0] path;
    logic [31:0] leaf;
    logic        put;
    logic [31:0] put_block;
    logic [31:0] put_leaf;
  } slot_t;

  // The inputs of a slot's tags: the old and the new counter of its block, and the counter of the block that is put.
  typedef struct packed {
    logic        dummy;
    logic        write;
    logic        put;
    logic [31:0] block;
    logic [63:0] old_counter;
    logic [63:0] new_counter;
    logic [31:0] put_block;
    logic [63:0] put_counter;
  } slot_tags_t;

  // A slot with the inputs of its tags.
  typedef struct packed {
    slot_t      slot;
    slot_tags_t tags;
  } tagged_slot_t;

  // A request of the user.
  typedef struct packed {
    logic        write;
    logic [31:0] block;
  } user_request_t;

  // A request to the backend.
  typedef struct packed {
    op_e         op;
    logic [31:0] block;
    logic [31:0] path;  // the leaf of the path that is read
    logic [31:0] leaf;  // the leaf of the block from now on
    logic        more;  // a put follows that belongs to it, before any due eviction
  } request_t;

  // The work on one path, as it goes from cell to cell. Fields are as wide as any configuration needs.
  typedef struct packed {
    logic        evict;      // no access: the path is read and rewritten
    op_e         op;
    logic        more;       // a put follows that belongs to it
    logic [31:0] block;
    logic [31:0] path;       // the leaf of the path
    logic [31:0] leaf;       // the leaf of the block from now on
    logic [63:0] iv;         // IV of what this path writes; never given twice
    logic [63:0] evictions;  // G: evictions of RAW ORAM before this one
  } job_t;

  // The block of AES of which a mask is made. The highest bit keeps masks apart from leaves, whose blocks of AES end in
  // a counter. The next one keeps headers apart from bodies under equal IVs.
  typedef struct packed {
    logic        mask;
    logic        body;
    logic [29:0] chunk;
    logic [31:0] bucket;
    logic [63:0] iv;
  } pad_t;

  // A request for a mask: its first pad, and whether it is for a row or for a beat.
  typedef struct packed {
    logic row;
    pad_t pad;
  } mask_request_t;

  localparam int unsigned IvBits = 64;
  localparam int unsigned ChunkBits = 128;

  // Each of these uses only some of the choices.
  /* verilator lint_off UNUSEDSIGNAL */

  // Whether an operation reads a path.
  function automatic logic has_path(op_e op);
    return op != OpPut && op != OpSkip;
  endfunction

  function automatic int unsigned at_least_one(int unsigned bits);
    return bits == 0 ? 1 : bits;
  endfunction

  function automatic int unsigned levels(config_t c);
    return c.leaf_level + 1;
  endfunction

  function automatic int unsigned level_bits(config_t c);
    return at_least_one($clog2(c.leaf_level + 1));
  endfunction

  function automatic int unsigned leaf_bits(config_t c);
    return at_least_one(c.leaf_level);
  endfunction

  function automatic int unsigned block_bits(config_t c);
    return at_least_one($clog2(c.blocks));
  endfunction

  // Bits of an entry of a header: whether there is a block, its number, and its leaf.
  function automatic int unsigned entry_bits(config_t c);
    return 1 + block_bits(c) + leaf_bits(c);
  endfunction

  // Bits of all entries. A header of Path ORAM also says which of the two buckets below were ever written.
  function automatic int unsigned row_bits(config_t c);
    return c.blocks_per_bucket * entry_bits(c) + (c.scheme == PathOram ? 2 : 0);
  endfunction

  // Blocks of AES for the mask of a row.
  function automatic int unsigned row_chunks(config_t c);
    return (row_bits(c) + ChunkBits - 1) / ChunkBits;
  endfunction

  // Beats of a header: the IV in the clear, then the row.
  function automatic int unsigned header_beats(config_t c);
    return (IvBits + row_chunks(c) * ChunkBits + c.bus_bits - 1) / c.bus_bits;
  endfunction

  function automatic int unsigned block_beats(config_t c);
    return c.block_bytes * 8 / c.bus_bits;
  endfunction

  // Beats of the counters of a PosMap block, from its first beat. The other beats are zeros.
  function automatic int unsigned group_beats(config_t c);
    return (64 + c.labels * c.label_bits + c.bus_bits - 1) / c.bus_bits;
  endfunction

  // Whether a queue of beats is in block RAM: one that is longer than the memory of a look-up table.
  function automatic bit in_block_ram(int unsigned beats);
    return beats > 32;
  endfunction

  // Blocks of the user that wait in the front end, on the way in, and with a pacer on the way out.
  function automatic int unsigned waiting_blocks(config_t c);
    return block_beats(c) <= 8 ? 4 : 2;
  endfunction

  // Blocks of a bucket of a level.
  function automatic int unsigned places(config_t c, int unsigned level);
    logic [7:0] blocks = c.level_blocks[level[4:0]];
    return blocks == '0 ? c.blocks_per_bucket : 32'(blocks);
  endfunction

  // Tags follow the blocks of a bucket, each within a beat, in the same number of beats in each level.
  function automatic int unsigned tags_per_beat(config_t c);
    return c.tag_bits == 0 ? 1 : c.bus_bits / c.tag_bits;
  endfunction

  function automatic int unsigned tag_beats(config_t c);
    return c.tag_bits == 0 ? 0 : (c.blocks_per_bucket + tags_per_beat(c) - 1) / tags_per_beat(c);
  endfunction

  function automatic int unsigned body_beats(config_t c, int unsigned level);
    return places(c, level) * block_beats(c) + tag_beats(c);
  endfunction

  function automatic int unsigned bucket_beats(config_t c, int unsigned level);
    return header_beats(c) + body_beats(c, level);
  endfunction

  // Beats of the largest bucket: each bucket has this room in memory.
  function automatic int unsigned most_body_beats(config_t c);
    return c.blocks_per_bucket * block_beats(c) + tag_beats(c);
  endfunction

  function automatic int unsigned most_bucket_beats(config_t c);
    return header_beats(c) + most_body_beats(c);
  endfunction

  // Beats of a path in memory.
  function automatic int unsigned path_beats(config_t c);
    int unsigned beats = 0;
    for (int unsigned level = c.top_levels; level <= c.leaf_level; level++) beats += bucket_beats(c, level);
    return beats;
  endfunction

  // Beats that may be on their way from memory or wait to be taken in. They are those of two paths, or as many as a
  // block RAM has words. The largest burst fits, of 256 beats. They are enough for a scan of the stash and the way to
  // memory.
  function automatic int unsigned arrival_beats(config_t c);
    return 2 * path_beats(c) < 512 ? 2 * path_beats(c) : 512;
  endfunction

  // The headers among them.
  function automatic int unsigned arrival_headers(config_t c);
    int unsigned both = 2 * (levels(c) - c.top_levels);
    return both < 32 ? both : 32;
  endfunction

  function automatic int unsigned beat_chunks(config_t c);
    return c.bus_bits / ChunkBits;
  endfunction

  // Chunks of the largest mask of a request: that of a row or of a beat.
  function automatic int unsigned mask_chunks(config_t c);
    return row_chunks(c) > beat_chunks(c) ? row_chunks(c) : beat_chunks(c);
  endfunction

  // Places of the tree top.
  function automatic int unsigned top_places(config_t c);
    int unsigned all = 0;
    for (int unsigned level = 0; level < c.top_levels; level++) all += places(c, level) << level;
    return all;
  endfunction

  // Places of a path in memory.
  function automatic int unsigned path_places(config_t c);
    int unsigned all = 0;
    for (int unsigned level = c.top_levels; level <= c.leaf_level; level++) all += places(c, level);
    return all;
  endfunction

  // Slots of the stash: for waiting blocks, a path from memory that passes through, the tree top, and a spare one.
  function automatic int unsigned slots(config_t c);
    return c.stash_blocks + path_places(c) + top_places(c) + 2;
  endfunction

  function automatic int unsigned slot_bits(config_t c);
    return $clog2(slots(c));
  endfunction

  // The path of an eviction in reverse lexicographic order: the bits of G, the lowest at the root.
  function automatic logic [31:0] eviction_path(config_t c, logic [63:0] evictions);
    logic [31:0] path = '0;
    for (int unsigned nth = 0; nth < c.leaf_level; nth++) path[c.leaf_level-1-nth] = evictions[nth];
    return path;
  endfunction

  // The address space of the front end: the user's blocks, then PosMap block by PosMap block, level by level.
  function automatic int unsigned map_blocks(config_t c, int unsigned level);
    int unsigned blocks = c.capacity;
    for (int unsigned nth = 0; nth < level; nth++) blocks = (blocks + c.labels - 1) / c.labels;
    return blocks;
  endfunction

  // Levels of PosMap blocks in the tree.
  function automatic int unsigned maps(config_t c);
    int unsigned level = 0;
    while (map_blocks(c, level) > c.trusted) level++;
    return level;
  endfunction

  // The first block of a level. Level 0 is the user's blocks, and level i is PosMap i.
  function automatic int unsigned first_block(config_t c, int unsigned level);
    int unsigned first = 0;
    for (int unsigned nth = 0; nth < level; nth++) first += map_blocks(c, nth);
    return first;
  endfunction

  // Blocks of the tree.
  function automatic int unsigned space_blocks(config_t c);
    return first_block(c, maps(c) + 1);
  endfunction

  // The maximum number of blocks in a tree. For RAW ORAM it is four fifths of the places in its leaves, for Path ORAM
  // three quarters of all places. With more of them, the stash of a usual C overflows (hardware/README.md).
  function automatic longint unsigned most_blocks(config_t c);
    longint unsigned all = 0;
    for (int unsigned level = 0; level <= c.leaf_level; level++) all += 64'(places(c, level)) << level;
    return c.scheme == RawOram ? 64'(at_least_one(4 * places(c, c.leaf_level) / 5)) << c.leaf_level : all - all / 4;
  endfunction

  // Bytes of the tree in memory, for any order of its buckets.
  function automatic longint unsigned tree_bytes(config_t c);
    longint unsigned bucket = 64'(most_bucket_beats(c)) * 64'(c.bus_bits / 8);
    return bucket * ((64'd2 << c.leaf_level) - (64'd1 << c.top_levels));
  endfunction

  // The impossible choices. `ameles_check` has an error message for each.
  typedef enum int unsigned {
    NoProblem,
    LeafLevelOver,
    BlocksPerBucketRange,
    EvictionRateNone,
    EvictionRateOver,
    StashBlocksNone,
    StashBlocksOver,
    BusBitsOther,
    BlockBytesPower,
    BlockBytesOver,
    BlockBytesUnder,
    AesLanesNone,
    AesLanesOver,
    MaskBeatsUnder,
    MaskBeatsOver,
    TopLevelsOver,
    LevelBlocksOver,
    LevelBlocksRaw,
    SubtreeLevelsOver,
    ScanLanesOther,
    BlocksNone,
    BlocksOver,
    CapacityNone,
    CapacityOver,
    LabelsPower,
    LabelBitsRange,
    GroupOver,
    TrustedNone,
    LookAsidePower,
    TagBitsOther,
    LabelBitsUnder,
    AesLanesOdd,
    AesRomRoundsOver,
    SlotCyclesOver,
    StallCyclesOver
  } problem_e;

  function automatic bit is_power_of_two(int unsigned value);
    return value != 0 && (value & (value - 1)) == 0;
  endfunction

  // The first problem of a tree. Later checks rely on earlier ones.
  function automatic problem_e tree_problem(config_t c);
    if (c.leaf_level > 31) return LeafLevelOver;
    if (c.blocks_per_bucket == 0 || c.blocks_per_bucket > 64) return BlocksPerBucketRange;
    if (c.scheme == RawOram && c.eviction_rate == 0) return EvictionRateNone;
    if (c.scheme == RawOram && c.eviction_rate >= 2 * c.blocks_per_bucket) return EvictionRateOver;
    if (c.stash_blocks == 0) return StashBlocksNone;
    if (c.stash_blocks > 4096) return StashBlocksOver;
    if (c.top_levels > c.leaf_level || c.top_levels > 16) return TopLevelsOver;
    for (int unsigned level = 0; level < 32; level++) begin
      if (places(c, level) > c.blocks_per_bucket) return LevelBlocksOver;
    end
    if (c.scheme == RawOram && c.level_blocks != '0) return LevelBlocksRaw;
    if (c.subtree_levels > c.leaf_level + 1 - c.top_levels || c.subtree_levels > 16) return SubtreeLevelsOver;
    if (c.scan_lanes != 1 && c.scan_lanes != 2) return ScanLanesOther;
    if (c.bus_bits != 128 && c.bus_bits != 256 && c.bus_bits != 512) return BusBitsOther;
    if (!is_power_of_two(c.block_bytes)) return BlockBytesPower;
    if (c.block_bytes > 4096) return BlockBytesOver;
    if (c.block_bytes * 8 < c.bus_bits) return BlockBytesUnder;
    if (c.blocks == 0) return BlocksNone;
    if (64'(c.blocks) > most_blocks(c)) return BlocksOver;
    if (c.aes_lanes == 0) return AesLanesNone;
    if (c.aes_lanes > mask_chunks(c)) return AesLanesOver;
    if (c.aes_double && c.aes_lanes % 2 != 0) return AesLanesOdd;
    if (c.aes_rom_rounds > 10) return AesRomRoundsOver;
    if (c.tag_bits != 0 && (c.tag_bits < 64 || c.tag_bits > 128 || c.tag_bits % 8 != 0)) return TagBitsOther;
    if (c.scheme == RawOram && c.mask_beats < 2) return MaskBeatsUnder;
    if (c.scheme == RawOram && c.mask_beats > 65536) return MaskBeatsOver;
    if (c.stall_cycles[31]) return StallCyclesOver;
    return NoProblem;
  endfunction

  // The first problem of a front end, and then of its tree.
  function automatic problem_e problem(config_t c);
    config_t whole = c;
    if (c.capacity == 0) return CapacityNone;
    if (c.capacity > 32'h4000_0000) return CapacityOver;
    if (c.labels < 2 || !is_power_of_two(c.labels)) return LabelsPower;
    if (c.label_bits < 2 || c.label_bits > 63) return LabelBitsRange;
    if (!is_power_of_two(c.block_bytes)) return BlockBytesPower;
    if (c.block_bytes * 8 < c.bus_bits) return BlockBytesUnder;
    if (64 + 64'(c.labels) * 64'(c.label_bits) > 64'(c.block_bytes) * 8) return GroupOver;
    if (c.trusted == 0) return TrustedNone;
    if (!is_power_of_two(c.look_aside)) return LookAsidePower;
    // Else a group could advance while a straggler is two rounds behind, whose counter would be lost.
    if (maps(c) > 0 && (64'd1 << (c.label_bits - 1)) < 64'(c.labels)) return LabelBitsUnder;
    if (c.slot_cycles[31]) return SlotCyclesOver;
    whole.blocks = space_blocks(c);
    return tree_problem(whole);
  endfunction

  // The choices of the paper. They replace refused ones, so that a tool prints only the sentence about these.
  localparam config_t Paper = '{
    scheme: RawOram, leaf_level: 20, blocks_per_bucket: 5, eviction_rate: 5, stash_blocks: 64, blocks: 1048576,
    block_bytes: 64, bus_bits: 512, aes_lanes: 2, aes_double: 1'b0, aes_rom_rounds: 0, mask_beats: 256,
    top_levels: 0, level_blocks: '0, subtree_levels: 0, scan_lanes: 1,
    capacity: 1048576, labels: 32, label_bits: 14, trusted: 1024, look_aside: 128, tag_bits: 0, slot_cycles: 0, stall_cycles: 0
  };

  // The choices of a tree, or their replacement.
  function automatic config_t tree_choices(config_t c);
    return tree_problem(c) == NoProblem ? c : Paper;
  endfunction

  // The choices of a front end with its tree, which also has the PosMap blocks, or their replacement.
  function automatic config_t choices(config_t c);
    config_t whole = problem(c) == NoProblem ? c : Paper;
    whole.blocks = space_blocks(whole);
    return whole;
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

endpackage
