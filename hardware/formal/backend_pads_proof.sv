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
  input logic [255:0] any_i  // any behaviour of the environment in this cycle
);

  localparam config_t Cfg = proof_pkg::tiny(Raw, LeafLevel, 1, 1, 1);

  logic rst_n, valid, data_valid, answer_ready, ar_ready, r_valid, aw_ready, w_ready, b_valid;
  logic [31:0] block, path;
  logic [127:0] r_data;
  op_e op;
  assign {
    valid, op, block, path, data_valid, answer_ready, ar_ready, r_valid, r_data, aw_ready, w_ready, b_valid
  } = any_i[202:0];
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_stream_if #(.word_t(request_t)) request ();
  ameles_stream_if #(.word_t(logic [127:0])) user_data (), leaf_input (), leaf_chunk ();
  ameles_answer_if #(.Cfg(Cfg)) answer ();
  ameles_stream_if tag ();
  assign {request.valid, request.data} = {valid, op, block, path, 32'd0, 1'b0};
  assign {user_data.valid, answer.ready, leaf_chunk.ready} = {data_valid, answer_ready, 1'b1};
  assign {user_data.data, tag.valid, tag.data, leaf_input.valid, leaf_input.data} = '0;
  ameles_stream_if #(.word_t(logic [31:0])) random ();
  assign {random.valid, random.data} = {1'b1, 32'd0};
  ameles_stream_if #(.word_t(logic [127:0])) key ();
  assign {key.valid, key.data} = {1'b1, 128'd0};
  ameles_axi_if #(.AddressBits(16), .Data(128)) memory ();
  assign {memory.ar_ready, memory.r_valid, memory.r_data, memory.r_response} = {ar_ready, r_valid, r_data, 2'b0};
  assign {memory.aw_ready, memory.w_ready, memory.b_valid, memory.b_response} = {aw_ready, w_ready, b_valid, 2'b0};
  ameles_backend #(.Choices(Cfg), .AddressBits(16)) u_backend (
    .clk_i, .clk2_i(1'b0), .rst_ni(rst_n), .stop_i(1'b0), .key, .base_i('0),
    .request, .leaf_input, .leaf_chunk, .data(user_data), .answer, .tag,
    .random, .reads(memory), .writes(memory),
    .emergencies_o(), .key_reused_o(), .memory_error_o(), .overflow_o()
  );
  always_comb assume (!valid || op <= OpSkip);
  logic row_used, body_used, row_read, seen_q, uses;
  assign row_used = u_backend.row_back_mask.ready && u_backend.row_back_mask.data[0];
  assign body_used = u_backend.body_back_mask.ready && u_backend.body_back_mask.data[0];
  assign row_read = u_backend.row_in_mask.ready && u_backend.row_in_mask.data[0];
  assign uses = row_used || body_used || (Wrong && row_read);
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) seen_q <= 1'b0;
    else if (uses) seen_q <= 1'b1;
  end
  always_comb begin
    if (rst_n) assert (!(uses && seen_q));
  end

endmodule
