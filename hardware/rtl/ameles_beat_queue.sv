// A queue for the beats of whole blocks: in distributed RAM if it is short, else in block RAM.
//
// Interface: `valid` and `ready` of a side are both high in the cycle in which a beat passes.
//
// Timing: a beat can be taken one cycle after it was put in, or two cycles if there are more than 32 beats.
//
// Keeps: `Beats` beats, and one more in block RAM.
module ameles_beat_queue #(
  parameter int unsigned Width = 512,
  parameter int unsigned Beats = 1
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

  // The words of a look-up table.
  localparam int unsigned Short = 32;

  if (Beats <= Short) begin : gen_short
    ameles_fifo #(.Width(Width), .Depth(Beats)) u_queue (
      .clk_i, .rst_ni, .valid_i, .ready_o, .data_i, .valid_o, .ready_i, .data_o
    );
  end else begin : gen_long
    ameles_deep_fifo #(.Width(Width), .Depth(Beats)) u_queue (
      .clk_i, .rst_ni, .valid_i, .ready_o, .data_i, .valid_o, .ready_i, .data_o
    );
  end

endmodule
