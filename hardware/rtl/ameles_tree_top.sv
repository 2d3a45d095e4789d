// The top of the tree, on chip. For each bucket of the levels that are not in memory, it has a row of its blocks, their
// leaves and their slots of the stash. The blocks stay in their slots; only rows move.
//
// Interface: a path begins with `begin_i`. If the path is rewritten, its blocks of the top come out when `go_i` says
// that the resident ones are finished. They come from the root, one place per cycle. The places that PushToLeaf finds
// in the top are stored from the plan as `keep_i` says, one row per cycle. If the path is only searched (an access of
// RAW ORAM), one row per cycle is searched, and the block of interest leaves its row.
//
// Timing: the number of cycles does not depend on the contents.
//
// A row that was never written counts as empty: RAW ORAM knows this by the count of evictions, Path ORAM by the row
// above.
//
// Keeps: the rows, and for the path which buckets below each row will have been written.
module ameles_tree_top
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned Levels = levels(Cfg),
  localparam int unsigned Top = Cfg.top_levels,
  localparam int unsigned LevelBits = level_bits(Cfg),
  localparam int unsigned LeafBits = leaf_bits(Cfg),
  localparam int unsigned BlockBits = block_bits(Cfg),
  localparam int unsigned EntryBits = entry_bits(Cfg),
  localparam int unsigned SlotBits = slot_bits(Cfg),
  localparam int unsigned ItemBits = EntryBits - 1 + SlotBits,
  localparam int unsigned CountBits = $clog2(Z + 1)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             begin_i,
  input  job_t                             job_i,    // valid from the cycle after `begin_i`
  input  logic                             search_i,
  input  logic                             wanted_i, // the block of interest is not found yet
  input  logic                             go_i,
  output logic                             busy_o,
  // Blocks, and the next place highest if two are scanned per cycle.
  output logic [1:0]                       valid_o,
  output logic [1:0]                       hit_o,    // it is the block of interest
  output logic [1:0][ItemBits-1:0]         item_o,
  output logic                             written_o, // the path's first bucket in memory was ever written (Path ORAM)
  // The plan.
  input  logic                             keep_i,
  input  logic                             bank_i,
  input  logic [Levels-1:0][CountBits-1:0] occupied_i,
  output logic                             keeping_o,
  output logic                             bank_o,
  output logic [LevelBits-1:0]             level_o,
  input  logic [Z-1:0][EntryBits-1:0]      entries_i,
  input  logic [Z-1:0][SlotBits-1:0]       slots_i
);

  localparam int unsigned PlaceBits = at_least_one($clog2(Z));
  localparam int unsigned Lanes = Cfg.scan_lanes;

  typedef struct packed {
    logic                 valid;
    logic [BlockBits-1:0] block;
    logic [LeafBits-1:0]  leaf;
    logic [SlotBits-1:0]  slot;
  } place_t;

  typedef struct packed {
    logic [1:0]       below;
    place_t [Z-1:0]   places;
  } row_t;

  typedef enum logic [1:0] {Idle, Keep, Search, Scan} state_e;

  state_e state_q;
  logic pending_q, start, read, next, ends;
  logic [LevelBits-1:0] level;
  logic [Cfg.leaf_level:0] bucket;
  logic [63:0] count;
  logic right, unused_last;

  assign start = keep_i || (state_q == Idle && pending_q && (search_i || go_i));
  assign busy_o = pending_q || state_q == Search || state_q == Scan;
  assign next = read || state_q == Keep;

  ameles_path_walk #(.LeafLevel(Cfg.leaf_level)) u_walk (
    .clk_i,
    .start_i(start), .path_i(job_i.path[LeafBits-1:0]), .evictions_i(job_i.evictions),
    .next_i(next),
    .level_o(level), .last_o(unused_last), .bucket_o(bucket), .right_o(right), .count_o(count)
  );

  // The row that was read, a cycle later.
  logic row_valid_q, row_right_q, row_first_q, row_last_q, written_q, empty, written;
  logic row_unwritten_q;
  logic [Top-1:0] row_bucket_q;
  logic [LevelBits-1:0] row_level_q;
  logic [PlaceBits-1:0] place_q, chosen;
  logic last_place, row_done;
  row_t row, cleared, kept;
  logic [Z-1:0] hits;
  logic [1:0] below;

  assign read = (state_q == Search || state_q == Scan) && 32'(level) < Top && (!row_valid_q || row_done);
  assign last_place = state_q == Search || 32'(place_q) + Lanes >= places(Cfg, 32'(row_level_q));
  assign row_done = row_valid_q && last_place;
  assign ends = row_done && row_last_q;

  // With Path ORAM the root is written after the first path, and every other bucket if the one above says so.
  assign written = row_first_q ? job_i.iv != '0 : written_q;
  assign empty = Cfg.scheme == RawOram ? row_unwritten_q : !written;
  assign below = empty ? 2'b00 : row.below;
  assign written_o = written_q;

  always_comb begin
    chosen = state_q == Search ? '0 : place_q;
    cleared = row;
    for (int unsigned place = 0; place < Z; place++) begin
      hits[place] = wanted_i && !empty && row.places[place].valid
          && row.places[place].block == job_i.block[BlockBits-1:0];
      if (hits[place]) begin
        cleared.places[place] = '0;
        if (state_q == Search) chosen = PlaceBits'(place);
      end
    end
  end
  assign hit_o[0] = row_valid_q && hits[chosen];
  assign valid_o[0] = row_valid_q && (state_q == Search ? hits[chosen] : !empty && row.places[chosen].valid);
  assign item_o[0] = ItemBits'(row.places[chosen]);

  if (Lanes == 2) begin : gen_twin
    logic [PlaceBits-1:0] twin;
    logic is_twin;
    assign is_twin = row_valid_q && state_q == Scan && 32'(place_q) + 1 < places(Cfg, 32'(row_level_q));
    assign twin = is_twin ? place_q + 1'b1 : '0;
    assign valid_o[1] = is_twin && !empty && row.places[twin].valid;
    assign hit_o[1] = is_twin && hits[twin] && !hits[chosen];
    assign item_o[1] = ItemBits'(row.places[twin]);
  end else begin : gen_no_twin
    assign {valid_o[1], hit_o[1], item_o[1]} = '0;
  end

  // The rows that are stored.
  logic [Top-1:0][CountBits-1:0] occupied_q;
  logic [Top-1:0][1:0] below_q;
  assign keeping_o = state_q == Keep;
  assign level_o = level;
  always_comb begin
    kept.below = below_q[level];
    for (int unsigned place = 0; place < Z; place++) begin
      kept.places[place] = CountBits'(place) < occupied_q[level] ? {entries_i[place], slots_i[place]} : '0;
    end
  end

  ameles_ram #(.Width($bits(row_t)), .Depth((1 << Top) - 1)) u_rows (
    .clk_i,
    .write_i(state_q == Keep || (state_q == Search && row_valid_q && !empty)),
    .write_address_i(state_q == Keep ? Top'(bucket) : row_bucket_q),
    .write_data_i(state_q == Keep ? kept : cleared),
    .read_i(read), .read_address_i(Top'(bucket)), .read_data_o(row)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      pending_q <= 1'b0;
      row_valid_q <= 1'b0;
      place_q <= '0;
    end else begin
      if (begin_i) pending_q <= 1'b1;
      else if (start && !keep_i) pending_q <= 1'b0;
      if (keep_i) state_q <= Keep;
      else if (start) state_q <= search_i ? Search : Scan;
      else if (ends || (state_q == Keep && 32'(level) == Top - 1)) state_q <= Idle;
      row_valid_q <= read || (row_valid_q && !row_done);
      if (row_valid_q && state_q == Scan) place_q <= last_place ? '0 : place_q + PlaceBits'(Lanes);
    end
  end
  always_ff @(posedge clk_i) begin
    if (keep_i) begin
      bank_o <= bank_i;
      occupied_q <= occupied_i[Top-1:0];
    end
    if (read) begin
      row_bucket_q <= Top'(bucket);
      row_level_q <= level;
      row_right_q <= right;
      row_first_q <= level == '0;
      row_last_q <= 32'(level) == Top - 1;
      row_unwritten_q <= count == '0;
    end
    if (row_done && state_q == Scan) begin
      written_q <= row_right_q ? below[1] : below[0];
      below_q[row_level_q] <= below | (row_right_q ? 2'b10 : 2'b01);
    end
  end

endmodule
