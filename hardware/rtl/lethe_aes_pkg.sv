// The constants and types of the AES-128 cells, for whoever instantiates them.
//
// The order of bytes is the same in every cell. Byte k of a block or key is bits [8*k +: 8], so that the first byte of
// a published test vector is lowest. Row r and column c of the standard's state are byte r + 4*c.
package lethe_aes_pkg;

  localparam int unsigned Rounds = 10;

  typedef logic [127:0] block_t;
  typedef logic [Rounds:0][127:0] round_keys_t;

  // Returns the cycles from a block at the input of `lethe_aes` to its ciphertext at the output.
  // One goes to the first key addition, and every round takes `stages_per_round`.
  function automatic int unsigned lethe_aes_latency(int unsigned stages_per_round);
    return 1 + Rounds * stages_per_round;
  endfunction

  // Returns a byte times x in the field of AES.
  function automatic logic [7:0] times_x(logic [7:0] a);
    return {a[6:0], 1'b0} ^ (8'h1b & {8{a[7]}});
  endfunction

endpackage
