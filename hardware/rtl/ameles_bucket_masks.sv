// The requests for the masks of a bucket. They are for its row, and then each beat of its body if the whole bucket has
// one IV (Path ORAM).
//
// Interface: a bucket and its IV pass in when its last request passes out. Requests are `mask_request_t`.
//
// Timing: a request per cycle, from the cycle in which the bucket is offered. Keeps: the number of its requests that
// are out.
module ameles_bucket_masks
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       valid_i,
  output logic                       ready_o,
  input  logic [63:0]                iv_i,
  input  logic [31:0]                bucket_i,
  input  logic [level_bits(Cfg)-1:0] level_i,
  ameles_stream_if.source            request
);

  localparam int unsigned StepBits = $clog2(most_body_beats(Cfg) + 2);

  // Step 0 is the row, and step n the nth beat.
  logic [StepBits-1:0] step_q;
  logic [29:0] chunk_q;
  logic row, last;

  assign last = Cfg.scheme == RawOram || step_q == StepBits'(body_beats(Cfg, 32'(level_i)));
  assign request.valid = valid_i;
  assign ready_o = valid_i && request.ready && last;
  assign row = step_q == '0;
  assign request.data = '{
    row: row, pad: '{mask: 1'b1, body: !row, chunk: row ? '0 : chunk_q, bucket: bucket_i, iv: iv_i}
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= '0;
    else if (request.valid && request.ready) step_q <= last ? '0 : step_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (request.valid && request.ready) chunk_q <= row ? '0 : chunk_q + 30'(beat_chunks(Cfg));
  end

endmodule
