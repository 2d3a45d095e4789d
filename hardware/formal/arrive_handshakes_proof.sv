// Headers, beats of bodies, and requests for masks are passed on and stay until they are taken, independent of their content, if
// memory's answers stay.
module arrive_handshakes_proof #(
  parameter bit Raw = 1'b1,
  parameter int unsigned LeafLevel = 2,
  parameter int unsigned BlocksPerBucket = 2,
  parameter bit Wrong = 1'b0  // for a proof that must fail: answers need not stay
) (
  input logic             clk_i,
  input logic             valid_i,
  input ameles_pkg::job_t  job_i,
  input logic             r_valid_i,
  input logic [127:0]     r_data_i,
  input logic             header_ready_i,
  input logic             body_ready_i,
  input logic             mask_ready_i
);

  import ameles_pkg::*;

  localparam config_t Cfg = proof_pkg::tiny(Raw, LeafLevel, BlocksPerBucket, 4, 1);
  localparam int unsigned Requests = arrival_headers(Cfg);

  logic rst_n, r_ready;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_stream_if #(.word_t(logic [row_chunks(Cfg)*128-1:0])) header ();
  ameles_stream_if #(.word_t(logic [127:0])) body ();
  ameles_stream_if #(.word_t(mask_request_t)) mask_request ();
  assign {header.ready, body.ready, mask_request.ready} = {header_ready_i, body_ready_i, mask_ready_i};
  ameles_stream_if #(.word_t(job_t)) job ();
  assign {job.valid, job.data} = {valid_i, job_i};
  ameles_arrive #(.Cfg(Cfg)) u_arrive (
    .clk_i, .rst_ni(rst_n), .job, .r_valid_i, .r_ready_o(r_ready), .r_data_i,
    .header, .header_beat_o(), .body, .mask_request, .masks_asked_o()
  );

  stays_until_ready #(.Width(128), .Assumed(1'b1)) u_answers (
    .clk_i, .rst_ni(rst_n), .valid_i(r_valid_i && !Wrong), .ready_i(r_ready), .payload_i(r_data_i)
  );
  // A header that may pass is taken in the same cycle as its answer, and so is a beat.
  stays_until_ready #(.Width(row_chunks(Cfg) * 128)) u_header (
    .clk_i, .rst_ni(rst_n), .valid_i(header.valid), .ready_i(header_ready_i), .payload_i(header.data)
  );
  stays_until_ready #(.Width(128)) u_body (
    .clk_i, .rst_ni(rst_n), .valid_i(body.valid), .ready_i(body_ready_i), .payload_i(body.data)
  );
  stays_until_ready #(.Width($bits(mask_request_t))) u_mask (
    .clk_i, .rst_ni(rst_n), .valid_i(mask_request.valid), .ready_i(mask_ready_i), .payload_i(mask_request.data)
  );
  // Each beat goes one way, once.
  logic passes, header_passes, body_passes;
  assign passes = r_valid_i && r_ready;
  assign header_passes = header.valid && header_ready_i;
  assign body_passes = body.valid && body_ready_i;
  always_comb begin
    if (rst_n) begin
      assert (!(header_passes && body_passes) && (passes || !(header_passes || body_passes)));
      assert (!passes || header_passes || body_passes || !u_arrive.ends_header);
      // For the induction: no request overwrites another one.
      assert (32'(u_arrive.u_requests.count_q) <= Requests && 32'(u_arrive.u_requests.out_q) < Requests);
      assert (32'(u_arrive.u_requests.in_q)
          == (32'(u_arrive.u_requests.out_q) + 32'(u_arrive.u_requests.count_q)) % Requests);
    end
  end

endmodule
