// A step of the key schedule of AES-128: the next round key from the one before.
//
// Interface: `constant_i` is the constant of the round. It is 1 for the first round, and for each later one twice the
// one before, in the field of AES. `ameles_aes_pkg` defines the order of bytes. Timing: combinational, with four
// S-boxes. Keeps: nothing.
module ameles_aes_next_key
  import ameles_aes_pkg::*;
#(
  parameter bit CompositeSbox = 1'b0
) (
  input  logic [7:0] constant_i,
  input  block_t     key_i,
  output block_t     key_o
);

  logic [31:0] rotated, substituted;
  assign rotated = {key_i[103:96], key_i[127:104]};

  for (genvar k = 0; k < 4; k++) begin : g_sbox
    ameles_sbox #(
      .Composite(CompositeSbox)
    ) u_sbox (
      .data_i(rotated[8*k+:8]),
      .data_o(substituted[8*k+:8])
    );
  end

  assign key_o[31:0] = key_i[31:0] ^ substituted ^ {24'h0, constant_i};
  assign key_o[63:32] = key_i[63:32] ^ key_o[31:0];
  assign key_o[95:64] = key_i[95:64] ^ key_o[63:32];
  assign key_o[127:96] = key_i[127:96] ^ key_o[95:64];

endmodule
