// The stash: takes each path in, serves the block of interest, and plans what goes back.
//
// For a path, as in Tiny ORAM, section III-B: a scan of all places of the list of blocks that wait, hidden behind the arrival
// of the path; then the blocks of the path; then the block of interest, with its new leaf. What PushToLeaf finds a place
// for goes back, and the rest waits, in this order. An access of RAW ORAM sends no block back. Answers come at a fixed time
// after the path has arrived, wherever the block was found. It keeps blocks, list, free list, plan and the spare slot.
module lethe_stash
  import lethe_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned Levels = levels(Cfg),
  localparam int unsigned LevelBits = level_bits(Cfg),
  localparam int unsigned LeafBits = leaf_bits(Cfg),
  localparam int unsigned BlockBits = block_bits(Cfg),
  localparam int unsigned EntryBits = entry_bits(Cfg),
  localparam int unsigned SlotBits = slot_bits(Cfg),
  localparam int unsigned CipherBits = row_chunks(Cfg) * 128,
  localparam int unsigned Beats = block_beats(Cfg),
  localparam int unsigned BeatBits = at_least_one($clog2(Beats)),
  localparam int unsigned CountBits = $clog2(Z + 1),
  localparam int unsigned WaitingBits = $clog2(Cfg.stash_blocks + 2)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             valid_i,
  output logic                             ready_o,
  input  job_t                             job_i,
  input  logic [Levels-1:0]                on_chip_i,
  output logic                             done_o,
  output logic [WaitingBits-1:0]           waiting_o,
  output logic                             overflow_o,
  // The path.
  input  logic                             header_valid_i,
  output logic                             header_ready_o,
  input  logic [CipherBits-1:0]            header_i,
  input  logic                             row_mask_valid_i,
  output logic                             row_mask_ready_o,
  input  logic [CipherBits-1:0]            row_mask_i,
  input  logic                             body_valid_i,
  output logic                             body_ready_o,
  input  logic [Cfg.bus_bits-1:0]          body_i,
  input  logic                             body_mask_valid_i,
  output logic                             body_mask_ready_o,
  input  logic [Cfg.bus_bits-1:0]          body_mask_i,
  output logic                             interest_valid_o,
  input  logic                             interest_ready_i,
  output pad_t                             interest_pad_o,
  input  logic                             interest_mask_valid_i,
  output logic                             interest_mask_ready_o,
  input  logic [Cfg.bus_bits-1:0]          interest_mask_i,
  // The user's data.
  input  logic                             data_valid_i,
  output logic                             data_ready_o,
  input  logic [Cfg.bus_bits-1:0]          data_i,
  output logic                             answer_valid_o,
  input  logic                             answer_ready_i,
  output logic [Cfg.bus_bits-1:0]          answer_o,
  output logic                             answer_last_o,
  // What goes back.
  output logic                             back_valid_o,
  input  logic                             back_ready_i,
  output job_t                             back_job_o,
  output logic                             back_bank_o,
  output logic [Levels-1:0][CountBits-1:0] back_occupied_o,
  input  logic                             back_busy_i,
  input  logic                             plan_bank_i,
  input  logic [LevelBits-1:0]             plan_level_i,
  output logic [Z-1:0][EntryBits-1:0]      plan_entries_o,
  output logic [Z-1:0][SlotBits-1:0]       plan_slots_o,
  output logic [1:0]                       plan_below_o,
  input  logic                             load_i,
  input  logic [SlotBits-1:0]              load_slot_i,
  input  logic [BeatBits-1:0]              load_beat_i,
  output logic [Cfg.bus_bits-1:0]          loaded_o,
  input  logic                             give_i,
  input  logic [SlotBits-1:0]              give_slot_i
);

  typedef struct packed {
    logic [BlockBits-1:0] block;
    logic [LeafBits-1:0]  leaf;
    logic [SlotBits-1:0]  slot;
  } item_t;

  typedef enum logic [3:0] {
    First,      // takes the first spare slot
    Idle,
    Scan,
    Unload,
    HandOver,   // an access of RAW ORAM: its headers may go back
    Read,       // a beat of the block of interest is read
    Serve,      // it is answered and replaced
    Push,       // the block of interest goes on with its new leaf
    Join,       // the put that belongs to it, before the path goes back
    Settle,     // the last blocks find their places
    GoBack      // a path that is filled anew may go back
  } state_e;

  state_e state_q, state_d;
  job_t job_q;
  logic [Levels-1:0] on_chip_q;
  logic bank_q;
  logic begin_job, begin_path, join_job, joined_q, is_raw_access, is_whole, is_access, has_block;

  assign begin_job = state_q == Idle && valid_i;
  assign begin_path = begin_job && (job_i.evict || job_i.op != OpPut);
  assign ready_o = state_q == Idle || state_q == Join;
  assign join_job = state_q == Join && valid_i;
  assign is_access = !job_q.evict && job_q.op != OpPut;
  assign is_raw_access = Cfg.scheme == RawOram && is_access;
  assign is_whole = job_q.evict || (Cfg.scheme == PathOram && (is_access || joined_q));
  assign has_block = !job_q.evict && job_q.op != OpDummy;

  // The list, and the block of interest on it.
  logic scanning, listed, listed_hit, held_q, out_valid, out_stuck;
  item_t listed_item, held_item, out_item;
  logic [SlotBits-1:0] held_slot_q, spare_q, free_slot;
  logic free_valid, free_take, slot_take;

  lethe_resident_list #(.Cfg(Cfg)) u_list (
    .clk_i, .rst_ni,
    .scan_i(begin_path), .scanning_o(scanning), .valid_o(listed), .item_o(listed_item),
    .append_i(out_valid && out_stuck), .append_item_i(out_item), .count_o(waiting_o), .overflow_o
  );
  // Memory that lies may bring a block twice: the first that is met is the one of interest, so that no slot is lost.
  assign listed_hit = listed && is_access && has_block && !held_q && listed_item.block == job_q.block[BlockBits-1:0];

  // The path.
  logic unloaded, unloaded_q, row, below, store, store_plain, to_spare, push, push_held, found;
  logic [LevelBits-1:0] unload_level;
  logic [Z-1:0][EntryBits-1:0] on_chip_entries, row_entries;
  logic [1:0] below_written;
  logic [BeatBits-1:0] store_beat;
  logic [BlockBits-1:0] push_block;
  logic [LeafBits-1:0] push_leaf;
  pad_t found_pad;

  lethe_unload #(.Cfg(Cfg)) u_unload (
    .clk_i, .rst_ni,
    .start_i(begin_path), .go_i(is_raw_access || state_q == Unload),
    .job_i(begin_path ? job_i : job_q), .on_chip_i(on_chip_q), .done_o(unloaded),
    .header_valid_i, .header_ready_o, .header_i,
    .row_mask_valid_i, .row_mask_ready_o, .row_mask_i,
    .body_valid_i, .body_ready_o, .body_mask_valid_i, .body_mask_ready_o,
    .level_o(unload_level), .on_chip_entries_i(on_chip_entries),
    .row_o(row), .row_entries_o(row_entries), .below_o(below), .below_written_o(below_written),
    .slot_valid_i(free_valid), .slot_take_o(slot_take), .to_spare_o(to_spare),
    .store_o(store), .store_beat_o(store_beat), .store_plain_o(store_plain),
    .push_o(push), .held_o(push_held), .push_block_o(push_block), .push_leaf_o(push_leaf),
    .found_o(found), .found_pad_o(found_pad)
  );

  // PushToLeaf takes from the list, then from the path, then the block of interest.
  logic pushing, takes_held, served, keep;
  item_t push_item;
  logic [LevelBits-1:0] out_level;
  logic [CountBits-1:0] out_place;
  logic [SlotBits-1:0] served_slot;

  assign served_slot = held_q ? held_slot_q : spare_q;
  assign served = state_q == Push && (job_q.op == OpRead || job_q.op == OpWrite || job_q.op == OpPut) && free_valid;
  assign takes_held = push_held && !held_q;
  assign pushing = (listed && !listed_hit) || push || (push_held && held_q) || served;
  assign keep = !is_whole;
  assign held_item = '{block: job_q.block[BlockBits-1:0], leaf: job_q.leaf[LeafBits-1:0], slot: served_slot};
  assign push_item = served ? held_item
      : listed ? listed_item : '{block: push_block, leaf: push_leaf, slot: free_slot};

  lethe_push_to_leaf #(
    .LeafLevel(Cfg.leaf_level), .BlocksPerBucket(Z), .DataBits($bits(item_t))
  ) u_push_to_leaf (
    .clk_i, .rst_ni,
    .clear_i(begin_path), .path_i(job_q.path[LeafBits-1:0]),
    .valid_i(pushing), .keep_i(keep), .leaf_i(push_item.leaf), .data_i(push_item),
    .valid_o(out_valid), .stuck_o(out_stuck), .level_o(out_level), .place_o(out_place), .data_o(out_item),
    .occupied_o(back_occupied_o)
  );

  logic [Z-1:0] plan_write;
  always_comb begin
    for (int unsigned place = 0; place < Z; place++) begin
      plan_write[place] = row || (out_valid && !out_stuck && out_place == CountBits'(place));
    end
  end
  lethe_plan #(.Cfg(Cfg)) u_plan (
    .clk_i,
    .write_i(plan_write), .write_bank_i(bank_q), .write_level_i(row ? unload_level : out_level),
    .write_entries_i(row ? row_entries : {Z{1'b1, out_item.block, out_item.leaf}}),
    .write_slot_i(out_item.slot),
    .write_below_i(below), .below_bank_i(bank_q), .below_level_i(unload_level), .below_i(below_written),
    .header_bank_i(!bank_q), .header_level_i(unload_level), .header_entries_o(on_chip_entries),
    .back_bank_i(plan_bank_i), .back_level_i(plan_level_i),
    .back_entries_o(plan_entries_o), .back_slots_o(plan_slots_o), .back_below_o(plan_below_o)
  );

  // The free list.
  logic spare_used, returns;
  assign spare_used = served && !held_q;
  assign free_take = slot_take || spare_used || (state_q == First && free_valid);
  // Nothing goes back while a block of interest is served: both never give at once.
  assign returns = state_q == Push && job_q.op == OpTake && held_q;
  lethe_free_list #(.Slots(slots(Cfg))) u_free (
    .clk_i, .rst_ni,
    .take_i(free_take), .valid_o(free_valid), .slot_o(free_slot),
    .give_i(give_i || returns), .slot_i(give_i ? give_slot_i : held_slot_q)
  );

  // Blocks.
  logic reading, replaces;
  logic [BeatBits-1:0] beat_q;
  logic [Cfg.bus_bits-1:0] old, written;
  logic is_second;
  logic last_beat, can_serve, serves, has_old, answers, needs_data;

  assign last_beat = beat_q == BeatBits'(Beats - 1);
  assign reading = state_q == Read && !back_busy_i;
  assign needs_data = job_q.op == OpWrite || job_q.op == OpPut;
  assign answers = job_q.op == OpRead || job_q.op == OpWrite || job_q.op == OpTake;
  assign can_serve = state_q == Serve && (!needs_data || data_valid_i) && (!is_raw_access || interest_mask_valid_i);
  assign serves = can_serve && (!answers || answer_ready_i);
  assign has_old = held_q || (is_raw_access && found);
  assign old = !has_old ? '0 : is_raw_access && !held_q ? loaded_o ^ interest_mask_i : loaded_o;
  // A beat that arrived, plain or masked; or else what is given, or what was there. Chosen by two bits among four, each bit
  // is one look-up table of six inputs, with its mask.
  assign is_second = store ? !store_plain : !needs_data;
  assign written = store ? body_i ^ (body_mask_i & {Cfg.bus_bits{is_second}}) : is_second ? old : data_i;
  assign replaces = serves && has_block && job_q.op != OpTake;
  assign data_ready_o = serves && needs_data;
  assign answer_valid_o = can_serve && answers;
  assign answer_o = old;
  assign answer_last_o = last_beat;
  assign interest_mask_ready_o = serves && is_raw_access;

  // A slot and a beat are an address: beats of a block are a power of two.
  localparam int unsigned AddressBits = SlotBits + $clog2(Beats);
  function automatic logic [AddressBits-1:0] address(logic [SlotBits-1:0] slot, logic [BeatBits-1:0] beat);
    return (AddressBits'(slot) << $clog2(Beats)) | (Beats > 1 ? AddressBits'(beat) : '0);
  endfunction

  lethe_ram #(.Width(Cfg.bus_bits), .Depth(slots(Cfg) * Beats)) u_blocks (
    .clk_i,
    .write_i(store || replaces),
    .write_address_i(store ? address(to_spare ? spare_q : free_slot, store_beat) : address(served_slot, beat_q)),
    .write_data_i(written),
    .read_i(reading || load_i),
    .read_address_i(reading ? address(served_slot, beat_q) : address(load_slot_i, load_beat_i)),
    .read_data_o(loaded_o)
  );

  // Masks of the block of interest are asked for when the path is in, as many wherever the block is.
  logic asking_q;
  logic [BeatBits-1:0] ask_q;
  assign interest_valid_o = asking_q;
  always_comb begin
    interest_pad_o = found_pad;
    interest_pad_o.chunk = found_pad.chunk + 30'(ask_q) * 30'(beat_chunks(Cfg));
  end

  assign back_valid_o = state_q == HandOver || state_q == GoBack;
  assign back_job_o = job_q;
  assign back_bank_o = bank_q;

  // PushToLeaf gets as long for its last blocks whether there are any or not.
  logic [1:0] settling_q;
  always_ff @(posedge clk_i) settling_q <= state_q == Settle ? settling_q - 1'b1 : 2'd3;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      First:    if (free_valid) state_d = Idle;
      Idle:     if (valid_i) state_d = begin_path ? Scan : Read;
      Scan:     if (!scanning) state_d = Unload;
      Unload:   if (unloaded_q) state_d = is_raw_access ? HandOver : job_q.evict ? Settle : Read;
      HandOver: if (back_ready_i) state_d = Read;
      Read:     if (reading) state_d = Serve;
      Serve:    if (serves) state_d = last_beat ? Push : Read;
      Push:     if (free_valid) state_d = Cfg.scheme == PathOram && job_q.more ? Join : Settle;
      Join:     if (valid_i) state_d = Read;
      Settle:   if (settling_q == '0) state_d = is_whole ? GoBack : Idle;
      GoBack:   if (back_ready_i) state_d = Idle;
      default:  state_d = Idle;
    endcase
  end

  assign done_o = (state_q != Idle && state_q != First && state_d == Idle) || join_job;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= First;
      bank_q <= 1'b0;
      joined_q <= 1'b0;
      held_q <= 1'b0;
      unloaded_q <= 1'b0;
      asking_q <= 1'b0;
      ask_q <= '0;
      beat_q <= '0;
    end else begin
      state_q <= state_d;
      if (begin_path) bank_q <= !bank_q;
      if (begin_job) joined_q <= 1'b0;
      else if (join_job) joined_q <= 1'b1;
      if (begin_job || join_job) held_q <= 1'b0;
      else if (listed_hit || takes_held) held_q <= 1'b1;
      if (begin_job) unloaded_q <= 1'b0;
      else if (unloaded) unloaded_q <= 1'b1;
      if (unloaded && is_raw_access) asking_q <= 1'b1;
      else if (asking_q && interest_ready_i && ask_q == BeatBits'(Beats - 1)) asking_q <= 1'b0;
      if (begin_job) ask_q <= '0;
      else if (asking_q && interest_ready_i) ask_q <= ask_q + 1'b1;
      if (serves) beat_q <= last_beat ? '0 : beat_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (begin_job) begin
      job_q <= job_i;
      on_chip_q <= on_chip_i;
    end else if (join_job) begin
      // The path stays.
      job_q.op <= job_i.op;
      job_q.more <= 1'b0;
      job_q.block <= job_i.block;
      job_q.leaf <= job_i.leaf;
    end
    if (listed_hit) held_slot_q <= listed_item.slot;
    else if (takes_held) held_slot_q <= free_slot;
    if (spare_used || (state_q == First && free_valid)) spare_q <= free_slot;
  end

endmodule
