// A path as it is taken in: each header is decrypted, and each beat of a body goes where the header says.
//
// An access of RAW ORAM takes only the block of interest. Its beats go into the spare slot of the stash as they are,
// and the header without it is planned to go back. Headers run ahead of bodies there, so that the pad of the block is
// known early. A path that is rewritten (an eviction, or any path of Path ORAM) is decrypted. All its blocks go into
// slots and on to PushToLeaf, except the block of interest, which is held.
//
// A bucket that was never written counts as empty, for any answer of memory. RAW ORAM knows this by the count of
// evictions, Path ORAM by the bucket above. A row that `on_chip_i` marks comes from the plan of the path before,
// because memory may not have it yet. Tags follow the blocks of a bucket (see ameles_bucket_tags). The tag of the block
// of interest is also taken as it is.
//
// Interface: a path begins with `start_i`, and moves while `go_i` is high; `done_o` says that all of it has arrived.
// Headers, beats and masks pass with `valid` and `ready`. Rows go to the plan, beats to the stash, blocks to
// PushToLeaf.
//
// Timing: a bucket takes as many cycles as its body has beats, for any contents. Its header passes together with the
// last beat of the body before it. With Path ORAM, whose masks come in one stream, the header takes its own cycle.
//
// Keeps: the walk down the path, the row of the next bucket, and where the block of interest was found.
module ameles_unload
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned EntryBits = entry_bits(Cfg),
  localparam int unsigned BlockBits = block_bits(Cfg),
  localparam int unsigned LeafBits = leaf_bits(Cfg),
  localparam int unsigned RowBits = row_bits(Cfg),
  localparam int unsigned Beats = block_beats(Cfg),
  localparam int unsigned BeatBits = at_least_one($clog2(Beats)),
  localparam int unsigned PlaceBits = at_least_one($clog2(Z)),
  localparam int unsigned TagBits = at_least_one(Cfg.tag_bits),
  localparam int unsigned LevelCountBits = $clog2(levels(Cfg) + 1)
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  // The path.
  input  logic                        start_i,
  input  logic                        go_i,
  input  job_t                        job_i,
  input  logic [levels(Cfg)-1:0]      on_chip_i,
  output logic                        done_o,
  input  logic                        written_i,  // the first bucket was ever written (Path ORAM), when `go_i` is set
  // Headers with their masks, and beats with theirs: the contents of blocks go directly to the stash.
  ameles_stream_if.sink               header,
  ameles_stream_if.sink               row_mask,
  ameles_stream_if.sink               body,
  ameles_stream_if.sink               body_mask,
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
  output logic                        to_spare_o,  // the beat as it came, without its mask, into the spare slot
  output logic                        store_o,
  output logic [BeatBits-1:0]         store_beat_o,
  output logic                        push_o,
  output logic                        held_o,
  output logic [BlockBits-1:0]        push_block_o,
  output logic [LeafBits-1:0]         push_leaf_o,
  input  logic [slot_bits(Cfg)-1:0]   slot_i,
  output logic                        tag_store_o,
  output logic [slot_bits(Cfg)-1:0]   tag_slot_o,
  output logic [TagBits-1:0]          tag_o,
  // The block of interest in the tree of RAW ORAM; its tag and the tag's mask follow from the beat that has them.
  output logic                        known_o,  // all headers have passed
  output logic                        found_o,
  output pad_t                        found_pad_o,
  output pad_t                        found_tag_pad_o,
  output logic [PlaceBits-1:0]        found_place_o,
  output logic [Cfg.bus_bits-1:0]     found_tag_beat_o
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

  ameles_path_walk #(.LeafLevel(Cfg.leaf_level), .FirstLevel(Cfg.top_levels)) u_walk (
    .clk_i,
    .start_i, .path_i(job_i.path[LeafBits-1:0]), .evictions_i(job_i.evictions),
    .next_i(take_header),
    .level_o, .last_o(last_level), .bucket_o(bucket), .right_o(right), .count_o(count)
  );

  // With Path ORAM a bucket is written if the one above says so.
  logic first_q;
  assign empty = Cfg.scheme == RawOram ? count == '0 : !(first_q ? written_i : below_q);
  assign plain = RowBits'(header.data ^ row_mask.data);

  // The rest of an invalid entry is ignored: it goes back as zeros.
  always_comb begin
    row = on_chip_i[level_o] ? on_chip_entries_i : plain[Z*EntryBits-1:0];
    kept = row;
    for (int unsigned place = 0; place < Z; place++) begin
      row[place].valid &= !empty && place < places(Cfg, 32'(level_o));
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

  // Bodies whose headers have passed, and for an access of RAW ORAM the place of the block of interest.
  logic [LevelCountBits-1:0] open_q;
  logic [level_bits(Cfg)-1:0] body_level_q, found_level_q;
  logic busy, is_found_level, place_done, bucket_done, beat_passes, is_here, is_hit, last_beat, last_place;
  entry_t [Z-1:0] entries_q;
  entry_t entry;
  logic [Z-1:0] hit_q;
  logic [PlaceBits-1:0] place_q;
  logic [BeatBits-1:0] beat_q;
  logic in_tags, tags_pass, tags_done, tags_busy;

  assign entry = entries_q[place_q];
  assign is_here = entry.valid && !is_raw_access;
  assign busy = open_q != '0;
  assign is_found_level = found_o && found_level_q == body_level_q;
  assign is_hit = is_raw_access ? is_found_level && found_place_o == place_q : hit_q[place_q];
  assign last_beat = beat_q == BeatBits'(Beats - 1);
  assign last_place = place_q == PlaceBits'(places(Cfg, 32'(body_level_q)) - 1);
  assign beat_passes = busy && !in_tags && body.valid && (is_raw_access || body_mask.valid) && (!is_here || slot_valid_i);
  assign place_done = beat_passes && last_beat;
  assign body.ready = beat_passes || tags_pass;
  assign body_mask.ready = body.ready && !is_raw_access;

  // Masks of headers and of bodies come in one stream for Path ORAM, so that a header waits for the body before it.
  assign take_header = walking_q && go_i && !headers_done_q && header.valid && row_mask.valid
      && (is_raw_access || !busy || (Cfg.scheme == RawOram && bucket_done));
  assign header.ready = take_header;
  assign row_mask.ready = take_header;
  assign known_o = take_header && last_level;
  assign done_o = walking_q && headers_done_q && !busy && !tags_busy;

  assign store_o = beat_passes && (is_raw_access ? is_hit : is_here);
  assign to_spare_o = is_raw_access;
  assign store_beat_o = beat_q;
  assign slot_take_o = place_done && is_here;
  assign push_o = place_done && is_here && !is_hit;
  assign held_o = place_done && is_here && is_hit;
  assign push_block_o = entry.block;
  assign push_leaf_o = entry.leaf;

  // Tags.
  if (Cfg.tag_bits != 0) begin : gen_tags
    logic in_tags_q, here;
    logic [PlaceBits-1:0] tag_beat;
    assign in_tags = in_tags_q;
    assign tags_pass = busy && in_tags_q && body.valid && (is_raw_access || body_mask.valid) && !tags_busy;
    ameles_bucket_tags #(.Cfg(Cfg)) u_tags (
      .clk_i, .rst_ni,
      .place_i(place_done), .place_nth_i(place_q), .here_i(is_here), .slot_i,
      .beat_i(tags_pass), .data_i(body.data ^ body_mask.data), .done_o(tags_done), .nth_o(tag_beat),
      .busy_o(tags_busy), .store_o(here), .slot_o(tag_slot_o), .tag_o
    );
    assign tag_store_o = here;
    assign bucket_done = tags_done;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) in_tags_q <= 1'b0;
      else in_tags_q <= (place_done && last_place) || (in_tags_q && !tags_done);
    end
    always_ff @(posedge clk_i) begin
      if (tags_pass && is_found_level && 32'(tag_beat) == 32'(found_place_o) / tags_per_beat(Cfg)) found_tag_beat_o <= body.data;
    end
    always_comb begin
      found_tag_pad_o = found_pad_o;
      found_tag_pad_o.chunk = 30'((places(Cfg, 32'(found_level_q)) * Beats + 32'(found_place_o) / tags_per_beat(Cfg)) * beat_chunks(Cfg));
    end
  end else begin : gen_no_tags
    assign {in_tags, tags_pass, tags_done, tags_busy, tag_store_o, tag_slot_o, tag_o, found_tag_beat_o} = '0;
    assign found_tag_pad_o = '0;
    assign bucket_done = place_done && last_place;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      walking_q <= 1'b0;
      headers_done_q <= 1'b0;
      open_q <= '0;
      found_o <= 1'b0;
      place_q <= '0;
      beat_q <= '0;
    end else begin
      if (start_i) walking_q <= 1'b1;
      else if (done_o) walking_q <= 1'b0;
      if (start_i) headers_done_q <= 1'b0;
      else if (take_header && last_level) headers_done_q <= 1'b1;
      open_q <= open_q + LevelCountBits'(take_header) - LevelCountBits'(bucket_done);
      if (start_i) found_o <= 1'b0;
      else if (take_header && is_raw_access && hit != '0) found_o <= 1'b1;
      if (place_done) place_q <= last_place ? '0 : place_q + 1'b1;
      if (beat_passes) beat_q <= last_beat ? '0 : beat_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) first_q <= 1'b1;
    else if (take_header) first_q <= 1'b0;
    if (take_header) below_q <= right ? below[1] : below[0];
    if (take_header) begin
      entries_q <= row;
      hit_q <= hit;
    end
    if (start_i) body_level_q <= level_bits(Cfg)'(Cfg.top_levels);
    else if (bucket_done) body_level_q <= body_level_q + 1'b1;
    if (take_header && hit != '0) begin
      found_level_q <= level_o;
      found_pad_o.mask <= 1'b1;
      found_pad_o.body <= 1'b1;
      found_pad_o.bucket <= 32'(bucket);
      found_pad_o.iv <= count;
      for (int unsigned place = 0; place < Z; place++) begin
        if (hit[place]) begin
          found_place_o <= PlaceBits'(place);
          found_pad_o.chunk <= 30'(place * block_beats(Cfg) * beat_chunks(Cfg));
        end
      end
    end
  end

endmodule
