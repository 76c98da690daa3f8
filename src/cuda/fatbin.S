/* The fatbin EK_FILE as the read-only data EK_NAME. */

        .section .rodata
        .balign 16
        .globl EK_NAME
        .type EK_NAME, %object
EK_NAME:
        .incbin EK_FILE
        .size EK_NAME, . - EK_NAME

        .section .note.GNU-stack, "", %progbits
