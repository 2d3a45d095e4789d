// The whole backend never uses a mask twice for data that go to memory, for any answers of memory and any requests. AES
// is replaced: a mask says whether it was made of the watched pad, which is arbitrary.
module backend_pads_proof
  import ameles_pkg::*;
#(
  parameter bit Raw = 1'b1,
  parameter int unsigned LeafLevel = 0,
  parameter bit Wrong = 1'b0  // for a proof that must fail: data that come in count too
) (
  input logic         clk_i,
  input logic         request_valid_i,
  input op_e          request_op_i,
  input logic [31:0]  request_block_i,
  input logic [31:0]  request_path_i,
  input logic         data_valid_i,
  input logic         answer_ready_i,
  input logic         ar_ready_i,
  input logic         r_valid_i,
  input logic [127:0] r_data_i,
  input logic         aw_ready_i,
  input logic         w_ready_i,
  input logic         b_valid_i
);

  localparam config_t Cfg = proof_pkg::tiny(Raw, LeafLevel, 1, 1, 1);

  logic rst_n, request_ready, data_ready, answer_valid, ar_valid, r_ready, aw_valid, w_valid, w_last, b_ready;
  logic [15:0] ar_address, aw_address;
  logic [7:0] ar_length, aw_length;
  logic [127:0] answer, w_data;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_backend #(.Choices(Cfg), .AddressBits(16)) u_backend (
    .clk_i, .clk2_i(1'b0), .rst_ni(rst_n), .stop_i(1'b0), .key_valid_i(1'b1), .key_ready_o(), .key_i('0), .base_i('0),
    .request_valid_i, .request_ready_o(request_ready), .request_op_i, .request_block_i, .request_path_i,
    .request_leaf_i('0), .request_more_i(1'b0),
    .leaf_valid_i(1'b0), .leaf_ready_o(), .leaf_input_i('0), .leaf_valid_o(), .leaf_ready_i(1'b1), .leaf_chunk_o(),
    .data_valid_i, .data_ready_o(data_ready), .data_i('0),
    .answer_valid_o(answer_valid), .answer_ready_i, .answer_o(answer), .answer_last_o(),
    .answer_tag_o(), .tag_valid_i(1'b0), .tag_ready_o(), .tag_i('0),
    .random_ready_o(), .random_valid_i(1'b1), .random_i('0),
    .ar_valid_o(ar_valid), .ar_ready_i, .ar_address_o(ar_address), .ar_length_o(ar_length),
    .r_valid_i, .r_ready_o(r_ready), .r_data_i, .r_response_i('0),
    .aw_valid_o(aw_valid), .aw_ready_i, .aw_address_o(aw_address), .aw_length_o(aw_length),
    .w_valid_o(w_valid), .w_ready_i, .w_data_o(w_data), .w_last_o(w_last),
    .b_valid_i, .b_ready_o(b_ready), .b_response_i('0),
    .emergencies_o(), .key_reused_o(), .memory_error_o(), .overflow_o()
  );
  always_comb assume (!request_valid_i || request_op_i <= OpSkip);
  logic row_used, body_used, row_read, seen_q, uses;
  assign row_used = u_backend.u_write_back.row_mask_ready_o && u_backend.u_write_back.row_mask_i[0];
  assign body_used = u_backend.u_write_back.body_mask_ready_o && u_backend.u_write_back.body_mask_i[0];
  assign row_read = u_backend.u_stash.row_mask_ready_o && u_backend.u_stash.row_mask_i[0];
  assign uses = row_used || body_used || (Wrong && row_read);
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) seen_q <= 1'b0;
    else if (uses) seen_q <= 1'b1;
  end
  always_comb begin
    if (rst_n) assert (!(uses && seen_q));
  end

endmodule
