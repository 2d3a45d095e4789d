// AES-128 encryption with one round per cycle: small, for blocks that depend on each other.
//
// Interface: a block begins in a cycle in which `valid_i` and `ready_o` are high. `key_i` must be stable until it is
// finished. `block_o` is the ciphertext when `done_o` is high, and stays until the next block begins. `ameles_aes_pkg`
// defines the order of bytes.
//
// Timing: a ciphertext comes eleven cycles after its block, and the next block may begin in that cycle.
//
// Keeps: the state and the key of the round.
module ameles_aes_serial
  import ameles_aes_pkg::*;
#(
  parameter bit CompositeSbox = 1'b0
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  input  block_t key_i,
  input  logic   valid_i,
  output logic   ready_o,
  input  block_t block_i,
  output logic   done_o,
  output block_t block_o
);

  localparam logic [7:0] FirstConstant = 8'h01;

  logic [3:0] left_q;
  logic done_q, begins, last;
  logic [7:0] constant_q, constant;
  block_t state_q, round_key_q, next_key, substituted, shifted, mixed;

  assign ready_o = left_q == '0;
  assign begins = valid_i && ready_o;
  assign last = left_q == 4'd1;

  // The key of the next round. During the first key addition it is the key of the first round.
  assign constant = begins ? FirstConstant : constant_q;
  ameles_aes_next_key #(
    .CompositeSbox(CompositeSbox)
  ) u_next_key (
    .constant_i(constant),
    .key_i(begins ? key_i : round_key_q),
    .key_o(next_key)
  );

  for (genvar k = 0; k < 16; k++) begin : g_sbox
    ameles_sbox #(
      .Composite(CompositeSbox)
    ) u_sbox (
      .data_i(state_q[8*k+:8]),
      .data_o(substituted[8*k+:8])
    );
  end
  for (genvar c = 0; c < 4; c++) begin : g_column
    column_t column;
    logic [7:0] sum;
    assign sum = column[0] ^ column[1] ^ column[2] ^ column[3];
    for (genvar r = 0; r < 4; r++) begin : g_row
      assign column[r] = substituted[8*(r+4*((c+r)%4))+:8];
      assign shifted[8*(r+4*c)+:8] = column[r];
      assign mixed[8*(r+4*c)+:8] = mixed_row(column, 2'(r), column[r][7] ^ column[(r+1)%4][7], sum);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= '0;
      done_q <= 1'b0;
    end else begin
      if (begins) left_q <= 4'(Rounds);
      else if (left_q != '0) left_q <= left_q - 1'b1;
      done_q <= last;
    end
  end
  always_ff @(posedge clk_i) begin
    if (begins) state_q <= block_i ^ key_i;
    else if (left_q != '0) state_q <= (last ? shifted : mixed) ^ round_key_q;
    if (begins || left_q != '0) begin
      round_key_q <= next_key;
      constant_q <= times_x(constant);
    end
  end

  assign done_o = done_q;
  assign block_o = state_q;

endmodule
