// A range of memory passes in bursts, if the range stays until it is taken. The bursts stay until they are taken, cross
// no boundary of 4096 bytes, and cover the range. Each begins where the one before ended, and the last one ends with
// the range.
module burst_proof #(
  parameter int unsigned BusBits = 512,
  parameter int unsigned MostBeats = 100,
  parameter bit Wrong = 1'b0,  // for a proof that must fail: the stretch need not stay
  localparam int unsigned BeatBits = $clog2(MostBeats + 1)
) (
  input logic                clk_i,
  input logic                valid_i,
  input logic [19:0]         offset_i,
  input logic [BeatBits-1:0] beats_i,
  input logic                ready_i
);

  localparam int unsigned BeatBytes = BusBits / 8;

  logic rst_n, taken, valid, last;
  logic [19:0] offset;
  logic [7:0] length;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_burst #(.OffsetBits(20), .BusBits(BusBits), .MostBeats(MostBeats)) u_burst (
    .clk_i, .rst_ni(rst_n), .valid_i, .ready_o(taken), .offset_i, .beats_i,
    .valid_o(valid), .ready_i, .offset_o(offset), .length_o(length), .first_o(), .last_o(last)
  );

  stays_until_ready #(.Width(20 + BeatBits), .Assumed(1'b1)) u_stretch (
    .clk_i, .rst_ni(rst_n), .valid_i(valid_i && !Wrong), .ready_i(taken), .payload_i({offset_i, beats_i})
  );
  always_comb assume (offset_i[$clog2(BeatBytes)-1:0] == '0 && beats_i != '0 && 32'(beats_i) <= MostBeats);

  stays_until_ready #(.Width(29)) u_stays (
    .clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .payload_i({last, offset, length})
  );

  // Beats of the stretch that have passed.
  logic [BeatBits-1:0] passed_q;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) passed_q <= '0;
    else if (taken) passed_q <= '0;
    else if (valid && ready_i) passed_q <= passed_q + BeatBits'(length) + 1'b1;
  end
  always_comb begin
    if (rst_n && valid) begin
      assert (offset == offset_i + 20'(passed_q) * 20'(BeatBytes));
      assert (32'(offset[11:0]) + (32'(length) + 32'd1) * BeatBytes <= 32'd4096);
      assert (last == (32'(passed_q) + 32'(length) + 32'd1 == 32'(beats_i)));
      assert (32'(passed_q) + 32'(length) < 32'(beats_i));
      // For the induction.
      assert (u_burst.begun_q || passed_q == '0);
      assert (!u_burst.begun_q || (32'(u_burst.left_q) + 32'(passed_q) == 32'(beats_i) && u_burst.left_q != '0));
    end
    if (rst_n) assert (valid || (passed_q == '0 && !u_burst.begun_q) || Wrong);
  end

endmodule
