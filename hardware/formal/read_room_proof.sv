// The room for memory's answers is never exceeded. There is a place for each requested beat in the cycle in which it comes,
// for any delay of the stash and the masks. A burst that is offered stays until memory takes it.
module read_room_proof #(
  parameter bit Raw = 1'b1,
  parameter int unsigned LeafLevel = 1,
  parameter int unsigned BlocksPerBucket = 2,
  parameter int unsigned BlockBeats = 1,
  parameter bit Wrong = 1'b0  // for a proof that must fail: the room of a header is given back when it comes
) (
  input logic            clk_i,
  input logic            burst_i,
  input logic            first_i,
  input logic [7:0]      length_i,
  input logic            ar_ready_i,
  input logic            job_i,
  input ameles_pkg::job_t path_i,
  input logic            r_valid_i,
  input logic [127:0]    r_data_i,
  input logic            header_ready_i,
  input logic            body_ready_i,
  input logic            mask_ready_i
);

  import ameles_pkg::*;

  localparam config_t Cfg = proof_pkg::tiny(Raw, LeafLevel, BlocksPerBucket, 4, BlockBeats);
  localparam int unsigned Beats = arrival_beats(Cfg);
  localparam int unsigned Headers = arrival_headers(Cfg);

  logic rst_n, burst_ready, ar_valid, r_ready, header_put, header_room, header_valid, header_beat, masks_asked;
  logic body_put, body_room, body_valid, asked, arrives, ends_header;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_read_room #(.Cfg(Cfg)) u_room (
    .clk_i, .rst_ni(rst_n), .valid_i(burst_i), .ready_o(burst_ready), .first_i, .length_i,
    .valid_o(ar_valid), .ready_i(ar_ready_i),
    .header_beat_i(header_beat), .body_beat_i(body_valid && body_ready_i),
    .header_i(Wrong ? ends_header : header_valid && header_ready_i), .request_i(masks_asked)
  );
  ameles_stream_if #(.word_t(logic [row_chunks(Cfg)*128-1:0])) header ();
  ameles_stream_if #(.word_t(logic [127:0])) body ();
  ameles_stream_if #(.word_t(mask_request_t)) mask_request ();
  assign {header_put, header.ready, body_put, body.ready} = {header.valid, header_room, body.valid, body_room};
  assign mask_request.ready = mask_ready_i;
  ameles_stream_if #(.word_t(job_t)) job ();
  assign {job.valid, job.data} = {job_i, path_i};
  ameles_arrive #(.Cfg(Cfg)) u_arrive (
    .clk_i, .rst_ni(rst_n), .job, .r_valid_i, .r_ready_o(r_ready), .r_data_i,
    .header, .header_beat_o(header_beat), .body, .mask_request, .masks_asked_o(masks_asked)
  );
  ameles_fifo #(.Width(1), .Depth(Headers)) u_headers (
    .clk_i, .rst_ni(rst_n), .valid_i(header_put), .ready_o(header_room), .data_i('0),
    .valid_o(header_valid), .ready_i(header_ready_i), .data_o()
  );
  ameles_fifo #(.Width(1), .Depth(Beats), .BlockRam(in_block_ram(Beats))) u_bodies (
    .clk_i, .rst_ni(rst_n), .valid_i(body_put), .ready_o(body_room), .data_i('0),
    .valid_o(body_valid), .ready_i(body_ready_i), .data_o()
  );

  stays_until_ready #(.Width(9), .Assumed(1'b1)) u_offered (
    .clk_i, .rst_ni(rst_n), .valid_i(burst_i), .ready_i(burst_ready), .payload_i({first_i, length_i})
  );
  stays_until_ready #(.Width(8)) u_stays (
    .clk_i, .rst_ni(rst_n), .valid_i(ar_valid), .ready_i(ar_ready_i), .payload_i(length_i)
  );

  // The requested beats that have not come, and the headers among them. Memory brings nothing else.
  logic [15:0] coming_q, headers_q, kept, requests;
  assign asked = ar_valid && ar_ready_i;
  assign arrives = r_valid_i && r_ready;
  assign ends_header = header_put && header_room;
  always_comb begin
    assume (!r_valid_i || coming_q != '0);
    assume (!(r_valid_i && u_arrive.walking && u_arrive.ends_header) || headers_q != '0);
  end
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) {coming_q, headers_q} <= '0;
    else begin
      coming_q <= coming_q + (asked ? 16'(length_i) + 1'b1 : '0) - 16'(arrives);
      headers_q <= headers_q + 16'(asked && first_i) - 16'(ends_header);
    end
  end

  assign kept = 16'(u_bodies.count_q) + 16'(in_block_ram(Beats) && body_valid);
  assign requests = 16'(u_arrive.u_requests.count_q);
  always_comb begin
    if (rst_n) begin
      assert (!(r_valid_i && u_arrive.walking) || r_ready);
      assert (32'(u_room.beats_q) <= Beats && 32'(u_room.headers_q) <= Headers && 32'(u_room.requests_q) <= Headers);
      // For the induction.
      assert (16'(u_room.beats_q) == coming_q + kept && 32'(coming_q) + 32'(kept) <= Beats);
      assert (Wrong || 16'(u_room.headers_q) == headers_q + 16'(u_headers.count_q));
      assert (16'(u_room.requests_q) == headers_q + requests);
      assert (32'(headers_q) <= Headers);
    end
  end

endmodule
