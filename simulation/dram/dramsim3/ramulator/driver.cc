// Runs a stream of requests in Ramulator 2.1 and prints the cycle in which the last read is done.
//
// driver CONFIG CONTROLLERS BYTES TICKS < STREAM
//
// CONFIG describes one controller, as configure.py writes it; there are as many as CONTROLLERS, each with a clock of its
// own. BYTES is the size of a burst; TICKS is the number of Ramulator's ticks in a cycle. A step of the stream is
// "PAUSE WRITES READS" and then as many pairs of a controller and an address: writes are submitted, after a pause the
// reads, and the next step begins when these are done.

#include <ramulator/base/config.h>
#include <ramulator/base/factory.h>
#include <ramulator/base/request.h>
#include <ramulator/frontend/i_frontend.h>
#include <ramulator/memory_system/i_memory_system.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

struct Burst {
  int controller;
  std::int64_t address;
};

static std::vector<Burst> read_bursts(std::size_t number) {
  std::vector<Burst> bursts(number);
  for (auto& burst : bursts) {
    std::cin >> burst.controller >> burst.address;
  }
  return bursts;
}

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: driver CONFIG CONTROLLERS BYTES TICKS < STREAM\n";
    return 2;
  }
  const int controllers = std::atoi(argv[2]), bytes = std::atoi(argv[3]), ticks = std::atoi(argv[4]);
  std::vector<Ramulator::IFrontEnd*> frontends;
  std::vector<Ramulator::IMemorySystem*> memories;
  for (int nth = 0; nth < controllers; nth++) {
    auto config = Ramulator::Config::parse_config_file(argv[1]);
    frontends.push_back(Ramulator::Factory::create_frontend(config));
    memories.push_back(Ramulator::Factory::create_memory_system(config));
    frontends.back()->connect_memory_system(memories.back());
    memories.back()->connect_frontend(frontends.back());
  }

  std::int64_t now = 0, pending = 0;
  auto submit = [&](std::vector<Burst>& left, int type) {
    std::vector<Burst> refused;
    for (const auto& [controller, address] : left) {
      auto done = [&pending, type](Ramulator::Request&) { pending -= type == Ramulator::Request::Type::Read; };
      if (!frontends[controller]->receive_external_requests(type, address, 0, done, bytes)) {
        refused.push_back({controller, address});
      }
    }
    left = refused;
  };
  std::int64_t pause;
  std::size_t writes, reads;
  while (std::cin >> pause >> writes >> reads) {
    auto written = read_bursts(writes), read = read_bursts(reads);
    const auto begin = now + pause * ticks;
    pending = static_cast<std::int64_t>(reads);
    while (now < begin || pending > 0) {
      submit(written, Ramulator::Request::Type::Write);
      if (now >= begin) {
        submit(read, Ramulator::Request::Type::Read);
      }
      for (auto* memory : memories) {
        memory->tick();
      }
      now++;
    }
  }
  std::cout << now << std::endl;
}
