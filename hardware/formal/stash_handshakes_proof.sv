// The outputs of the stash stay until they are taken, if masks and the user's data stay. The outputs are answers,
// requests for masks, and paths that go back. The proof covers the lowest bits of each field of the payloads.
module stash_handshakes_proof #(
  `include "tiny_parameters.svh"
  parameter bit Wrong = 1'b0  // for a proof that must fail: data need not stay
) (
  input logic         clk_i,
  input logic [511:0] any_i
);

  import ameles_pkg::*;

  logic rst_n;
  stash_and_write_back #(.Cfg(Cfg)) u_pair (.clk_i, .any_i, .rst_no(rst_n));

  stays_until_ready #(.Assumed(1'b1)) u_data (
    .clk_i, .rst_ni(rst_n), .valid_i(u_pair.data_valid && !Wrong), .ready_i(u_pair.user_data.ready), .payload_i(1'b0)
  );
  stays_until_ready #(.Assumed(1'b1)) u_interest_mask (
    .clk_i, .rst_ni(rst_n),
    .valid_i(u_pair.interest_mask_valid), .ready_i(u_pair.interest_mask.ready), .payload_i(1'b0)
  );

  // There is a mask of the block of interest for each taken request.
  logic [2:0] pending_q;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) pending_q <= '0;
    else begin
      pending_q <= pending_q + 3'(u_pair.interest_request.valid && u_pair.interest_ready)
          - 3'(u_pair.interest_mask_valid && u_pair.interest_mask.ready);
    end
  end
  always_comb assume (!u_pair.interest_mask_valid || pending_q != '0);

  // An answer is a word of the RAM: nothing else is read while it waits.
  logic waits_q;
  always_ff @(posedge clk_i) waits_q <= rst_n && u_pair.answer.valid && !u_pair.answer_ready;
  always_comb assert (!waits_q || !(u_pair.u_stash.reading || u_pair.back.load) || !u_pair.answer.valid);
  stays_until_ready #(.Width(3)) u_answer (
    .clk_i, .rst_ni(rst_n), .valid_i(u_pair.answer.valid), .ready_i(u_pair.answer_ready),
    .payload_i({u_pair.answer.last, u_pair.u_stash.held_q, u_pair.u_stash.has_old})
  );
  stays_until_ready #(.Width(6)) u_interest (
    .clk_i, .rst_ni(rst_n), .valid_i(u_pair.interest_request.valid), .ready_i(u_pair.interest_ready),
    .payload_i({u_pair.interest_request.data.pad.chunk[2:0], u_pair.interest_request.data.pad.bucket[1:0], u_pair.interest_request.data.pad.iv[0]})
  );
  stays_until_ready #(.Width(7)) u_back (
    .clk_i, .rst_ni(rst_n), .valid_i(u_pair.back.valid), .ready_i(u_pair.back.ready),
    .payload_i({
      u_pair.back.job.op, u_pair.back.job.evict, u_pair.back.job.path[0], u_pair.back.job.iv[0], u_pair.back.bank
    })
  );

endmodule
