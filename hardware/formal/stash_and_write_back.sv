// The stash and the write-back, joined as in ameles_backend, in an arbitrary environment: any jobs at any times, any headers,
// and masks and memory ready at any time. Contents of blocks are zeros, because nothing depends on them.
module stash_and_write_back
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned Levels = levels(Cfg),
  localparam int unsigned CipherBits = row_chunks(Cfg) * 128,
  localparam int unsigned SlotBits = slot_bits(Cfg)
) (
  input  logic         clk_i,
  input  logic [511:0] any_i,  // any behaviour of the environment in this cycle
  output logic         rst_no
);

  first_cycle_reset u_reset (.clk_i, .rst_no);

  logic valid, header_valid, row_mask_valid, body_valid, body_mask_valid, interest_ready, interest_mask_valid, data_valid;
  logic answer_ready, write_mask_valid, aw_ready, w_ready, b_valid, tag_valid;
  job_t job;
  logic [Levels-1:0] on_chip;
  logic [CipherBits-1:0] header;
  assign {
    valid, header_valid, row_mask_valid, body_valid, body_mask_valid, interest_ready, interest_mask_valid, data_valid,
    answer_ready, write_mask_valid, aw_ready, w_ready, b_valid, tag_valid, on_chip, job, header
  } = any_i[13+Levels+$bits(job_t)+CipherBits:0];

  // A job has a valid operation, and a put follows a take in its path.
  logic ready, overflow, joins;
  assign joins = u_stash.state_q == 4'd10;
  always_comb assume (!valid || (job.op <= OpSkip && (!joins || ((job.op == OpPut || job.op == OpSkip) && !job.evict))));

  // The tree top detects unwritten rows by the counts of paths and evictions, which are those of ameles_schedule.
  if (Cfg.top_levels > 0) begin : gen_counted
    logic [63:0] paths_q, evictions_q;
    logic takes;
    assign takes = valid && ready && (job.evict || has_path(job.op));
    always_comb begin
      assume (!takes || (job.iv == paths_q && job.evictions == evictions_q));
      assume (!(takes && job.evict && Cfg.scheme == RawOram) || job.path == eviction_path(Cfg, evictions_q));
    end
    always_ff @(posedge clk_i or negedge rst_no) begin
      if (!rst_no) {paths_q, evictions_q} <= '0;
      else begin
        paths_q <= paths_q + 64'(takes);
        evictions_q <= evictions_q + 64'(takes && job.evict);
      end
    end
  end

  logic back_valid, back_ready, back_bank, back_busy, plan_bank, load, give;
  job_t back_job;
  logic [Levels-1:0][$clog2(Z+1)-1:0] occupied;
  logic [level_bits(Cfg)-1:0] plan_level;
  logic [Z-1:0][entry_bits(Cfg)-1:0] plan_entries;
  logic [Z-1:0][SlotBits-1:0] plan_slots;
  logic [1:0] plan_below;
  logic [SlotBits-1:0] load_slot, give_slot;
  logic [at_least_one($clog2(block_beats(Cfg)))-1:0] load_beat;
  logic [Cfg.bus_bits-1:0] loaded;
  logic [at_least_one(Cfg.tag_bits)-1:0] loaded_tag;
  logic body_in_ready, body_back_ready, interest_valid, interest_mask_ready, data_ready, answer_valid, answer_last;
  pad_t interest_pad;
  ameles_stash #(.Cfg(Cfg)) u_stash (
    .clk_i, .rst_ni(rst_no),
    .valid_i(valid), .ready_o(ready), .job_i(job), .on_chip_i(on_chip),
    .done_o(), .waiting_o(), .overflow_o(overflow),
    .header_valid_i(header_valid), .header_ready_o(), .header_i(header),
    .row_mask_valid_i(row_mask_valid), .row_mask_ready_o(), .row_mask_i('0),
    .body_valid_i(body_valid), .body_ready_o(), .body_i('0),
    .body_mask_valid_i(body_mask_valid), .body_mask_ready_o(body_in_ready), .body_mask_i('0),
    .interest_valid_o(interest_valid), .interest_ready_i(interest_ready), .interest_pad_o(interest_pad),
    .interest_mask_valid_i(interest_mask_valid), .interest_mask_ready_o(interest_mask_ready), .interest_mask_i('0),
    .data_valid_i(data_valid), .data_ready_o(data_ready), .data_i('0),
    .answer_valid_o(answer_valid), .answer_ready_i(answer_ready), .answer_o(), .answer_last_o(answer_last), .answer_tag_o(),
    .tag_valid_i(tag_valid), .tag_ready_o(), .tag_i('0),
    .back_valid_o(back_valid), .back_ready_i(back_ready), .back_job_o(back_job), .back_bank_o(back_bank),
    .back_occupied_o(occupied), .back_busy_i(back_busy),
    .plan_bank_i(plan_bank), .plan_level_i(plan_level), .plan_entries_o(plan_entries),
    .plan_slots_o(plan_slots), .plan_below_o(plan_below),
    .load_i(load), .load_slot_i(load_slot), .load_beat_i(load_beat), .loaded_o(loaded),
    .loaded_tag_o(loaded_tag), .give_i(give), .give_slot_i(give_slot)
  );
  ameles_write_back #(.Cfg(Cfg), .AddressBits(16)) u_write_back (
    .clk_i, .rst_ni(rst_no),
    .valid_i(back_valid), .ready_o(back_ready), .job_i(back_job), .bank_i(back_bank), .occupied_i(occupied),
    .base_i('0), .bank_o(plan_bank), .level_o(plan_level),
    .entries_i(plan_entries), .slots_i(plan_slots), .below_i(plan_below),
    .busy_o(back_busy), .load_o(load), .load_slot_o(load_slot), .load_beat_o(load_beat), .loaded_i(loaded),
    .loaded_tag_i(loaded_tag), .give_o(give), .give_slot_o(give_slot),
    .row_mask_valid_i(write_mask_valid), .row_mask_ready_o(), .row_mask_i('0),
    .body_mask_valid_i(body_mask_valid), .body_mask_ready_o(body_back_ready), .body_mask_i('0),
    .aw_valid_o(), .aw_ready_i(aw_ready), .aw_address_o(), .aw_length_o(),
    .w_valid_o(), .w_ready_i(w_ready), .w_data_o(), .w_last_o(), .b_valid_i(b_valid), .b_ready_o(),
    .written_paths_o(), .written_levels_o()
  );

endmodule
