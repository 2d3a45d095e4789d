// The shape of a controller: what its user chooses, and what follows from the choice.
package lethe_pkg;

  // The scheme of the backend. Path ORAM reads and writes a path for each access. RAW ORAM reads a path and writes
  // its headers (access only), and after A accesses reads and writes a path in reverse lexicographic order (eviction only).
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
    // Of the front end; a backend alone has 0 here.
    int unsigned capacity;           // blocks of the user; `blocks` is `space_blocks` then
    int unsigned labels;             // X', counters in a PosMap block: a power of two
    int unsigned label_bits;         // β, bits of a counter in a PosMap block
    int unsigned trusted;            // the most counters in the table on chip
    int unsigned look_aside;         // lines of the PLB: a power of two
  } config_t;

  // The operations of a backend. A put has no path, and a dummy no block.
  typedef enum logic [2:0] {
    OpRead  = 3'd0,  // answers with the block, which stays
    OpWrite = 3'd1,  // replaces the block, and answers with what it was
    OpTake  = 3'd2,  // answers with the block, which leaves the tree
    OpPut   = 3'd3,  // puts a block in that is not in the tree
    OpDummy = 3'd4   // reads a path for no block
  } op_e;

  // The work on one path, as it goes from cell to cell. Fields are as wide as any configuration needs.
  typedef struct packed {
    logic        evict;      // no access: the path is read and filled anew
    op_e         op;
    logic        more;       // a put follows that belongs to it
    logic [31:0] block;
    logic [31:0] path;       // the leaf of the path
    logic [31:0] leaf;       // the leaf of the block from now on
    logic [63:0] iv;         // IV of what this path writes; never given twice
    logic [63:0] evictions;  // G: evictions of RAW ORAM before this one
  } job_t;

  // The block of AES of which a mask is made. The highest bit keeps masks apart from leaves, whose blocks of AES end in a
  // counter, and the next one headers from bodies under equal IVs.
  typedef struct packed {
    logic        mask;
    logic        body;
    logic [29:0] chunk;
    logic [31:0] bucket;
    logic [63:0] iv;
  } pad_t;

  localparam int unsigned IvBits = 64;
  localparam int unsigned ChunkBits = 128;

  // Each of these looks at some of the choices only.
  /* verilator lint_off UNUSEDSIGNAL */

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

  // Bits of an entry of a header: whether there is a block, which, and its leaf.
  function automatic int unsigned entry_bits(config_t c);
    return 1 + block_bits(c) + leaf_bits(c);
  endfunction

  // Bits of all entries. A header of Path ORAM says as well which of the two buckets below were ever written.
  function automatic int unsigned row_bits(config_t c);
    return c.blocks_per_bucket * entry_bits(c) + (c.scheme == PathOram ? 2 : 0);
  endfunction

  // Blocks of AES that hide a row.
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

  function automatic int unsigned body_beats(config_t c);
    return c.blocks_per_bucket * block_beats(c);
  endfunction

  function automatic int unsigned bucket_beats(config_t c);
    return header_beats(c) + body_beats(c);
  endfunction

  function automatic int unsigned beat_chunks(config_t c);
    return c.bus_bits / ChunkBits;
  endfunction

  // Chunks of the largest mask that is asked for at once: a row's or a beat's.
  function automatic int unsigned mask_chunks(config_t c);
    return row_chunks(c) > beat_chunks(c) ? row_chunks(c) : beat_chunks(c);
  endfunction

  // Slots of the stash: what waits, a path on its way through, and a spare one.
  function automatic int unsigned slots(config_t c);
    return c.stash_blocks + levels(c) * c.blocks_per_bucket + 2;
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

  // The first block of a level: 0 for the user's, i for PosMap i.
  function automatic int unsigned first_block(config_t c, int unsigned level);
    int unsigned first = 0;
    for (int unsigned nth = 0; nth < level; nth++) first += map_blocks(c, nth);
    return first;
  endfunction

  // Blocks of the tree.
  function automatic int unsigned space_blocks(config_t c);
    return first_block(c, maps(c) + 1);
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

endpackage
