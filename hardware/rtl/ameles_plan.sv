// The plan of a path that goes back. For each level it has a row of Z places, each with a block, its leaf and its slot
// of the stash. There are two banks, so that one path can be planned while the path before it is still being written.
//
// Interface: a row is written whole (a header of RAW ORAM, without the block of interest) or place by place
// (PushToLeaf). It is read whole, at two ports. Each row also says which of the two buckets below it will have been
// written (Path ORAM).
//
// Timing: written data can be read from the next cycle, in the cycle of their address. Keeps: both banks, in
// distributed RAM.
module ameles_plan
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned EntryBits = entry_bits(Cfg),
  localparam int unsigned SlotBits = slot_bits(Cfg),
  localparam int unsigned LevelBits = level_bits(Cfg)
) (
  input  logic                        clk_i,
  // Rows and places.
  input  logic [Z-1:0]                write_i,  // places
  input  logic                        write_bank_i,
  input  logic [Z-1:0][LevelBits-1:0] write_level_i,
  input  logic [Z-1:0][EntryBits-1:0] write_entries_i,
  input  logic [Z-1:0][SlotBits-1:0]  write_slot_i,
  input  logic                        write_below_i,
  input  logic                        below_bank_i,
  input  logic [LevelBits-1:0]        below_level_i,
  input  logic [1:0]                  below_i,
  // The row that replaces a header.
  input  logic                        header_bank_i,
  input  logic [LevelBits-1:0]        header_level_i,
  output logic [Z-1:0][EntryBits-1:0] header_entries_o,
  output logic [Z-1:0][SlotBits-1:0]  header_slots_o,
  // The row that goes back.
  input  logic                        back_bank_i,
  input  logic [LevelBits-1:0]        back_level_i,
  output logic [Z-1:0][EntryBits-1:0] back_entries_o,
  output logic [Z-1:0][SlotBits-1:0]  back_slots_o,
  output logic [1:0]                  back_below_o
);

  localparam int unsigned Rows = 1 << LevelBits;

  for (genvar place = 0; place < Z; place++) begin : gen_place
    logic [EntryBits-1:0] entries [2*Rows];
    logic [SlotBits-1:0] slot_rows [2*Rows];
    always_ff @(posedge clk_i) begin
      if (write_i[place]) begin
        entries[{write_bank_i, write_level_i[place]}] <= write_entries_i[place];
        slot_rows[{write_bank_i, write_level_i[place]}] <= write_slot_i[place];
      end
    end
    assign header_entries_o[place] = entries[{header_bank_i, header_level_i}];
    assign header_slots_o[place] = slot_rows[{header_bank_i, header_level_i}];
    assign back_entries_o[place] = entries[{back_bank_i, back_level_i}];
    assign back_slots_o[place] = slot_rows[{back_bank_i, back_level_i}];
  end

  logic [1:0] below [2*Rows];
  always_ff @(posedge clk_i) begin
    if (write_below_i) below[{below_bank_i, below_level_i}] <= below_i;
  end
  assign back_below_o = below[{back_bank_i, back_level_i}];

endmodule
