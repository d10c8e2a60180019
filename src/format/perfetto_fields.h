/* The messages of Perfetto's traces by the numbers of their fields (perfetto's protos/perfetto/trace), which the reader
 * (format/perfetto*.c) and the writer (rewrite/pftrace.c) share. */
#ifndef RS_FORMAT_PERFETTO_FIELDS_H
#define RS_FORMAT_PERFETTO_FIELDS_H

enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCKS = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_CLEARED = 41, /* of old writers: the flag of that name */
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { CLOCKS_CLOCK = 1 };
enum { CLOCK_ID = 1, CLOCK_TIME = 2, CLOCK_INCREMENTAL = 3, CLOCK_UNIT = 4 };
enum { DEFAULTS_EVENT = 11, DEFAULTS_CLOCK = 58 };
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_STATIC_NAME = 10,
    TRACK_ORDER = 12
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum {
    EVENT_CATEGORY_IID = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_REAL_VALUE = 44,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_KEY = 3, INTERNED_VALUE = 29, N_INTERNED = 4 };
enum { ITEM_IID = 1, ITEM_TEXT = 2 };
enum {
    ANNOTATION_KEY_IID = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_NATURAL = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_REAL = 5,
    ANNOTATION_TEXT = 6,
    ANNOTATION_POINTER = 7,
    ANNOTATION_JSON = 9,
    ANNOTATION_KEY = 10,
    ANNOTATION_TEXT_IID = 17
};

#endif
