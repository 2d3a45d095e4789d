// The blocks that wait in the stash, the longest waiting block first, each with its leaf and its slot.
//
// Interface: `scan_i` begins a scan: each block comes out and leaves the list. Blocks that stay, and new ones, are
// appended at the end of the list, which starts again at its beginning meanwhile. It never overtakes the scan.
// `overflow_o` says that there was no room for a block.
//
// Timing: a scan takes one cycle more than there are places, for any number of blocks: one block per cycle comes out,
// from the second cycle.
//
// Keeps: the list, in block RAM, and its length.
module ameles_resident_list
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Places = Cfg.stash_blocks + 1,
  localparam int unsigned CountBits = $clog2(Places + 1),
  localparam int unsigned ItemBits = entry_bits(Cfg) - 1 + slot_bits(Cfg)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // A scan.
  input  logic                 scan_i,
  output logic                 scanning_o,
  output logic                 valid_o,
  output logic [ItemBits-1:0]  item_o,
  // Blocks that wait.
  input  logic                 append_i,
  input  logic [ItemBits-1:0]  append_item_i,
  output logic [CountBits-1:0] count_o,
  output logic                 overflow_o
);

  localparam int unsigned AddressBits = $clog2(Places);

  logic [CountBits-1:0] count_q, scanned_q, before_q;
  logic reading_q, valid_q, full;

  assign full = count_q == CountBits'(Places);
  assign scanning_o = reading_q || valid_q;
  assign count_o = count_q;

  ameles_ram #(.Width(ItemBits), .Depth(Places)) u_items (
    .clk_i,
    .write_i(append_i && !full), .write_address_i(AddressBits'(count_q)), .write_data_i(append_item_i),
    .read_i(reading_q), .read_address_i(AddressBits'(scanned_q)), .read_data_o(item_o)
  );

  // valid_q: the scan is one cycle behind its reading; is_item_q: that place had a block.
  logic is_item_q;
  assign valid_o = is_item_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      before_q <= '0;
      scanned_q <= '0;
      reading_q <= 1'b0;
      valid_q <= 1'b0;
      is_item_q <= 1'b0;
      overflow_o <= 1'b0;
    end else begin
      valid_q <= reading_q;
      is_item_q <= reading_q && scanned_q < before_q;
      if (scan_i) begin
        reading_q <= 1'b1;
        scanned_q <= '0;
        before_q <= count_q;
        count_q <= '0;
      end else begin
        if (reading_q) begin
          scanned_q <= scanned_q + 1'b1;
          reading_q <= scanned_q != CountBits'(Places - 1);
        end
        if (append_i && !full) count_q <= count_q + 1'b1;
        if (append_i && full) overflow_o <= 1'b1;
      end
    end
  end

endmodule
