/* EK_SANITIZED is defined in builds with AddressSanitizer. */
#ifndef EK_SANITIZED_H
#define EK_SANITIZED_H

#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define EK_SANITIZED 1
#    endif
#elif defined(__SANITIZE_ADDRESS__)
#    define EK_SANITIZED 1
#endif

#endif
