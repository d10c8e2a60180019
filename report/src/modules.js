// GPU time by phase (forward, backward, computed again) and by nn.Module.
import { bars } from './charts.js';
import { percent, time } from './format.js';
import { empty, figure, noteList, panel, section } from './parts.js';
import { foldedTable, makeTable } from './table.js';

const PHASES = [
    ['forward', 'forward', 'compute'],
    ['backward', 'backward', 'second'],
    ['recompute', 'computed again for checkpoints', 'comm'],
    ['optimizer', 'optimizer', 'copy'],
    ['other', 'other', 'latency'],
    ['unlinked', 'launch not in the file', 'idle'],
];

export function modulesSection(data) {
    const answer = data.answers.modules;
    const { modules, phases } = answer.tables;
    if (!phases.length)
        return section('modules', 'Phases and modules', null, empty('No GPU work was recorded.', answer));
    const ranks = [...new Set(phases.values('rank'))].sort((a, b) => a - b);
    const of = new Map(phases.rows.map((row) => [`${phases.get(row, 'rank')} ${phases.get(row, 'phase')}`, row]));
    const value = (rank, phase, column) => {
        const row = of.get(`${rank} ${phase}`);
        return row ? phases.get(row, column) : 0;
    };
    const again = phases.where((row) => phases.get(row, 'phase') === 'recompute').extreme('gpu_us');
    const lede = again
        ? `Activation checkpointing computes ${time(phases.get(again, 'gpu_us'))} again${ranks.length > 1 ? ` on rank ${phases.get(again, 'rank')}` : ''}, ${percent(phases.get(again, 'share_pct'))} of the GPU time.`
        : null;
    const named = modules.values('calls').some((v) => v > 0);
    return section(
        'modules',
        'Phases and modules',
        lede,
        figure(
            'GPU time of each rank by phase',
            'durations added up: what runs at the same time counts twice',
            bars({
                label: `Stacked bars: GPU time of each rank in forward, backward, recomputation, optimizer. ${lede ?? ''}`,
                items: ranks,
                unit: 'us',
                axis: 'GPU time',
                series: PHASES.filter(([key]) => ranks.some((r) => value(r, key, 'gpu_us'))).map(
                    ([key, name, colour]) => ({
                        name,
                        colour,
                        stack: 'phase',
                        values: ranks.map((r) => value(r, key, 'gpu_us')),
                    }),
                ),
            }),
            foldedTable(phases, {
                caption: 'Phases of each rank',
                sort: ['rank', 'ascending'],
                bar: ['share_pct'],
                command: 'rankscope modules --table phases',
            }),
        ),
        named
            ? panel(
                  ranks.length > 1 ? 'Modules of each rank' : 'Modules',
                  'total: with the modules in it; backward: of the operators whose forward operators lie in it',
                  makeTable(modules.arranged(['module', 'rank']), {
                      single: true,
                      caption: 'Modules of each rank',
                      sort: ['total_us', 'descending'],
                      bar: ['share_pct'],
                      command: 'rankscope modules',
                  }),
              )
            : null,
        noteList(answer),
    );
}
