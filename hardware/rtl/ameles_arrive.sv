// The split of memory's answers: headers go one way, with requests for their masks, and the beats of bodies the other.
//
// Interface: a path passes in as its job, then the beats of its buckets at `r`, in the order of their requests. A
// header goes out whole and without its IV, and a beat of a body unchanged. Masks are requested under the IV that
// arrived.
//
// Timing: each goes out in the cycle in which its last beat comes. There is room for all requested data (see
// ameles_read_room). The cell only counts beats, so that its timing does not depend on their content. Between two paths
// is a cycle without a beat.
//
// Keeps: the walk down the path, the beat within the bucket, the beats of a header before its last one, and requests
// for masks.
module ameles_arrive
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned CipherBits = row_chunks(Cfg) * 128
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  // The job whose path it is: `job_t`.
  ameles_stream_if.sink           job,
  // Memory.
  input  logic                    r_valid_i,
  output logic                    r_ready_o,
  input  logic [Cfg.bus_bits-1:0] r_data_i,
  // Headers and bodies.
  ameles_stream_if.source         header,
  output logic                    header_beat_o,  // passes, the last beat of a header or an earlier one
  ameles_stream_if.source         body,
  // Requests for masks.
  ameles_stream_if.source         mask_request,
  output logic                    masks_asked_o  // all requests of a bucket
);

  localparam int unsigned HeaderBeats = header_beats(Cfg);
  localparam int unsigned BeatBits = $clog2(most_bucket_beats(Cfg) + 1);

  logic walking, is_header, ends_header, bucket_done, request_ready, passes;
  logic [BeatBits-1:0] beat_q;
  logic [HeaderBeats*Cfg.bus_bits-1:0] whole_header;
  logic [Cfg.leaf_level:0] bucket;
  logic [level_bits(Cfg)-1:0] level;

  ameles_job_walk #(.Cfg(Cfg)) u_walk (
    .clk_i, .rst_ni, .job, .next_i(bucket_done),
    .valid_o(walking), .bucket_o(bucket), .level_o(level)
  );

  assign is_header = beat_q < BeatBits'(HeaderBeats);
  assign ends_header = beat_q == BeatBits'(HeaderBeats - 1);
  assign r_ready_o = walking && (is_header ? !ends_header || (header.ready && request_ready) : body.ready);
  assign passes = r_valid_i && r_ready_o;
  assign header_beat_o = passes && is_header;
  assign bucket_done = passes && beat_q == BeatBits'(bucket_beats(Cfg, 32'(level)) - 1);

  // The beats of a header before its last one, the first lowest.
  if (HeaderBeats > 1) begin : gen_parts
    logic [(HeaderBeats-1)*Cfg.bus_bits-1:0] parts_q;
    assign whole_header = {r_data_i, parts_q};
    always_ff @(posedge clk_i) begin
      if (passes && is_header) parts_q <= ((HeaderBeats-1)*Cfg.bus_bits)'(whole_header >> Cfg.bus_bits);
    end
  end else begin : gen_whole
    assign whole_header = r_data_i;
  end
  assign header.valid = walking && r_valid_i && ends_header && request_ready;
  assign header.data = CipherBits'(whole_header >> IvBits);
  assign body.valid = walking && r_valid_i && !is_header;
  assign body.data = r_data_i;

  // Requests for masks wait here while the engine is busy.
  logic request_valid, request_taken;
  logic [63:0] request_iv;
  logic [Cfg.leaf_level:0] request_bucket;
  logic [level_bits(Cfg)-1:0] request_level;
  ameles_fifo #(.Width(64 + level_bits(Cfg) + Cfg.leaf_level + 1), .Depth(arrival_headers(Cfg))) u_requests (
    .clk_i, .rst_ni,
    .valid_i(walking && r_valid_i && ends_header && header.ready), .ready_o(request_ready),
    .data_i({whole_header[IvBits-1:0], level, bucket}),
    .valid_o(request_valid), .ready_i(request_taken), .data_o({request_iv, request_level, request_bucket})
  );
  ameles_bucket_masks #(.Cfg(Cfg)) u_masks (
    .clk_i, .rst_ni,
    .valid_i(request_valid), .ready_o(request_taken), .iv_i(request_iv), .bucket_i(32'(request_bucket)),
    .level_i(request_level),
    .request(mask_request)
  );
  assign masks_asked_o = request_valid && request_taken;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beat_q <= '0;
    else if (passes) beat_q <= bucket_done ? '0 : beat_q + 1'b1;
  end

endmodule
