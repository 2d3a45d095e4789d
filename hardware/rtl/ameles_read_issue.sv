// Reads of paths: it requests every bucket of a path from memory, from the root, one path after the other.
//
// It runs ahead of the two paths before. It waits only where memory might answer with data that these have not written
// yet. So it waits for the writes of buckets that both paths share, and for all of the path before those. If RAW ORAM
// has only replaced headers on the path before, it does not wait, because the headers are on chip (see ameles_unload).
// All of this depends only on the paths.
//
// Interface: a job passes in and at once on to the stash, and, if it has a path, to the arrival and to the masks.
// Bursts go out at `ar`.
//
// Timing: the first bucket is requested in the cycle after the job has passed, and then there is a burst per cycle.
//
// Keeps: the two paths before, the walk down the path and the count of paths.
module ameles_read_issue
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  parameter int unsigned AddressBits = 40
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  // Jobs.
  input  logic                             valid_i,
  output logic                             ready_o,
  input  job_t                             job_i,
  input  logic [AddressBits-1:0]           base_i,
  // Events on the bus: a beat that was read, one that is written, and a path whose write begins.
  input  logic                             read_beat_i,
  input  logic                             write_beat_i,
  input  logic                             write_begins_i,
  input  logic                             write_whole_i,
  // Completed writes: paths, modulo 4, and levels in memory of the next path.
  input  logic [1:0]                       written_paths_i,
  input  logic [$clog2(levels(Cfg)+1)-1:0] written_levels_i,
  // Memory.
  output logic                             ar_valid_o,
  input  logic                             ar_ready_i,
  output logic [AddressBits-1:0]           ar_address_o,
  output logic [7:0]                       ar_length_o,
  output logic                             ar_first_o,  // of its bucket
  // The path whose buckets are requested, at its beginning. It goes to the stash, which also gets jobs without a path,
  // to the arrival, and to the masks.
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
  localparam int unsigned BucketBeats = most_bucket_beats(Cfg);
  // Beats of a path, of its headers, and beats that pass while memory prepares a read.
  localparam int unsigned PathBeats = path_beats(Cfg);
  localparam int unsigned HeadersBeats = (Levels - Cfg.top_levels) * header_beats(Cfg);
  localparam int unsigned Lead = 28;
  localparam int unsigned DueBits = $clog2(2 * PathBeats + Lead + 1);

  logic walking_q, start, bucket_done, last, right, free, is_put;
  // The path before, and the one before that.
  logic [LeafBits-1:0] before_q, earlier_q;
  logic before_whole_q, any_before_q, earlier_whole_q, any_earlier_q;
  logic [1:0] paths_q, open;
  logic [Levels-1:0] shared, shared_q, earlier, earlier_shared_q;
  logic is_written, may_begin;
  // The beats that the bus has still to transfer, and the paths whose write has begun, modulo 4.
  logic [DueBits-1:0] due_q, begins;
  logic [1:0] begun_q;
  logic [level_bits(Cfg)-1:0] level;
  logic [AddressBits-1:0] bucket_offset, offset;
  logic [Cfg.leaf_level:0] unused_bucket;
  logic [63:0] unused_count;
  logic unused_last;

  ameles_shared_levels #(.LeafLevel(Cfg.leaf_level)) u_shared (
    .path_i(before_q), .leaf_i(job_i.path[LeafBits-1:0]), .shared_o(shared)
  );

  ameles_shared_levels #(.LeafLevel(Cfg.leaf_level)) u_earlier (
    .path_i(earlier_q), .leaf_i(job_i.path[LeafBits-1:0]), .shared_o(earlier)
  );

  // A path begins when all paths before it are written, except the one before and one that is being written. The bus
  // must also have no more beats to transfer than pass while memory prepares the first one. So no write waits for this
  // read.
  assign open = paths_q - written_paths_i;
  assign is_put = !job_i.evict && !has_path(job_i.op);
  assign may_begin = due_q <= DueBits'(Lead) && (open <= 2'd1 || (open == 2'd2 && begun_q != written_paths_i));
  assign ready_o = !walking_q && begun_ready_i && arriving_ready_i && masks_ready_i && (is_put || may_begin);
  assign start = valid_i && ready_o && !is_put;
  assign begun_valid_o = valid_i && ready_o;
  assign path_valid_o = start;
  assign begun_job_o = job_i;
  assign begun_on_chip_o = any_before_q && !before_whole_q ? shared : '0;

  ameles_path_walk #(.LeafLevel(Cfg.leaf_level), .FirstLevel(Cfg.top_levels)) u_walk (
    .clk_i,
    .start_i(start), .path_i(job_i.path[LeafBits-1:0]), .evictions_i('0),
    .next_i(bucket_done),
    .level_o(level), .last_o(last), .bucket_o(unused_bucket), .right_o(right), .count_o(unused_count)
  );
  ameles_bucket_offset #(
    .BucketBytes(BucketBeats * Cfg.bus_bits / 8), .OffsetBits(AddressBits), .LeafLevel(Cfg.leaf_level),
    .FirstLevel(Cfg.top_levels), .SubtreeLevels(Cfg.subtree_levels)
  ) u_offset (
    .clk_i, .start_i(start), .path_i(job_i.path[LeafBits-1:0]), .next_i(bucket_done), .right_i(right), .offset_o(bucket_offset)
  );

  // A path counts as written after its last level.
  assign is_written = written_levels_i > CountBits'(level) - CountBits'(Cfg.top_levels);
  assign free = (!shared_q[level] || open == 2'd1 || (open == 2'd2 && is_written))
      && (!earlier_shared_q[level] || open != 2'd3 || is_written);

  ameles_burst #(.OffsetBits(AddressBits), .BusBits(Cfg.bus_bits), .MostBeats(BucketBeats)) u_burst (
    .clk_i, .rst_ni,
    .valid_i(walking_q && free), .ready_o(bucket_done),
    .offset_i(bucket_offset), .beats_i($clog2(BucketBeats + 1)'(bucket_beats(Cfg, 32'(level)))),
    .valid_o(ar_valid_o), .ready_i(ar_ready_i),
    .offset_o(offset), .length_o(ar_length_o), .first_o(ar_first_o), .last_o(unused_last)
  );
  assign ar_address_o = base_i + offset;

  assign begins = !write_begins_i ? '0 : write_whole_i ? DueBits'(PathBeats) : DueBits'(HeadersBeats);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      due_q <= '0;
      begun_q <= '0;
    end else begin
      due_q <= due_q + (start ? DueBits'(PathBeats) : '0) + begins - DueBits'(read_beat_i) - DueBits'(write_beat_i);
      if (write_begins_i) begun_q <= begun_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      walking_q <= 1'b0;
      any_before_q <= 1'b0;
      any_earlier_q <= 1'b0;
      paths_q <= '0;
    end else if (start) begin
      walking_q <= 1'b1;
      any_before_q <= 1'b1;
      any_earlier_q <= any_before_q;
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
      earlier_q <= before_q;
      earlier_whole_q <= before_whole_q;
      // A row that the path before has replaced meanwhile is on chip, but its body is not.
      earlier_shared_q <= any_earlier_q ? earlier & (earlier_whole_q ? '1 : ~shared) : '0;
    end
  end

endmodule
