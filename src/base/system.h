/* What operating systems have different names for. No other file asks which one it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#ifdef __APPLE__
#define st_atim st_atimespec
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

static inline int64_t rs_system_ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Makes a file a part of the program: its bytes begin at NAME and end before NAME_end. */
#ifdef __APPLE__
#define RS_SYSTEM_CONSTANTS ".const_data"
#define RS_SYSTEM_LABEL(name) ".private_extern _" name "\n_" name ":\n"
#else
#define RS_SYSTEM_CONSTANTS ".section .rodata"
#define RS_SYSTEM_LABEL(name) ".globl " name "\n.hidden " name "\n" name ":\n"
#endif
#define RS_SYSTEM_FILE(name, path)                                                                           \
    __asm__(RS_SYSTEM_CONSTANTS "\n.balign 16\n" RS_SYSTEM_LABEL(                                            \
        #name) ".incbin \"" path "\"\n" RS_SYSTEM_LABEL(#name "_end") ".byte 0\n.text\n");                   \
    extern const unsigned char name[] __attribute__((visibility("hidden")));                                 \
    extern const unsigned char name##_end[] __attribute__((visibility("hidden")))

/* The path of a program that is installed next to this one; its name alone, for the search of PATH, where none is there. */
void rs_system_beside(const char *name, char *path, size_t size);

/* What a program that is started is given. */
char **rs_system_environment(void);

/* Processors of this machine, at least 1. */
unsigned rs_system_processors(void);

/* A socket that programs which this one starts do not inherit; -1 with errno. */
int rs_system_socket(int family, int type, int protocol, bool waits);

/* Random bytes of the system; false with errno. */
bool rs_system_random(void *bytes, size_t n);

/* In a child: asks to be sent `signal` when its parent ends in any way, where the system knows that. */
void rs_system_end_with_parent(int signal);
