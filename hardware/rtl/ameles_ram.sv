// A memory with one write port and one read port, for block RAM. Nothing is reset.
//
// Interface: one word is written, and another one is read, in the same cycle. If both are the same word, its old value
// is read.
//
// Timing: a read word appears one cycle later, and stays until the next read. Keeps: the words, and the word that was
// read.
module ameles_ram #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 16,
  localparam int unsigned AddressBits = Depth > 1 ? $clog2(Depth) : 1
) (
  input  logic                   clk_i,
  input  logic                   write_i,
  input  logic [AddressBits-1:0] write_address_i,
  input  logic [Width-1:0]       write_data_i,
  input  logic                   read_i,
  input  logic [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       read_data_o
);

  logic [Width-1:0] words [Depth];

  always_ff @(posedge clk_i) begin
    if (write_i) words[write_address_i] <= write_data_i;
    if (read_i) read_data_o <= words[read_address_i];
  end

endmodule
