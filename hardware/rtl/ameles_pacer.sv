// The times of paths: each slot is an access and a put, at most one in `slot_cycles`, for a block or for none.
//
// Interface: when a slot is due, the pending request of the front end is served. If there is none, a path from
// `random_i` is read for no block, and no block is put in. A later request waits for the next slot. So the backend gets
// the same requests at the same times for any behaviour of the front end. The number of paths of a request is hidden.
//
// Timing: a slot is due `slot_cycles` after the slot before was taken, at a time that depends only on the paths. It
// begins in the first cycle in which `random_i` has a word, whether or not it needs the word. Without slots (0),
// requests pass as they come.
//
// Keeps: the choice for the current slot, and the cycles until the next one.
module ameles_pacer
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  // The front end.
  ameles_stream_if.sink   slot,  // `tagged_slot_t`
  // A path for no block: a secret random word.
  output logic            random_ready_o,
  input  logic            random_valid_i,
  input  logic [31:0]     random_i,
  // The slot is for no block: for the cell that makes its tags, when its access passes.
  output logic            taken_o,
  output logic            dummy_o,
  input  logic            tags_ready_i,
  // The backend.
  ameles_stream_if.source request  // `request_t`
);

  localparam bit Paced = Cfg.slot_cycles != 0;
  localparam int unsigned CycleBits = $clog2(Cfg.slot_cycles + 2);

  logic putting_q, put_q, is_open, is_real, passes, begins, more;
  logic [31:0] put_block_q, put_leaf_q;
  slot_t offered;
  request_t asked;
  assign offered = slot.data.slot;
  assign request.data = asked;

  // The first cycle of a due slot decides whether it is for a block.
  if (Paced) begin : gen_paced
    logic [CycleBits-1:0] left_q;
    logic open_q, real_q, is_due;
    assign is_due = left_q == '0;
    // It needs a word in any case, so that a lack of words leaks nothing.
    assign is_open = is_due && !putting_q && random_valid_i;
    assign is_real = open_q ? real_q : slot.valid;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        left_q <= CycleBits'(Cfg.slot_cycles);
        open_q <= 1'b0;
      end else begin
        if (begins) left_q <= CycleBits'(Cfg.slot_cycles - 1);
        else if (!is_due) left_q <= left_q - 1'b1;
        open_q <= is_open && !begins;
      end
    end
    always_ff @(posedge clk_i) real_q <= is_real;
  end else begin : gen_unpaced
    assign is_open = slot.valid && !putting_q;
    assign is_real = 1'b1;
  end

  assign request.valid = putting_q || (is_open && tags_ready_i);
  assign passes = request.valid && request.ready;
  assign begins = passes && !putting_q;
  assign taken_o = begins;
  assign dummy_o = !is_real;
  assign slot.ready = begins && is_real;
  assign random_ready_o = begins && !is_real;

  always_comb begin
    if (putting_q) begin
      asked.op = put_q ? OpPut : OpSkip;
      asked.block = put_block_q;
      asked.leaf = put_leaf_q;
    end else begin
      asked.op = is_real ? offered.op : OpDummy;
      asked.block = offered.block;
      asked.leaf = offered.leaf;
    end
    asked.path = is_real ? offered.path : random_i;
    asked.more = more;
  end
  assign more = !putting_q && (Paced || offered.put);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) putting_q <= 1'b0;
    else if (passes) putting_q <= more;
  end
  always_ff @(posedge clk_i) begin
    if (begins) begin
      put_q <= is_real && offered.put;
      put_block_q <= offered.put_block;
      put_leaf_q <= offered.put_leaf;
    end
  end

endmodule
