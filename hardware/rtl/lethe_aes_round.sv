// A round of AES encryption: SubBytes, ShiftRows, MixColumns and AddRoundKey.
//
// Interface: `block_i` is the state before the round, `block_o` the state after it, `round_key_i` the key of the round.
// `Last` leaves MixColumns out, as the last round of AES does. Bytes lie as `lethe_aes_pkg` says.
//
// Timing: the output is registered. `Stages` 1 has that register alone, so a result is one cycle after its input.
// `Stages` 2 has another between SubBytes and MixColumns, so a result is two cycles after. A round begins every cycle.
// The round key is used in the last stage, and must be stable while blocks are on their way.
//
// Keeps: the states of the blocks on their way. These registers have no reset, since nothing reads them too early.
module lethe_aes_round
  import lethe_aes_pkg::*;
#(
  parameter int unsigned Stages = 1,
  parameter bit Last = 1'b0,
  parameter bit CompositeSbox = 1'b0
) (
  input  logic   clk_i,
  input  block_t round_key_i,
  input  block_t block_i,
  output block_t block_o
);

  if (Stages != 1 && Stages != 2) begin : g_bad_stages
    $error("lethe_aes_round: Stages must be 1 or 2");
  end

  block_t substituted, middle, mixed;
  block_t block_d, block_q;

  for (genvar k = 0; k < 16; k++) begin : g_sbox
    lethe_sbox #(
      .Composite(CompositeSbox)
    ) u_sbox (
      .data_i(block_i[8*k+:8]),
      .data_o(substituted[8*k+:8])
    );
  end

  if (Stages == 2) begin : g_middle_register
    block_t middle_q;
    always_ff @(posedge clk_i) middle_q <= substituted;
    assign middle = middle_q;
  end else begin : g_no_middle_register
    assign middle = substituted;
  end

  // ShiftRows is wiring: row r of column c comes from column c + r.
  for (genvar c = 0; c < 4; c++) begin : g_column
    logic [3:0][7:0] column;
    for (genvar r = 0; r < 4; r++) begin : g_row
      assign column[r] = middle[8*(r+4*((c+r)%4))+:8];
      if (Last) begin : g_plain
        assign mixed[8*(r+4*c)+:8] = column[r];
      end else begin : g_mixed
        assign mixed[8*(r+4*c)+:8] = times_x(column[r]) ^ times_x(column[(r+1)%4]) ^ column[(r+1)%4]
                                   ^ column[(r+2)%4] ^ column[(r+3)%4];
      end
    end
  end

  assign block_d = mixed ^ round_key_i;

  always_ff @(posedge clk_i) block_q <= block_d;

  assign block_o = block_q;

endmodule
