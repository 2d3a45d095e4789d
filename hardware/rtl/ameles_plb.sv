// The PLB: PosMap blocks on chip, which are nowhere else, with their leaves and counters. It is direct-mapped by the
// lowest bits of the block.
//
// Interface: a line is read by the number of a block. `valid_o` says that the line has a block, but not that it is this
// one. Tag and data are written separately.
//
// Timing: a read line appears one cycle later. After a reset the PLB clears its lines, one per cycle, and then
// `ready_o` rises.
//
// Keeps: the lines, in block RAM.
module ameles_plb #(
  parameter int unsigned Lines = 128,
  parameter int unsigned BlockBits = 20,
  parameter int unsigned LeafBits = 20,
  parameter int unsigned CounterBits = 1,
  parameter int unsigned DataBits = 512,
  localparam int unsigned LineBits = Lines > 1 ? $clog2(Lines) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  output logic                   ready_o,
  // Reading.
  input  logic                   read_i,
  input  logic [BlockBits-1:0]   read_block_i,
  output logic                   valid_o,   // the line holds a block
  output logic [BlockBits-1:0]   block_o,
  output logic [LeafBits-1:0]    leaf_o,
  output logic [CounterBits-1:0] counter_o,
  output logic [DataBits-1:0]    data_o,
  // Writing.
  input  logic                   write_tag_i,
  input  logic                   write_data_i,
  input  logic [BlockBits-1:0]   write_block_i,
  input  logic [LeafBits-1:0]    leaf_i,
  input  logic [CounterBits-1:0] counter_i,
  input  logic [DataBits-1:0]    data_i
);

  logic [LineBits-1:0] write_line, read_line;

  assign read_line = Lines > 1 ? LineBits'(read_block_i) : '0;
  assign write_line = Lines > 1 ? LineBits'(write_block_i) : '0;

  ameles_cleared_ram #(.Width(1 + BlockBits + LeafBits + CounterBits), .Depth(Lines)) u_tags (
    .clk_i, .rst_ni, .ready_o,
    .write_i(write_tag_i), .write_address_i(write_line), .write_data_i({1'b1, write_block_i, leaf_i, counter_i}),
    .read_i, .read_address_i(read_line), .read_data_o({valid_o, block_o, leaf_o, counter_o})
  );
  ameles_ram #(.Width(DataBits), .Depth(Lines)) u_data (
    .clk_i,
    .write_i(write_data_i), .write_address_i(write_line), .write_data_i(data_i),
    .read_i, .read_address_i(read_line), .read_data_o(data_o)
  );

endmodule
