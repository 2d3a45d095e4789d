// The masks of RAW ORAM's bodies are one stream, and are taken in turn. First come all masks of a path that comes in,
// then all of the path as it goes back. So no body goes back under a mask for one that comes in. This holds for any
// jobs, headers and times.
module eviction_turns_proof #(
  `include "tiny_parameters.svh"
  parameter bit Wrong = 1'b0  // for a proof that must fail: a path in too few masks
) (
  input logic         clk_i,
  input logic [511:0] any_i
);

  logic rst_n, comes_in, goes_back;
  stash_and_write_back #(.Cfg(Cfg)) u_pair (.clk_i, .any_i, .rst_no(rst_n));
  assign comes_in = u_pair.body_in_mask.ready;
  assign goes_back = u_pair.body_back_mask.ready;

  localparam int unsigned Turn = (LeafLevel + 1 - TopLevels) * ameles_pkg::body_beats(Cfg, 0) - 32'(Wrong);
  logic [$clog2(2*Turn)-1:0] taken_q;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) taken_q <= '0;
    else if (comes_in || goes_back) taken_q <= 32'(taken_q) == 2 * Turn - 1 ? '0 : taken_q + 1'b1;
  end

  always_comb begin
    if (rst_n) begin
      assert (!(comes_in && goes_back));
      assert (!comes_in || 32'(taken_q) < Turn);
      assert (!goes_back || 32'(taken_q) >= Turn);
      // Masks of bodies that go back remain as long as a body goes back, and no longer.
      assert (!u_pair.back.busy || 32'(taken_q) >= Turn);
      assert (32'(taken_q) <= Turn || u_pair.back.busy);
      // A mask that is taken is used: it covers the beat that passes to memory.
      assert (!goes_back || (u_pair.memory.w_valid && u_pair.w_ready && !u_pair.u_write_back.second_header_q));
    end
  end

endmodule
