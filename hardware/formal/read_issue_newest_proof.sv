// No bucket is requested while its newest contents are neither written nor on chip. For any earlier path that shares
// the bucket, memory has this level. Or the path only replaces headers, and the row of this level is reported to be on
// chip.
module read_issue_newest_proof
  import ameles_pkg::*;
#(
  parameter bit Raw = 1'b1,
  parameter int unsigned LeafLevel = 2,
  parameter int unsigned TopLevels = 0,
  parameter bit Wrong = 1'b0,  // for a proof that must fail: levels are reported before they are written
  localparam config_t Cfg = proof_pkg::tiny(Raw, LeafLevel, 2, 4, 1, TopLevels),
  localparam int unsigned Levels = levels(Cfg),
  localparam int unsigned LeafBits = leaf_bits(Cfg)
) (
  input logic         clk_i,
  input logic [319:0] any_i,
  input logic         watch_i
);

  logic rst_n, begins, ar_valid;
  job_t job;
  logic [Levels-1:0] on_chip, on_chip_q;
  logic [7:0] open;
  logic [$clog2(Levels+1)-1:0] written_levels;
  read_issue_among_writes #(.Cfg(Cfg), .Early(Wrong)) u_reads (
    .clk_i, .any_i, .rst_no(rst_n), .job_o(job), .begins_o(begins), .on_chip_o(on_chip),
    .ar_valid_o(ar_valid), .ar_ready_o(), .ar_o(), .open_o(open), .written_o(written_levels)
  );

  // The path that is read, and an arbitrary watched path: `age_q` is the number of paths since it began, 3 for more.
  logic any_q, watched_q, watched_whole_q;
  logic [1:0] age_q;
  logic [LeafBits-1:0] watched_path_q, path_q;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) {watched_q, any_q, age_q} <= '0;
    else if (begins) begin
      any_q <= 1'b1;
      watched_q <= watched_q || watch_i;
      age_q <= !watched_q ? '0 : age_q == 2'd3 ? 2'd3 : age_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (begins) begin
      path_q <= job.path[LeafBits-1:0];
      on_chip_q <= on_chip;
      if (!watched_q) begin
        watched_path_q <= job.path[LeafBits-1:0];
        watched_whole_q <= !Raw || job.evict;
      end
    end
  end

  // Bit i says whether two paths have the bucket of level i in common.
  function automatic logic [Levels-1:0] common(logic [LeafBits-1:0] path, logic [LeafBits-1:0] other);
    logic [Levels-1:0] shared = '0;
    for (int unsigned nth = 0; nth < Levels; nth++) begin
      shared[nth] = nth == 0 || path >> (LeafLevel - nth) == other >> (LeafLevel - nth);
    end
    return shared;
  endfunction

  // The `open` youngest paths are not written. Some levels of the oldest of these are written.
  logic [level_bits(Cfg)-1:0] level;
  logic [Levels-1:0] with_watched, with_before;
  logic is_before, written;
  assign level = u_reads.u_read_issue.level;
  assign with_watched = common(path_q, watched_path_q);
  assign is_before = watched_q && age_q != '0;
  assign written = open <= 8'(age_q) || (open == 8'(age_q) + 8'd1 && 32'(written_levels) + TopLevels > 32'(level));
  always_comb begin
    if (rst_n && ar_valid && is_before && with_watched[level]) begin
      assert (written || (!watched_whole_q && on_chip_q[level]));
    end
  end

  // For the induction: the state of the cell about the two paths before.
  assign with_before = common(path_q, u_reads.u_read_issue.earlier_q);
  always_comb begin
    if (rst_n) begin
      assert (any_q == u_reads.u_read_issue.any_before_q && (any_q || !(watched_q || u_reads.u_read_issue.any_earlier_q)));
      assert (any_q || (open == '0 && !u_reads.u_read_issue.walking_q));
      assert (!any_q || u_reads.u_read_issue.before_q == path_q);
      assert (!is_before || u_reads.u_read_issue.any_earlier_q);
      assert (!u_reads.u_read_issue.any_earlier_q
          || (on_chip_q == (u_reads.u_read_issue.earlier_whole_q ? '0 : with_before)
          && u_reads.u_read_issue.shared_q == (u_reads.u_read_issue.earlier_whole_q ? with_before : '0)));
      if (watched_q && age_q == 2'd0) begin
        assert (watched_path_q == path_q && watched_whole_q == u_reads.u_read_issue.before_whole_q);
      end
      if (watched_q && age_q == 2'd1) begin
        assert (watched_path_q == u_reads.u_read_issue.earlier_q);
        assert (watched_whole_q == u_reads.u_read_issue.earlier_whole_q);
      end
      if (watched_q && age_q == 2'd2) begin
        assert (u_reads.u_read_issue.earlier_shared_q == (with_watched & (watched_whole_q ? '1 : ~with_before)));
      end
    end
  end

endmodule
