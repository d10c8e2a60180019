/* Which annotations are open where something happens. */
#include "analysis/annotations.h"
#include "support.h"

typedef struct record {
    char text[64];
    size_t told;
} record;

/* Writes "slot>slot" for each point, outermost first. */
static void note(void *context, size_t point, const uint32_t *slots, size_t depth)
{
    record *r = (record *)context + point;
    r->told++;
    r->text[0] = '\0';
    for (size_t i = 0; i < depth && strlen(r->text) < 48; i++)
        snprintf(r->text + strlen(r->text), 12, "%s%u", i ? ">" : "", slots[i]);
}

static void check(const rs_annotation_span *list, size_t n_of_list, const rs_point *points,
                  const char *const *want, size_t n)
{
    record records[16] = {{.told = 0}};
    size_t deep = 0;
    assert_true(rs_annotations_enclose(list, n_of_list, points, n, note, records, &deep));
    assert_int_equal(deep, 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(records[i].told, want[i] ? 1 : 0);
        if (want[i]) assert_string_equal(records[i].text, want[i]);
    }
}

TEST(test_nesting)
{
    const rs_annotation_span list[] = {{0, 3, 20, 30}, {0, 1, 0, 100}, {0, 2, 20, 60}, {0, 4, 100, 110}};
    const rs_point points[] = {{0, 0},  {0, 20}, {0, 29},  {0, 30},  {0, 59},
                               {0, 60}, {0, 99}, {0, 100}, {0, 110}, {1, 25}};
    const char *const want[] = {"1", "1>2>3", "1>2>3", "1>2", "1>2", "1", "1", "4", NULL, NULL};
    check(list, 4, points, want, 10);
}

TEST(test_overlap_without_nesting)
{
    const rs_annotation_span list[] = {{0, 1, 0, 50}, {0, 2, 30, 80}, {0, 3, 40, 45}};
    const rs_point points[] = {{0, 42}, {0, 47}, {0, 60}, {0, 80}};
    const char *const want[] = {"1>2>3", "1>2", "2", NULL};
    check(list, 3, points, want, 4);
}

TEST(test_same_interval_and_no_length)
{
    const rs_annotation_span list[] = {{5, 7, 10, 20}, {5, 8, 10, 20}, {5, 9, 15, 15}};
    const rs_point points[] = {{5, 10}, {5, 15}};
    const char *const want[] = {"7>8", "7>8"};
    check(list, 3, points, want, 2);
    check(list, 0, points, (const char *const[]){NULL, NULL}, 2);
}

static void count(void *context, size_t point, const uint32_t *slots, size_t depth)
{
    (void)point;
    (void)slots;
    *(size_t *)context = depth;
}

TEST(test_depth_is_bounded)
{
    static rs_annotation_span list[5000];
    for (uint32_t i = 0; i < 5000; i++) list[i] = (rs_annotation_span){0, i, 0, 10000 - (int64_t)i};
    const rs_point point = {0, 5};
    size_t depth = 0, deep = 0;
    assert_true(rs_annotations_enclose(list, 5000, &point, 1, count, &depth, &deep));
    assert_true(depth > 100 && depth < 1000);
    assert_int_equal(depth + deep, 5000);
}
