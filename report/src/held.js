// Who holds the GPU's memory, as pictures: sites over time, the device's addresses at one moment, and stacks by what they hold.
import { flameGraph } from './explorer/flame.js';
import { h, name, plural, visible } from './dom.js';
import { axisUnit, fixed, quantity, time } from './format.js';
import { colours, isDark, onTheme } from './theme.js';

const FONT = '11px system-ui, "DejaVu Sans", sans-serif';
const MOST_SERIES = 9;
const LEFT = 66;
const BELOW = 20;
const bytesText = (value) => quantity(value, 'bytes', 'int');

// Lightness differs from one to the next.
const INKS = {
    light: ['#1f68ad', '#f0b45a', '#59b894', '#b0407f', '#9fc9ea', '#7d6bb2', '#d8722c', '#2f7d63', '#e6a3c6', '#8b94a1'],
    dark: ['#3f93dd', '#b87a24', '#5cc9a2', '#c9609a', '#27557f', '#9a8be0', '#e8a23a', '#2c7a5e', '#7d3c62', '#76808f'],
};
const OTHERS = 9;
const inkOf = (place) => INKS[isDark() ? 'dark' : 'light'][place];

// The largest first; what is left shares the last colour.
function placesOf(layers) {
    const most = new Map();
    for (const row of layers) most.set(row.site, Math.max(most.get(row.site) ?? 0, row.bytes));
    const names = [...most].sort((a, b) => b[1] - a[1]).map(([site]) => site);
    return new Map(names.slice(0, MOST_SERIES).map((site, i) => [site, i]));
}

// Rows of `memory --layers`, put together by instant.
function shotsOf(layers, places) {
    const shots = new Map();
    for (const row of layers) {
        let shot = shots.get(row.instant);
        if (!shot) {
            shot = { instant: row.instant, us: row.time_us, active: row.active_bytes, reserved: row.reserved_bytes, parts: new Array(OTHERS + 1).fill(0) };
            shots.set(row.instant, shot);
        }
        const place = places.get(row.site);
        if (place !== undefined) shot.parts[place] += row.bytes;
    }
    const all = [...shots.values()].sort((a, b) => a.instant - b.instant);
    for (const shot of all) shot.parts[OTHERS] = Math.max(0, shot.active - shot.parts.reduce((a, b) => a + b, 0));
    return all;
}

// A canvas that draws itself again when its width or the theme changes. draw(context, width)
function picture(label, kind, height, draw) {
    const canvas = h('canvas', { class: `held ${kind}`, role: 'img', tabindex: '0', 'aria-label': label });
    const element = h('div', { class: 'heldbox' }, canvas);
    let width = 0;
    element.redraw = () => {
        width = element.clientWidth;
        if (!width) return;
        const begun = performance.now();
        const ratio = devicePixelRatio || 1;
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
        const context = canvas.getContext('2d');
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.clearRect(0, 0, width, height);
        context.font = FONT;
        draw(context, width);
        performance.measure(kind, { start: begun, end: performance.now() });
    };
    element.canvas = canvas;
    element.point = (event) => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    };
    onTheme(element.redraw);
    new ResizeObserver(() => element.clientWidth !== width && element.redraw()).observe(element);
    return element;
}

// ---- over time -----------------------------------------------------------------------------------------------

// Stacked steps. options: at (us of the moment that is looked at), onPick(us)
function areaChart(layers, places, options) {
    const shots = shotsOf(layers, places);
    const timed = shots.every((shot) => shot.us !== null);
    const xs = shots.map((shot) => (timed ? shot.us : shot.instant));
    const [first, last] = [xs[0], xs[xs.length - 1]];
    const most = Math.max(1, ...shots.map((shot) => Math.max(shot.active, shot.reserved)));
    const height = 210;
    const facts = h('p', { class: 'aside held-facts', role: 'status' });
    const xOf = (value, width) => LEFT + ((value - first) / Math.max(1e-9, last - first)) * (width - LEFT - 8);
    const yOf = (bytes) => height - BELOW - (bytes / most) * (height - BELOW - 10);
    const names = [...places.keys()];
    const fullest = shots.reduce((a, b) => (b.active > a.active ? b : a));
    const moment = (shot) => (timed ? time(shot.us) : `event ${shot.instant}`);

    const element = picture(
        `Stacked area: active bytes over time by ${plural(names.length, 'site')}, at most ${bytesText(fullest.active)} at ${moment(fullest)}`,
        'area',
        height,
        (context, width) => {
            const theme = colours();
            const { scale, label } = axisUnit('bytes', [most]);
            context.fillStyle = theme.muted;
            context.textAlign = 'right';
            context.textBaseline = 'middle';
            const rough = most / scale / 4;
            const power = 10 ** Math.floor(Math.log10(rough));
            const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough);
            for (let value = 0; value <= most / scale; value += step) {
                context.fillText(`${fixed(value, step < 1 ? 1 : 0)} ${label}`, LEFT - 6, yOf(value * scale));
                context.fillRect(LEFT, Math.round(yOf(value * scale)), width - LEFT - 8, 0.4);
            }
            context.textAlign = 'left';
            context.fillText(timed ? time(first) : 'first event', LEFT, height - 8);
            context.textAlign = 'right';
            context.fillText(timed ? time(last) : 'last event', width - 8, height - 8);
            shots.forEach((shot, i) => {
                const x = Math.round(xOf(xs[i], width));
                const wide = Math.max(1, Math.round(i + 1 < shots.length ? xOf(xs[i + 1], width) : width - 8) - x);
                let below = 0;
                shot.parts.forEach((bytes, place) => {
                    if (!bytes) return;
                    context.fillStyle = inkOf(place);
                    context.fillRect(x, yOf(below + bytes), wide, yOf(below) - yOf(below + bytes));
                    below += bytes;
                });
            });
            context.strokeStyle = theme.text;
            context.lineWidth = 1;
            context.setLineDash([3, 2]);
            context.beginPath();
            shots.forEach((shot, i) => {
                context.lineTo(xOf(xs[i], width), yOf(shot.reserved));
                context.lineTo(i + 1 < shots.length ? xOf(xs[i + 1], width) : width - 8, yOf(shot.reserved));
            });
            context.stroke();
            context.setLineDash([]);
            context.fillStyle = theme.text;
            const at = options.at === 'peak' ? xs[shots.indexOf(fullest)] : options.at === 'end' ? last : timed ? options.at : null;
            if (at !== null) context.fillRect(Math.min(width - 9, xOf(at, width)), 4, 1.5, height - BELOW - 4);
        },
    );

    // The last shot that is not right of the pointer.
    const shotAt = (x) => {
        const { width } = element.canvas.getBoundingClientRect();
        let found = 0;
        while (found + 1 < shots.length && xOf(xs[found + 1], width) <= x) found += 1;
        return shots[found];
    };
    const say = (shot, place) =>
        facts.replaceChildren(
            h('strong', {}, moment(shot)),
            ` ${bytesText(shot.active)} active, ${bytesText(shot.reserved)} reserved`,
            place >= 0 ? ' \u00b7 ' : '',
            place >= 0 ? h('bdi', {}, visible(names[place] ?? 'others').slice(0, 200)) : '',
            place >= 0 ? ` ${bytesText(shot.parts[place])}` : '',
        );
    element.canvas.addEventListener('pointermove', (event) => {
        const [x, y] = element.point(event);
        const shot = shotAt(x);
        let below = 0;
        const place = shot.parts.findIndex((bytes) => {
            below += bytes;
            return bytes > 0 && y >= yOf(below);
        });
        say(shot, y < height - BELOW ? place : -1);
    });
    let focus = shots.indexOf(fullest);
    element.canvas.addEventListener('keydown', (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (by) focus = Math.max(0, Math.min(shots.length - 1, focus + by));
        else if (event.key !== 'Enter' || !timed) return;
        event.preventDefault();
        event.stopPropagation();
        say(shots[focus], -1);
        if (!by) options.onPick?.(shots[focus].us);
    });
    if (options.onPick && timed) element.canvas.addEventListener('click', (event) => options.onPick(shotAt(element.point(event)[0]).us));
    say(fullest, -1);
    const legend = h(
        'ul',
        { class: 'legend' },
        [...names, ...(shots.some((shot) => shot.parts[OTHERS] > 0) ? [null] : [])].map((site, i) => h('li', {}, h('i', { 'data-place': site === null ? OTHERS : i, 'aria-hidden': 'true' }), site === null ? 'others' : name(site))),
        h('li', {}, h('i', { class: 'dashed', 'aria-hidden': 'true' }), 'reserved'),
    );
    paintLegend(legend);
    element.dataset.most = String(fullest.active);
    element.prepend(facts);
    element.append(legend);
    return element;
}

function paintLegend(legend) {
    const paint = () => {
        for (const mark of legend.querySelectorAll('i[data-place]')) mark.style.background = inkOf(Number(mark.dataset.place));
    };
    onTheme(paint);
    paint();
}

// ---- addresses -----------------------------------------------------------------------------------------------

const ROWS = 16;
const TALL = 14;

// The device's addresses one after the other in lines of equal length; what is not coloured is free. placeOf(block): its colour.
function blockMap(layout, blocks, placeOf) {
    const starts = [];
    let total = 0;
    const stretches = layout
        .map((row) => ({ ...row, from: BigInt(row.address) }))
        .sort((a, b) => (a.from < b.from ? -1 : 1));
    for (const row of stretches) {
        starts.push(total);
        total += row.bytes;
    }
    const find = (address) => {
        let [low, high] = [0, stretches.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            if (stretches[middle].from <= address) low = middle + 1;
            else high = middle;
        }
        return low - 1;
    };
    const placed = [];
    for (const block of blocks) {
        const address = BigInt(block.address);
        const at = find(address);
        if (at < 0 || address >= stretches[at].from + BigInt(stretches[at].bytes)) continue;
        placed.push({ ...block, from: starts[at] + Number(address - stretches[at].from) });
    }
    placed.sort((a, b) => a.from - b.from);
    const line = Math.max(1, total / ROWS);
    const facts = h('p', { class: 'aside held-facts', role: 'status' });
    const active = placed.reduce((sum, block) => sum + block.bytes, 0);
    const whole = `${bytesText(total)} taken from the device in ${plural(stretches.length, 'stretch', 'stretches')}, ${bytesText(active)} of it in ${plural(placed.length, 'block')}`;
    facts.textContent = whole;
    const element = picture(`Map of the device's addresses: ${whole}`, 'blocks', ROWS * TALL, (context, width) => {
        const theme = colours();
        // parts of [from, to) by line
        const each = (from, to, paint) => {
            for (let row = Math.floor(from / line); row < ROWS && row * line < to; row += 1) {
                const a = Math.max(from, row * line) - row * line;
                const b = Math.min(to, (row + 1) * line) - row * line;
                if (b > a) paint((a / line) * width, row * TALL, ((b - a) / line) * width);
            }
        };
        context.fillStyle = theme.idle;
        each(0, total, (x, y, wide) => context.fillRect(x, y + 1, wide, TALL - 2));
        for (const block of placed) {
            context.fillStyle = inkOf(placeOf(block));
            each(block.from, block.from + block.bytes, (x, y, wide) => context.fillRect(x, y + 1, wide > 3 ? wide - 0.6 : wide, TALL - 2));
        }
        context.fillStyle = theme.text;
        for (const start of starts) context.fillRect(((start % line) / line) * width, Math.floor(start / line) * TALL, 1, TALL);
    });
    const at = (event) => {
        const [x, y] = element.point(event);
        const byte = (Math.floor(y / TALL) + x / element.canvas.clientWidth) * line;
        let [low, high] = [0, placed.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            if (placed[middle].from <= byte) low = middle + 1;
            else high = middle;
        }
        const block = placed[low - 1];
        return block && byte < block.from + Math.max(block.bytes, line / element.canvas.clientWidth) ? block : null;
    };
    element.canvas.addEventListener('pointermove', (event) => {
        const block = at(event);
        if (!block) {
            facts.textContent = whole;
            return;
        }
        facts.replaceChildren(
            h('strong', {}, bytesText(block.bytes)),
            ` at ${block.address}, ${block.category} (${block.doubt}), ${block.state}, `,
            h('bdi', {}, visible(block.site).slice(0, 200)),
            block.since_us === null ? ', from before the recording' : `, since ${time(block.since_us)}`,
        );
    });
    element.dataset.total = String(total);
    element.dataset.active = String(active);
    element.prepend(facts);
    return element;
}

// ---- stacks --------------------------------------------------------------------------------------------------

// Rows of `memory --by stack` as a tree of frames, outermost first.
export function stackTree(sites) {
    const roots = new Map();
    for (const { site, bytes, blocks } of sites) {
        if (!bytes) continue;
        let level = roots;
        for (const frame of site.split(';')) {
            let node = level.get(frame);
            if (!node) {
                node = { name: frame, kind: /:\d+ /.test(frame) ? 'cpu_op' : 'call', time: 0, count: 0, below: new Map() };
                level.set(frame, node);
            }
            node.time += bytes;
            node.count += blocks;
            level = node.below;
        }
    }
    const list = (level) => [...level.values()].map(({ below, ...node }) => ({ ...node, children: list(below) }));
    return list(roots);
}

const stackFlame = (sites, noun) =>
    flameGraph(stackTree(sites), { label: `Flame graph of ${noun} by stack of the allocation`, noun, format: bytesText, counted: 'blocks' });

// layers, layout, blocks, stacks: rows of the tables layers, layout, peak (these two at the moment of `at`), sites by stack.
// options: at, when (words for it), byCategory, onPick(us)
export function heldPictures({ layers, layout, blocks, stacks }, options) {
    const places = placesOf(layers);
    const own = (block) => places.get(options.byCategory ? block.category : block.site) ?? OTHERS;
    return {
        area: layers.length ? areaChart(layers, places, options) : null,
        blocks: layout.length ? blockMap(layout, blocks, own) : null,
        flame: stacks.some((row) => row.bytes > 0) ? stackFlame(stacks, `what is active ${options.when}`) : null,
    };
}
