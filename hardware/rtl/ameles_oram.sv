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
  typedef logic [Data-1:0] beat_t;

  // Between the user and the front end. A stopped controller takes no request and gives no answer, because an answer may
  // be wrong.
  ameles_stream_if #(.word_t(user_request_t)) request ();
  ameles_stream_if #(.word_t(beat_t)) user_data ();
  ameles_stream_if #(.word_t(logic [31:0])) random ();
  ameles_answer_if #(.Cfg(Cfg)) answer ();
  logic stopped;
  assign stopped = key_reused_o || memory_error_o || tag_error_o || overflow_o;
  assign {request.valid, request.data} = {request_valid_i && !stopped, request_write_i, request_block_i};
  assign {user_data.valid, user_data.data} = {data_valid_i, data_i};
  assign {random.valid, random.data} = {random_valid_i, random_i};
  assign {request_ready_o, data_ready_o, random_ready_o} = {request.ready && !stopped, user_data.ready, random.ready};
  assign {answer_valid_o, answer_o, answer_last_o} = {answer.valid && !stopped, answer.beat, answer.last};
  assign answer.ready = answer_ready_i && !stopped;

  // Between the front end, the tags and the backend: data that is stored, with tags in the tree, and blocks that return.
  ameles_stream_if #(.word_t(beat_t)) written (), store (), block ();
  ameles_answer_if #(.Cfg(Cfg)) read ();
  ameles_stream_if #(.word_t(logic [TagBits-1:0])) tag ();
  ameles_stream_if #(.word_t(logic [127:0])) leaf_input (), leaf_chunk ();
  ameles_stream_if #(.word_t(tagged_slot_t)) slot ();
  ameles_stream_if #(.word_t(request_t)) access ();
  ameles_front_end #(.Cfg(Cfg)) u_front_end (
    .clk_i, .rst_ni, .request, .data(user_data), .answer, .random, .slot, .store(written), .block, .leaf_input, .leaf_chunk
  );

  // An emergency takes its word before a slot does: both are never in the same cycle, because the slot is not taken then.
  logic slot_taken, slot_dummy, tags_ready, emergency_ready, slot_random_ready;
  assign spare_ready_o = emergency_ready || slot_random_ready;
  ameles_pacer #(.Cfg(Cfg)) u_pacer (
    .clk_i, .rst_ni, .slot,
    .random_ready_o(slot_random_ready), .random_valid_i(spare_valid_i), .random_i(spare_i),
    .taken_o(slot_taken), .dummy_o(slot_dummy), .tags_ready_i(tags_ready), .request(access)
  );

  // Tags, and the key for them.
  logic backend_key_valid, backend_key_ready, backend_keyed, backend_key_reused, key_known;
  if (HasTags) begin : gen_tags
    logic key_ready, keyed, tag_key_refused_q;
    ameles_stream_if #(.word_t(slot_tags_t)) slot_tags ();
    assign slot_tags.valid = slot_taken;
    always_comb begin
      slot_tags.data = slot.data.tags;
      if (slot_dummy) begin
        {slot_tags.data.dummy, slot_tags.data.write, slot_tags.data.put, slot_tags.data.old_counter} = {3'b100, 64'b0};
      end
    end
    ameles_pmmac #(.Cfg(Cfg)) u_pmmac (
      .clk_i, .rst_ni,
      .key_valid_i(key_valid_i && backend_keyed && !key_known && !tag_key_refused_q), .key_ready_o(key_ready), .key_i,
      .keyed_o(keyed), .error_o(tag_error_o),
      .slot_tags, .data(written), .store, .answer(read), .block, .tag
    );
    // The second key is taken when the backend has taken the first, and no path begins before the second.
    assign tags_ready = slot_tags.ready && keyed;
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
    assign {tag_error_o, tags_ready, tag.valid} = 3'b011;
    assign tag.data = '0;
    assign {block.valid, block.data} = {read.valid, read.beat};
    assign read.ready = block.ready;
    assign {store.valid, store.data} = {written.valid, written.data};
    assign written.ready = store.ready;
    assign backend_key_valid = key_valid_i;
    assign key_ready_o = backend_key_ready;
  end

  ameles_backend #(.Choices(Cfg), .AddressBits(AddressBits)) u_backend (
    .clk_i, .clk2_i, .rst_ni, .stop_i(tag_error_o),
    .key_valid_i(backend_key_valid), .key_ready_o(backend_key_ready), .keyed_o(backend_keyed), .key_known_o(key_known), .key_i,
    .base_i,
    .request(access), .leaf_input, .leaf_chunk, .data(store), .answer(read), .tag,
    .random_ready_o(emergency_ready), .random_valid_i(spare_valid_i), .random_i(spare_i),
    .ar_valid_o, .ar_ready_i, .ar_address_o, .ar_length_o,
    .r_valid_i, .r_ready_o, .r_data_i, .r_response_i,
    .aw_valid_o, .aw_ready_i, .aw_address_o, .aw_length_o,
    .w_valid_o, .w_ready_i, .w_data_o, .w_last_o,
    .b_valid_i, .b_ready_o, .b_response_i,
    .emergencies_o, .key_reused_o(backend_key_reused), .memory_error_o, .overflow_o, .memory_stalled_o
  );

endmodule
