// Blocks for which PushToLeaf has found places together with another block, on their way into the plan. There is a
// queue for each place of a row.
//
// Interface: a block goes in with its place. The other block goes into the plan at once. A block from here goes in when
// no other block goes to the same place of a row.
//
// Timing: each queue is empty as many cycles after the last pair as a path has levels.
//
// Keeps: the queues. On a path no place of a bucket is given twice, so none has more than one block of each level.
module ameles_plan_queue #(
  parameter int unsigned Places = 4,
  parameter int unsigned Levels = 21,
  parameter int unsigned CountBits = 3,
  parameter int unsigned DataBits = 8
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            valid_i,
  input  logic [CountBits-1:0]            place_i,
  input  logic [DataBits-1:0]             data_i,
  input  logic [Places-1:0]               busy_i,   // another block goes there
  output logic [Places-1:0]               valid_o,
  output logic [Places-1:0][DataBits-1:0] data_o
);

  for (genvar place = 0; place < Places; place++) begin : gen_place
    logic waits, unused_ready;
    assign valid_o[place] = waits && !busy_i[place];
    ameles_fifo #(.Width(DataBits), .Depth(Levels + 1)) u_queue (
      .clk_i, .rst_ni,
      .valid_i(valid_i && place_i == CountBits'(place)), .ready_o(unused_ready), .data_i,
      .valid_o(waits), .ready_i(!busy_i[place]), .data_o(data_o[place])
    );
  end

endmodule
