// The controller with the AXI4 port names of memory controllers, and with the constant signals that it omits: a template.
//
// The parameters are for a board with 1 GiB behind a port of 512 bits at half the clock of AES.
module ameles_axi
  import ameles_pkg::*;
#(
  parameter config_t Choices = '{
    scheme: RawOram,
    leaf_level: 20,
    blocks_per_bucket: 5,
    eviction_rate: 5,
    stash_blocks: 64,
    blocks: 0,
    block_bytes: 64,
    bus_bits: 512,
    aes_lanes: 2,
    aes_double: 1'b1,
    aes_rom_rounds: 0,
    mask_beats: 256,
    top_levels: 0,
    level_blocks: '0,
    subtree_levels: 0,
    scan_lanes: 1,
    capacity: 1 << 20,
    labels: 32,
    label_bits: 14,
    trusted: 1024,
    look_aside: 128,
    tag_bits: 96,
    slot_cycles: 380,
    stall_cycles: 65536
  },
  parameter int unsigned AddressBits = 32,
  parameter logic [AddressBits-1:0] Base = '0,
  localparam config_t Cfg = choices(Choices),
  localparam int unsigned Data = Cfg.bus_bits
) (
  input  logic                   clk_i,
  input  logic                   clk2_i,
  input  logic                   rst_ni,
  // Keys: first that of leaves and masks, then that of tags.
  input  logic                   key_valid_i,
  output logic                   key_ready_o,
  input  logic [127:0]           key_i,
  // Requests, the beats of writes, and the beats of answers.
  input  logic                   request_valid_i,
  output logic                   request_ready_o,
  input  logic                   request_write_i,
  input  logic [31:0]            request_block_i,
  input  logic                   data_valid_i,
  output logic                   data_ready_o,
  input  logic [Data-1:0]        data_i,
  output logic                   answer_valid_o,
  input  logic                   answer_ready_i,
  output logic [Data-1:0]        answer_o,
  output logic                   answer_last_o,
  // Random words, from two queues that share no word.
  output logic                   random_ready_o,
  input  logic                   random_valid_i,
  input  logic [31:0]            random_i,
  output logic                   spare_ready_o,
  input  logic                   spare_valid_i,
  input  logic [31:0]            spare_i,
  // State: a count of evictions for lack of room, and errors. Each error stops the controller until its reset.
  output logic [31:0]            emergencies_o,
  output logic                   key_reused_o,
  output logic                   memory_error_o,
  output logic                   tag_error_o,
  output logic                   overflow_o,
  // Memory has work to do and has not moved for `stall_cycles` cycles. This stops nothing.
  output logic                   memory_stalled_o,
  // AXI4.
  output logic [0:0]             m_axi_arid,
  output logic [AddressBits-1:0] m_axi_araddr,
  output logic [7:0]             m_axi_arlen,
  output logic [2:0]             m_axi_arsize,
  output logic [1:0]             m_axi_arburst,
  output logic                   m_axi_arlock,
  output logic [3:0]             m_axi_arcache,
  output logic [2:0]             m_axi_arprot,
  output logic [3:0]             m_axi_arqos,
  output logic                   m_axi_arvalid,
  input  logic                   m_axi_arready,
  input  logic [0:0]             m_axi_rid,
  input  logic [Data-1:0]        m_axi_rdata,
  input  logic [1:0]             m_axi_rresp,
  input  logic                   m_axi_rlast,
  input  logic                   m_axi_rvalid,
  output logic                   m_axi_rready,
  output logic [0:0]             m_axi_awid,
  output logic [AddressBits-1:0] m_axi_awaddr,
  output logic [7:0]             m_axi_awlen,
  output logic [2:0]             m_axi_awsize,
  output logic [1:0]             m_axi_awburst,
  output logic                   m_axi_awlock,
  output logic [3:0]             m_axi_awcache,
  output logic [2:0]             m_axi_awprot,
  output logic [3:0]             m_axi_awqos,
  output logic                   m_axi_awvalid,
  input  logic                   m_axi_awready,
  output logic [Data-1:0]        m_axi_wdata,
  output logic [Data/8-1:0]      m_axi_wstrb,
  output logic                   m_axi_wlast,
  output logic                   m_axi_wvalid,
  input  logic                   m_axi_wready,
  input  logic [0:0]             m_axi_bid,
  input  logic [1:0]             m_axi_bresp,
  input  logic                   m_axi_bvalid,
  output logic                   m_axi_bready
);

  if (Base % 4096 != 0) begin : gen_base
    $error("Base is not a multiple of 4096. Bursts would cross one.");
  end
  if ((64'(Base) + tree_bytes(Cfg) - 1) >> AddressBits != 0) begin : gen_address_bits
    $error("The tree does not end below 2^AddressBits. Lower Base, or raise AddressBits.");
  end

  localparam logic [2:0] Size = 3'($clog2(Data / 8));
  localparam logic [1:0] Incrementing = 2'b01;
  localparam logic [3:0] NoBufferAnswers = 4'b0000;

  assign {m_axi_arid, m_axi_arlock, m_axi_arprot, m_axi_arqos} = '0;
  assign {m_axi_arsize, m_axi_arburst, m_axi_arcache} = {Size, Incrementing, NoBufferAnswers};
  assign {m_axi_awid, m_axi_awlock, m_axi_awprot, m_axi_awqos} = '0;
  assign {m_axi_awsize, m_axi_awburst, m_axi_awcache} = {Size, Incrementing, NoBufferAnswers};
  assign m_axi_wstrb = '1;

  // One ID, and the controller counts lengths itself.
  logic unused;
  assign unused = ^{m_axi_rid, m_axi_rlast, m_axi_bid};

  ameles_stream_if #(.word_t(logic [127:0])) key ();
  ameles_stream_if #(.word_t(user_request_t)) request ();
  ameles_stream_if #(.word_t(logic [Data-1:0])) user_data ();
  ameles_answer_if #(.Cfg(Cfg)) answer ();
  ameles_stream_if #(.word_t(logic [31:0])) random (), spare ();
  assign {key.valid, key.data} = {key_valid_i, key_i};
  assign {request.valid, request.data} = {request_valid_i, request_write_i, request_block_i};
  assign {user_data.valid, user_data.data} = {data_valid_i, data_i};
  assign {answer_valid_o, answer_o, answer_last_o} = {answer.valid, answer.beat, answer.last};
  assign answer.ready = answer_ready_i;
  assign {random.valid, random.data, spare.valid, spare.data} = {random_valid_i, random_i, spare_valid_i, spare_i};
  assign {key_ready_o, request_ready_o, data_ready_o} = {key.ready, request.ready, user_data.ready};
  assign {random_ready_o, spare_ready_o} = {random.ready, spare.ready};

  ameles_axi_if #(.AddressBits(AddressBits), .Data(Data)) memory ();
  assign {m_axi_arvalid, m_axi_araddr, m_axi_arlen} = {memory.ar_valid, memory.ar_address, memory.ar_length};
  assign memory.ar_ready = m_axi_arready;
  assign {memory.r_valid, memory.r_data, memory.r_response} = {m_axi_rvalid, m_axi_rdata, m_axi_rresp};
  assign m_axi_rready = memory.r_ready;
  assign {m_axi_awvalid, m_axi_awaddr, m_axi_awlen} = {memory.aw_valid, memory.aw_address, memory.aw_length};
  assign memory.aw_ready = m_axi_awready;
  assign {m_axi_wvalid, m_axi_wdata, m_axi_wlast} = {memory.w_valid, memory.w_data, memory.w_last};
  assign memory.w_ready = m_axi_wready;
  assign {memory.b_valid, memory.b_response} = {m_axi_bvalid, m_axi_bresp};
  assign m_axi_bready = memory.b_ready;

  ameles_oram #(
    .Choices(Choices),
    .AddressBits(AddressBits)
  ) u_oram (
    .clk_i,
    .clk2_i,
    .rst_ni,
    .key,
    .base_i(Base),
    .request,
    .data(user_data),
    .answer,
    .random,
    .spare,
    .reads(memory),
    .writes(memory),
    .emergencies_o,
    .key_reused_o,
    .memory_error_o,
    .tag_error_o,
    .overflow_o,
    .memory_stalled_o
  );

endmodule
