// Limits reads of memory to the room for their answers. Each burst that passes has room reserved for its beats, its
// header and the request for its masks. So a beat that arrives is taken at once, and memory that serves one direction
// at a time never waits for the other one.
//
// Interface: bursts pass from `valid_i` to `valid_o`; `first_i` says that a bucket begins. The other inputs say what
// leaves. This is a beat of a header, which no queue keeps, a beat of a body, a header, or a request for masks.
//
// Timing: a burst passes in the cycle in which there is room for it. Room that becomes free in a cycle can be used from
// the next cycle. This depends only on the paths.
//
// Keeps: the numbers of beats, headers and requests that are on their way or wait.
module ameles_read_room
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  // Bursts, as they are requested and as memory gets them.
  input  logic       valid_i,
  output logic       ready_o,
  input  logic       first_i,
  input  logic [7:0] length_i,  // beats less one
  output logic       valid_o,
  input  logic       ready_i,
  // The data that leave.
  input  logic       header_beat_i,
  input  logic       body_beat_i,
  input  logic       header_i,
  input  logic       request_i
);

  localparam int unsigned Beats = arrival_beats(Cfg);
  localparam int unsigned Headers = arrival_headers(Cfg);
  localparam int unsigned BeatBits = $clog2(Beats + 1);
  localparam int unsigned HeaderBits = $clog2(Headers + 1);
  localparam int unsigned WideBits = BeatBits > 8 ? BeatBits + 1 : 9;

  logic [BeatBits-1:0] beats_q, asked;
  logic [HeaderBits-1:0] headers_q, requests_q;
  logic has_room, passes, begins;

  // Room that was found stays until the burst has passed.
  assign has_room = WideBits'(beats_q) + WideBits'(length_i) < WideBits'(Beats)
      && headers_q != HeaderBits'(Headers) && requests_q != HeaderBits'(Headers);
  assign valid_o = valid_i && has_room;
  assign ready_o = ready_i && has_room;
  assign passes = valid_o && ready_i;
  assign begins = passes && first_i;
  assign asked = passes ? BeatBits'(length_i) + 1'b1 : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beats_q <= '0;
      headers_q <= '0;
      requests_q <= '0;
    end else begin
      beats_q <= beats_q + asked - BeatBits'(header_beat_i) - BeatBits'(body_beat_i);
      headers_q <= headers_q + HeaderBits'(begins) - HeaderBits'(header_i);
      requests_q <= requests_q + HeaderBits'(begins) - HeaderBits'(request_i);
    end
  end

endmodule
