// Flight-recorder dumps and rank metrics, where the page was given some.
import { h, ranges, sentence, visible } from './dom.js';
import { badge, noteList, panel, section } from './parts.js';
import { makeTable } from './table.js';

const words = (verdict) => verdict.replaceAll('_', ' ');
const where = (x) =>
    [
        x.op,
        x.seq === null || x.seq === undefined
            ? (x.p2p_seq ?? null) === null
                ? null
                : `p2p seq ${x.p2p_seq}`
            : `seq ${x.seq}`,
        x.group === null ? null : `group ${x.group}${x.group_desc ? ` (${x.group_desc})` : ''}`,
    ]
        .filter(Boolean)
        .join(', ');

function proof(evidence) {
    return h(
        'ul',
        { class: 'proof' },
        evidence.map((e) =>
            h(
                'li',
                {},
                sentence(e.text),
                e.frames?.length
                    ? h(
                          'details',
                          { class: 'fold' },
                          h('summary', {}, 'Stack'),
                          h('pre', {}, h('bdi', {}, e.frames.map(visible).join('\n'))),
                      )
                    : null,
            ),
        ),
    );
}

export function flightSection(data) {
    if (!data.flight) return null;
    const { answer, tables } = data.flight;
    const healthy = answer.verdict === 'healthy';
    const others = (answer.findings ?? []).slice(1);
    const waiting = answer.waiting ?? [];
    return section(
        'flight',
        'Flight recorder',
        null,
        h(
            'p',
            { class: healthy ? 'alarm calm' : 'alarm' },
            badge(healthy ? 'ok' : 'unfit', words(answer.verdict)),
            ' ',
            sentence(answer.summary),
        ),
        answer.culprits?.length
            ? h(
                  'p',
                  { class: 'facts' },
                  h(
                      'span',
                      {},
                      `at fault: ${answer.culprits.length === 1 ? 'rank' : 'ranks'} ${ranges(answer.culprits)}`,
                  ),
                  where(answer) ? h('span', {}, h('bdi', {}, visible(where(answer)))) : null,
              )
            : null,
        answer.evidence?.length ? panel('Proof', null, proof(answer.evidence)) : null,
        others.length
            ? panel(
                  'Also found',
                  null,
                  h(
                      'ul',
                      { class: 'doctor' },
                      others
                          .slice(0, 30)
                          .map((f) =>
                              h(
                                  'li',
                                  {},
                                  badge('warning', words(f.verdict)),
                                  h('div', {}, h('p', {}, sentence(f.summary))),
                              ),
                          ),
                  ),
                  others.length > 30 ? h('p', { class: 'cut' }, `${others.length - 30} more: rankscope flight`) : null,
              )
            : null,
        waiting.length
            ? panel(
                  `Waiting, not at fault (${waiting.length})`,
                  null,
                  h(
                      'ul',
                      { class: 'rows' },
                      waiting
                          .slice(0, 30)
                          .map((w) =>
                              h(
                                  'li',
                                  {},
                                  `rank ${w.rank} in `,
                                  h('bdi', {}, visible(where(w))),
                                  `, ${w.state ?? 'state unknown'}${w.waits_for?.length ? `, for ${w.waits_for.length === 1 ? 'rank' : 'ranks'} ${ranges(w.waits_for)}` : ''}`,
                              ),
                          ),
                  ),
                  waiting.length > 30
                      ? h('p', { class: 'cut' }, `${waiting.length - 30} more: rankscope flight --verbose`)
                      : null,
              )
            : null,
        Object.entries({ groups: 'Groups', lateness: 'Lateness by group and rank' })
            .filter(([key]) => tables[key]?.length)
            .map(([key, title]) =>
                panel(
                    title,
                    null,
                    makeTable(tables[key], { caption: title, command: `rankscope flight --table ${key}` }),
                ),
            ),
    );
}

const METRICS = [
    ['comparison', 'Comparison'],
    ['datasets', 'Runs'],
    ['ranks', 'Ranks'],
    ['percentiles', 'Percentiles'],
    ['collectives', 'Collectives'],
    ['dips', 'Slow stretches'],
    ['traces', 'Traces'],
];

export function metricsSection(data) {
    if (!data.metrics) return null;
    const { tables } = data.metrics;
    const compared = tables.comparison?.length ? tables.comparison : null;
    const worse = compared ? compared.rows.filter((row) => compared.get(row, 'verdict') === 'worse') : [];
    const better = compared ? compared.rows.filter((row) => compared.get(row, 'verdict') === 'better') : [];
    const unsure = compared ? compared.rows.filter((row) => compared.get(row, 'verdict') === 'undecided') : [];
    const names = (rows) => rows.map((row) => compared.get(row, 'metric').replaceAll('_', ' ')).join(', ');
    const labels = tables.datasets.values('label');
    const lede = compared
        ? [
              h('bdi', {}, visible(labels[1])),
              ' against ',
              h('bdi', {}, visible(labels[0])),
              ': ',
              worse.length ? `worse in ${names(worse)}` : 'worse in nothing beyond noise',
              better.length ? `; better in ${names(better)}` : '',
              unsure.length
                  ? `. Different, but two runs do not say how much equal runs differ: ${names(unsure)}.`
                  : '.',
          ]
        : null;
    return section(
        'metrics',
        'Rank metrics',
        lede,
        METRICS.filter(([key]) => tables[key]?.length).map(([key, title]) =>
            panel(
                title,
                null,
                makeTable(tables[key], {
                    caption: `Metrics: ${title}`,
                    hide: tables[key].columns
                        .map((c) => c.name)
                        .filter((c) => tables[key].values(c).every((v) => v === null)),
                    command: `rankscope metrics --table ${key}`,
                }),
            ),
        ),
        noteList(data.metrics),
    );
}
