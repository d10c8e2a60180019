// How work gets to the GPU: launches and queues.
import { bars } from './charts.js';
import { ranksText } from './dom.js';
import { count, quantity, time } from './format.js';
import { empty, figure, noteList, panel, section } from './parts.js';
import { foldedTable, makeTable } from './table.js';

// For each rank the row with the most of a column.
function rowsOfRanks(table, column) {
    const best = new Map();
    for (const row of table.rows) {
        const known = best.get(table.get(row, 'rank'));
        if (!known || table.get(row, column) > table.get(known, column)) best.set(table.get(row, 'rank'), row);
    }
    return [...best.values()].sort((a, b) => table.get(a, 'rank') - table.get(b, 'rank'));
}

export function launchesSection(data) {
    const answer = data.answers.launches;
    const table = answer.tables.launches;
    if (!table.length)
        return section(
            'launches',
            'Launch delays',
            null,
            empty('No launch with its GPU work is in this recording.', answer),
        );
    const kernels = table.where((row) => !/mem(cpy|set)/i.test(table.get(row, 'call')));
    const shown = kernels.length ? kernels : table;
    const rows = rowsOfRanks(shown, 'gpu_events');
    const worst = shown.where((row) => rows.includes(row)).extreme('delay_p95_us');
    const lede = worst
        ? `${rows.length > 1 ? `On rank ${shown.get(worst, 'rank')} half` : 'Half'} of the work starts within ${time(shown.get(worst, 'delay_median_us'))} of its launch and 95\u00a0% within ${time(shown.get(worst, 'delay_p95_us'))}` +
          `${rows.length > 1 ? ', the longest of all ranks' : ''}. Long delays mean that work queues up, short ones that the GPU takes it at once.`
        : null;
    return section(
        'launches',
        'Launch delays',
        lede,
        figure(
            'From the end of the launching call to the start of its work',
            'for each rank the call that launches most',
            bars({
                label: `Bars: median and 95th percentile of launch delay of each rank. ${lede}`,
                items: rows.map((row) => shown.get(row, 'rank')),
                unit: 'us',
                axis: 'delay',
                series: [
                    { name: 'median', colour: 'accent', values: rows.map((row) => shown.get(row, 'delay_median_us')) },
                    {
                        name: '95 % start within',
                        colour: 'second',
                        values: rows.map((row) => shown.get(row, 'delay_p95_us')),
                    },
                ],
                extra: (i) => [
                    ['call', shown.get(rows[i], 'call')],
                    ['launches', count(shown.get(rows[i], 'launches'))],
                    ['longest', time(shown.get(rows[i], 'delay_max_us'))],
                ],
            }),
        ),
        panel(
            'Launching calls',
            'short: work shorter than its call; runtime: calls over 50 \u00b5s; delay: work that waited over 100 \u00b5s',
            makeTable(table, {
                single: true,
                caption: 'Launching calls of each rank',
                sort: ['rank', 'ascending'],
                command: 'rankscope launches',
            }),
        ),
        noteList(answer),
    );
}

export function queueSection(data) {
    const answer = data.answers.queue;
    const table = answer.tables.queue;
    if (!table.length) return section('queue', 'Queue depth', null, empty('No launched work, so no queue.', answer));
    const rows = rowsOfRanks(table, 'launched');
    const deepest = table.extreme('max');
    const shallow = table.where((row) => rows.includes(row)).extreme('mean', -1);
    const lede =
        `At most ${count(table.get(deepest, 'max'))} pieces of work wait at once (rank ${table.get(deepest, 'rank')}, stream ${table.get(deepest, 'stream')}).` +
        `${rows.length > 1 && shallow ? ` The busiest stream of ${ranksText([table.get(shallow, 'rank')])} has the shallowest queue, ${quantity(table.get(shallow, 'mean'), 'count', 'real')} on average.` : ''}`;
    return section(
        'queue',
        'Queue depth',
        lede,
        figure(
            'Launched work that waits for the GPU',
            'for each rank the stream with most launches',
            bars({
                label: `Bars: mean and greatest queue depth of each rank. ${lede}`,
                items: rows.map((row) => table.get(row, 'rank')),
                unit: 'count',
                axis: 'waiting work',
                series: [
                    { name: 'mean over time', colour: 'accent', values: rows.map((row) => table.get(row, 'mean')) },
                    { name: 'most', colour: 'second', values: rows.map((row) => table.get(row, 'max')) },
                ],
                extra: (i) => [
                    ['stream', `${table.get(rows[i], 'stream')}`],
                    ['empty', quantity(table.get(rows[i], 'empty_pct'), 'percent')],
                ],
            }),
            foldedTable(table, {
                caption: 'Queue of each stream',
                sort: ['max', 'descending'],
                bar: ['empty_pct'],
                command: 'rankscope queue',
            }),
        ),
        noteList(answer),
    );
}
