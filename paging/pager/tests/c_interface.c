/* A program in C, compiled against the header by `c_interface.rs`, which hands it the functions. */
#include "ameles_pager.h"
#include <string.h>
#include <unistd.h>

#define CHECK(condition) do { if (!(condition)) return __LINE__; } while (0)

int use_region(
    __typeof__(ameles_options_default) *options_default,
    __typeof__(ameles_region_new) *region_new,
    __typeof__(ameles_region_address) *address,
    __typeof__(ameles_region_bytes) *bytes,
    __typeof__(ameles_region_discard) *discard,
    __typeof__(ameles_region_counters) *count,
    __typeof__(ameles_region_untrusted_fd) *untrusted_fd,
    __typeof__(ameles_region_free) *region_free)
{
    char error[200];
    ameles_options options = options_default(100);
    CHECK(options.pages == 100 && options.resident == 64 && options.ratio == 3);

    options.scheme = "no-such-scheme";
    CHECK(!region_new(&options, error, sizeof error) && strstr(error, "choose plain, detworam"));
    options.scheme = "eager-parallel";
    options.untrusted_bytes = 4096;
    CHECK(!region_new(&options, error, 12) && strlen(error) == 11);
    CHECK(!region_new(&options, error, sizeof error) && strstr(error, "the limit is 4096"));
    CHECK(!region_new(&options, NULL, 0));

    options.untrusted_bytes = 1 << 20;
    options.resident = 8;
    options.unmapped = 2;
    options.cipher = "aegis-256x2";
    options.trap = "in-thread";
    options.second_process = 1;
    options.together = 1;
    ameles_region *region = region_new(&options, error, sizeof error);
    CHECK(region && bytes(region) == 100 * AMELES_PAGE_BYTES);
    unsigned char *memory = address(region);
    for (int page = 0; page < 100; page++) memory[page * AMELES_PAGE_BYTES] = (unsigned char)(page + 1);
    CHECK(discard(region, 40, 2) == 0 && discard(region, 99, 2) == -1 && discard(region, UINT64_MAX, 2) == -1);
    for (int page = 0; page < 100; page++)
        CHECK(memory[page * AMELES_PAGE_BYTES] == (page == 40 || page == 41 ? 0 : page + 1));
    ameles_counters counters = count(region);
    CHECK(counters.faults == counters.evictions + 8 && counters.evictions > 150);
    CHECK(counters.total_nanos >= counters.write_nanos + counters.read_nanos && counters.write_nanos > 0);
    CHECK(counters.held_pages == 100 && counters.max_held_pages == 100 && counters.max_resident == 0);
    CHECK(lseek(untrusted_fd(region), 0, SEEK_END) >= 133 * AMELES_PAGE_BYTES);
    region_free(region);
    region_free(NULL);
    return 0;
}
