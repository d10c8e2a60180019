/* The prompt of `rankscope sql`. */
#include "base/try.h"
#include "cli/sql.h"

rs_status rs_sql_prompt(rs_request *r, rs_error *err)
{
    (void)r;
    return rs_fail(err, RS_ERR_USAGE,
                   "there is no query: rankscope sql 'SELECT ...' PATH..., or queries on standard input");
}
