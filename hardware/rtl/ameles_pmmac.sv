// The tags of Freecursive ORAM (PMMAC, ASPLOS 2015, section 6): CMAC with AES-128 over a block's contents, its number
// and its counter, 64 bits each. Only the first bits of the CMAC are stored. The counter on chip determines which block
// was written last, so a tag detects a block that was changed, exchanged or replayed.
//
// Interface: for each slot the cell makes three tags in order, one block of AES after the other. The first is that of
// the block that is written or put, while the path is being read. Then follow the tag of the answered block under its
// old counter, and, for an unchanged block, the one under its new counter. Beats pass through the cell, those of an
// answer when all have come and their tag is right. A block that was never mapped must be zeros. Otherwise `error_o`
// rises and nothing moves until a reset. The cell takes its own key, after that of `ameles_backend`.
//
// Timing: a block of AES takes twelve cycles, and the contents and their counter are five blocks for 64 bytes. Every
// slot takes the same cycles for every purpose. For this reason a path for no block has tags too.
//
// Keeps: the key, the tags of one slot, one block on its way in and one on its way out, and the next slots.
module ameles_pmmac
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Data = Cfg.bus_bits,
  localparam int unsigned TagBits = Cfg.tag_bits
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  // The key, and the error that stops the controller.
  input  logic            key_valid_i,
  output logic            key_ready_o,
  input  logic [127:0]    key_i,
  output logic            keyed_o,
  output logic            error_o,
  // Slots, at their requests: `slot_tags_t`.
  ameles_stream_if.sink   slot_tags,
  // Data to the backend.
  ameles_stream_if.sink   data,
  ameles_stream_if.source store,
  // Blocks from the backend with their tags, and on to the front end.
  ameles_answer_if.sink   answer,
  ameles_stream_if.source block,
  // New tags, for the access and then for the put.
  ameles_stream_if.source tag
);

  localparam int unsigned Beats = block_beats(Cfg);
  localparam int unsigned BeatBits = at_least_one($clog2(Beats));
  localparam int unsigned BeatChunks = beat_chunks(Cfg);
  localparam int unsigned Chunks = Beats * BeatChunks;
  localparam int unsigned StepBits = $clog2(Chunks + 1);

  typedef enum logic [3:0] {
    Key,
    Subkey,   // AES of zeros, from which the subkey of CMAC follows
    Idle,
    Stored,   // the tag of the block that is written or put
    Old,      // the tag that the answer should have
    New,      // its new tag
    Give,
    GiveTag,
    GivePut,
    Refuse
  } state_e;

  state_e state_q, state_d;
  logic [127:0] key_q, subkey_q, chain_q;
  logic [StepBits-1:0] step_q;
  logic started_q, is_zero_q;
  logic [TagBits-1:0] stored_q, new_q, block_tag_q;
  logic fits_q;

  // Requested slots.
  logic slot_valid, slot_taken;
  slot_tags_t slot;
  ameles_fifo #(.Width($bits(slot_tags_t)), .Depth(4)) u_slots (
    .clk_i, .rst_ni,
    .valid_i(slot_tags.valid), .ready_o(slot_tags.ready), .data_i(slot_tags.data),
    .valid_o(slot_valid), .ready_i(slot_taken), .data_o(slot)
  );

  // CMAC: each chunk is added to the result so far, and the last one also to the subkey.
  logic begins, aes_ready, done, is_last, works, has_data, is_there, takes_beat;
  logic [127:0] chunk, last_chunk, sum, cipher;
  logic [Data-1:0] contents;
  assign works = state_q == Subkey || state_q == Stored || state_q == Old || state_q == New;
  assign is_last = state_q == New || (state_q != Subkey && step_q == StepBits'(Chunks));
  assign contents = state_q == Stored ? data.data : answer.beat;
  // A beat is present with its first chunk, and passes with its last one. The cycles are the same without data.
  assign has_data = slot.write || slot.put;
  always_comb begin
    unique case (state_q)
      Stored:  is_there = is_last || !has_data || data.valid;
      Old:     is_there = is_last || answer.valid;
      default: is_there = 1'b1;
    endcase
  end
  assign takes_beat = begins && !is_last && 32'(step_q) % BeatChunks == BeatChunks - 1;
  always_comb begin
    unique case (state_q)
      Stored:  last_chunk = slot.put ? {slot.put_counter, 64'(slot.put_block)} : {slot.new_counter, 64'(slot.block)};
      Old:     last_chunk = {slot.old_counter, 64'(slot.block)};
      default: last_chunk = {slot.new_counter, 64'(slot.block)};
    endcase
  end
  assign sum = state_q == New ? chain_q : step_q == '0 ? '0 : cipher;
  always_comb begin
    chunk = '0;
    for (int unsigned nth = 0; nth < BeatChunks; nth++) begin
      if (32'(step_q) % BeatChunks == nth) chunk = contents[128*nth+:128];
    end
    if (is_last) chunk = last_chunk ^ subkey_q;
    if (state_q == Subkey) chunk = '0;
  end
  assign begins = works && !started_q && aes_ready && is_there;

  ameles_aes_serial u_aes (
    .clk_i, .rst_ni, .key_i(key_q),
    .valid_i(begins), .ready_o(aes_ready), .block_i(sum ^ chunk), .done_o(done), .block_o(cipher)
  );

  // Blocks that pass: each slot has at most one on its way in and one on its way out.
  logic kept_valid, gives, last_given, unused_data_room, unused_block_room;
  logic [BeatBits-1:0] given_q;
  assign data.ready = takes_beat && state_q == Stored && has_data;
  assign answer.ready = takes_beat && state_q == Old;
  ameles_fifo #(.Width(Data), .Depth(Beats), .BlockRam(in_block_ram(Beats))) u_data (
    .clk_i, .rst_ni,
    .valid_i(data.ready), .ready_o(unused_data_room), .data_i(data.data),
    .valid_o(store.valid), .ready_i(store.ready), .data_o(store.data)
  );
  ameles_fifo #(.Width(Data), .Depth(Beats), .BlockRam(in_block_ram(Beats))) u_block (
    .clk_i, .rst_ni,
    .valid_i(answer.ready), .ready_o(unused_block_room), .data_i(answer.beat),
    .valid_o(kept_valid), .ready_i(gives), .data_o(block.data)
  );
  // The block of a path for no block takes its cycles, and is dropped.
  assign block.valid = state_q == Give && kept_valid && !slot.dummy;
  assign gives = state_q == Give && kept_valid && (slot.dummy || block.ready);
  assign last_given = gives && given_q == BeatBits'(Beats - 1);

  // The value doubled in the field of CMAC. The first byte is the highest.
  function automatic logic [127:0] doubled(logic [127:0] value);
    logic [127:0] high_first, twice;
    for (int unsigned nth = 0; nth < 16; nth++) high_first[8*nth+:8] = value[8*(15-nth)+:8];
    twice = (high_first << 1) ^ (high_first[127] ? 128'h87 : '0);
    for (int unsigned nth = 0; nth < 16; nth++) doubled[8*nth+:8] = twice[8*(15-nth)+:8];
  endfunction

  logic ends, old_fits;
  assign ends = works && started_q && done;
  assign old_fits = slot.old_counter == '0 ? is_zero_q : cipher[TagBits-1:0] == block_tag_q;

  assign key_ready_o = state_q == Key;
  assign keyed_o = state_q != Key && state_q != Subkey;
  assign error_o = state_q == Refuse;
  assign tag.valid = state_q == GiveTag || state_q == GivePut;
  assign tag.data = state_q == GivePut || slot.write ? stored_q : new_q;
  assign slot_taken = tag.valid && tag.ready && state_d == Idle;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Key:     if (key_valid_i) state_d = Subkey;
      Subkey:  if (ends) state_d = Idle;
      Idle:    if (slot_valid) state_d = Stored;
      Stored:  if (ends && is_last) state_d = Old;
      Old:     if (ends && is_last) state_d = New;
      New:     if (ends) state_d = fits_q ? Give : Refuse;
      Give:    if (last_given) state_d = GiveTag;
      GiveTag: if (tag.ready) state_d = slot.put || Cfg.slot_cycles != 0 ? GivePut : Idle;
      GivePut: if (tag.ready) state_d = Idle;
      default: state_d = state_q;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Key;
      started_q <= 1'b0;
      step_q <= '0;
      given_q <= '0;
    end else begin
      state_q <= state_d;
      started_q <= begins || (started_q && !done);
      if (ends) step_q <= state_d == state_q ? step_q + 1'b1 : '0;
      if (gives) given_q <= last_given ? '0 : given_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (key_valid_i && key_ready_o) key_q <= key_i;
    if (state_q == Subkey && ends) subkey_q <= doubled(cipher);
    if (begins && state_q == Old) begin
      if (is_last) chain_q <= cipher;
      else is_zero_q <= (step_q == '0 || is_zero_q) && chunk == '0;
    end
    if (answer.ready) block_tag_q <= answer.tag;
    if (ends && state_q == Stored) stored_q <= cipher[TagBits-1:0];
    if (ends && state_q == Old) fits_q <= old_fits;
    if (ends && state_q == New) new_q <= cipher[TagBits-1:0];
  end

endmodule
