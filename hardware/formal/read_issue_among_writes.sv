// The reads of paths among writes that are counted as by ameles_write_back. Writes are counted level by level, in order
// and never backwards, for paths that were read and whose write has begun. Counts are modulo a power of two above those
// of the cell.
module read_issue_among_writes
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  parameter bit Forgets = 1'b0,  // for a proof that must fail: levels may be forgotten
  parameter bit Early = 1'b0,    // for another one: levels are reported before they are written
  localparam int unsigned Levels = levels(Cfg),
  localparam int unsigned LevelBits = $clog2(levels(Cfg) + 1)
) (
  input  logic                 clk_i,
  input  logic [319:0]         any_i,   // any behaviour of the environment in this cycle
  output logic                 rst_no,
  output job_t                 job_o,
  output logic                 begins_o,  // a path does
  output logic [Levels-1:0]    on_chip_o,
  output logic                 ar_valid_o,
  output logic                 ar_ready_o,
  output logic [47:0]          ar_o,
  output logic [7:0]           open_o,    // paths that were begun and are not written
  output logic [LevelBits-1:0] written_o  // levels of the oldest of them that are written
);

  first_cycle_reset u_reset (.clk_i, .rst_no);

  logic valid, read_beat, write_beat, write_begins, write_whole, path_written, level_written, forget;
  logic begun_ready, arriving_ready, masks_ready;
  logic [39:0] base, base_q;
  assign {
    valid, read_beat, write_beat, write_begins, write_whole, path_written, level_written, forget, ar_ready_o,
    begun_ready, arriving_ready, masks_ready, base, job_o
  } = any_i[51+$bits(job_t):0];

  logic [7:0] paths_q, begun_q, written_q;
  logic [LevelBits-1:0] levels_q;
  ameles_read_issue #(.Cfg(Cfg)) u_read_issue (
    .clk_i, .rst_ni(rst_no), .valid_i(valid), .ready_o(), .job_i(job_o), .base_i(base_q),
    .read_beat_i(read_beat), .write_beat_i(write_beat), .write_begins_i(write_begins), .write_whole_i(write_whole),
    .written_paths_i(written_q[1:0]), .written_levels_i(levels_q + LevelBits'(Early)),
    .ar_valid_o, .ar_ready_i(ar_ready_o), .ar_address_o(ar_o[47:8]), .ar_length_o(ar_o[7:0]), .ar_first_o(),
    .begun_valid_o(), .begun_ready_i(begun_ready), .path_valid_o(begins_o), .arriving_ready_i(arriving_ready),
    .masks_ready_i(masks_ready), .begun_job_o(), .begun_on_chip_o(on_chip_o)
  );

  // A path goes back after it was read: during its walk the write is still to come.
  assign open_o = paths_q - written_q;
  assign written_o = levels_q;
  always_comb begin
    assume (!write_begins || 8'(paths_q - begun_q) > 8'(u_read_issue.walking_q));
    assume (!path_written || begun_q != written_q);
    assume (!level_written || (begun_q != written_q && 32'(levels_q) < Cfg.leaf_level - Cfg.top_levels));
  end
  always_ff @(posedge clk_i or negedge rst_no) begin
    if (!rst_no) {paths_q, begun_q, written_q, levels_q} <= '0;
    else begin
      paths_q <= paths_q + 8'(begins_o);
      begun_q <= begun_q + 8'(write_begins);
      written_q <= written_q + 8'(path_written);
      if (path_written || (Forgets && forget)) levels_q <= '0;
      else if (level_written) levels_q <= levels_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) if (!rst_no) base_q <= base;

  // For the induction.
  always_comb begin
    if (rst_no) begin
      assert (open_o <= 8'd3 && open_o >= 8'(u_read_issue.walking_q));
      assert (8'(begun_q - written_q) <= open_o && 8'(paths_q - begun_q) <= open_o);
      assert (8'(paths_q - begun_q) >= 8'(u_read_issue.walking_q));
      assert (u_read_issue.paths_q == paths_q[1:0] && u_read_issue.begun_q == begun_q[1:0]);
      assert (begun_q != written_q || levels_q == '0);
      assert (u_read_issue.walking_q || !u_read_issue.u_burst.begun_q);
      assert (!u_read_issue.walking_q
          || (32'(u_read_issue.level) <= Cfg.leaf_level && 32'(u_read_issue.level) >= Cfg.top_levels));
    end
  end

endmodule
