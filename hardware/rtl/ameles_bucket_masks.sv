// The requests for the masks of a bucket: its row, and then each beat of its body if the whole bucket has one IV (Path
// ORAM).
//
// Interface: a bucket and its IV pass in when its last request passes out. `row_o` separates rows from beats.
//
// Timing: a request per cycle, from the cycle in which the bucket is offered. Keeps: the number of its requests that
// are out.
module ameles_bucket_masks
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  output logic        ready_o,
  input  logic [63:0] iv_i,
  input  logic [31:0] bucket_i,
  input  logic [level_bits(Cfg)-1:0] level_i,
  output logic        valid_o,
  input  logic        ready_i,
  output logic        row_o,
  output pad_t        pad_o
);

  localparam int unsigned StepBits = $clog2(most_body_beats(Cfg) + 2);

  // Step 0 is the row, and step n the nth beat.
  logic [StepBits-1:0] step_q;
  logic [29:0] chunk_q;
  logic last;

  assign last = Cfg.scheme == RawOram || step_q == StepBits'(body_beats(Cfg, 32'(level_i)));
  assign valid_o = valid_i;
  assign ready_o = valid_i && ready_i && last;
  assign row_o = step_q == '0;
  assign pad_o = '{mask: 1'b1, body: !row_o, chunk: row_o ? '0 : chunk_q, bucket: bucket_i, iv: iv_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= '0;
    else if (valid_o && ready_i) step_q <= last ? '0 : step_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (valid_o && ready_i) chunk_q <= row_o ? '0 : chunk_q + 30'(beat_chunks(Cfg));
  end

endmodule
