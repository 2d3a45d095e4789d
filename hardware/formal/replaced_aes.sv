// A replacement of AES for proofs: a chunk comes two cycles after its pad, made by `replaced_chunk`, of which there are two.
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
  logic [127:0] chunk, block_q;
  assign unused_keys = ^{round_keys_i, StagesPerRound, RomRounds};
  replaced_chunk u_chunk (.clk_i, .rst_ni, .pad_i(block_i), .chunk_o(chunk));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {valid_o, valid_q} <= '0;
    else {valid_o, valid_q} <= {valid_q, valid_i};
  end
  always_ff @(posedge clk_i) {block_o, block_q} <= {block_q, chunk};

endmodule
