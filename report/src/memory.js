// Who holds the GPU's memory, where the page was given snapshots of PyTorch's allocator.
import { lines } from './charts.js';
import { heldPictures } from './held.js';
import { h, plural, sentence } from './dom.js';
import { quantity, time } from './format.js';
import { figure, noteList, panel, section } from './parts.js';
import { foldedTable, makeTable } from './table.js';

const TABLES = [
    ['oom', 'Allocations that failed'],
    ['ranks', 'Ranks'],
    ['sites', 'Sites at the peak'],
    ['categories', 'What it is for, an estimate'],
    ['spread', 'Sites over ranks'],
    ['leaks', 'What grows by the step'],
    ['fragmentation', 'Fragmentation at the end'],
    ['segments', 'Segments at the end'],
];

function timelineFigure(timeline) {
    const first = timeline.rows[0];
    const device = `rank ${timeline.get(first, 'rank')}, ${timeline.get(first, 'device')}`;
    return figure(
        `Memory over time: ${device}`,
        'the fullest device; of neighbouring events those with the most and the least',
        lines({
            label: `Line chart: active and reserved bytes of ${device} at ${plural(timeline.length, 'event')}.`,
            items: timeline.values('time_us').map((us, i) => (us === null ? `event ${i}` : time(us))),
            unit: 'bytes',
            axis: 'memory',
            series: [
                { name: 'active', colour: 'compute', values: timeline.values('active_bytes'), step: true },
                { name: 'reserved', colour: 'comm', values: timeline.values('reserved_bytes'), step: true },
            ],
            extra: (i) => {
                const row = timeline.rows[i];
                return [['event', `${timeline.get(row, 'action')} ${quantity(timeline.get(row, 'bytes'), 'bytes', 'int')}`]];
            },
        }),
        foldedTable(timeline, {
            caption: 'Timeline',
            sort: ['event', 'ascending'],
            command: 'rankscope memory --series --table timeline',
        }),
    );
}

const rowsOf = (table) => table.rows.map((row) => Object.fromEntries(table.columns.map(({ name }, i) => [name, row[i]])));

// The fullest device by what its memory is for, when it was fullest.
function pictures({ layers, layout, blocks, stacks }) {
    if (!layers.length) return null;
    const made = heldPictures(
        { layers: rowsOf(layers), layout: rowsOf(layout), blocks: rowsOf(blocks), stacks: rowsOf(stacks) },
        { at: 'peak', when: 'at the peak', byCategory: true },
    );
    const device = `rank ${layers.get(layers.rows[0], 'rank')}, ${layers.get(layers.rows[0], 'device')}`;
    const left = blocks.total - blocks.length;
    return [
        figure(
            `Memory over time by what it is for: ${device}`,
            'the fullest device; of each stretch of time its fullest and its last moment. Purposes are estimates',
            made.area,
            foldedTable(layers, { caption: 'Layers', command: 'rankscope memory --layers 120 --by category' }),
        ),
        made.blocks
            ? figure(
                  `Addresses at the peak: ${device}`,
                  `grey is free, a stroke begins what was taken from the device at once${left ? `; the ${blocks.length} largest blocks are drawn, ${left} are not` : ''}`,
                  made.blocks,
                  foldedTable(blocks, { caption: 'Blocks at the peak', command: 'rankscope memory --top 0 --table peak' }),
              )
            : null,
        made.flame
            ? figure(
                  `Who holds it at the peak, by stack: ${device}`,
                  'width is bytes; a click makes a box the whole',
                  made.flame,
                  foldedTable(stacks, { caption: 'Stacks at the peak', command: 'rankscope memory --by stack --table sites' }),
              )
            : null,
    ];
}

export function memorySection(data) {
    if (!data.memory) return null;
    const { tables } = data.memory;
    const found = tables.findings.rows.map((row) =>
        [tables.findings.get(row, 'finding'), tables.findings.get(row, 'remedy')].filter(Boolean).join(' '),
    );
    return section(
        'memory',
        "The GPU's memory",
        found.length ? sentence(found[0]) : null,
        found.length > 1
            ? h(
                  'ul',
                  { class: 'rows' },
                  found.slice(1).map((text) => h('li', {}, sentence(text))),
              )
            : null,
        pictures(tables),
        tables.timeline.length ? timelineFigure(tables.timeline) : null,
        TABLES.filter(([key]) => tables[key].length).map(([key, title]) =>
            panel(
                title,
                null,
                makeTable(tables[key], { caption: `Memory: ${title}`, command: `rankscope memory --table ${key}` }),
            ),
        ),
        noteList(data.memory),
    );
}
