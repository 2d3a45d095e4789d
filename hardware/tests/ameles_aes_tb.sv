// Checks the AES-128 cells against published vectors and against its own arithmetic.
//
// Six ciphers get the same blocks. Three have one, two and three stages for each round. One has S-boxes in block RAM.
// Two are the lanes of pipelines at twice the clock; the other lane of these gets other blocks. Two key schedules, of
// both S-boxes, get the same keys. Both S-boxes are checked for all inputs. Each cipher's `valid_o` is checked in every
// cycle. The program exits with 0 if all checks pass. From `hardware/`:
//
//   $ verilator --binary -Wall --Mdir obj_dir --top-module ameles_aes_tb rtl/ameles_aes_pkg.sv rtl/ameles_sbox*.sv
//       rtl/ameles_aes{_round,,_double,_key}.sv tests/ameles_aes_tb.sv
//   $ obj_dir/Vameles_aes_tb

module ameles_aes_tb
  import ameles_aes_pkg::*;
;

  localparam int unsigned Singles = 4;
  localparam int unsigned Ciphers = Singles + 2;
  localparam int unsigned Schedules = 2;
  localparam int unsigned MaxCycles = 200_000;

  // FIPS 197, appendices A.1 and B, and SP 800-38A have one key.
  localparam block_t KeyA = 128'h2b7e151628aed2a6abf7158809cf4f3c;
  localparam block_t KeyC = 128'h000102030405060708090a0b0c0d0e0f;

  // FIPS 197 A.1, the last round key first.
  localparam round_keys_t RoundKeysA = {
    128'hd014f9a8c9ee2589e13f0cc8b6630ca6, 128'hac7766f319fadc2128d12941575c006e,
    128'head27321b58dbad2312bf5607f8d292f, 128'h4e54f70e5f5fc9f384a64fb24ea6dc4f,
    128'h6d88a37a110b3efddbf98641ca0093fd, 128'hd4d1c6f87c839d87caf2b8bc11f915bc,
    128'hef44a541a8525b7fb671253bdb0bad00, 128'h3d80477d4716fe3e1e237e446d7a883b,
    128'hf2c295f27a96b9435935807a7359f67f, 128'ha0fafe1788542cb123a339392a6c7605, KeyA
  };

  // SP 800-38A F.5.1, the last block first.
  localparam block_t FirstCounter = 128'hf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff;
  localparam block_t [3:0] CtrPlain = {
    128'hf69f2445df4f9b17ad2b417be66c3710, 128'h30c81c46a35ce411e5fbc1191a0a52ef,
    128'hae2d8a571e03ac9c9eb76fac45af8e51, 128'h6bc1bee22e409f96e93d7e117393172a
  };
  localparam block_t [3:0] CtrCipher = {
    128'h1e031dda2fbe03d1792170a0f3009cee, 128'h5ae4df3edbd5d35e5b4f09020db03eab,
    128'h9806f66b7970fdff8617187bb9fffdff, 128'h874d6191b620e3261bef6864990db6ce
  };

  // The chain of the AESAVS Monte Carlo test: each of 1000 ciphertexts is the next plaintext. Printed by
  //   b=00112233445566778899aabbccddeeff; for i in $(seq 1000); do b=$(printf %s $b | xxd -r -p |
  //     openssl enc -aes-128-ecb -nopad -K 000102030405060708090a0b0c0d0e0f | xxd -p); done; echo $b
  localparam int unsigned ChainLength = 1000;
  localparam block_t ChainStart = 128'h00112233445566778899aabbccddeeff;
  localparam block_t ChainEnd = 128'hb7449c8da15defeb78dbc57ea81db8ee;

  // Two-state variables begin as zeros.
  bit clk, clk2, rst_n;
  int unsigned cycle, failures, ciphertexts;

  // The signals that drive keys and blocks, on falling edges.
  logic key_valid = 1'b0;
  block_t key = '0;
  logic block_valid = 1'b0;
  logic block_checked = 1'b0;
  block_t block = '0;
  block_t wanted = '0;

  logic [Schedules-1:0] key_ready, reused, expanded;
  round_keys_t [Schedules-1:0] round_keys;
  logic [Ciphers-1:0] out_valid;
  block_t [Ciphers-1:0] out_block, last_block;
  logic [7:0] sbox_in = '0;
  logic [1:0][7:0] sbox_out;

  // The faster clock rises with the slower one and in the middle of its cycle.
  always begin
    #5 {clk, clk2} = 2'b11;
    #5 clk2 = 1'b0;
    #5 {clk, clk2} = 2'b01;
    #5 clk2 = 1'b0;
  end

  always @(posedge clk) begin
    cycle <= cycle + 1;
    if (cycle > MaxCycles) $fatal(1, "the test bench did not finish");
  end

  task automatic check(input logic good, input string name);
    if (!good) begin
      failures++;
      $display("cycle %0d: failed: %s", cycle, name);
    end
  endtask

  task automatic count();
    ciphertexts++;
  endtask

  // Returns a block from its published form, whose first byte is highest, or the reverse.
  function automatic block_t swapped(block_t published);
    for (int k = 0; k < 16; k++) swapped[8*k+:8] = published[8*(15-k)+:8];
  endfunction

  for (genvar v = 0; v < 2; v++) begin : g_sbox
    ameles_sbox #(
      .Composite(v == 1)
    ) u_sbox (
      .data_i(sbox_in),
      .data_o(sbox_out[v])
    );
  end

  for (genvar v = 0; v < Schedules; v++) begin : g_schedule
    ameles_aes_key #(
      .CompositeSbox(v == 1)
    ) u_key (
      .clk_i(clk),
      .rst_ni(rst_n),
      .key_valid_i(key_valid),
      .key_ready_o(key_ready[v]),
      .key_i(key),
      .reused_o(reused[v]),
      .valid_o(expanded[v]),
      .round_keys_o(round_keys[v])
    );
  end

  for (genvar v = 0; v < Ciphers; v++) begin : g_cipher
    localparam int unsigned Stages = v < 3 ? 1 + v : 2;
    localparam int unsigned Latency = v < Singles ? ameles_aes_latency(Stages) : ameles_aes_double_latency();

    // The expected outputs, delayed by the latency of the blocks.
    typedef struct packed {
      logic valid;
      logic checked;
      block_t wanted;
    } expectation_t;
    expectation_t [Latency-1:0] expected;

    if (v < Singles) begin : g_single
      ameles_aes #(
        .StagesPerRound(Stages),
        .RomRounds(v == 3 ? Rounds : 0)
      ) u_aes (
        .clk_i(clk),
        .rst_ni(rst_n),
        .round_keys_i(round_keys[v%2]),
        .valid_i(block_valid),
        .block_i(block),
        .valid_o(out_valid[v]),
        .block_o(out_block[v])
      );
    end else begin : g_double
      localparam int unsigned Lane = v - Singles;
      block_t [1:0] blocks, ciphertexts_both;
      assign blocks[Lane] = block;
      assign blocks[1-Lane] = ~block;
      assign out_block[v] = ciphertexts_both[Lane];
      ameles_aes_double #(
        .RomRounds(3)
      ) u_aes (
        .clk_i(clk),
        .clk2_i(clk2),
        .rst_ni(rst_n),
        .round_keys_i(round_keys[v%2]),
        .valid_i(block_valid),
        .block_i(blocks),
        .valid_o(out_valid[v]),
        .block_o(ciphertexts_both)
      );
    end

    always @(posedge clk or negedge rst_n) begin
      if (!rst_n) expected <= '0;
      else expected <= {expected[Latency-2:0], block_valid, block_checked, wanted};
    end

    always @(posedge clk) begin
      check(out_valid[v] == expected[Latency-1].valid, $sformatf("cipher %0d is valid after its latency", v));
      if (out_valid[v]) begin
        count();
        last_block[v] <= out_block[v];
        check(!expected[Latency-1].checked || out_block[v] == expected[Latency-1].wanted,
              $sformatf("cipher %0d gives %h", v, swapped(expected[Latency-1].wanted)));
      end
    end
  end

  task automatic idle(input int unsigned cycles);
    repeat (cycles) @(negedge clk);
  endtask

  task automatic reset();
    rst_n = 1'b0;
    idle(2);
    rst_n = 1'b1;
    idle(1);
  endtask

  // Sends a published block for one cycle, and then a gap.
  task automatic send(input block_t plain, input block_t cipher, input logic checked, input int unsigned gap);
    block_valid = 1'b1;
    block_checked = checked;
    block = swapped(plain);
    wanted = swapped(cipher);
    idle(1);
    block_valid = 1'b0;
    block = ~block;
    idle(gap);
  endtask

  task automatic drain();
    idle(ameles_aes_latency(3) + 1);
  endtask

  // Offers a published key for a cycle in which the schedule is ready.
  task automatic offer(input block_t published, input string name);
    check(key_ready == '1, {name, " finds the schedule ready"});
    key = swapped(published);
    key_valid = 1'b1;
    idle(1);
    key_valid = 1'b0;
  endtask

  // Offers a published key, which must be taken, and checks when the round keys are there.
  task automatic load(input block_t published, input string name);
    offer(published, name);
    key = ~key;
    check(reused == '0, {name, " is not called reused"});
    for (int unsigned k = 1; k < 11; k++) begin
      check(expanded == '0 && key_ready == '0, {name, " is not valid before its round keys are made"});
      idle(1);
    end
    check(expanded == '1, {name, " is valid eleven cycles after it was taken"});
  endtask

  // Offers a published key which must be refused.
  task automatic refuse(input block_t published, input string name);
    offer(published, name);
    check(reused == '1, {name, " is refused"});
    key = swapped(KeyC);
    key_valid = 1'b1;
    idle(12);
    key_valid = 1'b0;
    check(reused == '1 && expanded == '0 && key_ready == '0, {name, " stays refused, and no other takes its place"});
  endtask

  function automatic logic [7:0] times(logic [7:0] a, logic [7:0] b);
    logic [14:0] product;
    product = '0;
    for (int i = 0; i < 8; i++) if (b[i]) product ^= {7'b0, a} << i;
    for (int i = 14; i > 7; i--) if (product[i]) product ^= 15'h11b << (i - 8);
    return product[7:0];
  endfunction

  // Returns the S-box of FIPS 197 by its definition: the 254th power, then the affine map.
  function automatic logic [7:0] sbox_defined(logic [7:0] a);
    logic [7:0] power;
    power = 8'h01;
    repeat (254) power = times(power, a);
    for (int i = 0; i < 8; i++) begin
      sbox_defined[i] = power[i] ^ power[(i+4)%8] ^ power[(i+5)%8] ^ power[(i+6)%8] ^ power[(i+7)%8];
    end
    sbox_defined ^= 8'h63;
  endfunction

  task automatic check_sboxes();
    for (int a = 0; a < 256; a++) begin
      sbox_in = 8'(a);
      #1;
      for (int v = 0; v < 2; v++) begin
        check(sbox_out[v] == sbox_defined(sbox_in), $sformatf("S-box %0d of %h", v, sbox_in));
      end
    end
    @(negedge clk);
  endtask

  // A key of zeros may equal the initial registers, and is still new.
  task automatic check_first_key();
    reset();
    load('0, "a first key of zeros");
    send('0, 128'h66e94bd4ef8a2c3b884cfa59ca342b2e, 1'b1, 0);
    drain();
    check(key_ready == '0, "no second key is taken before a reset");
    key = swapped(KeyC);
    key_valid = 1'b1;
    idle(3);
    key_valid = 1'b0;
    check(expanded == '1 && reused == '0, "a second key before a reset changes nothing");
    send('0, 128'h66e94bd4ef8a2c3b884cfa59ca342b2e, 1'b1, 0);
    drain();
  endtask

  task automatic check_refusals();
    reset();
    refuse('0, "the key from before the reset");
    reset();
    check(reused == '0, "a reset clears the refusal");
    refuse('0, "the key from before two resets");
    reset();
    load(KeyA, "another key after a refused one");
  endtask

  task automatic check_round_keys();
    for (int v = 0; v < Schedules; v++) begin
      for (int r = 0; r < 11; r++) begin
        check(swapped(round_keys[v][r]) == RoundKeysA[r], $sformatf("schedule %0d has round key %0d of A.1", v, r));
      end
    end
  endtask

  // Sends a block a cycle, and then the same with gaps of zero to five cycles.
  task automatic check_streams();
    for (int unsigned gap = 0; gap < 6; gap++) begin
      for (int unsigned b = 0; b < 4; b++) begin
        send(FirstCounter + block_t'(b), CtrPlain[b] ^ CtrCipher[b], 1'b1, gap == 0 ? 0 : (gap * (b + 1)) % 6);
      end
    end
    send(128'h3243f6a8885a308d313198a2e0370734, 128'h3925841d02dc09fbdc118597196a0b32, 1'b1, 0);
    drain();
  endtask

  task automatic check_reset_on_the_way();
    int unsigned earlier;
    for (int unsigned b = 0; b < 4; b++) send(FirstCounter, '0, 1'b0, 0);
    earlier = ciphertexts;
    reset();
    drain();
    check(ciphertexts == earlier, "blocks on their way do not outlive a reset");
    refuse(KeyA, "the key of those blocks");
  endtask

  // A key that is offered during reset is taken after it, and is not called reused.
  task automatic check_key_in_reset();
    rst_n = 1'b0;
    key = swapped(KeyC);
    key_valid = 1'b1;
    idle(3);
    check(key_ready == '0, "no key is taken in reset");
    rst_n = 1'b1;
    #1 check(key_ready == '0, "no key is taken in the first cycle after reset");
    idle(1);
    load(KeyC, "a key put up in reset");
    send(128'h00112233445566778899aabbccddeeff, 128'h69c4e0d86a7b0430d8cdb78070b4c55a, 1'b1, 0);
    drain();
  endtask

  task automatic check_chain();
    block_t text;
    text = ChainStart;
    for (int unsigned i = 0; i < ChainLength; i++) begin
      send(text, '0, 1'b0, 0);
      drain();
      text = swapped(last_block[0]);
      check(last_block == {Ciphers{last_block[0]}}, $sformatf("all ciphers agree on link %0d of the chain", i));
    end
    check(text == ChainEnd, "the chain ends where another implementation ends it");
  endtask

  task automatic check_reset_in_expansion();
    reset();
    key = swapped(KeyA);
    key_valid = 1'b1;
    idle(1);
    key_valid = 1'b0;
    idle(4);
    reset();
    refuse(KeyA, "a key whose expansion a reset broke off");
    reset();
    load(KeyC, "a key older than the last");
  endtask

  initial begin
    check_sboxes();
    check_first_key();
    check_refusals();
    check_round_keys();
    check_streams();
    check_reset_on_the_way();
    check_key_in_reset();
    check_chain();
    check_reset_in_expansion();
    check(ciphertexts == Ciphers * (2 + 25 + 1 + ChainLength), "every block came out once");
    if (failures != 0) $fatal(1, "%0d checks failed", failures);
    $display("all checks of the AES cells passed: %0d ciphertexts in %0d cycles", ciphertexts, cycle);
    $finish;
  end

endmodule
