// The pipeline of AES-128 encryption: a block enters and a ciphertext leaves in every cycle.
//
// Interface: `valid_i` marks a cycle whose `block_i` is a block, `valid_o` a cycle whose `block_o` is a ciphertext.
// There is no back pressure: who sends a block takes its ciphertext when it comes. `round_keys_i` are the eleven round
// keys of `ameles_aes_key`, which must not change while blocks are on their way. Bytes lie as `ameles_aes_pkg` says.
//
// Timing: a ciphertext is out `ameles_aes_pkg::ameles_aes_latency(StagesPerRound)` cycles after its block was in, which
// is 11, 21 or 30. `StagesPerRound` 2 has a register between SubBytes and MixColumns, and 3 another within MixColumns, for a
// faster clock. On a 7-series FPGA 2 is smaller than 1, too, by yosys 0.70: with no register between them, the mapper opens the
// S-boxes to make the whole round less deep. `hardware/README.md` has figures. `RomRounds` puts the S-boxes of so many rounds
// into block RAM, eight RAMB18 a round.
//
// Keeps: the blocks on their way. Reset clears their valid bits alone; the data behind them is never looked at.
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

  // State 0 is that after the first key addition, state r that after round r.
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
