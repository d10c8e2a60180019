// The history of a watched job: ranks by time, changes, and which windows still have their traces.
import { heatMap } from './charts.js';
import { h, plural, visible } from './dom.js';
import { percent, time } from './format.js';
import { figure, panel, section } from './parts.js';
import { foldedTable, makeTable } from './table.js';
import { themeButton } from './theme.js';

const brief = (path) => path.replace(/\/+$/, '').split('/').pop() || path;

// "2026-11-24 17:34", with seconds where minutes are not enough; a clock that is none of the epoch has no date.
function dates(starts) {
    const text = (ns, length) => (ns < 946684800e9 ? `${Math.round(ns / 1e9)} s` : new Date(ns / 1e6).toISOString().slice(0, length).replace('T', ' '));
    const short = starts.map((ns) => text(ns, 16));
    return new Set(short).size === short.length ? short : starts.map((ns) => text(ns, 19));
}

export function watchHead(data) {
    const { windows } = data.watch.tables;
    document.title = `${visible(brief(data.inputs[0])).slice(0, 120)} \u2013 rankscope watch`;
    const last = windows.rows[windows.rows.length - 1];
    return [
        h('div', { class: 'top' }, h('span', { class: 'brand' }, 'rankscope watch'), h('div', { class: 'actions' }, themeButton())),
        h('h1', {}, h('bdi', {}, visible(brief(data.inputs[0])))),
        h(
            'p',
            { class: 'facts' },
            h('span', {}, last ? plural(windows.get(last, 'window'), 'window') : 'no window'),
            last ? h('span', {}, `${plural(windows.get(last, 'ranks'), 'rank')} in the last one`) : null,
        ),
    ];
}

function sentenceOf(changes) {
    const open = changes.rows.filter((row) => changes.get(row, 'ended') === null);
    if (!changes.length) return 'Nothing has changed.';
    return `${plural(changes.total, 'change')} so far; ${open.length ? plural(open.length, 'change') : 'none'} of them ${open.length === 1 ? 'goes' : 'go'} on.`;
}

// `rankscope view --history` serves this page; then a window that has its traces opens in the explorer.
const served = location.protocol === 'http:';
const windowUrl = (window) => `window/${window}/`;

function mapOf(tables, value, unit, label, aside) {
    const { columns, map, kept, changes } = tables;
    const ranks = [...new Set(map.values('rank'))].sort((a, b) => a - b);
    const row = new Map(ranks.map((rank, i) => [rank, i]));
    const known = map.where((cell) => map.get(cell, value) !== null);
    const starts = columns.values('start_unix_ns');
    const first = columns.values('window');
    const last = first.map((window, i) => window + columns.get(columns.rows[i], 'windows') - 1);
    const within = (table, column) => first.map((from, i) => table.values(column).filter((w) => w >= from && w <= last[i]).length);
    const found = within(changes, 'begun');
    const traces = within(kept, 'window');
    const open = (i) => {
        const at = map.get(known.rows[i], 'place');
        const there = kept.values('window').filter((w) => w >= first[at] && w <= last[at]);
        const begun = there.filter((w) => changes.values('begun').includes(w));
        const window = begun[0] ?? there[there.length - 1];
        if (window !== undefined) location.href = windowUrl(window);
    };
    const each = ranks.length > 1 ? ranks[1] - ranks[0] : 1;
    return figure(
        label,
        aside,
        heatMap({
            label: `Map: ${label.toLowerCase()} of ${plural(ranks.length, each > 1 ? 'row' : 'rank')} in ${plural(columns.length, 'column')}.`,
            columns: dates(starts),
            rows: ranks,
            rowName: each > 1 ? 'ranks from' : 'rank',
            columnName: 'from',
            unit,
            onClick: served ? open : null,
            cells: known.rows.map((cell) => [map.get(cell, 'place'), row.get(map.get(cell, 'rank')), map.get(cell, value)]),
            extra: (i) => {
                const cell = known.rows[i];
                const at = map.get(cell, 'place');
                return [
                    ['windows', `${first[at]} to ${last[at]}`],
                    ['most late', `rank ${map.get(cell, 'worst_rank') ?? '?'}, ${percent(map.get(cell, 'late_pct'))}`],
                    ['longest mean step', time(map.get(cell, 'step_us'))],
                    ['changes begun', `${found[at]}`],
                    ['windows with traces', served && traces[at] ? `${traces[at]}; a click opens one` : `${traces[at]}`],
                ];
            },
        }),
    );
}

const fileUrl = (path) => `file://${path.split('/').map(encodeURIComponent).join('/')}`;

function windowLinks(kept) {
    const when = dates(kept.values('start_unix_ns'));
    return kept.values('window').map((window, i) => [windowUrl(window), `window ${window}, ${when[i]}`]);
}
const folderLinks = (kept) =>
    [...new Set(kept.values('first').map((path) => path.slice(0, path.lastIndexOf('/') + 1)))].slice(0, 20).map((path) => [fileUrl(path), visible(path)]);

// Windows whose traces are there, with links to the explorer of each, or to their folders.
function keptPanel(kept) {
    if (!kept.length)
        return panel('Traces that are kept', null, h('p', {}, 'None of the given paths holds a trace of these windows: rankscope report --history FILE PATH...'));
    const links = served ? windowLinks(kept) : folderLinks(kept);
    return panel(
        'Traces that are kept',
        `of ${plural(kept.total, 'window')}`,
        h('ul', { class: 'rows' }, links.map(([href, text]) => h('li', {}, h('a', { href }, h('bdi', {}, text))))),
        makeTable(kept, { caption: 'Traces that are kept', sort: ['window', 'descending'] }),
    );
}

export function watchSection(data) {
    const { tables } = data.watch;
    const { changes, windows, map, limits } = tables;
    return section(
        'watch',
        'Ranks over time',
        sentenceOf(changes),
        map.length ? mapOf(tables, 'late_pct', 'percent', 'Late share', 'own work of a rank above the median of all ranks; of several ranks in a row the largest') : null,
        map.length ? mapOf(tables, 'step_us', 'us', 'Step time', 'mean step; of several ranks in a row the longest') : null,
        foldedTable(map, { caption: 'Ranks over time', sort: ['late_pct', 'descending'] }),
        changes.length
            ? panel('Changes', null, makeTable(changes, { caption: 'Changes', sort: ['begun', 'descending'], command: 'rankscope watch --once --table changes' }))
            : null,
        keptPanel(tables.kept),
        panel(
            'Windows',
            'the last 288',
            foldedTable(windows, { caption: 'Windows', sort: ['window', 'descending'], command: 'rankscope watch --once --table windows' }),
            foldedTable(limits, { caption: 'Limits', command: 'rankscope watch --once --table limits' }),
        ),
    );
}
