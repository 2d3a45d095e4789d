// The front end of Freecursive ORAM (ASPLOS 2015). It has a PosMap in the same tree as the blocks, a PLB, and counters
// from which leaves are computed.
//
// A request looks for the lowest PosMap block of its chain that is in the PLB. It fetches those below it in turn, and
// then accesses its block, with one path for each. Before each of them one straggler of the group moves, if there is
// one, with its own path. A leaf is AES of block and counter. The path of a block that was never mapped is drawn at
// random.
//
// Interface: requests of the user, the beats of writes, and the beats of answers, each with `valid` and `ready`. The
// answer to a write is the old content of the block. A write waits for all of its beats. The cell requests slots from
// the backend: a fetch is a take with the put of the block that leaves the PLB. With a pacer, answers wait here for the
// user, so that the time at which the user takes them is not visible.
//
// Timing: PLB and table answer one cycle later, and both leaves together take 23 cycles of AES, or more with a pacer.
// The number of paths of a request is visible unless a pacer hides it. The next request begins when the last path of
// this one was requested.
//
// Keeps: the PLB, the table, and the current request.
module ameles_front_end
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Data = Cfg.bus_bits,
  localparam int unsigned Group = group_beats(Cfg) * Cfg.bus_bits,
  localparam int unsigned BlockBits = block_bits(Cfg),
  localparam int unsigned LeafBits = leaf_bits(Cfg)
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  // The user.
  ameles_stream_if.sink   request,
  ameles_stream_if.sink   data,
  ameles_answer_if.source answer,
  // Paths for blocks that were never mapped.
  ameles_stream_if.sink   random,
  // Slots, and the inputs of their tags.
  ameles_stream_if.source slot,
  // Data to the backend, and blocks from the backend.
  ameles_stream_if.source store,
  ameles_stream_if.sink   block,
  // The inputs of AES for leaves, and their chunks.
  ameles_stream_if.source leaf_input,
  ameles_stream_if.sink   leaf_chunk
);

  localparam int unsigned Beats = block_beats(Cfg);
  localparam int unsigned BeatBits = at_least_one($clog2(Beats));
  localparam int unsigned GroupBeats = group_beats(Cfg);
  localparam int unsigned Maps = maps(Cfg);
  localparam int unsigned LevelBits = $clog2(Maps + 2);
  localparam int unsigned LabelShift = $clog2(Cfg.labels);
  localparam int unsigned EntryBits = LabelShift;
  // A block of the PLB gets its tag when it leaves.
  localparam int unsigned CounterBits = Cfg.tag_bits != 0 ? 64 : 1;
  localparam int unsigned TableEntries = map_blocks(Cfg, Maps);
  localparam int unsigned TableBits = at_least_one($clog2(TableEntries));

  typedef enum logic [3:0] {
    Clear,       // PLB and table are being cleared
    Idle,
    Probe,       // is the PosMap block of this level in the PLB?
    Probed,
    Keeper,      // the group, or the table's entry, that has the counter of the block
    Kept,
    Renew,       // a new counter for the block, or for a straggler before it
    Ask,         // both leaves
    Leaves,
    Straggler,   // is the straggler in the PLB?
    StragglerIs,
    Victim,      // the block that leaves the PLB
    VictimIs,
    Send,        // the slot is requested
    Fetched      // the PosMap block comes
  } state_e;

  typedef enum logic [1:0] {Discard, ToLookAside, ToUser, Beyond} answer_e;

  state_e state_q, state_d;
  logic is_beyond, write_q, beyond_q;
  logic [31:0] block_q;
  logic [Group-1:0] group_q;

  // The chain of a block: its number on each level, and there the number of the block in the tree.
  logic [LevelBits-1:0] level_q, probe_q;
  function automatic logic [31:0] number(logic [31:0] user_block, logic [LevelBits-1:0] level);
    logic [31:0] shifted = user_block;
    for (int unsigned nth = 0; nth < Maps; nth++) begin
      if (LevelBits'(nth) < level) shifted = shifted >> LabelShift;
    end
    return shifted;
  endfunction
  function automatic logic [31:0] first(logic [LevelBits-1:0] level);
    logic [31:0] found = '0;
    for (int unsigned nth = 0; nth <= Maps; nth++) begin
      if (LevelBits'(nth) == level) found = first_block(Cfg, nth);
    end
    return found;
  endfunction

  logic [31:0] own_number, above_number;
  logic by_table;
  assign own_number = number(block_q, level_q);
  assign above_number = number(block_q, level_q + 1'b1);
  assign by_table = level_q == LevelBits'(Maps);

  // The PLB.
  logic look_ready, look_read, look_valid, look_hit, tag_write, data_write;
  logic [BlockBits-1:0] look_block, found_block, write_block;
  logic [LeafBits-1:0] found_leaf, write_leaf;
  logic [CounterBits-1:0] found_counter;
  logic [63:0] old_q, new_q;
  logic [Group-1:0] found_data, write_data;
  ameles_plb #(
    .Lines(Cfg.look_aside), .BlockBits(BlockBits), .LeafBits(LeafBits), .CounterBits(CounterBits), .DataBits(Group)
  ) u_plb (
    .clk_i, .rst_ni, .ready_o(look_ready),
    .read_i(look_read), .read_block_i(look_block),
    .valid_o(look_valid), .block_o(found_block), .leaf_o(found_leaf), .counter_o(found_counter),
    .data_o(found_data),
    .write_tag_i(tag_write), .write_data_i(data_write),
    .write_block_i(write_block), .leaf_i(write_leaf), .counter_i(CounterBits'(new_q)), .data_i(write_data)
  );

  // The table: the counters of the last PosMap level. A counter of 0 says that a block was never mapped.
  localparam int unsigned TableCounterBits = 56;
  logic table_ready;
  logic [TableBits-1:0] table_entry;
  logic [TableCounterBits-1:0] table_word;
  logic [63:0] table_counter;
  assign table_entry = TableBits'(own_number);
  assign table_counter = 64'(table_word);
  ameles_cleared_ram #(.Width(TableCounterBits), .Depth(TableEntries)) u_table (
    .clk_i, .rst_ni, .ready_o(table_ready),
    .write_i(state_q == Renew && by_table), .write_address_i(table_entry), .write_data_i(table_word + 1'b1),
    .read_i(state_q == Keeper && by_table), .read_address_i(table_entry), .read_data_o(table_word)
  );

  // The counter of the block, or of a straggler.
  logic straggler_valid, is_turn, turn_done_q, is_straggler_q;
  logic [EntryBits-1:0] straggler, entry;
  logic [63:0] group_counter, group_next;
  logic [Group-1:0] advanced;
  logic [31:0] renewed_q, renewed;
  // Before each path of the chain there is a turn for one straggler.
  assign is_turn = !by_table && straggler_valid && !turn_done_q;
  assign entry = is_turn ? straggler : own_number[EntryBits-1:0];
  ameles_counter_group #(.Labels(Cfg.labels), .Bits(Cfg.label_bits), .GroupBits(Group)) u_group (
    .group_i(group_q), .entry_i(entry), .counter_o(group_counter), .next_counter_o(group_next),
    .advanced_o(advanced),
    .straggler_valid_o(straggler_valid), .straggler_o(straggler)
  );
  assign renewed = first(level_q)
      + (is_turn ? (above_number << LabelShift) + 32'(straggler) : own_number);

  // Leaves: of the old counter, then of the new one.
  logic asked_new_q, got_old_q, leaves_done;
  logic [LeafBits-1:0] path_q, leaf_q;
  assign leaf_input.valid = state_q == Ask;
  assign leaf_input.data = {asked_new_q ? new_q : old_q, 64'(renewed_q)};
  assign random.ready = state_q == Leaves && leaf_chunk.valid && !got_old_q && old_q == '0;
  assign leaf_chunk.ready = state_q == Leaves && (got_old_q || old_q != '0 || random.valid);
  assign leaves_done = leaf_chunk.valid && leaf_chunk.ready && got_old_q;

  // Answers of the backend, in the order of its requests, beat by beat.
  logic [Data-1:0] user_data;
  logic [BeatBits-1:0] beat_q;
  logic last_beat;
  logic answers_ready, answer_put, answer_known, answer_taken, user_room, user_valid, user_free;
  answer_e answer_in, answer_kind;
  ameles_fifo #(.Width(2), .Depth(4)) u_answers (
    .clk_i, .rst_ni,
    .valid_i(answer_put), .ready_o(answers_ready), .data_i(answer_in),
    .valid_o(answer_known), .ready_i(answer_taken && last_beat), .data_o({answer_kind})
  );
  assign last_beat = beat_q == BeatBits'(Beats - 1);
  assign answer_taken = block.valid && block.ready;
  assign block.ready = answer_known
      && (answer_kind == Discard || (answer_kind == ToLookAside ? state_q == Fetched : user_room));

  // The user's answers. With a pacer, room for an answer is reserved here from its request.
  assign user_valid = block.valid && answer_known && (answer_kind == ToUser || answer_kind == Beyond);
  assign user_data = answer_kind == Beyond ? '0 : block.data;
  logic answer_passes, answer_ends;
  logic [BeatBits-1:0] answer_beat_q;
  assign answer_passes = answer.valid && answer.ready;
  assign answer.tag = '0;
  assign answer.last = answer_beat_q == BeatBits'(Beats - 1);
  assign answer_ends = answer_passes && answer.last;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) answer_beat_q <= '0;
    else if (answer_passes) answer_beat_q <= answer.last ? '0 : answer_beat_q + 1'b1;
  end
  if (Cfg.slot_cycles != 0) begin : gen_kept
    localparam int unsigned Waiting = waiting_blocks(Cfg);
    logic [$clog2(Waiting+1)-1:0] pending_q;
    ameles_fifo #(.Width(Data), .Depth(Waiting * Beats), .BlockRam(in_block_ram(Waiting * Beats))) u_kept (
      .clk_i, .rst_ni,
      .valid_i(user_valid), .ready_o(user_room), .data_i(user_data),
      .valid_o(answer.valid), .ready_i(answer.ready), .data_o(answer.beat)
    );
    assign user_free = pending_q != $bits(pending_q)'(Waiting);
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) pending_q <= '0;
      else pending_q <= pending_q + $bits(pending_q)'(request.valid && request.ready) - $bits(pending_q)'(answer_ends);
    end
  end else begin : gen_passed
    assign user_free = 1'b1;
    assign user_room = answer.ready;
    assign answer.valid = user_valid;
    assign answer.beat = user_data;
  end

  // Data to the backend. A write beyond the user's blocks has beats too.
  logic has_data, source_ready, whole, is_fetch, is_last, is_write, puts, sent;
  source_e source;
  ameles_stream_if #(.word_t(source_e)) order ();
  assign {order.valid, order.data} = {sent && has_data, source};
  assign source_ready = order.ready;
  ameles_front_data #(.Cfg(Cfg)) u_data (
    .clk_i, .rst_ni,
    .data, .whole_o(whole), .order, .group_i(group_q), .store
  );

  // Slots.
  logic victim_valid_q;
  logic [BlockBits-1:0] victim_q;
  logic [LeafBits-1:0] victim_leaf_q;
  logic [CounterBits-1:0] victim_counter_q;
  assign is_fetch = level_q != '0 && !is_straggler_q;
  assign is_last = level_q == '0 && !is_straggler_q;
  assign is_write = is_last && write_q && !beyond_q;
  assign puts = is_fetch && victim_valid_q;
  assign source = is_fetch ? FromLookAside : beyond_q ? Dropped : FromUser;
  assign has_data = puts || (is_last && write_q);
  assign slot.valid = state_q == Send && answers_ready && source_ready && (whole || !(is_last && write_q));
  assign sent = slot.valid && slot.ready;
  assign slot.data.slot = '{
    op: is_fetch ? OpTake : is_write ? OpWrite : OpRead,
    block: renewed_q,
    path: 32'(path_q),
    leaf: 32'(leaf_q),
    put: puts,
    put_block: 32'(victim_q),
    put_leaf: 32'(victim_leaf_q)
  };
  assign slot.data.tags = '{
    dummy: 1'b0,
    write: is_write,
    put: puts,
    block: renewed_q,
    old_counter: old_q,
    new_counter: new_q,
    put_block: 32'(victim_q),
    put_counter: 64'(victim_counter_q)
  };
  assign answer_put = sent;
  assign answer_in = is_straggler_q ? Discard : is_fetch ? ToLookAside : beyond_q ? Beyond : ToUser;

  // The line of the PLB that is read: that of the chain, that of a straggler, or that for the fetched block.
  assign look_read = state_q == Probe || (state_q == Keeper && !by_table) || state_q == Straggler || state_q == Victim;
  always_comb begin
    unique case (state_q)
      Probe:   look_block = BlockBits'(first(probe_q) + number(block_q, probe_q));
      Keeper:  look_block = BlockBits'(first(level_q + 1'b1) + above_number);
      default: look_block = BlockBits'(renewed_q);
    endcase
  end
  assign look_hit = look_valid && found_block == (
      state_q == Probed ? BlockBits'(first(probe_q) + number(block_q, probe_q)) : BlockBits'(renewed_q));

  // An advanced group is written back, a straggler in the PLB gets a new leaf, and a fetched block takes its line.
  logic fetching, fetched;
  logic [Group-1:0] collected;
  if (GroupBeats > 1) begin : gen_collected
    logic [Group-Data-1:0] before_q;
    assign collected = {block.data, before_q};
    always_ff @(posedge clk_i) begin
      if (answer_taken) before_q <= (Group - Data)'(collected >> Data);
    end
  end else begin : gen_whole
    assign collected = block.data;
  end
  assign fetching = state_q == Fetched && block.valid && answer_known && answer_kind == ToLookAside;
  assign fetched = fetching && last_beat;
  assign data_write = (state_q == Renew && !by_table) || (fetching && 32'(beat_q) == GroupBeats - 1);
  assign tag_write = fetched || (state_q == StragglerIs && look_hit);
  assign write_block = state_q == Renew ? BlockBits'(first(level_q + 1'b1) + above_number) : BlockBits'(renewed_q);
  assign write_leaf = leaf_q;
  assign write_data = state_q == Renew ? advanced : collected;

  assign request.ready = state_q == Idle && user_free;
  assign is_beyond = request.data.block >= Cfg.capacity;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Clear:       if (look_ready && table_ready) state_d = Idle;
      Idle:        if (request.valid && user_free) state_d = Maps == 0 ? Keeper : Probe;
      Probe:       state_d = Probed;
      Probed:      state_d = look_hit || probe_q == LevelBits'(Maps) ? Keeper : Probe;
      Keeper:      state_d = Kept;
      Kept:        state_d = Renew;
      Renew:       state_d = Ask;
      Ask:         if (leaf_input.ready && asked_new_q) state_d = Leaves;
      Leaves:      if (leaves_done) state_d = is_straggler_q ? Straggler : is_fetch ? Victim : Send;
      Straggler:   state_d = StragglerIs;
      StragglerIs: state_d = look_hit ? Keeper : Send;
      Victim:      state_d = VictimIs;
      VictimIs:    state_d = Send;
      Send:        if (sent) state_d = is_straggler_q ? Keeper : is_fetch ? Fetched : Idle;
      Fetched:     if (fetched) state_d = Keeper;
      default:     state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Clear;
      asked_new_q <= 1'b0;
      got_old_q <= 1'b0;
      is_straggler_q <= 1'b0;
      turn_done_q <= 1'b0;
      beat_q <= '0;
    end else begin
      if (answer_taken) beat_q <= last_beat ? '0 : beat_q + 1'b1;
      state_q <= state_d;
      if (state_q == Ask && leaf_input.ready) asked_new_q <= !asked_new_q;
      if (state_q == Leaves && leaf_chunk.valid && leaf_chunk.ready) got_old_q <= !got_old_q;
      if (state_q == Renew) begin
        is_straggler_q <= is_turn;
        turn_done_q <= is_turn;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      // A block beyond the user's blocks is read as zeros, with the path of another block.
      beyond_q <= is_beyond;
      write_q <= request.data.write;
      block_q <= is_beyond ? '0 : request.data.block;
      probe_q <= LevelBits'(1);
      level_q <= LevelBits'(Maps);
    end
    if (state_q == Probed) begin
      probe_q <= probe_q + 1'b1;
      if (look_hit) level_q <= probe_q - 1'b1;
    end
    if (state_q == Kept) begin
      group_q <= found_data;
    end
    if (state_q == Renew) begin
      renewed_q <= renewed;
      old_q <= by_table ? table_counter : group_counter;
      new_q <= by_table ? table_counter + 1'b1 : group_next;
    end
    if (leaf_chunk.valid && leaf_chunk.ready) begin
      if (got_old_q) leaf_q <= leaf_chunk.data[LeafBits-1:0];
      else path_q <= old_q == '0 ? random.data[LeafBits-1:0] : leaf_chunk.data[LeafBits-1:0];
    end
    if (state_q == VictimIs) begin
      victim_valid_q <= look_valid;
      victim_q <= found_block;
      victim_leaf_q <= found_leaf;
      victim_counter_q <= found_counter;
      group_q <= found_data;
    end
    if (fetched) level_q <= level_q - 1'b1;
  end

endmodule
