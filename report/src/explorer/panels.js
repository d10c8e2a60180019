// The column next to the map: findings, and what is selected, clicked, asked or searched.
import { get, post } from './api.js';
import { duration, windowText } from './axis.js';
import { colourOf, LABELS } from './classes.js';
import { callPaths, flameGraph } from './flame.js';
import { matrix } from './matrix.js';
import { memoryPicture } from './memory.js';
import { Table } from '../data.js';
import { h, name, ranges, sentence, visible } from '../dom.js';
import { makeTable } from '../table.js';

export const shell = (text) => (/^[\w./:=,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export const refusal = (error) => h('p', { class: 'refusal', role: 'alert' }, visible(error.message ?? error));

// Rows of an answer as a table of the page. Types and units follow from values and names.
function tableOf(rows, leftOut = []) {
    const names = Object.keys(rows[0] ?? {}).filter((n) => !leftOut.includes(n));
    const strings = [];
    const columns = names.map((n) => {
        const text = rows.some((row) => typeof row[n] === 'string');
        const unit = /_us$/.test(n) ? 'us' : /_ms$/.test(n) ? 'ms' : /_pct$/.test(n) ? 'percent' : /^(rank|step|stream|device|index|position|number)$/.test(n) ? 'id' : '';
        const whole = rows.every((row) => row[n] === null || Number.isInteger(row[n]));
        return [n, text ? 'text' : unit === 'us' || unit === 'ms' ? 'time' : whole ? 'int' : 'real', unit, null, n];
    });
    const cells = rows.map((row) =>
        columns.map(([n, type]) => {
            if (row[n] === null || row[n] === undefined) return null;
            if (type !== 'text') return row[n];
            strings.push(String(row[n]));
            return strings.length - 1;
        }),
    );
    return new Table({ columns, rows: cells, total: rows.length, order: null }, strings);
}

export const command = (text) => h('pre', { title: 'The command that prints the same' }, visible(text));

// ---- findings ----------------------------------------------------------------------------------------------

export function findingsPanel(app) {
    const list = h('ol', { class: 'findings' });
    const others = h('details', { class: 'others', hidden: true }, h('summary', {}, 'What the step is most sensitive to'), h('ol', { class: 'findings' }));
    const status = h('p', { class: 'aside', role: 'status' }, 'Asking the judge\u2026');
    const edit = h('input', {
        type: 'text',
        placeholder: "scale class=computation&rank=3=0.8",
        'aria-label': 'A what-if, as replay --what-if takes it',
        spellcheck: 'false',
    });
    const form = h(
        'form',
        {
            class: 'row',
            onsubmit: (event) => {
                event.preventDefault();
                if (edit.value.trim()) app.mend(edit.value.trim());
            },
        },
        edit,
        h('button', { type: 'submit' }, 'What if'),
    );
    const answer = h('div', { 'aria-live': 'polite' });

    async function load() {
        let findings;
        try {
            ({ findings } = await get('findings'));
        } catch (error) {
            status.replaceChildren(refusal(error));
            return;
        }
        status.hidden = findings.length > 0;
        status.textContent = 'The judge has nothing to say of this job.';
        const made = findings.map((finding) =>
                h(
                    'li',
                    { class: finding.kind, 'data-place': finding.place },
                    h(
                        'button',
                        { type: 'button', class: 'go', title: finding.remedy ? visible(finding.remedy) : null, onclick: () => app.goTo(finding) },
                        sentence(finding.sentence),
                    ),
                    h(
                        'div',
                        { class: 'do' },
                        finding.edit
                            ? h('button', { type: 'button', onclick: () => app.mend(finding.edit) }, 'Show the job without it')
                            : null,
                        finding.command
                            ? h('button', { type: 'button', onclick: (event) => toggle(event.currentTarget, finding.command) }, 'Command')
                            : null,
                    ),
                ),
        );
        const secondary = (i) => findings[i].kind === 'sensitivity';
        list.replaceChildren(...made.filter((_, i) => !secondary(i)));
        const rest = made.filter((_, i) => secondary(i));
        others.hidden = !rest.length;
        others.querySelector('ol').replaceChildren(...rest);
        app.findings = findings;
        document.documentElement.dataset.findings = String(findings.length);
    }

    function toggle(button, text) {
        const shown = button.parentElement.parentElement.querySelector('pre');
        if (shown) shown.remove();
        else button.parentElement.after(command(text));
    }

    const loaded = load();
    return {
        loaded,
        element: h('section', { class: 'judge', 'aria-label': 'Findings' }, h('h2', {}, 'Findings'), status, list, others, form, answer),
        mark: (place) => {
            for (const li of [...list.children, ...others.querySelectorAll('li')]) li.classList.toggle('shown', Number(li.dataset.place) === place);
        },
        say: (...content) => {
            answer.replaceChildren(...content);
            answer.scrollIntoView({ block: 'nearest' });
        },
        edit,
    };
}

// ---- a selection -------------------------------------------------------------------------------------------

const TABLES = [
    ['kernels', 'Kernels', 'kernels', ['sum_us', 'descending']],
    ['ops', 'Operators', 'ops', ['total_direct_kernel_time_us', 'descending']],
    ['collectives', 'Collectives', 'collectives', ['sum_wait_us', 'descending']],
    ['idle', 'Idle causes', 'idle', ['idle_us', 'descending']],
    ['breakdown', 'Breakdown', null, null],
];
const COLUMNS = {
    kernels: ['rank', 'name', 'class', 'count', 'sum_us', 'share_pct', 'mean_us'],
    ops: ['rank', 'name', 'count', 'total_direct_kernel_time_us', 'share_pct'],
    collectives: ['collective', 'group', 'message_bytes', 'start_us', 'transfer_us', 'max_wait_us', 'last_rank'],
    breakdown: ['rank', 'span_us', 'busy_us', 'compute_us', 'exposed_comm_us', 'exposed_copy_us', 'idle_us', 'operators_us', 'exposed_sync_us', 'other_us'],
};

export function selectionPanel(app, state) {
    if (state.selFrom === null)
        return h('p', { class: 'aside' }, 'Drag a rectangle over the map: tables of just that time and those ranks appear here.');
    const chosen = { from: state.selFrom, to: state.selTo, ranks: state.selRanks };
    const sums = h('div', {}, h('p', { class: 'aside' }, 'Adding up\u2026'));
    const place = h('div', {});
    const buttons = TABLES.map(([table, label]) =>
        h('button', { type: 'button', role: 'tab', 'aria-selected': 'false', onclick: () => show(table) }, label),
    );
    const restricted = `--window own:${windowText(chosen.from, chosen.to)}${chosen.ranks ? ` --ranks ${chosen.ranks}` : ''}`;
    const paths = app.job.paths.map(({ path }) => shell(path)).join(' ');

    async function add() {
        try {
            const map = await get('map', { ...chosen, width: 1, waits: app.waits ?? null });
            const total = map.classes.map((_, k) => map.ranks.reduce((sum, rank) => sum + rank.columns[0][k], 0));
            const all = total.reduce((a, b) => a + b, 0);
            const known = map.classes.map((c, k) => [c, total[k]]).filter(([, ns]) => ns > 0);
            sums.replaceChildren(
                h(
                    'div',
                    { class: 'stack', 'aria-hidden': 'true' },
                    known.map(([c, ns]) => {
                        const part = h('i');
                        part.style.width = `${(100 * ns) / all}%`;
                        part.style.background = colourOf(c);
                        return part;
                    }),
                ),
                h(
                    'dl',
                    { class: 'facts-list sums' },
                    known.flatMap(([c, ns]) => {
                        const swatch = h('span', { class: 'swatch', 'aria-hidden': 'true' });
                        swatch.style.background = colourOf(c);
                        return [h('dt', {}, swatch, LABELS[c]), h('dd', { 'data-ns': ns, 'data-class': c }, `${duration(ns)}  (${((100 * ns) / all).toFixed(1)}\u202f%)`)];
                    }),
                ),
                command(`rankscope breakdown --cut ${restricted} ${paths}`),
            );
        } catch (error) {
            sums.replaceChildren(refusal(error));
        }
    }

    async function show(table) {
        const row = TABLES.find(([t]) => t === table);
        buttons.forEach((button, i) => button.setAttribute('aria-selected', String(TABLES[i][0] === table)));
        place.replaceChildren(h('p', { class: 'aside' }, 'Asking\u2026'));
        try {
            const answer = await get('select', { ...chosen, table, own: 1, cut: table === 'breakdown' ? 1 : null });
            const rows = answer.tables[row[2] ?? Object.keys(answer.tables).find((t) => answer.tables[t].length)] ?? [];
            const kept = rows.map((r) => (COLUMNS[table] ? Object.fromEntries(COLUMNS[table].filter((c) => c in r).map((c) => [c, r[c]])) : r));
            const text = `rankscope ${table} ${table === 'breakdown' ? '--cut ' : ''}${restricted} ${paths}`;
            place.replaceChildren(
                kept.length
                    ? makeTable(tableOf(kept), { caption: `${row[1]} of the selection`, sort: row[3] && row[3][0] in kept[0] ? row[3] : undefined, single: true })
                    : h('p', { class: 'aside' }, 'Nothing of that kind is selected.'),
                command(text),
            );
        } catch (error) {
            place.replaceChildren(refusal(error));
        }
    }

    add();
    show('kernels');
    return h(
        'div',
        { class: 'selection' },
        h(
            'p',
            {},
            h('strong', {}, duration(chosen.to - chosen.from)),
            ` of ${chosen.ranks ? `ranks ${chosen.ranks}` : 'all ranks'} `,
            h('button', { type: 'button', onclick: () => app.zoomTo(chosen.from, chosen.to) }, 'Zoom'),
            ' ',
            h('button', { type: 'button', onclick: () => app.store.move({ selFrom: null, selTo: null, selRanks: null }) }, 'Clear'),
        ),
        sums,
        h('div', { class: 'tabs', role: 'tablist' }, buttons),
        place,
    );
}

// ---- pictures below the map: of the selection, or of the entire job --------------------------------------------

// What takes less than a thousandth of the time is left out.
async function flamePicture(app, chosen, restricted, whole) {
    const least = ((chosen.to - chosen.from) / 1e6).toFixed(3);
    const { tables } = await get('select', { ...(whole ? {} : { ...chosen, own: 1 }), table: 'tree', across: 1, 'min-time': least });
    const { gpu, roots } = callPaths(tables.across);
    const noun = `the ${gpu ? 'GPU work' : 'host time'} of the ${whole ? 'job' : 'selection'}`;
    if (!roots.length) return [h('p', { class: 'aside' }, 'No call that launched work is selected.')];
    return [flameGraph(roots, { label: `Flame graph of ${noun} by call path`, noun }), command(`rankscope tree --across --min-time ${least} ${restricted}`)];
}

async function waitsPicture(app, chosen, restricted, whole) {
    const { tables } = await get('select', { ...(whole ? {} : { ...chosen, own: 1 }), table: 'collectives' });
    const cells = tables.waits.map((row) => ({ from: row.rank, to: row.last_rank, value: row.wait_us, count: row.collectives }));
    if (!cells.length) return [h('p', { class: 'aside' }, 'No rank waits for another one in a collective there.')];
    const known = [...new Set([...tables.arrivals.map((row) => row.rank), ...cells.map((cell) => cell.to)])].sort((a, b) => a - b);
    const us = (value) => duration(value * 1000);
    return [
        matrix(cells, known, {
            label: 'Matrix: how long each rank (down) waited for each rank (across) to arrive at collectives',
            down: 'waits',
            across: 'for rank',
            brief: us,
            format: (cell) => (cell.value ? `Rank ${cell.from} waits ${us(cell.value)} for rank ${cell.to}, in ${cell.count} collective${cell.count === 1 ? '' : 's'}` : `Rank ${cell.from} does not wait for rank ${cell.to}`),
            onPick: (cell) => app.store.move({ rank: cell.to }),
        }),
        command(`rankscope collectives --table waits ${restricted}`),
    ];
}

const PICTURES = [
    ['flame', 'Flame graph', flamePicture],
    ['waits', 'Who waits for whom', waitsPicture],
    ['memory', 'Memory', (app) => memoryPicture(app)],
];

export function picturePanel(app, state) {
    const whole = state.selFrom === null || state.selTo === null;
    const chosen = whole ? { from: 0, to: app.last, ranks: null } : { from: state.selFrom, to: state.selTo, ranks: state.selRanks };
    const restricted = `${whole ? '' : `--window own:${windowText(chosen.from, chosen.to)} `}${chosen.ranks ? `--ranks ${chosen.ranks} ` : ''}${app.job.paths.map(({ path }) => shell(path)).join(' ')}`;
    const wanted = PICTURES.find(([id]) => id === state.below && (id !== 'memory' || app.job.memory)) ?? (whole ? null : PICTURES[0]);
    const place = h('div', { class: 'picture' });
    async function load() {
        place.replaceChildren(h('p', { class: 'aside' }, 'Adding up\u2026'));
        try {
            place.replaceChildren(...(await wanted[2](app, chosen, restricted, whole)));
        } catch (error) {
            place.replaceChildren(refusal(error));
        }
    }
    if (wanted) load();
    else place.replaceChildren(h('p', { class: 'aside' }, 'Click a row of the map to open the rank: its streams and threads appear here. Drag a rectangle to select time and ranks. ', h('kbd', {}, '?'), ' lists the keys.'));
    return [
        h(
            'div',
            { class: 'tabs', role: 'tablist' },
            PICTURES.filter(([id]) => id !== 'memory' || app.job.memory).map(([id, label]) => h('button', { type: 'button', role: 'tab', 'aria-selected': String(wanted?.[0] === id), onclick: () => app.store.move({ below: id }) }, label)),
            h('span', { class: 'aside' }, wanted?.[0] === 'memory' ? 'by the allocator\u2019s snapshots, on their own clock' : whole ? 'of the entire job' : `of ${duration(chosen.to - chosen.from)} of ${chosen.ranks ? `ranks ${chosen.ranks}` : 'all ranks'}`),
        ),
        place,
    ];
}

// ---- an event ----------------------------------------------------------------------------------------------

export function eventPanel(app, state) {
    if (state.event === null || state.rank === null)
        return h('p', { class: 'aside' }, 'Open a rank (click its row) and click one of its events.');
    const place = h('div', { class: 'event' }, h('p', { class: 'aside' }, 'Reading\u2026'));

    const link = (event) =>
        h('button', { type: 'button', onclick: () => app.openEvent(state.rank, event) }, h('span', { class: 'what' }, h('bdi', {}, visible(event.name))), h('span', { class: 'where' }, duration(event.to - event.from)));

    async function load() {
        try {
            const answer = await get('event', { rank: state.rank, id: state.event });
            const [event] = answer.event;
            const facts = [
                ['Rank', state.rank],
                ['On', visible(event.lane)],
                ['Kind', event.class.replace('_', ' ')],
                ['Start', `${(event.from / 1e6).toFixed(6)}\u202fms`],
                ['Duration', duration(event.to - event.from)],
                ['Step', event.step ?? 'none'],
            ];
            place.replaceChildren(
                h('p', {}, name(event.name)),
                h('dl', { class: 'facts-list' }, facts.flatMap(([k, v]) => [h('dt', {}, k), h('dd', {}, String(v))])),
                h(
                    'p',
                    { class: 'row' },
                    h('button', { type: 'button', class: 'primary', onclick: () => app.askWhy(state.rank, Math.round((event.from + event.to) / 2)) }, 'Why does the rank wait here?'),
                    h('button', { type: 'button', onclick: () => app.zoomTo(event.from, event.to, true) }, 'Zoom'),
                ),
                answer.launch.length ? h('section', {}, h('h2', {}, event.class === 'call' ? 'GPU work it launched' : 'Launched by'), h('ul', { class: 'hits' }, answer.launch.map((e) => h('li', {}, link(e))))) : '',
                answer.inside.length ? h('section', {}, h('h2', {}, 'Inside'), h('ul', { class: 'hits' }, answer.inside.map((e) => h('li', {}, link(e))))) : '',
                answer.arguments.length
                    ? h(
                          'section',
                          {},
                          h('h2', {}, 'Arguments'),
                          h('dl', { class: 'facts-list' }, answer.arguments.flatMap((a) => [h('dt', {}, h('bdi', {}, visible(a.name))), h('dd', {}, h('bdi', {}, visible(a.text ?? a.number ?? a.real ?? 'null').slice(0, 2000)))])),
                      )
                    : '',
            );
        } catch (error) {
            place.replaceChildren(refusal(error));
        }
    }
    load();
    return place;
}

// ---- why ---------------------------------------------------------------------------------------------------

const WAITS = { communication: 'waits in communication for', idle: 'has no GPU work for', host: 'waits for its device for' };
const MOST_HOPS = 60;

// Neighbours of one rank are one stay there, named by what most of it is spent on and the longest link of that.
function stays(hops) {
    const merged = [];
    for (const hop of hops) {
        let last = merged[merged.length - 1];
        if (!last || last.rank !== hop.rank) {
            last = { ...hop, ns: 0, parts: new Map() };
            merged.push(last);
        }
        const part = last.parts.get(hop.part) ?? { ...hop, ns: 0, longest: 0 };
        part.ns += hop.ns;
        if (hop.ns > part.longest) Object.assign(part, { longest: hop.ns, name: hop.name });
        last.parts.set(hop.part, part);
        last.ns += hop.ns;
        last.from = Math.min(last.from, hop.from);
    }
    for (const stay of merged) stay.most = [...stay.parts.values()].reduce((a, b) => (b.ns > a.ns ? b : a));
    return merged;
}

// What a chain is spent on, and its stays from rank to rank.
function chainList(app, chain) {
    const merged = stays(chain.hops);
    const byCause = new Map();
    for (const hop of chain.hops) {
        const key = `rank ${hop.rank}, ${hop.part.replace('_', ' ')}`;
        byCause.set(key, (byCause.get(key) ?? 0) + hop.ns);
    }
    const causes = [...byCause].sort((a, b) => b[1] - a[1]).slice(0, 6);
    return [
        h('dl', { class: 'facts-list' }, causes.flatMap(([what, ns]) => [h('dt', {}, what), h('dd', {}, `${duration(ns)}  (${((100 * ns) / chain.sum).toFixed(1)}\u202f%)`)])),
        h(
            'ul',
            { class: 'hits' },
            merged.slice(0, MOST_HOPS).map((hop) =>
                h(
                    'li',
                    {},
                    h(
                        'button',
                        { type: 'button', onclick: () => app.goToHop(hop) },
                        h('span', { class: 'what' }, `rank ${hop.rank} `, h('strong', {}, hop.most.part.replace('_', ' ')), ' ', h('bdi', {}, visible(hop.most.name ?? ''))),
                        h('span', { class: 'where' }, duration(hop.ns)),
                    ),
                ),
            ),
        ),
        merged.length > MOST_HOPS ? h('p', { class: 'aside' }, `and ${merged.length - MOST_HOPS} more hops`) : '',
    ];
}

export function whyPanel(app, state) {
    if (state.rank === null || state.cursor === null)
        return h('p', { class: 'aside' }, 'Click a moment at which a rank waits: the chain of causes appears here and as a line over the map.');
    const place = h('div', { class: 'why' }, h('p', { class: 'aside' }, 'Following causes\u2026'));

    async function load() {
        try {
            const { waits } = await get('why', { rank: state.rank, at: state.cursor });
            app.setChain(waits[0].hops);
            place.replaceChildren(
                ...waits.map((wait) =>
                    h('section', { 'data-sum': wait.sum }, h('p', {}, `Rank ${wait.wait.rank} ${WAITS[wait.wait.kind]} `, h('strong', {}, duration(wait.sum)), '. In that time, back from its end:'), chainList(app, wait)),
                ),
                command(`rankscope blame --of ${state.rank} --method chain --at ${(state.cursor / 1000).toFixed(3)} ${app.job.paths.map(({ path }) => shell(path)).join(' ')}`),
            );
        } catch (error) {
            app.setChain(null);
            place.replaceChildren(refusal(error));
        }
    }
    load();
    return place;
}

// ---- the critical path -------------------------------------------------------------------------------------

export function pathPanel(app, state) {
    const steps = [...new Set(app.job.steps.map((s) => s.step))].sort((a, b) => a - b);
    const chosen = h(
        'select',
        { 'aria-label': 'Of which step', onchange: (event) => app.store.move({ path: event.target.value || null }) },
        [['', 'not shown'], ['all', 'the entire recording'], ...steps.map((s) => [String(s), `step ${s}`])].map(([value, text]) => h('option', { value, selected: value === (state.path ?? '') }, text)),
    );
    const place = h('div', { class: 'path' }, h('p', { class: 'aside' }, state.path ? 'Following causes\u2026' : 'What held up the end of a step, back to its begin, over all ranks: making anything else faster does not make the step shorter.'));

    async function load() {
        try {
            const { path } = await get('path', { step: state.path });
            app.setPath(path.hops);
            place.replaceChildren(
                h('section', { 'data-sum': path.sum }, h('p', {}, `${state.path === 'all' ? 'The recording' : `Step ${state.path}`} takes `, h('strong', {}, duration(path.sum)), ', which is spent on:'), chainList(app, path)),
                command(`rankscope blame --path ${state.path} ${app.job.paths.map(({ path: at }) => shell(at)).join(' ')}`),
            );
        } catch (error) {
            app.setPath(null);
            place.replaceChildren(refusal(error));
        }
    }
    if (state.path) load();
    return h('div', {}, h('p', { class: 'row' }, h('label', {}, 'Path of ', chosen)), place);
}

// ---- search and SQL ----------------------------------------------------------------------------------------

export function searchPanel(app, state) {
    const place = h('div', { 'aria-live': 'polite' });
    const field = h('input', { type: 'search', id: 'search', value: state.q ?? '', placeholder: 'Text in the name of an event', 'aria-label': 'Search events', spellcheck: 'false' });
    const regex = h('input', { type: 'checkbox', id: 'regex' });

    async function search() {
        if (!field.value) return;
        place.replaceChildren(h('p', { class: 'aside' }, 'Searching\u2026'));
        try {
            const { hits } = await get('search', { q: field.value, n: 50, regex: regex.checked ? 1 : null });
            const counts = new Map();
            for (const hit of hits) counts.set(hit.rank, (counts.get(hit.rank) ?? 0) + 1);
            place.replaceChildren(
                h('p', { class: 'aside' }, hits.length ? `${hits.length} hits on ${counts.size === 1 ? 'rank' : 'ranks'} ${ranges([...counts.keys()])}, the first 50 of each rank` : 'No event has that name.'),
                h(
                    'ul',
                    { class: 'hits' },
                    hits.slice(0, 300).map((hit) =>
                        h(
                            'li',
                            {},
                            h(
                                'button',
                                { type: 'button', onclick: () => app.openEvent(hit.rank, { id: hit.position, from: Math.round(hit.ts_us * 1000), to: Math.round((hit.ts_us + hit.dur_us) * 1000) }) },
                                h('span', { class: 'what' }, h('bdi', {}, visible(hit.name))),
                                h('span', { class: 'where' }, `rank ${hit.rank} \u00b7 ${(hit.ts_us / 1000).toFixed(3)}\u202fms`),
                            ),
                        ),
                    ),
                ),
            );
        } catch (error) {
            place.replaceChildren(refusal(error));
        }
    }
    if (state.q) search();
    return h(
        'div',
        {},
        h(
            'form',
            {
                class: 'row',
                onsubmit: (event) => {
                    event.preventDefault();
                    app.store.move({ q: field.value });
                    search();
                },
            },
            field,
            h('button', { type: 'submit' }, 'Search'),
        ),
        h('p', { class: 'aside' }, regex, h('label', { for: 'regex' }, ' regular expression')),
        place,
    );
}

export function sqlPanel(app) {
    const place = h('div', { 'aria-live': 'polite' });
    const field = h('textarea', { 'aria-label': 'SQL', spellcheck: 'false' });
    field.value = 'SELECT rank, name, ts_us, dur_us FROM events\nWHERE category = \'kernel\' ORDER BY dur_us DESC LIMIT 20';

    async function run() {
        place.replaceChildren(h('p', { class: 'aside' }, 'Running\u2026'));
        try {
            const answer = await post('sql', field.value);
            const rows = Object.values(answer.tables)[0] ?? [];
            const jumps = rows.length && 'rank' in rows[0] && 'ts_us' in rows[0];
            place.replaceChildren(
                rows.length ? makeTable(tableOf(rows), { caption: 'Rows of the query', page: 20 }) : h('p', { class: 'aside' }, 'No rows.'),
                jumps
                    ? h(
                          'ul',
                          { class: 'hits' },
                          rows.slice(0, 20).map((row) =>
                              h('li', {}, h('button', { type: 'button', onclick: () => app.goToHop({ rank: row.rank, from: row.ts_us * 1000, to: (row.ts_us + (row.dur_us ?? 1)) * 1000 }) }, h('span', { class: 'what' }, `Go to rank ${row.rank}`), h('span', { class: 'where' }, `${(row.ts_us / 1000).toFixed(3)}\u202fms`))),
                          ),
                      )
                    : '',
                command(`rankscope sql ${shell(field.value.replaceAll('\n', ' '))} ${app.job.paths.map(({ path }) => shell(path)).join(' ')}`),
            );
        } catch (error) {
            place.replaceChildren(refusal(error));
        }
    }
    return h(
        'div',
        {},
        h('form', { onsubmit: (event) => { event.preventDefault(); run(); } }, field, h('p', { class: 'row' }, h('button', { type: 'submit' }, 'Run'))),
        place,
    );
}
