// The engine that makes all masks: AES in counter mode, shared by five purposes of falling priority.
//
//   leaf      leaves of the front end: no mask, but a chunk under the same key
//   read      masks of what a path brings, when its headers have come
//   interest  masks of the block of interest (RAW ORAM)
//   write     masks of what a path takes back
//   ahead     masks of the bodies of the next evictions (RAW ORAM)
//
// Interface: a request is the first pad and whether it is for a row or a beat; the pads of further chunks follow from
// it. It stays at its port until its last chunks have begun. Masks come out in the order of requests, separately for
// each purpose.
//
// Timing: in each cycle as many chunks begin as there are lanes. A request that has begun is not interrupted. A mask is
// ready 22 cycles after its last chunks have begun, and one of `ahead` after 23. The order and the times of the masks
// depend only on the times of the requests. With a pacer, the times at which the front end requests leaves are secret.
// Then one cycle in 16 is reserved for leaves, whether or not they are requested. With `aes_double` a pipeline at
// `clk2_i` replaces two lanes.
//
// Keeps: the chunks in the pipeline, and masks that wait.
module ameles_mask_engine
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned RowChunks = row_chunks(Cfg),
  localparam int unsigned BeatChunks = beat_chunks(Cfg),
  localparam int unsigned MixedChunks = Cfg.scheme == PathOram ? mask_chunks(Cfg) : RowChunks
) (
  input  logic               clk_i,
  input  logic               clk2_i,
  input  logic               rst_ni,
  // The key.
  input  logic [10:0][127:0] round_keys_i,
  input  logic               keyed_i,
  // Leaves: the inputs of AES, and their chunks.
  ameles_stream_if.sink      leaf_input,
  ameles_stream_if.source    leaf_chunk,
  // Requests: `mask_request_t`.
  ameles_stream_if.sink      read_request,
  ameles_stream_if.sink      interest_request,
  ameles_stream_if.sink      write_request,
  ameles_stream_if.sink      ahead_request,
  // Masks.
  ameles_stream_if.source    read_mask,
  ameles_stream_if.source    interest_mask,
  ameles_stream_if.source    write_mask,
  ameles_stream_if.source    ahead_mask
);

  localparam int unsigned Lanes = Cfg.aes_lanes;
  localparam int unsigned Most = mask_chunks(Cfg);
  localparam int unsigned Groups = (Most + Lanes - 1) / Lanes;
  localparam int unsigned GroupBits = Groups > 1 ? $clog2(Groups) : 1;
  localparam int unsigned RowLast = (RowChunks + Lanes - 1) / Lanes - 1;
  localparam int unsigned BeatLast = (BeatChunks + Lanes - 1) / Lanes - 1;
  localparam int unsigned LaneStages = 2;
  localparam int unsigned Latency =
      Cfg.aes_double ? ameles_aes_pkg::ameles_aes_double_latency() : ameles_aes_pkg::ameles_aes_latency(LaneStages);
  // Masks in a stream that is used at once: those in the pipeline of AES, and a few more.
  localparam int unsigned NearDepth = 32;

  typedef enum logic [2:0] {Leaf, Read, Interest, Write, Ahead} stream_e;

  typedef struct packed {
    stream_e              stream;
    logic                 last;
    logic [GroupBits-1:0] group;
  } tag_t;

  logic [4:0] room, turns, offered, asked, begins, returns;
  stream_e chosen, stream, stream_q;
  logic valid, busy_q, goes_on, row, last;
  logic [GroupBits-1:0] group, group_q;
  pad_t pad;

  logic for_leaves;
  if (Cfg.slot_cycles != 0) begin : gen_turns
    logic [3:0] turn_q;
    assign for_leaves = turn_q == '0;
    assign turns = for_leaves ? 5'b00001 : 5'b11110;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) turn_q <= '0;
      else turn_q <= turn_q + 1'b1;
    end
  end else begin : gen_no_turns
    assign for_leaves = 1'b0;
    assign turns = '1;
  end
  assign offered = {
    ahead_request.valid, write_request.valid, interest_request.valid, read_request.valid, leaf_input.valid
  };
  assign asked = offered & room & turns & {5{keyed_i}};

  always_comb begin
    priority case (1'b1)
      asked[Leaf]:     chosen = Leaf;
      asked[Read]:     chosen = Read;
      asked[Interest]: chosen = Interest;
      asked[Write]:    chosen = Write;
      default:         chosen = Ahead;
    endcase
  end

  // A request stays at its port until its last group has begun.
  assign goes_on = busy_q && !for_leaves;
  assign stream = goes_on ? stream_q : chosen;
  assign valid = goes_on || asked != '0;
  assign group = goes_on ? group_q : '0;
  always_comb begin
    unique case (stream)
      Leaf:     {row, pad} = {1'b0, leaf_input.data};
      Read:     {row, pad} = read_request.data;
      Interest: {row, pad} = interest_request.data;
      Write:    {row, pad} = write_request.data;
      default:  {row, pad} = ahead_request.data;
    endcase
  end
  assign last = stream == Leaf || group == (row ? GroupBits'(RowLast) : GroupBits'(BeatLast));
  for (genvar nth = 0; nth < 5; nth++) begin : gen_begins
    assign begins[nth] = valid && !goes_on && stream == stream_e'(nth);
  end
  assign leaf_input.ready = valid && stream == Leaf;
  assign read_request.ready = valid && last && stream == Read;
  assign interest_request.ready = valid && last && stream == Interest;
  assign write_request.ready = valid && last && stream == Write;
  assign ahead_request.ready = valid && last && stream == Ahead;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (!for_leaves) busy_q <= valid && !last;
  end
  always_ff @(posedge clk_i) begin
    if (!for_leaves) begin
      stream_q <= stream;
      group_q <= group + 1'b1;
    end
  end

  // The lanes, and the purpose of each group.
  logic [Lanes-1:0][127:0] chunks;
  logic [Lanes-1:0] out_valid;
  tag_t tag_in, tag_out;
  assign tag_in = '{stream: stream, last: last, group: group};

  // The first chunk of a beat is a multiple of its chunks, a power of two; that of a row is 0.
  pad_t [Lanes-1:0] lane_pads;
  always_comb begin
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      lane_pads[lane] = pad;
      lane_pads[lane].chunk = pad.chunk | (30'(group) * 30'(Lanes) + 30'(lane));
    end
  end

  if (Cfg.aes_double) begin : gen_double
    if (Lanes % 2 != 0) begin : gen_bad_lanes
      $error("ameles_mask_engine: aes_double makes one pipeline of two lanes, so aes_lanes must be even");
    end
    for (genvar pair = 0; pair < Lanes / 2; pair++) begin : gen_pair
      ameles_aes_double #(.RomRounds(Cfg.aes_rom_rounds)) u_aes (
        .clk_i, .clk2_i, .rst_ni, .round_keys_i,
        .valid_i(valid), .block_i(lane_pads[2*pair+:2]), .valid_o(out_valid[2*pair]), .block_o(chunks[2*pair+:2])
      );
      assign out_valid[2*pair+1] = out_valid[2*pair];
    end
  end else begin : gen_single
    for (genvar lane = 0; lane < Lanes; lane++) begin : gen_lane
      ameles_aes #(.StagesPerRound(LaneStages), .RomRounds(Cfg.aes_rom_rounds)) u_aes (
        .clk_i, .rst_ni, .round_keys_i,
        .valid_i(valid), .block_i(lane_pads[lane]), .valid_o(out_valid[lane]), .block_o(chunks[lane])
      );
    end
  end

  tag_t [Latency-1:0] tags_q;
  always_ff @(posedge clk_i) tags_q <= {tags_q[Latency-2:0], tag_in};
  assign tag_out = tags_q[Latency-1];
  for (genvar nth = 0; nth < 5; nth++) begin : gen_returns
    assign returns[nth] = out_valid[0] && tag_out.last && tag_out.stream == stream_e'(nth);
  end

  // A mask is complete with its last group; earlier groups wait here. Groups of two masks never mix, but a leaf may come between.
  logic [Groups-1:0][Lanes*128-1:0] parts_q, beat, mixed;
  for (genvar nth = 0; nth < Groups; nth++) begin : gen_parts
    always_ff @(posedge clk_i) begin
      if (out_valid[0] && tag_out.stream != Leaf && tag_out.group == GroupBits'(nth)) parts_q[nth] <= chunks;
    end
    assign beat[nth] = nth == BeatLast ? chunks : parts_q[nth];
    if (Cfg.scheme == RawOram) begin : gen_rows_only
      assign mixed[nth] = nth == RowLast ? chunks : parts_q[nth];
    end else begin : gen_mixed
      assign mixed[nth] = tag_out.group == GroupBits'(nth) ? chunks : parts_q[nth];
    end
  end

  ameles_mask_stream #(.Width(128), .Depth(4)) u_leaf (
    .clk_i, .rst_ni,
    .has_room_o(room[Leaf]), .first_i(begins[Leaf]), .put_i(returns[Leaf]), .mask_i(chunks[0]),
    .mask(leaf_chunk)
  );

  ameles_mask_stream #(.Width(MixedChunks * 128), .Depth(NearDepth)) u_read (
    .clk_i, .rst_ni,
    .has_room_o(room[Read]), .first_i(begins[Read]), .put_i(returns[Read]), .mask_i((MixedChunks * 128)'(mixed)),
    .mask(read_mask)
  );

  ameles_mask_stream #(.Width(MixedChunks * 128), .Depth(NearDepth)) u_write (
    .clk_i, .rst_ni,
    .has_room_o(room[Write]), .first_i(begins[Write]), .put_i(returns[Write]), .mask_i((MixedChunks * 128)'(mixed)),
    .mask(write_mask)
  );

  if (Cfg.scheme == RawOram) begin : gen_raw
    ameles_mask_stream #(.Width(BeatChunks * 128), .Depth(4)) u_interest (
      .clk_i, .rst_ni,
      .has_room_o(room[Interest]), .first_i(begins[Interest]),
      .put_i(returns[Interest]), .mask_i((BeatChunks * 128)'(beat)),
      .mask(interest_mask)
    );

    ameles_mask_stream #(.Width(BeatChunks * 128), .Depth(Cfg.mask_beats), .BlockRam(1'b1)) u_ahead (
      .clk_i, .rst_ni,
      .has_room_o(room[Ahead]), .first_i(begins[Ahead]), .put_i(returns[Ahead]), .mask_i((BeatChunks * 128)'(beat)),
      .mask(ahead_mask)
    );
  end else begin : gen_path
    assign {room[Interest], room[Ahead]} = '0;
    assign {interest_mask.valid, interest_mask.data, ahead_mask.valid, ahead_mask.data} = '0;
  end

endmodule
