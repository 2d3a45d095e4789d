// Two S-boxes of AES in a read-only memory, for block RAM with two ports.
//
// Interface: `data_o` are the substitutes of `data_i`. Timing: they come one cycle after their bytes. Keeps: nothing
// else.
module ameles_sbox_rom (
  input  logic            clk_i,
  input  logic [1:0][7:0] data_i,
  output logic [1:0][7:0] data_o
);

  // Without this, tools would make look-up tables of such a small memory.
  (* rom_style = "block", ram_style = "block" *) logic [7:0] words [256];

  initial begin
    for (int nth = 0; nth < 256; nth++) words[nth] = ameles_aes_pkg::SboxTable[nth];
  end

  always_ff @(posedge clk_i) begin
    data_o[0] <= words[data_i[0]];
    data_o[1] <= words[data_i[1]];
  end

endmodule
