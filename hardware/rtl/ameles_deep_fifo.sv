// A queue whose words are in block RAM.
//
// Interface: a word passes when `valid` and `ready` of a side are both high.
//
// Timing: a word can be taken two cycles after it was put in. In every cycle one word may go in and another out.
//
// Keeps: `Depth` words, and one more in a register at its end.
module ameles_deep_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 64
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);

  localparam int unsigned PlaceBits = $clog2(Depth);
  localparam int unsigned CountBits = $clog2(Depth + 1);
  localparam logic [PlaceBits-1:0] Last = PlaceBits'(Depth - 1);

  logic [PlaceBits-1:0] in_q, out_q;
  logic [CountBits-1:0] count_q;
  logic put, read, valid_q;

  // The output register of the RAM holds the head of the queue.
  assign ready_o = count_q != CountBits'(Depth);
  assign valid_o = valid_q;
  assign put = valid_i && ready_o;
  assign read = count_q != '0 && (!valid_q || ready_i);

  ameles_ram #(
    .Width(Width),
    .Depth(Depth)
  ) u_ram (
    .clk_i,
    .write_i(put),
    .write_address_i(in_q),
    .write_data_i(data_i),
    .read_i(read),
    .read_address_i(out_q),
    .read_data_o(data_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_q <= '0;
      out_q <= '0;
      count_q <= '0;
      valid_q <= 1'b0;
    end else begin
      if (put) in_q <= in_q == Last ? '0 : in_q + 1'b1;
      if (read) out_q <= out_q == Last ? '0 : out_q + 1'b1;
      count_q <= count_q + CountBits'(put) - CountBits'(read);
      valid_q <= read || (valid_q && !ready_i);
    end
  end

endmodule
