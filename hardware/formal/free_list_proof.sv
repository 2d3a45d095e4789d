// The callers give back only taken slots. Then a taken slot of the stash is not given out again before it is given back. No
// slot is lost: every slot is either taken or will be given out.
module free_list_proof #(
  parameter int unsigned Slots = 5,
  parameter bit Wrong = 1'b0,  // for a proof that must fail: a slot is given back while it is still free
  localparam int unsigned SlotBits = $clog2(Slots)
) (
  input logic                clk_i,
  input logic                take_i,
  input logic                give_i,
  input logic [SlotBits-1:0] slot_i
);

  logic rst_n, valid;
  logic [SlotBits-1:0] slot;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_free_list #(.Slots(Slots)) u_free_list (
    .clk_i, .rst_ni(rst_n), .take_i, .valid_o(valid), .slot_o(slot), .give_i, .slot_i
  );

  logic [Slots-1:0] taken_q, taken_d;
  always_comb begin
    taken_d = taken_q;
    if (take_i) taken_d[slot] = 1'b1;
    if (give_i) taken_d[slot_i] = 1'b0;
  end
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) taken_q <= '0;
    else taken_q <= taken_d;
  end

  always_comb begin
    assume (!take_i || valid);
    assume (!give_i || (32'(slot_i) < Slots && (Wrong || taken_q[slot_i])));
    if (rst_n) begin
      assert (!valid || (32'(slot) < Slots && !taken_q[slot]));
      assert (valid == (taken_q != '1));
    end
  end

  // For the induction: each free slot is once in the queue, or was never used.
  localparam int unsigned Wide = SlotBits + 2;
  logic [Wide-1:0] out, count;
  assign out = Wide'(u_free_list.u_back.out_q);
  assign count = Wide'(u_free_list.u_back.count_q);
  always_comb begin
    if (rst_n) begin
      assert (32'(u_free_list.fresh_q) <= Slots && count <= Wide'(u_free_list.fresh_q) && 32'(out) < Slots);
      assert (32'(u_free_list.u_back.in_q) == (32'(out + count) >= Slots ? 32'(out + count) - Slots : 32'(out + count)));
    end
  end
  logic [Slots-1:0] queued;
  for (genvar place = 0; place < Slots; place++) begin : gen_queued
    assign queued[place] = Wide'(place) >= out ? Wide'(place) < out + count : Wide'(place + Slots) < out + count;
    always_comb begin
      if (rst_n) assert (!queued[place] || Wide'(u_free_list.u_back.gen_distributed.words[place]) < Wide'(u_free_list.fresh_q));
    end
  end
  for (genvar nth = 0; nth < Slots; nth++) begin : gen_slot
    logic [Slots:0] queued_at;
    assign queued_at[Slots] = Wide'(nth) >= Wide'(u_free_list.fresh_q);
    for (genvar place = 0; place < Slots; place++) begin : gen_place
      assign queued_at[place] = u_free_list.u_back.gen_distributed.words[place] == SlotBits'(nth) && queued[place];
    end
    always_comb begin
      if (rst_n) begin
        assert ((queued_at & (queued_at - 1'b1)) == '0);
        assert (taken_q[nth] == (queued_at == '0));
      end
    end
  end

endmodule
