// An ORAM controller: the front end of Freecursive ORAM over a tree with Path ORAM or RAW ORAM.
//
// Interface: a request gives a block. For a write the block's beats come at `data`, before or after the request. Each
// request is answered with the beats of the old content. The memory is a slave of AXI4. After a reset the controller
// needs a key that was never used, and with tags a second one, for these. A refused key (`key_reused_o`) stops it until
// the next reset. `random` gives the paths of blocks that were never mapped. `spare` gives those for no block and of
// Path ORAM's emergencies. Both are words of 32 bits that must be secret. With a pacer `spare` must have a word at any
// time. `tag_error_o` says that memory returned another block than was written last.
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
  // Keys: first that of leaves and masks, then that of tags.
  ameles_stream_if.sink          key,
  // The first byte of the tree in memory: its lowest 12 bits count as zeros.
  input  logic [AddressBits-1:0] base_i,
  // Requests (`user_request_t`), the beats of writes, and answers, which have no tags.
  ameles_stream_if.sink          request,
  ameles_stream_if.sink          data,
  ameles_answer_if.source        answer,
  // Random words: for blocks that were never mapped, and for no block and emergencies.
  ameles_stream_if.sink          random,
  ameles_stream_if.sink          spare,
  // Memory.
  ameles_axi_if.reader           reads,
  ameles_axi_if.writer           writes,
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
  ameles_stream_if #(.word_t(user_request_t)) taken ();
  ameles_answer_if #(.Cfg(Cfg)) given ();
  logic stopped;
  assign stopped = key_reused_o || memory_error_o || tag_error_o || overflow_o;
  assign {taken.valid, taken.data} = {request.valid && !stopped, request.data};
  assign request.ready = taken.ready && !stopped;
  assign {answer.valid, answer.beat, answer.last, answer.tag} = {given.valid && !stopped, given.beat, given.last, given.tag};
  assign given.ready = answer.ready && !stopped;

  // Between the front end, the tags and the backend: data that is stored, with tags in the tree, and blocks that return.
  ameles_stream_if #(.word_t(beat_t)) written (), store (), block ();
  ameles_answer_if #(.Cfg(Cfg)) read ();
  ameles_stream_if #(.word_t(logic [TagBits-1:0])) tag ();
  ameles_stream_if #(.word_t(logic [127:0])) leaf_input (), leaf_chunk ();
  ameles_stream_if #(.word_t(tagged_slot_t)) slot ();
  ameles_stream_if #(.word_t(request_t)) access ();
  ameles_front_end #(.Cfg(Cfg)) u_front_end (
    .clk_i, .rst_ni, .request(taken), .data, .answer(given), .random, .slot, .store(written), .block, .leaf_input, .leaf_chunk
  );

  // An emergency takes its word before a slot does: both are never in the same cycle, because the slot is not taken then.
  logic slot_taken, slot_dummy, tags_ready, slot_random_ready;
  ameles_stream_if #(.word_t(logic [31:0])) emergency ();
  assign {emergency.valid, emergency.data} = {spare.valid, spare.data};
  assign spare.ready = emergency.ready || slot_random_ready;
  ameles_pacer #(.Cfg(Cfg)) u_pacer (
    .clk_i, .rst_ni, .slot,
    .random_ready_o(slot_random_ready), .random_valid_i(spare.valid), .random_i(spare.data),
    .taken_o(slot_taken), .dummy_o(slot_dummy), .tags_ready_i(tags_ready), .request(access)
  );

  // Tags, and the key for them.
  logic backend_keyed, backend_key_reused, key_known;
  ameles_stream_if #(.word_t(logic [127:0])) backend_key ();
  assign backend_key.data = key.data;
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
      .key_valid_i(key.valid && backend_keyed && !key_known && !tag_key_refused_q), .key_ready_o(key_ready),
      .key_i(key.data), .keyed_o(keyed), .error_o(tag_error_o),
      .slot_tags, .data(written), .store, .answer(read), .block, .tag
    );
    // The second key is taken when the backend has taken the first, and no path begins before the second.
    assign tags_ready = slot_tags.ready && keyed;
    assign backend_key.valid = key.valid && !backend_keyed;
    assign key.ready = backend_keyed ? key_ready && !tag_key_refused_q : backend_key.ready;
    // The key of tags must differ from that of masks.
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) tag_key_refused_q <= 1'b0;
      else if (key.valid && key.ready && backend_keyed && key_known) tag_key_refused_q <= 1'b1;
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
    assign backend_key.valid = key.valid;
    assign key.ready = backend_key.ready;
  end

  ameles_backend #(.Choices(Cfg), .AddressBits(AddressBits)) u_backend (
    .clk_i, .clk2_i, .rst_ni, .stop_i(tag_error_o),
    .key(backend_key), .keyed_o(backend_keyed), .key_known_o(key_known), .base_i,
    .request(access), .leaf_input, .leaf_chunk, .data(store), .answer(read), .tag,
    .random(emergency), .reads, .writes,
    .emergencies_o, .key_reused_o(backend_key_reused), .memory_error_o, .overflow_o, .memory_stalled_o
  );

endmodule
