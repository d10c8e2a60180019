// Serving: where the time of a token goes, and what slow steps have more of.
import { bars } from './charts.js';
import { percent, time } from './format.js';
import { figure, noteList, panel, section } from './parts.js';
import { foldedTable, makeTable } from './table.js';

// Of latency's columns: name, colour.
const PARTS = {
    queue_us: ['queue', 'second'],
    host_us: ['host', 'host'],
    launch_us: ['launch', 'latency'],
    compute_us: ['computation', 'compute'],
    exposed_comm_us: ['exposed communication', 'comm'],
    exposed_copy_us: ['exposed copies', 'copy'],
    other_us: ['other', 'idle'],
    delivery_us: ['delivery', 'hidden'],
};

const METRICS = {
    time_to_first_token: 'Time to the first token',
    first_token_step: 'Step of the first token',
    between_tokens: 'Between two tokens of a request',
};

// The part that makes most of a row's time.
const largest = (table, row) =>
    Object.keys(PARTS).reduce((best, column) =>
        (table.get(row, column) ?? 0) > (table.get(row, best) ?? 0) ? column : best,
    );

function told(table, metric) {
    const rows = table.rows.filter((row) => table.get(row, 'metric') === metric);
    const at = (percentile) => rows.find((row) => table.get(row, 'percentile') === percentile);
    const slow = at(99) ?? at(90);
    if (!at(50)) return null;
    const middle = `${METRICS[metric]}: ${time(table.get(at(50), 'time_us'))} at the median`;
    if (!slow) return `${middle}.`;
    const part = largest(table, slow);
    return `${middle}, ${time(table.get(slow, 'time_us'))} at the ${table.get(slow, 'percentile')}th percentile, of which ${time(table.get(slow, part))} is ${PARTS[part][0]}.`;
}

function latencies(table, metric) {
    const of = table.where((row) => table.get(row, 'metric') === metric);
    if (!of.length) return null;
    const several = new Set(of.values('rank')).size > 1;
    return figure(
        METRICS[metric],
        'one token or request that happened, by nearest rank; the parts make up the whole',
        bars({
            label: `Stacked bars: parts of the time at each percentile. ${told(of, metric) ?? ''}`,
            items: of.rows.map(
                (row) => `${of.get(row, 'percentile')}${several ? `, rank ${of.get(row, 'rank')}` : ''}`,
            ),
            noun: 'percentile',
            unit: 'us',
            axis: 'time',
            series: Object.entries(PARTS)
                .filter(([column]) => of.values(column).some((v) => v))
                .map(([column, [name, colour]]) => ({ name, colour, stack: 'time', values: of.values(column) })),
            extra: (i) => [['sample', `${of.get(of.rows[i], 'samples')}`]],
        }),
    );
}

// Rows of phases that an engine has; steps of training have none.
export function servingSection(data) {
    const answer = data.answers.serving;
    const { latency, host, differences } = answer?.tables ?? {};
    const phases = new Set(latency?.values('phase') ?? []);
    if (!['prefill', 'decode', 'mixed', 'diffusion'].some((phase) => phases.has(phase))) return null;
    const metrics = Object.keys(METRICS).filter((metric) => latency.values('metric').includes(metric));
    const more = differences.where((row) => differences.get(row, 'kind') !== 'batch');
    const most = host.extreme('time_us');
    return section(
        'serving',
        'Serving',
        metrics.map((metric) => told(latency, metric)).filter(Boolean).join(' ') || null,
        ...metrics.map((metric) => latencies(latency, metric)),
        foldedTable(latency, { caption: 'Latencies by percentile', command: 'rankscope serving' }),
        host.length
            ? panel(
                  'What the host does while the GPU waits for it',
                  `Most: ${host.get(most, 'class')}, ${percent(host.get(most, 'share_pct'))}.`,
                  makeTable(host, {
                      caption: 'The host in its part of the steps',
                      sort: ['time_us', 'descending'],
                      bar: ['share_pct'],
                      command: 'rankscope serving --by host',
                  }),
              )
            : null,
        more.length
            ? panel(
                  'What the slowest steps have more of',
                  'the 99th percentile of a phase against its 40th to 60th',
                  makeTable(more, {
                      caption: 'Slow steps against typical ones',
                      sort: ['more_us', 'descending'],
                      command: 'rankscope serving --by difference',
                  }),
              )
            : null,
        noteList(answer),
    );
}
