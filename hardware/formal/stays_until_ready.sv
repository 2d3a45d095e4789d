// An offer stays until it is taken: `valid` is high, and the payload the same, until `ready`. This is asserted, or assumed
// for inputs of the proof.
module stays_until_ready #(
  parameter int unsigned Width = 1,
  parameter bit Assumed = 1'b0
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             valid_i,
  input logic             ready_i,
  input logic [Width-1:0] payload_i
);

  logic waits_q, stays;
  logic [Width-1:0] payload_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waits_q <= 1'b0;
    else waits_q <= valid_i && !ready_i;
  end
  always_ff @(posedge clk_i) payload_q <= payload_i;

  assign stays = !rst_ni || !waits_q || (valid_i && payload_i == payload_q);
  if (Assumed) begin : gen_assumed
    always_comb assume (stays);
  end else begin : gen_asserted
    always_comb assert (stays);
  end

endmodule
