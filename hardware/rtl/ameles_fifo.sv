// A queue whose words are in distributed RAM.
//
// Interface: `valid` and `ready` of a side are both high in the cycle in which a word passes.
//
// Timing: a word can be taken one cycle after it was put in. In every cycle one word may go in and another out, but
// none into a full queue.
//
// Keeps: `Depth` words.
module ameles_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 valid_i,
  output logic                 ready_o,
  input  logic [Width-1:0]     data_i,
  output logic                 valid_o,
  input  logic                 ready_i,
  output logic [Width-1:0]     data_o
);

  localparam int unsigned CountBits = $clog2(Depth + 1);
  localparam int unsigned PlaceBits = Depth > 1 ? $clog2(Depth) : 1;
  localparam logic [PlaceBits-1:0] Last = PlaceBits'(Depth - 1);

  logic [Width-1:0] words [Depth];
  logic [PlaceBits-1:0] in_q, out_q;
  logic [CountBits-1:0] count_q;
  logic put, take;

  assign ready_o = count_q != CountBits'(Depth);
  assign valid_o = count_q != '0;
  assign put = valid_i && ready_o;
  assign take = valid_o && ready_i;
  assign data_o = words[out_q];

  always_ff @(posedge clk_i) begin
    if (put) words[in_q] <= data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_q <= '0;
      out_q <= '0;
      count_q <= '0;
    end else begin
      if (put) in_q <= in_q == Last ? '0 : in_q + 1'b1;
      if (take) out_q <= out_q == Last ? '0 : out_q + 1'b1;
      count_q <= count_q + CountBits'(put) - CountBits'(take);
    end
  end

endmodule
