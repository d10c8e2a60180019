// How far operators are from what the device can do: the roofline chart, matrix products at their best rate, MFU.
import { bars, rooflineChart } from './charts.js';
import { h } from './dom.js';
import { count, fixed, percent, time } from './format.js';
import { choice, empty, figure, noteList, panel, section } from './parts.js';
import { foldedTable, makeTable } from './table.js';

// What bounds an operator on the device; told apart by shape, too.
const BOUNDS = [
    { key: 'matrix', name: 'bound by matrix units', colour: 'compute', symbol: 'circle' },
    { key: 'vector', name: 'bound by vector units', colour: 'host', symbol: 'triangle' },
    { key: 'memory', name: 'bound by memory', colour: 'comm', symbol: 'diamond' },
    { key: null, name: 'bound unknown', colour: 'muted', symbol: 'rect' },
];
const POINTS = 400; // of one chart

const ranksOf = (table) => [...new Set(table.values('rank'))].sort((a, b) => a - b);
const dimsOf = (text) => (text === null ? 'not recorded' : text.length > 90 ? `${text.slice(0, 89)}\u2026` : text);

// A point needs arithmetic and bytes that are known.
const drawable = (table, row) => table.get(row, 'flops_per_byte') > 0 && table.get(row, 'tflops_per_s') > 0;

function chartOfRank(args, roofs, rank) {
    const rows = args.rows
        .filter((row) => args.get(row, 'rank') === rank && drawable(args, row))
        .sort((a, b) => args.get(b, 'kernel_us') - args.get(a, 'kernel_us'))
        .slice(0, POINTS);
    if (!rows.length) return empty('No operator of this rank has both its FLOPs and its bytes known.', null);
    const longest = args.get(rows[0], 'kernel_us') || 1;
    const lines = roofs.rows
        .filter((row) => roofs.get(row, 'rank') === rank && roofs.get(row, 'ridge_flops_per_byte') > 0)
        .map((row) => ({
            name: `${roofs.get(row, 'unit')} ${roofs.get(row, 'precision') ?? ''}`.trim(),
            rate: roofs.get(row, 'tflops_per_s'),
            bandwidth: roofs.get(row, 'mem_gbps'),
            ridge: roofs.get(row, 'ridge_flops_per_byte'),
        }));
    const points = rows.map((row) => ({
        x: args.get(row, 'flops_per_byte'),
        y: args.get(row, 'tflops_per_s'),
        size: args.get(row, 'kernel_us') / longest,
        series: args.get(row, 'bound'),
        title: args.get(row, 'name'),
        rows: [
            ['dims', dimsOf(args.get(row, 'input_dims'))],
            ['calls', count(args.get(row, 'count'))],
            ['GPU time', time(args.get(row, 'kernel_us'))],
            ['rate', `${fixed(args.get(row, 'tflops_per_s'), 2)}\u00a0TFLOP/s`],
            ['intensity', `${fixed(args.get(row, 'flops_per_byte'), 2)}\u00a0FLOPs/byte`],
            ['of the bound', percent(args.get(row, 'efficiency_pct'))],
        ],
    }));
    return rooflineChart({
        label: `Roofline chart of rank ${rank}: ${rows.length} operators by FLOPs per byte (across) and TFLOP/s (up), under ${lines.length} rates of its device.`,
        roofs: lines,
        points,
        series: BOUNDS.filter((b) => points.some((p) => p.series === b.key)),
    });
}

// The operators that lose most against their bound.
function loss(args) {
    let worst = null;
    let most = 0;
    for (const row of args.rows) {
        const efficiency = args.get(row, 'efficiency_pct');
        if (efficiency === null) continue;
        const lost = args.get(row, 'kernel_us') * (1 - Math.min(100, efficiency) / 100);
        if (lost > most) [worst, most] = [row, lost];
    }
    return worst;
}

function sentenceOf(args, models) {
    const all = models.rows.reduce((sum, row) => sum + models.get(row, 'kernel_us'), 0);
    const known = models.rows.reduce(
        (sum, row) => sum + (models.get(row, 'model') === null ? 0 : models.get(row, 'kernel_us')),
        0,
    );
    if (!all) return null;
    const worst = loss(args);
    return (
        `${percent((100 * known) / all)} of the GPU time of operators has a model` +
        (worst === null
            ? '.'
            : `; most is lost in ${args.get(worst, 'name')}: ${time(args.get(worst, 'kernel_us'))} at ${percent(args.get(worst, 'efficiency_pct'))} of its bound.`)
    );
}

export function rooflineSection(data) {
    const answer = data.answers.roofline;
    const { args, models, gemms, roofs } = answer.tables;
    if (!args.length)
        return section('roofline', 'Roofline', null, empty('No operator launched GPU work but communication.', answer));
    const ranks = ranksOf(args);
    const place = h('div', {});
    const draw = (rank) => place.replaceChildren(chartOfRank(args, roofs, Number(rank)));
    const { ranks: summaries } = data.answers.summary.tables;
    const slow = summaries.length > 1 ? summaries.extreme('own_time_us') : null;
    const first = slow && ranks.includes(summaries.get(slow, 'rank')) ? summaries.get(slow, 'rank') : ranks[0];
    draw(first);
    return section(
        'roofline',
        'Roofline',
        sentenceOf(args, models),
        figure(
            'Operators under what the device can do',
            'one mark an operator and arguments; the larger, the more GPU time. Below a line: that far from its rate',
            ranks.length > 1
                ? choice(
                      'Rank',
                      [first, ...ranks.filter((r) => r !== first)].map((r) => [r, `rank ${r}`]),
                      draw,
                  )
                : null,
            place,
            foldedTable(roofs, {
                summary: 'The lines',
                single: true,
                caption: 'Rates of the devices',
                sort: ['rank', 'ascending'],
                command: 'rankscope roofline --table roofs',
            }),
        ),
        panel(
            ranks.length > 1 ? 'Operators and arguments of each rank' : 'Operators and arguments',
            'FLOPs and bytes follow from the arguments; bound: the least time of one call on that device',
            makeTable(args.arranged(['name', 'rank']), {
                single: true,
                caption: 'Operators under the roofline',
                sort: ['kernel_us', 'descending'],
                bar: ['efficiency_pct'],
                rank: ranks.length > 1 ? first : undefined,
                hide: ['exact', 'gb_per_s', 'bound_us'],
                command: 'rankscope roofline',
            }),
        ),
        gemms.values('gain_us').some((v) => v > 0)
            ? panel(
                  'Matrix products at the best rate seen for their shape',
                  'best: the fastest call with the same arguments on any rank',
                  makeTable(gemms.arranged(['name', 'rank']), {
                      single: true,
                      caption: 'Matrix products at their best rate',
                      sort: ['gain_us', 'descending'],
                      bar: ['gain_pct'],
                      hide: ranks.length > 1 ? [] : ['best_rank'],
                      command: 'rankscope roofline --table gemms',
                  }),
              )
            : null,
        noteList(answer),
    );
}

// ---- MFU -------------------------------------------------------------------------------------------------

export function mfuSection(data) {
    const answer = data.answers.mfu;
    const table = answer.tables.mfu;
    const known = table.where((row) => table.get(row, 'mfu_pct') !== null);
    const steps = () =>
        foldedTable(table, {
            single: true,
            caption: 'MFU of each step',
            sort: ['rank', 'ascending'],
            bar: ['mfu_pct', 'hfu_pct', 'modelled_pct'],
            command: 'rankscope mfu',
        });
    if (!known.length)
        return section(
            'mfu',
            'Model FLOPs utilisation',
            null,
            empty('The device\u2019s rates, a model of the operators or the length of a step is not known.', answer),
            table.length ? steps() : null,
        );
    const ranks = ranksOf(known);
    const mean = (rank, column) => {
        const values = known.rows.filter((row) => known.get(row, 'rank') === rank).map((row) => known.get(row, column));
        return values.reduce((sum, v) => sum + v, 0) / values.length;
    };
    const least = known.extreme('mfu_pct', -1);
    const most = known.extreme('mfu_pct');
    const where = (row) =>
        `${known.get(row, 'step') === null ? '' : `step ${known.get(row, 'step')}`}${ranks.length > 1 ? ` on rank ${known.get(row, 'rank')}` : ''}`.trim();
    const lede =
        least === most
            ? `Model FLOPs utilisation is ${percent(known.get(most, 'mfu_pct'))}.`
            : `Model FLOPs utilisation goes from ${percent(known.get(least, 'mfu_pct'))} (${where(least)}) to ${percent(known.get(most, 'mfu_pct'))} (${where(most)}).`;
    return section(
        'mfu',
        'Model FLOPs utilisation',
        lede,
        figure(
            'MFU of each rank',
            'mean of its steps: matrix FLOPs at the device\u2019s dense rate, of the step\u2019s length on the host',
            bars({
                label: `Bars: model and hardware FLOPs utilisation of each rank. ${lede}`,
                items: ranks,
                unit: 'percent',
                axis: 'of the matrix rate',
                series: [
                    { name: 'MFU', colour: 'compute', values: ranks.map((r) => mean(r, 'mfu_pct')) },
                    { name: 'HFU: with what is computed twice', colour: 'second', values: ranks.map((r) => mean(r, 'hfu_pct')) },
                ],
            }),
            steps(),
        ),
        noteList(answer),
    );
}
