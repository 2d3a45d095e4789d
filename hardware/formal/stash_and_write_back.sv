// The stash and the write-back, joined as in ameles_backend, in an arbitrary environment. Any jobs and headers may come
// at any time, and masks and memory may be ready at any time. Contents of blocks are zeros, because nothing depends on
// them.
module stash_and_write_back
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Levels = levels(Cfg),
  localparam int unsigned CipherBits = row_chunks(Cfg) * 128
) (
  input  logic         clk_i,
  input  logic [511:0] any_i,  // any behaviour of the environment in this cycle
  output logic         rst_no
);

  first_cycle_reset u_reset (.clk_i, .rst_no);

  logic valid, header_valid, row_mask_valid, body_valid, body_mask_valid, interest_ready, interest_mask_valid, data_valid;
  logic answer_ready, write_mask_valid, aw_ready, w_ready, b_valid, tag_valid;
  job_t job;
  logic [Levels-1:0] on_chip;
  logic [CipherBits-1:0] header;
  assign {
    valid, header_valid, row_mask_valid, body_valid, body_mask_valid, interest_ready, interest_mask_valid, data_valid,
    answer_ready, write_mask_valid, aw_ready, w_ready, b_valid, tag_valid, on_chip, job, header
  } = any_i[13+Levels+$bits(job_t)+CipherBits:0];

  // A job has a valid operation, and a put follows a take in its path.
  logic ready, overflow, joins;
  assign joins = u_stash.state_q == 4'd10;
  always_comb assume (!valid || (job.op <= OpSkip && (!joins || ((job.op == OpPut || job.op == OpSkip) && !job.evict))));

  // The tree top detects unwritten rows by the counts of paths and evictions, which are those of ameles_schedule.
  if (Cfg.top_levels > 0) begin : gen_counted
    logic [63:0] paths_q, evictions_q;
    logic takes;
    assign takes = valid && ready && (job.evict || has_path(job.op));
    always_comb begin
      assume (!takes || (job.iv == paths_q && job.evictions == evictions_q));
      assume (!(takes && job.evict && Cfg.scheme == RawOram) || job.path == eviction_path(Cfg, evictions_q));
    end
    always_ff @(posedge clk_i or negedge rst_no) begin
      if (!rst_no) {paths_q, evictions_q} <= '0;
      else begin
        paths_q <= paths_q + 64'(takes);
        evictions_q <= evictions_q + 64'(takes && job.evict);
      end
    end
  end

  ameles_stream_if #(.word_t(logic [CipherBits-1:0])) header_in (), row_in_mask (), row_back_mask ();
  ameles_stream_if #(.word_t(logic [Cfg.bus_bits-1:0])) body (), body_in_mask (), body_back_mask ();
  ameles_stream_if #(.word_t(logic [Cfg.bus_bits-1:0])) interest_mask (), user_data ();
  ameles_stream_if #(.word_t(mask_request_t)) interest_request ();
  ameles_answer_if #(.Cfg(Cfg)) answer ();
  ameles_stream_if #(.word_t(logic [at_least_one(Cfg.tag_bits)-1:0])) tag ();
  assign {header_in.valid, header_in.data} = {header_valid, header};
  assign {row_in_mask.valid, row_in_mask.data} = {row_mask_valid, CipherBits'(0)};
  assign {row_back_mask.valid, row_back_mask.data} = {write_mask_valid, CipherBits'(0)};
  assign {body.valid, body_in_mask.valid, body_back_mask.valid} = {body_valid, body_mask_valid, body_mask_valid};
  assign {interest_mask.valid, user_data.valid, tag.valid} = {interest_mask_valid, data_valid, tag_valid};
  assign {body.data, body_in_mask.data, body_back_mask.data, interest_mask.data, user_data.data, tag.data} = '0;
  assign {interest_request.ready, answer.ready} = {interest_ready, answer_ready};

  ameles_write_back_if #(.Cfg(Cfg)) back ();
  ameles_axi_if #(.AddressBits(16), .Data(Cfg.bus_bits)) memory ();
  assign {memory.aw_ready, memory.w_ready, memory.b_valid} = {aw_ready, w_ready, b_valid};
  ameles_stash #(.Cfg(Cfg)) u_stash (
    .clk_i, .rst_ni(rst_no),
    .valid_i(valid), .ready_o(ready), .job_i(job), .on_chip_i(on_chip),
    .done_o(), .waiting_o(), .overflow_o(overflow),
    .header(header_in), .row_mask(row_in_mask), .body, .body_mask(body_in_mask), .interest_request, .interest_mask,
    .data(user_data), .answer, .tag, .back
  );
  ameles_write_back #(.Cfg(Cfg), .AddressBits(16)) u_write_back (
    .clk_i, .rst_ni(rst_no), .back, .row_mask(row_back_mask), .body_mask(body_back_mask), .writes(memory), .base_i('0),
    .written_paths_o(), .written_levels_o()
  );

endmodule
