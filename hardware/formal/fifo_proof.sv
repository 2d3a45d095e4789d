// A queue neither loses nor doubles nor reorders words: the nth word that went in is the nth that comes out, for any n.
// Counts are modulo a power of two above the capacity of the queue. A word that is offered stays until it is taken.
module fifo_proof #(
  parameter bit BlockRam = 1'b0,
  parameter int unsigned Width = 2,
  parameter int unsigned Depth = 4,
  parameter bit Wrong = 1'b0  // for a proof that must fail
) (
  input logic             clk_i,
  input logic             valid_i,
  input logic             ready_i,
  input logic [Width-1:0] data_i,
  input logic [31:0]      any_i
);

  localparam int unsigned NthBits = $clog2(Depth + 2) + 2;

  logic rst_n, ready, valid;
  logic [Width-1:0] data;
  // For the induction, the relation of the queue's registers to the counts. These are the words, and the place of the
  // oldest one that has not left the RAM.
  logic [Width-1:0] words [Depth];
  logic [NthBits-1:0] in, out, count, left_ram;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_fifo #(.Width(Width), .Depth(Depth), .BlockRam(BlockRam)) u_fifo (
    .clk_i, .rst_ni(rst_n), .valid_i, .ready_o(ready), .data_i, .valid_o(valid), .ready_i, .data_o(data)
  );
  assign {in, out, count} = {NthBits'(u_fifo.in_q), NthBits'(u_fifo.out_q), NthBits'(u_fifo.count_q)};
  assign left_ram = NthBits'(BlockRam && valid);
  for (genvar nth = 0; nth < Depth; nth++) begin : gen_words
    if (BlockRam) begin : gen_block_ram
      assign words[nth] = u_fifo.gen_block_ram.u_ram.words[nth];
    end else begin : gen_distributed
      assign words[nth] = u_fifo.gen_distributed.words[nth];
    end
  end

  // Any n, from the first cycle on, and its word.
  logic [NthBits-1:0] puts_q, takes_q, nth_q;
  logic [Width-1:0] word_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) nth_q <= NthBits'(any_i);
    if (valid_i && ready && puts_q == nth_q) word_q <= data_i ^ Width'(Wrong);
  end
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) begin
      puts_q <= '0;
      takes_q <= '0;
    end else begin
      if (valid_i && ready) puts_q <= puts_q + 1'b1;
      if (valid && ready_i) takes_q <= takes_q + 1'b1;
    end
  end

  stays_until_ready #(.Width(Width)) u_stays (.clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .payload_i(data));

  logic [NthBits-1:0] ahead, place;
  assign ahead = nth_q - takes_q - left_ram;
  assign place = out + ahead >= NthBits'(Depth) ? out + ahead - NthBits'(Depth) : out + ahead;
  always_comb begin
    if (rst_n) begin
      assert (in < NthBits'(Depth) && out < NthBits'(Depth) && count <= NthBits'(Depth));
      assert (in == (out + count >= NthBits'(Depth) ? out + count - NthBits'(Depth) : out + count));
      assert (NthBits'(puts_q - takes_q) == count + left_ram);
      assert (NthBits'(nth_q - takes_q) >= NthBits'(puts_q - takes_q) || ahead >= NthBits'(Depth)
          || words[place] == word_q);
      assert (!valid || puts_q != takes_q);
      assert (!(valid && takes_q == nth_q) || data == word_q);
      // Words are neither held back, nor refused while there is room.
      assert (BlockRam || valid == (puts_q != takes_q));
      assert (ready || NthBits'(puts_q - takes_q) >= NthBits'(Depth));
      assert (NthBits'(puts_q - takes_q) <= NthBits'(Depth + 32'(BlockRam)));
    end
  end

endmodule
