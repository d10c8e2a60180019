// Charts: drawn by ECharts when they come into view, again when colours or width change. Each has its numbers
// as a table below it; the drawing itself is one picture to a screen reader.
import { BarChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
    AriaComponent,
    DataZoomComponent,
    GridComponent,
    LegendComponent,
    TooltipComponent,
    VisualMapComponent,
} from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';
import { h, visible } from './dom.js';
import { axisUnit, fixed, quantity } from './format.js';
import { colours, onTheme } from './theme.js';

echarts.use([
    BarChart,
    HeatmapChart,
    LineChart,
    ScatterChart,
    AriaComponent,
    DataZoomComponent,
    GridComponent,
    LegendComponent,
    TooltipComponent,
    VisualMapComponent,
    CanvasRenderer,
    SVGRenderer,
]);

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const MANY_CELLS = 2500; // beyond, a canvas is faster than that many elements
const charts = [];

const inView = new IntersectionObserver(
    (entries) => {
        for (const entry of entries) if (entry.isIntersecting) entry.target.draw();
    },
    { rootMargin: '400px' },
);

const resized = new ResizeObserver((entries) => {
    for (const entry of entries) entry.target.redraw();
});

// make(width) gives ECharts' option. The returned element has redraw().
// onClick: gets the number of the item that was clicked.
export function chart({ label, height, make, cells = 0, onClick = null }) {
    const element = h('div', { class: 'chart', role: 'img', 'aria-label': label });
    element.style.height = `${height}px`;
    let drawing = null;
    let width = 0;
    element.draw = () => {
        if (drawing || !element.clientWidth) return;
        width = element.clientWidth;
        drawing = echarts.init(element, null, { renderer: cells > MANY_CELLS ? 'canvas' : 'svg' });
        drawing.setOption(make(width), true);
        if (onClick) drawing.on('click', (item) => onClick(item.dataIndex));
        inView.unobserve(element);
        resized.observe(element);
    };
    element.redraw = (force = false) => {
        if (!drawing || !element.clientWidth || (!force && element.clientWidth === width)) return;
        width = element.clientWidth;
        drawing.resize();
        drawing.setOption(make(width), true);
    };
    charts.push(element);
    inView.observe(element);
    return element;
}

export function startCharts() {
    onTheme(() => charts.forEach((element) => element.redraw(true)));
    addEventListener('beforeprint', () => charts.forEach((element) => element.draw()));
    // those further down, when there is nothing else to do
    const later = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
    const queue = [...charts];
    const next = () => {
        queue.shift()?.draw();
        if (queue.length) later(next);
    };
    later(next);
}

// Tooltips are elements with text, never markup.
function tip(title, rows) {
    return h(
        'div',
        { class: 'tip' },
        h('strong', {}, h('bdi', {}, visible(title))),
        h(
            'dl',
            {},
            rows.flatMap(([key, value, colour]) => {
                const mark = h('span', { class: 'mark' });
                if (colour) mark.style.background = colour;
                return [h('dt', {}, colour ? mark : null, h('bdi', {}, visible(key))), h('dd', {}, value)];
            }),
        ),
    );
}

function base() {
    const c = colours();
    return {
        animation: false,
        textStyle: { fontFamily: FONT, color: c.text, fontSize: 13 },
        tooltip: {
            appendTo: 'body',
            confine: true,
            backgroundColor: c.surface,
            borderColor: c.line,
            padding: 10,
            textStyle: { color: c.text, fontFamily: FONT, fontSize: 13 },
            extraCssText: 'box-shadow: 0 4px 16px rgb(0 0 0 / .18); border-radius: 8px;',
        },
        legend: {
            top: 0,
            left: 0,
            icon: 'roundRect',
            itemWidth: 12,
            itemHeight: 12,
            itemGap: 16,
            textStyle: { color: c.text, fontFamily: FONT, fontSize: 13 },
            inactiveColor: c.muted,
        },
    };
}

function valueAxis(name) {
    const c = colours();
    return {
        type: 'value',
        name,
        nameTextStyle: { color: c.muted },
        axisLabel: { color: c.muted, formatter: (v) => fixed(v, v % 1 ? 1 : 0) },
        splitLine: { lineStyle: { color: c.line } },
        splitNumber: 4,
    };
}

function categoryAxis(data, name, interval) {
    const c = colours();
    return {
        type: 'category',
        data,
        name,
        nameLocation: 'middle',
        nameGap: 28,
        nameTextStyle: { color: c.muted },
        axisLabel: { color: c.muted, interval, hideOverlap: true },
        axisTick: { show: false },
        axisLine: { lineStyle: { color: c.line } },
        splitArea: { show: false },
    };
}

const ZOOM = 48; // columns; with more a slider zooms into them

function zoom() {
    const c = colours();
    return {
        type: 'slider',
        bottom: 4,
        height: 16,
        moveHandleSize: 0,
        borderColor: c.line,
        fillerColor: `${c.second}55`,
        brushSelect: true,
        showDataShadow: false,
        handleStyle: { color: c.surface, borderColor: c.muted },

        textStyle: { color: c.muted },
    };
}

const FEW = 12; // items that stand as rows; more stand as columns

// Rows that a legend of these names takes: long ones wrap.
function legendRows(names, width) {
    let rows = 1;
    let used = 0;
    for (const name of names) {
        const size = 34 + name.length * 7.4;
        if (used && used + size > width) {
            rows += 1;
            used = 0;
        }
        used += size;
    }
    return rows;
}

// Lines over items in order. series: {name, colour, values (null: none), points, step}; more lines of the tooltip:
// extra(i) -> [[key, value]].
export function lines({ label, items, series, unit, axis, extra }) {
    const known = series.flatMap((s) => s.values.filter((v) => v !== null));
    const { scale, label: unitLabel } = axisUnit(unit, known);
    return chart({
        label,
        height: 360,
        cells: items.length,
        make: () => {
            const c = colours();
            const option = base();
            option.grid = {
                left: 8,
                right: 16,
                top: 40,
                bottom: items.length > ZOOM ? 32 : 8,
                outerBoundsMode: 'same',
                outerBoundsContain: 'all',
            };
            option.xAxis = { ...categoryAxis(items, ''), boundaryGap: items.length < 3 };
            option.yAxis = {
                ...valueAxis(`${axis}${unitLabel ? `, ${unitLabel}` : ''}`),
                nameLocation: 'middle',
                nameGap: 30,
                scale: true, // a change of a percent is not seen from 0
                axisLabel: { color: c.muted },
            };
            if (items.length > ZOOM) option.dataZoom = [zoom()];
            option.tooltip = {
                ...option.tooltip,
                trigger: 'axis',
                formatter: (shown) =>
                    tip(items[shown[0].dataIndex], [
                        ...shown.map((item) => [
                            item.seriesName,
                            quantity(series[item.seriesIndex].values[item.dataIndex], unit),
                            item.color,
                        ]),
                        ...(extra?.(shown[0].dataIndex) ?? []),
                    ]),
            };
            option.series = series.map((s) => ({
                type: 'line',
                name: s.name,
                step: s.step ? 'middle' : false,
                showSymbol: Boolean(s.points),
                symbolSize: 7,
                data: s.values.map((v) => (v === null ? null : v / scale)),
                itemStyle: { color: c[s.colour] },
                lineStyle: { color: c[s.colour], width: s.points ? 1 : 2.5 },
                emphasis: { disabled: true },
            }));
            return option;
        },
    });
}

// Bars over ranks (or what noun says). series: {name, colour (a name of colours()), values, stack}; more lines of
// the tooltip: extra(i) -> [[key, value]].
export function bars({ label, items: ranks, noun = 'rank', series, unit, axis, max, extra }) {
    const wide = ranks.length > FEW;
    const stacked = series.some((s) => s.stack);
    const rows = stacked ? ranks.length : ranks.length * series.length;
    const height = wide ? 340 : 84 + rows * (stacked ? 30 : 20) + (stacked ? 0 : ranks.length * 12);
    const sums = stacked
        ? ranks.map((_, i) => series.reduce((sum, s) => sum + (s.values[i] ?? 0), 0))
        : series.flatMap((s) => s.values);
    const { scale, label: unitLabel } = axisUnit(unit, sums);
    const names = ranks.map((r) => (wide ? `${r}` : `${noun} ${r}`));
    return chart({
        label,
        height,
        make: (width) => {
            const c = colours();
            const option = base();
            const value = { ...valueAxis(''), max: max ? max / scale : null };
            const ranksAxis = { ...categoryAxis(names, wide ? noun : ''), inverse: !wide };
            option.grid = {
                left: wide ? 8 : 8,
                right: 16,
                top:
                    series.length > 1
                        ? 16 +
                          24 *
                              legendRows(
                                  series.map((s) => s.name),
                                  width,
                              )
                        : 16,
                bottom: wide && ranks.length > ZOOM ? 32 : 8,
                outerBoundsMode: 'same',
                outerBoundsContain: 'all',
            };
            value.name = `${axis}${unitLabel ? `, ${unitLabel}` : ''}`;
            value.nameLocation = 'middle';
            value.nameGap = 30;
            option.xAxis = wide ? ranksAxis : value;
            option.yAxis = wide ? value : ranksAxis;
            option.legend.show = series.length > 1;
            if (wide && ranks.length > ZOOM) option.dataZoom = [zoom()];
            option.tooltip = {
                ...option.tooltip,
                trigger: 'axis',
                axisPointer: { type: 'shadow', shadowStyle: { opacity: 0.08, color: c.text } },
                formatter: (items) =>
                    tip(`${noun} ${ranks[items[0].dataIndex]}`, [
                        ...items.map((item) => [
                            item.seriesName,
                            quantity(series[item.seriesIndex].values[item.dataIndex], unit),
                            item.color,
                        ]),
                        ...(extra?.(items[0].dataIndex) ?? []),
                    ]),
            };
            option.series = series.map((s) => ({
                type: 'bar',
                name: s.name,
                stack: s.stack,
                barMaxWidth: wide ? 26 : 18,
                barGap: '10%',
                data: s.values.map((v) => (v === null ? null : v / scale)),
                itemStyle: {
                    color: c[s.colour],
                    borderColor: c.gap,
                    borderWidth: stacked && ranks.length < 60 ? 0.5 : 0,
                },
                emphasis: { disabled: true },
            }));
            return option;
        },
    });
}

// One cell a rank and step. cells: [column, row, value].
export function heatMap({ label, columns, rows, cells, unit, rowName, columnName, extra, digits = 1, onClick = null }) {
    const values = cells.map((cell) => cell[2]);
    const { scale, label: unitLabel } = axisUnit(unit, values);
    const least = Math.min(...values);
    const most = Math.max(...values);
    const cellHeight = rows.length <= 16 ? 28 : rows.length <= 64 ? 12 : Math.max(3, 768 / rows.length);
    return chart({
        label,
        height: Math.round(rows.length * cellHeight) + (columns.length > ZOOM ? 156 : 124),
        cells: cells.length,
        onClick,
        make: (width) => {
            const c = colours();
            const option = base();
            option.legend.show = false;
            option.grid = { left: 8, right: 8, top: 8, bottom: 72, outerBoundsMode: 'same', outerBoundsContain: 'all' };
            option.xAxis = categoryAxis(columns.map(String), columnName);
            option.yAxis = {
                ...categoryAxis(
                    rows.map((r) => (rows.length <= 16 ? `${rowName} ${r}` : `${r}`)),
                    '',
                    Math.max(0, Math.ceil(15 / cellHeight) - 1),
                ),
                inverse: true,
            };
            option.visualMap = {
                type: 'continuous',
                min: least / scale,
                max: most === least ? (most / scale) * 1.001 + 1e-9 : most / scale,
                calculable: true,
                orient: 'horizontal',
                left: 8,
                bottom: 4,
                itemWidth: 14,
                itemHeight: Math.min(240, width - 160),
                precision: 2,
                text: [unitLabel, ''],
                textStyle: { color: c.muted, fontFamily: FONT },
                inRange: { color: c.heat },
                formatter: (v) => fixed(v, v >= 100 ? 0 : v >= 10 ? 1 : 2),
            };
            option.tooltip = {
                ...option.tooltip,
                trigger: 'item',
                formatter: (item) => {
                    const [x, y, value] = cells[item.dataIndex];
                    return tip(`${rowName} ${rows[y]}, ${columnName} ${columns[x]}`, extra(item.dataIndex, value));
                },
            };
            if (columns.length > ZOOM) {
                option.dataZoom = [{ ...zoom(), bottom: 64 }];
                option.grid.bottom += 32;
            }
            const few = cells.length <= 400 && width / columns.length > 64 && cellHeight >= 28;
            option.series = [
                {
                    type: 'heatmap',
                    data: cells.map(([x, y, v]) => [x, y, v / scale]),
                    itemStyle: {
                        borderColor: c.gap,
                        borderWidth: cells.length > MANY_CELLS ? 0 : 1,
                        borderRadius: cells.length > MANY_CELLS ? 0 : 2,
                    },
                    label: {
                        show: few,
                        formatter: (item) => fixed(item.value[2], item.value[2] >= 100 ? 0 : digits),
                        fontFamily: FONT,
                        fontSize: 12,
                    },
                    emphasis: { itemStyle: { borderColor: c.text, borderWidth: 1.5 } },
                },
            ];
            return option;
        },
    });
}

const decade = (value, up) => 10 ** (up ? Math.ceil : Math.floor)(Math.log10(value));

// A number on a logarithmic axis: 0.01, 1, 1000.
const plainNumber = (v) => (v >= 1 ? fixed(v, 0) : `${Number(v.toPrecision(1))}`);

// A roofline chart. roofs: {name, rate (TFLOP/s), bandwidth (GB/s), ridge (FLOPs/byte)}; points: {x (FLOPs/byte),
// y (TFLOP/s), size (share of the largest, 0 to 1), series, title, rows (of the tooltip)}; series: {key, name, colour,
// symbol}.
export function rooflineChart({ label, roofs, points, series }) {
    const ys = [...points.map((p) => p.y), ...roofs.map((r) => r.rate)];
    const xs = [...points.map((p) => p.x), ...roofs.map((r) => r.ridge)];
    const x0 = decade(Math.min(...xs), false);
    const x1 = decade(Math.max(...xs) * 1.001, true);
    const y0 = decade(Math.min(...ys), false);
    const y1 = decade(Math.max(...ys) * 1.3, true); // a line along the upper edge would not be seen
    const line = (r) => [
        [Math.max(x0, (y0 * 1e3) / r.bandwidth), Math.max(y0, (x0 * r.bandwidth) / 1e3)],
        [r.ridge, r.rate],
        [x1, r.rate],
    ];
    return chart({
        label,
        height: 440,
        cells: points.length,
        make: (width) => {
            const c = colours();
            const option = base();
            const names = [...series.map((s) => s.name), ...roofs.map((r) => r.name)];
            const axis = (name, min, max) => ({
                ...valueAxis(name),
                type: 'log',
                min,
                max,
                nameLocation: 'middle',
                nameGap: 30,
                minorSplitLine: { show: false },
                axisLabel: { color: c.muted, fontFamily: FONT, formatter: plainNumber, hideOverlap: true },
            });
            option.grid = {
                left: 8,
                right: 20,
                top: 20 + 24 * legendRows(names, width),
                bottom: 8,
                outerBoundsMode: 'same',
                outerBoundsContain: 'all',
            };
            option.xAxis = axis('FLOPs per byte', x0, x1);
            option.yAxis = { ...axis('TFLOP/s', y0, y1), nameGap: 44 };
            delete option.legend.icon; // each series by its own symbol or line
            option.legend.itemWidth = 22;
            option.tooltip = {
                ...option.tooltip,
                trigger: 'item',
                formatter: (item) => {
                    if (item.seriesType === 'scatter') return tip(item.data.point.title, item.data.point.rows);
                    const roof = roofs[item.seriesIndex - series.length];
                    return tip(roof.name, [
                        ['at best', `${fixed(roof.rate, 1)}\u00a0TFLOP/s`],
                        ['memory', `${fixed(roof.bandwidth, 0)}\u00a0GB/s`],
                        ['from', `${fixed(roof.ridge, 1)}\u00a0FLOPs/byte on`],
                    ]);
                },
            };
            option.series = [
                ...series.map((s) => ({
                    type: 'scatter',
                    name: s.name,
                    symbol: s.symbol,
                    symbolSize: (_, item) => 6 + 26 * Math.sqrt(item.data.point.size),
                    data: points
                        .filter((p) => p.series === s.key)
                        .map((point) => ({ value: [point.x, point.y], point })),
                    itemStyle: { color: c[s.colour], opacity: 0.75, borderColor: c.gap, borderWidth: 1 },
                    emphasis: { itemStyle: { borderColor: c.text, borderWidth: 1.5, opacity: 1 } },
                    z: 3,
                })),
                ...roofs.map((r, i) => ({
                    type: 'line',
                    name: r.name,
                    symbol: 'none',
                    data: line(r),
                    color: c.muted,
                    lineStyle: { color: c.muted, width: 1.5, type: ['solid', 'dashed', 'dotted'][i % 3] },
                    emphasis: { disabled: true },
                    triggerLineEvent: true,
                    z: 2,
                })),
            ];
            return option;
        },
    });
}
