// The job on one picture: the explorer's map without a server, the critical path, who waits for whom, and where host and GPU time go by call path.
import { duration } from './explorer/axis.js';
import { colourOf, LABELS } from './explorer/classes.js';
import { callPaths, flameGraph } from './explorer/flame.js';
import { LEFT, MapView } from './explorer/map.js';
import { matrix } from './explorer/matrix.js';
import { h, plural } from './dom.js';
import { percent, time } from './format.js';
import { figure, noteList, section } from './parts.js';
import { foldedTable } from './table.js';
import { onTheme } from './theme.js';

async function unpack(text) {
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

// What the server would answer: columns of a window as means of the recorded ones; of rows that are pooled the one that computes least like the mean.
function sourceOf(map, bytes) {
    const k = map.classes.length;
    const column = map.to / map.width;
    const own = map.classes.map((c) => c === 'compute' || c === 'operators');
    const ownTime = map.ranks.map((_, i) => {
        let sum = 0;
        for (let at = i * map.width * k; at < (i + 1) * map.width * k; at += 1) if (own[at % k]) sum += bytes[at];
        return sum;
    });
    const mean = ownTime.reduce((a, b) => a + b, 0) / ownTime.length;
    return async ({ from, to, width, rows }) => {
        const together = Math.ceil(map.ranks.length / Math.max(1, rows));
        const shown = [];
        for (let i = 0; i < map.ranks.length; i += together) {
            const group = [...Array(Math.min(together, map.ranks.length - i)).keys()].map((d) => i + d);
            shown.push(group.reduce((a, b) => (Math.abs(ownTime[b] - mean) > Math.abs(ownTime[a] - mean) ? b : a)));
        }
        const wide = Math.max(1, Math.min(width, Math.ceil((to - from) / column)));
        const data = new Uint8Array(shown.length * wide * k);
        for (let c = 0; c < wide; c += 1) {
            const first = Math.min(map.width - 1, Math.floor((from + ((to - from) * c) / wide) / column));
            const last = Math.max(first, Math.min(map.width - 1, Math.ceil((from + ((to - from) * (c + 1)) / wide) / column) - 1));
            for (let r = 0; r < shown.length; r += 1)
                for (let j = 0; j < k; j += 1) {
                    let sum = 0;
                    for (let at = first; at <= last; at += 1) sum += bytes[(shown[r] * map.width + at) * k + j];
                    data[(r * wide + c) * k + j] = sum / (last - first + 1);
                }
        }
        return { from, to, width: wide, pooled: together, classes: map.classes, ranks: shown.map((i) => map.ranks[i]), data };
    };
}

// A band a step: from the first rank's start to the next step's.
function bands(table) {
    const starts = new Map();
    const ends = new Map();
    for (const row of table.rows) {
        const [step, start, length] = ['step', 'start_us', 'length_us'].map((c) => table.get(row, c));
        if (start === null || length === null) continue;
        starts.set(step, Math.min(starts.get(step) ?? Infinity, start * 1000));
        ends.set(step, Math.max(ends.get(step) ?? 0, (start + length) * 1000));
    }
    const all = [...starts].map(([step, from]) => ({ step, from })).sort((a, b) => a.from - b.from);
    return all.map((s, i) => ({ ...s, to: i + 1 < all.length ? all[i + 1].from : ends.get(s.step) }));
}

function legend(map) {
    const list = h('ul', { class: 'legend', 'aria-label': 'Colours' });
    const fill = () =>
        list.replaceChildren(
            ...map.classes.map((c) => {
                const mark = h('span', { class: 'ink', 'aria-hidden': 'true' });
                mark.style.background = colourOf(c);
                return h('li', {}, mark, LABELS[c]);
            }),
        );
    fill();
    onTheme(fill);
    return list;
}

const chainOf = (table) =>
    table.rows
        .map((row) => ({ rank: table.get(row, 'rank'), part: table.get(row, 'part'), to: table.get(row, 'end_us') * 1000, ns: table.get(row, 'duration_us') * 1000 }))
        .map((hop) => ({ ...hop, from: hop.to - hop.ns }))
        .sort((a, b) => b.to - a.to);

function mapFigure(data, path) {
    const { map } = data;
    const host = h('div', { class: 'mapbox' });
    const facts = h('p', { class: 'aside map-facts', role: 'status' }, 'Wheel with Ctrl, or + and -, zoom; drag or arrows move; double click shows all.');
    const label = `Map of ${plural(map.ranks.length, 'rank')} over ${duration(map.to)}: what each rank does at each moment`;
    let window_ = { from: 0, to: map.to };
    let view = null;
    const show = (from, to) => {
        const span = Math.max((map.to / map.width) * 8, Math.min(map.to, to - from));
        const start = Math.max(0, Math.min(map.to - span, from));
        window_ = { from: start, to: start + span };
        view.show(window_);
    };
    const zoom = (factor, at = (window_.from + window_.to) / 2) => show(at - (at - window_.from) * factor, at - (at - window_.from) * factor + (window_.to - window_.from) * factor);
    const pan = (share) => show(window_.from + (window_.to - window_.from) * share, window_.to + (window_.to - window_.from) * share);
    const button = (text, name, action) => h('button', { type: 'button', 'aria-label': name, onclick: action }, text);
    const line = path ? h('button', { type: 'button', 'aria-pressed': 'true', onclick: () => toggle() }, 'Critical path') : null;
    const toggle = () => {
        const on = line.getAttribute('aria-pressed') !== 'true';
        line.setAttribute('aria-pressed', String(on));
        view.marks = on ? { path } : {};
        view.draw();
    };
    const tools = h('div', { class: 'maptools' }, button('\u2212', 'Zoom out', () => zoom(2)), button('+', 'Zoom in', () => zoom(0.5)), button('All', 'Show all', () => show(0, map.to)), line);

    async function start() {
        const bytes = await unpack(map.data);
        view = new MapView(host, { source: sourceOf(map, bytes), ranks: map.ranks.length, whatif: null, steps: bands(data.answers.steps.tables.steps), title: label, onRefusal: (error) => { facts.textContent = error.message; } });
        const { canvas } = view;
        canvas.tabIndex = 0;
        if (path) view.marks = { path };
        view.view = window_;
        const fit = () => view.resize(host.clientWidth, Math.max(160, Math.min(560, map.ranks.length * 34 + 60)));
        const point = (event) => {
            const frame = canvas.getBoundingClientRect();
            return [event.clientX - frame.left, event.clientY - frame.top];
        };
        canvas.addEventListener('wheel', (event) => {
            if (!event.ctrlKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return; // the page scrolls
            event.preventDefault();
            if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / 800);
            else zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120), view.nsOf(Math.max(LEFT, point(event)[0])));
        }, { passive: false });
        let drag = null;
        canvas.addEventListener('pointerdown', (event) => {
            canvas.setPointerCapture(event.pointerId);
            drag = { x: point(event)[0], ...window_ };
        });
        canvas.addEventListener('pointerup', () => { drag = null; });
        canvas.addEventListener('pointermove', (event) => {
            const [x, y] = point(event);
            if (drag) {
                const ns = ((x - drag.x) / view.plot) * (drag.to - drag.from);
                if (Math.abs(x - drag.x) > 3) show(drag.from - ns, drag.to - ns);
                return;
            }
            const there = view.at(x, y);
            if (there) facts.textContent = `rank ${there.rank} at ${duration(there.ns)}: ${there.shares.map(([c, share]) => `${LABELS[c].toLowerCase()} ${percent(100 * share)}`).join(', ')}`;
        });
        canvas.addEventListener('dblclick', () => show(0, map.to));
        canvas.addEventListener('keydown', (event) => {
            const action = { '+': () => zoom(0.5), '-': () => zoom(2), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), 0: () => show(0, map.to) }[event.key];
            if (!action) return;
            event.preventDefault();
            action();
        });
        new ResizeObserver(fit).observe(host);
        onTheme(() => {
            view.image = null;
            view.draw();
        });
        fit();
        view.show(window_);
        host.dataset.ready = '1';
    }
    start().catch((error) => {
        facts.textContent = `This browser cannot unpack the map: ${error.message}`;
    });
    return h('figure', { class: 'jobmap' }, h('figcaption', {}, h('span', { class: 'what' }, 'What each rank does at each moment'), tools), legend(map), host, facts);
}

// What the path is spent on, rank by rank and part by part.
function pathLede(path, table) {
    if (!path?.length) return null;
    const sums = new Map();
    for (const hop of path) {
        const key = `rank ${hop.rank}\u2019s ${hop.part.replaceAll('_', ' ')}`;
        sums.set(key, (sums.get(key) ?? 0) + hop.ns);
    }
    const all = path[0].to - path[path.length - 1].from;
    const first = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 3);
    const most = table.total > table.length ? ` (of its ${table.total} links the ${table.length} longest are drawn)` : '';
    return `The critical path, what held up the end back to the begin, is ${first.map(([what, ns]) => `${percent((100 * ns) / all)} ${what}`).join(', ')}${most}.`;
}

export function jobSection(data) {
    if (!data.map) return null;
    const answer = data.answers.path;
    const table = answer?.tables.chain;
    const path = table?.length ? chainOf(table) : null;
    return section('job', 'The job on one picture', pathLede(path, table), mapFigure(data, path), answer && !path ? noteList(answer) : null);
}

// Who waits for whom at collectives.
export function matrixFigure(data) {
    const table = data.answers.collectives.tables.waits;
    if (!table.length) return null;
    const cells = table.rows.map((row) => ({ from: table.get(row, 'rank'), to: table.get(row, 'last_rank'), value: table.get(row, 'wait_us'), count: table.get(row, 'collectives') }));
    const ranks = [...new Set(data.answers.info.tables.ranks.values('rank'))].sort((a, b) => a - b);
    const most = cells.reduce((a, b) => (b.value > a.value ? b : a));
    return figure(
        'Who waits for whom at collectives',
        'for the rank that arrived last, which may itself have been late because of another one',
        matrix(cells, ranks, {
            label: `Matrix: how long each rank (down) waited for each rank (across) to arrive. Most: rank ${most.from} for rank ${most.to}, ${time(most.value)}.`,
            brief: (us) => time(us).replace('\u00a0', ' '),
            down: 'waits',
            across: 'for rank',
            format: (cell) => (cell.value ? `Rank ${cell.from} waits ${time(cell.value)} for rank ${cell.to}, in ${plural(cell.count, 'collective')}` : `Rank ${cell.from} does not wait for rank ${cell.to}`),
        }),
        foldedTable(table, { caption: 'Waits of ranks for ranks', sort: ['wait_us', 'descending'], command: 'rankscope collectives --table waits' }),
    );
}

// Paths of calls of all ranks.
export function flameFigure(data) {
    const table = data.answers.tree?.tables.across;
    if (!table?.length) return null;
    const columns = ['node', 'parent', 'name', 'kind', 'count', 'gpu_us', 'host_us'];
    const { gpu, roots } = callPaths(table.rows.map((row) => Object.fromEntries(columns.map((c) => [c, table.get(row, c)]))));
    const noun = gpu ? 'the GPU work of all ranks' : 'the host time of all ranks';
    return figure(
        gpu ? 'GPU time by call path, all ranks together' : 'Host time by call path, all ranks together',
        'the width of a box is its time; a click makes it the whole, Esc goes back',
        flameGraph(roots, { label: `Flame graph of ${noun} by call path, ${plural(table.length, 'path')}`, noun }),
        foldedTable(table, { caption: 'Paths of calls', sort: [gpu ? 'gpu_us' : 'host_us', 'descending'], command: 'rankscope tree --across --depth 24' }),
    );
}
