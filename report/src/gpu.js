// Where the GPU's time goes: ranks, steps, idle time, kernels and operators.
import { bars, heatMap } from './charts.js';
import { h } from './dom.js';
import { percent, quantity, time } from './format.js';
import { barList, choice, empty, figure, noteList, panel, section } from './parts.js';
import { flameFigure } from './picture.js';
import { foldedTable, makeTable } from './table.js';

// Order of ranks in a chart: by number, or by what matters there.
function ordered(table, by) {
    const at = table.at('rank');
    const rows = [...table.rows];
    if (by === 'rank') return rows.sort((a, b) => a[at] - b[at]);
    const key = table.at(by);
    return rows.sort((a, b) => (b[key] ?? -1) - (a[key] ?? -1) || a[at] - b[at]);
}

// A chart over ranks with a choice of order.
function overRanks(table, orders, make) {
    const place = h('div', {});
    const draw = (by) => place.replaceChildren(make(ordered(table, by)));
    draw('rank');
    return [table.length > 2 ? choice('Order', [['rank', 'by rank'], ...orders], draw) : null, place];
}

// Whether no rank stands out by more than a fiftieth.
const alike = (table, column) =>
    table.get(table.extreme(column, -1), column) >= 0.98 * table.get(table.extreme(column), column);

export function timeOfRanks(data) {
    const answer = data.answers.breakdown;
    const table = answer.tables.breakdown;
    const most = table.extreme('span_us');
    if (!most) return section('time', 'Where the time goes', null, empty('No GPU work was recorded.', answer));
    const values = (rows, column) => rows.map((row) => table.get(row, column));
    const idle = table.extreme('idle_pct');
    const compute = table.extreme('compute_us');
    const lede =
        table.length === 1
            ? `Computation fills ${percent(table.get(most, 'compute_pct'))} of the GPU\u2019s ${time(table.get(most, 'span_us'))}; ${percent(table.get(most, 'idle_pct'))} is idle.`
            : `${
                  alike(table, 'compute_us')
                      ? `All ranks compute for about the same time, up to ${time(table.get(compute, 'compute_us'))}`
                      : `Rank ${table.get(compute, 'rank')} computes longest, ${time(table.get(compute, 'compute_us'))}`
              }; rank ${table.get(idle, 'rank')} idles most, ${percent(table.get(idle, 'idle_pct'))} of its span.`;
    return section(
        'time',
        'Where the time goes',
        lede,
        figure(
            'Time of each rank',
            'from its first GPU event to its last; the four parts make up the whole',
            overRanks(
                table,
                [
                    ['span_us', 'longest first'],
                    ['compute_us', 'most computation'],
                    ['exposed_comm_us', 'most exposed communication'],
                    ['idle_us', 'most idle'],
                ],
                (rows) =>
                    bars({
                        label: `Stacked bars: computation, exposed communication, exposed copies and idle time of each rank. ${lede}`,
                        items: values(rows, 'rank'),
                        unit: 'us',
                        axis: 'time',
                        series: [
                            ['computation', 'compute', 'compute_us'],
                            ['exposed communication', 'comm', 'exposed_comm_us'],
                            ['exposed copies', 'copy', 'exposed_copy_us'],
                            ['idle', 'idle', 'idle_us'],
                        ].map(([name, colour, column]) => ({
                            name,
                            colour,
                            stack: 'time',
                            values: values(rows, column),
                        })),
                        extra: (i) => [
                            ['busy', percent(table.get(rows[i], 'busy_pct'))],
                            ['span', time(table.get(rows[i], 'span_us'))],
                        ],
                    }),
            ),
            foldedTable(table, {
                caption: 'Time of each rank',
                sort: ['rank', 'ascending'],
                bar: ['busy_pct', 'compute_pct', 'exposed_comm_pct', 'exposed_copy_pct', 'idle_pct'],
                command: 'rankscope breakdown',
            }),
        ),
        noteList(answer),
    );
}

const MEASURES = [
    ['length_us', 'step length on the host'],
    ['gpu_span_us', 'GPU span'],
    ['compute_us', 'computation'],
    ['exposed_comm_us', 'exposed communication'],
    ['idle_us', 'idle'],
    ['host_wait_us', 'idle, waiting for the host'],
    ['data_loading_us', 'data loading on the host'],
];

function stepMap(table, ranks, steps, measure) {
    const rowOf = new Map(ranks.map((r, i) => [r, i]));
    const columnOf = new Map(steps.map((s, i) => [s, i]));
    const [column, title] = measure;
    const rows = table.rows.filter((row) => table.get(row, column) !== null);
    if (!rows.length) return empty('No step has this value.', null);
    const cells = rows.map((row) => [
        columnOf.get(table.get(row, 'step')),
        rowOf.get(table.get(row, 'rank')),
        table.get(row, column),
    ]);
    return heatMap({
        label: `Heat map: ${title} of each step (across) on each rank (down)`,
        columns: steps,
        rows: ranks,
        cells,
        unit: 'us',
        rowName: 'rank',
        columnName: 'step',
        extra: (i) =>
            MEASURES.filter(([c]) => table.get(rows[i], c) !== null).map(([c, t]) => [t, time(table.get(rows[i], c))]),
    });
}

export function stepsSection(data) {
    const answer = data.answers.steps;
    const table = answer.tables.steps;
    if (!table.length)
        return section('steps', 'Steps', null, empty('No training steps are marked in this recording.', answer));
    const ranks = [...new Set(table.values('rank'))].sort((a, b) => a - b);
    const steps = [...new Set(table.values('step'))].sort((a, b) => a - b);
    const measures = MEASURES.filter(([column]) => table.values(column).some((v) => v !== null && v !== 0));
    const first = measures[0] ?? MEASURES[1];
    const longest = table.extreme(first[0]);
    const behind = longest && first[0] === 'length_us' ? table.get(longest, 'vs_median_pct') : null;
    const lede = longest
        ? `The longest step is ${table.get(longest, 'step')}${ranks.length > 1 ? ` on rank ${table.get(longest, 'rank')}` : ''}: ${time(table.get(longest, first[0]))}` +
          `${behind > 0.05 ? `, ${percent(behind)} above that rank\u2019s median` : ''}.`
        : null;
    const place = h('div', {});
    const draw = (column) =>
        place.replaceChildren(
            stepMap(
                table,
                ranks,
                steps,
                MEASURES.find(([c]) => c === column),
            ),
        );
    draw(first[0]);
    return section(
        'steps',
        'Steps',
        lede,
        figure(
            ranks.length > 1 ? 'Steps over ranks' : 'Each step',
            'the stronger the colour, the longer',
            choice(
                'Show',
                measures.map(([c, t]) => [c, t]),
                draw,
            ),
            place,
            foldedTable(table, { caption: 'Steps', sort: [first[0], 'descending'], command: 'rankscope steps' }),
        ),
        noteList(answer),
    );
}

// Where workers stand: by stage and data rank where both are known, else by role and place among its ranks.
function places(table) {
    const known = (column) => table.values(column).every((v) => v !== null);
    if (known('stage') && known('dp_rank'))
        return { rowName: 'stage', columnName: 'data rank', at: (row) => [table.get(row, 'stage'), table.get(row, 'dp_rank')] };
    const seen = new Map();
    const byRank = [...table.rows].sort((a, b) => table.get(a, 'rank') - table.get(b, 'rank'));
    const placeOf = new Map();
    for (const row of byRank) {
        const role = table.get(row, 'role');
        placeOf.set(row, [role, seen.get(role) ?? 0]);
        seen.set(role, (seen.get(role) ?? 0) + 1);
    }
    return { rowName: 'role', columnName: 'place', at: (row) => placeOf.get(row) };
}

export function stragglersSection(data) {
    const answer = data.answers.whatif;
    const table = answer?.tables.workers;
    if (!table || table.length < 2) return null;
    const { rowName, columnName, at } = places(table);
    // of several ranks at one place, which a tensor group makes, the slowest
    const best = new Map();
    for (const row of table.rows) {
        const key = at(row).join(' ');
        if (!best.has(key) || table.get(row, 'slowdown') > table.get(best.get(key), 'slowdown')) best.set(key, row);
    }
    const rows = [...best.values()];
    const numbers = (i) => [...new Set(rows.map((row) => at(row)[i]))].sort((a, b) => a - b);
    const [down, across] = [numbers(0), numbers(1)];
    const cells = rows.map((row) => [across.indexOf(at(row)[1]), down.indexOf(at(row)[0]), table.get(row, 'slowdown')]);
    const worst = table.extreme('slowdown');
    const slowdown = table.get(worst, 'slowdown');
    const lede =
        slowdown >= 1.02
            ? `Rank ${table.get(worst, 'rank')} alone makes the job ${quantity(slowdown, 'none')} times as long as it would be if every rank took its peers\u2019 median times.`
            : 'No rank alone makes the job longer by a fiftieth: there are no stragglers worth the name.';
    return section(
        'stragglers',
        'Stragglers',
        lede,
        figure(
            rowName === 'stage' ? 'Slowdown of stages over data ranks' : 'Slowdown of each rank, those of a role in a row',
            'how many times as long the job is when that rank alone keeps its own times; 1 is none',
            heatMap({
                label: `Heat map: slowdown of each ${columnName} (across) of each ${rowName} (down). ${lede}`,
                columns: across,
                rows: down,
                cells,
                unit: 'none',
                rowName,
                columnName,
                digits: 2,
                extra: (i, value) => [
                    ['rank', `${table.get(rows[i], 'rank')}`],
                    ['slowdown', quantity(value, 'none')],
                    ['mended, a step is shorter by', time(table.get(rows[i], 'gain_us'))],
                ],
            }),
            foldedTable(table, { caption: 'Slowdown of each rank', sort: ['slowdown', 'descending'], command: 'rankscope whatif --map --table workers' }),
        ),
        noteList(answer),
    );
}

const KINDS = {
    host_wait: 'waiting for the host',
    kernel_wait: 'between queued kernels',
    other: 'queued, but started late',
};

export function idleSection(data) {
    const { summary, idle } = data.answers;
    const table = summary.tables.ranks.where((row) => summary.tables.ranks.get(row, 'gpu_span_us'));
    const streams = idle.tables.idle;
    const pieces = data.answers.fragments.tables.fragments;
    if (!table.length) return section('idle', 'Why the GPU idles', null, empty('No GPU work was recorded.', idle));
    const worst = table.extreme('idle_us');
    const host = table.get(worst, 'host_wait_us');
    const lede =
        `${table.length > 1 ? `Rank ${table.get(worst, 'rank')} idles longest` : 'The GPU idles for'}${table.length > 1 ? ', ' : ' '}${time(table.get(worst, 'idle_us'))}` +
        `${host === null ? '.' : `; ${time(host)} of it because the next work had not been launched yet.`}`;
    const rest = (row) =>
        Math.max(
            0,
            (table.get(row, 'idle_us') ?? 0) -
                (table.get(row, 'host_wait_us') ?? 0) -
                (table.get(row, 'launch_latency_us') ?? 0),
        );
    return section(
        'idle',
        'Why the GPU idles',
        lede,
        figure(
            'Idle time of each rank by cause',
            'nothing at all runs on the GPU',
            overRanks(
                table,
                [
                    ['idle_us', 'most idle'],
                    ['host_wait_us', 'most waiting for the host'],
                ],
                (rows) =>
                    bars({
                        label: `Stacked bars: causes of idle time of each rank. ${lede}`,
                        items: rows.map((row) => table.get(row, 'rank')),
                        unit: 'us',
                        axis: 'idle time',
                        series: [
                            {
                                name: 'host: the next work was not launched yet',
                                colour: 'host',
                                stack: 'idle',
                                values: rows.map((row) => table.get(row, 'host_wait_us')),
                            },
                            {
                                name: 'launch: from the call to the start',
                                colour: 'latency',
                                stack: 'idle',
                                values: rows.map((row) => table.get(row, 'launch_latency_us')),
                            },
                            { name: 'other', colour: 'other', stack: 'idle', values: rows.map(rest) },
                        ],
                        extra: (i) => [
                            ['idle', time(table.get(rows[i], 'idle_us'))],
                            ['launch-bound', quantity(table.get(rows[i], 'launch_bound_pct'), 'percent')],
                        ],
                    }),
            ),
            foldedTable(table, {
                caption: 'Idle time of each rank',
                sort: ['rank', 'ascending'],
                command: 'rankscope summary --table ranks',
                hide: table.columns
                    .map((c) => c.name)
                    .filter(
                        (c) =>
                            ![
                                'rank',
                                'gpu_span_us',
                                'idle_us',
                                'host_wait_us',
                                'launch_latency_us',
                                'launch_bound_pct',
                                'busy_pct',
                            ].includes(c),
                    ),
            }),
        ),
        streams.length
            ? panel(
                  'Gaps on each stream',
                  h(
                      'span',
                      {},
                      Object.entries(KINDS).map(([key, text], i) => [i ? '; ' : '', h('code', {}, key), ` ${text}`]),
                  ),
                  makeTable(streams, {
                      single: true,
                      caption: 'Gaps on each stream',
                      sort: ['idle_us', 'descending'],
                      bar: ['share_pct'],
                      command: 'rankscope idle',
                  }),
              )
            : null,
        pieces.length
            ? panel(
                  'Short kernels and short gaps',
                  'a gap: nothing at all runs; shorter than 10 \u00b5s it counts as micro idle, which launching kernel after kernel leaves and graphs or fusing take away',
                  makeTable(pieces, {
                      single: true,
                      caption: 'Short kernels and gaps of each rank',
                      sort: ['rank', 'ascending'],
                      bar: ['short_pct', 'short_time_pct', 'micro_idle_pct', 'macro_idle_pct'],
                      command: 'rankscope fragments',
                  }),
              )
            : null,
        noteList(idle),
    );
}

// The row that stands for all kernels behind the first 40 says how many there are.
const othersName = (name, row, table) =>
    table.get(row, 'class') === null && table.get(row, 'names') > 1
        ? `${name} (${quantity(table.get(row, 'names'), 'count', 'int')} more names)`
        : name;

// The rank whose names are shown at first: the one that needs most time for itself.
function focus(data) {
    const { ranks } = data.answers.summary.tables;
    const worst = ranks.extreme('own_time_us');
    return worst && ranks.length > 1 ? ranks.get(worst, 'rank') : undefined;
}

const kindOf = (text) => ({ computation: 'compute', communication: 'comm', memory: 'copy' })[text];

export function kernelsSection(data) {
    const { summary, kernels } = data.answers;
    const top = summary.tables.kernels;
    const table = kernels.tables.kernels;
    if (!table.length) return section('kernels', 'Kernels', null, empty('No GPU work was recorded.', kernels));
    return section(
        'kernels',
        'Kernels',
        null,
        top.length
            ? panel(
                  `Most GPU time${summary.tables.ranks.length > 1 ? ', all ranks together' : ''}`,
                  'share of the sum of all GPU durations',
                  barList(
                      top.rows.map((row) => ({
                          name: top.get(row, 'name'),
                          time: top.get(row, 'time_us'),
                          share: top.get(row, 'share_pct'),
                          kind: kindOf(top.get(row, 'class')),
                          aside: `${top.get(row, 'class')} \u00b7 ${quantity(top.get(row, 'count'), 'count', 'int')} times \u00b7 ${time(top.get(row, 'mean_us'))} mean`,
                      })),
                      'Kernels with most GPU time',
                  ),
              )
            : null,
        panel(
            table.length && new Set(table.values('rank')).size > 1 ? 'Kernels of each rank' : 'All kernels',
            `${focus(data) === undefined ? '' : 'first the rank that needs most time for itself; '}up to 40 a rank, the rest together as \u201cothers\u201d; simultaneous runs each count`,
            makeTable(table.arranged(['name', 'rank']), {
                single: true,
                caption: 'Kernels of each rank',
                text: { name: othersName },
                sort: ['sum_us', 'descending'],
                bar: ['share_pct'],
                rank: focus(data),
                hide: ['names'],
                command: 'rankscope kernels --top 100000 --duration-ratio 1',
            }),
        ),
        noteList(kernels),
    );
}

export function operatorsSection(data) {
    const { summary, ops } = data.answers;
    const top = summary.tables.operators;
    const { across, ops: table } = ops.tables;
    if (!table.length && !across.length)
        return section('operators', 'Operators', null, empty('No operator launched GPU work.', ops), flameFigure(data));
    return section(
        'operators',
        'Operators',
        null,
        top.length
            ? panel(
                  `By the GPU work they launch${summary.tables.ranks.length > 1 ? ', all ranks together' : ''}`,
                  'innermost operator around the launch; share of the sum of all GPU durations',
                  barList(
                      top.rows.map((row) => ({
                          name: top.get(row, 'name'),
                          time: top.get(row, 'time_us'),
                          share: top.get(row, 'share_pct'),
                          kind: 'compute',
                          aside: `${quantity(top.get(row, 'count'), 'count', 'int')} pieces of GPU work`,
                      })),
                      'Operators with most GPU time',
                  ),
              )
            : null,
        flameFigure(data),
        across.length && across.extreme('ranks') && across.get(across.extreme('ranks'), 'ranks') > 1
            ? panel(
                  'The same operator on different ranks',
                  'least and most direct GPU time of a rank: a wide gap points at a slow rank or uneven work',
                  makeTable(across, {
                      caption: 'Operators over ranks',
                      sort: ['mean_us', 'descending'],
                      command: 'rankscope ops --table across',
                  }),
              )
            : null,
        panel(
            new Set(table.values('rank')).size > 1 ? 'Operators of each rank' : 'All operators',
            'direct: what the operator launched itself, without communication; subtree: all below it',
            makeTable(table.arranged(['name', 'rank']), {
                single: true,
                caption: 'Operators of each rank',
                sort: ['total_direct_kernel_time_us', 'descending'],
                bar: ['share_pct'],
                rank: focus(data),
                command: 'rankscope ops',
            }),
        ),
        noteList(ops),
    );
}
