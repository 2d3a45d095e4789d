// The key schedule of AES-128: it takes one key after each reset, expands it, and holds its eleven round keys.
//
// Interface: a key is taken in a cycle in which `key_valid_i` and `key_ready_o` are both high. If it equals the key
// taken last, it is refused: `reused_o` rises in the next cycle. For any other key `valid_o` rises when all
// `round_keys_o` are ready. Both stay until reset, and no second key is taken before. So a key for tags never replaces
// a refused key. `ameles_aes_pkg` defines the order of bytes.
//
// Timing: `key_ready_o` is low in reset and in the first cycle after it, so that no key is taken and then refused. Four
// S-boxes make one round key per cycle. `valid_o` rises eleven cycles after the cycle in which the key was taken.
//
// Keeps: the key and its round keys. A reset clears none of them. A reset restarts the counters, and a counter that
// meets its key a second time repeats a pad; so a reset requires a new key.
//
// Finds out: the key taken last, after any number of resets, even if a reset interrupted its expansion. It does not
// know older keys: a second key between two uses of a first one hides the first. It forgets the key when power is lost
// or an FPGA is configured again, and it does not know the keys of other controllers.
//
// `taken_q` says whether a key was ever taken. Its initial value is low, which simulators and FPGAs obey. Without
// initial values it may start high, with a key register of any content. Then a first key that equals that content is
// refused, but no used key is accepted.
module ameles_aes_key
  import ameles_aes_pkg::*;
#(
  parameter bit CompositeSbox = 1'b0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  // The key.
  input  logic        key_valid_i,
  output logic        key_ready_o,
  input  block_t      key_i,
  output logic        reused_o,
  // The round keys.
  output logic        valid_o,
  output round_keys_t round_keys_o
);

  typedef enum logic [1:0] {
    StReset,
    StIdle,
    StExpand,
    StHold
  } state_e;

  localparam logic [7:0] FirstConstant = 8'h01;
  localparam logic [7:0] LastConstant = 8'h36;

  state_e state_d, state_q;
  logic reused_d, reused_q;
  logic [7:0] constant_d, constant_q;
  block_t key_q;
  block_t [Rounds:1] expanded_q;
  // An initial value and no reset, because a reset must not clear it.
  // verilator lint_off PROCASSINIT
  logic taken_q = 1'b0;
  // verilator lint_on PROCASSINIT

  logic offered, same, take, expand;
  block_t previous, next;

  // The handshake and the comparison with the key taken last.
  assign key_ready_o = state_q == StIdle && !reused_q;
  assign offered = key_valid_i & key_ready_o;
  assign same = taken_q & (key_i == key_q);
  assign take = offered & ~same;
  assign expand = state_q == StExpand;

  // A step of the schedule. The registers of the round keys are a chain, whose head is the newest.
  assign previous = constant_q == FirstConstant ? key_q : expanded_q[Rounds];
  ameles_aes_next_key #(
    .CompositeSbox(CompositeSbox)
  ) u_next (
    .constant_i(constant_q),
    .key_i(previous),
    .key_o(next)
  );

  always_comb begin
    state_d = state_q;
    reused_d = reused_q;
    constant_d = constant_q;
    unique case (state_q)
      StReset: state_d = StIdle;
      StIdle: begin
        if (offered) reused_d = same;
        if (take) state_d = StExpand;
      end
      StExpand: begin
        constant_d = times_x(constant_q);
        if (constant_q == LastConstant) state_d = StHold;
      end
      StHold: state_d = StHold;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StReset;
      reused_q <= 1'b0;
      constant_q <= FirstConstant;
    end else begin
      state_q <= state_d;
      reused_q <= reused_d;
      constant_q <= constant_d;
    end
  end

  // No reset here: the key must survive a reset to be recognized.
  always_ff @(posedge clk_i) begin
    if (take) begin
      key_q <= key_i;
      taken_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (expand) expanded_q <= {next, expanded_q[Rounds:2]};
  end

  assign reused_o = reused_q;
  assign valid_o = state_q == StHold;
  assign round_keys_o = {expanded_q, key_q};

endmodule
