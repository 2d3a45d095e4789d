// The chunk of a replaced AES for a proof about pads: it says whether its pad is the watched one. That pad is arbitrary, and
// constant from the reset. The first key is taken at once.
module replaced_chunk (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [127:0] pad_i,
  output logic [127:0] chunk_o
);

  logic [127:0] any, watched_q;  // nothing drives `any`
  always_ff @(posedge clk_i) if (!rst_ni) watched_q <= any;
  assign chunk_o = 128'(pad_i == watched_q);

endmodule

module ameles_aes_key (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               key_valid_i,
  output logic               key_ready_o,
  input  logic [127:0]       key_i,
  output logic               reused_o,
  output logic               valid_o,
  output logic [10:0][127:0] round_keys_o
);

  assign {round_keys_o, key_ready_o, reused_o} = {1280'd0, key_i, !valid_o, 1'b0};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_o <= 1'b0;
    else if (key_valid_i) valid_o <= 1'b1;
  end

endmodule
