// Addresses of reads stay until memory takes them.
module read_issue_handshakes_proof #(
  parameter bit Raw = 1'b1,
  parameter int unsigned LeafLevel = 2,
  parameter int unsigned BlocksPerBucket = 2,
  parameter int unsigned TopLevels = 0,
  parameter bit Wrong = 1'b0  // for a proof that must fail: levels that were written may be forgotten
) (
  input logic         clk_i,
  input logic [319:0] any_i
);

  localparam ameles_pkg::config_t Cfg = proof_pkg::tiny(Raw, LeafLevel, BlocksPerBucket, 4, 1, TopLevels);

  logic rst_n, ar_valid, ar_ready;
  logic [47:0] ar;
  read_issue_among_writes #(.Cfg(Cfg), .Forgets(Wrong)) u_reads (
    .clk_i, .any_i, .rst_no(rst_n), .job_o(), .begins_o(), .on_chip_o(),
    .ar_valid_o(ar_valid), .ar_ready_o(ar_ready), .ar_o(ar), .open_o(), .written_o()
  );
  stays_until_ready #(.Width(48)) u_stays (
    .clk_i, .rst_ni(rst_n), .valid_i(ar_valid), .ready_i(ar_ready), .payload_i(ar)
  );

endmodule
