// Two lanes of AES in one pipeline, with a clock of twice the frequency.
//
// Interface: that of two cells `ameles_aes` in the domain of `clk_i`, which take their blocks and give their
// ciphertexts together. `valid_i` marks a cycle of `clk_i` in which both `block_i` are blocks, and `valid_o` one in
// which both `block_o` are ciphertexts. `clk2_i` has exactly twice the frequency of `clk_i` and is in phase with it:
// each rising edge of `clk_i` is also one of `clk2_i`. Timing constraints must declare both as related clocks. There is
// no synchroniser, and none is needed.
//
// Timing: ciphertexts come `ameles_aes_pkg::ameles_aes_double_latency()` cycles of `clk_i` after their blocks. Both
// sides of each border between the clocks have registers, with at most one look-up table between them. A path over the
// border has a period of `clk2_i`.
//
// Keeps: the blocks in the pipeline. The faster clock never stops and has no valid bits; these are in the domain of
// `clk_i`.
module ameles_aes_double
  import ameles_aes_pkg::*;
#(
  parameter int unsigned RomRounds = 0
) (
  input  logic         clk_i,
  input  logic         clk2_i,
  input  logic         rst_ni,
  input  round_keys_t  round_keys_i,
  input  logic         valid_i,
  input  block_t [1:0] block_i,
  output logic         valid_o,
  output block_t [1:0] block_o
);

  localparam int unsigned Latency = ameles_aes_double_latency();

  block_t [1:0] in_q, out_q;
  block_t chosen, ciphertext, before_q;
  logic turn_q, seen_q, unused_valid;
  logic [Latency-1:0] valid_q;

  always_ff @(posedge clk_i) in_q <= block_i;

  // In the first half of a cycle of `clk_i` the faster clock has not yet sampled the new turn.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) turn_q <= 1'b0;
    else turn_q <= !turn_q;
  end
  always_ff @(posedge clk2_i or negedge rst_ni) begin
    if (!rst_ni) seen_q <= 1'b0;
    else seen_q <= turn_q;
  end
  assign chosen = turn_q == seen_q ? in_q[1] : in_q[0];

  ameles_aes #(.StagesPerRound(3), .RomRounds(RomRounds)) u_aes (
    .clk_i(clk2_i), .rst_ni, .round_keys_i,
    .valid_i(1'b0), .block_i(chosen), .valid_o(unused_valid), .block_o(ciphertext)
  );

  // The pipeline has an even number of cycles, so that the second ciphertext comes in the second half.
  always_ff @(posedge clk2_i) before_q <= ciphertext;
  always_ff @(posedge clk_i) out_q <= {ciphertext, before_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[Latency-2:0], valid_i};
  end

  assign valid_o = valid_q[Latency-1];
  assign block_o = out_q;

endmodule
