/* test_kkt_rank_errors - the rank-revealing QR without memory. */
#include "kkt/kkt.h"
#include "test_rank_support.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

static void note(void *user, vin_log_level level, const char *text) {
  (void)level;
  if (strstr(text, "rank-revealing QR of 12 constraint rows: rank 10")) ++*(int *)user;
}

/* Each of our allocations fails once; the next factorisation succeeds. The QR is logged once. */
Test(kkt_rank_errors, no_memory) {
  if (!qr_in_build()) return;
  test_random random = {13};
  problem p = product_problem(24, 10, 10, &random);
  share_a_mass(&p);
  problem_duplicate(&p, 2, 1), problem_duplicate(&p, 6, 1);
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {0};
    int logged = 0;
    vin_context context = test_context(&allocator);
    context.log = note, context.log_user = &logged;
    vin_kkt *kkt = NULL;
    cr_assert_eq(vin_kkt_create(&kkt, &context, p.n, p.m, entries_pattern(&p.h),
                                entries_pattern(&p.j), NULL),
                 VIN_OK);
    allocator.fail_at = allocator.calls + k;
    vin_status status = kkt_factor(kkt, &p);
    bool asked = allocator.calls >= allocator.fail_at;
    cr_expect_eq(status, asked ? VIN_ERR_NO_MEMORY : VIN_OK, "%d: %s", (int)k, vin_kkt_error(kkt));
    if (asked) cr_expect(strstr(vin_kkt_error(kkt), "memory"), "%s", vin_kkt_error(kkt));
    double z[36];
    allocator.fail_at = 0;
    if (asked) cr_expect_eq(kkt_solve(kkt, &p, z), VIN_ERR_BAD_STATE);
    cr_expect_eq(kkt_factor(kkt, &p), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_eq(logged, 1);
    vin_kkt_destroy(kkt);
    cr_expect_eq(allocator.live, 0);
    if (!asked) break;
  }
  problem_free(&p);
}
