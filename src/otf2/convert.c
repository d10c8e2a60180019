/* rankscope-otf2 ARCHIVE.otf2 OUT.json: an archive of OTF2 (Score-P, rocprofv3) as Chrome events, by OTF2's own library.
 *
 * It is a program of its own because that library trusts its input: an archive that makes it crash, loop or allocate without
 * end stops this process, which has limits, and not the one that reads the result (format/otf2.c). Regions become spans of
 * their threads, those of accelerators GPU work; what MPI says of a message or a collective becomes arguments of the region
 * around it. Ranks are those of MPI_COMM_WORLD, else processes in their order.
 *
 * Exit code 3: the archive cannot be read; OUT then holds one line that says why. */
#define _GNU_SOURCE
#include <otf2/otf2.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/strings.h"

#define MOST_SECONDS 600         /* of processor time */
#define MOST_MEMORY (8ull << 30) /* bytes */
#define MOST_DEPTH 4096          /* regions within each other on one location */
#define MOST_FILE (16ull << 30)  /* bytes of the result */
#define MOST_TEXT 4096           /* bytes of a name that are written */
#define BATCH 65536              /* events between two looks at the output */

/* AddressSanitizer reserves more than any limit. */
#if defined(__SANITIZE_ADDRESS__)
#define LIMITS_MEMORY false
#elif defined(__has_feature)
#define LIMITS_MEMORY !__has_feature(address_sanitizer)
#else
#define LIMITS_MEMORY true
#endif

/* Definitions by their number. */
typedef struct defined {
    rs_map64 at; /* number -> place */
    size_t n, capacity;
} defined;

typedef struct region {
    uint64_t name;
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
} region;

typedef struct group {
    OTF2_GroupType type;
    OTF2_Paradigm paradigm;
    uint64_t *members;
    uint32_t n;
} group;

typedef struct comm {
    uint64_t name, group;
} comm;

typedef struct process {
    uint64_t id, name, creator;
    bool gpu;
    int64_t rank; /* -1: none of its own */
    uint32_t device, n_streams;
} process;

/* What MPI said within a region. */
typedef struct said {
    bool message, collective;
    bool sends;
    uint64_t comm, bytes, received;
    uint32_t peer;
} said;

typedef struct frame {
    uint64_t region, time;
    said said;
} frame;

typedef struct location {
    uint64_t id, name, process;
    OTF2_LocationType type;
    uint32_t stream;
    frame *stack;
    size_t depth, capacity;
    uint64_t copy_start, copy_bytes; /* of a copy on an accelerator that is on its way */
    bool copies, gets;
} location;

typedef struct converter {
    FILE *out;
    uint64_t resolution, origin;
    bool any, no_memory;
    defined strings_at, regions_at, groups_at, comms_at, processes_at, locations_at;
    char **strings;
    region *regions;
    group *groups;
    comm *comms;
    process *processes;
    location *locations;
    uint64_t n_lost; /* leaves without an enter, and events of unknown locations */
} converter;

/* A new place for a definition, NULL when out of memory; a number that comes again replaces what it was. */
static void *define(converter *c, defined *d, void **items, size_t size, uint64_t number)
{
    bool is_new;
    uint32_t *at = rs_map64_put(&d->at, number, &is_new);
    if (at && is_new) {
        *at = (uint32_t)d->n;
        if (rs_grow(items, &d->capacity, d->n + 1, size)) {
            void *item = (char *)*items + d->n++ * size;
            memset(item, 0, size);
            return item;
        }
        at = NULL;
    }
    if (!at) c->no_memory = true;
    return at ? (char *)*items + *at * size : NULL;
}

static void *find(const defined *d, void *items, size_t size, uint64_t number)
{
    const uint32_t *at = rs_map64_get(&d->at, number);
    return at ? (char *)items + *at * size : NULL;
}
#define DEFINE(c, what, number) define(c, &(c)->what##_at, (void **)&(c)->what, sizeof *(c)->what, (number))
#define FIND(c, what, number) find(&(c)->what##_at, (c)->what, sizeof *(c)->what, (number))

static const char *text(const converter *c, uint64_t string)
{
    char *const *s = FIND(c, strings, string);
    return s && *s ? *s : "";
}

/* ---- definitions ---------------------------------------------------------------------------------------- */

static OTF2_CallbackCode go_on(const converter *c)
{
    return c->no_memory ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_clock(void *data, uint64_t resolution, uint64_t offset, uint64_t length,
                                  uint64_t realtime)
{
    converter *c = data;
    (void)length;
    (void)realtime;
    c->resolution = resolution;
    c->origin = offset;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *data, OTF2_StringRef self, const char *string)
{
    converter *c = data;
    char **s = DEFINE(c, strings, self);
    if (s) {
        rs_free(*s);
        *s = rs_strdup(string ? string : "");
        c->no_memory |= !*s;
    }
    return go_on(c);
}

static OTF2_CallbackCode on_region(void *data, OTF2_RegionRef self, OTF2_StringRef name,
                                   OTF2_StringRef canonical, OTF2_StringRef description, OTF2_RegionRole role,
                                   OTF2_Paradigm paradigm, OTF2_RegionFlag flags, OTF2_StringRef file,
                                   uint32_t begin, uint32_t end)
{
    converter *c = data;
    region *r = DEFINE(c, regions, self);
    (void)canonical, (void)description, (void)flags, (void)file, (void)begin, (void)end;
    if (r) *r = (region){name, role, paradigm};
    return go_on(c);
}

static OTF2_CallbackCode on_group(void *data, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type,
                                  OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t n,
                                  const uint64_t *members)
{
    converter *c = data;
    group *g = DEFINE(c, groups, self);
    (void)name, (void)flags;
    if (!g) return go_on(c);
    rs_free(g->members);
    *g = (group){type, paradigm, rs_malloc(((size_t)n + 1) * sizeof *members), n};
    if (g->members && n) memcpy(g->members, members, n * sizeof *members);
    c->no_memory |= !g->members;
    return go_on(c);
}

static OTF2_CallbackCode on_comm(void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef of,
                                 OTF2_CommRef parent, OTF2_CommFlag flags)
{
    converter *c = data;
    comm *m = DEFINE(c, comms, self);
    (void)parent, (void)flags;
    if (m) *m = (comm){name, of};
    return go_on(c);
}

static OTF2_CallbackCode on_process(void *data, OTF2_LocationGroupRef self, OTF2_StringRef name,
                                    OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef parent,
                                    OTF2_LocationGroupRef creator)
{
    converter *c = data;
    process *p = DEFINE(c, processes, self);
    (void)parent;
    if (p) *p = (process){self, name, creator, type == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, -1, 0, 0};
    return go_on(c);
}

static OTF2_CallbackCode on_location(void *data, OTF2_LocationRef self, OTF2_StringRef name,
                                     OTF2_LocationType type, uint64_t n_events, OTF2_LocationGroupRef of)
{
    converter *c = data;
    location *l = DEFINE(c, locations, self);
    (void)n_events;
    if (!l) return go_on(c);
    rs_free(l->stack);
    *l = (location){.id = self, .name = name, .process = of, .type = type};
    return go_on(c);
}

static bool is_stream(const location *l)
{
    return l->type == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
}

/* Numbers ranks as MPI does, then the processes that it does not know; accelerators are their creator's. */
static void number_ranks(converter *c)
{
    int64_t next = 0;
    for (size_t i = 0; i < c->groups_at.n; i++) {
        const group *g = &c->groups[i];
        if (g->type != OTF2_GROUP_TYPE_COMM_LOCATIONS || g->paradigm != OTF2_PARADIGM_MPI) continue;
        for (uint32_t k = 0; k < g->n; k++) {
            const location *l = FIND(c, locations, g->members[k]);
            process *p = l ? FIND(c, processes, l->process) : NULL;
            if (p && p->rank < 0) p->rank = k;
            if (k >= next) next = (int64_t)k + 1;
        }
    }
    for (size_t i = 0; i < c->processes_at.n; i++) {
        process *p = &c->processes[i];
        if (p->rank < 0 && !p->gpu) p->rank = next++;
    }
    uint32_t device = 0;
    for (size_t i = 0; i < c->processes_at.n; i++) {
        process *p = &c->processes[i];
        const process *of = p->gpu ? FIND(c, processes, p->creator) : NULL;
        if (!p->gpu) continue;
        p->device = device++;
        p->rank = of && of->rank >= 0 ? of->rank : 0;
    }
    for (size_t i = 0; i < c->locations_at.n; i++) {
        process *p = FIND(c, processes, c->locations[i].process);
        if (p && is_stream(&c->locations[i])) c->locations[i].stream = p->n_streams++;
    }
}

/* ---- output --------------------------------------------------------------------------------------------- */

static void put_text(converter *c, const char *s)
{
    fputc('"', c->out);
    for (size_t i = 0; *s && i < MOST_TEXT; i++, s++) {
        if (*s == '"' || *s == '\\') fputc('\\', c->out);
        if ((unsigned char)*s < 0x20)
            fprintf(c->out, "\\u%04x", (unsigned char)*s);
        else
            fputc(*s, c->out);
    }
    fputc('"', c->out);
}

static int64_t ns_of(const converter *c, uint64_t time)
{
    __int128 ticks = (__int128)time - c->origin, ns = ticks * 1000000000;
    ns = (ns + (ns < 0 ? -1 : 1) * (__int128)(c->resolution / 2)) / (__int128)c->resolution;
    return ns > INT64_MAX / 4 ? INT64_MAX / 4 : ns < INT64_MIN / 4 ? INT64_MIN / 4 : (int64_t)ns;
}

/* us with three places, exactly. */
static void put_us(converter *c, const char *key, int64_t ns)
{
    const char *sign = ns < 0 ? "-" : "";
    uint64_t n = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    fprintf(c->out, ",\"%s\":%s%llu.%03llu", key, sign, (unsigned long long)(n / 1000),
            (unsigned long long)(n % 1000));
}

static const process *process_of(const converter *c, const location *l)
{
    return FIND(c, processes, l->process);
}

/* The beginning of a span, up to and with "args":{"rank":N. */
static void open_span(converter *c, const location *l, const char *category, const char *name, uint64_t from,
                      uint64_t to)
{
    const process *p = process_of(c, l);
    int64_t rank = p && p->rank >= 0 ? p->rank : 0, start = ns_of(c, from), end = ns_of(c, to);
    fprintf(c->out, "%s\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", c->any ? "," : "", category);
    c->any = true;
    put_text(c, name);
    fprintf(c->out, ",\"pid\":%lld,\"tid\":%llu", (long long)rank, (unsigned long long)l->id);
    put_us(c, "ts", start);
    put_us(c, "dur", end < start ? 0 : end - start);
    fprintf(c->out, ",\"args\":{\"rank\":%lld", (long long)rank);
}

static void put_device(converter *c, const location *l)
{
    const process *p = process_of(c, l);
    fprintf(c->out, ",\"device\":%u,\"stream\":%u", p ? p->device : 0, l->stream);
}

static void put_threads(converter *c)
{
    for (size_t i = 0; i < c->locations_at.n; i++) {
        const location *l = &c->locations[i];
        const process *p = process_of(c, l);
        fprintf(c->out,
                "%s\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%lld,\"tid\":%llu,\"args\":{\"name\":",
                c->any ? "," : "", (long long)(p && p->rank >= 0 ? p->rank : 0), (unsigned long long)l->id);
        c->any = true;
        put_text(c, text(c, l->name));
        fputs("}}", c->out);
    }
}

/* ---- events --------------------------------------------------------------------------------------------- */

static bool holds_word(const char *name, const char *word)
{
    return strcasestr(name, word) != NULL;
}

/* What MPI does for others is an annotation, as that of the back ends of PyTorch. */
static const char *category_of(const location *l, const region *r, const char *name, const said *s)
{
    bool talks = s->message || s->collective || strncmp(name, "MPI_Wait", 8) == 0;
    if (is_stream(l))
        return holds_word(name, "memset") ? "gpu_memset"
               : holds_word(name, "memcpy") || holds_word(name, "memory_copy") ||
                       r->role == OTF2_REGION_ROLE_DATA_TRANSFER
                   ? "gpu_memcpy"
                   : "kernel";
    bool call = r->paradigm == OTF2_PARADIGM_CUDA || r->paradigm == OTF2_PARADIGM_HIP ||
                strncmp(name, "cuda", 4) == 0 || strncmp(name, "hip", 3) == 0;
    return call ? "cuda_runtime" : talks ? "user_annotation" : "cpu_op";
}

/* The rank that MPI calls so in a communicator; -1: it is not known. */
static int64_t rank_in(const group *g, uint32_t place)
{
    if (!g || (g->type == OTF2_GROUP_TYPE_COMM_GROUP && place >= g->n)) return -1;
    return g->type == OTF2_GROUP_TYPE_COMM_GROUP ? (int64_t)g->members[place] : -1;
}

static void put_said(converter *c, const location *l, const char *name, const said *s)
{
    const comm *m = FIND(c, comms, s->comm);
    const group *g = m ? FIND(c, groups, m->group) : NULL;
    const process *p = process_of(c, l);
    if (!s->message && !s->collective) return;
    fputs(",\"Collective name\":\"", c->out);
    for (name += strncmp(name, "MPI_", 4) == 0 ? 4 : 0; rs_is_letter(*name) || *name == '_'; name++)
        fputc(rs_lower(*name), c->out);
    fputs("\",\"dtype\":\"Byte\",\"Process Group Name\":", c->out);
    put_text(c, m ? text(c, m->name) : "");
    if (g) fprintf(c->out, ",\"Group size\":%u", g->n);
    fprintf(c->out, ",\"In msg nelems\":%llu,\"Out msg nelems\":%llu", (unsigned long long)s->bytes,
            (unsigned long long)s->received);
    int64_t peer = s->message ? rank_in(g, s->peer) : -1;
    if (peer >= 0 && p)
        fprintf(c->out, ",\"Src Rank\":%lld,\"Dst Rank\":%lld", (long long)(s->sends ? p->rank : peer),
                (long long)(s->sends ? peer : p->rank));
}

static OTF2_CallbackCode on_enter(OTF2_LocationRef at, OTF2_TimeStamp time, void *data,
                                  OTF2_AttributeList *attributes, OTF2_RegionRef self)
{
    converter *c = data;
    location *l = FIND(c, locations, at);
    (void)attributes;
    if (!l || l->depth >= MOST_DEPTH)
        c->n_lost++;
    else if (!RS_PUSH(l->stack, l->depth, l->capacity, (frame){.region = self, .time = time}))
        c->no_memory = true;
    return go_on(c);
}

static OTF2_CallbackCode on_leave(OTF2_LocationRef at, OTF2_TimeStamp time, void *data,
                                  OTF2_AttributeList *attributes, OTF2_RegionRef self)
{
    static const region unknown = {0};
    converter *c = data;
    location *l = FIND(c, locations, at);
    (void)attributes;
    if (!l || !l->depth || l->stack[l->depth - 1].region != self) {
        c->n_lost++;
        return go_on(c);
    }
    const frame *f = &l->stack[--l->depth];
    const region *r = FIND(c, regions, self);
    if (!r) r = &unknown;
    const char *name = text(c, r->name);
    open_span(c, l, category_of(l, r, name, &f->said), name, f->time, time);
    if (is_stream(l)) put_device(c, l);
    put_said(c, l, name, &f->said);
    fputs("}}", c->out);
    return go_on(c);
}

/* A message is an argument of the region around it; the second in one region adds its bytes where it has the same peer. */
static OTF2_CallbackCode say(converter *c, uint64_t at, said s)
{
    location *l = FIND(c, locations, at);
    if (!l || !l->depth) {
        c->n_lost++;
        return go_on(c);
    }
    said *have = &l->stack[l->depth - 1].said;
    if (!have->message && !have->collective)
        *have = s;
    else if (have->message && s.message && have->peer == s.peer && have->sends == s.sends)
        have->bytes += s.bytes, have->received += s.received;
    return go_on(c);
}

static OTF2_CallbackCode on_send(OTF2_LocationRef at, OTF2_TimeStamp time, void *data, OTF2_AttributeList *a,
                                 uint32_t to, OTF2_CommRef in, uint32_t tag, uint64_t bytes)
{
    (void)time, (void)a, (void)tag;
    return say(
        data, at,
        (said){.message = true, .sends = true, .comm = in, .bytes = bytes, .received = bytes, .peer = to});
}

static OTF2_CallbackCode on_isend(OTF2_LocationRef at, OTF2_TimeStamp time, void *data, OTF2_AttributeList *a,
                                  uint32_t to, OTF2_CommRef in, uint32_t tag, uint64_t bytes,
                                  uint64_t request)
{
    (void)request;
    return on_send(at, time, data, a, to, in, tag, bytes);
}

static OTF2_CallbackCode on_receive(OTF2_LocationRef at, OTF2_TimeStamp time, void *data,
                                    OTF2_AttributeList *a, uint32_t from, OTF2_CommRef in, uint32_t tag,
                                    uint64_t bytes)
{
    (void)time, (void)a, (void)tag;
    return say(data, at,
               (said){.message = true, .comm = in, .bytes = bytes, .received = bytes, .peer = from});
}

static OTF2_CallbackCode on_ireceive(OTF2_LocationRef at, OTF2_TimeStamp time, void *data,
                                     OTF2_AttributeList *a, uint32_t from, OTF2_CommRef in, uint32_t tag,
                                     uint64_t bytes, uint64_t request)
{
    (void)request;
    return on_receive(at, time, data, a, from, in, tag, bytes);
}

static OTF2_CallbackCode on_collective(OTF2_LocationRef at, OTF2_TimeStamp time, void *data,
                                       OTF2_AttributeList *a, OTF2_CollectiveOp op, OTF2_CommRef in,
                                       uint32_t root, uint64_t sent, uint64_t received)
{
    (void)time, (void)a, (void)op, (void)root;
    return say(data, at, (said){.collective = true, .comm = in, .bytes = sent, .received = received});
}

/* Copies of an accelerator, as Score-P records them. */
static OTF2_CallbackCode begin_copy(converter *c, uint64_t at, uint64_t time, uint64_t bytes, bool gets)
{
    location *l = FIND(c, locations, at);
    if (l && is_stream(l)) {
        l->copies = true;
        l->gets = gets;
        l->copy_start = time;
        l->copy_bytes = bytes;
    }
    return go_on(c);
}

static OTF2_CallbackCode on_put(OTF2_LocationRef at, OTF2_TimeStamp time, void *data, OTF2_AttributeList *a,
                                OTF2_RmaWinRef win, uint32_t remote, uint64_t bytes, uint64_t id)
{
    (void)a, (void)win, (void)remote, (void)id;
    return begin_copy(data, at, time, bytes, false);
}

static OTF2_CallbackCode on_get(OTF2_LocationRef at, OTF2_TimeStamp time, void *data, OTF2_AttributeList *a,
                                OTF2_RmaWinRef win, uint32_t remote, uint64_t bytes, uint64_t id)
{
    (void)a, (void)win, (void)remote, (void)id;
    return begin_copy(data, at, time, bytes, true);
}

static OTF2_CallbackCode on_copied(OTF2_LocationRef at, OTF2_TimeStamp time, void *data,
                                   OTF2_AttributeList *a, OTF2_RmaWinRef win, uint64_t id)
{
    converter *c = data;
    location *l = FIND(c, locations, at);
    (void)a, (void)win, (void)id;
    if (!l || !l->copies) return go_on(c);
    l->copies = false;
    open_span(c, l, "gpu_memcpy", l->gets ? "Memcpy (get)" : "Memcpy (put)", l->copy_start, time);
    put_device(c, l);
    fprintf(c->out, ",\"bytes\":%llu}}", (unsigned long long)l->copy_bytes);
    return go_on(c);
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

static bool read_definitions(converter *c, OTF2_Reader *r)
{
    uint64_t n;
    OTF2_GlobalDefReader *d = OTF2_Reader_GetGlobalDefReader(r);
    OTF2_GlobalDefReaderCallbacks *on = OTF2_GlobalDefReaderCallbacks_New();
    bool ok = d && on;
    if (ok) {
        OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(on, on_clock);
        OTF2_GlobalDefReaderCallbacks_SetStringCallback(on, on_string);
        OTF2_GlobalDefReaderCallbacks_SetRegionCallback(on, on_region);
        OTF2_GlobalDefReaderCallbacks_SetGroupCallback(on, on_group);
        OTF2_GlobalDefReaderCallbacks_SetCommCallback(on, on_comm);
        OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(on, on_process);
        OTF2_GlobalDefReaderCallbacks_SetLocationCallback(on, on_location);
        ok = OTF2_Reader_RegisterGlobalDefCallbacks(r, d, on, c) == OTF2_SUCCESS &&
             OTF2_Reader_ReadAllGlobalDefinitions(r, d, &n) == OTF2_SUCCESS;
    }
    if (on) OTF2_GlobalDefReaderCallbacks_Delete(on);
    return ok;
}

/* Clock corrections and numbers of each location; events cannot be read before. */
static void read_locations(const converter *c, OTF2_Reader *r)
{
    bool open = OTF2_Reader_OpenDefFiles(r) == OTF2_SUCCESS;
    for (size_t i = 0; i < c->locations_at.n; i++) OTF2_Reader_SelectLocation(r, c->locations[i].id);
    for (size_t i = 0; open && i < c->locations_at.n; i++) {
        uint64_t n;
        OTF2_DefReader *d = OTF2_Reader_GetDefReader(r, c->locations[i].id);
        if (!d) continue;
        OTF2_Reader_ReadAllLocalDefinitions(r, d, &n);
        OTF2_Reader_CloseDefReader(r, d);
    }
    if (open) OTF2_Reader_CloseDefFiles(r);
}

static bool read_events(converter *c, OTF2_Reader *r)
{
    uint64_t n = BATCH;
    bool ok = OTF2_Reader_OpenEvtFiles(r) == OTF2_SUCCESS;
    for (size_t i = 0; ok && i < c->locations_at.n; i++) ok = OTF2_Reader_GetEvtReader(r, c->locations[i].id);
    OTF2_GlobalEvtReader *e = ok ? OTF2_Reader_GetGlobalEvtReader(r) : NULL;
    OTF2_GlobalEvtReaderCallbacks *on = OTF2_GlobalEvtReaderCallbacks_New();
    ok = e && on;
    if (ok) {
        OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(on, on_enter);
        OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(on, on_leave);
        OTF2_GlobalEvtReaderCallbacks_SetMpiSendCallback(on, on_send);
        OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCallback(on, on_isend);
        OTF2_GlobalEvtReaderCallbacks_SetMpiRecvCallback(on, on_receive);
        OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvCallback(on, on_ireceive);
        OTF2_GlobalEvtReaderCallbacks_SetMpiCollectiveEndCallback(on, on_collective);
        OTF2_GlobalEvtReaderCallbacks_SetRmaPutCallback(on, on_put);
        OTF2_GlobalEvtReaderCallbacks_SetRmaGetCallback(on, on_get);
        OTF2_GlobalEvtReaderCallbacks_SetRmaOpCompleteBlockingCallback(on, on_copied);
        OTF2_GlobalEvtReaderCallbacks_SetRmaOpCompleteNonBlockingCallback(on, on_copied);
        ok = OTF2_Reader_RegisterGlobalEvtCallbacks(r, e, on, c) == OTF2_SUCCESS;
    }
    while (ok && n == BATCH && !ferror(c->out))
        ok = OTF2_Reader_ReadGlobalEvents(r, e, BATCH, &n) == OTF2_SUCCESS;
    if (on) OTF2_GlobalEvtReaderCallbacks_Delete(on);
    return ok;
}

/* What the archive's library says is part of the message and does not go to the terminal. */
static char complaint[256];

static OTF2_ErrorCode on_error(void *data, const char *file, uint64_t line, const char *function,
                               OTF2_ErrorCode code, const char *format, va_list args)
{
    (void)data, (void)file, (void)line, (void)function;
    if (!complaint[0]) vsnprintf(complaint, sizeof complaint, format, args);
    return code;
}

static void refuse(FILE *out, const char *why)
{
    rewind(out);
    if (complaint[0])
        fprintf(out, "%s: %s\n", why, complaint);
    else
        fprintf(out, "%s\n", why);
    fclose(out);
    _exit(3);
}

static uint64_t read_archive(converter *c, const char *path, const char **why)
{
    *why = "it cannot be opened";
    OTF2_Reader *r = OTF2_Reader_Open(path);
    if (!r) return 0;
    OTF2_Reader_SetSerialCollectiveCallbacks(r);
    *why = "its definitions cannot be read";
    bool ok = read_definitions(c, r) && c->resolution;
    if (ok) {
        *why = "its events cannot be read";
        number_ranks(c);
        fputs("{\"schemaVersion\":1,\"traceEvents\":[", c->out);
        put_threads(c);
        read_locations(c, r);
        ok = read_events(c, r);
        fputs("\n]}\n", c->out);
    }
    if (ok) *why = c->no_memory ? "there is too little memory" : NULL;
    OTF2_Reader_Close(r);
    return c->n_lost;
}

int main(int argc, char **argv)
{
    converter c = {0};
    const char *why;
    if (argc != 3) {
        fputs("usage: rankscope-otf2 ARCHIVE.otf2 OUT.json\n", stderr);
        return 2;
    }
    setrlimit(RLIMIT_CPU, &(struct rlimit){MOST_SECONDS, MOST_SECONDS});
    if (LIMITS_MEMORY) setrlimit(RLIMIT_AS, &(struct rlimit){MOST_MEMORY, MOST_MEMORY});
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){MOST_FILE, MOST_FILE});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    OTF2_Error_RegisterCallback(on_error, NULL);
    if (!(c.out = fopen(argv[2], "w"))) return 1;
    read_archive(&c, argv[1], &why);
    if (why) refuse(c.out, why);
    _exit(ferror(c.out) | fclose(c.out) ? 1 : 0); /* memory goes with the process */
}
