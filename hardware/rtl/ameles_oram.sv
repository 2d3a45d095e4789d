// An ORAM controller: the front end of Freecursive ORAM over a tree with Path ORAM or RAW ORAM.
//
// Interface: a request gives a block. For a write the block's beats come at `data`, before or after the request. Each
// request is answered with the beats of the old content. The memory is a slave of AXI4. After a reset the controller
// needs a key that was never used, and with tags a second one, for these. A refused key (`key_reused_o`) stops it until
// the next reset. `random` gives the paths of blocks that were never mapped, and `spare` those for no block and of Path
// ORAM's emergencies: words of 32 bits that must be secret. With a pacer `spare` must have a word at any time.
// `tag_error_o` says that memory returned another block than was written last.
//
// Timing: a request takes as many paths as the PLB lacks PosMap blocks, one for each straggler that moves, and one for
// the block. With a pacer, the times at which paths begin are independent of the requests (see ameles_pacer).
//
// Keeps: only the state of its parts.
module ameles_oram
  import ameles_pkg::*;
#(
  parameter config_t Choices = '0,
  parameter int unsigned AddressBits = 40,
  localparam config_t Cfg = choices(Choices),
  localparam int unsigned Data = Cfg.bus_bits
) (
  input  logic                   clk_i,
  input  logic                   clk2_i,
  input  logic                   rst_ni,
  // Keys.
  input  logic                   key_valid_i,
  output logic                   key_ready_o,
  input  logic [127:0]           key_i,
  // The first byte of the tree in memory: its lowest 12 bits count as zeros.
  input  logic [AddressBits-1:0] base_i,
  // Requests and answers.
  input  logic                   request_valid_i,
  output logic                   request_ready_o,
  input  logic                   request_write_i,
  input  logic [31:0]            request_block_i,
  input  logic                   data_valid_i,
  output logic                   data_ready_o,
  input  logic [Data-1:0]        data_i,
  output logic                   answer_valid_o,
  input  logic                   answer_ready_i,
  output logic [Data-1:0]        answer_o,
  output logic                   answer_last_o,
  // Random words: for blocks that were never mapped, and for no block and emergencies.
  output logic                   random_ready_o,
  input  logic                   random_valid_i,
  input  logic [31:0]            random_i,
  output logic                   spare_ready_o,
  input  logic                   spare_valid_i,
  input  logic [31:0]            spare_i,
  // Memory: AXI4, one ID, bursts that increment, whole beats.
  output logic                   ar_valid_o,
  input  logic                   ar_ready_i,
  output logic [AddressBits-1:0] ar_address_o,
  output logic [7:0]             ar_length_o,
  input  logic                   r_valid_i,
  output logic                   r_ready_o,
  input  logic [Data-1:0]        r_data_i,
  input  logic [1:0]             r_response_i,
  output logic                   aw_valid_o,
  input  logic                   aw_ready_i,
  output logic [AddressBits-1:0] aw_address_o,
  output logic [7:0]             aw_length_o,
  output logic                   w_valid_o,
  input  logic                   w_ready_i,
  output logic [Data-1:0]        w_data_o,
  output logic                   w_last_o,
  input  logic                   b_valid_i,
  output logic                   b_ready_o,
  input  logic [1:0]             b_response_i,
  // State: a count, and errors that stop it.
  output logic [31:0]            emergencies_o,
  output logic                   key_reused_o,
  output logic                   memory_error_o,
  output logic                   tag_error_o,
  output logic                   overflow_o,
  output logic                   memory_stalled_o  // stops nothing
);

  ameles_check #(.Problem(problem(Choices))) u_check ();

  localparam bit HasTags = Cfg.tag_bits != 0;
  localparam int unsigned TagBits = at_least_one(Cfg.tag_bits);

  logic valid, ready, slot_valid, slot_ready, slot_taken, slot_dummy;
  logic data_valid, data_ready, store_valid, store_ready;
  logic answer_valid, answer_ready, block_valid, block_ready, unused_last;
  logic ask_valid, ask_ready, leaf_valid, leaf_ready, tag_valid, tag_ready, tags_ready;
  request_t request;
  logic [Data-1:0] data, store, contents, block_data;
  logic [127:0] ask_input, leaf_chunk;
  logic [TagBits-1:0] answer_tag, tag;
  slot_t slot;
  slot_tags_t slot_tags;

  // A stopped controller takes no request and gives no answer, because an answer may be wrong.
  logic stopped, front_ready, front_answers;
  assign stopped = key_reused_o || memory_error_o || tag_error_o || overflow_o;
  assign request_ready_o = front_ready && !stopped;
  assign answer_valid_o = front_answers && !stopped;
  ameles_front_end #(.Cfg(Cfg)) u_front_end (
    .clk_i, .rst_ni,
    .request_valid_i(request_valid_i && !stopped), .request_ready_o(front_ready), .request_write_i, .request_block_i,
    .data_valid_i, .data_ready_o, .data_i,
    .answer_valid_o(front_answers), .answer_ready_i(answer_ready_i && !stopped), .answer_o, .answer_last_o,
    .random_ready_o, .random_valid_i, .random_i,
    .valid_o(slot_valid), .ready_i(slot_ready), .slot_o(slot), .tags_o(slot_tags),
    .data_valid_o(data_valid), .data_ready_i(data_ready), .data_o(data),
    .block_valid_i(block_valid), .block_ready_o(block_ready), .block_i(block_data),
    .leaf_valid_o(ask_valid), .leaf_ready_i(ask_ready), .leaf_input_o(ask_input),
    .leaf_valid_i(leaf_valid), .leaf_ready_o(leaf_ready), .leaf_chunk_i(leaf_chunk)
  );

  // An emergency takes its word before a slot does: both are never in the same cycle, because the slot is not taken then.
  logic emergency_ready, slot_random_ready;
  assign spare_ready_o = emergency_ready || slot_random_ready;
  ameles_pacer #(.Cfg(Cfg)) u_pacer (
    .clk_i, .rst_ni,
    .slot_valid_i(slot_valid), .slot_ready_o(slot_ready), .slot_i(slot),
    .random_ready_o(slot_random_ready), .random_valid_i(spare_valid_i), .random_i(spare_i),
    .taken_o(slot_taken), .dummy_o(slot_dummy), .tags_ready_i(tags_ready),
    .valid_o(valid), .ready_i(ready), .request_o(request)
  );

  // Tags, and the key for them.
  logic backend_key_valid, backend_key_ready, backend_keyed, backend_key_reused, key_known;
  if (HasTags) begin : gen_tags
    logic key_ready, keyed, slots_ready, tag_key_refused_q;
    slot_tags_t tags;
    always_comb begin
      tags = slot_tags;
      if (slot_dummy) {tags.dummy, tags.write, tags.put, tags.old_counter} = {1'b1, 1'b0, 1'b0, 64'b0};
    end
    ameles_pmmac #(.Cfg(Cfg)) u_pmmac (
      .clk_i, .rst_ni,
      .key_valid_i(key_valid_i && backend_keyed && !key_known && !tag_key_refused_q), .key_ready_o(key_ready), .key_i,
      .keyed_o(keyed),
      .error_o(tag_error_o),
      .slot_valid_i(slot_taken), .slot_ready_o(slots_ready), .slot_i(tags),
      .data_valid_i(data_valid), .data_ready_o(data_ready), .data_i(data),
      .data_valid_o(store_valid), .data_ready_i(store_ready), .data_o(store),
      .block_valid_i(answer_valid), .block_ready_o(answer_ready), .block_i(contents), .block_tag_i(answer_tag),
      .answer_valid_o(block_valid), .answer_ready_i(block_ready), .answer_o(block_data),
      .tag_valid_o(tag_valid), .tag_ready_i(tag_ready), .tag_o(tag)
    );
    // The second key is taken when the backend has taken the first, and no path begins before the second.
    assign tags_ready = slots_ready && keyed;
    assign backend_key_valid = key_valid_i && !backend_keyed;
    assign key_ready_o = backend_keyed ? key_ready && !tag_key_refused_q : backend_key_ready;
    // The key of tags must differ from that of masks.
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) tag_key_refused_q <= 1'b0;
      else if (key_valid_i && key_ready_o && backend_keyed && key_known) tag_key_refused_q <= 1'b1;
    end
    assign key_reused_o = backend_key_reused || tag_key_refused_q;
  end else begin : gen_no_tags
    logic unused;
    assign unused = slot_taken && slot_dummy && backend_keyed && key_known;
    assign key_reused_o = backend_key_reused;
    assign {tag_error_o, tags_ready, tag_valid} = 3'b011;
    assign tag = '0;
    assign {block_valid, block_data} = {answer_valid, contents};
    assign answer_ready = block_ready;
    assign {store_valid, store} = {data_valid, data};
    assign data_ready = store_ready;
    assign backend_key_valid = key_valid_i;
    assign key_ready_o = backend_key_ready;
  end

  ameles_backend #(.Choices(Cfg), .AddressBits(AddressBits)) u_backend (
    .clk_i, .clk2_i, .rst_ni, .stop_i(tag_error_o),
    .key_valid_i(backend_key_valid), .key_ready_o(backend_key_ready), .keyed_o(backend_keyed), .key_known_o(key_known), .key_i,
    .base_i,
    .request_valid_i(valid), .request_ready_o(ready), .request_i(request),
    .leaf_valid_i(ask_valid), .leaf_ready_o(ask_ready), .leaf_input_i(ask_input),
    .leaf_valid_o(leaf_valid), .leaf_ready_i(leaf_ready), .leaf_chunk_o(leaf_chunk),
    .data_valid_i(store_valid), .data_ready_o(store_ready), .data_i(store),
    .answer_valid_o(answer_valid), .answer_ready_i(answer_ready), .answer_o(contents), .answer_last_o(unused_last),
    .answer_tag_o(answer_tag), .tag_valid_i(tag_valid), .tag_ready_o(tag_ready), .tag_i(tag),
    .random_ready_o(emergency_ready), .random_valid_i(spare_valid_i), .random_i(spare_i),
    .ar_valid_o, .ar_ready_i, .ar_address_o, .ar_length_o,
    .r_valid_i, .r_ready_o, .r_data_i, .r_response_i,
    .aw_valid_o, .aw_ready_i, .aw_address_o, .aw_length_o,
    .w_valid_o, .w_ready_i, .w_data_o, .w_last_o,
    .b_valid_i, .b_ready_o, .b_response_i,
    .emergencies_o, .key_reused_o(backend_key_reused), .memory_error_o, .overflow_o, .memory_stalled_o
  );

endmodule
