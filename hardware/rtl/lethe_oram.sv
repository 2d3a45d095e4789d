// An ORAM controller: the front end of Freecursive ORAM over a tree with Path ORAM or RAW ORAM.
//
// A request is a block, and for a write its new contents; each is answered with what the block was before. The memory is a slave of
// AXI4. After a reset it needs a key that was never used. `random` gives the paths of blocks that were never mapped, `spare`
// those of Path ORAM's emergencies: words of 32 bits that nobody else knows.
module lethe_oram
  import lethe_pkg::*;
#(
  parameter config_t Choices = '0,
  parameter int unsigned AddressBits = 40,
  localparam int unsigned Data = Choices.bus_bits
) (
  input  logic                   clk_i,
  input  logic                   clk2_i,
  input  logic                   rst_ni,
  input  logic                   key_valid_i,
  output logic                   key_ready_o,
  input  logic [127:0]           key_i,
  input  logic [AddressBits-1:0] base_i,
  input  logic                   request_valid_i,
  output logic                   request_ready_o,
  input  logic                   request_write_i,
  input  logic [31:0]            request_block_i,
  input  logic [Data-1:0]        request_data_i,
  output logic                   answer_valid_o,
  input  logic                   answer_ready_i,
  output logic [Data-1:0]        answer_o,
  output logic                   random_ready_o,
  input  logic                   random_valid_i,
  input  logic [31:0]            random_i,
  output logic                   spare_ready_o,
  input  logic                   spare_valid_i,
  input  logic [31:0]            spare_i,
  output logic                   ar_valid_o,
  input  logic                   ar_ready_i,
  output logic [AddressBits-1:0] ar_address_o,
  output logic [7:0]             ar_length_o,
  input  logic                   r_valid_i,
  output logic                   r_ready_o,
  input  logic [Data-1:0]        r_data_i,
  input  logic [1:0]             r_response_i,
  output logic                   aw_valid_o,
  input  logic                   aw_ready_i,
  output logic [AddressBits-1:0] aw_address_o,
  output logic [7:0]             aw_length_o,
  output logic                   w_valid_o,
  input  logic                   w_ready_i,
  output logic [Data-1:0]        w_data_o,
  output logic                   w_last_o,
  input  logic                   b_valid_i,
  output logic                   b_ready_o,
  input  logic [1:0]             b_response_i,
  output logic [31:0]            emergencies_o,
  output logic                   key_reused_o,
  output logic                   memory_error_o,
  output logic                   overflow_o
);

  // The tree has the PosMap blocks, too.
  function automatic config_t with_space(config_t c);
    config_t whole = c;
    whole.blocks = space_blocks(c);
    return whole;
  endfunction
  localparam config_t Cfg = with_space(Choices);

  logic valid, ready, more, data_valid, data_ready, block_valid, block_ready, unused_last;
  logic ask_valid, ask_ready, leaf_valid, leaf_ready;
  op_e op;
  logic [31:0] block, path, leaf;
  logic [Data-1:0] data, contents;
  logic [127:0] ask_input, leaf_chunk;

  lethe_front_end #(.Cfg(Cfg)) u_front_end (
    .clk_i, .rst_ni,
    .request_valid_i, .request_ready_o, .request_write_i, .request_block_i, .request_data_i,
    .answer_valid_o, .answer_ready_i, .answer_o,
    .random_ready_o, .random_valid_i, .random_i,
    .valid_o(valid), .ready_i(ready), .op_o(op), .block_o(block), .path_o(path), .leaf_o(leaf), .more_o(more),
    .data_valid_o(data_valid), .data_ready_i(data_ready), .data_o(data),
    .block_valid_i(block_valid), .block_ready_o(block_ready), .block_i(contents),
    .leaf_valid_o(ask_valid), .leaf_ready_i(ask_ready), .leaf_input_o(ask_input),
    .leaf_valid_i(leaf_valid), .leaf_ready_o(leaf_ready), .leaf_chunk_i(leaf_chunk)
  );

  lethe_backend #(.Cfg(Cfg), .AddressBits(AddressBits)) u_backend (
    .clk_i, .clk2_i, .rst_ni, .key_valid_i, .key_ready_o, .key_i, .base_i,
    .request_valid_i(valid), .request_ready_o(ready), .request_op_i(op), .request_block_i(block),
    .request_path_i(path), .request_leaf_i(leaf), .request_more_i(more),
    .leaf_valid_i(ask_valid), .leaf_ready_o(ask_ready), .leaf_input_i(ask_input),
    .leaf_valid_o(leaf_valid), .leaf_ready_i(leaf_ready), .leaf_chunk_o(leaf_chunk),
    .data_valid_i(data_valid), .data_ready_o(data_ready), .data_i(data),
    .answer_valid_o(block_valid), .answer_ready_i(block_ready), .answer_o(contents), .answer_last_o(unused_last),
    .random_ready_o(spare_ready_o), .random_valid_i(spare_valid_i), .random_i(spare_i),
    .ar_valid_o, .ar_ready_i, .ar_address_o, .ar_length_o,
    .r_valid_i, .r_ready_o, .r_data_i, .r_response_i,
    .aw_valid_o, .aw_ready_i, .aw_address_o, .aw_length_o,
    .w_valid_o, .w_ready_i, .w_data_o, .w_last_o,
    .b_valid_i, .b_ready_o, .b_response_i,
    .emergencies_o, .key_reused_o, .memory_error_o, .overflow_o
  );

endmodule
