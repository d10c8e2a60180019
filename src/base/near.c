#include "base/near.h"

#include "base/memory.h"

bool rs_near_make(rs_near *c, size_t n)
{
    c->n_blocks = (n >> RS_NEAR_BLOCK) + 1;
    c->since = rs_calloc(c->n_blocks << RS_NEAR_BLOCK, sizeof *c->since);
    c->blocks = rs_calloc(c->n_blocks, sizeof *c->blocks);
    return c->since && c->blocks;
}

void rs_near_empty(rs_near *c)
{
    for (size_t i = 0; i < c->n_blocks; i++) {
        rs_free(c->blocks[i].wide);
        c->blocks[i] = (rs_near_block){0};
    }
}

void rs_near_clear(rs_near *c)
{
    if (c->blocks) rs_near_empty(c);
    rs_free_all(c->since, c->blocks);
    *c = (rs_near){0};
}

/* The first of a block, or one that is too far from it: then the block becomes wide. */
bool rs_near_put_far(rs_near *c, size_t i, int64_t value)
{
    rs_near_block *block = &c->blocks[i >> RS_NEAR_BLOCK];
    if (!block->known) {
        block->known = true;
        block->first = value;
        c->since[i] = 0;
        return true;
    }
    if (!block->wide) {
        const int32_t *since = c->since + (i & ~(size_t)(RS_NEAR_IN_BLOCK - 1));
        int64_t *wide = rs_malloc(RS_NEAR_IN_BLOCK * sizeof *wide);
        if (!wide) return false;
        /* also of numbers that are not known yet, whose distance may lead nowhere */
        for (size_t k = 0; k < RS_NEAR_IN_BLOCK; k++)
            wide[k] = (int64_t)((uint64_t)block->first + (uint64_t)(int64_t)since[k]);
        block->wide = wide;
    }
    block->wide[i & (RS_NEAR_IN_BLOCK - 1)] = value;
    return true;
}
