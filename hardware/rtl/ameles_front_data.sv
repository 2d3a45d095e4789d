// Data on their way from the front end to the backend, in the order of their slots. They are blocks that the user
// writes, and PosMap blocks that leave the PLB.
//
// Interface: beats of the user come whenever there is room, before or after their request. `whole_o` says that all
// beats of the next block are here. A slot that needs data is ordered at `order`. It is a PosMap block with its
// contents, a block of the user, or a block of the user that is dropped. Beats pass to the backend as it takes them.
//
// Timing: a beat of the user can pass one cycle after it came, or two if blocks are long.
//
// Keeps: blocks of the user, one PosMap block, and the order of four slots.
module ameles_front_data
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Data = Cfg.bus_bits,
  localparam int unsigned Group = group_beats(Cfg) * Cfg.bus_bits
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  // The user.
  ameles_stream_if.sink    data,
  output logic             whole_o,
  // Slots that need data: `source_e`.
  ameles_stream_if.sink    order,
  input  logic [Group-1:0] group_i,
  // The backend.
  ameles_stream_if.source  store
);

  localparam int unsigned Beats = block_beats(Cfg);
  localparam int unsigned BeatBits = at_least_one($clog2(Beats));
  localparam int unsigned Blocks = waiting_blocks(Cfg);
  localparam int unsigned BlocksBits = $clog2(Blocks + 1);

  // Beats of the user, and the number of whole blocks that no slot has taken.
  logic user_valid, user_taken, came, last_came, ordered, given, grouped;
  logic [Data-1:0] user_data;
  logic [BeatBits-1:0] came_q;
  logic [BlocksBits-1:0] whole_q;
  ameles_fifo #(.Width(Data), .Depth(Blocks * Beats), .BlockRam(in_block_ram(Blocks * Beats))) u_user (
    .clk_i, .rst_ni,
    .valid_i(data.valid), .ready_o(data.ready), .data_i(data.data),
    .valid_o(user_valid), .ready_i(user_taken), .data_o(user_data)
  );
  assign came = data.valid && data.ready;
  assign last_came = came && came_q == BeatBits'(Beats - 1);
  assign ordered = order.valid && order.ready;
  assign given = ordered && order.data != FromLookAside;
  assign grouped = ordered && order.data == FromLookAside;
  assign whole_o = whole_q != '0;

  // The order of slots, and the PosMap block. Its slot is done before there is another PosMap block.
  logic orders_ready, known, passes, last, grouped_q;
  source_e source;
  ameles_fifo #(.Width($bits(source_e)), .Depth(4)) u_orders (
    .clk_i, .rst_ni,
    .valid_i(ordered), .ready_o(orders_ready), .data_i(order.data),
    .valid_o(known), .ready_i(passes && last), .data_o({source})
  );
  assign order.ready = orders_ready && (order.data != FromLookAside || !grouped_q);

  // Beats: those of a PosMap block are zeros after its counters.
  logic [BeatBits-1:0] beat_q;
  logic [Group-1:0] group_q;
  assign last = beat_q == BeatBits'(Beats - 1);
  assign store.valid = known && (source == FromLookAside || (source == FromUser && user_valid));
  assign passes = (store.valid && store.ready) || (known && source == Dropped && user_valid);
  assign user_taken = passes && source != FromLookAside;
  assign store.data = source == FromLookAside ? group_q[Data-1:0] : user_data;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      came_q <= '0;
      whole_q <= '0;
      beat_q <= '0;
      grouped_q <= 1'b0;
    end else begin
      if (came) came_q <= last_came ? '0 : came_q + 1'b1;
      whole_q <= whole_q + BlocksBits'(last_came) - BlocksBits'(given);
      if (passes) beat_q <= last ? '0 : beat_q + 1'b1;
      if (grouped) grouped_q <= 1'b1;
      else if (passes && last && source == FromLookAside) grouped_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (grouped) group_q <= group_i;
    else if (Beats > 1 && passes && source == FromLookAside) group_q <= group_q >> Data;
  end

endmodule
