// No write goes to a slot of the stash that holds a block, but to that of the block of interest; and only a slot that holds a
// block is given back, once. For the stash and the way back together, whatever jobs, headers and moments there are.
module stash_slots_proof
  import lethe_pkg::*;
#(
  parameter bit Raw = 1'b1,
  parameter int unsigned LeafLevel = 1,
  parameter int unsigned BlocksPerBucket = 1,
  parameter int unsigned StashBlocks = 1,
  parameter int unsigned BlockBeats = 1,
  parameter bit Wrong = 1'b0  // for a proof that must fail: no slot is given back
) (
  input logic         clk_i,
  input logic [511:0] any_i
);

  localparam config_t Cfg = proof_pkg::tiny(Raw, LeafLevel, BlocksPerBucket, StashBlocks, BlockBeats);
  localparam int unsigned Z = BlocksPerBucket;
  localparam int unsigned SlotBits = slot_bits(Cfg);

  logic rst_n;
  stash_and_way_back #(.Cfg(Cfg)) u_pair (.clk_i, .any_i, .rst_no(rst_n));

  // Which slots hold a block: from its last beat, or from being served in the spare slot, until they are given back.
  localparam int unsigned Slots = slots(Cfg);
  logic [Slots-1:0] holds_q, holds_d;
  // The states of lethe_stash.
  typedef enum logic [3:0] {First, Idle, Scan, Unload, HandOver, Read, Serve, Push, Join, Settle, GoBack} state_e;
  state_e state;
  assign state = state_e'(u_pair.u_stash.state_q);
  logic gives;
  logic [SlotBits-1:0] given, stored;
  assign gives = u_pair.give || u_pair.u_stash.returns;
  assign given = u_pair.give ? u_pair.give_slot : u_pair.u_stash.held_slot_q;
  assign stored = u_pair.u_stash.to_spare ? u_pair.u_stash.spare_q : u_pair.u_stash.free_slot;
  always_comb begin
    holds_d = holds_q;
    if (gives && !Wrong) holds_d[given] = 1'b0;
    if (u_pair.u_stash.slot_take) holds_d[u_pair.u_stash.free_slot] = 1'b1;
    if (u_pair.u_stash.spare_used) holds_d[u_pair.u_stash.spare_q] = 1'b1;
  end
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) holds_q <= '0;
    else holds_q <= holds_d;
  end

  // How often each slot stands somewhere: exactly once, which is what makes it safe by induction. Of the list, what is not
  // scanned yet and what was appended counts; of the two plans, what is not written back yet.
  logic path_under_way, planned;
  assign path_under_way = state != Idle && state != First;
  assign planned = path_under_way && u_pair.u_stash.is_whole;
  logic held;
  assign held = u_pair.u_stash.held_q && (state == Scan || state == Unload
      || state == HandOver || state == Read || state == Serve
      || state == Push);
  logic [SlotBits+1:0] out, count;
  assign out = (SlotBits + 2)'(u_pair.u_stash.u_free.u_back.out_q);
  assign count = (SlotBits + 2)'(u_pair.u_stash.u_free.u_back.count_q);
  for (genvar slot = 0; slot < Slots; slot++) begin : gen_slot
    logic [StashBlocks:0] listed;
    logic [Slots-1:0] queued;
    logic [LeafLevel:0][Z-1:0] to_go, going;
    logic [2:0] pipe;
    logic [$bits(pipe)+$bits(listed)+2*$bits(going)+1:0] holders;
    logic [Slots+1:0] others;
    for (genvar place = 0; place <= StashBlocks; place++) begin : gen_list
      assign listed[place] = u_pair.u_stash.u_list.u_items.words[place][SlotBits-1:0] == SlotBits'(slot)
          && (place < u_pair.u_stash.u_list.count_q
              || (u_pair.u_stash.u_list.reading_q && place >= u_pair.u_stash.u_list.scanned_q && place < u_pair.u_stash.u_list.before_q));
    end
    for (genvar place = 0; place < Slots; place++) begin : gen_queue
      assign queued[place] = u_pair.u_stash.u_free.u_back.words[place] == SlotBits'(slot)
          && (place >= out ? place < out + count : place + Slots < out + count);
    end
    for (genvar level = 0; level <= LeafLevel; level++) begin : gen_level
      for (genvar place = 0; place < Z; place++) begin : gen_place
        assign to_go[level][place] = planned && place < u_pair.occupied[level]
            && !(u_pair.u_stash.plan_write[place] && !u_pair.u_stash.row && u_pair.u_stash.out_level == level_bits(Cfg)'(level))
            && u_pair.u_stash.u_plan.gen_place[place].places[{u_pair.u_stash.bank_q, level_bits(Cfg)'(level)}] == SlotBits'(slot);
        assign going[level][place] = u_pair.u_write_back.beats_q && u_pair.u_write_back.whole_q && place < u_pair.u_write_back.occupied_q[level]
            && (level > u_pair.u_write_back.level_q || (level == u_pair.u_write_back.level_q && place >= u_pair.u_write_back.place_q))
            && u_pair.u_stash.u_plan.gen_place[place].places[{u_pair.plan_bank, level_bits(Cfg)'(level)}] == SlotBits'(slot);
      end
    end
    assign pipe = {
      u_pair.u_stash.u_push_to_leaf.first_valid_q && u_pair.u_stash.u_push_to_leaf.first_q.data[SlotBits-1:0] == SlotBits'(slot),
      u_pair.u_stash.u_push_to_leaf.second_valid_q && u_pair.u_stash.u_push_to_leaf.second_q.data[SlotBits-1:0] == SlotBits'(slot),
      u_pair.u_stash.out_valid && u_pair.u_stash.out_item.slot == SlotBits'(slot)
    };
    assign holders = {
      pipe, listed, to_go, going, held && u_pair.u_stash.held_slot_q == SlotBits'(slot),
      u_pair.u_stash.listed && u_pair.u_stash.listed_item.slot == SlotBits'(slot)
    };
    assign others = {
      queued, slot >= u_pair.u_stash.u_free.fresh_q, state != First && u_pair.u_stash.spare_q == SlotBits'(slot)
    };
    always_comb begin
      if (rst_n) begin
        assert ((others & (others - 1'b1)) == '0 && (holders & (holders - 1'b1)) == '0);
        assert (holds_q[slot] == (others == '0));
        assert (holds_q[slot] ? holders != '0 || u_pair.overflow : holders == '0);
      end
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (!u_pair.u_stash.store || !holds_q[stored]);
      assert (!u_pair.u_stash.replaces || (u_pair.u_stash.held_q ? holds_q[u_pair.u_stash.held_slot_q] : !holds_q[u_pair.u_stash.spare_q]));
      assert (!gives || holds_q[given]);
      assert (!(u_pair.give && u_pair.u_stash.returns));
      assert (!u_pair.u_stash.slot_take || u_pair.u_stash.free_valid);
      assert (!u_pair.u_stash.free_valid || !holds_q[u_pair.u_stash.free_slot]);
      assert (state == First || !holds_q[u_pair.u_stash.spare_q]);
    end
  end

endmodule
