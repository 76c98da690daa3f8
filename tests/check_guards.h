/* The parts of check_guards, one a concept. */
#ifndef EK_CHECK_GUARDS_H
#define EK_CHECK_GUARDS_H

#include <check.h>

#define OK(call) ck_assert_msg((call) == EK_OK, "%s: %s", #call, ek_error_message())

TCase *devices_case(void);
TCase *late_errors_case(void);
TCase *products_case(void);

#endif
