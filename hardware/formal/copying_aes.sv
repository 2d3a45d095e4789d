// A replacement of AES for a proof about the order of masks: the output is the input, two cycles later.
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

  logic valid_q, unused_keys;
  logic [127:0] block_q;
  assign unused_keys = ^{round_keys_i, StagesPerRound, RomRounds};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {valid_o, valid_q} <= '0;
    else {valid_o, valid_q} <= {valid_q, valid_i};
  end
  always_ff @(posedge clk_i) {block_o, block_q} <= {block_q, block_i};

endmodule
