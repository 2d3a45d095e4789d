// No mask of RAW ORAM's bodies is requested twice for bodies that go back, until G wraps around after 2^64. Bucket and IV
// of such a pad determine G and the level, and G only rises. Within a path buckets and chunks rise.
//
// For bodies that come in, the pads are those of bodies that go back under one less: of the last eviction to the bucket.
module eviction_masks_proof
  import ameles_pkg::*;
#(
  parameter int unsigned LeafLevel = 20,
  parameter int unsigned BlocksPerBucket = 5,
  parameter int unsigned BlockBytes = 64,
  parameter int unsigned BusBits = 512,
  parameter int unsigned TopLevels = 0,
  parameter bit Wrong = 1'b0,  // for a proof that must fail: evictions go back twice
  localparam config_t Cfg = proof_pkg::tiny(
    1'b1, LeafLevel, BlocksPerBucket, 8, BlockBytes * 8 / BusBits, TopLevels, .bus_bits(BusBits)
  )
) (
  input logic clk_i,
  input logic ready_i
);

  logic rst_n, valid;
  pad_t pad;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_stream_if #(.word_t(mask_request_t)) request ();
  assign {valid, pad, request.ready} = {request.valid, request.data.pad, ready_i};
  ameles_eviction_masks #(.Cfg(Cfg)) u_eviction_masks (.clk_i, .rst_ni(rst_n), .request);

  // The count of evictions, and whether the masks are those of bodies that go back, from the count of requests.
  localparam int unsigned Turn = (LeafLevel + 1 - TopLevels) * body_beats(Cfg, 0);
  logic [63:0] evictions_q;
  logic [$clog2(Turn)-1:0] request_q;
  logic back_q, any_q, passes, turn_done;
  pad_t pad_q;
  assign passes = valid && ready_i;
  assign turn_done = passes && 32'(request_q) == Turn - 1;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) {evictions_q, request_q, back_q, any_q} <= '0;
    else if (passes) begin
      request_q <= turn_done ? '0 : request_q + 1'b1;
      back_q <= back_q ^ turn_done;
      evictions_q <= evictions_q + 64'(turn_done && back_q);
      any_q <= !turn_done;
    end
  end
  always_ff @(posedge clk_i) if (passes) pad_q <= pad;

  // G and level from bucket and IV: the bucket is the 2^level - 1 + reversed (G mod 2^level)th, and the IV 1 + G >> level.
  logic [63:0] iv, decoded;
  logic [LeafLevel:0] level, reversed;
  logic [LeafLevel+1:0] number;
  always_comb begin
    iv = pad.iv - 64'(back_q) - 64'(Wrong && back_q);
    number = (LeafLevel + 2)'(pad.bucket) + 1'b1;
    level = '0;
    decoded = iv;
    reversed = '0;
    for (int unsigned nth = 0; nth <= LeafLevel; nth++) begin
      if (number >> nth == (LeafLevel + 2)'(1)) begin
        level = (LeafLevel + 1)'(nth);
        for (int unsigned bit_number = 0; bit_number < nth; bit_number++) reversed[bit_number] = number[nth-1-bit_number];
        decoded = (iv << nth) | 64'(reversed);
      end
    end
  end

  always_comb begin
    if (rst_n && valid) begin
      assert (pad.mask && pad.body);
      assert (decoded == evictions_q);
      assert (!any_q || (u_eviction_masks.beat_q == '0 ? pad.bucket > pad_q.bucket
          : pad.bucket == pad_q.bucket && 32'(pad.chunk) == 32'(pad_q.chunk) + beat_chunks(Cfg)));
    end
    // For the induction: the place of the walk.
    if (rst_n) begin
      assert (u_eviction_masks.evictions_q == evictions_q && u_eviction_masks.writing_q == back_q);
      assert (any_q == (request_q != '0));
      assert (valid || (request_q == '0 && u_eviction_masks.beat_q == '0));
      assert (32'(u_eviction_masks.beat_q) < body_beats(Cfg, 0));
      assert (32'(u_eviction_masks.chunk_q) == 32'(u_eviction_masks.beat_q) * beat_chunks(Cfg));
    end
    if (rst_n && valid) begin
      assert (number >> u_eviction_masks.u_walk.level_q == (LeafLevel + 2)'(1));
      assert (32'(level) <= LeafLevel && 32'(level) >= TopLevels && level == (LeafLevel + 1)'(u_eviction_masks.u_walk.level_q));
      assert (32'(request_q) == (32'(level) - TopLevels) * body_beats(Cfg, 0) + 32'(u_eviction_masks.beat_q));
      assert (u_eviction_masks.u_walk.rest_q == u_eviction_masks.path << level);
    end
  end

  stays_until_ready #(.Width($bits(pad_t))) u_stays (.clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .payload_i(pad));

endmodule
