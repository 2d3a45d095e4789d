// Bursts of AXI for a stretch of memory: none crosses a boundary of 4096 bytes.
//
// Interface: a stretch passes in when its last burst passes out. Addresses are offsets in bytes, aligned to a beat. The
// base is aligned to 4096 bytes.
//
// Timing: a burst per cycle, from the cycle in which the stretch is offered. Keeps: the rest of a stretch that has
// begun.
module ameles_burst #(
  parameter int unsigned OffsetBits = 40,
  parameter int unsigned BusBits = 512,
  parameter int unsigned MostBeats = 64,
  localparam int unsigned BeatBits = $clog2(MostBeats + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  valid_i,
  output logic                  ready_o,
  input  logic [OffsetBits-1:0] offset_i,
  input  logic [BeatBits-1:0]   beats_i,
  output logic                  valid_o,
  input  logic                  ready_i,
  output logic [OffsetBits-1:0] offset_o,
  output logic [7:0]            length_o,  // beats less one, as AXI counts
  output logic                  first_o,
  output logic                  last_o
);

  localparam int unsigned BeatBytes = BusBits / 8;
  localparam int unsigned PageBeats = 4096 / BeatBytes;
  localparam int unsigned PageBits = $clog2(PageBeats + 1);
  localparam int unsigned WideBits = BeatBits > PageBits ? BeatBits : PageBits;

  logic begun_q;
  logic [OffsetBits-1:0] offset_q;
  logic [BeatBits-1:0] left_q, left;
  logic [PageBits-1:0] in_page;
  logic [WideBits-1:0] beats;

  assign offset_o = begun_q ? offset_q : offset_i;
  assign left = begun_q ? left_q : beats_i;
  assign in_page = PageBits'(PageBeats) - PageBits'(offset_o[11:$clog2(BeatBytes)]);
  assign last_o = WideBits'(left) <= WideBits'(in_page);
  assign beats = last_o ? WideBits'(left) : WideBits'(in_page);
  assign length_o = 8'(beats - 1'b1);
  assign valid_o = valid_i;
  assign first_o = !begun_q;
  assign ready_o = valid_i && ready_i && last_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begun_q <= 1'b0;
    else if (valid_o && ready_i) begun_q <= !last_o;
  end
  always_ff @(posedge clk_i) begin
    if (valid_o && ready_i) begin
      offset_q <= offset_o + (OffsetBits'(beats) << $clog2(BeatBytes));
      left_q <= left - BeatBits'(beats);
    end
  end

endmodule
