#include "peer/tracelens_join.h"
#include "base/order.h"

#include <math.h>
#include <string.h>

/* What tells rows of one key apart, where reports agree about it. */
static const char *const beside[] = {"op category", "Parent cpu_op", "Kernel stream", "thread_name"};
enum { N_BESIDE = sizeof beside / sizeof *beside };

/* Slots of one key, in the order in which they were made. */
struct rs_tl_chain {
    uint32_t first, last;
    uint32_t free; /* none before it has room for the report that is being added */
};

/* ---- cells ------------------------------------------------------------------------------------------------ */

static size_t column_at(const rs_grid *grid, uint32_t name)
{
    for (size_t i = 0; grid && name != RS_NO_STRING && i < grid->n_columns; i++)
        if (grid->columns[i] == name) return i;
    return SIZE_MAX;
}

size_t rs_tl_column(const rs_tl_join *j, size_t report, const char *name)
{
    return column_at(j->grids[report], rs_strings_find(j->texts, name, strlen(name)));
}

static rs_grid_cell cell_at(const rs_grid *grid, uint32_t row, size_t column)
{
    if (!grid || row == RS_TL_NO_ROW || column == SIZE_MAX) return (rs_grid_cell){.kind = RS_GRID_EMPTY};
    return grid->cells[row * grid->n_columns + column];
}

rs_grid_cell rs_tl_cell(const rs_tl_join *j, uint32_t slot, size_t report, size_t column)
{
    return cell_at(j->grids[report], j->slots[slot].rows[report], column);
}

rs_grid_cell rs_tl_key(const rs_tl_join *j, uint32_t slot, size_t key)
{
    size_t maker = j->slots[slot].maker;
    return rs_tl_cell(j, slot, maker, column_at(j->grids[maker], j->keys[key]));
}

double rs_tl_number(const rs_tl_join *j, uint32_t slot, size_t report, size_t column)
{
    rs_grid_cell cell = rs_tl_cell(j, slot, report, column);
    return cell.kind == RS_GRID_NUMBER ? cell.number : (double)NAN;
}

/* ---- joining ---------------------------------------------------------------------------------------------- */

/* Where the columns of keys, and those next to them, are in a report's sheet. */
typedef struct places {
    size_t keys[RS_TL_MAX_KEYS], beside[N_BESIDE];
} places;

enum { CELL_BYTES = 1 + sizeof(double) + sizeof(uint32_t) };

/* Equal cells give equal bytes. */
static uint8_t *put_cell(uint8_t *at, rs_grid_cell cell)
{
    double number = cell.kind == RS_GRID_NUMBER ? cell.number + 0.0 : 0; /* -0 is 0 */
    uint32_t text = cell.kind == RS_GRID_TEXT ? cell.text : 0;
    *at++ = cell.kind;
    memcpy(at, &number, sizeof number);
    memcpy(at + sizeof number, &text, sizeof text);
    return at + sizeof number + sizeof text;
}

static bool know(rs_tl_join *j, const uint8_t *bytes, size_t n, uint32_t *id)
{
    size_t before = j->known.n;
    *id = rs_strings_add(&j->known, (const char *)bytes, n);
    if (*id == RS_NO_STRING) return false;
    if (!rs_grow((void **)&j->slot_of, &j->slot_of_capacity, j->known.n, sizeof *j->slot_of) ||
        !rs_grow((void **)&j->times, &j->times_capacity, j->known.n, sizeof *j->times) ||
        !rs_grow((void **)&j->chains, &j->chains_capacity, j->known.n, sizeof *j->chains))
        return false;
    for (size_t i = *id >= before ? before : j->known.n; i < j->known.n; i++) {
        j->slot_of[i] = RS_TL_NO_ROW;
        j->times[i] = 0;
        j->chains[i] = (rs_tl_chain){RS_TL_NO_ROW, RS_TL_NO_ROW, RS_TL_NO_ROW};
    }
    return true;
}

/* A row's key, and the row distinguished from others of its key: by what stands beside, and by its place among those that
 * are equal in that too. Ids of known. */
typedef struct identity {
    uint32_t key, apart;
} identity;

static bool identify(rs_tl_join *j, const rs_grid *grid, const places *p, uint32_t row, identity *out)
{
    uint8_t bytes[CELL_BYTES * (RS_TL_MAX_KEYS + N_BESIDE) + sizeof(uint32_t)], *at = bytes;
    for (size_t i = 0; i < j->n_keys; i++) at = put_cell(at, cell_at(grid, row, p->keys[i]));
    if (!know(j, bytes, (size_t)(at - bytes), &out->key)) return false;
    for (size_t i = 0; i < N_BESIDE; i++) at = put_cell(at, cell_at(grid, row, p->beside[i]));
    if (!know(j, bytes, (size_t)(at - bytes), &out->apart)) return false;
    uint32_t times = j->times[out->apart]++;
    memcpy(at, &times, sizeof times);
    return know(j, bytes, (size_t)(at - bytes) + sizeof times, &out->apart);
}

static bool identify_all(rs_tl_join *j, size_t report, identity *rows)
{
    const rs_grid *grid = j->grids[report];
    places p;
    for (size_t i = 0; i < j->n_keys; i++) p.keys[i] = column_at(grid, j->keys[i]);
    for (size_t i = 0; i < N_BESIDE; i++) p.beside[i] = rs_tl_column(j, report, beside[i]);
    if (j->times) memset(j->times, 0, j->known.n * sizeof *j->times);
    for (uint32_t row = 0; row < grid->n_rows; row++)
        if (!identify(j, grid, &p, row, &rows[row])) return false;
    return true;
}

static bool add_slot(rs_tl_join *j, identity row, size_t report)
{
    if (!RS_GROW_ONE(j->slots, j->n, j->capacity)) return false;
    rs_tl_slot *s = &j->slots[j->n];
    *s = (rs_tl_slot){.next = RS_TL_NO_ROW, .maker = (uint32_t)report};
    s->rows = rs_arena_alloc(&j->arena, j->n_reports * sizeof *s->rows);
    if (!s->rows) return false;
    for (size_t i = 0; i < j->n_reports; i++) s->rows[i] = RS_TL_NO_ROW;
    rs_tl_chain *c = &j->chains[row.key];
    if (c->last == RS_TL_NO_ROW)
        c->first = (uint32_t)j->n;
    else
        j->slots[c->last].next = (uint32_t)j->n;
    j->slot_of[row.apart] = c->last = (uint32_t)j->n++;
    return true;
}

/* The first slot of a key in which the report has no row yet; RS_TL_NO_ROW: there is none. */
static uint32_t free_slot(rs_tl_join *j, uint32_t key, size_t report)
{
    rs_tl_chain *c = &j->chains[key];
    while (c->free != RS_TL_NO_ROW && j->slots[c->free].rows[report] != RS_TL_NO_ROW)
        c->free = j->slots[c->free].next;
    return c->free;
}

static bool add_report(rs_tl_join *j, size_t report)
{
    size_t n_rows = j->grids[report]->n_rows;
    RS_LOCAL identity *rows = rs_malloc((n_rows + 1) * sizeof *rows);
    RS_LOCAL uint32_t *left = rs_malloc((n_rows + 1) * sizeof *left);
    size_t n_left = 0;
    bool ok = rows && left && identify_all(j, report, rows);
    for (uint32_t i = 0; ok && i < n_rows; i++) {
        uint32_t slot = j->slot_of[rows[i].apart];
        if (slot == RS_TL_NO_ROW)
            left[n_left++] = i;
        else
            j->slots[slot].rows[report] = i;
    }
    for (size_t i = 0; ok && i < n_left; i++)
        j->chains[rows[left[i]].key].free = j->chains[rows[left[i]].key].first;
    for (size_t i = 0; ok && i < n_left; i++) {
        uint32_t slot = free_slot(j, rows[left[i]].key, report);
        if (slot == RS_TL_NO_ROW) {
            slot = (uint32_t)j->n;
            ok = add_slot(j, rows[left[i]], report);
        }
        if (ok) j->slots[slot].rows[report] = left[i];
    }
    return ok;
}

bool rs_tl_join_make(rs_tl_join *j)
{
    bool ok = rs_strings_init(&j->known);
    for (size_t i = 0; ok && i < j->n_reports; i++)
        if (j->grids[i]) ok = add_report(j, i);
    return ok;
}

void rs_tl_join_clear(rs_tl_join *j)
{
    rs_strings_clear(&j->known);
    rs_free_all(j->slot_of, j->times, j->chains, j->slots);
    rs_arena_clear(&j->arena);
}

/* ---- order ------------------------------------------------------------------------------------------------ */

/* The keys of all slots, so that sorting looks up no columns. */
typedef struct keyed {
    const rs_tl_join *j;
    const rs_grid_cell *keys;
    uint32_t slot;
} keyed;

typedef struct sized {
    double size;
    uint32_t place; /* before */
} sized;

static int compare_cells(const rs_strings *texts, rs_grid_cell a, rs_grid_cell b)
{
    static const int rank[] = {[RS_GRID_NUMBER] = 0, [RS_GRID_TEXT] = 1, [RS_GRID_EMPTY] = 2};
    if (a.kind != b.kind) return rank[a.kind] - rank[b.kind];
    if (a.kind == RS_GRID_NUMBER) return a.number < b.number ? -1 : a.number > b.number;
    if (a.kind == RS_GRID_EMPTY || a.text == b.text) return 0;
    return strcmp(texts->items[a.text].text, texts->items[b.text].text);
}

static int by_key(const void *a, const void *b)
{
    const keyed *p = a, *q = b;
    for (size_t i = 0; i < p->j->n_keys; i++) {
        int c = compare_cells(p->j->texts, p->keys[i], q->keys[i]);
        if (c) return c;
    }
    return p->slot < q->slot ? -1 : p->slot > q->slot;
}

static const rs_order by_size[] = {RS_FALLING(sized, size), RS_RISING(sized, place)};

uint32_t *rs_tl_order_by_keys(const rs_tl_join *j)
{
    RS_LOCAL keyed *items = rs_malloc((j->n + 1) * sizeof *items);
    RS_LOCAL rs_grid_cell *keys = rs_malloc((j->n * j->n_keys + 1) * sizeof *keys);
    uint32_t *order = rs_malloc((j->n + 1) * sizeof *order);
    bool ok = items && keys && order;
    for (size_t i = 0; ok && i < j->n; i++) {
        items[i] = (keyed){j, &keys[i * j->n_keys], (uint32_t)i};
        for (size_t k = 0; k < j->n_keys; k++) keys[i * j->n_keys + k] = rs_tl_key(j, (uint32_t)i, k);
    }
    if (ok && j->n) qsort(items, j->n, sizeof *items, by_key);
    for (size_t i = 0; ok && i < j->n; i++) order[i] = items[i].slot;
    if (ok) return order;
    rs_free(order);
    return NULL;
}

bool rs_tl_order_by_size(const rs_tl_join *j, uint32_t *slots, size_t n, size_t report, size_t column)
{
    RS_LOCAL sized *items = rs_malloc((n + 1) * sizeof *items);
    RS_LOCAL uint32_t *before = rs_malloc((n + 1) * sizeof *before);
    bool ok = items && before;
    if (ok && n) memcpy(before, slots, n * sizeof *slots);
    for (size_t i = 0; ok && i < n; i++)
        items[i] = (sized){rs_tl_number(j, slots[i], report, column), (uint32_t)i};
    if (ok) RS_SORT(items, n, by_size);
    for (size_t i = 0; ok && i < n; i++) slots[i] = before[items[i].place];
    return ok;
}
