// The front end alone, with plain ports, so that its area can be measured.
module front_end_alone
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Data = Cfg.bus_bits,
  localparam int unsigned InBits = 9 + $bits(user_request_t) + 2 * Data + 32 + 128,
  localparam int unsigned OutBits = 10 + $bits(tagged_slot_t) + 2 * Data + 128
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [InBits-1:0]  in_i,
  output logic [OutBits-1:0] out_o
);

  ameles_stream_if #(.word_t(user_request_t)) request ();
  ameles_stream_if #(.word_t(logic [Data-1:0])) user_data (), store (), block ();
  ameles_stream_if #(.word_t(logic [31:0])) random ();
  ameles_stream_if #(.word_t(tagged_slot_t)) slot ();
  ameles_stream_if #(.word_t(logic [127:0])) leaf_input (), leaf_chunk ();
  ameles_answer_if #(.Cfg(Cfg)) answer ();
  assign {
    request.valid, request.data, user_data.valid, user_data.data, answer.ready, random.valid, random.data,
    slot.ready, store.ready, block.valid, block.data, leaf_input.ready, leaf_chunk.valid, leaf_chunk.data
  } = in_i;
  assign out_o = {
    request.ready, user_data.ready, answer.valid, answer.beat, answer.last, random.ready,
    slot.valid, slot.data, store.valid, store.data, block.ready, leaf_input.valid, leaf_input.data, leaf_chunk.ready
  };
  ameles_front_end #(.Cfg(Cfg)) u_front_end (
    .clk_i, .rst_ni, .request, .data(user_data), .answer, .random, .slot, .store, .block, .leaf_input, .leaf_chunk
  );

endmodule
