// A replacement of AES for a proof about pads: a mask says whether it was made of the watched pad, two cycles later. That
// pad is arbitrary, and constant from the reset. The first key is taken at once.
module ameles_aes #(
  parameter int unsigned StagesPerRound = 1,
  parameter int unsigned RomRounds = 0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [10:0][127:0] round_keys_i,
  input  logic               valid_i,
  input  logic [127:0]       block_i,
  output logic               valid_o,
  output logic [127:0]       block_o
);

  logic first_q, hit_q, unused_keys;
  logic [127:0] any, watched_q;  // nothing drives `any`
  assign unused_keys = ^{round_keys_i, StagesPerRound, RomRounds};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {valid_o, first_q} <= '0;
    else {valid_o, first_q} <= {first_q, valid_i};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) watched_q <= any;
    hit_q <= block_i == watched_q;
    block_o <= 128'(hit_q);
  end

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
