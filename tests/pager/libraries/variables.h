extern char library_zeros[300 * 4096], library_initial[40 * 4096];
int library_is_unchanged(void);
