// Between ranks: what they wait for, and how far such numbers can be trusted. Made where several ranks are given.
import { bars } from './charts.js';
import { count, percent, time } from './format.js';
import { empty, figure, noteList, panel, section } from './parts.js';
import { foldedTable, makeTable } from './table.js';

const KINDS = {
    communication: 'for other ranks in collectives',
    idle: 'of devices for work',
    host: 'of calls for the device',
};

const filled = (answer, name) => (answer?.tables[name]?.length ? answer.tables[name] : null);

const words = (part) => part.replaceAll('_', ' ');

function lead(blame) {
    const rows = blame.where((row) => blame.get(row, 'wait') === 'communication' && blame.get(row, 'rank') !== null);
    const most = rows.extreme('blame_us');
    if (!most) return null;
    const [waiting, rank] = [blame.get(most, 'waiting_rank'), blame.get(most, 'rank')];
    const whose = waiting === rank ? 'its own' : `rank ${rank}\u2019s`;
    return `Most of it in one place: rank ${waiting} waited ${time(blame.get(most, 'blame_us'))} in collectives because of ${whose} ${words(blame.get(most, 'part'))}, ${percent(blame.get(most, 'share_pct'))} of all waiting for other ranks.`;
}

export function waitsSection(data) {
    const answer = data.answers.blame;
    const totals = filled(answer, 'totals');
    const blame = filled(answer, 'blame');
    if (!answer || (!totals && !answer.notes.length)) return null;
    if (!totals) return section('waits', 'What ranks wait for', null, empty('Nothing can be said of it.', answer));
    const rows = totals.rows.filter((row) => totals.get(row, 'waiting_us'));
    const label = rows
        .map((row) => `${time(totals.get(row, 'waiting_us'))} ${KINDS[totals.get(row, 'wait')]}`)
        .join(', ');
    return section(
        'waits',
        'What ranks wait for',
        blame ? lead(blame) : null,
        rows.length
            ? figure(
                  'Waiting of all ranks',
                  'avoidable: what is left of it without the waiting of a balanced job',
                  bars({
                      label: `Stacked bars: waiting by kind, blamed and uncertain. ${label}.`,
                      items: rows.map((row) => totals.get(row, 'wait')),
                      noun: '',
                      unit: 'us',
                      axis: 'waiting, all ranks together',
                      series: [
                          {
                              name: 'blamed',
                              colour: 'comm',
                              stack: 'wait',
                              values: rows.map((row) => totals.get(row, 'blamed_us')),
                          },
                          {
                              name: 'uncertain',
                              colour: 'hidden',
                              stack: 'wait',
                              values: rows.map((row) => totals.get(row, 'uncertain_us')),
                          },
                      ],
                      extra: (i) => [
                          ['waits', count(totals.get(rows[i], 'waits'))],
                          ['avoidable', time(totals.get(rows[i], 'avoidable_us'))],
                      ],
                  }),
                  foldedTable(totals, {
                      caption: 'Waiting by kind',
                      sort: ['waiting_us', 'descending'],
                      command: 'rankscope blame --table totals',
                  }),
              )
            : empty('There is no waiting to show.', answer),
        blame
            ? panel(
                  'What each rank\u2019s waiting was for',
                  'one lateness may show in all three kinds: sums mean something within a kind',
                  makeTable(blame, {
                      caption: 'Shares of the waiting',
                      sort: ['blame_us', 'descending'],
                      bar: ['share_pct'],
                      command: 'rankscope blame',
                  }),
              )
            : null,
        rows.length ? noteList(answer) : null,
    );
}

function replayLede(replay) {
    const whole = replay.where((row) => replay.get(row, 'step') === null && replay.get(row, 'model_error_pct') !== null);
    if (!whole.length) return null;
    const error = (row) => Math.abs(replay.get(row, 'model_error_pct'));
    const worst = whole.rows.reduce((a, b) => (error(b) > error(a) ? b : a));
    const doubted = whole.rows.filter((row) => !replay.get(row, 'trusted')).length;
    return (
        `A replay of the recording with typical latencies is off by ${percent(error(worst))} or less (rank ${replay.get(worst, 'rank')} most). ` +
        (doubted
            ? `What would change cannot be told for ${doubted} of ${whole.length} ranks: see the reasons.`
            : 'What would change (rankscope replay, diagnose) can be asked of all ranks.')
    );
}

export function trustSection(data) {
    const { replay: replayAnswer, clocks: clockAnswer } = data.answers;
    const replay = filled(replayAnswer, 'replay');
    const clocks = filled(clockAnswer, 'clocks');
    if (!replay && !(clocks?.length > 1)) return null;
    const drop = (table) =>
        table.columns.map((c) => c.name).filter((c) => table.values(c).every((v) => v === null || v === ''));
    const ranks = replay?.where((row) => replay.get(row, 'step') === null);
    const steps = replay?.where((row) => replay.get(row, 'step') !== null);
    if (replay?.length === replay?.total) for (const part of [ranks, steps]) if (part) part.total = part.length;
    return section(
        'trust',
        'How sure numbers between ranks are',
        replay ? replayLede(replay) : null,
        ranks?.length
            ? panel(
                  'Replay against the recording',
                  'model error: each latency is what is typical of its kind; held out: learned without the step',
                  makeTable(ranks, {
                      caption: 'Replay of each rank',
                      sort: ['recorded_us', 'descending'],
                      hide: ['step', ...drop(ranks)],
                      command: 'rankscope replay',
                  }),
                  steps.length
                      ? foldedTable(steps, {
                            summary: 'Step by step',
                            caption: 'Replay of each step',
                            sort: ['rank', 'ascending'],
                            hide: drop(steps),
                            command: 'rankscope replay',
                        })
                      : null,
                  noteList(replayAnswer),
              )
            : replayAnswer
              ? empty('The recording cannot be replayed.', replayAnswer)
              : null,
        clocks?.length > 1
            ? panel(
                  'Clocks',
                  'how far each rank\u2019s clock is ahead of the lowest rank\u2019s, and within which interval that is known',
                  makeTable(clocks, {
                      caption: 'Clocks of the ranks',
                      sort: ['rank', 'ascending'],
                      hide: drop(clocks),
                      command: 'rankscope clocks',
                  }),
                  noteList(clockAnswer),
              )
            : null,
    );
}
