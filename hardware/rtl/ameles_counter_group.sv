// A PosMap block of counters (Freecursive ORAM, ASPLOS 2015, section 5). It has a group counter GC of 64 bits, and for
// each block of the group an individual counter IC. Above IC is the lowest bit of the group counter under which the
// block counts.
//
// The counter of a block is GC · 2^(β-1) + IC. A straggler counts under the previous group counter, so it has GC - 1
// instead. The counter is 0 if IC is 0, for a block that was never mapped.
//
// Interface: `advanced_o` is the group with the next counter of one entry. A straggler gets IC = 1 under GC. So does
// any block whose IC is used up, which makes the others stragglers. At that time there must be no straggler, which
// holds if each access moves one (see `ameles_front_end`).
//
// Timing: combinational. Keeps: nothing.
module ameles_counter_group #(
  parameter int unsigned Labels = 32,
  parameter int unsigned Bits = 14,
  parameter int unsigned GroupBits = 512,
  localparam int unsigned EntryBits = Labels > 1 ? $clog2(Labels) : 1
) (
  input  logic [GroupBits-1:0] group_i,
  input  logic [EntryBits-1:0] entry_i,
  output logic [63:0]          counter_o,
  output logic [63:0]          next_counter_o,
  output logic [GroupBits-1:0] advanced_o,
  output logic                 straggler_valid_o,
  output logic [EntryBits-1:0] straggler_o
);

  localparam int unsigned IcBits = Bits - 1;
  localparam int unsigned GcBits = 64 - IcBits;
  localparam logic [IcBits-1:0] Last = '1;

  typedef struct packed {
    logic              under;  // the lowest bit of its group counter
    logic [IcBits-1:0] ic;
  } label_t;

  logic [63:0] gc, next_gc;
  label_t [Labels-1:0] labels, next_labels;
  label_t label;
  logic [Labels-1:0] behind;
  logic is_current, is_used_up, was_mapped, goes_on;
  logic [GcBits-1:0] label_gc;
  logic [IcBits-1:0] next_ic;

  assign gc = group_i[63:0];
  assign labels = group_i[64+:Labels*Bits];
  assign label = labels[entry_i];
  assign is_current = label.under == gc[0];
  assign is_used_up = is_current && label.ic == Last;
  assign was_mapped = label.ic != '0;
  assign goes_on = was_mapped && is_current && label.ic != Last;
  assign label_gc = gc[GcBits-1:0] - GcBits'(!is_current);

  for (genvar nth = 0; nth < Labels; nth++) begin : gen_behind
    assign behind[nth] = labels[nth].ic != '0 && labels[nth].under != gc[0];
  end
  assign straggler_valid_o = behind != '0;
  always_comb begin
    straggler_o = '0;
    for (int unsigned nth = Labels; nth > 0; nth--) begin
      if (behind[nth-1]) straggler_o = EntryBits'(nth - 1);
    end
  end

  // A counter that continues under GC adds one; any other begins at 1. GC and IC are concatenated, without an addition.
  assign next_gc = gc + 64'(is_used_up);
  assign next_ic = goes_on ? label.ic + 1'b1 : IcBits'(1);
  assign counter_o = was_mapped ? {label_gc, label.ic} : '0;
  assign next_counter_o = {next_gc[GcBits-1:0], next_ic};

  always_comb begin
    next_labels = labels;
    next_labels[entry_i] = '{under: next_gc[0], ic: next_ic};
    advanced_o = group_i;
    advanced_o[63:0] = next_gc;
    advanced_o[64+:Labels*Bits] = next_labels;
  end

endmodule
