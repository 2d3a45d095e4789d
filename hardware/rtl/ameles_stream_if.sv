// A channel from one cell to another.
//
// Interface: `data` passes in each cycle in which `valid` and `ready` are high.
//
// Timing: that of both cells. Keeps: nothing.
interface ameles_stream_if #(
  parameter type word_t = logic
) ();

  logic valid, ready;
  word_t data;

  modport source (output valid, output data, input ready);
  modport sink (input valid, input data, output ready);

endinterface
