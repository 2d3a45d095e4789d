// A round of AES encryption: SubBytes, ShiftRows, MixColumns and AddRoundKey.
//
// Interface: `block_i` is the state before the round, `block_o` the state after it, and `round_key_i` the key of the
// round. `Last` omits MixColumns, as the last round of AES does. `ameles_aes_pkg` defines the order of bytes.
//
// Timing: the output is registered. With `Stages` 1 there is only this register, so a result comes one cycle after its
// input. With `Stages` 2 there is another one between SubBytes and MixColumns, so a result comes two cycles after its
// input. With `Stages` 3 there is a third one within MixColumns, unless the round has none. Then no path has more than
// one look-up table of six inputs, except for the multiplexers in the S-box. A round begins in every cycle. `Rom` puts
// the S-boxes into block RAM, two in each. The last stage uses the round key, which must be stable while blocks are in
// the pipeline.
//
// Keeps: the states of the blocks in the pipeline. These registers have no reset, because nothing reads them too early.
module ameles_aes_round
  import ameles_aes_pkg::*;
#(
  parameter int unsigned Stages = 1,
  parameter bit Last = 1'b0,
  parameter bit Rom = 1'b0,
  parameter bit CompositeSbox = 1'b0
) (
  input  logic   clk_i,
  input  block_t round_key_i,
  input  block_t block_i,
  output block_t block_o
);

  if (Stages < 1 || Stages > 3) begin : g_bad_stages
    $error("ameles_aes_round: Stages must be 1, 2 or 3");
  end

  block_t middle, mixed;
  block_t block_d, block_q;

  if (Rom) begin : g_rom
    if (Stages == 1) begin : g_bad_rom
      $error("ameles_aes_round: S-boxes in block RAM need a register behind them, so Stages must be 2 or 3");
    end
    for (genvar k = 0; k < 8; k++) begin : g_sbox
      ameles_sbox_rom u_sbox (
        .clk_i,
        .data_i(block_i[16*k+:16]),
        .data_o(middle[16*k+:16])
      );
    end
  end else begin : g_logic
    block_t substituted;
    for (genvar k = 0; k < 16; k++) begin : g_sbox
      ameles_sbox #(
        .Composite(CompositeSbox)
      ) u_sbox (
        .data_i(block_i[8*k+:8]),
        .data_o(substituted[8*k+:8])
      );
    end
    if (Stages > 1) begin : g_middle_register
      block_t middle_q;
      always_ff @(posedge clk_i) middle_q <= substituted;
      assign middle = middle_q;
    end else begin : g_no_middle_register
      assign middle = substituted;
    end
  end

  // ShiftRows is wiring: row r of column c comes from column c + r.
  for (genvar c = 0; c < 4; c++) begin : g_column
    column_t shifted, column;
    logic [3:0] carries, carry;
    logic [7:0] sums, sum;
    for (genvar r = 0; r < 4; r++) begin : g_row
      assign shifted[r] = middle[8*(r+4*((c+r)%4))+:8];
      // Whether twice the sum of two bytes exceeds a byte.
      assign carries[r] = shifted[r][7] ^ shifted[(r+1)%4][7];
    end
    assign sums = shifted[0] ^ shifted[1] ^ shifted[2] ^ shifted[3];

    if (Stages == 3 && !Last) begin : g_sum_register
      column_t column_q;
      logic [3:0] carry_q;
      logic [7:0] sum_q;
      always_ff @(posedge clk_i) {column_q, carry_q, sum_q} <= {shifted, carries, sums};
      assign {column, carry, sum} = {column_q, carry_q, sum_q};
    end else begin : g_no_sum_register
      assign {column, carry, sum} = {shifted, carries, sums};
    end

    for (genvar r = 0; r < 4; r++) begin : g_mixed_row
      if (Last) begin : g_plain
        assign mixed[8*(r+4*c)+:8] = column[r];
      end else begin : g_mixed
        assign mixed[8*(r+4*c)+:8] = mixed_row(column, 2'(r), carry[r], sum);
      end
    end
  end

  assign block_d = mixed ^ round_key_i;

  always_ff @(posedge clk_i) block_q <= block_d;

  assign block_o = block_q;

endmodule
