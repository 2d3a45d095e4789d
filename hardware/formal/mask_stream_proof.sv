// No mask is lost: there is room for each requested mask when the engine brings it. This needs two conditions: requests are
// made only with room, and the engine brings only requested masks, which `mask_engine_proof` proves.
module mask_stream_proof #(
  parameter bit BlockRam = 1'b0,
  parameter int unsigned Depth = 4,
  parameter bit Wrong = 1'b0  // for a proof that must fail: requests without room
) (
  input logic       clk_i,
  input logic       first_i,
  input logic       put_i,
  input logic [7:0] mask_i,
  input logic       ready_i
);

  logic rst_n, has_room, valid;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_stream_if #(.word_t(logic [7:0])) mask ();
  assign {valid, mask.ready} = {mask.valid, ready_i};
  ameles_mask_stream #(.Width(8), .Depth(Depth), .BlockRam(BlockRam)) u_stream (
    .clk_i, .rst_ni(rst_n), .has_room_o(has_room), .first_i, .put_i, .mask_i, .mask
  );

  localparam int unsigned Bits = $clog2(Depth + 1) + 1;
  logic [Bits-1:0] coming_q, kept;
  always_comb begin
    assume (!first_i || has_room || Wrong);
    assume (!put_i || coming_q != '0);
  end
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) coming_q <= '0;
    else coming_q <= coming_q + Bits'(first_i) - Bits'(put_i);
  end
  assign kept = Bits'(u_stream.u_masks.count_q) + Bits'(BlockRam && valid);
  always_comb begin
    if (rst_n) begin
      assert (!put_i || u_stream.unused_ready);
      // For the induction.
      assert (Bits'(u_stream.pending_q) == coming_q + kept && 32'(u_stream.pending_q) <= Depth);
      assert (32'(coming_q) <= Depth && 32'(kept) <= Depth);
      assert (BlockRam || valid == (kept != '0));
    end
  end

endmodule
