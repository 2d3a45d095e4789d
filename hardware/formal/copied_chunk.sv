// The chunk of a replaced AES for a proof about the order of masks: it is its pad.
module replaced_chunk (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [127:0] pad_i,
  output logic [127:0] chunk_o
);

  logic unused;
  assign unused = clk_i && rst_ni;
  assign chunk_o = pad_i;

endmodule
