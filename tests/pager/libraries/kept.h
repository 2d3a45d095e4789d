extern char kept_zeros[300 * 4096], kept_initial[40 * 4096];
int kept_is_as_it_was(void);
