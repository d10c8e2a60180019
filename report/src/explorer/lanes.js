// One rank: its streams and threads, events as boxes in rows of nesting.
import { get } from './api.js';
import { LEFT } from './map.js';
import { colourOf, laneColour } from './classes.js';
import { colours } from '../theme.js';
import { visible } from '../dom.js';
import { fixed, quantity } from '../format.js';

const ROW = 17;
const HEAD = 20;
const CURVE = 30; // pixels that the greatest value of a counter takes

const amount = (value, unit) => (unit === 'bytes' ? quantity(value, 'bytes', 'int') : `${fixed(value, value % 1 ? 2 : 0)}\u202f${unit}`);

export class LanesView {
    constructor(host, options) {
        this.options = options;
        this.host = host;
        this.canvas = document.createElement('canvas');
        this.canvas.className = 'lanes';
        this.canvas.setAttribute('role', 'img');
        this.canvas.setAttribute('aria-label', 'Threads and streams of the rank');
        this.spacer = document.createElement('div');
        host.append(this.spacer);
        this.spacer.append(this.canvas);
        host.addEventListener('scroll', () => this.draw());
        this.rank = null;
        this.data = null;
        this.marks = {};
        this.counters = null;
        this.curves = [];
    }

    resize(width, height) {
        this.width = width;
        this.height = height;
        this.ratio = devicePixelRatio || 1;
        this.canvas.width = Math.round(width * this.ratio);
        this.canvas.height = Math.round(height * this.ratio);
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
        this.draw();
        this.fetch();
    }

    // What is shown has changed at the server.
    refresh() {
        this.wanted = null;
        this.fetch();
    }

    show(rank, view) {
        if (rank !== this.rank) this.data = null;
        this.rank = rank;
        this.view = view;
        this.draw();
        this.fetch();
    }

    xOf(ns) {
        return LEFT + ((ns - this.view.from) / (this.view.to - this.view.from)) * (this.width - LEFT);
    }

    async fetch() {
        if (this.rank === null || !this.view || !this.width) return;
        const from = Math.max(0, Math.floor(this.view.from));
        const to = Math.max(from + 1, Math.ceil(this.view.to));
        const width = Math.max(1, Math.round((this.width - LEFT) / 2));
        const wanted = `${this.rank} ${from} ${to} ${width}`;
        if (this.wanted === wanted && (this.data || this.abort)) return;
        this.wanted = wanted;
        this.abort?.abort();
        const abort = new AbortController();
        this.abort = abort;
        try {
            const data = await get('lanes', { rank: this.rank, from, to, width }, abort.signal);
            if (this.wanted !== wanted) return;
            this.abort = null;
            this.data = data;
            this.layOut();
            this.draw();
            this.options.onData?.(data);
            this.fetchCounters({ rank: this.rank, from, to, width }, wanted);
        } catch (error) {
            if (this.abort === abort) this.abort = null;
            if (error.name !== 'AbortError') this.options.onRefusal?.(error);
        }
    }

    // What goes up and down comes after the events: it takes longer the first time.
    async fetchCounters(values, wanted) {
        try {
            const { counters, values: steps } = await get('counters', values);
            if (this.wanted !== wanted) return;
            const seen = counters.map((counter) => ({ ...counter, from: values.from, to: values.to, width: values.width, steps: [] }));
            for (const step of steps) seen[step.counter].steps.push(step);
            this.counters = { rank: values.rank, list: seen.filter((counter) => counter.most > 0) };
            this.layOut();
            this.draw();
        } catch (error) {
            if (this.wanted === wanted) this.options.onRefusal?.(error);
        }
    }

    // Streams first: what the job waits for; then counters, then threads. Rows of a lane are as many as the window shows, with one of its name.
    layOut() {
        const depth = new Map();
        for (const item of this.data.items) depth.set(item.lane, Math.max(depth.get(item.lane) ?? 0, item.depth + 1));
        let y = 0;
        const place = (item, height) => {
            const made = { ...item, y, height };
            y += height + 4;
            return made;
        };
        const placeLanes = (gpu) =>
            this.data.lanes
                .filter((lane) => Boolean(lane.gpu) === gpu)
                .sort((p, q) => p.lane - q.lane)
                .map((lane) => place(lane, HEAD + Math.max(1, depth.get(lane.lane) ?? 0) * ROW));
        this.lanes = placeLanes(true);
        this.curves = (this.counters?.rank === this.rank ? this.counters.list : []).map((counter) => place(counter, HEAD + CURVE));
        this.lanes.push(...placeLanes(false));
        this.byLane = new Map(this.lanes.map((lane) => [lane.lane, lane]));
        this.total = y;
        this.spacer.style.height = `${Math.max(y, this.height)}px`;
    }

    draw() {
        if (!this.width || !this.view) return;
        const begun = performance.now();
        const context = this.canvas.getContext('2d');
        const theme = colours();
        const top = this.host.scrollTop;
        this.canvas.style.transform = `translateY(${top}px)`;
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        context.clearRect(0, 0, this.width, this.height);
        context.font = '11px system-ui, "DejaVu Sans", sans-serif';
        context.textBaseline = 'middle';
        if (!this.data) {
            context.fillStyle = theme.muted;
            context.fillText(this.rank === null ? '' : 'Reading the rank\u2026', LEFT, 20);
            return;
        }
        context.save();
        context.beginPath();
        context.rect(LEFT, 0, this.width - LEFT, this.height);
        context.clip();
        for (const item of this.data.items) this.drawItem(context, theme, item, top);
        for (const curve of this.curves) this.drawCurve(context, theme, curve, top);
        if (this.marks.cursor !== null && this.marks.cursor !== undefined) {
            context.fillStyle = theme.text;
            context.fillRect(Math.round(this.xOf(this.marks.cursor)), 0, 1, this.height);
        }
        context.restore();
        for (const lane of [...this.lanes, ...this.curves.map((curve) => ({ y: curve.y, name: `${curve.name}: at most ${amount(curve.most, curve.unit)}` }))]) this.drawHead(context, theme, lane, top);
        performance.measure('lanes', { start: begun, end: performance.now() });
    }

    drawHead(context, theme, lane, top) {
        const y = lane.y - top;
        if (y > this.height || y + HEAD < 0) return;
        context.fillStyle = theme.line;
        context.fillRect(0, y, this.width, 1);
        context.textAlign = 'left';
        context.fillStyle = theme.text;
        context.font = '600 11px system-ui, "DejaVu Sans", sans-serif';
        context.fillText(visible(lane.name), 8, y + HEAD / 2 + 1);
        context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    }

    drawCurve(context, theme, curve, top) {
        const y = curve.y + HEAD - top;
        if (y > this.height || y + CURVE < 0) return;
        const column = (curve.to - curve.from) / curve.width;
        context.fillStyle = laneColour('communication');
        curve.steps.forEach((step, i) => {
            const until = i + 1 < curve.steps.length ? curve.steps[i + 1].column : curve.width;
            const x = this.xOf(curve.from + step.column * column);
            const tall = (step.value / curve.most) * CURVE;
            context.fillRect(x, y + CURVE - tall, Math.max(1, this.xOf(curve.from + until * column) - x), tall);
        });
    }

    // The counter at a point of the canvas, with its value there.
    counterAt(x, y) {
        if (!this.data || x < LEFT) return null;
        const curve = this.curves.find((c) => y + this.host.scrollTop >= c.y && y + this.host.scrollTop < c.y + c.height);
        if (!curve) return null;
        const ns = this.view.from + ((x - LEFT) / (this.width - LEFT)) * (this.view.to - this.view.from);
        const column = Math.floor(((ns - curve.from) / (curve.to - curve.from)) * curve.width);
        const step = curve.steps.filter((s) => s.column <= column).pop();
        return step ? { name: curve.name, text: amount(step.value, curve.unit) } : null;
    }

    boxOf(item) {
        const lane = this.byLane.get(item.lane);
        const x = this.xOf(item.from);
        return { x, y: lane.y + HEAD + item.depth * ROW, width: Math.max(1, this.xOf(item.to) - x), height: ROW - 1 };
    }

    drawItem(context, theme, item, top) {
        const box = this.boxOf(item);
        const y = box.y - top;
        if (y > this.height || y + ROW < 0 || box.x > this.width || box.x + box.width < LEFT) return;
        const left = Math.max(LEFT, box.x);
        const width = Math.max(1, Math.min(this.width, box.x + box.width) - left);
        context.globalAlpha = item.count > 1 ? 0.35 + 0.65 * Math.min(1, item.busy / Math.max(1, item.to - item.from)) : 1;
        context.fillStyle = laneColour(item.class);
        context.fillRect(left, y, width > 3 ? width - 0.5 : width, box.height);
        context.globalAlpha = 1;
        if (item.wait > 0) this.drawWait(context, box.x, Math.min(box.x + box.width, this.xOf(item.from + item.wait)), y, box.height);
        if (item.id === this.marks.event && item.count === 1) {
            context.strokeStyle = theme.text;
            context.lineWidth = 2;
            context.strokeRect(left + 1, y + 1, Math.max(1, width - 2), box.height - 2);
        }
        if (width < 28) return;
        const text = item.count > 1 ? `${item.count} events` : visible(item.name);
        context.fillStyle = theme.text;
        context.textAlign = 'left';
        context.save();
        context.beginPath();
        context.rect(left, y, width - 3, box.height);
        context.clip();
        context.fillText(text.slice(0, 160), left + 4, y + box.height / 2 + 0.5);
        context.restore();
    }

    // The part of communication in which the rank waits for others: pale, with strokes.
    drawWait(context, from, to, y, height) {
        const left = Math.max(LEFT, from);
        const right = Math.min(this.width, to);
        if (right - left < 1) return;
        context.fillStyle = colourOf('exposed_wait');
        context.fillRect(left, y, right - left, height);
        context.save();
        context.beginPath();
        context.rect(left, y, right - left, height);
        context.clip();
        context.strokeStyle = colourOf('exposed_comm');
        context.lineWidth = 1;
        context.beginPath();
        for (let x = left - height - ((left - from) % 7); x < right; x += 7) {
            context.moveTo(x, y + height);
            context.lineTo(x + height, y);
        }
        context.stroke();
        context.restore();
    }

    // The item at a point of the canvas.
    at(x, y) {
        if (!this.data || x < LEFT) return null;
        const top = this.host.scrollTop;
        let best = null;
        for (const item of this.data.items) {
            const box = this.boxOf(item);
            if (y + top < box.y || y + top >= box.y + ROW || x < box.x - 1 || x > box.x + box.width + 1) continue;
            if (!best || item.to - item.from < best.to - best.from) best = item;
        }
        return best;
    }
}
