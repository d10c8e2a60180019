/* The order of a step's forward and backward passes over micro batches and stages, and what they exchange. */
#include "model.h"

static int neighbour(const builder *b, int way)
{
    int peer = b->r->id + way * b->j->opt.tp * b->j->opt.dp;
    return find_group(b, GROUP_PAIR, peer);
}

static int64_t activations(const builder *b)
{
    return TOKENS * b->j->opt.hidden;
}

static void receive(builder *b, int way, bool wait)
{
    collective(b, COLLECTIVE_RECV, neighbour(b, way), activations(b), wait);
}

static void send(builder *b, int way)
{
    collective(b, COLLECTIVE_SEND, neighbour(b, way), activations(b), false);
}

/* The reduction of a layer's gradients. With buckets each layer's own is skipped, and one of all layers since the last
 * stands where the bucket is full or the backward ends. */
void reduce_gradients(builder *b, int at, int64_t elements, bool last)
{
    const options *o = &b->j->opt;
    size_t first = b->code->count;
    collective(b, COLLECTIVE_ALL_REDUCE, at, elements, false);
    if (o->bucket) {
        for (size_t k = first; k < b->code->count; k++) b->code->items[k].skip = true;
        b->gradients += elements;
        if (!last && b->gradients * 2 < o->bucket) return;
        b->apart = APART_BUCKET;
        collective(b, COLLECTIVE_ALL_REDUCE, at, b->gradients, false);
        b->gradients = 0;
    }
    b->apart = APART_OVERLAP;
    if (o->no_overlap) {
        record_event(b, STREAM_DP, EVENT_COMM);
        wait_event(b, STREAM_COMPUTE, EVENT_COMM);
    }
    b->apart = APART_NONE;
}

static void forward_begin(builder *b, int micro_batch)
{
    b->phase = PHASE_FORWARD;
    b->micro_batch = micro_batch;
    frame_push(b, "nn.Module: GPT_0");
}

static void forward_end(builder *b)
{
    frame_pop(b, 1);
    b->phase = PHASE_OTHER;
    b->micro_batch = -1;
}

static void backward(builder *b, int micro_batch, bool last)
{
    add(b, DO_THREAD)->stream = 1;
    backward_layers(b, micro_batch, last);
    add(b, DO_THREAD)->stream = 0;
    host(b, 6000);
}

static void backward_begin(builder *b, int micro_batch)
{
    b->phase = PHASE_BACKWARD;
    b->micro_batch = micro_batch;
}

static void backward_end(builder *b)
{
    b->phase = PHASE_OTHER;
    b->micro_batch = -1;
}

/* All forward passes, then all backward passes in the opposite order. */
static void all_forward(builder *b)
{
    int micro = b->j->opt.micro_batches;
    for (int m = 0; m < micro; m++) {
        forward_begin(b, m);
        if (!b->first_stage) receive(b, -1, true);
        forward_layers(b, m);
        if (!b->last_stage) send(b, 1);
        forward_end(b);
    }
    for (int m = micro - 1; m >= 0; m--) {
        backward_begin(b, m);
        if (!b->last_stage) receive(b, 1, true);
        backward(b, m, m == 0);
        if (!b->first_stage) send(b, -1);
        backward_end(b);
    }
}

/* What stands between a backward and the forward behind it: activations come before gradients go, on every stage, so that
 * two neighbours name their transfers in one order. The wait for the former stands behind the latter. */
static void exchange(builder *b, int next_forward)
{
    if (b->first_stage) return;
    if (next_forward >= 0) {
        int phase = b->phase, micro_batch = b->micro_batch;
        b->phase = PHASE_FORWARD;
        b->micro_batch = next_forward;
        receive(b, -1, false);
        b->phase = phase;
        b->micro_batch = micro_batch;
    }
    send(b, -1);
    if (next_forward < 0) return;
    b->phase = PHASE_FORWARD;
    record_event(b, STREAM_RECV, EVENT_COMM);
    wait_event(b, STREAM_COMPUTE, EVENT_COMM);
}

/* One forward, one backward: each stage begins with as many forward passes as stages follow it. */
static void one_by_one(builder *b)
{
    int micro = b->j->opt.micro_batches, ahead = b->j->opt.pp - 1 - b->r->pp;
    if (ahead > micro) ahead = micro;
    for (int m = 0; m < ahead; m++) {
        forward_begin(b, m);
        if (!b->first_stage) receive(b, -1, true);
        forward_layers(b, m);
        send(b, 1);
        forward_end(b);
    }
    for (int m = ahead; m < micro; m++) {
        forward_begin(b, m);
        if (!b->first_stage && m == ahead) receive(b, -1, true);
        forward_layers(b, m);
        if (!b->last_stage) send(b, 1);
        forward_end(b);
        backward_begin(b, m - ahead);
        if (!b->last_stage) receive(b, 1, true);
        backward(b, m - ahead, m - ahead == micro - 1);
        exchange(b, m + 1 < micro ? m + 1 : -1);
        backward_end(b);
    }
    for (int m = micro - ahead; m < micro; m++) {
        backward_begin(b, m);
        receive(b, 1, true);
        backward(b, m, m == micro - 1);
        if (!b->first_stage) send(b, -1);
        backward_end(b);
    }
}

void training_passes(builder *b)
{
    if (b->j->opt.interleave)
        one_by_one(b);
    else
        all_forward(b);
}
