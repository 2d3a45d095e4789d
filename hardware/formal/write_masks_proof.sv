// No mask of a path that goes back is requested twice, if the IVs of paths rise. The pads rise in the order of IV, bucket,
// header before body, and chunk. A pad begins after the last chunk of the one before.
module write_masks_proof
  import ameles_pkg::*;
#(
  parameter bit Raw = 1'b1,
  parameter int unsigned LeafLevel = 20,
  parameter int unsigned BlocksPerBucket = 4,
  parameter int unsigned BlockBytes = 64,
  parameter int unsigned BusBits = 512,
  parameter int unsigned TopLevels = 0,
  parameter bit Wrong = 1'b0,  // for a proof that must fail: IVs may repeat
  localparam config_t Cfg = proof_pkg::tiny(
    Raw, LeafLevel, BlocksPerBucket, 8, BlockBytes * 8 / BusBits, TopLevels, .bus_bits(BusBits)
  )
) (
  input logic clk_i,
  input logic valid_i,
  input job_t job_i,
  input logic ready_i
);

  logic rst_n, ready, valid, row;
  pad_t pad;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_stream_if #(.word_t(mask_request_t)) request ();
  assign {valid, row, pad, request.ready} = {request.valid, request.data, ready_i};
  ameles_stream_if #(.word_t(job_t)) job ();
  assign {job.valid, job.data, ready} = {valid_i, job_i, job.ready};
  ameles_write_masks #(.Cfg(Cfg)) u_write_masks (.clk_i, .rst_ni(rst_n), .job, .request);

  // IVs rise.
  logic any_job_q, any_pad_q;
  logic [63:0] iv_q;
  pad_t pad_q;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) {any_job_q, any_pad_q} <= '0;
    else begin
      if (valid_i && ready) any_job_q <= 1'b1;
      if (valid && ready_i) any_pad_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_i && ready) iv_q <= job_i.iv;
    if (valid && ready_i) pad_q <= pad;
  end
  always_comb assume (!(valid_i && any_job_q) || job_i.iv > iv_q || Wrong);

  // The first chunk after those of a pad.
  logic [30:0] end_chunk;
  assign end_chunk = 31'(pad_q.chunk) + (pad_q.body ? 31'(beat_chunks(Cfg)) : 31'(row_chunks(Cfg)));
  logic [97:0] place, place_q;
  assign place = {pad.iv, pad.bucket, pad.body};
  assign place_q = {pad_q.iv, pad_q.bucket, pad_q.body};
  always_comb begin
    if (rst_n && valid) begin
      assert (pad.mask && pad.body != row);
      assert (!any_pad_q || place > place_q || (place == place_q && 31'(pad.chunk) >= end_chunk));
    end
  end

  stays_until_ready #(.Width($bits(pad_t) + 1)) u_stays (
    .clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .payload_i({row, pad})
  );

  // For the induction: the place of the walk, and the last request.
  logic [LeafLevel:0] first;
  assign first = ((LeafLevel + 1)'(1) << u_write_masks.level) - 1'b1;
  always_comb begin
    if (rst_n && valid) begin
      assert (32'(u_write_masks.level) <= LeafLevel && 32'(u_write_masks.level) >= TopLevels && any_job_q);
      assert (u_write_masks.bucket >= first && u_write_masks.bucket - first <= first);
      assert (u_write_masks.iv_q == iv_q && pad.iv == iv_q);
      assert (32'(u_write_masks.u_masks.step_q) <= (Raw ? 0 : body_beats(Cfg, 0)));
      assert (row || (any_pad_q && pad_q.iv == iv_q && pad_q.bucket == pad.bucket));
      assert (row || 32'(pad.chunk) == (32'(u_write_masks.u_masks.step_q) - 32'd1) * beat_chunks(Cfg));
      assert (!row || !any_pad_q || pad_q.iv < iv_q || 32'(u_write_masks.level) != TopLevels);
      assert (!row || !any_pad_q || pad_q.iv < iv_q || pad_q.bucket < pad.bucket);
    end
    if (rst_n) begin
      assert (valid || u_write_masks.u_masks.step_q == '0);
      assert (!any_pad_q || (any_job_q && pad_q.iv <= iv_q));
      assert (u_write_masks.u_masks.step_q == '0 || !(pad_q.body && 32'(pad_q.chunk) + beat_chunks(Cfg)
          != 32'(pad.chunk)));
    end
  end

endmodule
