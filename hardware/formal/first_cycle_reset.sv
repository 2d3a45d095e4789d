// The reset of all proofs: low in the first cycle, and high from then on. Registers that no reset clears begin with anything,
// so that this stands for a reset at any time as well.
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
