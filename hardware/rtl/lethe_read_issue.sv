// Reads of paths: asks the memory for every bucket of a path, the root's first, one path after the other.
//
// It goes ahead of the path before, and waits only where memory might answer with what that path has not written yet:
// for the writing of buckets that both paths share, and for all of the path before it. Where RAW ORAM only replaces
// headers it does not wait: the header is on chip (see lethe_unload). Both follow from the paths alone. It keeps the path
// before, the walk down the path and the count of paths.
module lethe_read_issue
  import lethe_pkg::*;
#(
  parameter config_t Cfg = '0,
  parameter int unsigned AddressBits = 40
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             valid_i,
  output logic                             ready_o,
  input  job_t                             job_i,
  input  logic [AddressBits-1:0]           base_i,
  // What was written: paths, modulo 4, and levels of the path after those.
  input  logic [1:0]                       written_paths_i,
  input  logic [$clog2(levels(Cfg)+1)-1:0] written_levels_i,
  output logic                             ar_valid_o,
  input  logic                             ar_ready_i,
  output logic [AddressBits-1:0]           ar_address_o,
  output logic [7:0]                       ar_length_o,
  // The path whose buckets are asked for, as it begins: for the stash, which gets what has no path as well, for what
  // arrives, and for the masks.
  output logic                             begun_valid_o,
  input  logic                             begun_ready_i,
  output logic                             path_valid_o,
  input  logic                             arriving_ready_i,
  input  logic                             masks_ready_i,
  output job_t                             begun_job_o,
  output logic [levels(Cfg)-1:0]           begun_on_chip_o
);

  localparam int unsigned Levels = levels(Cfg);
  localparam int unsigned LeafBits = leaf_bits(Cfg);
  localparam int unsigned CountBits = $clog2(Levels + 1);
  localparam int unsigned BucketBeats = bucket_beats(Cfg);

  logic walking_q, start, bucket_done, last, right, free, is_put;
  logic [LeafBits-1:0] before_q;
  logic before_whole_q, any_before_q;
  logic [1:0] paths_q, open;
  logic [Levels-1:0] shared, shared_q;
  logic [level_bits(Cfg)-1:0] level;
  logic [AddressBits-1:0] bucket_offset, offset;
  logic [Cfg.leaf_level:0] unused_bucket;
  logic [63:0] unused_count;
  logic unused_last;

  lethe_shared_levels #(.LeafLevel(Cfg.leaf_level)) u_shared (
    .path_i(before_q), .leaf_i(job_i.path[LeafBits-1:0]), .shared_o(shared)
  );

  // A path begins when at most the one before it is not all written.
  assign open = paths_q - written_paths_i;
  assign is_put = !job_i.evict && !has_path(job_i.op);
  assign ready_o = !walking_q && begun_ready_i && arriving_ready_i && masks_ready_i && (is_put || open <= 2'd1);
  assign start = valid_i && ready_o && !is_put;
  assign begun_valid_o = valid_i && ready_o;
  assign path_valid_o = start;
  assign begun_job_o = job_i;
  assign begun_on_chip_o = any_before_q && !before_whole_q ? shared : '0;

  lethe_path_walk #(.LeafLevel(Cfg.leaf_level)) u_walk (
    .clk_i,
    .start_i(start), .path_i(job_i.path[LeafBits-1:0]), .evictions_i('0),
    .next_i(bucket_done),
    .level_o(level), .last_o(last), .bucket_o(unused_bucket), .right_o(right), .count_o(unused_count)
  );
  lethe_bucket_offset #(.BucketBytes(BucketBeats * Cfg.bus_bits / 8), .OffsetBits(AddressBits)) u_offset (
    .clk_i, .start_i(start), .next_i(bucket_done), .right_i(right), .offset_o(bucket_offset)
  );

  // The path before counts as written from its last level on.
  assign free = !shared_q[level] || open == 2'd1 || written_levels_i > CountBits'(level);

  lethe_burst #(.OffsetBits(AddressBits), .BusBits(Cfg.bus_bits), .MostBeats(BucketBeats)) u_burst (
    .clk_i, .rst_ni,
    .valid_i(walking_q && free), .ready_o(bucket_done),
    .offset_i(bucket_offset), .beats_i($clog2(BucketBeats + 1)'(BucketBeats)),
    .valid_o(ar_valid_o), .ready_i(ar_ready_i),
    .offset_o(offset), .length_o(ar_length_o), .last_o(unused_last)
  );
  assign ar_address_o = base_i + offset;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      walking_q <= 1'b0;
      any_before_q <= 1'b0;
      paths_q <= '0;
    end else if (start) begin
      walking_q <= 1'b1;
      any_before_q <= 1'b1;
      paths_q <= paths_q + 1'b1;
    end else if (bucket_done && last) begin
      walking_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start) begin
      before_q <= job_i.path[LeafBits-1:0];
      before_whole_q <= Cfg.scheme == PathOram || job_i.evict;
      shared_q <= any_before_q && before_whole_q ? shared : '0;
    end
  end

endmodule
