// Every function refuses an impossible size, and the program goes on.
#include "common.h"
#include <malloc.h>
#include <stdint.h>

int main(void) {
    // Volatile: the compiler would warn about constants.
    volatile size_t huge[] = {SIZE_MAX, SIZE_MAX - 8, SIZE_MAX - 4096, (size_t)PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1,
                              (size_t)1 << 48, SIZE_MAX / 2 - 100};
    char *kept = malloc(5000);
    memset(kept, 7, 5000);
    for (size_t which = 0; which < sizeof huge / sizeof *huge; which++) {
        size_t size = huge[which];
        errno = 0;
        CHECK(malloc(size) == NULL && errno == ENOMEM);
        CHECK(calloc(size, 3) == NULL && calloc(1, size) == NULL && calloc(size, size) == NULL);
        CHECK(realloc(kept, size) == NULL && reallocarray(kept, size, 2) == NULL);
        CHECK(aligned_alloc(64, size) == NULL && memalign(4096, size) == NULL);
        CHECK(valloc(size) == NULL && pvalloc(size) == NULL);
        void *block = kept;
        CHECK(posix_memalign(&block, 4096, size) == ENOMEM && block == kept);
        for (unsigned shift = 32; shift < 64; shift += 5) {
            size_t alignment = (size_t)1 << shift;
            CHECK(posix_memalign(&block, alignment, size) == ENOMEM);
            CHECK(memalign(alignment, size) == NULL);
        }
        CHECK(mmap(NULL, size, RW, PRIVATE, -1, 0) == MAP_FAILED);
        CHECK(mmap(kept, size, RW, PRIVATE, -1, 0) == MAP_FAILED);
        CHECK(mmap((char *)(16UL << 30), size, RW, PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED);
        CHECK(mremap(map_at(NULL, 1, RW, 0), PAGE, size, MREMAP_MAYMOVE) == MAP_FAILED);
        CHECK(munmap((char *)(16UL << 30), size) == -1 && munmap((void *)-PAGE, size) == -1);
        CHECK(mprotect((char *)(16UL << 30), size, RW) == -1);
        CHECK(madvise((char *)(16UL << 30), size, MADV_NORMAL) == -1);
        (void)!mlock((char *)(16UL << 30), size);
    }
    void *block = NULL;
    for (unsigned shift = 32; shift < 64; shift++)
        CHECK(posix_memalign(&block, (size_t)1 << shift, 100) == ENOMEM || shift < 40);
    CHECK(posix_memalign(&block, 3, 100) == EINVAL && memalign((size_t)-1, 100) == NULL);
    CHECK(mmap(NULL, 0, RW, PRIVATE, -1, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(mmap(NULL, PAGE, RW, MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(mmap((char *)12345, PAGE, RW, PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EINVAL);
    for (size_t byte = 0; byte < 5000; byte++)
        CHECK(kept[byte] == 7);
    return succeed();
}
