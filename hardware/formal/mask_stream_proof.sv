// No mask is lost: each that was asked for finds room when the engine brings it. As long as the engine asks only where there is
// room, and brings only what was asked for. A mask of two chunks holds both, the first lowest.
module mask_stream_proof #(
  parameter bit Deep = 1'b0,
  parameter int unsigned Depth = 4,
  parameter bit Wrong = 1'b0  // for a proof that must fail: it is asked without room
) (
  input logic         clk_i,
  input logic         first_i,
  input logic         group_valid_i,
  input logic         group_i,
  input logic [127:0] chunks_i,
  input logic         ready_i
);

  logic rst_n, has_room, valid, put;
  logic [255:0] mask;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  lethe_mask_stream #(.Chunks(2), .Lanes(1), .Depth(Depth), .Deep(Deep)) u_stream (
    .clk_i, .rst_ni(rst_n), .has_room_o(has_room), .first_i, .group_valid_i, .group_last_i(group_i), .group_i,
    .chunks_i, .valid_o(valid), .ready_i, .mask_o(mask)
  );

  localparam int unsigned Bits = $clog2(Depth + 1) + 1;
  logic [Bits-1:0] coming_q, kept;
  assign put = group_valid_i && group_i;
  always_comb begin
    assume (!first_i || has_room || Wrong);
    assume (!put || coming_q != '0);
  end
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) coming_q <= '0;
    else coming_q <= coming_q + Bits'(first_i) - Bits'(put);
  end
  if (Deep) begin : gen_deep
    assign kept = Bits'(u_stream.gen_deep.u_masks.count_q) + Bits'(valid);
  end else begin : gen_shallow
    assign kept = Bits'(u_stream.gen_shallow.u_masks.count_q);
  end
  always_comb begin
    if (rst_n) begin
      assert (!put || u_stream.unused_ready);
      // By induction.
      assert (Bits'(u_stream.owed_q) == coming_q + kept && 32'(u_stream.owed_q) <= Depth);
      assert (32'(coming_q) <= Depth && 32'(kept) <= Depth);
      assert (Deep || valid == (kept != '0));
    end
  end

  // A mask whose chunks came one after the other holds both, the first lowest.
  logic [127:0] first_q;
  logic half_q;
  always_ff @(posedge clk_i) begin
    if (group_valid_i) first_q <= chunks_i;
    if (!rst_n) half_q <= 1'b0;
    else if (group_valid_i) half_q <= !group_i;
  end
  always_comb begin
    if (rst_n && put && half_q) assert (u_stream.mask == {chunks_i, first_q});
    if (rst_n && half_q) assert (u_stream.parts_q[0] == first_q);
  end

endmodule
