// Rank by rank: who waits (down) for whom (across), as colour.
import { h } from '../dom.js';
import { colours, onTheme } from '../theme.js';

const LEFT = 62;
const TOP = 34;

const mix = (from, to, share) => from.map((v, i) => Math.round(v + (to[i] - v) * share));
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

// The ink of a share of the greatest value, along the theme's steps.
function heat(share) {
    const steps = colours().heat.map(rgb);
    const at = Math.min(0.9999, Math.max(0, share)) * (steps.length - 1);
    return mix(steps[Math.floor(at)], steps[Math.ceil(at)] ?? steps[steps.length - 1], at % 1);
}

// cells: [{from, to, value}]; ranks: all, ascending. options: label, down, across (axis titles), brief(value), format(cell), onPick(cell), side (pixels at
// most)
export function matrix(cells, ranks, options) {
    const canvas = h('canvas', { class: 'matrix', role: 'img', tabindex: '0', 'aria-label': options.label });
    const facts = h('p', { class: 'aside matrix-facts', role: 'status' });
    const element = h('div', { class: 'matrixbox' }, canvas, facts);
    const place = new Map(ranks.map((rank, i) => [rank, i]));
    const most = Math.max(1, ...cells.map((cell) => cell.value));
    let size = 1;
    let width = 0;

    function draw() {
        width = element.clientWidth;
        if (!width) return;
        const room = Math.min(width - LEFT - 4, options.side ?? 420);
        size = Math.max(1, Math.min(60, Math.floor(room / ranks.length)));
        const step = Math.max(1, Math.ceil(ranks.length / room)); // ranks a cell, where there are more than pixels
        const side = Math.ceil(ranks.length / step) * size;
        const ratio = devicePixelRatio || 1;
        canvas.width = Math.round((LEFT + side + 2) * ratio);
        canvas.height = Math.round((TOP + side + 2) * ratio);
        canvas.style.width = `${LEFT + side + 2}px`;
        canvas.style.height = `${TOP + side + 2}px`;
        canvas.dataset.step = String(step);
        const context = canvas.getContext('2d');
        const theme = colours();
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.fillStyle = `rgb(${heat(0)})`;
        context.fillRect(LEFT, TOP, side, side);
        const shown = new Map();
        for (const cell of cells) {
            const key = Math.floor(place.get(cell.to) / step) * 65536 + Math.floor(place.get(cell.from) / step);
            shown.set(key, Math.max(shown.get(key) ?? 0, cell.value));
        }
        for (const [key, value] of shown) {
            context.fillStyle = `rgb(${heat(0.12 + 0.88 * (value / most))})`;
            context.fillRect(LEFT + Math.floor(key / 65536) * size, TOP + (key % 65536) * size, size - (size > 4 ? 1 : 0), size - (size > 4 ? 1 : 0));
        }
        if (size >= 44)
            for (const cell of cells) {
                const share = cell.value / most;
                context.font = '11px system-ui, "DejaVu Sans", sans-serif';
                context.textAlign = 'center';
                context.textBaseline = 'middle';
                context.fillStyle = share > 0.45 === (theme.surface === '#ffffff') ? '#ffffff' : '#1d2430';
                context.fillText(options.brief(cell.value), LEFT + (place.get(cell.to) + 0.5) * size, TOP + (place.get(cell.from) + 0.5) * size);
            }
        context.fillStyle = theme.muted;
        context.font = '11px system-ui, "DejaVu Sans", sans-serif';
        context.textBaseline = 'middle';
        const every = Math.max(1, Math.ceil(22 / size));
        for (let i = 0; i * step < ranks.length; i += every) {
            const rank = ranks[i * step];
            context.textAlign = 'right';
            context.fillText(ranks.length <= 16 ? `rank ${rank}` : rank, LEFT - 6, TOP + (i + 0.5) * size);
            context.textAlign = 'center';
            context.fillText(rank, LEFT + (i + 0.5) * size, TOP - 8);
        }
        context.textAlign = 'left';
        context.fillText(options.across, LEFT, 8);
        context.save();
        context.translate(8, TOP + side);
        context.rotate(-Math.PI / 2);
        context.fillText(options.down, 0, 0);
        context.restore();
    }

    const by = new Map(cells.map((cell) => [`${cell.from} ${cell.to}`, cell]));
    const at = (event) => {
        const frame = canvas.getBoundingClientRect();
        const step = Number(canvas.dataset.step);
        const [column, row] = [Math.floor((event.clientX - frame.left - LEFT) / size), Math.floor((event.clientY - frame.top - TOP) / size)];
        const [from, to] = [ranks[row * step], ranks[column * step]];
        return from === undefined || to === undefined || row < 0 || column < 0 ? null : (by.get(`${from} ${to}`) ?? { from, to, value: 0 });
    };
    const say = (cell) => {
        facts.textContent = cell ? options.format(cell) : '\u00a0';
    };
    canvas.addEventListener('pointermove', (event) => say(at(event)));
    canvas.addEventListener('click', (event) => {
        const cell = at(event);
        if (cell) options.onPick?.(cell);
    });
    onTheme(draw);
    new ResizeObserver(() => element.clientWidth !== width && draw()).observe(element);
    say([...cells].sort((a, b) => b.value - a.value)[0] ?? null);
    return element;
}
