// A memory whose words are zeros after a reset.
//
// Interface: that of `ameles_ram`. While `ready_o` is low, nothing may be written, and reads are undefined.
//
// Timing: that of `ameles_ram`. After a reset the memory clears itself, one word per cycle, and then `ready_o` rises.
//
// Keeps: the words, and the word that was read.
module ameles_cleared_ram #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 16,
  localparam int unsigned AddressBits = Depth > 1 ? $clog2(Depth) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  output logic                   ready_o,
  input  logic                   write_i,
  input  logic [AddressBits-1:0] write_address_i,
  input  logic [Width-1:0]       write_data_i,
  input  logic                   read_i,
  input  logic [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       read_data_o
);

  logic clearing_q;
  logic [AddressBits-1:0] cleared_q;

  assign ready_o = !clearing_q;

  ameles_ram #(.Width(Width), .Depth(Depth)) u_ram (
    .clk_i,
    .write_i(clearing_q || write_i), .write_address_i(clearing_q ? cleared_q : write_address_i),
    .write_data_i(clearing_q ? '0 : write_data_i),
    .read_i, .read_address_i, .read_data_o
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      clearing_q <= 1'b1;
      cleared_q <= '0;
    end else if (clearing_q) begin
      clearing_q <= cleared_q != AddressBits'(Depth - 1);
      cleared_q <= cleared_q + 1'b1;
    end
  end

endmodule
