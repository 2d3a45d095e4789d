// The stash: it takes each path in, serves the block of interest, and plans the path that goes back.
//
// For a path, as in Tiny ORAM, section III-B, there is first a scan of all places of the list of waiting blocks. It is
// hidden behind the arrival of the path. Then come the blocks of the path, those of the tree top first, and then the
// block of interest, with its new leaf. Blocks for which PushToLeaf finds a place go back, and the others wait, in this
// order. An access of RAW ORAM sends no block back.
//
// Interface: jobs pass in, and headers and beats with their masks, and the user's data. Answers, and jobs whose path
// may go back, pass out. The cell that writes a path back reads plan and blocks here. With tags, every path is
// answered, and every access and put waits for the new tag of its block.
//
// Timing: answers come a fixed time after the path has arrived, wherever the block was found.
//
// Keeps: blocks, list, free list, plan and the spare slot.
module ameles_stash
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned Levels = levels(Cfg),
  localparam int unsigned LevelBits = level_bits(Cfg),
  localparam int unsigned LeafBits = leaf_bits(Cfg),
  localparam int unsigned BlockBits = block_bits(Cfg),
  localparam int unsigned EntryBits = entry_bits(Cfg),
  localparam int unsigned SlotBits = slot_bits(Cfg),
  localparam int unsigned Beats = block_beats(Cfg),
  localparam int unsigned BeatBits = at_least_one($clog2(Beats)),
  localparam int unsigned CountBits = $clog2(Z + 1),
  localparam int unsigned PlaceBits = at_least_one($clog2(Z)),
  localparam int unsigned WaitingBits = $clog2(Cfg.stash_blocks + 2),
  localparam bit          HasTags = Cfg.tag_bits != 0,
  localparam int unsigned TagBits = at_least_one(Cfg.tag_bits)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // Jobs, and finished jobs.
  input  logic                   valid_i,
  output logic                   ready_o,
  input  job_t                   job_i,
  input  logic [Levels-1:0]      on_chip_i,
  output logic                   done_o,
  output logic [WaitingBits-1:0] waiting_o,
  output logic                   overflow_o,
  // The path.
  ameles_stream_if.sink          header,
  ameles_stream_if.sink          row_mask,
  ameles_stream_if.sink          body,
  ameles_stream_if.sink          body_mask,
  ameles_stream_if.source        interest_request,
  ameles_stream_if.sink          interest_mask,
  // The user's data.
  ameles_stream_if.sink          data,
  ameles_answer_if.source        answer,
  ameles_stream_if.sink          tag,
  // The path that goes back.
  ameles_write_back_if.stash     back
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
    TagMask,    // an access of RAW ORAM: the mask of the tag comes
    Read,       // a beat of the block of interest is read
    Serve,      // it is answered and replaced
    NewTag,     // it gets its tag
    Push,       // the block of interest continues with its new leaf
    Join,       // the put that belongs to it, before the path goes back
    Settle,     // the last blocks find their places
    GoBack      // a rewritten path may go back
  } state_e;

  state_e state_q, state_d;
  job_t job_q;
  logic [Levels-1:0] on_chip_q;
  logic bank_q;
  logic begin_job, begin_path, join_job, joined_q, is_raw_access, is_whole, is_access, has_block;

  assign begin_job = state_q == Idle && valid_i;
  assign begin_path = begin_job && (job_i.evict || has_path(job_i.op));
  assign ready_o = state_q == Idle || state_q == Join;
  assign join_job = state_q == Join && valid_i;
  assign is_access = !job_q.evict && has_path(job_q.op);
  assign is_raw_access = Cfg.scheme == RawOram && is_access;
  assign is_whole = job_q.evict || (Cfg.scheme == PathOram && (is_access || joined_q));
  assign has_block = !job_q.evict && job_q.op != OpDummy && job_q.op != OpSkip;

  // The list, and the block of interest on it. If two are scanned per cycle, each has a twin, which is the highest.
  localparam int unsigned Lanes = Cfg.scan_lanes;
  logic scanning, held_q;
  logic [1:0] listed, listed_hit, listed_match, out_valid, out_stuck, is_stuck;
  logic [Lanes-1:0] list_valid;
  item_t [Lanes-1:0] list_item;
  item_t [1:0] listed_item, out_item;
  item_t held_item;
  logic [SlotBits-1:0] held_slot_q, spare_q, free_slot;
  logic free_valid, free_take, slot_take;

  assign is_stuck = out_valid & out_stuck;
  ameles_resident_list #(.Cfg(Cfg)) u_list (
    .clk_i, .rst_ni,
    .scan_i(begin_path), .scanning_o(scanning), .valid_o(list_valid), .item_o(list_item),
    .append_i(is_stuck[Lanes-1:0]), .append_item_i(out_item[Lanes-1:0]), .count_o(waiting_o), .overflow_o
  );
  assign listed = 2'(list_valid);
  assign listed_item = (2 * $bits(item_t))'(list_item);
  for (genvar lane = 0; lane < 2; lane++) begin : gen_match
    assign listed_match[lane] = listed[lane] && is_access && has_block && !held_q
        && listed_item[lane].block == job_q.block[BlockBits-1:0];
  end
  // A wrong answer of memory may contain a block twice. The first one counts as the block of interest, so that no slot is lost.
  assign listed_hit = {listed_match[1] && !listed_match[0], listed_match[0]};

  // The tree top, and the block of interest in it.
  logic top_busy, top_written, top_keeping, top_bank, top_keep, wanted;
  logic [1:0] top_valid, top_hit;
  item_t [1:0] top_item;
  logic [LevelBits-1:0] top_level;
  logic [Z-1:0][SlotBits-1:0] planned_slots;
  assign wanted = is_access && has_block && !held_q && listed_hit == '0;
  assign top_keep = state_q == GoBack && back.ready;

  // The path.
  logic known, unloaded, unloaded_q, row, below, store, to_spare, push, push_held, found;
  logic [LevelBits-1:0] unload_level;
  logic [Z-1:0][EntryBits-1:0] on_chip_entries, row_entries;
  logic [1:0] below_written;
  logic [BeatBits-1:0] store_beat;
  logic [BlockBits-1:0] push_block;
  logic [LeafBits-1:0] push_leaf;
  pad_t found_pad, found_tag_pad;
  logic tag_store;
  logic [SlotBits-1:0] tag_slot;
  logic [TagBits-1:0] arrived_tag;
  logic [PlaceBits-1:0] found_place;
  logic [Cfg.bus_bits-1:0] found_tag_beat;

  // The masks of RAW ORAM's bodies are one stream: those of a path that goes back come before those of the next eviction.
  ameles_stream_if #(.word_t(logic [Cfg.bus_bits-1:0])) own_body_mask ();
  assign own_body_mask.valid = body_mask.valid && !(Cfg.scheme == RawOram && back.busy);
  assign own_body_mask.data = body_mask.data;
  assign body_mask.ready = own_body_mask.ready;

  ameles_unload #(.Cfg(Cfg)) u_unload (
    .clk_i, .rst_ni,
    .start_i(begin_path), .go_i(is_raw_access || state_q == Unload),
    .job_i(begin_path ? job_i : job_q), .on_chip_i(on_chip_q), .done_o(unloaded),
    .written_i(top_written),
    .header, .row_mask, .body, .body_mask(own_body_mask),
    .level_o(unload_level), .on_chip_entries_i(on_chip_entries),
    .row_o(row), .row_entries_o(row_entries), .below_o(below), .below_written_o(below_written),
    .slot_valid_i(free_valid), .slot_take_o(slot_take), .to_spare_o(to_spare),
    .store_o(store), .store_beat_o(store_beat),
    .push_o(push), .held_o(push_held), .push_block_o(push_block), .push_leaf_o(push_leaf),
    .slot_i(free_slot), .tag_store_o(tag_store), .tag_slot_o(tag_slot), .tag_o(arrived_tag),
    .known_o(known), .found_o(found), .found_pad_o(found_pad), .found_tag_pad_o(found_tag_pad),
    .found_place_o(found_place), .found_tag_beat_o(found_tag_beat)
  );

  if (Cfg.top_levels > 0) begin : gen_top
    ameles_tree_top #(.Cfg(Cfg)) u_top (
      .clk_i, .rst_ni,
      .begin_i(begin_path), .job_i(job_q), .search_i(is_raw_access), .wanted_i(wanted),
      .go_i(state_q == Scan && !scanning),
      .busy_o(top_busy), .valid_o(top_valid), .hit_o(top_hit), .item_o(top_item), .written_o(top_written),
      .keep_i(top_keep), .bank_i(bank_q), .occupied_i(back.occupied),
      .keeping_o(top_keeping), .bank_o(top_bank), .level_o(top_level),
      .entries_i(on_chip_entries), .slots_i(planned_slots)
    );
  end else begin : gen_no_top
    logic unused_top;
    assign unused_top = ^{top_keep, wanted, planned_slots};
    assign {top_busy, top_valid, top_hit, top_item, top_level, top_keeping, top_bank} = '0;
    // The root is written after the first path.
    assign top_written = job_q.iv != '0;
  end

  // PushToLeaf takes from the list, then from the tree top, then from the path, then the block of interest.
  logic takes_held, served, keep;
  logic [1:0] pushing, scanned;
  item_t [1:0] push_item;
  logic [1:0][LevelBits-1:0] out_level;
  logic [1:0][CountBits-1:0] out_place;
  logic [SlotBits-1:0] served_slot;

  assign served_slot = held_q ? held_slot_q : spare_q;
  assign served = state_q == Push && (job_q.op == OpRead || job_q.op == OpWrite || job_q.op == OpPut) && free_valid;
  assign takes_held = push_held && !held_q;
  assign scanned = (listed & ~listed_hit) | (top_valid & ~top_hit);
  assign pushing = {scanned[1], scanned[0] || push || (push_held && held_q) || served};
  assign keep = !is_whole;
  assign held_item = '{block: job_q.block[BlockBits-1:0], leaf: job_q.leaf[LeafBits-1:0], slot: served_slot};
  assign push_item[0] = served ? held_item
      : listed[0] ? listed_item[0] : top_valid[0] ? top_item[0] : '{block: push_block, leaf: push_leaf, slot: free_slot};
  assign push_item[1] = listed[1] ? listed_item[1] : top_item[1];

  ameles_push_to_leaf #(
    .LeafLevel(Cfg.leaf_level), .BlocksPerBucket(Z), .LevelBlocks(Cfg.level_blocks), .DataBits($bits(item_t))
  ) u_push_to_leaf (
    .clk_i, .rst_ni,
    .clear_i(begin_path), .path_i(job_q.path[LeafBits-1:0]),
    .valid_i(pushing), .keep_i(keep), .leaf_i({push_item[1].leaf, push_item[0].leaf}), .data_i(push_item),
    .valid_o(out_valid), .stuck_o(out_stuck), .level_o(out_level), .place_o(out_place), .data_o(out_item),
    .occupied_o(back.occupied)
  );

  typedef struct packed {
    logic [LevelBits-1:0] level;
    item_t                item;
  } planned_t;

  // Twins go into the plan after the blocks with which they came.
  logic [Z-1:0] plan_direct, plan_write, late;
  planned_t [Z-1:0] late_item;
  logic [Z-1:0][LevelBits-1:0] plan_levels;
  logic [Z-1:0][EntryBits-1:0] plan_entries;
  logic [Z-1:0][SlotBits-1:0] plan_slots;
  always_comb begin
    for (int unsigned place = 0; place < Z; place++) begin
      plan_direct[place] = row || (out_valid[0] && !out_stuck[0] && out_place[0] == CountBits'(place));
      plan_levels[place] = late[place] ? late_item[place].level : row ? unload_level : out_level[0];
      plan_entries[place] = late[place] ? {1'b1, late_item[place].item.block, late_item[place].item.leaf}
          : row ? row_entries[place] : {1'b1, out_item[0].block, out_item[0].leaf};
      plan_slots[place] = late[place] ? late_item[place].item.slot : out_item[0].slot;
    end
  end
  assign plan_write = plan_direct | late;
  if (Cfg.scan_lanes == 2) begin : gen_late
    ameles_plan_queue #(
      .Places(Z), .Levels(Levels), .CountBits(CountBits), .DataBits($bits(planned_t))
    ) u_late (
      .clk_i, .rst_ni,
      .valid_i(out_valid[1] && !out_stuck[1]), .place_i(out_place[1]), .data_i({out_level[1], out_item[1]}),
      .busy_i(plan_direct), .valid_o(late), .data_o(late_item)
    );
  end else begin : gen_never_late
    logic unused_twin;
    assign unused_twin = ^{is_stuck[1], out_level[1], out_place[1], out_item[1]};
    assign {late, late_item} = '0;
  end
  ameles_plan #(.Cfg(Cfg)) u_plan (
    .clk_i,
    .write_i(plan_write), .write_bank_i(bank_q), .write_level_i(plan_levels),
    .write_entries_i(plan_entries), .write_slot_i(plan_slots),
    .write_below_i(below), .below_bank_i(bank_q), .below_level_i(unload_level), .below_i(below_written),
    // The tree top stores its part of the plan while no row of the path before is requested, because that path was rewritten.
    .header_bank_i(top_keeping ? top_bank : !bank_q), .header_level_i(top_keeping ? top_level : unload_level),
    .header_entries_o(on_chip_entries), .header_slots_o(planned_slots),
    .back_bank_i(back.plan_bank), .back_level_i(back.plan_level),
    .back_entries_o(back.plan_entries), .back_slots_o(back.plan_slots), .back_below_o(back.plan_below)
  );

  // The free list.
  logic spare_used, returns;
  assign spare_used = served && !held_q;
  assign free_take = slot_take || spare_used || (state_q == First && free_valid);
  // No path goes back while a block of interest is served, so both never give back a slot at once.
  assign returns = state_q == Push && job_q.op == OpTake && held_q;
  ameles_free_list #(.Slots(slots(Cfg))) u_free (
    .clk_i, .rst_ni,
    .take_i(free_take), .valid_o(free_valid), .slot_o(free_slot),
    .give_i(back.give || returns), .slot_i(back.give ? back.give_slot : held_slot_q)
  );

  // Blocks.
  logic reading, replaces;
  logic [BeatBits-1:0] beat_q;
  logic [Cfg.bus_bits-1:0] old, written;
  logic is_second;
  logic last_beat, can_serve, serves, has_old, answers, needs_data;

  assign last_beat = beat_q == BeatBits'(Beats - 1);
  assign reading = state_q == Read && !back.busy;
  assign needs_data = job_q.op == OpWrite || job_q.op == OpPut;
  assign answers = has_path(job_q.op) && (HasTags || job_q.op != OpDummy);
  assign can_serve = state_q == Serve && (!needs_data || data.valid) && (!is_raw_access || interest_mask.valid);
  assign serves = can_serve && (!answers || answer.ready);
  assign has_old = held_q || (is_raw_access && found);
  assign old = !has_old ? '0 : is_raw_access && !held_q ? back.loaded ^ interest_mask.data : back.loaded;
  // An arrived beat, plain or masked, or else the user's data, or the old content. Two bits choose among the four, so that
  // each bit with its mask is one look-up table of six inputs.
  assign is_second = store ? !to_spare : !needs_data;
  assign written = store ? body.data ^ (body_mask.data & {Cfg.bus_bits{is_second}}) : is_second ? old : data.data;
  assign replaces = serves && has_block && job_q.op != OpTake;
  assign data.ready = serves && needs_data;
  assign answer.valid = can_serve && answers;
  assign answer.beat = old;
  assign answer.last = last_beat;
  assign interest_mask.ready = (serves && is_raw_access) || state_q == TagMask;

  // Slot and beat form an address, because a block has a power of two of beats.
  localparam int unsigned AddressBits = SlotBits + $clog2(Beats);
  function automatic logic [AddressBits-1:0] address(logic [SlotBits-1:0] slot, logic [BeatBits-1:0] beat);
    return (AddressBits'(slot) << $clog2(Beats)) | (Beats > 1 ? AddressBits'(beat) : '0);
  endfunction

  ameles_ram #(.Width(Cfg.bus_bits), .Depth(slots(Cfg) * Beats)) u_blocks (
    .clk_i,
    .write_i(store || replaces),
    .write_address_i(store ? address(to_spare ? spare_q : free_slot, store_beat) : address(served_slot, beat_q)),
    .write_data_i(written),
    .read_i(reading || back.load),
    .read_address_i(reading ? address(served_slot, beat_q) : address(back.load_slot, back.load_beat)),
    .read_data_o(back.loaded)
  );

  // Tags, each with its block: the tag of a block of interest is decrypted before the block.
  assign tag.ready = state_q == NewTag;
  if (HasTags) begin : gen_tags
    logic [TagBits-1:0] found_tag, found_tag_q;
    logic renews;
    assign renews = state_q == NewTag && tag.valid && has_block && job_q.op != OpTake;
    ameles_ram #(.Width(TagBits), .Depth(slots(Cfg))) u_tags (
      .clk_i,
      .write_i(tag_store || renews), .write_address_i(tag_store ? tag_slot : served_slot),
      .write_data_i(tag_store ? arrived_tag : tag.data),
      .read_i(reading || back.load), .read_address_i(reading ? served_slot : back.load_slot), .read_data_o(back.loaded_tag)
    );
    always_comb begin
      found_tag = '0;
      for (int unsigned nth = 0; nth < tags_per_beat(Cfg); nth++) begin
        if (32'(found_place) % tags_per_beat(Cfg) == nth) begin
          found_tag = found_tag_beat[nth*TagBits+:TagBits] ^ interest_mask.data[nth*TagBits+:TagBits];
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (state_q == TagMask) found_tag_q <= found_tag;
    end
    assign answer.tag = held_q ? back.loaded_tag : is_raw_access && found ? found_tag_q : '0;
  end else begin : gen_no_tags
    assign {back.loaded_tag, answer.tag} = '0;
  end

  // Masks of the block of interest are requested when the headers are in, as many wherever the block is: its tag's comes first.
  localparam int unsigned Asked = Beats + (HasTags ? 1 : 0);
  localparam int unsigned AskBits = at_least_one($clog2(Asked));
  logic asking_q;
  logic [AskBits-1:0] ask_q;
  pad_t asked_pad;
  assign interest_request.valid = asking_q;
  assign interest_request.data = '{row: 1'b0, pad: asked_pad};
  always_comb begin
    asked_pad = found_pad;
    asked_pad.chunk = found_pad.chunk + (30'(ask_q) - 30'(HasTags)) * 30'(beat_chunks(Cfg));
    if (HasTags && ask_q == '0) asked_pad = found_tag_pad;
  end

  assign back.valid = state_q == HandOver || state_q == GoBack;
  assign back.job = job_q;
  assign back.bank = bank_q;

  // PushToLeaf gets as long for its last blocks whether there are any or not. A late twin is in the plan as many cycles
  // after the scan as there are levels. The path's own blocks take their time, too.
  localparam int unsigned Late = Cfg.scan_lanes == 2 ? Levels + 4 : 0;
  localparam int unsigned PathCycles = path_places(Cfg) * Beats;
  localparam int unsigned Settling = Late > PathCycles + 3 ? Late - PathCycles : 3;
  localparam int unsigned SettlingBits = $clog2(Settling + 1);
  logic [SettlingBits-1:0] settling_q;
  always_ff @(posedge clk_i) settling_q <= state_q == Settle ? settling_q - 1'b1 : SettlingBits'(Settling);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      First:    if (free_valid) state_d = Idle;
      Idle:     if (valid_i) state_d = begin_path ? Scan : Read;
      Scan:     if (!scanning && !top_busy) state_d = Unload;
      Unload:   if (unloaded_q) state_d = is_raw_access ? HandOver : job_q.evict ? Settle : Read;
      HandOver: if (back.ready) state_d = HasTags ? TagMask : Read;
      TagMask:  if (interest_mask.valid) state_d = Read;
      Read:     if (reading) state_d = Serve;
      Serve:    if (serves) state_d = !last_beat ? Read : HasTags ? NewTag : Push;
      NewTag:   if (tag.valid) state_d = Push;
      // A slot is given back only once, and independently of others.
      Push:     if (free_valid || returns) state_d = Cfg.scheme == PathOram && job_q.more ? Join : Settle;
      Join:     if (valid_i) state_d = Read;
      Settle:   if (settling_q == '0) state_d = is_whole ? GoBack : Idle;
      GoBack:   if (back.ready) state_d = Idle;
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
      else if ((listed_hit | top_hit) != '0 || takes_held) held_q <= 1'b1;
      if (begin_job) unloaded_q <= 1'b0;
      else if (unloaded) unloaded_q <= 1'b1;
      if (known && is_raw_access) asking_q <= 1'b1;
      else if (asking_q && interest_request.ready && ask_q == AskBits'(Asked - 1)) asking_q <= 1'b0;
      if (begin_job) ask_q <= '0;
      else if (asking_q && interest_request.ready) ask_q <= ask_q + 1'b1;
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
    if (listed_hit[0]) held_slot_q <= listed_item[0].slot;
    else if (listed_hit[1]) held_slot_q <= listed_item[1].slot;
    else if (top_hit[0]) held_slot_q <= top_item[0].slot;
    else if (top_hit[1]) held_slot_q <= top_item[1].slot;
    else if (takes_held) held_slot_q <= free_slot;
    if (spare_used || (state_q == First && free_valid)) spare_q <= free_slot;
  end

endmodule
