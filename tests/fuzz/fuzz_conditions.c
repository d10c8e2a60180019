/* Conditions of --where, --fail-on and --scale, and questions of --what-if: any text is a value or refused; a value is
 * printed as a text that is the same value, and can be asked. The first byte chooses who reads. */
#include <string.h>

#include "base/memory.h"
#include "engine/edits.h"
#include "fuzz.h"
#include "query/gate.h"
#include "query/where.h"
#include "rankscope/gate.h"

static volatile size_t n_met; /* so that answers are asked for */

static void ask_terms(const rs_expr *e)
{
    static const char *const texts[] = {"", "a", "aten::mm", "\xff\x80,;=", "2ms"};
    for (size_t i = 0; i < e->n_terms; i++) {
        const rs_expr_term *t = &e->terms[i];
        if (t->function != RS_NO_FUNCTION) {
            ask_terms(t->inner);
            continue;
        }
        rs_datum type = e->language->fields ? e->language->fields[t->field].type : RS_DATUM_CELL;
        for (size_t k = 0; type == RS_DATUM_TEXT && k < sizeof texts / sizeof *texts; k++) {
            char *copy = rs_strdup(texts[k]); /* of its own: what reads beyond it is found */
            PROMISE(copy);
            n_met += rs_term_holds_text(t, copy, strlen(copy));
            rs_free(copy);
        }
        if (type == RS_DATUM_WHOLE || type == RS_DATUM_TIME) n_met += rs_term_holds_whole(t, 5);
    }
}

static void read_condition(const char *text, const rs_language *language)
{
    rs_expr *e, *again;
    rs_text printed = {0}, twice = {0};
    rs_status status = rs_expr_parse(text, language, &e, NULL);
    PROMISE(status == RS_OK || status == RS_ERR_USAGE);
    PROMISE((status == RS_OK) == (e != NULL));
    if (!e) return;
    rs_expr_print(e, &printed);
    PROMISE(rs_expr_parse(rs_text_get(&printed), language, &again, NULL) == RS_OK);
    rs_expr_print(again, &twice);
    PROMISE(strcmp(rs_text_get(&printed), rs_text_get(&twice)) == 0);
    PROMISE(again->n_terms == e->n_terms && again->n_steps == e->n_steps);
    PROMISE(rs_expr_required(again) == rs_expr_required(e));
    ask_terms(e);
    rs_expr_free(e);
    rs_expr_free(again);
    rs_text_clear(&printed);
    rs_text_clear(&twice);
}

static void read_gate(const char *text)
{
    static const rs_column_spec columns[] = {{"name", RS_TEXT, RS_UNIT_NONE, "", NULL},
                                             {"share", RS_REAL, RS_UNIT_PERCENT, "", NULL},
                                             {"a", RS_INT, RS_UNIT_COUNT, "", NULL}};
    static const rs_table_spec spec = {"t", "", columns, 3};
    rs_gate *gate;
    size_t n, first;
    char values[64];
    read_condition(text, &rs_gate_language);
    if (rs_gate_parse(text, &gate, NULL) != RS_OK) return;
    rs_table *t = rs_table_create(&spec);
    PROMISE(t);
    rs_table_add_text(t, "x");
    rs_table_add_null(t);
    rs_table_add_int(t, 3);
    PROMISE(rs_table_end_row(t, NULL) == RS_OK);
    rs_status status = rs_gate_count(gate, t, &n, &first, NULL);
    PROMISE(status == RS_ERR_USAGE || (status == RS_OK && n <= 1));
    if (status == RS_OK) rs_gate_values(gate, t, 0, values, sizeof values);
    rs_table_free(t);
    rs_gate_free(gate);
}

static void read_questions(const char *text, bool scale)
{
    for (const char *at = text; *at;) {
        rs_what_if q, again;
        rs_text printed = {0}, twice = {0};
        size_t n;
        const char *begin = at;
        rs_status status = rs_what_if_parse_next(&at, scale, &q, &n, NULL);
        PROMISE(status == RS_OK || status == RS_ERR_USAGE);
        PROMISE(status != RS_OK || (at > begin && n <= (size_t)(at - begin)));
        if (status == RS_OK) {
            rs_what_if_print(&q, &printed);
            PROMISE(rs_what_if_parse(rs_text_get(&printed), &again, NULL) == RS_OK);
            rs_what_if_print(&again, &twice);
            PROMISE(strcmp(rs_text_get(&printed), rs_text_get(&twice)) == 0 && again.n == q.n);
            PROMISE(rs_what_if_is_of_steps(&again) == rs_what_if_is_of_steps(&q));
            rs_what_if_clear(&again);
        }
        rs_what_if_clear(&q);
        rs_text_clear(&printed);
        rs_text_clear(&twice);
        if (status != RS_OK) return;
    }
}

int fuzz_one(const uint8_t *data, size_t n)
{
    char *text = rs_malloc(n + 1);
    PROMISE(text);
    if (n) memcpy(text, data, n);
    text[n] = '\0';
    switch (n ? *text++ % 5 : 0) {
    case 0: read_condition(n ? text : "", &rs_where_language); break;
    case 1: read_gate(text); break;
    case 2: read_condition(text, &rs_select_language); break;
    case 3: read_questions(text, false); break;
    default: read_questions(text, true); break;
    }
    rs_free(n ? text - 1 : text);
    return 0;
}
