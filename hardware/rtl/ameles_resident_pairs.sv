// The blocks that wait in the stash, as in `ameles_resident_list`, two per cycle.
//
// Interface: that of the list; up to two blocks are appended at once, in order.
//
// Timing: a scan takes half as many cycles as there are places.
//
// Keeps: two memories, for places with even and with odd numbers.
module ameles_resident_pairs
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Places = Cfg.stash_blocks + 1,
  localparam int unsigned CountBits = $clog2(Places + 1),
  localparam int unsigned ItemBits = entry_bits(Cfg) - 1 + slot_bits(Cfg)
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     scan_i,
  output logic                     scanning_o,
  output logic [1:0]               valid_o,
  output logic [1:0][ItemBits-1:0] item_o,
  input  logic [1:0]               append_i,
  input  logic [1:0][ItemBits-1:0] append_item_i,
  output logic [CountBits-1:0]     count_o,
  output logic                     overflow_o
);

  localparam int unsigned Pairs = (Places + 1) / 2;
  localparam int unsigned PairBits = at_least_one($clog2(Pairs));

  logic [CountBits-1:0] count_q, before_q, scanned_q, next;
  logic reading_q, valid_q;
  logic [1:0] appended, fits, write;
  logic [1:0][ItemBits-1:0] items;
  logic [1:0][PairBits-1:0] pair;

  // The blocks in order, and their places.
  assign items = {append_item_i[1], append_i[0] ? append_item_i[0] : append_item_i[1]};
  assign appended = {append_i == 2'b11, append_i != 2'b00};
  assign next = count_q + 1'b1;
  assign fits = {32'(next) < Places, 32'(count_q) < Places};
  assign scanning_o = reading_q || valid_q;
  assign count_o = count_q;

  // The first goes to the memory of the next place, and the second to the other.
  assign write = count_q[0] ? {appended[0] && fits[0], appended[1] && fits[1]} : appended & fits;
  assign pair = {PairBits'(count_q >> 1), PairBits'(next >> 1)};

  for (genvar odd = 0; odd < 2; odd++) begin : gen_odd
    logic is_item_q;
    ameles_ram #(.Width(ItemBits), .Depth(Pairs)) u_items (
      .clk_i,
      .write_i(write[odd]), .write_address_i(pair[odd]),
      .write_data_i(items[count_q[0] ^ 1'(odd)]),
      .read_i(reading_q), .read_address_i(PairBits'(scanned_q >> 1)), .read_data_o(item_o[odd])
    );
    assign valid_o[odd] = is_item_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) is_item_q <= 1'b0;
      else is_item_q <= reading_q && 32'(scanned_q) + odd < 32'(before_q);
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
      valid_q <= reading_q;
      if (scan_i) begin
        reading_q <= 1'b1;
        scanned_q <= '0;
        before_q <= count_q;
        count_q <= '0;
      end else begin
        if (reading_q) begin
          scanned_q <= scanned_q + CountBits'(2);
          reading_q <= 32'(scanned_q) + 2 < Places;
        end
        count_q <= count_q + CountBits'(appended[0] && fits[0]) + CountBits'(appended[1] && fits[1]);
        if ((appended & ~fits) != '0) overflow_o <= 1'b1;
      end
    end
  end

endmodule
