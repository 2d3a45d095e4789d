// The bench as a library: one call per cycle, with all ports in two structs of 32-bit words.
// The structs are those of `hardware/bench/src/rtl.rs`.
#include "Vbench.h"
#ifdef AMELES_FAULTS
#include "Vbench_ameles_fault_pkg.h"
#endif
#include "verilated.h"
#include <cstdint>
#include <cstring>

struct Inputs {
  uint32_t rst_n, key_valid, request_valid, request_op, request_block, request_path, request_leaf;
  uint32_t data_valid, answer_ready, random_valid, random, spare_valid, spare;
  uint32_t ar_ready, r_valid, r_response, aw_ready, w_ready, b_valid, b_response;
  uint32_t key[4], data[16], r_data[16];
};

struct Outputs {
  uint32_t key_ready, request_ready, data_ready, answer_valid, answer_last, random_ready, spare_ready;
  uint32_t ar_valid, ar_length, r_ready, aw_valid, aw_length, w_valid, w_last, b_ready;
  uint32_t emergencies, aes_chunks, key_reused, memory_error, tag_error, overflow, memory_stalled, slot, slot_dummy, watch;
  uint32_t ar_address[2], aw_address[2];
  uint32_t answer[16], w_data[16];
};

struct Model {
  VerilatedContext context;
  Vbench top{&context};
};

// A library of mutants has numbered faults. Other libraries have none.
extern "C" Model *ameles_new([[maybe_unused]] uint32_t fault) {
  Model *model = new Model;
#ifdef AMELES_FAULTS
  model->top.__PVT__ameles_fault_pkg->chosen = fault;
#endif
  return model;
}

extern "C" void ameles_free(Model *model) {
  model->top.final();
  delete model;
}

static void split(uint32_t *words, uint64_t value) {
  words[0] = static_cast<uint32_t>(value);
  words[1] = static_cast<uint32_t>(value >> 32);
}

// Sets the inputs, returns the outputs before the edge of the clock, and makes the edge.
extern "C" void ameles_step(Model *model, const Inputs *in, Outputs *out) {
  Vbench &top = model->top;
  top.rst_ni = in->rst_n;
  top.key_valid_i = in->key_valid;
  top.request_valid_i = in->request_valid;
  top.request_op_i = in->request_op;
  top.request_block_i = in->request_block;
  top.request_path_i = in->request_path;
  top.request_leaf_i = in->request_leaf;
  top.data_valid_i = in->data_valid;
  top.answer_ready_i = in->answer_ready;
  top.random_valid_i = in->random_valid;
  top.random_i = in->random;
  top.spare_valid_i = in->spare_valid;
  top.spare_i = in->spare;
  top.ar_ready_i = in->ar_ready;
  top.r_valid_i = in->r_valid;
  top.r_response_i = in->r_response;
  top.aw_ready_i = in->aw_ready;
  top.w_ready_i = in->w_ready;
  top.b_valid_i = in->b_valid;
  top.b_response_i = in->b_response;
  std::memcpy(&top.key_i[0], in->key, sizeof in->key);
  std::memcpy(&top.data_i[0], in->data, sizeof in->data);
  std::memcpy(&top.r_data_i[0], in->r_data, sizeof in->r_data);
#ifdef AMELES_TWO_CLOCKS
  // The faster clock rises in the middle of the cycle, and again with the slower one.
  top.clk2_i = 0;
  top.eval();
  top.clk_i = 0;
  top.clk2_i = 1;
  top.eval();
  top.clk2_i = 0;
#else
  top.clk_i = 0;
#endif
  top.eval();
  out->key_ready = top.key_ready_o;
  out->request_ready = top.request_ready_o;
  out->data_ready = top.data_ready_o;
  out->answer_valid = top.answer_valid_o;
  out->answer_last = top.answer_last_o;
  out->random_ready = top.random_ready_o;
  out->spare_ready = top.spare_ready_o;
  out->ar_valid = top.ar_valid_o;
  out->ar_length = top.ar_length_o;
  out->r_ready = top.r_ready_o;
  out->aw_valid = top.aw_valid_o;
  out->aw_length = top.aw_length_o;
  out->w_valid = top.w_valid_o;
  out->w_last = top.w_last_o;
  out->b_ready = top.b_ready_o;
  out->emergencies = top.emergencies_o;
  out->aes_chunks = top.aes_chunks_o;
  out->key_reused = top.key_reused_o;
  out->memory_error = top.memory_error_o;
  out->tag_error = top.tag_error_o;
  out->overflow = top.overflow_o;
  out->memory_stalled = top.memory_stalled_o;
  out->slot = top.slot_o;
  out->slot_dummy = top.slot_dummy_o;
  out->watch = top.watch_o;
  split(out->ar_address, top.ar_address_o);
  split(out->aw_address, top.aw_address_o);
  std::memcpy(out->answer, &top.answer_o[0], sizeof out->answer);
  std::memcpy(out->w_data, &top.w_data_o[0], sizeof out->w_data);
  top.clk_i = 1;
#ifdef AMELES_TWO_CLOCKS
  top.clk2_i = 1;
#endif
  top.eval();
}
