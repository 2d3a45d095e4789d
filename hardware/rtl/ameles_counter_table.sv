// The counters of the last PosMap level, on chip. A counter of 0 says that a block was never mapped.
//
// Interface: an entry is read or written, at one address for both.
//
// Timing: a read entry appears one cycle later. After a reset the table clears itself, one entry per cycle, and then
// `ready_o` rises.
//
// Keeps: the counters, in block RAM.
module ameles_counter_table #(
  parameter int unsigned Entries = 1024,
  parameter int unsigned Bits = 56,
  localparam int unsigned EntryBits = Entries > 1 ? $clog2(Entries) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  output logic                 ready_o,
  input  logic                 read_i,
  input  logic [EntryBits-1:0] entry_i,
  output logic [63:0]          counter_o,
  input  logic                 write_i,
  input  logic [63:0]          counter_i
);

  logic clearing_q;
  logic [EntryBits-1:0] cleared_q;
  logic [Bits-1:0] counter;

  assign ready_o = !clearing_q;
  assign counter_o = 64'(counter);

  ameles_ram #(.Width(Bits), .Depth(Entries)) u_counters (
    .clk_i,
    .write_i(clearing_q || write_i), .write_address_i(clearing_q ? cleared_q : entry_i),
    .write_data_i(clearing_q ? '0 : Bits'(counter_i)),
    .read_i, .read_address_i(entry_i), .read_data_o(counter)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      clearing_q <= 1'b1;
      cleared_q <= '0;
    end else if (clearing_q) begin
      clearing_q <= cleared_q != EntryBits'(Entries - 1);
      cleared_q <= cleared_q + 1'b1;
    end
  end

endmodule
