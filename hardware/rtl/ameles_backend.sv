// The backend: a tree in untrusted memory, with Path ORAM or RAW ORAM. Its user knows the leaf of each block.
//
// Interface: requests, data and answers each have `valid` and `ready`. A request gives the block, the path to read, and
// the new leaf of the block. A put gives only block and leaf, and a dummy only the path. Writes and puts need the beats
// of a block at `data`. Every request except puts and dummies gets the beats of a block at `answer`: the old content of
// the block, or zeros. The memory is a slave of AXI4. After a reset the cell needs a key that was never used.
//
// With tags (`tag_bits`), every path is answered, a dummy's with zeros, together with the tag of its block. Then each
// path needs the new tag of its block, and each put or skip that of its block (see ameles_pmmac). `stop_i` stops the
// controller.
//
// Timing: requests run ahead of the path before. An answer comes a fixed time after its path has arrived, for every
// kind of request and every place of the block. For the same paths at the same times, every cycle of the memory bus is
// the same.
//
// Keeps: queues between its cells, and whether memory has answered with an error, which stops the cell until a reset.
module ameles_backend
  import ameles_pkg::*;
#(
  parameter config_t Choices = '0,
  parameter int unsigned AddressBits = 40,
  localparam config_t Cfg = tree_choices(Choices)
) (
  input  logic                    clk_i,
  input  logic                    clk2_i,
  input  logic                    rst_ni,
  input  logic                    stop_i,
  // The key.
  ameles_stream_if.sink           key,
  output logic                    keyed_o,  // a key was taken, and its round keys are ready
  output logic                    key_known_o,  // the key that is offered is that key
  // The first byte of the tree in memory: its lowest 12 bits count as zeros.
  input  logic [AddressBits-1:0]  base_i,
  // Requests: `request_t`.
  ameles_stream_if.sink           request,
  // Inputs of AES for leaves, and their chunks, under the same key. The highest bit of an input is 0.
  ameles_stream_if.sink           leaf_input,
  ameles_stream_if.source         leaf_chunk,
  // Data, answers, and tags. A tag is the new tag of the block of an access or put.
  ameles_stream_if.sink           data,
  ameles_answer_if.source         answer,
  ameles_stream_if.sink           tag,
  // Paths of Path ORAM's emergencies.
  ameles_stream_if.sink           random,
  // Memory.
  ameles_axi_if.reader            reads,
  ameles_axi_if.writer            writes,
  // State: a count, and errors that stop it.
  output logic [31:0]             emergencies_o,
  output logic                    key_reused_o,
  output logic                    memory_error_o,
  output logic                    overflow_o,
  output logic                    memory_stalled_o  // stops nothing
);

  localparam int unsigned Levels = levels(Cfg);
  localparam int unsigned CipherBits = row_chunks(Cfg) * 128;
  localparam int unsigned WaitingBits = $clog2(Cfg.stash_blocks + 2);
  localparam int unsigned MixedBits = Cfg.scheme == PathOram ? mask_chunks(Cfg) * 128 : CipherBits;

  typedef logic [CipherBits-1:0] row_t;
  typedef logic [Cfg.bus_bits-1:0] beat_t;

  ameles_check #(.Problem(tree_problem(Choices))) u_check ();
  if (64'(AddressBits) < 12 + 1 || (tree_bytes(Cfg) - 1) >> AddressBits != 0) begin : gen_address_bits
    $error("AddressBits does not reach the end of the tree. Raise it, or lower leaf_level.");
  end

  // What passes on the bus.
  logic read_asked, read_beat, write_asked, write_beat, write_answered;
  assign read_asked = reads.ar_valid && reads.ar_ready;
  assign read_beat = reads.r_valid && reads.r_ready;
  assign write_asked = writes.aw_valid && writes.aw_ready;
  assign write_beat = writes.w_valid && writes.w_ready;
  assign write_answered = writes.b_valid && writes.b_ready;

  // Errors stop the controller until it is reset.
  logic stop, memory_error_q, keyed, stash_overflow, schedule_overflow;
  assign overflow_o = stash_overflow || schedule_overflow;
  assign stop = stop_i || memory_error_q || overflow_o || key_reused_o;
  assign memory_error_o = memory_error_q;
  assign keyed_o = keyed;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) memory_error_q <= 1'b0;
    else if ((read_beat && reads.r_response != '0) || (write_answered && writes.b_response != '0)) memory_error_q <= 1'b1;
  end

  logic [AddressBits-1:0] base;
  assign base = {base_i[AddressBits-1:12], 12'b0};

  // Keys.
  logic [10:0][127:0] round_keys;
  assign key_known_o = key.data == round_keys[0];
  ameles_aes_key u_key (
    .clk_i, .rst_ni,
    .key_valid_i(key.valid), .key_ready_o(key.ready), .key_i(key.data),
    .valid_o(keyed), .round_keys_o(round_keys), .reused_o(key_reused_o)
  );

  // Jobs.
  logic done;
  ameles_stream_if #(.word_t(job_t)) job ();
  logic [WaitingBits-1:0] waiting;
  ameles_schedule #(.Cfg(Cfg)) u_schedule (
    .clk_i, .rst_ni, .stop_i(stop || !keyed),
    .request, .random, .done_i(done), .waiting_i(waiting),
    .job, .emergencies_o, .overflow_o(schedule_overflow)
  );

  // The write-back, which the reads leave room for.
  ameles_write_back_if #(.Cfg(Cfg)) back ();

  // Reads.
  logic begun_valid, begun_ready, path_valid, arriving_ready, masks_ready;
  job_t begun_job;
  logic [Levels-1:0] begun_on_chip;
  logic [1:0] written_paths;
  logic [$clog2(Levels+1)-1:0] written_levels;
  logic ask_valid, ask_ready, ask_first;
  ameles_read_issue #(.Cfg(Cfg), .AddressBits(AddressBits)) u_read_issue (
    .clk_i, .rst_ni,
    .valid_i(job.valid), .ready_o(job.ready), .job_i(job.data), .base_i(base),
    .read_beat_i(read_beat), .write_beat_i(write_beat),
    .write_begins_i(back.valid && back.ready), .write_whole_i(Cfg.scheme == PathOram || back.job.evict),
    .written_paths_i(written_paths), .written_levels_i(written_levels),
    .ar_valid_o(ask_valid), .ar_ready_i(ask_ready), .ar_address_o(reads.ar_address), .ar_length_o(reads.ar_length),
    .ar_first_o(ask_first),
    .begun_valid_o(begun_valid), .begun_ready_i(begun_ready),
    .path_valid_o(path_valid), .arriving_ready_i(arriving_ready), .masks_ready_i(masks_ready),
    .begun_job_o(begun_job), .begun_on_chip_o(begun_on_chip)
  );

  // Reads go out only if there is room for their answers.
  logic header_beat, header_taken, body_taken, masks_asked;
  ameles_read_room #(.Cfg(Cfg)) u_read_room (
    .clk_i, .rst_ni,
    .valid_i(ask_valid), .ready_o(ask_ready), .first_i(ask_first), .length_i(reads.ar_length),
    .valid_o(reads.ar_valid), .ready_i(reads.ar_ready),
    .header_beat_i(header_beat), .body_beat_i(body_taken), .header_i(header_taken), .request_i(masks_asked)
  );

  // The path goes to the stash, to the arrival, and to the masks.
  logic stash_valid, stash_ready;
  job_t stash_job;
  logic [Levels-1:0] stash_on_chip;
  ameles_stream_if #(.word_t(job_t)) arriving_job (), masks_job ();
  ameles_fifo #(.Width($bits(job_t) + Levels), .Depth(4)) u_jobs (
    .clk_i, .rst_ni,
    .valid_i(begun_valid), .ready_o(begun_ready), .data_i({begun_job, begun_on_chip}),
    .valid_o(stash_valid), .ready_i(stash_ready), .data_o({stash_job, stash_on_chip})
  );
  ameles_fifo #(.Width($bits(job_t)), .Depth(4)) u_arriving (
    .clk_i, .rst_ni,
    .valid_i(path_valid), .ready_o(arriving_ready), .data_i(begun_job),
    .valid_o(arriving_job.valid), .ready_i(arriving_job.ready), .data_o(arriving_job.data)
  );
  ameles_fifo #(.Width($bits(job_t)), .Depth(4)) u_masks_jobs (
    .clk_i, .rst_ni,
    .valid_i(path_valid), .ready_o(masks_ready), .data_i(begun_job),
    .valid_o(masks_job.valid), .ready_i(masks_job.ready), .data_o(masks_job.data)
  );

  // Masks.
  ameles_stream_if #(.word_t(mask_request_t)) read_request (), interest_request (), write_request (), ahead_request ();
  ameles_stream_if #(.word_t(logic [MixedBits-1:0])) read_mask (), write_mask ();
  ameles_stream_if #(.word_t(beat_t)) interest_mask (), ahead_mask ();
  ameles_write_masks #(.Cfg(Cfg)) u_write_masks (
    .clk_i, .rst_ni, .job(masks_job), .request(write_request)
  );
  if (Cfg.scheme == RawOram) begin : gen_ahead
    ameles_eviction_masks #(.Cfg(Cfg)) u_eviction_masks (
      .clk_i, .rst_ni, .request(ahead_request)
    );
  end else begin : gen_no_ahead
    assign {ahead_request.valid, ahead_request.data} = '0;
  end
  ameles_mask_engine #(.Cfg(Cfg)) u_masks (
    .clk_i, .clk2_i, .rst_ni, .round_keys_i(round_keys), .keyed_i(keyed),
    .leaf_input, .leaf_chunk,
    .read_request, .interest_request, .write_request, .ahead_request,
    .read_mask, .interest_mask, .write_mask, .ahead_mask
  );

  // Arrivals.
  ameles_stream_if #(.word_t(row_t)) arrived_header (), header ();
  ameles_stream_if #(.word_t(beat_t)) arrived_body (), body ();
  // Bursts are completed after an error, so that others can use the memory.
  logic arrive_ready;
  assign reads.r_ready = arrive_ready || stop;
  ameles_arrive #(.Cfg(Cfg)) u_arrive (
    .clk_i, .rst_ni, .job(arriving_job),
    .r_valid_i(reads.r_valid), .r_ready_o(arrive_ready), .r_data_i(reads.r_data),
    .header(arrived_header), .header_beat_o(header_beat), .body(arrived_body),
    .mask_request(read_request), .masks_asked_o(masks_asked)
  );
  ameles_fifo #(.Width(CipherBits), .Depth(arrival_headers(Cfg))) u_headers (
    .clk_i, .rst_ni,
    .valid_i(arrived_header.valid), .ready_o(arrived_header.ready), .data_i(arrived_header.data),
    .valid_o(header.valid), .ready_i(header.ready), .data_o(header.data)
  );
  ameles_fifo #(
    .Width(Cfg.bus_bits), .Depth(arrival_beats(Cfg)), .BlockRam(in_block_ram(arrival_beats(Cfg)))
  ) u_bodies (
    .clk_i, .rst_ni,
    .valid_i(arrived_body.valid), .ready_o(arrived_body.ready), .data_i(arrived_body.data),
    .valid_o(body.valid), .ready_i(body.ready), .data_o(body.data)
  );
  assign header_taken = header.valid && header.ready;
  assign body_taken = body.valid && body.ready;

  // The stash, and the write-back. Masks of bodies come with those of rows (Path ORAM), or ahead of time (RAW ORAM).
  ameles_stream_if #(.word_t(row_t)) row_in_mask (), row_back_mask ();
  ameles_stream_if #(.word_t(beat_t)) body_in_mask (), body_back_mask ();
  assign {row_in_mask.valid, row_in_mask.data} = {read_mask.valid, read_mask.data[CipherBits-1:0]};
  assign {row_back_mask.valid, row_back_mask.data} = {write_mask.valid, write_mask.data[CipherBits-1:0]};
  if (Cfg.scheme == RawOram) begin : gen_raw_masks
    assign read_mask.ready = row_in_mask.ready;
    assign write_mask.ready = row_back_mask.ready;
    assign ahead_mask.ready = body_in_mask.ready || body_back_mask.ready;
    assign {body_in_mask.valid, body_in_mask.data} = {ahead_mask.valid, ahead_mask.data};
    assign {body_back_mask.valid, body_back_mask.data} = {ahead_mask.valid, ahead_mask.data};
  end else begin : gen_path_masks
    assign read_mask.ready = row_in_mask.ready || body_in_mask.ready;
    assign write_mask.ready = row_back_mask.ready || body_back_mask.ready;
    assign ahead_mask.ready = 1'b0;
    assign {body_in_mask.valid, body_in_mask.data} = {read_mask.valid, read_mask.data[Cfg.bus_bits-1:0]};
    assign {body_back_mask.valid, body_back_mask.data} = {write_mask.valid, write_mask.data[Cfg.bus_bits-1:0]};
  end

  ameles_stash #(.Cfg(Cfg)) u_stash (
    .clk_i, .rst_ni,
    .valid_i(stash_valid), .ready_o(stash_ready), .job_i(stash_job), .on_chip_i(stash_on_chip),
    .done_o(done), .waiting_o(waiting), .overflow_o(stash_overflow),
    .header, .row_mask(row_in_mask), .body, .body_mask(body_in_mask), .interest_request, .interest_mask,
    .data, .answer, .tag, .back
  );

  ameles_write_back #(.Cfg(Cfg), .AddressBits(AddressBits)) u_write_back (
    .clk_i, .rst_ni, .back, .row_mask(row_back_mask), .body_mask(body_back_mask), .writes, .base_i(base),
    .written_paths_o(written_paths), .written_levels_o(written_levels)
  );

  // An answer to a write is due from the offer of its burst.
  ameles_stall_watch #(.Cfg(Cfg)) u_stall_watch (
    .clk_i, .rst_ni,
    .asked_i(read_asked), .length_i(reads.ar_length), .beat_i(read_beat),
    .waits_i(reads.ar_valid || writes.aw_valid || writes.w_valid || writes.b_ready),
    .moves_i(read_asked || read_beat || write_asked || write_beat || write_answered),
    .stalled_o(memory_stalled_o)
  );

endmodule
