// PushToLeaf of Tiny ORAM (FCCM 2015), Algorithm 1: for each block that passes, it finds a place on the path that is
// filled.
//
// Interface: `clear_i` begins a new path, when no block is in the pipeline. A block goes in at `valid_i`, and comes out
// with a level and a place of its bucket, or stuck.
//
// Timing: one block per cycle goes in, and comes out three cycles later. There are registers after lines 14 and 15.
// There is none between the read of Occupied and its update, so that blocks follow each other without a gap. A twin may
// go in together with a block, with the result of a block one cycle later: it takes the next level up if the block
// takes the last place.
//
// Keeps: Occupied, which is the number of places that are taken, for each level.
module ameles_push_to_leaf #(
  parameter int unsigned LeafLevel = 20,
  parameter int unsigned BlocksPerBucket = 4,
  parameter logic [31:0][7:0] LevelBlocks = '0,  // of each level, unless it is 0
  parameter int unsigned DataBits = 8,  // data that pass with a block
  localparam int unsigned Levels = LeafLevel + 1,
  localparam int unsigned LeafBits = LeafLevel > 0 ? LeafLevel : 1,
  localparam int unsigned LevelBits = LeafLevel > 0 ? $clog2(LeafLevel + 1) : 1,
  localparam int unsigned CountBits = $clog2(BlocksPerBucket + 1)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  // The path.
  input  logic                             clear_i,
  input  logic [LeafBits-1:0]              path_i,
  // Blocks on their way in.
  input  logic                             valid_i,
  input  logic                             keep_i,  // the block must stay in the stash
  input  logic [LeafBits-1:0]              leaf_i,
  input  logic [DataBits-1:0]              data_i,
  // Blocks with their places.
  output logic                             valid_o,
  output logic                             stuck_o,
  output logic [LevelBits-1:0]             level_o,
  output logic [CountBits-1:0]             place_o,
  output logic [DataBits-1:0]              data_o,
  // The twin.
  input  logic                             twin_valid_i,
  input  logic [LeafBits-1:0]              twin_leaf_i,
  input  logic [DataBits-1:0]              twin_data_i,
  output logic                             twin_valid_o,
  output logic                             twin_stuck_o,
  output logic [LevelBits-1:0]             twin_level_o,
  output logic [CountBits-1:0]             twin_place_o,
  output logic [DataBits-1:0]              twin_data_o,
  output logic [Levels-1:0][CountBits-1:0] occupied_o
);

  typedef struct packed {
    logic                keep;
    logic [Levels-1:0]   levels;
    logic [DataBits-1:0] data;
  } stage_t;

  // Lines 13 to 15.
  logic [Levels-1:0] shared;
  ameles_shared_levels #(.LeafLevel(LeafLevel)) u_shared (.path_i, .leaf_i, .shared_o(shared));

  stage_t first_q, second_q;
  logic first_valid_q, second_valid_q;
  logic [Levels-1:0][CountBits-1:0] occupied_q;
  logic [Levels-1:0] full, chosen;
  logic [Levels-1:0][CountBits-1:0] most;

  // Lines 16 to 20.
  for (genvar level = 0; level < Levels; level++) begin : gen_full
    localparam int unsigned Places = LevelBlocks[level] == '0 ? BlocksPerBucket : 32'(LevelBlocks[level]);
    assign most[level] = CountBits'(Places);
    assign full[level] = occupied_q[level] == CountBits'(Places);
  end
  ameles_deepest_room #(.LeafLevel(LeafLevel)) u_room (
    .shared_i(second_q.levels & ~{Levels{second_q.keep}}),
    .full_i(full),
    .level_o(chosen)
  );

  // The twin has two levels to choose from: its deepest with room, and the next one up.
  logic [Levels-1:0] twin_shared, filled, nearest, next, twin_chosen;
  stage_t twin_first_q, twin_second_q;
  logic twin_first_valid_q, twin_second_valid_q;
  ameles_shared_levels #(.LeafLevel(LeafLevel)) u_twin_shared (.path_i, .leaf_i(twin_leaf_i), .shared_o(twin_shared));
  ameles_deepest_room #(.LeafLevel(LeafLevel)) u_nearest (
    .shared_i(twin_second_q.levels & ~{Levels{twin_second_q.keep}}), .full_i(full), .level_o(nearest)
  );
  ameles_deepest_room #(.LeafLevel(LeafLevel)) u_next (
    .shared_i(twin_second_q.levels & ~{Levels{twin_second_q.keep}}), .full_i(full | nearest), .level_o(next)
  );
  assign twin_chosen = (nearest & filled) != '0 ? next : nearest;

  logic [LevelBits-1:0] level, twin_level;
  logic [CountBits-1:0] place, twin_place;
  always_comb begin
    level = '0;
    place = '0;
    twin_level = '0;
    twin_place = '0;
    for (int unsigned nth = 0; nth < Levels; nth++) begin
      filled[nth] = second_valid_q && chosen[nth] && occupied_q[nth] + 1'b1 == CountBits'(most[nth]);
      level |= chosen[nth] ? LevelBits'(nth) : '0;
      place |= chosen[nth] ? occupied_q[nth] : '0;
      twin_level |= twin_chosen[nth] ? LevelBits'(nth) : '0;
      twin_place |= twin_chosen[nth] ? occupied_q[nth] + CountBits'(second_valid_q && chosen[nth]) : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    first_q.keep <= keep_i;
    first_q.levels <= shared;
    first_q.data <= data_i;
    second_q.keep <= first_q.keep;
    second_q.levels <= first_q.levels;
    second_q.data <= first_q.data;
    stuck_o <= chosen == '0;
    level_o <= level;
    place_o <= place;
    data_o <= second_q.data;
    twin_first_q <= '{keep: keep_i, levels: twin_shared, data: twin_data_i};
    twin_second_q <= twin_first_q;
    twin_stuck_o <= twin_chosen == '0;
    twin_level_o <= twin_level;
    twin_place_o <= twin_place;
    twin_data_o <= twin_second_q.data;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_valid_q <= 1'b0;
      second_valid_q <= 1'b0;
      valid_o <= 1'b0;
      twin_first_valid_q <= 1'b0;
      twin_second_valid_q <= 1'b0;
      twin_valid_o <= 1'b0;
      occupied_q <= '0;
    end else begin
      first_valid_q <= valid_i;
      second_valid_q <= first_valid_q;
      valid_o <= second_valid_q;
      twin_first_valid_q <= twin_valid_i;
      twin_second_valid_q <= twin_first_valid_q;
      twin_valid_o <= twin_second_valid_q;
      for (int unsigned nth = 0; nth < Levels; nth++) begin
        if (clear_i) occupied_q[nth] <= '0;
        else begin
          occupied_q[nth] <= occupied_q[nth] + CountBits'(second_valid_q && chosen[nth])
              + CountBits'(twin_second_valid_q && twin_chosen[nth]);
        end
      end
    end
  end

  assign occupied_o = occupied_q;

endmodule
