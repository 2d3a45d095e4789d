// Addresses and beats of writes stay until memory takes them, if masks stay, and if the stash reads nothing else while a path
// goes back.
module write_back_handshakes_proof #(
  `include "tiny_parameters.svh"
  parameter bit Wrong = 1'b0  // for a proof that must fail: masks need not stay
) (
  input logic                                                                  clk_i,
  input logic                                                                  valid_i,
  input ameles_pkg::job_t                                                       job_i,
  input logic                                                                  bank_i,
  input logic [LeafLevel:0][$clog2(BlocksPerBucket+1)-1:0]                     occupied_i,
  input logic [BlocksPerBucket-1:0][ameles_pkg::entry_bits(Cfg)-1:0]            entries_i,
  input logic [BlocksPerBucket-1:0][ameles_pkg::slot_bits(Cfg)-1:0]             slots_i,
  input logic [1:0]                                                            below_i,
  input logic                                                                  other_load_i,
  input logic [127:0]                                                          loaded_i,
  input logic [ameles_pkg::at_least_one(Cfg.tag_bits)-1:0]                      loaded_tag_i,
  input logic                                                                  row_mask_valid_i,
  input logic [127:0]                                                          row_mask_i,
  input logic                                                                  body_mask_valid_i,
  input logic [127:0]                                                          body_mask_i,
  input logic                                                                  aw_ready_i,
  input logic                                                                  w_ready_i,
  input logic                                                                  b_valid_i
);

  logic rst_n;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_write_back_if #(.Cfg(Cfg)) back ();
  assign {back.valid, back.job, back.bank, back.occupied} = {valid_i, job_i, bank_i, occupied_i};
  assign {back.plan_entries, back.plan_slots, back.plan_below} = {entries_i, slots_i, below_i};
  assign {back.loaded, back.loaded_tag} = {loaded_i, loaded_tag_i};
  ameles_stream_if #(.word_t(logic [127:0])) row_mask (), body_mask ();
  assign {row_mask.valid, row_mask.data} = {row_mask_valid_i, row_mask_i};
  assign {body_mask.valid, body_mask.data} = {body_mask_valid_i, body_mask_i};
  ameles_axi_if #(.AddressBits(16), .Data(128)) memory ();
  assign {memory.aw_ready, memory.w_ready, memory.b_valid} = {aw_ready_i, w_ready_i, b_valid_i};
  ameles_write_back #(.Cfg(Cfg), .AddressBits(16)) u_write_back (
    .clk_i, .rst_ni(rst_n), .back, .row_mask, .body_mask, .writes(memory), .base_i('0),
    .written_paths_o(), .written_levels_o()
  );

  stays_until_ready #(.Width(128), .Assumed(1'b1)) u_row_mask (
    .clk_i, .rst_ni(rst_n), .valid_i(row_mask_valid_i && !Wrong), .ready_i(row_mask.ready), .payload_i(row_mask_i)
  );
  stays_until_ready #(.Width(128), .Assumed(1'b1)) u_body_mask (
    .clk_i, .rst_ni(rst_n), .valid_i(body_mask_valid_i), .ready_i(body_mask.ready), .payload_i(body_mask_i)
  );
  // The RAM of the stash: a word stays until another one is read.
  logic loads_q;
  logic [127:0] loaded_q;
  always_ff @(posedge clk_i) begin
    loads_q <= back.load || other_load_i;
    loaded_q <= loaded_i;
  end
  always_comb assume (!other_load_i || !back.busy);
  always_comb assume (!rst_n || loads_q || loaded_i == loaded_q);

  stays_until_ready #(.Width(24)) u_address (
    .clk_i, .rst_ni(rst_n), .valid_i(memory.aw_valid), .ready_i(aw_ready_i), .payload_i({memory.aw_address, memory.aw_length})
  );
  stays_until_ready #(.Width(129)) u_beat (
    .clk_i, .rst_ni(rst_n), .valid_i(memory.w_valid), .ready_i(w_ready_i), .payload_i({memory.w_last, memory.w_data})
  );

  // For the induction.
  always_comb begin
    if (rst_n) begin
      assert (u_write_back.whole_q || !u_write_back.beats_q || u_write_back.is_header);
      assert (u_write_back.whole_q || !u_write_back.second_q || u_write_back.second_header_q);
      assert (!u_write_back.second_header_q || !u_write_back.second_block_q || !u_write_back.second_q);
      assert (u_write_back.beats_q || u_write_back.step_q == '0);
      assert (!u_write_back.told_q || u_write_back.burst_valid);
      assert (u_write_back.u_ends.count_q <= 5'd16 && u_write_back.u_lengths.count_q <= 3'd4);
      assert (u_write_back.u_lengths.in_q == 2'(u_write_back.u_lengths.out_q + u_write_back.u_lengths.count_q));
    end
  end

endmodule
