/* What the compiler cannot see of plans: whether their parts fit each other and the options of their analysis. */
#include <string.h>

#include "analysis/plan.h"
#include "analysis/registry.h"
#include "unit.h"

static const rs_option_spec *option_of(const rs_analysis *a, const char *name)
{
    for (size_t i = 0; i < a->n_options; i++)
        if (strcmp(a->options[i].name, name) == 0) return &a->options[i];
    print_message("%s has no option --%s\n", a->name, name);
    fail();
    return NULL;
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == '|' || !at[n])) return true;
    return false;
}

static void check_choice(const rs_analysis *a, const rs_plan_choice *choice)
{
    for (; choice && choice->option; choice++) {
        const rs_option_spec *spec = option_of(a, choice->option);
        if (choice->unless) option_of(a, choice->unless);
        if (choice->value) assert_true(has_word(spec->choices, choice->value));
    }
}

static void check_relation(const rs_analysis *a, const rs_plan_relation *r, size_t at)
{
    assert_true(at < RS_MAX_RELATIONS);
    if (r->list.place == RS_ONE) return; /* RS_PLAN_EXTRA */
    assert_int_equal(r->list.offset,
                     offsetof(rs_relations, items) + at * sizeof(rs_relation) + offsetof(rs_relation, rows));
    assert_int_equal(r->list.size, r->list.layout->size);
    assert_true(r->n_by <= RS_MAX_AGGREGATES);
    check_choice(a, r->choice);
    bool keys = true;
    for (size_t i = 0; i < r->n_by; i++) {
        const rs_aggregate *by = &r->by[i];
        assert_true(by->how != RS_BY_KEY || keys);
        keys = keys && by->how == RS_BY_KEY;
        assert_true(by->how == RS_BY_COUNT || by->how == RS_BY_HAND || by->how == RS_BY_TOTAL ||
                    by->from + by->from_size <= r->row_size);
    }
    for (size_t i = 0; i < r->n_drops; i++)
        if (r->drops[i].option) option_of(a, r->drops[i].option);
    if (!r->from) return;
    assert_true(r->from->selected || !(a->follows & (RS_FOLLOWS_STEPS | RS_FOLLOWS_WINDOW)));
    assert_non_null(r->from->rows);
    assert_int_equal(r->from->rows->size, r->row_size);
    bool named = false; /* what the facet reads must be loaded */
    for (size_t i = 0; i < RS_FACET_NEEDS && a->facets[i]; i++) named = named || a->facets[i] == r->from;
    assert_true(named);
}

static void check_table(const rs_analysis *a, const rs_plan *plan, const rs_plan_table *t)
{
    if (t->relation == RS_OF_MORE) assert_non_null(plan->more);
    if (t->relation == RS_OF_MORE) return;
    assert_true(t->relation < plan->n_relations || t->relation == RS_OF_PARTIALS);
    assert_ptr_equal(t->record->columns, t->spec.columns);
    check_choice(a, t->choice);
    check_choice(a, t->only);
    if (t->top) assert_int_equal(option_of(a, t->top)->type, RS_OPTION_INT);
    if (t->until) assert_int_equal(option_of(a, t->until)->type, RS_OPTION_REAL);
    if (t->rest) assert_non_null(plan->relations[t->relation].by);
    bool cumulative = false, computed = false;
    for (size_t i = 0; i < t->record->n; i++) {
        uint8_t source = t->record->cells[i].source;
        cumulative = cumulative || source == RS_CELL_CUMULATIVE;
        computed = computed || source == RS_CELL_SET;
        assert_true(source < RS_CELL_SHARE_OF_ALL || i < RS_MAX_CELLS);
    }
    assert_true(!t->until || cumulative);
    assert_int_equal(computed, t->set != NULL);
}

static size_t check_plan(const rs_analysis *a, const rs_plan *plan)
{
    if (!plan) return 0;
    for (size_t i = 0; i < plan->n_relations; i++) check_relation(a, &plan->relations[i], i);
    for (size_t i = 0; i < plan->n_tables; i++) check_table(a, plan, (const rs_plan_table *)plan->tables[i]);
    assert_true(plan->absent_without <= plan->n_relations);
    if (plan->gate) option_of(a, "fail-on");
    return 1;
}

TEST(test_plans_fit)
{
    size_t n = 0;
    for (const rs_analysis *const *row = rs_registry_rows; *row; row++) {
        n += check_plan(*row, (*row)->plan);
        if ((*row)->plan && (*row)->plan->absent_without) assert_non_null((*row)->absent);
    }
    for (const rs_peer_row *const *row = rs_registry_peers; *row; row++)
        n += check_plan(rs_analysis_find((*row)->analysis), (*row)->plan);
    assert_true(n > 0);
}
