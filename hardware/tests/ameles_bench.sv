// The controller, or its backend alone, with ports of the same width in every configuration, for the bench.
module ameles_bench
  import ameles_pkg::*;
#(
  parameter bit          Raw = 1'b1,
  parameter int unsigned LeafLevel = 20,
  parameter int unsigned BlocksPerBucket = 5,
  parameter int unsigned EvictionRate = 5,
  parameter int unsigned StashBlocks = 64,
  parameter int unsigned Blocks = 1 << 20,
  parameter int unsigned BlockBytes = 64,
  parameter int unsigned BusBits = 512,
  parameter int unsigned AesLanes = 2,
  parameter bit          AesDouble = 1'b0,
  parameter int unsigned AesRomRounds = 0,
  parameter int unsigned MaskBeats = 256,
  parameter int unsigned TopLevels = 0,
  parameter logic [255:0] LevelBlocks = '0,
  parameter int unsigned SubtreeLevels = 0,
  parameter int unsigned ScanLanes = 1,
  parameter bit          FrontEnd = 1'b0,
  parameter int unsigned Labels = 32,
  parameter int unsigned LabelBits = 14,
  parameter int unsigned Trusted = 1024,
  parameter int unsigned LookAside = 128,
  parameter int unsigned TagBits = 0,
  parameter int unsigned SlotCycles = 0,
  parameter int unsigned StallCycles = 0,
  parameter bit          Watch = 1'b0
) (
  input  logic         clk_i,
  input  logic         clk2_i,
  input  logic         rst_ni,
  input  logic         key_valid_i,
  output logic         key_ready_o,
  input  logic [127:0] key_i,
  input  logic         request_valid_i,
  output logic         request_ready_o,
  input  logic [2:0]   request_op_i,
  input  logic [31:0]  request_block_i,
  input  logic [31:0]  request_path_i,
  input  logic [31:0]  request_leaf_i,
  input  logic         data_valid_i,
  output logic         data_ready_o,
  input  logic [511:0] data_i,
  output logic         answer_valid_o,
  input  logic         answer_ready_i,
  output logic [511:0] answer_o,
  output logic         answer_last_o,
  output logic         random_ready_o,
  input  logic         random_valid_i,
  input  logic [31:0]  random_i,
  output logic         spare_ready_o,
  input  logic         spare_valid_i,
  input  logic [31:0]  spare_i,
  output logic         ar_valid_o,
  input  logic         ar_ready_i,
  output logic [39:0]  ar_address_o,
  output logic [7:0]   ar_length_o,
  input  logic         r_valid_i,
  output logic         r_ready_o,
  input  logic [511:0] r_data_i,
  input  logic [1:0]   r_response_i,
  output logic         aw_valid_o,
  input  logic         aw_ready_i,
  output logic [39:0]  aw_address_o,
  output logic [7:0]   aw_length_o,
  output logic         w_valid_o,
  input  logic         w_ready_i,
  output logic [511:0] w_data_o,
  output logic         w_last_o,
  input  logic         b_valid_i,
  output logic         b_ready_o,
  input  logic [1:0]   b_response_i,
  output logic [31:0]  emergencies_o,
  output logic [31:0]  aes_chunks_o,  // blocks of AES begun; lanes that a mask leaves over, and front ends, do not count
  output logic         key_reused_o,
  output logic         memory_error_o,
  output logic         tag_error_o,
  // A slot of the pacer begins, and whether it is for no block. The controller has no port for this.
  output logic         slot_o,
  output logic         slot_dummy_o,
  // Internal signals of a backend alone, for pictures, with `Watch`.
  output logic [31:0]  watch_o,
  output logic         overflow_o,
  output logic         memory_stalled_o
);

  localparam config_t Cfg = '{
    scheme: Raw ? RawOram : PathOram,
    leaf_level: LeafLevel,
    blocks_per_bucket: BlocksPerBucket,
    eviction_rate: EvictionRate,
    stash_blocks: StashBlocks,
    blocks: Blocks,
    block_bytes: BlockBytes,
    bus_bits: BusBits,
    aes_lanes: AesLanes,
    aes_double: AesDouble,
    aes_rom_rounds: AesRomRounds,
    mask_beats: MaskBeats,
    top_levels: TopLevels,
    level_blocks: LevelBlocks,
    subtree_levels: SubtreeLevels,
    scan_lanes: ScanLanes,
    capacity: Blocks,
    labels: Labels,
    label_bits: LabelBits,
    trusted: Trusted,
    look_aside: LookAside,
    tag_bits: TagBits,
    slot_cycles: SlotCycles,
    stall_cycles: StallCycles
  };

  // The fields of `hardware/bench/src/watch.rs`, the first lowest.
  typedef struct packed {
    logic [7:0] unused;
    logic [4:0] out_level;
    logic       stuck;
    logic       out;
    logic       push;
    logic       scanning;
    logic [2:0] stream;
    logic       chunks;
    logic       interest;
    logic       body;
    logic       header;
    logic [3:0] state;
    logic [3:0] level;
  } watch_t;
  watch_t watch;
  assign watch_o = watch;

  ameles_stream_if #(.word_t(logic [127:0])) key ();
  ameles_stream_if #(.word_t(logic [BusBits-1:0])) user_data ();
  ameles_answer_if #(.Cfg(Cfg)) answer ();
  ameles_stream_if #(.word_t(logic [31:0])) random ();
  assign {key.valid, key.data} = {key_valid_i, key_i};
  assign {user_data.valid, user_data.data} = {data_valid_i, data_i[BusBits-1:0]};
  assign {answer_valid_o, answer_o, answer_last_o} = {answer.valid, 512'(answer.beat), answer.last};
  assign {random.valid, random.data} = {random_valid_i, random_i};
  assign answer.ready = answer_ready_i;
  assign {key_ready_o, data_ready_o, random_ready_o} = {key.ready, user_data.ready, random.ready};

  ameles_axi_if #(.AddressBits(40), .Data(BusBits)) memory ();
  assign {ar_valid_o, ar_address_o, ar_length_o} = {memory.ar_valid, memory.ar_address, memory.ar_length};
  assign memory.ar_ready = ar_ready_i;
  assign {memory.r_valid, memory.r_data, memory.r_response} = {r_valid_i, r_data_i[BusBits-1:0], r_response_i};
  assign r_ready_o = memory.r_ready;
  assign {aw_valid_o, aw_address_o, aw_length_o} = {memory.aw_valid, memory.aw_address, memory.aw_length};
  assign memory.aw_ready = aw_ready_i;
  assign {w_valid_o, w_data_o, w_last_o} = {memory.w_valid, 512'(memory.w_data), memory.w_last};
  assign memory.w_ready = w_ready_i;
  assign {memory.b_valid, memory.b_response} = {b_valid_i, b_response_i};
  assign b_ready_o = memory.b_ready;

  if (FrontEnd) begin : gen_oram
    assign aes_chunks_o = '0;
    ameles_stream_if #(.word_t(user_request_t)) request ();
    ameles_stream_if #(.word_t(logic [31:0])) spare ();
    assign {request.valid, request.data} = {request_valid_i, request_op_i[0], request_block_i};
    assign {spare.valid, spare.data} = {spare_valid_i, spare_i};
    assign {request_ready_o, spare_ready_o} = {request.ready, spare.ready};
    ameles_oram #(.Choices(Cfg), .AddressBits(40)) u_oram (
      .clk_i, .clk2_i, .rst_ni, .key, .base_i('0),
      .request, .data(user_data), .answer, .random, .spare, .reads(memory), .writes(memory),
      .emergencies_o, .key_reused_o, .memory_error_o, .tag_error_o, .overflow_o, .memory_stalled_o
    );
    assign watch = '0;
    assign slot_o = u_oram.slot_taken;
    assign slot_dummy_o = u_oram.slot_dummy;
  end else begin : gen_backend
    ameles_stream_if #(.word_t(request_t)) request ();
    ameles_stream_if #(.word_t(logic [at_least_one(TagBits)-1:0])) tag ();
    ameles_stream_if #(.word_t(logic [127:0])) leaf_input (), leaf_chunk ();
    assign {request.valid, request.data} = {request_valid_i, request_op_i, request_block_i, request_path_i, request_leaf_i, 1'b0};
    assign request_ready_o = request.ready;
    assign {tag.valid, tag.data, leaf_input.valid, leaf_input.data, leaf_chunk.ready} = '0;
    logic unused_keyed, unused_known;
    assign {spare_ready_o, tag_error_o, slot_o, slot_dummy_o} = '0;
    ameles_backend #(.Choices(Cfg), .AddressBits(40)) u_backend (
      .clk_i, .clk2_i, .rst_ni, .stop_i(1'b0), .key, .keyed_o(unused_keyed), .key_known_o(unused_known), .base_i('0),
      .request, .leaf_input, .leaf_chunk, .data(user_data), .answer, .tag,
      .random, .reads(memory), .writes(memory),
      .emergencies_o, .key_reused_o, .memory_error_o, .overflow_o, .memory_stalled_o
    );

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) aes_chunks_o <= '0;
      else if (u_backend.u_masks.valid && u_backend.u_masks.last) begin
        aes_chunks_o <= aes_chunks_o + 32'(u_backend.u_masks.row ? row_chunks(Cfg) : beat_chunks(Cfg));
      end
    end
    if (Watch) begin : gen_watch
      always_comb begin
        watch = '0;
        watch.level = 4'(u_backend.u_stash.u_unload.level_o);
        watch.state = u_backend.u_stash.state_q;
        watch.header = u_backend.u_stash.u_unload.take_header;
        watch.body = u_backend.u_stash.u_unload.beat_passes;
        watch.interest = u_backend.u_stash.store && u_backend.u_stash.to_spare;
        watch.chunks = u_backend.u_masks.valid;
        watch.stream = u_backend.u_masks.stream;
        watch.scanning = u_backend.u_stash.scanning;
        watch.push = u_backend.u_stash.pushing[0];
        watch.out = u_backend.u_stash.out_valid[0];
        watch.stuck = u_backend.u_stash.out_stuck[0];
        watch.out_level = 5'(u_backend.u_stash.out_level[0]);
      end
    end else begin : gen_no_watch
      assign watch = '0;
    end
  end

endmodule
