// The S-box of AES by arithmetic in a tower of fields, after Satoh (ASIACRYPT 2001) and Canright (CHES 2005).
//
// Interface: `data_o` is the substitute of `data_i`. Timing: combinational. Keeps: nothing.
//
// An inverse in GF(2^8) becomes one in GF(2^4), and that one in GF(2^2), where it is the square and so an exchange of
// two wires. The bases, with numbers that are elements of the field of AES: GF(2^2) has [W, W^2], with W = bc. Bit 0 is
// the coefficient of W, and 1 is both. GF(2^4) has [1, X] over GF(2^2), with X = 5c and X^2 = X + W; the low half is
// the coefficient of 1. GF(2^8) has [Y, Y^16] over GF(2^4), with Y = 1e and Y + Y^16 = 1; the low half is the
// coefficient of Y.
module ameles_sbox_composite (
  input  logic [7:0] data_i,
  output logic [7:0] data_o
);

  // Rows of bits to sum, the row of bit 7 first. `ToTower` changes from the polynomial basis to that of the tower.
  // `FromTower` changes back and applies the affine map's matrix; `AffineConstant` is the rest of that map.
  localparam logic [7:0][7:0] ToTower = {8'h40, 8'h26, 8'had, 8'h35, 8'h9e, 8'h58, 8'hdd, 8'h49};
  localparam logic [7:0][7:0] FromTower = {8'hc8, 8'h11, 8'hc4, 8'h63, 8'h0d, 8'hd3, 8'hc6, 8'h49};
  localparam logic [7:0] AffineConstant = 8'h63;

  function automatic logic [7:0] map(logic [7:0][7:0] rows, logic [7:0] a);
    logic [7:0] sums;
    for (int i = 0; i < 8; i++) sums[i] = ^(rows[i] & a);
    return sums;
  endfunction

  function automatic logic [1:0] mul4(logic [1:0] a, logic [1:0] b);
    return (a & b) ^ {2{(^a) & (^b)}};
  endfunction

  function automatic logic [1:0] square4(logic [1:0] a);
    return {a[0], a[1]};
  endfunction

  function automatic logic [1:0] times_w4(logic [1:0] a);
    return {^a, a[1]};
  endfunction

  function automatic logic [3:0] mul16(logic [3:0] a, logic [3:0] b);
    logic [1:0] low, high, both;
    low = mul4(a[1:0], b[1:0]);
    high = mul4(a[3:2], b[3:2]);
    both = mul4(a[3:2] ^ a[1:0], b[3:2] ^ b[1:0]);
    return {both ^ low, low ^ times_w4(high)};
  endfunction

  // Returns the square times Y^17 = Y * Y^16, the norm of Y.
  function automatic logic [3:0] square_norm16(logic [3:0] a);
    return {a[1] ^ a[2], a[0] ^ a[1] ^ a[3], a[1], a[0] ^ a[1]};
  endfunction

  function automatic logic [3:0] inverse16(logic [3:0] a);
    logic [1:0] norm, inverse;
    norm = times_w4(square4(a[3:2])) ^ mul4(a[3:2], a[1:0]) ^ square4(a[1:0]);
    inverse = square4(norm);
    return {mul4(inverse, a[3:2]), mul4(inverse, a[3:2] ^ a[1:0])};
  endfunction

  logic [7:0] tower;
  logic [3:0] norm, inverse;

  assign tower = map(ToTower, data_i);
  assign norm = mul16(tower[7:4], tower[3:0]) ^ square_norm16(tower[7:4] ^ tower[3:0]);
  assign inverse = inverse16(norm);
  assign data_o = map(FromTower, {mul16(inverse, tower[3:0]), mul16(inverse, tower[7:4])}) ^ AffineConstant;

endmodule
