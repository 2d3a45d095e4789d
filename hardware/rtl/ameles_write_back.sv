// A path as it goes back: the plan row by row, and for a rewritten path each bucket's body, encrypted.
//
// Interface: a job passes in with its bank of the plan. Addresses, beats and the answers of memory have separate
// channels. The outputs say how many paths memory has taken (modulo 4), and how many levels of the next one. Tags are
// gathered as their blocks pass, and follow them.
//
// Timing: the first address goes out in the cycle after the job has passed. The first beat follows two cycles after it,
// if its mask is ready. Then follows a beat per cycle. A place without a block goes back as zeros, encrypted like the
// others and in the same cycle.
//
// Keeps: the walk down the path, the beat that waits for memory, the open bursts, and the tags of a bucket.
module ameles_write_back
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  parameter int unsigned AddressBits = 40,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned Levels = levels(Cfg),
  localparam int unsigned LeafBits = leaf_bits(Cfg),
  localparam int unsigned EntryBits = entry_bits(Cfg),
  localparam int unsigned CipherBits = row_chunks(Cfg) * 128,
  localparam int unsigned Beats = block_beats(Cfg),
  localparam int unsigned BeatBits = at_least_one($clog2(Beats)),
  localparam int unsigned CountBits = $clog2(Z + 1),
  localparam int unsigned LevelCountBits = $clog2(Levels + 1),
  localparam int unsigned TagBits = at_least_one(Cfg.tag_bits)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  // Jobs, the plan and the blocks, in the stash.
  ameles_write_back_if.writer       back,
  // Masks.
  ameles_stream_if.sink             row_mask,
  ameles_stream_if.sink             body_mask,
  // Memory, and the first byte of the tree in it.
  ameles_axi_if.writer              writes,
  input  logic [AddressBits-1:0]    base_i,
  output logic [1:0]                written_paths_o,
  output logic [LevelCountBits-1:0] written_levels_o
);

  localparam int unsigned HeaderBeats = header_beats(Cfg);
  localparam int unsigned BucketBeats = most_bucket_beats(Cfg);
  localparam int unsigned HeaderBits = HeaderBeats * Cfg.bus_bits;
  localparam int unsigned StepBits = $clog2(BucketBeats + 1);
  localparam int unsigned PlaceBits = at_least_one($clog2(Z));

  // Addresses: a separate walk, ahead of the beats.
  logic addressing_q, beats_q, second_q, start, whole_q, address_done, address_last, right, burst_valid, burst_taken, burst_last;
  logic plan_free, unused_first_burst;
  logic [AddressBits-1:0] bucket_offset, offset;
  logic [7:0] burst_length;
  logic [level_bits(Cfg)-1:0] address_level;
  logic [Cfg.leaf_level:0] unused_bucket;
  logic [63:0] unused_count;
  job_t job_q;
  logic [Levels-1:0][CountBits-1:0] occupied_q;

  assign back.ready = !addressing_q && !beats_q && !second_q;
  assign start = back.valid && back.ready;

  ameles_path_walk #(.LeafLevel(Cfg.leaf_level), .FirstLevel(Cfg.top_levels)) u_walk (
    .clk_i,
    .start_i(start), .path_i(back.job.path[LeafBits-1:0]), .evictions_i('0),
    .next_i(address_done),
    .level_o(address_level), .last_o(address_last), .bucket_o(unused_bucket), .right_o(right), .count_o(unused_count)
  );
  ameles_bucket_offset #(
    .BucketBytes(BucketBeats * Cfg.bus_bits / 8), .OffsetBits(AddressBits), .LeafLevel(Cfg.leaf_level),
    .FirstLevel(Cfg.top_levels), .SubtreeLevels(Cfg.subtree_levels)
  ) u_offset (
    .clk_i, .start_i(start), .path_i(back.job.path[LeafBits-1:0]), .next_i(address_done), .right_i(right), .offset_o(bucket_offset)
  );
  ameles_burst #(.OffsetBits(AddressBits), .BusBits(Cfg.bus_bits), .MostBeats(BucketBeats)) u_burst (
    .clk_i, .rst_ni,
    .valid_i(addressing_q), .ready_o(address_done),
    .offset_i(bucket_offset), .beats_i(whole_q ? StepBits'(bucket_beats(Cfg, 32'(address_level))) : StepBits'(HeaderBeats)),
    .valid_o(burst_valid), .ready_i(burst_taken),
    .offset_o(offset), .length_o(burst_length), .first_o(unused_first_burst), .last_o(burst_last)
  );

  // Each burst goes to memory, to the beats, and to the answers. The beats and the answers get it when it is offered,
  // because AXI lets memory wait for the beats before it takes the address.
  logic told_q, lengths_ready, ends_ready, length_valid, end_valid, end_last, beat_last, beat_passes;
  logic [7:0] length, sent_q;
  assign writes.aw_valid = burst_valid && (told_q || (lengths_ready && ends_ready));
  assign burst_taken = writes.aw_valid && writes.aw_ready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) told_q <= 1'b0;
    else told_q <= writes.aw_valid && !writes.aw_ready;
  end
  assign writes.aw_address = base_i + offset;
  assign writes.aw_length = burst_length;

  ameles_fifo #(.Width(8), .Depth(4)) u_lengths (
    .clk_i, .rst_ni,
    .valid_i(burst_valid && !told_q && ends_ready), .ready_o(lengths_ready), .data_i(burst_length),
    .valid_o(length_valid), .ready_i(beat_passes && beat_last), .data_o(length)
  );
  // The level or path that an answer completes.
  logic end_level, end_path;
  ameles_fifo #(.Width(2), .Depth(16)) u_ends (
    .clk_i, .rst_ni,
    .valid_i(burst_valid && !told_q && lengths_ready), .ready_o(ends_ready),
    .data_i({burst_last, burst_last && address_last}),
    .valid_o(end_valid), .ready_i(writes.b_valid), .data_o({end_level, end_path})
  );
  assign writes.b_ready = end_valid;
  assign end_last = writes.b_valid && end_valid && end_path;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      addressing_q <= 1'b0;
      written_paths_o <= '0;
      written_levels_o <= '0;
    end else begin
      if (start) addressing_q <= 1'b1;
      else if (address_done && address_last) addressing_q <= 1'b0;
      if (end_last) written_paths_o <= written_paths_o + 1'b1;
      if (end_last) written_levels_o <= '0;
      else if (writes.b_valid && end_valid && end_level) written_levels_o <= written_levels_o + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start) begin
      job_q <= back.job;
      back.plan_bank <= back.bank;
      occupied_q <= back.occupied;
      whole_q <= Cfg.scheme == PathOram || back.job.evict;
    end
  end

  // Beats, first stage: which beat of the path is next; the stash is asked for it.
  logic [level_bits(Cfg)-1:0] level_q;
  logic [StepBits-1:0] step_q;
  logic [PlaceBits-1:0] place_q;
  logic [BeatBits-1:0] beat_q;
  logic is_header, is_block, is_tags, ends_bucket, step_passes, second_ready, last_beat;
  logic [Z-1:0][EntryBits-1:0] entries;
  logic [HeaderBits-1:0] header;

  assign back.plan_level = level_q;
  assign is_header = step_q < StepBits'(HeaderBeats);
  assign ends_bucket = step_q == (whole_q ? StepBits'(bucket_beats(Cfg, 32'(level_q)) - 1) : StepBits'(HeaderBeats - 1));
  assign is_tags = Cfg.tag_bits != 0 && step_q >= StepBits'(bucket_beats(Cfg, 32'(level_q)) - tag_beats(Cfg));
  assign is_block = !is_header && !is_tags && CountBits'(place_q) < occupied_q[level_q];
  assign last_beat = beat_q == BeatBits'(Beats - 1);
  assign back.load = beats_q && second_ready && is_block;
  assign back.load_slot = back.plan_slots[place_q];
  assign back.load_beat = beat_q;
  assign step_passes = beats_q && second_ready;
  assign back.give = step_passes && is_block && last_beat;
  assign back.give_slot = back.load_slot;
  assign plan_free = step_passes && ends_bucket && level_q == level_bits(Cfg)'(Cfg.leaf_level);

  always_comb begin
    for (int unsigned place = 0; place < Z; place++) begin
      // Places beyond those that this path has filled have the content of another path. A row that is only rewritten
      // may have invalid entries, which their first bit marks.
      entries[place] = (whole_q ? CountBits'(place) < occupied_q[level_q] : back.plan_entries[place][EntryBits-1])
          ? back.plan_entries[place] : '0;
    end
  end
  if (Cfg.scheme == PathOram) begin : gen_below
    assign header = HeaderBits'({CipherBits'({back.plan_below, entries}), job_q.iv});
  end else begin : gen_no_below
    logic unused_below;
    assign unused_below = ^back.plan_below;
    assign header = HeaderBits'({CipherBits'(entries), job_q.iv});
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beats_q <= 1'b0;
      step_q <= '0;
      level_q <= '0;
      place_q <= '0;
      beat_q <= '0;
    end else if (start) begin
      beats_q <= 1'b1;
      level_q <= level_bits(Cfg)'(Cfg.top_levels);
    end else if (step_passes) begin
      step_q <= ends_bucket ? '0 : step_q + 1'b1;
      if (ends_bucket) level_q <= level_q + 1'b1;
      if (plan_free) beats_q <= 1'b0;
      if (!is_header && !is_tags) begin
        beat_q <= last_beat ? '0 : beat_q + 1'b1;
        if (last_beat) place_q <= place_q == PlaceBits'(places(Cfg, 32'(level_q)) - 1) ? '0 : place_q + 1'b1;
      end
    end
  end

  // Second stage: the plaintext of the beat, which waits for mask and memory.
  logic second_header_q, second_block_q, second_tags_q, second_first_q, second_row_done_q, mask_valid;
  logic [HeaderBits-1:0] header_q, first_row_mask;
  logic [Cfg.bus_bits-1:0] plain, mask, tags;

  assign back.busy = (beats_q || second_q) && whole_q;
  assign second_ready = !second_q || beat_passes;
  assign first_row_mask = HeaderBits'({row_mask.data, IvBits'(0)});
  assign mask_valid = second_header_q ? row_mask.valid : body_mask.valid;
  assign plain = second_header_q ? header_q[Cfg.bus_bits-1:0] : second_tags_q ? tags : second_block_q ? back.loaded : '0;
  assign writes.w_valid = second_q && mask_valid && length_valid;
  assign beat_passes = writes.w_valid && writes.w_ready;
  assign beat_last = sent_q == length;
  assign writes.w_last = beat_last;
  assign writes.w_data = plain ^ mask;
  assign row_mask.ready = beat_passes && second_header_q && second_row_done_q;
  assign body_mask.ready = beat_passes && !second_header_q;

  // The tags of a bucket, the first lowest.
  if (Cfg.tag_bits != 0) begin : gen_tags
    localparam int unsigned BeatTagBits = tags_per_beat(Cfg) * TagBits;
    localparam int unsigned GatheredBits = Z * TagBits > BeatTagBits ? Z * TagBits : BeatTagBits;
    logic [Z-1:0][TagBits-1:0] tags_q;
    logic [PlaceBits-1:0] second_place_q;
    assign tags = Cfg.bus_bits'(BeatTagBits'(GatheredBits'(tags_q)));
    always_ff @(posedge clk_i) begin
      if (step_passes) second_place_q <= place_q;
      // Each bucket is reset to zeros, because a smaller one may follow.
      if (beat_passes && second_tags_q) begin
        tags_q <= tags_q >> BeatTagBits;
      end else if (beat_passes && !second_header_q) begin
        for (int unsigned nth = 0; nth < Z; nth++) begin
          if (second_place_q == PlaceBits'(nth)) tags_q[nth] <= second_block_q ? back.loaded_tag : '0;
        end
      end
    end
  end else begin : gen_no_tags
    assign tags = '0;
  end

  // The mask of a row may cover several beats.
  if (HeaderBeats > 1) begin : gen_row_mask
    logic [HeaderBits-1:0] row_mask_q;
    assign mask = !second_header_q ? body_mask.data
        : second_first_q ? first_row_mask[Cfg.bus_bits-1:0] : row_mask_q[Cfg.bus_bits-1:0];
    always_ff @(posedge clk_i) begin
      if (beat_passes) row_mask_q <= (second_first_q ? first_row_mask : row_mask_q) >> Cfg.bus_bits;
    end
  end else begin : gen_one_beat
    logic unused_first;
    assign unused_first = second_first_q;
    assign mask = second_header_q ? first_row_mask : body_mask.data;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      second_q <= 1'b0;
      sent_q <= '0;
    end else begin
      second_q <= step_passes || (second_q && !beat_passes);
      if (beat_passes) sent_q <= beat_last ? '0 : sent_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (step_passes) begin
      second_header_q <= is_header;
      second_block_q <= is_block;
      second_tags_q <= is_tags;
      second_first_q <= step_q == '0;
      second_row_done_q <= step_q == StepBits'(HeaderBeats - 1);
      header_q <= step_q == '0 ? header : header_q >> Cfg.bus_bits;
    end
  end

endmodule
