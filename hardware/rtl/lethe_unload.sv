// A path as it is taken in: each header is decrypted, and each beat of a body goes where the header says.
//
// An access of RAW ORAM takes the block of interest only: its beats go into the spare slot of the stash as they are, and the
// header without it is planned to go back. A path that is filled anew (an eviction, or any of Path ORAM) is decrypted, and
// all its blocks go into slots and on to PushToLeaf, but for the block of interest, which is held.
//
// A bucket that was never written counts as empty, whatever memory answers: RAW ORAM knows it by the count of evictions,
// Path ORAM by the bucket above. A row that `on_chip_i` names comes from the plan of the path before, because memory may
// not have it yet. A bucket takes as many cycles as its body has beats, whatever is in it.
module lethe_unload
  import lethe_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned EntryBits = entry_bits(Cfg),
  localparam int unsigned BlockBits = block_bits(Cfg),
  localparam int unsigned LeafBits = leaf_bits(Cfg),
  localparam int unsigned RowBits = row_bits(Cfg),
  localparam int unsigned CipherBits = row_chunks(Cfg) * 128,
  localparam int unsigned Beats = block_beats(Cfg),
  localparam int unsigned BeatBits = at_least_one($clog2(Beats)),
  localparam int unsigned PlaceBits = at_least_one($clog2(Z))
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        start_i,
  input  logic                        go_i,
  input  job_t                        job_i,
  input  logic [levels(Cfg)-1:0]      on_chip_i,
  output logic                        done_o,
  // Headers with their masks, and beats with theirs, whose contents go past.
  input  logic                        header_valid_i,
  output logic                        header_ready_o,
  input  logic [CipherBits-1:0]       header_i,
  input  logic                        row_mask_valid_i,
  output logic                        row_mask_ready_o,
  input  logic [CipherBits-1:0]       row_mask_i,
  input  logic                        body_valid_i,
  output logic                        body_ready_o,
  input  logic                        body_mask_valid_i,
  output logic                        body_mask_ready_o,
  // The plan: a row of the path before, and the rows of this one.
  output logic [level_bits(Cfg)-1:0]  level_o,
  input  logic [Z-1:0][EntryBits-1:0] on_chip_entries_i,
  output logic                        row_o,
  output logic [Z-1:0][EntryBits-1:0] row_entries_o,
  output logic                        below_o,
  output logic [1:0]                  below_written_o,
  // The stash.
  input  logic                        slot_valid_i,
  output logic                        slot_take_o,
  output logic                        to_spare_o,
  output logic                        store_o,
  output logic [BeatBits-1:0]         store_beat_o,
  output logic                        store_plain_o,  // the beat as it came, without its mask
  output logic                        push_o,
  output logic                        held_o,
  output logic [BlockBits-1:0]        push_block_o,
  output logic [LeafBits-1:0]         push_leaf_o,
  // The block of interest in the tree of RAW ORAM.
  output logic                        found_o,
  output pad_t                        found_pad_o
);

  typedef struct packed {
    logic                 valid;
    logic [BlockBits-1:0] block;
    logic [LeafBits-1:0]  leaf;
  } entry_t;

  logic is_raw_access, is_access;
  assign is_access = !job_i.evict && job_i.op != OpDummy;
  assign is_raw_access = Cfg.scheme == RawOram && !job_i.evict;

  // Headers.
  logic walking_q, headers_done_q, below_q, take_header, last_level, right, empty;
  logic [Cfg.leaf_level:0] bucket;
  logic [63:0] count;
  logic [RowBits-1:0] plain;
  entry_t [Z-1:0] row, kept;
  logic [Z-1:0] hit;
  logic [1:0] below;

  lethe_path_walk #(.LeafLevel(Cfg.leaf_level)) u_walk (
    .clk_i,
    .start_i, .path_i(job_i.path[LeafBits-1:0]), .evictions_i(job_i.evictions),
    .next_i(take_header),
    .level_o, .last_o(last_level), .bucket_o(bucket), .right_o(right), .count_o(count)
  );

  // Of Path ORAM the root is written once a path was, and every other bucket if the one above says so.
  assign empty = Cfg.scheme == RawOram ? count == '0 : !below_q;
  assign plain = RowBits'(header_i ^ row_mask_i);

  // Of an entry that is not valid nobody looks at the rest: it goes back as zeros.
  always_comb begin
    row = on_chip_i[level_o] ? on_chip_entries_i : plain[Z*EntryBits-1:0];
    kept = row;
    for (int unsigned place = 0; place < Z; place++) begin
      row[place].valid &= !empty;
      hit[place] = is_access && row[place].valid && row[place].block == job_i.block[BlockBits-1:0];
      kept[place].valid = row[place].valid && !hit[place];
    end
  end
  if (Cfg.scheme == PathOram) begin : gen_below
    assign below = empty ? 2'b00 : plain[RowBits-1-:2];
  end else begin : gen_no_below
    assign below = 2'b00;
  end
  assign row_o = take_header && is_raw_access;
  assign row_entries_o = kept;
  assign below_o = take_header && Cfg.scheme == PathOram;
  assign below_written_o = last_level ? '0 : below | (right ? 2'b10 : 2'b01);

  // Bodies.
  logic busy_q, place_done, bucket_done, beat_passes, is_here, is_hit, last_beat, last_place;
  entry_t [Z-1:0] entries_q;
  entry_t entry;
  logic [Z-1:0] hit_q;
  logic [PlaceBits-1:0] place_q;
  logic [BeatBits-1:0] beat_q;

  assign entry = entries_q[place_q];
  assign is_here = entry.valid && !is_raw_access;
  assign is_hit = hit_q[place_q];
  assign last_beat = beat_q == BeatBits'(Beats - 1);
  assign last_place = place_q == PlaceBits'(Z - 1);
  assign beat_passes = busy_q && body_valid_i && (is_raw_access || body_mask_valid_i) && (!is_here || slot_valid_i);
  assign place_done = beat_passes && last_beat;
  assign bucket_done = place_done && last_place;
  assign body_ready_o = beat_passes;
  assign body_mask_ready_o = beat_passes && !is_raw_access;

  // Masks of headers and of bodies come in one stream for Path ORAM, so that a header waits for the body before it.
  assign take_header = walking_q && go_i && !headers_done_q && header_valid_i && row_mask_valid_i
      && (!busy_q || (Cfg.scheme == RawOram && bucket_done));
  assign header_ready_o = take_header;
  assign row_mask_ready_o = take_header;
  assign done_o = walking_q && headers_done_q && !busy_q;

  assign store_o = beat_passes && (is_raw_access ? is_hit : is_here);
  assign to_spare_o = is_raw_access;
  assign store_beat_o = beat_q;
  assign store_plain_o = is_raw_access;
  assign slot_take_o = place_done && is_here;
  assign push_o = place_done && is_here && !is_hit;
  assign held_o = place_done && is_here && is_hit;
  assign push_block_o = entry.block;
  assign push_leaf_o = entry.leaf;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      walking_q <= 1'b0;
      headers_done_q <= 1'b0;
      busy_q <= 1'b0;
      found_o <= 1'b0;
      place_q <= '0;
      beat_q <= '0;
    end else begin
      if (start_i) walking_q <= 1'b1;
      else if (done_o) walking_q <= 1'b0;
      if (start_i) headers_done_q <= 1'b0;
      else if (take_header && last_level) headers_done_q <= 1'b1;
      busy_q <= take_header || (busy_q && !bucket_done);
      if (start_i) found_o <= 1'b0;
      else if (take_header && is_raw_access && hit != '0) found_o <= 1'b1;
      if (place_done) place_q <= last_place ? '0 : place_q + 1'b1;
      if (beat_passes) beat_q <= last_beat ? '0 : beat_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) below_q <= job_i.iv != '0;
    else if (take_header) below_q <= right ? below[1] : below[0];
    if (take_header) begin
      entries_q <= row;
      hit_q <= hit;
    end
    if (take_header && hit != '0) begin
      found_pad_o.mask <= 1'b1;
      found_pad_o.body <= 1'b1;
      found_pad_o.bucket <= 32'(bucket);
      found_pad_o.iv <= count;
      for (int unsigned place = 0; place < Z; place++) begin
        if (hit[place]) found_pad_o.chunk <= 30'(place * block_beats(Cfg) * beat_chunks(Cfg));
      end
    end
  end

endmodule
