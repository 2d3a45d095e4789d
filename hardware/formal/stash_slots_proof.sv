// No write goes to a slot of the stash that holds a block, except the slot of the block of interest. Only a slot that holds
// a block is given back, and only once. This holds for the stash and the write-back together, for any jobs, headers and times.
module stash_slots_proof
  import ameles_pkg::*;
#(
  `include "tiny_parameters.svh"
  parameter bit Wrong = 1'b0  // for a proof that must fail: the block of interest is like any
) (
  input logic         clk_i,
  input logic [511:0] any_i
);

  localparam int unsigned SlotBits = slot_bits(Cfg);

  logic rst_n;
  stash_and_write_back #(.Cfg(Cfg)) u_pair (.clk_i, .any_i, .rst_no(rst_n));

  // The slots that hold a block: from its last beat, or from its service in the spare slot, until they are given back.
  localparam int unsigned Slots = slots(Cfg);
  logic [Slots-1:0] holds_q, holds_d;
  logic gives;
  logic [SlotBits-1:0] given, stored;
  assign gives = u_pair.back.give || u_pair.u_stash.returns;
  assign given = u_pair.back.give ? u_pair.back.give_slot : u_pair.u_stash.held_slot_q;
  assign stored = u_pair.u_stash.to_spare ? u_pair.u_stash.spare_q : u_pair.u_stash.free_slot;
  always_comb begin
    holds_d = holds_q;
    if (gives) holds_d[given] = 1'b0;
    if (u_pair.u_stash.slot_take) holds_d[u_pair.u_stash.free_slot] = 1'b1;
    if (u_pair.u_stash.spare_used) holds_d[u_pair.u_stash.spare_q] = 1'b1;
  end
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) holds_q <= '0;
    else holds_q <= holds_d;
  end

  // A block that was taken leaves its slot once, even if no other slot is free.
  logic returned_q;
  always_ff @(posedge clk_i) returned_q <= rst_n && u_pair.u_stash.returns;

  always_comb begin
    if (rst_n) begin
      assert (!(returned_q && u_pair.u_stash.returns));
      assert (!u_pair.u_stash.store || !holds_q[stored]);
      assert (!u_pair.u_stash.replaces || holds_q[u_pair.u_stash.served_slot] == (u_pair.u_stash.held_q && !Wrong));
      assert (!u_pair.u_stash.tag_store || holds_q[u_pair.u_stash.tag_slot]);
      assert (!gives || holds_q[given]);
      assert (!(u_pair.back.give && u_pair.u_stash.returns));
      assert (!u_pair.u_stash.slot_take || u_pair.u_stash.free_valid);
    end
  end

endmodule
