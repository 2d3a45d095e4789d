// A queue whose words are in distributed RAM, or in block RAM.
//
// Interface: `valid` and `ready` of a side are both high in the cycle in which a word passes.
//
// Timing: a word can be taken one cycle after it was put in, or two cycles if it is in block RAM. In every cycle one
// word may go in and another out, but none into a full queue.
//
// Keeps: `Depth` words, and with block RAM one more in the register at its end.
module ameles_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4,
  parameter bit BlockRam = 1'b0
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

  localparam int unsigned CountBits = $clog2(Depth + 1);
  localparam int unsigned PlaceBits = Depth > 1 ? $clog2(Depth) : 1;
  localparam logic [PlaceBits-1:0] Last = PlaceBits'(Depth - 1);

  // The words in the RAM.
  logic [PlaceBits-1:0] in_q, out_q;
  logic [CountBits-1:0] count_q;
  logic put, leaves;

  assign ready_o = count_q != CountBits'(Depth);
  assign put = valid_i && ready_o;

  if (BlockRam) begin : gen_block_ram
    // The output register of the RAM holds the head of the queue.
    logic valid_q;
    assign valid_o = valid_q;
    assign leaves = count_q != '0 && (!valid_q || ready_i);
    ameles_ram #(.Width(Width), .Depth(Depth)) u_ram (
      .clk_i,
      .write_i(put), .write_address_i(in_q), .write_data_i(data_i),
      .read_i(leaves), .read_address_i(out_q), .read_data_o(data_o)
    );
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= 1'b0;
      else valid_q <= leaves || (valid_q && !ready_i);
    end
  end else begin : gen_distributed
    logic [Width-1:0] words [Depth];
    assign valid_o = count_q != '0;
    assign leaves = valid_o && ready_i;
    assign data_o = words[out_q];
    always_ff @(posedge clk_i) begin
      if (put) words[in_q] <= data_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_q <= '0;
      out_q <= '0;
      count_q <= '0;
    end else begin
      if (put) in_q <= in_q == Last ? '0 : in_q + 1'b1;
      if (leaves) out_q <= out_q == Last ? '0 : out_q + 1'b1;
      count_q <= count_q + CountBits'(put) - CountBits'(leaves);
    end
  end

endmodule
