// The engine keeps the order of requests, and puts each mask together of its own chunks, though leaves come between them: what
// goes into a queue of masks are all chunks of the oldest request that has none yet, the first lowest. So it brings what it
// was asked for, once, and there is room. AES is not there: a chunk is its pad. If requests stay until they are taken.
module mask_engine_proof
  import lethe_pkg::*;
#(
  parameter bit Raw = 1'b1,
  parameter int unsigned Lanes = 1,
  parameter int unsigned BlocksPerBucket = 5,  // 300 bits of a row are 3 chunks
  parameter int unsigned BusBits = 256,
  parameter bit Paced = 1'b1,                  // leaves have turns of their own, within a mask as well
  parameter bit Wrong = 1'b0,                  // for a proof that must fail: requests need not stay
  localparam config_t Cfg = '{
    scheme: Raw ? RawOram : PathOram, leaf_level: 29, blocks_per_bucket: BlocksPerBucket, eviction_rate: 1,
    stash_blocks: 8, blocks: 1 << 29, block_bytes: 64, bus_bits: BusBits, aes_lanes: Lanes, mask_beats: 4,
    aes_double: 1'b0, aes_rom_rounds: 0, top_levels: 0, level_blocks: '0, subtree_levels: 0, scan_lanes: 1,
    capacity: 0, labels: 0, label_bits: 0, trusted: 0, look_aside: 0, tag_bits: 0, slot_cycles: Paced ? 64 : 0
  }
) (
  input logic         clk_i,
  input logic         keyed_i,
  input logic         leaf_valid_i,
  input logic [127:0] leaf_input_i,
  input logic [3:0]   valid_i,  // read, interest, write, ahead
  input pad_t [3:0]   pads_i,
  input logic [3:0]   rows_i,
  input logic [4:0]   taken_i
);

  localparam int unsigned Groups = (mask_chunks(Cfg) + Lanes - 1) / Lanes;
  localparam int unsigned RowGroups = (row_chunks(Cfg) + Lanes - 1) / Lanes;
  localparam int unsigned BeatGroups = (beat_chunks(Cfg) + Lanes - 1) / Lanes;

  logic rst_n, leaf_ready;
  logic [3:0] ready, rows;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  lethe_mask_engine #(.Cfg(Cfg)) u_engine (
    .clk_i, .clk2_i(1'b0), .rst_ni(rst_n), .round_keys_i('0), .keyed_i,
    .leaf_valid_i, .leaf_ready_o(leaf_ready), .leaf_input_i, .leaf_valid_o(), .leaf_ready_i(taken_i[4]), .leaf_chunk_o(),
    .read_valid_i(valid_i[0]), .read_ready_o(ready[0]), .read_row_i(rows[0]), .read_pad_i(pads_i[0]),
    .interest_valid_i(valid_i[1] && Raw), .interest_ready_o(ready[1]), .interest_pad_i(pads_i[1]),
    .write_valid_i(valid_i[2]), .write_ready_o(ready[2]), .write_row_i(rows[2]), .write_pad_i(pads_i[2]),
    .ahead_valid_i(valid_i[3] && Raw), .ahead_ready_o(ready[3]), .ahead_pad_i(pads_i[3]),
    .read_valid_o(), .read_ready_i(taken_i[0]), .read_mask_o(),
    .interest_valid_o(), .interest_ready_i(taken_i[1]), .interest_mask_o(),
    .write_valid_o(), .write_ready_i(taken_i[2]), .write_mask_o(),
    .ahead_valid_o(), .ahead_ready_i(taken_i[3]), .ahead_mask_o()
  );

  // Of RAW ORAM reads and writes ask for rows only. The first chunk of a beat is a multiple of its chunks, that of a row is 0.
  for (genvar nth = 0; nth < 4; nth++) begin : gen_requests
    assign rows[nth] = (nth == 0 || nth == 2) && (Raw || rows_i[nth]);
    stays_until_ready #(.Width($bits(pad_t) + 1), .Assumed(1'b1)) u_request (
      .clk_i, .rst_ni(rst_n), .valid_i(valid_i[nth] && !Wrong), .ready_i(ready[nth]), .payload_i({rows[nth], pads_i[nth]})
    );
    always_comb begin
      assume (pads_i[nth].chunk % 30'(beat_chunks(Cfg)) == '0 && (!rows[nth] || pads_i[nth].chunk == '0));
    end
  end

  // A request beside each of its groups on its way, a leaf as well: told by what the ports show, not by what the engine keeps.
  typedef struct packed {
    logic       valid;
    logic       leaf;
    logic [1:0] port;
    logic       row;
    pad_t       pad;
  } request_t;

  request_t asked, first_q, second_q;
  logic [1:0] port;
  logic begins_q;
  assign port = u_engine.stream == u_engine.Read ? 2'd0 : u_engine.stream == u_engine.Interest ? 2'd1
      : u_engine.stream == u_engine.Write ? 2'd2 : 2'd3;
  assign asked = '{valid: u_engine.valid, leaf: leaf_ready, port: port, row: rows[port], pad: pads_i[port]};

endmodule
