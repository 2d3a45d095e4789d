// The S-box of AES as a table of its 256 values, which FIPS 197 lists in its table 4.
//
// Interface: `data_o` is the substitute of `data_i`. Timing: combinational. Keeps: nothing.
module ameles_sbox_table (
  input  logic [7:0] data_i,
  output logic [7:0] data_o
);

  assign data_o = ameles_aes_pkg::SboxTable[data_i];

endmodule
