/* The simulation's events, stream waits, synchronizing calls and graphs. */
#include "sim.h"

static int32_t add_sync(job *j, rank_state *r, int template_number, int kind, const record *call, int stream,
                        const event_state *ev)
{
    if (j->opt.no_sync || j->opt.rocm) return -1;
    record *e = append(&r->device_records);
    e->template = template_number;
    e->kind = (uint8_t)kind;
    e->start = call->start + call->duration / 8;
    e->duration = call->start + call->duration - call->duration / 8 - e->start;
    e->stream = (uint8_t)stream;
    e->external = call->external;
    e->correlation = call->correlation;
    if (ev) {
        e->sequence = ev->correlation;
        e->other = ev->stream;
        e->amount = ev - r->events + 1;
    }
    if (!keeps_truth(j, r)) return -1;
    truth_rank *t = r->truth;
    t->syncs = grow(t->syncs, &t->sync_capacity, t->sync_count + 1, sizeof *t->syncs);
    t->syncs[t->sync_count] = -1;
    e->truth = (int32_t)t->sync_count;
    return (int32_t)t->sync_count++;
}

void do_record(job *j, rank_state *r, const instruction *i)
{
    event_state *ev = &r->events[i->event];
    const stream_state *s = &r->streams[i->stream];
    ev->stream = i->stream;
    ev->time = s->free;
    ev->source = s->last;
    if (r->in_graph) return;
    record call = new_call(j, r, j->call_record, 500, 600);
    ev->correlation = call.correlation;
    *append(&r->device_records) = call;
}

void do_wait(job *j, rank_state *r, const instruction *i)
{
    const event_state *ev = &r->events[i->event];
    stream_state *s = &r->streams[i->stream];
    int32_t sync = -1;
    if (!r->in_graph) {
        record call = new_call(j, r, j->call_wait, 600, 700);
        sync = add_sync(j, r, j->sync_wait, SYNC_STREAM_WAIT, &call, i->stream, ev);
        *append(&r->device_records) = call;
    }
    if (ev->source < 0) return;
    if (ev->time > s->wait || s->wait_source < 0) {
        s->wait = ev->time;
        s->wait_source = ev->source;
    }
    if (r->in_graph) sync = INSIDE_GRAPH;
    s->waits = grow(s->waits, &s->wait_capacity, 2 * (s->wait_count + 1), sizeof *s->waits);
    s->waits[2 * s->wait_count] = ev->source;
    s->waits[2 * s->wait_count++ + 1] = sync;
}

/* A call that returns when the GPU event `source` and whatever precedes it on its stream has ended. */
void do_sync(job *j, rank_state *r, const instruction *i)
{
    int calls[] = {j->call_sync_stream, j->call_sync_event, j->call_sync_device};
    int what = i->action - DO_SYNC_STREAM;
    record call = new_call(j, r, i->call >= 0 ? i->call : calls[what], 1400, 1200);
    int64_t latency = paced(j, 1500 + random_below(&r->random, 900)), done = 0;
    int32_t sources[STREAM_COUNT], bound = -1;
    int count = 0;
    if (i->action == DO_SYNC_EVENT && r->events[i->event].source >= 0) {
        sources[count++] = bound = r->events[i->event].source;
        done = r->events[i->event].time;
    }
    for (int s = 0; i->action != DO_SYNC_EVENT && s < STREAM_COUNT; s++) {
        if ((i->action == DO_SYNC_STREAM && s != i->stream) || r->streams[s].last < 0) continue;
        sources[count++] = r->streams[s].last;
        if (r->streams[s].free > done) {
            done = r->streams[s].free;
            bound = r->streams[s].last;
        }
    }
    if (done + latency > r->time) {
        r->time = done + latency;
        call.duration = r->time - call.start;
    } else {
        bound = -1;
    }
    int kinds[] = {SYNC_STREAM, SYNC_EVENT, SYNC_CONTEXT};
    int names[] = {j->sync_stream, j->sync_event, j->sync_context};
    int32_t sync = -1; /* a call that frees memory waits without telling */
    if (i->call < 0)
        sync = add_sync(j, r, names[what], kinds[what], &call, i->stream,
                        i->action == DO_SYNC_EVENT ? &r->events[i->event] : NULL);
    if (keeps_truth(j, r)) {
        truth_rank *t = r->truth;
        t->calls = grow(t->calls, &t->call_capacity, t->call_count + 1, sizeof *t->calls);
        call.truth = (int32_t)t->call_count;
        t->calls[t->call_count++] = (call_truth){call.start, call.start + call.duration, -1, bound, false};
        for (int k = 0; k < count; k++) {
            truth_edge(r, kinds[what], sources[k], call.truth, sync);
            int32_t *waited = &r->waited[r->thread][t->gpu[sources[k]].stream];
            if (sources[k] > *waited) *waited = sources[k]; /* a stream's events are numbered in its order */
        }
    }
    *append(&r->device_records) = call;
}

void graph_begin(job *j, rank_state *r)
{
    record call = new_call(j, r, j->call_graph, 38000, 30000);
    call.launches = true;
    r->graph_call = r->device_records.count;
    r->graph_first = r->gpu_count;
    r->graph_ready = r->time + paced(j, 2500 + random_below(&r->random, 1500));
    *append(&r->device_records) = call;
    r->in_graph = true;
}

/* What follows on the launching stream waits for every branch of the graph. */
void graph_end(rank_state *r)
{
    record *call = &r->device_records.items[r->graph_call];
    stream_state *main_stream = &r->streams[STREAM_COMPUTE];
    call->truth = r->graph_first;
    call->owned = (uint32_t)(r->gpu_count - r->graph_first);
    for (int k = 0; k < STREAM_COUNT; k++) {
        const stream_state *s = &r->streams[k];
        if (k == STREAM_COMPUTE || s->last < r->graph_first) continue;
        main_stream->waits = grow(main_stream->waits, &main_stream->wait_capacity,
                                  2 * (main_stream->wait_count + 1), sizeof *s->waits);
        main_stream->waits[2 * main_stream->wait_count] = s->last;
        main_stream->waits[2 * main_stream->wait_count++ + 1] = INSIDE_GRAPH;
        if (s->free > main_stream->free && (main_stream->wait_source < 0 || s->free > main_stream->wait)) {
            main_stream->wait = s->free;
            main_stream->wait_source = s->last;
        }
    }
    r->in_graph = false;
}
