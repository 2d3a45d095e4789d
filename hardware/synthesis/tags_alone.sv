// The cell of tags alone, with plain ports, so that its area can be measured.
module tags_alone
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Data = Cfg.bus_bits,
  localparam int unsigned InBits = 7 + 128 + $bits(slot_tags_t) + 2 * Data + Cfg.tag_bits,
  localparam int unsigned OutBits = 9 + 2 * Data + Cfg.tag_bits
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [InBits-1:0]  in_i,
  output logic [OutBits-1:0] out_o
);

  logic key_valid, key_ready, keyed, error;
  logic [127:0] key;
  ameles_stream_if #(.word_t(slot_tags_t)) slot_tags ();
  ameles_stream_if #(.word_t(logic [Data-1:0])) written (), store (), block ();
  ameles_stream_if #(.word_t(logic [Cfg.tag_bits-1:0])) tag ();
  ameles_answer_if #(.Cfg(Cfg)) read ();
  assign {
    key_valid, key, slot_tags.valid, slot_tags.data, written.valid, written.data, store.ready,
    read.valid, read.beat, read.tag, block.ready, tag.ready
  } = in_i;
  assign read.last = 1'b0;
  assign out_o = {
    key_ready, keyed, error, slot_tags.ready, written.ready, store.valid, store.data, read.ready,
    block.valid, block.data, tag.valid, tag.data
  };
  ameles_pmmac #(.Cfg(Cfg)) u_pmmac (
    .clk_i, .rst_ni, .key_valid_i(key_valid), .key_ready_o(key_ready), .key_i(key), .keyed_o(keyed), .error_o(error),
    .slot_tags, .data(written), .store, .answer(read), .block, .tag
  );

endmodule
