// The reset of all proofs: low in the first cycle, and high from then on. Registers without reset begin with arbitrary
// values, so that this also covers a reset at any time.
module first_cycle_reset (
  input  logic clk_i,
  output logic rst_no
);

  // verilator lint_off PROCASSINIT
  logic ran_q = 1'b0;
  // verilator lint_on PROCASSINIT
  always_ff @(posedge clk_i) ran_q <= 1'b1;
  assign rst_no = ran_q;

endmodule
