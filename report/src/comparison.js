// A comparison of inputs with the first: how GPU time changed, and which parts add up to that.
import { lines } from './charts.js';
import { h, name, plural, visible } from './dom.js';
import { percent, time } from './format.js';
import { choice, figure, noteList, panel, section } from './parts.js';
import { foldedTable, makeTable } from './table.js';
import { themeButton } from './theme.js';

const LARGEST = 12;
const COLOURS = ['compute', 'comm', 'copy', 'warm'];

const last = (path, n) => path.replace(/\/+$/, '').split('/').slice(-n).join('/') || path;

// As few parts of the paths as tell them apart.
function brief(paths) {
    const different = new Set(paths).size;
    for (let n = 1; n < 8; n += 1) {
        const names = paths.map((path) => last(path, n));
        if (new Set(names).size === different) return names;
    }
    return paths;
}

const option = (text) => (text.length > 32 ? `\u2026${text.slice(-31)}` : text);
const signed = (text, value) => (value > 0 ? `+${text}` : text);

// The table of rows: which one has any depends on --by.
const rowsOf = (tables) => [tables.args, tables.names, tables.tree].find((table) => table?.length);

const inputOf = (inputs, variant) => inputs.rows.find((row) => inputs.get(row, 'variant') === variant);

function sentenceOf(inputs, names, variant) {
    const base = inputOf(inputs, 0);
    const row = inputOf(inputs, variant);
    const change = inputs.get(row, 'change_pct');
    const verb = change > 0 ? 'more' : 'less';
    return [
        h('bdi', {}, visible(names[variant])),
        change === null || change === 0
            ? ` takes as much GPU time as the first input, ${time(inputs.get(row, 'gpu_us'))}.`
            : ` takes ${percent(Math.abs(change))} ${verb} GPU time than the first input: ${time(inputs.get(row, 'gpu_us'))} instead of ${time(inputs.get(base, 'gpu_us'))}.`,
    ];
}

const labelOf = (table, row) =>
    [
        table.get(row, 'name') ?? 'under no common operator',
        table.has('input_dims') ? table.get(row, 'input_dims') : table.has('ops_b') ? opsOf(table, row) : null,
    ]
        .filter(Boolean)
        .join('  ');

function opsOf(table, row) {
    const [a, b] = ['ops_a', 'ops_b'].map((column) => table.get(row, column) ?? 'nothing');
    return a === b ? null : `${a} \u2192 ${b}`;
}

// The largest differences, in the order of the table.
function largest(table, variant) {
    const rows = table.rows
        .filter((row) => table.get(row, 'variant') === variant && table.get(row, 'time_diff_us') !== 0)
        .slice(0, LARGEST);
    if (!rows.length) return h('p', {}, 'No row differs.');
    const most = Math.max(...rows.map((row) => Math.abs(table.get(row, 'time_diff_us'))), 0);
    return h(
        'ol',
        { class: 'bars', 'aria-label': 'Largest differences' },
        rows.map((row) => {
            const diff = table.get(row, 'time_diff_us');
            const impact = table.get(row, 'impact_pct');
            const bar = h('span', { class: `fill ${diff > 0 ? 'warm' : 'compute'}`, 'aria-hidden': 'true' });
            bar.style.width = `${most ? (100 * Math.abs(diff)) / most : 0}%`;
            return h(
                'li',
                {},
                h(
                    'div',
                    { class: 'row' },
                    h('div', { class: 'label' }, name(labelOf(table, row))),
                    h(
                        'div',
                        { class: 'value' },
                        `${signed(time(diff), diff)} \u00b7 ${impact === null ? '' : signed(percent(impact), impact)}`,
                    ),
                ),
                h('div', { class: 'track' }, bar),
                h(
                    'div',
                    { class: 'aside' },
                    `${time(table.get(row, 'time_a_us'))} \u2192 ${time(table.get(row, 'time_b_us'))}`,
                ),
            );
        }),
    );
}

function differences(table, inputs, paths) {
    const names = brief(paths);
    const variants = inputs.values('variant').filter((v) => v > 0);
    const place = h('div', {});
    const draw = (variant) =>
        place.replaceChildren(h('p', {}, ...sentenceOf(inputs, names, variant)), largest(table, variant));
    draw(variants[0]);
    const options = variants.map((v) => [v, option(visible(names[v]))]);
    return [variants.length > 1 ? choice('Input', options, (v) => draw(Number(v))) : null, place];
}

function overAxis(pivot, command) {
    const [axis, ...columns] = pivot.columns.map((column) => column.name);
    const shown = columns.slice(0, COLOURS.length);
    return figure(
        'GPU time along the axis',
        `over ${axis}, of all work and of the names that differ most`,
        lines({
            label: `Line chart: GPU time at ${plural(pivot.length, 'value')} of ${axis}.`,
            items: pivot.values(axis).map((value) => visible(value ?? 'unknown')),
            unit: 'us',
            axis: 'GPU time',
            series: shown.map((column, i) => ({
                name: visible(column).slice(0, 60),
                colour: COLOURS[i],
                values: pivot.values(column),
                points: true,
            })),
        }),
        foldedTable(pivot, { caption: 'GPU time along the axis', command }),
    );
}

export function comparisonHead(data) {
    const { inputs } = data.comparison.tables;
    const names = brief(data.inputs).map(visible);
    const title = names.join(' | ');
    document.title = `${title.slice(0, 120)} \u2013 rankscope comparison`;
    return [
        h(
            'div',
            { class: 'top' },
            h('span', { class: 'brand' }, 'rankscope comparison'),
            h('div', { class: 'actions' }, themeButton()),
        ),
        h(
            'h1',
            {},
            names.slice(0, 4).map((part, i) => [i ? ' | ' : '', h('bdi', {}, part)]),
            names.length > 4 ? ' | \u2026' : null,
        ),
        h('p', { class: 'facts' }, h('span', {}, `${plural(inputs.total - 1, 'input')} against the first`)),
    ];
}

export function comparisonSection(data) {
    const { tables } = data.comparison;
    const { inputs, pivot, pairs } = tables;
    const rows = rowsOf(tables);
    const command = (table) => `rankscope compare --table ${table} A B`;
    return section(
        'comparison',
        'What changed',
        null,
        rows
            ? figure(
                  'Largest differences',
                  'of GPU time; all rows add up to the change',
                  differences(rows, inputs, data.inputs),
                  foldedTable(rows, { caption: 'All differences', command: 'rankscope compare A B' }),
              )
            : h('div', { class: 'empty' }, h('p', {}, 'No GPU work was recorded.')),
        pivot?.length ? overAxis(pivot, command('pivot')) : null,
        panel(
            'Inputs',
            'the first is what the others are compared with',
            makeTable(inputs, { caption: 'Inputs', sort: ['variant', 'ascending'], command: command('inputs') }),
        ),
        pairs?.length
            ? panel(
                  'Operators and their partners',
                  null,
                  foldedTable(pairs, { caption: 'Operators and their partners', command: command('pairs') }),
              )
            : null,
        noteList(data.comparison),
    );
}
