// The backend: a tree in untrusted memory, with Path ORAM or RAW ORAM. Its user knows the leaf of each block.
//
// Interface: requests, data and answers each have `valid` and `ready`. A request gives the block, the path to read, and
// the new leaf of the block; a put gives only block and leaf, and a dummy only the path. Writes and puts need the beats
// of a block at `data`. Every request except puts and dummies gets the beats of a block at `answer`: the old content of
// the block, or zeros. The memory is a slave of AXI4. After a reset the cell needs a key that was never used.
//
// With tags (`tag_bits`), every path is answered, a dummy's with zeros, together with the tag of its block. Then each
// path needs the new tag of its block, and each put or skip that of its block (see ameles_pmmac). `stop_i` stops the
// controller.
//
// Timing: requests run ahead of the path before. An answer comes a fixed time after its path has arrived, for every
// kind of request and every place of the block. For the same paths at the same times, every cycle of the memory bus is
// the same.
//
// Keeps: queues between its cells, and whether memory has answered with an error, which stops the cell until a reset.
module ameles_backend
  import ameles_pkg::*;
#(
  parameter config_t Choices = '0,
  parameter int unsigned AddressBits = 40,
  localparam config_t Cfg = tree_choices(Choices),
  localparam int unsigned TagBits = at_least_one(Cfg.tag_bits)
) (
  input  logic                      clk_i,
  input  logic                      clk2_i,
  input  logic                      rst_ni,
  input  logic                      stop_i,
  // The key.
  input  logic                      key_valid_i,
  output logic                      key_ready_o,
  output logic                      keyed_o,  // a key was taken, and its round keys are ready
  output logic                      key_known_o,  // `key_i` is that key
  input  logic [127:0]              key_i,
  // The first byte of the tree in memory: its lowest 12 bits count as zeros.
  input  logic [AddressBits-1:0]    base_i,
  // Requests.
  input  logic                      request_valid_i,
  output logic                      request_ready_o,
  input  request_t                  request_i,
  // Chunks of AES for leaves, under the same key. The highest bit of an input is 0.
  input  logic                      leaf_valid_i,
  output logic                      leaf_ready_o,
  input  logic [127:0]              leaf_input_i,
  output logic                      leaf_valid_o,
  input  logic                      leaf_ready_i,
  output logic [127:0]              leaf_chunk_o,
  // Data, and answers with tags.
  input  logic                      data_valid_i,
  output logic                      data_ready_o,
  input  logic [Cfg.bus_bits-1:0]   data_i,
  output logic                      answer_valid_o,
  input  logic                      answer_ready_i,
  output logic [Cfg.bus_bits-1:0]   answer_o,
  output logic                      answer_last_o,
  output logic [TagBits-1:0]        answer_tag_o,
  input  logic                      tag_valid_i,
  output logic                      tag_ready_o,
  input  logic [TagBits-1:0]        tag_i,
  // Paths of Path ORAM's emergencies.
  output logic                      random_ready_o,
  input  logic                      random_valid_i,
  input  logic [31:0]               random_i,
  // Memory: AXI4, one ID, bursts that increment, whole beats.
  output logic                      ar_valid_o,
  input  logic                      ar_ready_i,
  output logic [AddressBits-1:0]    ar_address_o,
  output logic [7:0]                ar_length_o,
  input  logic                      r_valid_i,
  output logic                      r_ready_o,
  input  logic [Cfg.bus_bits-1:0]   r_data_i,
  input  logic [1:0]                r_response_i,
  output logic                      aw_valid_o,
  input  logic                      aw_ready_i,
  output logic [AddressBits-1:0]    aw_address_o,
  output logic [7:0]                aw_length_o,
  output logic                      w_valid_o,
  input  logic                      w_ready_i,
  output logic [Cfg.bus_bits-1:0]   w_data_o,
  output logic                      w_last_o,
  input  logic                      b_valid_i,
  output logic                      b_ready_o,
  input  logic [1:0]                b_response_i,
  // State: a count, and errors that stop it.
  output logic [31:0]               emergencies_o,
  output logic                      key_reused_o,
  output logic                      memory_error_o,
  output logic                      overflow_o,
  output logic                      memory_stalled_o  // stops nothing
);

  localparam int unsigned Z = Cfg.blocks_per_bucket;
  localparam int unsigned Levels = levels(Cfg);
  localparam int unsigned EntryBits = entry_bits(Cfg);
  localparam int unsigned SlotBits = slot_bits(Cfg);
  localparam int unsigned CipherBits = row_chunks(Cfg) * 128;
  localparam int unsigned BeatBits = at_least_one($clog2(block_beats(Cfg)));
  localparam int unsigned WaitingBits = $clog2(Cfg.stash_blocks + 2);
  localparam int unsigned MixedBits = Cfg.scheme == PathOram ? mask_chunks(Cfg) * 128 : CipherBits;

  ameles_check #(.Problem(tree_problem(Choices))) u_check ();
  if (64'(AddressBits) < 12 + 1 || (tree_bytes(Cfg) - 1) >> AddressBits != 0) begin : gen_address_bits
    $error("AddressBits does not reach the end of the tree. Raise it, or lower leaf_level.");
  end

  // Errors stop the controller until it is reset.
  logic stop, memory_error_q, keyed, stash_overflow, schedule_overflow;
  assign overflow_o = stash_overflow || schedule_overflow;
  assign stop = stop_i || memory_error_q || overflow_o || key_reused_o;
  assign memory_error_o = memory_error_q;
  assign keyed_o = keyed;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) memory_error_q <= 1'b0;
    else if ((r_valid_i && r_ready_o && r_response_i != '0) || (b_valid_i && b_ready_o && b_response_i != '0)) begin
      memory_error_q <= 1'b1;
    end
  end

  logic [AddressBits-1:0] base;
  assign base = {base_i[AddressBits-1:12], 12'b0};

  // Keys.
  logic [10:0][127:0] round_keys;
  assign key_known_o = key_i == round_keys[0];
  ameles_aes_key u_key (
    .clk_i, .rst_ni,
    .key_valid_i, .key_ready_o, .key_i,
    .valid_o(keyed), .round_keys_o(round_keys), .reused_o(key_reused_o)
  );

  // Jobs.
  logic job_valid, job_ready, done;
  job_t job;
  logic [WaitingBits-1:0] waiting;
  ameles_schedule #(.Cfg(Cfg)) u_schedule (
    .clk_i, .rst_ni, .stop_i(stop || !keyed),
    .valid_i(request_valid_i), .ready_o(request_ready_o), .request_i,
    .random_ready_o, .random_valid_i, .random_i,
    .done_i(done), .waiting_i(waiting),
    .valid_o(job_valid), .ready_i(job_ready), .job_o(job), .emergencies_o, .overflow_o(schedule_overflow)
  );

  // The write-back, which the reads leave room for.
  logic back_valid, back_ready;
  job_t back_job;

  // Reads.
  logic begun_valid, begun_ready, path_valid, arriving_ready, masks_ready;
  job_t begun_job;
  logic [Levels-1:0] begun_on_chip;
  logic [1:0] written_paths;
  logic [$clog2(Levels+1)-1:0] written_levels;
  logic ask_valid, ask_ready, ask_first;
  ameles_read_issue #(.Cfg(Cfg), .AddressBits(AddressBits)) u_read_issue (
    .clk_i, .rst_ni,
    .valid_i(job_valid), .ready_o(job_ready), .job_i(job), .base_i(base),
    .read_beat_i(r_valid_i && r_ready_o), .write_beat_i(w_valid_o && w_ready_i),
    .write_begins_i(back_valid && back_ready), .write_whole_i(Cfg.scheme == PathOram || back_job.evict),
    .written_paths_i(written_paths), .written_levels_i(written_levels),
    .ar_valid_o(ask_valid), .ar_ready_i(ask_ready), .ar_address_o, .ar_length_o, .ar_first_o(ask_first),
    .begun_valid_o(begun_valid), .begun_ready_i(begun_ready),
    .path_valid_o(path_valid), .arriving_ready_i(arriving_ready), .masks_ready_i(masks_ready),
    .begun_job_o(begun_job), .begun_on_chip_o(begun_on_chip)
  );

  // Reads go out only if there is room for their answers.
  logic header_beat, header_taken, body_taken, masks_asked;
  ameles_read_room #(.Cfg(Cfg)) u_read_room (
    .clk_i, .rst_ni,
    .valid_i(ask_valid), .ready_o(ask_ready), .first_i(ask_first), .length_i(ar_length_o),
    .valid_o(ar_valid_o), .ready_i(ar_ready_i),
    .header_beat_i(header_beat), .body_beat_i(body_taken), .header_i(header_taken), .request_i(masks_asked)
  );

  // The path goes to the stash, to the arrival, and to the masks.
  logic stash_valid, stash_ready, arriving_valid, arriving_taken, write_masks_valid, write_masks_taken;
  job_t stash_job, arriving_job, write_masks_job;
  logic [Levels-1:0] stash_on_chip;
  ameles_fifo #(.Width($bits(job_t) + Levels), .Depth(4)) u_jobs (
    .clk_i, .rst_ni,
    .valid_i(begun_valid), .ready_o(begun_ready), .data_i({begun_job, begun_on_chip}),
    .valid_o(stash_valid), .ready_i(stash_ready), .data_o({stash_job, stash_on_chip})
  );
  ameles_fifo #(.Width($bits(job_t)), .Depth(4)) u_arriving (
    .clk_i, .rst_ni,
    .valid_i(path_valid), .ready_o(arriving_ready), .data_i(begun_job),
    .valid_o(arriving_valid), .ready_i(arriving_taken), .data_o(arriving_job)
  );
  ameles_fifo #(.Width($bits(job_t)), .Depth(4)) u_masks_jobs (
    .clk_i, .rst_ni,
    .valid_i(path_valid), .ready_o(masks_ready), .data_i(begun_job),
    .valid_o(write_masks_valid), .ready_i(write_masks_taken), .data_o(write_masks_job)
  );

  // Masks.
  logic read_request, read_request_ready, read_row, interest_request, interest_request_ready;
  logic write_request, write_request_ready, write_row, ahead_request, ahead_request_ready;
  pad_t read_pad, interest_pad, write_pad, ahead_pad;
  logic read_valid, read_ready, interest_valid, interest_ready, write_valid, write_ready, ahead_valid, ahead_ready;
  logic [MixedBits-1:0] read_mask, write_mask;
  logic [Cfg.bus_bits-1:0] interest_mask, ahead_mask;
  ameles_write_masks #(.Cfg(Cfg)) u_write_masks (
    .clk_i, .rst_ni,
    .valid_i(write_masks_valid), .ready_o(write_masks_taken), .job_i(write_masks_job),
    .valid_o(write_request), .ready_i(write_request_ready), .row_o(write_row), .pad_o(write_pad)
  );
  if (Cfg.scheme == RawOram) begin : gen_ahead
    ameles_eviction_masks #(.Cfg(Cfg)) u_eviction_masks (
      .clk_i, .rst_ni, .valid_o(ahead_request), .ready_i(ahead_request_ready), .pad_o(ahead_pad)
    );
  end else begin : gen_no_ahead
    assign {ahead_request, ahead_pad} = '0;
  end
  ameles_mask_engine #(.Cfg(Cfg)) u_masks (
    .clk_i, .clk2_i, .rst_ni, .round_keys_i(round_keys), .keyed_i(keyed),
    .leaf_valid_i, .leaf_ready_o, .leaf_input_i, .leaf_valid_o, .leaf_ready_i, .leaf_chunk_o,
    .read_valid_i(read_request), .read_ready_o(read_request_ready), .read_row_i(read_row), .read_pad_i(read_pad),
    .interest_valid_i(interest_request), .interest_ready_o(interest_request_ready), .interest_pad_i(interest_pad),
    .write_valid_i(write_request), .write_ready_o(write_request_ready), .write_row_i(write_row),
    .write_pad_i(write_pad),
    .ahead_valid_i(ahead_request), .ahead_ready_o(ahead_request_ready), .ahead_pad_i(ahead_pad),
    .read_valid_o(read_valid), .read_ready_i(read_ready), .read_mask_o(read_mask),
    .interest_valid_o(interest_valid), .interest_ready_i(interest_ready), .interest_mask_o(interest_mask),
    .write_valid_o(write_valid), .write_ready_i(write_ready), .write_mask_o(write_mask),
    .ahead_valid_o(ahead_valid), .ahead_ready_i(ahead_ready), .ahead_mask_o(ahead_mask)
  );

  // Arrivals.
  logic header_put, header_room, header_valid, header_ready, body_put, body_room, body_valid, body_ready;
  logic [CipherBits-1:0] header_in, header;
  logic [Cfg.bus_bits-1:0] body_in, body;
  // Bursts are completed after an error, so that others can use the memory.
  logic arrive_ready;
  assign r_ready_o = arrive_ready || stop;
  ameles_arrive #(.Cfg(Cfg)) u_arrive (
    .clk_i, .rst_ni,
    .valid_i(arriving_valid), .ready_o(arriving_taken), .job_i(arriving_job),
    .r_valid_i, .r_ready_o(arrive_ready), .r_data_i,
    .header_valid_o(header_put), .header_ready_i(header_room), .header_o(header_in), .header_beat_o(header_beat),
    .body_valid_o(body_put), .body_ready_i(body_room), .body_o(body_in),
    .mask_valid_o(read_request), .mask_ready_i(read_request_ready), .mask_row_o(read_row), .mask_pad_o(read_pad),
    .masks_asked_o(masks_asked)
  );
  ameles_fifo #(.Width(CipherBits), .Depth(arrival_headers(Cfg))) u_headers (
    .clk_i, .rst_ni,
    .valid_i(header_put), .ready_o(header_room), .data_i(header_in),
    .valid_o(header_valid), .ready_i(header_ready), .data_o(header)
  );
  ameles_fifo #(
    .Width(Cfg.bus_bits), .Depth(arrival_beats(Cfg)), .BlockRam(in_block_ram(arrival_beats(Cfg)))
  ) u_bodies (
    .clk_i, .rst_ni,
    .valid_i(body_put), .ready_o(body_room), .data_i(body_in),
    .valid_o(body_valid), .ready_i(body_ready), .data_o(body)
  );
  assign header_taken = header_valid && header_ready;
  assign body_taken = body_valid && body_ready;

  // The stash, and the write-back. Masks of bodies come with those of rows (Path ORAM), or ahead of time (RAW ORAM).
  logic row_in_ready, body_in_ready, row_back_ready, body_back_ready;
  logic back_bank, back_busy, plan_bank, load, give;
  logic [Levels-1:0][$clog2(Z+1)-1:0] occupied;
  logic [level_bits(Cfg)-1:0] plan_level;
  logic [Z-1:0][EntryBits-1:0] plan_entries;
  logic [Z-1:0][SlotBits-1:0] plan_slots;
  logic [1:0] plan_below;
  logic [SlotBits-1:0] load_slot, give_slot;
  logic [BeatBits-1:0] load_beat;
  logic [Cfg.bus_bits-1:0] loaded, body_in_mask, body_back_mask;
  logic [TagBits-1:0] loaded_tag;
  logic body_in_mask_valid, body_back_mask_valid;
  if (Cfg.scheme == RawOram) begin : gen_raw_masks
    assign read_ready = row_in_ready;
    assign write_ready = row_back_ready;
    assign ahead_ready = body_in_ready || body_back_ready;
    assign {body_in_mask_valid, body_in_mask} = {ahead_valid, ahead_mask};
    assign {body_back_mask_valid, body_back_mask} = {ahead_valid, ahead_mask};
  end else begin : gen_path_masks
    assign read_ready = row_in_ready || body_in_ready;
    assign write_ready = row_back_ready || body_back_ready;
    assign ahead_ready = 1'b0;
    assign {body_in_mask_valid, body_in_mask} = {read_valid, read_mask[Cfg.bus_bits-1:0]};
    assign {body_back_mask_valid, body_back_mask} = {write_valid, write_mask[Cfg.bus_bits-1:0]};
  end

  ameles_stash #(.Cfg(Cfg)) u_stash (
    .clk_i, .rst_ni,
    .valid_i(stash_valid), .ready_o(stash_ready), .job_i(stash_job), .on_chip_i(stash_on_chip),
    .done_o(done), .waiting_o(waiting), .overflow_o(stash_overflow),
    .header_valid_i(header_valid), .header_ready_o(header_ready), .header_i(header),
    .row_mask_valid_i(read_valid), .row_mask_ready_o(row_in_ready), .row_mask_i(read_mask[CipherBits-1:0]),
    .body_valid_i(body_valid), .body_ready_o(body_ready), .body_i(body),
    .body_mask_valid_i(body_in_mask_valid), .body_mask_ready_o(body_in_ready), .body_mask_i(body_in_mask),
    .interest_valid_o(interest_request), .interest_ready_i(interest_request_ready), .interest_pad_o(interest_pad),
    .interest_mask_valid_i(interest_valid), .interest_mask_ready_o(interest_ready),
    .interest_mask_i(interest_mask),
    .data_valid_i, .data_ready_o, .data_i, .answer_valid_o, .answer_ready_i, .answer_o, .answer_last_o,
    .answer_tag_o, .tag_valid_i, .tag_ready_o, .tag_i,
    .back_valid_o(back_valid), .back_ready_i(back_ready), .back_job_o(back_job), .back_bank_o(back_bank),
    .back_occupied_o(occupied), .back_busy_i(back_busy),
    .plan_bank_i(plan_bank), .plan_level_i(plan_level), .plan_entries_o(plan_entries),
    .plan_slots_o(plan_slots), .plan_below_o(plan_below),
    .load_i(load), .load_slot_i(load_slot), .load_beat_i(load_beat), .loaded_o(loaded),
    .loaded_tag_o(loaded_tag), .give_i(give), .give_slot_i(give_slot)
  );

  ameles_write_back #(.Cfg(Cfg), .AddressBits(AddressBits)) u_write_back (
    .clk_i, .rst_ni,
    .valid_i(back_valid), .ready_o(back_ready), .job_i(back_job), .bank_i(back_bank), .occupied_i(occupied),
    .base_i(base), .bank_o(plan_bank), .level_o(plan_level),
    .entries_i(plan_entries), .slots_i(plan_slots), .below_i(plan_below),
    .busy_o(back_busy), .load_o(load), .load_slot_o(load_slot), .load_beat_o(load_beat), .loaded_i(loaded),
    .loaded_tag_i(loaded_tag), .give_o(give), .give_slot_o(give_slot),
    .row_mask_valid_i(write_valid), .row_mask_ready_o(row_back_ready), .row_mask_i(write_mask[CipherBits-1:0]),
    .body_mask_valid_i(body_back_mask_valid), .body_mask_ready_o(body_back_ready), .body_mask_i(body_back_mask),
    .aw_valid_o, .aw_ready_i, .aw_address_o, .aw_length_o,
    .w_valid_o, .w_ready_i, .w_data_o, .w_last_o, .b_valid_i, .b_ready_o,
    .written_paths_o(written_paths), .written_levels_o(written_levels)
  );

  // An answer to a write is due from the offer of its burst.
  ameles_stall_watch #(.Cfg(Cfg)) u_stall_watch (
    .clk_i, .rst_ni,
    .asked_i(ar_valid_o && ar_ready_i), .length_i(ar_length_o), .beat_i(r_valid_i && r_ready_o),
    .waits_i(ar_valid_o || aw_valid_o || w_valid_o || b_ready_o),
    .moves_i((ar_valid_o && ar_ready_i) || (r_valid_i && r_ready_o) || (aw_valid_o && aw_ready_i)
        || (w_valid_o && w_ready_i) || (b_valid_i && b_ready_o)),
    .stalled_o(memory_stalled_o)
  );

endmodule
