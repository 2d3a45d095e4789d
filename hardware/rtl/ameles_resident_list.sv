// The blocks that wait in the stash, the longest waiting block first, each with its leaf and its slot.
//
// Interface: `scan_i` begins a scan: each block comes out and leaves the list. Blocks that stay, and new ones, are
// appended at the end of the list, which starts again at its beginning meanwhile. It never overtakes the scan. With two
// scan lanes, two blocks come out at once, and up to two are appended at once, in order. `overflow_o` says that there
// was no room for a block.
//
// Timing: a scan takes one cycle more than there are places, or half of them with two lanes, for any number of blocks.
// A block per lane comes out in each cycle, from the second cycle.
//
// Keeps: the list, in a block RAM for each lane, and its length.
module ameles_resident_list
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Lanes = Cfg.scan_lanes,
  localparam int unsigned Places = Cfg.stash_blocks + 1,
  localparam int unsigned CountBits = $clog2(Places + 1),
  localparam int unsigned ItemBits = entry_bits(Cfg) - 1 + slot_bits(Cfg)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  // A scan.
  input  logic                           scan_i,
  output logic                           scanning_o,
  output logic [Lanes-1:0]               valid_o,
  output logic [Lanes-1:0][ItemBits-1:0] item_o,
  // Blocks that wait.
  input  logic [Lanes-1:0]               append_i,
  input  logic [Lanes-1:0][ItemBits-1:0] append_item_i,
  output logic [CountBits-1:0]           count_o,
  output logic                           overflow_o
);

  localparam int unsigned Rows = (Places + Lanes - 1) / Lanes;
  localparam int unsigned RowBits = at_least_one($clog2(Rows));

  logic [CountBits-1:0] count_q, before_q, scanned_q;
  logic reading_q, valid_q;
  // The appended blocks in order, whether there is room for them, and what each RAM gets of them.
  logic [Lanes-1:0] appended, fits, write;
  logic [Lanes-1:0][RowBits-1:0] row;
  logic [Lanes-1:0][ItemBits-1:0] written;

  assign scanning_o = reading_q || valid_q;
  assign count_o = count_q;

  if (Lanes == 1) begin : gen_one
    assign {appended, write, written} = {append_i, append_i & fits, append_item_i};
    assign fits = 32'(count_q) < Places;
    assign row = RowBits'(count_q);
  end else begin : gen_two
    // The first goes to the RAM of the next place, and the second to the other.
    logic [CountBits-1:0] next;
    logic [1:0][ItemBits-1:0] items;
    assign items = {append_item_i[1], append_i[0] ? append_item_i[0] : append_item_i[1]};
    assign appended = {append_i == 2'b11, append_i != 2'b00};
    assign next = count_q + 1'b1;
    assign fits = {32'(next) < Places, 32'(count_q) < Places};
    assign write = count_q[0] ? {appended[0] && fits[0], appended[1] && fits[1]} : appended & fits;
    assign row = {RowBits'(count_q >> 1), RowBits'(next >> 1)};
    assign written = count_q[0] ? {items[0], items[1]} : items;
  end

  for (genvar lane = 0; lane < Lanes; lane++) begin : gen_lane
    logic is_item_q;
    ameles_ram #(.Width(ItemBits), .Depth(Rows)) u_items (
      .clk_i,
      .write_i(write[lane]), .write_address_i(row[lane]), .write_data_i(written[lane]),
      .read_i(reading_q), .read_address_i(RowBits'(scanned_q / CountBits'(Lanes))), .read_data_o(item_o[lane])
    );
    assign valid_o[lane] = is_item_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) is_item_q <= 1'b0;
      else is_item_q <= reading_q && 32'(scanned_q) + lane < 32'(before_q);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      before_q <= '0;
      scanned_q <= '0;
      reading_q <= 1'b0;
      valid_q <= 1'b0;
      overflow_o <= 1'b0;
    end else begin
      // The scan is one cycle behind its reading.
      valid_q <= reading_q;
      if (scan_i) begin
        reading_q <= 1'b1;
        scanned_q <= '0;
        before_q <= count_q;
        count_q <= '0;
      end else begin
        if (reading_q) begin
          scanned_q <= scanned_q + CountBits'(Lanes);
          reading_q <= 32'(scanned_q) + Lanes < Places;
        end
        count_q <= count_q + CountBits'($countones(appended & fits));
        if ((appended & ~fits) != '0) overflow_o <= 1'b1;
      end
    end
  end

endmodule
