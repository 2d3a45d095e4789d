// The order of the work: requests as they come, and the evictions between them.
//
// RAW ORAM evicts after each A accesses, the next path in reverse lexicographic order. In addition, a path is evicted
// before the next request while the stash might have no room for a further block. This is an emergency, which is
// visible. The choice of C bounds its probability. After 1,023 of them in a row the stash counts as too full: memory
// returns invalid blocks faster than paths take them back.
//
// Interface: requests pass in, and jobs pass out, in order. `done_i` says that the stash has finished a job, and how
// many blocks wait then.
//
// Timing: a request becomes a job in the cycle in which it passes. Requests run ahead of the work before them as long
// as their blocks fit in any case. Else they wait until the number of blocks is known.
//
// Keeps: the counts that no two paths may share: IVs and evictions.
module ameles_schedule
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned WaitingBits = $clog2(Cfg.stash_blocks + 2)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   stop_i,
  // Requests: `request_t`.
  ameles_stream_if.sink          request,
  // A path for an emergency of Path ORAM: drawn at random.
  ameles_stream_if.sink          random,
  // The stash: finished work, and the blocks that wait then.
  input  logic                   done_i,
  input  logic [WaitingBits-1:0] waiting_i,
  // Jobs: `job_t`.
  ameles_stream_if.source        job,
  output logic [31:0]            emergencies_o,
  output logic                   overflow_o
);

  localparam int unsigned AccessBits = Cfg.scheme == RawOram ? $clog2(Cfg.eviction_rate + 2) : 1;

  logic [AccessBits-1:0] accesses_q;
  logic [63:0] iv_q, evictions_q;
  logic [WaitingBits-1:0] waiting_q;
  logic [2:0] ahead_q;
  logic more_q;
  logic [9:0] in_a_row_q;
  logic [31:0] path;
  logic is_due, fits, settled, is_emergency, is_request, takes, is_access;
  request_t asked;

  assign asked = request.data;
  assign is_due = Cfg.scheme == RawOram && !more_q && accesses_q == AccessBits'(Cfg.eviction_rate);
  assign fits = 32'(waiting_q) + 32'(ahead_q) < Cfg.stash_blocks;
  assign settled = ahead_q == '0;
  assign is_emergency = !is_due && !more_q && settled && !fits && (Cfg.scheme == RawOram || random.valid);
  // A put that belongs to a take needs no check for room: the taken block has left its slot.
  assign is_request = !is_due && (fits || more_q) && request.valid;
  assign is_access = has_path(asked.op);

  assign job.valid = !stop_i && ahead_q != 3'd7 && (is_due || is_emergency || is_request);
  assign takes = job.valid && job.ready;
  assign request.ready = takes && is_request;
  assign random.ready = takes && is_emergency && Cfg.scheme == PathOram;

  assign overflow_o = in_a_row_q == '1;
  assign path = Cfg.scheme == PathOram ? random.data : eviction_path(Cfg, evictions_q);

  always_comb begin
    job.data = '{
      evict: !is_request,
      op: is_request ? asked.op : OpDummy,
      more: is_request && asked.more,
      block: asked.block,
      path: is_request ? asked.path : path,
      leaf: asked.leaf,
      iv: iv_q,
      evictions: evictions_q
    };
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      accesses_q <= '0;
      iv_q <= '0;
      evictions_q <= '0;
      waiting_q <= '0;
      ahead_q <= '0;
      emergencies_o <= '0;
      more_q <= 1'b0;
      in_a_row_q <= '0;
    end else begin
      ahead_q <= ahead_q + 3'(takes) - 3'(done_i);
      if (done_i) waiting_q <= waiting_i;
      if (takes) begin
        if (!is_request || is_access) iv_q <= iv_q + 1'b1;
        if (!is_request && Cfg.scheme == RawOram) evictions_q <= evictions_q + 1'b1;
        if (is_due) accesses_q <= '0;
        else if (is_request && is_access && Cfg.scheme == RawOram) accesses_q <= accesses_q + 1'b1;
        if (is_request) more_q <= asked.more;
        if (is_emergency) begin
          emergencies_o <= emergencies_o + 1'b1;
          in_a_row_q <= in_a_row_q + 10'(!overflow_o);
        end else in_a_row_q <= '0;
      end
    end
  end

endmodule
