// A flame graph: paths of names, the outermost on top; width is time, or what else adds up. A click makes a box the whole, Esc or a click on what holds it goes back.
import { duration } from './axis.js';
import { laneColour } from './classes.js';
import { h, visible } from '../dom.js';
import { colours, onTheme } from '../theme.js';

const ROW = 20;
const LEAST = 0.4; // pixels

// roots: [{name, kind, time, count, children}], times in ns. options: label (for a screen reader), noun (what the whole is), format(time) and
// counted ("times") where it is no time
export function flameGraph(roots, options) {
    const canvas = h('canvas', { class: 'flame', role: 'img', tabindex: '0', 'aria-label': options.label });
    const facts = h('p', { class: 'aside flame-facts', role: 'status' });
    const element = h('div', { class: 'flamebox' }, facts, canvas);
    const { format = duration, counted = 'times' } = options;
    const total = roots.reduce((sum, node) => sum + node.time, 0);
    const whole = { name: options.noun, kind: 'other', time: total, count: 1, children: roots, parent: null };
    const join = (node) => {
        node.children.sort((a, b) => b.time - a.time);
        for (const child of node.children) {
            child.parent = node;
            join(child);
        }
    };
    join(whole);
    let focus = whole;
    let boxes = [];
    let width = 0;

    const kinds = { cpu_op: 'operator', user_annotation: 'annotation', python_function: 'python', kernel: 'computation', gpu_memcpy: 'memory', gpu_memset: 'memory', cuda_runtime: 'call', cuda_driver: 'call', nn_module: 'annotation' };
    const inkOf = (node) => laneColour(/^nccl/i.test(node.name) && node.kind === 'kernel' ? 'communication' : kinds[node.kind] ?? node.kind);

    function say(node) {
        facts.replaceChildren(
            h('strong', {}, h('bdi', {}, visible(node.name).slice(0, 300))),
            ` ${format(node.time)}, ${((100 * node.time) / Math.max(1, total)).toFixed(1)}\u202f% of ${options.noun}${node.count > 1 ? `, ${node.count.toLocaleString('en')} ${counted}` : ''}`,
        );
    }

    function layOut() {
        boxes = [];
        const above = [];
        for (let node = focus; node; node = node.parent) above.unshift(node);
        above.forEach((node, depth) => boxes.push({ node, x: 0, width, depth }));
        // work below two calls may overlap in time: then their sum is more than what holds them
        let deepest = above.length;
        const place = (node, x, room, depth) => {
            let at = x;
            const sum = Math.max(node.time, node.children.reduce((all, child) => all + child.time, 0));
            for (const child of node.children) {
                const wide = (child.time / sum) * room;
                if (wide < LEAST) break; // the longest come first
                boxes.push({ node: child, x: at, width: wide, depth });
                deepest = Math.max(deepest, depth + 1);
                place(child, at, wide, depth + 1);
                at += wide;
            }
        };
        if (focus.time > 0) place(focus, 0, width, above.length);
        return deepest;
    }

    function draw() {
        width = element.clientWidth;
        if (!width) return;
        const begun = performance.now();
        const height = layOut() * ROW;
        const ratio = devicePixelRatio || 1;
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.height = `${height}px`;
        const context = canvas.getContext('2d');
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.clearRect(0, 0, width, height);
        context.font = '11px system-ui, "DejaVu Sans", sans-serif';
        context.textBaseline = 'middle';
        const theme = colours();
        const focused = boxes.find((box) => box.node === focus).depth;
        for (const box of boxes) {
            const y = box.depth * ROW;
            context.globalAlpha = box.depth < focused ? 0.55 : 1;
            context.fillStyle = box.node === whole ? theme.line : inkOf(box.node);
            context.fillRect(box.x, y, Math.max(0.5, box.width - (box.width > 3 ? 1 : 0)), ROW - 1);
            if (box.width < 30) continue;
            context.save();
            context.beginPath();
            context.rect(box.x, y, box.width - 4, ROW);
            context.clip();
            context.globalAlpha = 1;
            context.fillStyle = theme.text;
            context.fillText(visible(box.node.name).slice(0, 200), box.x + 5, y + ROW / 2);
            context.restore();
        }
        context.globalAlpha = 1;
        performance.measure('flame', { start: begun, end: performance.now() });
    }

    const at = (event) => {
        const frame = canvas.getBoundingClientRect();
        const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
        return boxes.find((box) => x >= box.x && x < box.x + box.width && y >= box.depth * ROW && y < (box.depth + 1) * ROW)?.node ?? null;
    };
    function go(node) {
        focus = node;
        say(node);
        draw();
    }
    canvas.addEventListener('pointermove', (event) => say(at(event) ?? focus));
    canvas.addEventListener('click', (event) => {
        const node = at(event);
        if (node) go(node);
    });
    canvas.addEventListener('keydown', (event) => {
        const among = focus.parent?.children ?? [];
        const place = among.indexOf(focus);
        const next = { Escape: whole, ArrowUp: focus.parent, ArrowDown: focus.children[0], ArrowRight: among[place + 1], ArrowLeft: among[place - 1] }[event.key];
        if (!next || (event.key === 'Escape' && focus === whole)) return;
        event.preventDefault();
        event.stopPropagation();
        go(next);
    });
    onTheme(draw);
    new ResizeObserver(() => element.clientWidth !== width && draw()).observe(element);
    say(whole);
    element.dataset.total = String(Math.round(total));
    return element;
}

// The roots of rows of `tree --across`: {node, parent, name, kind, count, gpu_us, host_us}. Of jobs without GPU work it is host time.
export function callPaths(rows) {
    const gpu = rows.some((row) => row.gpu_us > 0);
    const nodes = new Map(rows.map((row) => [row.node, { ...row, time: Math.round(((gpu ? row.gpu_us : row.host_us) ?? 0) * 1000), children: [] }]));
    const roots = [];
    for (const node of nodes.values()) if (node.time > 0) (node.parent === null ? roots : (nodes.get(node.parent)?.children ?? [])).push(node);
    return { gpu, roots };
}
