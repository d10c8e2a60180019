/* Entries of the store: one file each, written once, never changed, and read as hostile input.
 *
 *   head      64 bytes: magic, format, kind, program, lengths, checksum of head, key and table
 *   key       what it is the answer to (`identity`, by which the file is named) and of what (`stamps`)
 *   table     one place for each section: id, packing, offset, lengths, checksum
 *   sections  each at a multiple of 64 bytes
 *
 * There are two ways to write one. Small: numbers narrow, texts packed; its sections are read, which costs memory and
 * a skip them. In place: as the numbers are, two to three times as large; the file is mapped and its sections are
 * used where they lie.
 *
 * Numbers are the machine's own: a machine of the other byte order meets another magic. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rankscope/status.h"

typedef enum rs_entry_kind {
    RS_ENTRY_ANSWER = 1,
    RS_ENTRY_RESULT,
    RS_ENTRY_EVENTS,
    RS_ENTRY_FACET,
    RS_N_ENTRY_KINDS
} rs_entry_kind;

/* What an entry is the answer to. The same identity with other stamps is a stale one, and is replaced. */
typedef struct rs_entry_key {
    rs_entry_kind kind;
    const void *identity, *stamps;
    size_t n_identity, n_stamps;
} rs_entry_key;

typedef struct rs_entry_part {
    uint32_t id; /* unlike those of the others */
    bool pack;   /* with zstd, where that makes it much smaller */
    uint8_t
        number; /* it consists of whole numbers of that many bytes, which become as narrow as they can (narrow.h); 0: not */
    const void *bytes;
    size_t n;
} rs_entry_part;

#define RS_ENTRY_PARTS 1024 /* more sections than that are none of ours */

/* A hash of the sources that this program was built from: made by the build. */
extern const char rs_build_sources[];

/* The file of an entry, below the folder: "ab/cdef...". */
#define RS_ENTRY_NAME 40
void rs_entry_name(const rs_entry_key *key, char name[RS_ENTRY_NAME]);

/* Writes an entry under another name, then renames it. in_place: see above. *size: of the file. The folder exists. Nothing waits for
 * the disk: should the machine lose power, an entry whose bytes did not get there is identified by its checksums. */
rs_status rs_entry_write(const char *folder, const rs_entry_key *key, bool in_place,
                         const rs_entry_part *parts, size_t n, uint64_t *size, rs_error *err);

typedef struct rs_entry rs_entry;

/* The entry of exactly that key, made by this program; NULL: there is none that can be used. Its time of use is
 * set to now. */
rs_entry *rs_entry_find(const char *folder, const rs_entry_key *key);
/* Any entry by its file, for list and verify; NULL: it is none, or damaged in its head. */
rs_entry *rs_entry_open(const char *path);
/* The same, which tells that from missing memory: then, and only then, it fails. */
rs_status rs_entry_look(const char *path, rs_entry **out, rs_error *err);
/* The same of bytes, which are borrowed. */
rs_entry *rs_entry_of_bytes(const void *bytes, size_t n);
void rs_entry_close(rs_entry *entry); /* NULL is allowed */

/* Whether this very program wrote it. */
bool rs_entry_is_own(const rs_entry *entry);
/* Its key; the entry's. */
rs_entry_key rs_entry_get_key(const rs_entry *entry);
size_t rs_entry_size(const rs_entry *entry);
/* The bytes of a section, checked and unpacked; the entry's, at a multiple of 8 bytes. NULL: there is no such
 * section, it is damaged, or there is no memory. Threads may ask at once for different sections. */
const void *rs_entry_part_of(rs_entry *entry, uint32_t id, size_t *n);

/* Whether there is such a section, and how many bytes it says to have. */
bool rs_entry_part_size(const rs_entry *entry, uint32_t id, size_t *n);
/* Who looks at bytes as soon as they are there, and in the processor's cache: those from `from` up to `to`, and all
 * before them, are. */
typedef struct rs_entry_check {
    bool (*good)(void *context, const void *bytes, size_t from, size_t to);
    void *context;
} rs_entry_check;
/* The same bytes into memory of n bytes, which is as many as there are. check: NULL is allowed. false: there is no such
 * section, it is damaged or not good, or there is no memory. Threads may ask at once. */
bool rs_entry_part_into(const rs_entry *entry, uint32_t id, size_t n, void *out, const rs_entry_check *check);

/* The whole file of an entry whose sections are used in place, of rs_entry_size bytes; NULL: it is another one. */
const void *rs_entry_lying(const rs_entry *entry);
/* Such a section of n bytes where it lies. NULL as above. Threads may ask at once. */
const void *rs_entry_part_lying(const rs_entry *entry, uint32_t id, size_t n, const rs_entry_check *check);

/* Closes the file: what was read stays, and no more is read. */
void rs_entry_let_go(rs_entry *entry);

/* For tests and fuzzing: makes the sums right of bytes that are laid out as an entry, as if this program had written
 * them. */
void rs_entry_seal(void *bytes, size_t n);
/* Whether all sections are as they were written; fails only without memory for a piece of one. */
rs_status rs_entry_prove(const rs_entry *entry, bool *is_whole, rs_error *err);
bool rs_entry_is_whole(const rs_entry *entry);
