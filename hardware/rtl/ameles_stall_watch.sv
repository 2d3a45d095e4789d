// The watch over memory: it detects that nothing has passed for `stall_cycles` cycles, although memory has work to do.
//
// Interface: `moves_i` says that something passes on any channel of the bus, and `waits_i` that an address, a beat or
// an answer is due. Reads are counted here. `stalled_o` falls when something passes again: a delay loses nothing.
//
// Timing: `stalled_o` rises after that many cycles. It depends only on the bus. Keeps: the cycles, and the number of
// beats that are due.
module ameles_stall_watch
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       asked_i,   // a burst of reads passes
  input  logic [7:0] length_i,  // its beats less one
  input  logic       beat_i,    // a beat of a read passes
  input  logic       waits_i,
  input  logic       moves_i,
  output logic       stalled_o
);

  if (Cfg.stall_cycles == 0) begin : gen_never
    assign stalled_o = 1'b0;
  end else begin : gen_watch
    localparam int unsigned Bits = $clog2(Cfg.stall_cycles + 1);
    localparam int unsigned BeatBits = $clog2(arrival_beats(Cfg) + 1);
    logic [Bits-1:0] still_q;
    logic [BeatBits-1:0] coming_q;
    assign stalled_o = still_q == Bits'(Cfg.stall_cycles);
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        still_q <= '0;
        coming_q <= '0;
      end else begin
        coming_q <= coming_q + (asked_i ? BeatBits'(length_i) + 1'b1 : '0) - BeatBits'(beat_i);
        if (moves_i || !(waits_i || coming_q != '0)) still_q <= '0;
        else if (!stalled_o) still_q <= still_q + 1'b1;
      end
    end
  end

endmodule
