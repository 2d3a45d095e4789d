// PushToLeaf of Tiny ORAM (FCCM 2015), Algorithm 1: for each block that passes, it finds a place on the path that is
// filled.
//
// Interface: `clear_i` begins a new path, when no block is in the pipeline. A block goes in at `valid_i`, and comes out
// with a level and a place of its bucket, or stuck.
//
// Timing: one block per cycle goes in, and comes out three cycles later. There are registers after lines 14 and 15.
// There is none between the read of Occupied and its update, so that blocks follow each other without a gap. A twin may
// go in together with a block, with the result of a block one cycle later. It takes the next level up if the block
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
  // Blocks on their way in, the twin highest.
  input  logic [1:0]                       valid_i,
  input  logic                             keep_i,  // the blocks must stay in the stash
  input  logic [1:0][LeafBits-1:0]         leaf_i,
  input  logic [1:0][DataBits-1:0]         data_i,
  // Blocks with their places.
  output logic [1:0]                       valid_o,
  output logic [1:0]                       stuck_o,
  output logic [1:0][LevelBits-1:0]        level_o,
  output logic [1:0][CountBits-1:0]        place_o,
  output logic [1:0][DataBits-1:0]         data_o,
  output logic [Levels-1:0][CountBits-1:0] occupied_o
);

  typedef struct packed {
    logic                keep;
    logic [Levels-1:0]   levels;
    logic [DataBits-1:0] data;
  } stage_t;

  stage_t [1:0] first_q, second_q;
  logic [1:0] first_valid_q, second_valid_q;
  logic [1:0][Levels-1:0] shared, allowed;
  logic [Levels-1:0][CountBits-1:0] occupied_q, most;
  logic [Levels-1:0] full, chosen, twin_chosen;

  // Lines 13 to 15.
  for (genvar lane = 0; lane < 2; lane++) begin : gen_lane
    ameles_shared_levels #(.LeafLevel(LeafLevel)) u_shared (.path_i, .leaf_i(leaf_i[lane]), .shared_o(shared[lane]));
    assign allowed[lane] = second_q[lane].levels & ~{Levels{second_q[lane].keep}};
  end

  // Lines 16 to 20.
  for (genvar level = 0; level < Levels; level++) begin : gen_full
    localparam int unsigned Places = LevelBlocks[level] == '0 ? BlocksPerBucket : 32'(LevelBlocks[level]);
    assign most[level] = CountBits'(Places);
    assign full[level] = occupied_q[level] == CountBits'(Places);
  end
  ameles_deepest_room #(.LeafLevel(LeafLevel)) u_room (.shared_i(allowed[0]), .full_i(full), .level_o(chosen));

  // The twin has two levels to choose from: its deepest with room, and the next one up.
  logic [Levels-1:0] filled, nearest, next;
  ameles_deepest_room #(.LeafLevel(LeafLevel)) u_nearest (.shared_i(allowed[1]), .full_i(full), .level_o(nearest));
  ameles_deepest_room #(.LeafLevel(LeafLevel)) u_next (
    .shared_i(allowed[1]), .full_i(full | nearest), .level_o(next)
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
      filled[nth] = second_valid_q[0] && chosen[nth] && occupied_q[nth] + 1'b1 == CountBits'(most[nth]);
      level |= chosen[nth] ? LevelBits'(nth) : '0;
      place |= chosen[nth] ? occupied_q[nth] : '0;
      twin_level |= twin_chosen[nth] ? LevelBits'(nth) : '0;
      twin_place |= twin_chosen[nth] ? occupied_q[nth] + CountBits'(second_valid_q[0] && chosen[nth]) : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned lane = 0; lane < 2; lane++) begin
      first_q[lane] <= '{keep: keep_i, levels: shared[lane], data: data_i[lane]};
      data_o[lane] <= second_q[lane].data;
    end
    second_q <= first_q;
    stuck_o <= {twin_chosen == '0, chosen == '0};
    level_o <= {twin_level, level};
    place_o <= {twin_place, place};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_valid_q <= '0;
      second_valid_q <= '0;
      valid_o <= '0;
      occupied_q <= '0;
    end else begin
      first_valid_q <= valid_i;
      second_valid_q <= first_valid_q;
      valid_o <= second_valid_q;
      for (int unsigned nth = 0; nth < Levels; nth++) begin
        if (clear_i) occupied_q[nth] <= '0;
        else begin
          occupied_q[nth] <= occupied_q[nth] + CountBits'(second_valid_q[0] && chosen[nth])
              + CountBits'(second_valid_q[1] && twin_chosen[nth]);
        end
      end
    end
  end

  assign occupied_o = occupied_q;

endmodule
