// The pipeline of AES-128 encryption: it takes a block and gives a ciphertext in every cycle.
//
// Interface: `valid_i` marks a cycle in which `block_i` is a block, and `valid_o` one in which `block_o` is a
// ciphertext. There is no back pressure: the sender of a block must take its ciphertext when it comes. `round_keys_i`
// are the eleven round keys of `ameles_aes_key`, which must not change while blocks are in the pipeline.
// `ameles_aes_pkg` defines the order of bytes.
//
// Timing: a ciphertext comes `ameles_aes_pkg::ameles_aes_latency(StagesPerRound)` cycles after its block, which is 11,
// 21 or 30. With `StagesPerRound` 2 there is a register between SubBytes and MixColumns, and with 3 another one within
// MixColumns, for a faster clock. By yosys 0.70, 2 is also smaller than 1 on a 7-series FPGA. Without a register in
// between, the mapper restructures the S-boxes to shorten the whole round. `hardware/README.md` has figures.
// `RomRounds` puts the S-boxes of this many rounds into block RAM, with eight RAMB18 per round.
//
// Keeps: the blocks in the pipeline. Reset clears only their valid bits; without these the data are never used.
module ameles_aes
  import ameles_aes_pkg::*;
#(
  parameter int unsigned StagesPerRound = 1,
  parameter int unsigned RomRounds = 0,
  parameter bit CompositeSbox = 1'b0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  round_keys_t round_keys_i,
  input  logic        valid_i,
  input  block_t      block_i,
  output logic        valid_o,
  output block_t      block_o
);

  localparam int unsigned Latency = ameles_aes_latency(StagesPerRound);

  // State 0 is the one after the first key addition, and state r the one after round r.
  block_t [Rounds:0] states;
  block_t first_q;
  logic [Latency-1:0] valid_q;

  always_ff @(posedge clk_i) first_q <= block_i ^ round_keys_i[0];

  assign states[0] = first_q;

  for (genvar r = 1; r <= Rounds; r++) begin : g_round
    ameles_aes_round #(
      .Stages(StagesPerRound),
      .Last(r == Rounds),
      .Rom(r <= RomRounds),
      .CompositeSbox(CompositeSbox)
    ) u_round (
      .clk_i,
      .round_key_i(round_keys_i[r]),
      .block_i(states[r-1]),
      .block_o(states[r])
    );
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else begin
      valid_q <= {valid_q[Latency-2:0], valid_i};
    end
  end

  assign valid_o = valid_q[Latency-1];
  assign block_o = states[Rounds];

endmodule
