// The S-box of AES: the inverse in GF(2^8) followed by an affine map.
//
// Interface: `data_o` is the substitute of `data_i`. Timing: combinational. Keeps: nothing.
//
// `Composite` 0 is a table. If look-up tables have six inputs, four of them and their multiplexers make one output bit
// in one level of logic. These are 32 look-up tables, where the arithmetic below takes 68 and several levels.
// `Composite` 1 inverts in the tower of fields GF(((2^2)^2)^2). It is for gates, and for look-up tables with four
// inputs: 63 of them, where the table takes 159. Yosys 0.70 counted both, the latter by `synth_ecp5 -nowidelut`.
module ameles_sbox #(
  parameter bit Composite = 1'b0
) (
  input  logic [7:0] data_i,
  output logic [7:0] data_o
);

  if (Composite) begin : g_composite
    ameles_sbox_composite u_sbox (
      .data_i,
      .data_o
    );
  end else begin : g_table
    ameles_sbox_table u_sbox (
      .data_i,
      .data_o
    );
  end

endmodule
