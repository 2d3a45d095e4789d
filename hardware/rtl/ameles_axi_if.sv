// Memory as the controller uses it: AXI4 with one ID, bursts that increment, and whole beats.
//
// Interface: reads are bursts at `ar` and beats at `r`; writes are bursts at `aw`, beats at `w` and answers at `b`. Each
// of them passes in each cycle in which its `valid` and `ready` are high. A length is the number of beats less one.
//
// Timing: that of memory. Keeps: nothing.
interface ameles_axi_if #(
  parameter int unsigned AddressBits = 40,
  parameter int unsigned Data = 512
) ();

  logic ar_valid, ar_ready, r_valid, r_ready;
  logic [AddressBits-1:0] ar_address;
  logic [7:0] ar_length;
  logic [Data-1:0] r_data;
  logic [1:0] r_response;

  logic aw_valid, aw_ready, w_valid, w_ready, w_last, b_valid, b_ready;
  logic [AddressBits-1:0] aw_address;
  logic [7:0] aw_length;
  logic [Data-1:0] w_data;
  logic [1:0] b_response;

  modport reader (output ar_valid, ar_address, ar_length, r_ready, input ar_ready, r_valid, r_data, r_response);
  modport writer (
    output aw_valid, aw_address, aw_length, w_valid, w_data, w_last, b_ready,
    input aw_ready, w_ready, b_valid, b_response
  );

endinterface
