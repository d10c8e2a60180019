// Communication: what is hidden, which collectives take longest, who is late.
import { bars, heatMap } from './charts.js';
import { count, fixed, percent, quantity, time } from './format.js';
import { empty, figure, noteList, panel, section } from './parts.js';
import { matrixFigure } from './picture.js';
import { foldedTable, makeTable } from './table.js';

function hidden(answer) {
    const table = answer.tables.overlap.where((row) => answer.tables.overlap.get(row, 'comm_us'));
    if (!table.length) return { lede: null, body: empty('No communication kernel ran on any GPU.', answer) };
    const worst = table.extreme('exposed_us');
    const overlap = table.get(worst, 'overlap_pct');
    const lede =
        `${table.length > 1 ? `Rank ${table.get(worst, 'rank')} has most communication that computation does not hide` : 'Computation does not hide'}${table.length > 1 ? ': ' : ' '}${time(table.get(worst, 'exposed_us'))}` +
        ` of ${time(table.get(worst, 'comm_us'))}${overlap === null ? '' : `, so ${percent(overlap)} of it is hidden`}.`;
    const rows = [...table.rows].sort((a, b) => table.get(a, 'rank') - table.get(b, 'rank'));
    return {
        lede,
        body: figure(
            'Communication of each rank',
            'hidden: computation runs at the same time',
            bars({
                label: `Stacked bars: exposed and hidden communication of each rank. ${lede}`,
                items: rows.map((row) => table.get(row, 'rank')),
                unit: 'us',
                axis: 'time with communication',
                series: [
                    {
                        name: 'exposed',
                        colour: 'comm',
                        stack: 'comm',
                        values: rows.map((row) => table.get(row, 'exposed_us')),
                    },
                    {
                        name: 'hidden by computation',
                        colour: 'hidden',
                        stack: 'comm',
                        values: rows.map((row) => table.get(row, 'overlapped_us')),
                    },
                ],
                extra: (i) => [
                    ['hidden share', percent(table.get(rows[i], 'overlap_pct'))],
                    ['exposed, of the span', percent(table.get(rows[i], 'exposed_pct_of_span'))],
                ],
            }),
            foldedTable(table, {
                caption: 'Communication of each rank',
                sort: ['exposed_us', 'descending'],
                bar: ['overlap_pct', 'exposed_pct_of_span'],
                command: 'rankscope overlap',
            }),
        ),
    };
}

function late(answer) {
    const table = answer.tables.lateness.where((row) => answer.tables.lateness.get(row, 'collectives'));
    const worst = table.length > 1 ? table.extreme('others_waited_us') : null;
    if (!worst) return null;
    const rows = [...table.rows].sort((a, b) => table.get(a, 'rank') - table.get(b, 'rank'));
    const text = `Rank ${table.get(worst, 'rank')} arrives last at ${count(table.get(worst, 'times_last'))} of its ${count(table.get(worst, 'collectives'))} collectives; the others waited ${time(table.get(worst, 'others_waited_us'))} in all for it.`;
    return panel(
        'Who is late',
        text,
        bars({
            label: `Bars: how long others waited for each rank at collectives where it arrived last. ${text}`,
            items: rows.map((row) => table.get(row, 'rank')),
            unit: 'us',
            axis: 'others waited',
            series: [
                {
                    name: 'others waited for it',
                    colour: 'comm',
                    values: rows.map((row) => table.get(row, 'others_waited_us')),
                },
            ],
            extra: (i) => [
                [
                    'last at',
                    `${count(table.get(rows[i], 'times_last'))} of ${count(table.get(rows[i], 'collectives'))}`,
                ],
                ['its own waits', time(table.get(rows[i], 'wait_us'))],
            ],
        }),
        foldedTable(table, {
            caption: 'Lateness of each rank',
            sort: ['others_waited_us', 'descending'],
            command: 'rankscope collectives --table lateness',
        }),
    );
}

// What went from each rank to each other one; several groups together.
function exchanged(answer) {
    const { exchange, ranks } = answer.tables;
    const known = exchange.where((row) => exchange.get(row, 'to_rank') !== null);
    if (!known.length || !ranks.length) return null;
    const sums = new Map();
    for (const row of known.rows) {
        const key = `${known.get(row, 'rank')} ${known.get(row, 'to_rank')}`;
        sums.set(key, (sums.get(key) ?? 0) + known.get(row, 'bytes'));
    }
    const sorted = (column) => [...new Set(known.values(column))].sort((a, b) => a - b);
    const from = sorted('rank');
    const to = sorted('to_rank');
    const pairs = [...sums].map(([key, bytes]) => [...key.split(' ').map(Number), bytes]);
    const most = ranks.extreme('vs_mean');
    const text =
        most === null
            ? null
            : `Rank ${ranks.get(most, 'rank')} receives most, ${fixed(ranks.get(most, 'vs_mean'), 2)} times the mean.`;
    return panel(
        'Who sends how much to whom in all-to-alls',
        text,
        heatMap({
            label: `Heat map: bytes that each rank (down) sends to each rank (across) in all-to-alls. ${text ?? ''}`,
            columns: to,
            rows: from,
            cells: pairs.map(([a, b, bytes]) => [to.indexOf(b), from.indexOf(a), bytes]),
            unit: 'bytes',
            rowName: 'rank',
            columnName: 'to rank',
            extra: (i) => [['sent', quantity(pairs[i][2], 'bytes')]],
        }),
        foldedTable(ranks, {
            caption: 'All-to-alls of each rank',
            sort: ['vs_mean', 'descending'],
            command: 'rankscope exchange --table ranks',
        }),
    );
}

export function communicationSection(data) {
    const { overlap, collectives } = data.answers;
    const { summary, collectives: each, clocks } = collectives.tables;
    const top = hidden(overlap);
    const drop = (table) =>
        table.columns.map((c) => c.name).filter((c) => table.values(c).every((v) => v === null || v === ''));
    return section(
        'communication',
        'Communication',
        top.lede,
        top.body,
        late(collectives),
        matrixFigure(data),
        exchanged(data.answers.exchange),
        summary.length
            ? panel(
                  'Collectives by kind and size',
                  'transfer: the shortest kernel of all ranks, when no rank waits any more',
                  makeTable(summary, {
                      caption: 'Collectives by kind and size',
                      sort: ['total_transfer_us', 'descending'],
                      hide: drop(summary),
                      bar: ['wait_share_pct'],
                      command: 'rankscope collectives --table summary',
                  }),
              )
            : top.lede
              ? empty('No collective could be matched over ranks.', collectives)
              : null,
        each.length
            ? panel(
                  'Single collectives, the longest waits first',
                  'wait: from the first rank\u2019s arrival to the last one\u2019s',
                  makeTable(
                      each.arranged([
                          'collective',
                          'group',
                          'number',
                          'last_rank',
                          'sum_wait_us',
                          'max_wait_us',
                          'first_rank',
                          'transfer_us',
                          'message_bytes',
                      ]),
                      {
                          caption: 'Collectives with their late ranks',
                          sort: ['sum_wait_us', 'descending'],
                          hide: ['index', ...drop(each)],
                          command: 'rankscope collectives',
                      },
                  ),
              )
            : null,
        clocks.length > 1 && summary.length
            ? foldedTable(clocks, {
                  summary: 'How the ranks\u2019 clocks were aligned',
                  caption: 'Clocks',
                  sort: ['rank', 'ascending'],
                  command: 'rankscope collectives --table clocks',
              })
            : null,
        summary.length ? noteList(collectives) : null,
    );
}
