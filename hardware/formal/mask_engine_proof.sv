// If requests stay until they are taken, the engine keeps their order and makes each mask of its own chunks, although leaves
// come between them. A queue of masks gets all chunks of the oldest request without a mask, the first chunk lowest. So each
// request gets its mask once, and there is room for it. AES is replaced: a chunk is its pad.
module mask_engine_proof
  import ameles_pkg::*;
#(
  parameter bit Raw = 1'b1,
  parameter int unsigned Lanes = 1,
  parameter int unsigned BlocksPerBucket = 5,  // 300 bits of a row are 3 chunks
  parameter int unsigned BusBits = 256,
  parameter bit Paced = 1'b1,                  // leaves have their own turns, also within a mask
  parameter bit Wrong = 1'b0,                  // for a proof that must fail: requests need not stay
  localparam config_t Cfg = proof_pkg::tiny(
    Raw, 29, BlocksPerBucket, 8, 512 / BusBits, .bus_bits(BusBits), .aes_lanes(Lanes), .slot_cycles(Paced ? 64 : 0)
  )
) (
  input logic         clk_i,
  input logic         keyed_i,
  input logic         leaf_valid_i,
  input logic [127:0] leaf_input_i,
  input logic [3:0]   valid_i,  // read, interest, write, ahead
  input pad_t [3:0]   pads_i,
  input logic [3:0]   rows_i,
  input logic [4:0]   taken_i
);

  localparam int unsigned Most = mask_chunks(Cfg);
  localparam int unsigned Groups = (mask_chunks(Cfg) + Lanes - 1) / Lanes;
  localparam int unsigned RowGroups = (row_chunks(Cfg) + Lanes - 1) / Lanes;
  localparam int unsigned BeatGroups = (beat_chunks(Cfg) + Lanes - 1) / Lanes;

  logic rst_n, leaf_ready;
  logic [3:0] ready, rows;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_stream_if #(.word_t(logic [127:0])) leaf_input (), leaf_chunk ();
  ameles_stream_if #(.word_t(mask_request_t)) read_request (), interest_request (), write_request (), ahead_request ();
  ameles_stream_if #(.word_t(logic [Most*128-1:0])) read_mask (), interest_mask (), write_mask (), ahead_mask ();
  assign {leaf_input.valid, leaf_input.data, leaf_ready} = {leaf_valid_i, leaf_input_i, leaf_input.ready};
  assign {read_request.valid, read_request.data} = {valid_i[0], rows[0], pads_i[0]};
  assign {interest_request.valid, interest_request.data} = {valid_i[1] && Raw, rows[1], pads_i[1]};
  assign {write_request.valid, write_request.data} = {valid_i[2], rows[2], pads_i[2]};
  assign {ahead_request.valid, ahead_request.data} = {valid_i[3] && Raw, rows[3], pads_i[3]};
  assign ready = {ahead_request.ready, write_request.ready, interest_request.ready, read_request.ready};
  assign {leaf_chunk.ready, ahead_mask.ready, write_mask.ready, interest_mask.ready, read_mask.ready} = taken_i;
  ameles_mask_engine #(.Cfg(Cfg)) u_engine (
    .clk_i, .clk2_i(1'b0), .rst_ni(rst_n), .round_keys_i('0), .keyed_i,
    .leaf_input, .leaf_chunk,
    .read_request, .interest_request, .write_request, .ahead_request,
    .read_mask, .interest_mask, .write_mask, .ahead_mask
  );

  // Of RAW ORAM reads and writes ask for rows only. The first chunk of a beat is a multiple of its chunks, that of a row is 0.
  typedef struct packed {
    logic [1:0] port;
    logic       row;
    pad_t       pad;
  } request_t;
  request_t [3:0] requests, before_q;
  logic [3:0] waits_q;
  always_ff @(posedge clk_i) begin
    waits_q <= rst_n ? valid_i & ~ready : '0;
    before_q <= requests;
  end
  for (genvar nth = 0; nth < 4; nth++) begin : gen_requests
    assign rows[nth] = (nth == 0 || nth == 2) && (Raw || rows_i[nth]);
    assign requests[nth] = '{port: 2'(nth), row: rows[nth], pad: pads_i[nth]};
    always_comb begin
      assume (!waits_q[nth] || Wrong || (valid_i[nth] && requests[nth] == before_q[nth]));
      assume ((pads_i[nth].chunk & 30'(beat_chunks(Cfg) - 1)) == '0 && (!rows[nth] || pads_i[nth].chunk == '0));
      assume (Raw || nth == 0 || nth == 2 || !valid_i[nth]);
    end
  end

  // A group of chunks in the pipeline, and its request. Those of leaves are ignored.
  typedef struct packed {
    logic       valid;
    logic [7:0] group;
    request_t   request;
  } group_t;
  function automatic logic is_last(group_t one);
    return 32'(one.group) + 1 == (one.request.row ? RowGroups : BeatGroups);
  endfunction
  function automatic logic [127:0] chunk(request_t request, int unsigned nth);
    pad_t pad = request.pad;
    pad.chunk = pad.chunk + 30'(nth);
    return pad;
  endfunction
  // The group that must follow for the same request, or follow `one` if this is a leaf or nothing.
  function automatic group_t next(group_t one, group_t old);
    group_t after = one;
    after.valid = !is_last(one);
    after.group = one.group + 1'b1;
    return one.valid ? after : old;
  endfunction

  // The group that begins, from the ports only.
  group_t begins, first_q, second_q, due_q, due_first, due_begins;
  logic [1:0] port;
  assign port = 2'(u_engine.stream - 3'd1);
  assign begins = '{
    valid: u_engine.valid && !leaf_ready, group: due_begins.valid ? due_begins.group : '0, request: requests[port]
  };
  assign due_first = next(second_q, due_q);
  assign due_begins = next(first_q, due_first);
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) {first_q, second_q, due_q} <= '0;
    else begin
      first_q <= begins;
      second_q <= first_q;
      due_q <= due_first;
    end
  end

  // Masks as they go into the queues: whole, and of one request.
  function automatic logic whole(request_t request, logic [Most*128-1:0] mask);
    logic is_whole = 1'b1;
    for (int unsigned nth = 0; nth < Most; nth++) begin
      if (nth < (request.row ? row_chunks(Cfg) : beat_chunks(Cfg))) is_whole &= mask[nth*128+:128] == chunk(request, nth);
    end
    return is_whole;
  endfunction
  logic [3:0] puts;
  logic [Most*128-1:0] mask;
  assign puts = u_engine.returns[4:1];
  assign mask = (Most * 128)'(Raw && !second_q.request.row ? u_engine.beat : u_engine.mixed);
  always_comb begin
    if (rst_n) begin
      assert (puts == (second_q.valid && is_last(second_q) ? 4'd1 << second_q.request.port : 4'd0));
      assert (puts == '0 || whole(second_q.request, mask));
      // For the induction: groups follow each other, and the state of the engine is that of the groups.
      assert (follows(second_q, due_q) && follows(first_q, due_first));
      assert (u_engine.busy_q == due_begins.valid);
      assert (!due_begins.valid || (32'(u_engine.group_q) == 32'(due_begins.group)
          && 32'(u_engine.stream_q) == 32'(due_begins.request.port) + 1));
      assert (!due_begins.valid || (waits_q[due_begins.request.port]
          && due_begins.request == before_q[due_begins.request.port]));
      assert (!due_q.valid || (due_q.group != '0 && in_range(due_q)));
      assert (!first_q.valid || is_tag(u_engine.tags_q[0], first_q));
      assert (!second_q.valid || is_tag(u_engine.tags_q[1], second_q));
    end
  end
  // Whether a group belongs to its request, and the next group of the request that is due, or the first one if none is.
  function automatic logic in_range(group_t one);
    return 32'(one.group) < (one.request.row ? RowGroups : BeatGroups) && (!one.request.row || one.request.pad.chunk == '0)
        && (one.request.pad.chunk & 30'(beat_chunks(Cfg) - 1)) == '0
        && (Raw ? one.request.row == !one.request.port[0] || one.request.port == 2'd3 : !one.request.port[0]);
  endfunction
  function automatic logic follows(group_t one, group_t due);
    return !one.valid || (in_range(one) && (due.valid ? one == due : one.group == '0));
  endfunction
  function automatic logic is_tag(logic [3+$clog2(Groups):0] tag, group_t one);
    logic [2:0] stream;
    logic last;
    logic [$clog2(Groups)-1:0] group;
    {stream, last, group} = tag;
    return 32'(group) == 32'(one.group) && last == is_last(one) && 32'(stream) == 32'(one.request.port) + 1;
  endfunction
  for (genvar lane = 0; lane < Lanes; lane++) begin : gen_lanes
    always_comb begin
      if (rst_n && first_q.valid) begin
        assert (u_engine.gen_single.gen_lane[lane].u_aes.block_q == chunk(first_q.request, 32'(first_q.group) * Lanes + lane));
      end
      if (rst_n && second_q.valid) begin
        assert (u_engine.chunks[lane] == chunk(second_q.request, 32'(second_q.group) * Lanes + lane));
      end
    end
    for (genvar nth = 0; nth < Groups; nth++) begin : gen_parts
      always_comb begin
        if (rst_n && due_q.valid && nth < 32'(due_q.group)) begin
          assert (u_engine.parts_q[nth][lane*128+:128] == chunk(due_q.request, nth * Lanes + lane));
        end
      end
    end
  end
  always_comb begin
    if (rst_n) begin
      assert (u_engine.out_valid[0] || !second_q.valid);
      assert (u_engine.gen_single.gen_lane[0].u_aes.valid_q || !first_q.valid);
      assert (!u_engine.out_valid[0] || second_q.valid || u_engine.tags_q[1].stream == '0);
      assert (!u_engine.gen_single.gen_lane[0].u_aes.valid_q || first_q.valid || u_engine.tags_q[0].stream == '0);
    end
  end

  // For each purpose, as many masks are pending as wait or are in the pipeline. So only pending masks come, and each has room.
  logic [4:0][7:0] pending, kept, coming;
  logic [4:0] room;
  logic begun_last;
  assign begun_last = u_engine.gen_single.gen_lane[0].u_aes.valid_q && u_engine.tags_q[0].last;
  always_comb begin
    for (int unsigned nth = 0; nth < 5; nth++) begin
      coming[nth] = 8'(begun_last && is_of(u_engine.tags_q[0].stream, nth))
          + 8'(u_engine.out_valid[0] && is_of(u_engine.tags_q[1].stream, nth) && u_engine.tags_q[1].last)
          + 8'(u_engine.busy_q && is_of(u_engine.stream_q, nth));
      if (rst_n) assert (pending[nth] == 8'(coming[nth] + kept[nth]) && (!u_engine.returns[nth] || room[nth]));
    end
  end
  function automatic logic is_of(logic [2:0] stream, int unsigned nth);
    return 32'(stream) == nth;
  endfunction
  assign {pending[0], kept[0], room[0]} = {
    8'(u_engine.u_leaf.pending_q), 8'(u_engine.u_leaf.u_masks.count_q), u_engine.u_leaf.unused_ready
  };
  assign {pending[1], kept[1], room[1]} = {
    8'(u_engine.u_read.pending_q), 8'(u_engine.u_read.u_masks.count_q), u_engine.u_read.unused_ready
  };
  assign {pending[3], kept[3], room[3]} = {
    8'(u_engine.u_write.pending_q), 8'(u_engine.u_write.u_masks.count_q), u_engine.u_write.unused_ready
  };
  if (Raw) begin : gen_pending
    assign {pending[2], kept[2], room[2]} = {
      8'(u_engine.gen_raw.u_interest.pending_q), 8'(u_engine.gen_raw.u_interest.u_masks.count_q),
      u_engine.gen_raw.u_interest.unused_ready
    };
    assign {pending[4], kept[4], room[4]} = {
      8'(u_engine.gen_raw.u_ahead.pending_q),
      8'(u_engine.gen_raw.u_ahead.u_masks.count_q) + 8'(u_engine.gen_raw.u_ahead.u_masks.gen_block_ram.valid_q),
      u_engine.gen_raw.u_ahead.unused_ready
    };
  end else begin : gen_not_pending
    assign {pending[2], kept[2], room[2], pending[4], kept[4], room[4]} = '0;
  end
  always_comb begin
    if (rst_n) assert (pending[0] <= 8'd4 && pending[1] <= 8'd32 && pending[2] <= 8'd4 && pending[3] <= 8'd32 && pending[4] <= 8'd4);
  end

endmodule
