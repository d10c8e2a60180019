// Inputs that the tests of the page need: synthesised jobs, and traces whose names are hostile.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// What a trace may call its kernels and operators. Each must be seen as text.
export const HOSTILE = [
    '<img src=x onerror="window.pwned=1"><b>bold</b>',
    '</script><script>window.pwned=2</script>',
    '<!-- <script> ]]> --> &lt;&amp;&#65; "quotes" \'single\' `back`',
    'right\u202eto left\u202c \u2067isolate\u2069 \u200fmark \u05e9\u05dc\u05d5\u05dd',
    'javascript:window.pwned=3 {{constructor}} ${window.pwned=4} __proto__',
    'line\nbreak\ttab \u0001one \u0007bell \u2028sep \ud83d\ude80',
    `long_${'template<int, float>::'.repeat(780)}end`,
];

export function synth(program, folder, options) {
    execFileSync(program, ['--out', folder, '--no-truth', ...options], { stdio: 'ignore' });
    return folder;
}

const event = (cat, name, tid, ts, dur, args) => ({ ph: 'X', cat, name, pid: tid > 100 ? 0 : 42, tid, ts, dur, args });

// Two ranks whose operators, kernels, annotations, groups, device and file names are hostile.
export function hostile(folder) {
    mkdirSync(folder, { recursive: true });
    const paths = [];
    for (const rank of [0, 1]) {
        const events = [];
        let ts = 1000;
        let id = 1;
        for (const step of [0, 1]) {
            const start = ts;
            for (const text of HOSTILE) {
                events.push(event('cpu_op', `aten::${text}`, 42, ts, 40, { 'External id': id }));
                events.push(
                    event('cuda_runtime', 'cudaLaunchKernel', 42, ts + 5, 10, { correlation: id, 'External id': id }),
                );
                events.push(
                    event('kernel', text, 107, ts + 30 + rank, 35, {
                        correlation: id,
                        'External id': id,
                        device: rank,
                        stream: 7,
                    }),
                );
                id += 1;
                ts += 60;
            }
            events.push(event('cuda_runtime', 'cudaLaunchKernel', 42, ts, 5, { correlation: id }));
            events.push(
                event('kernel', 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(<b>)', 107, ts + 20, 50, {
                    correlation: id,
                    device: rank,
                    stream: 7,
                    'Collective name': 'allreduce<i>',
                    'Process Group Name': HOSTILE[0],
                    'Process Group Description': HOSTILE[3],
                    'Process Group Ranks': '[0, 1]',
                    'Group size': 2,
                    'In msg nelems': 10,
                    'Out msg nelems': 10,
                    dtype: '<u>',
                }),
            );
            id += 1;
            ts += 100;
            events.push(event('user_annotation', `ProfilerStep#${step}`, 42, start - 10, ts - start, {}));
        }
        const path = join(folder, `<b>rank${rank}.json`);
        writeFileSync(
            path,
            JSON.stringify({
                deviceProperties: [{ id: rank, name: HOSTILE[0] }],
                distributedInfo: { backend: HOSTILE[1], rank, world_size: 2 },
                [HOSTILE[1]]: HOSTILE[0],
                traceEvents: events,
            }),
        );
        paths.push(path);
    }
    return paths;
}

// Host events alone: every section has to say why it is empty.
export function hostOnly(folder) {
    mkdirSync(folder, { recursive: true });
    const path = join(folder, 'host.json');
    writeFileSync(
        path,
        JSON.stringify({
            traceEvents: [event('cpu_op', 'aten::add', 42, 10, 5, {}), event('cpu_op', 'aten::mul', 42, 20, 5, {})],
        }),
    );
    return path;
}

// Four dumps; rank 2 never issues the last collective.
export function dumps(folder) {
    mkdirSync(folder, { recursive: true });
    for (let rank = 0; rank < 4; rank += 1) {
        const entries = [];
        for (let seq = 1; seq <= (rank === 2 ? 5 : 6); seq += 1) {
            const done = seq < 6;
            const at = 1760000000000000000n + BigInt(seq * 2000000 + rank * 1000);
            entries.push({
                collective_seq_id: seq,
                p2p_seq_id: 0,
                op_id: seq,
                record_id: seq - 1,
                pg_id: 0,
                process_group: ['0', 'default_pg<b>'],
                is_p2p: false,
                profiling_name: 'nccl:all_reduce',
                input_sizes: [[256, 16]],
                output_sizes: [[256, 16]],
                input_dtypes: ['Float'],
                output_dtypes: ['Float'],
                state: done ? 'completed' : 'started',
                retired: done,
                timeout_ms: 600000,
                time_created_ns: Number(at),
                duration_ms: done ? 1.0 : null,
                time_discovered_started_ns: Number(at) + 400000,
                time_discovered_completed_ns: done ? Number(at) + 1400000 : null,
            });
        }
        writeFileSync(
            join(folder, `nccl_trace_rank_${rank}`),
            JSON.stringify({
                version: '2.10',
                pg_config: { 0: { name: '0', desc: 'default_pg<b>', ranks: '[0, 1, 2, 3]' } },
                entries,
            }),
        );
    }
    return folder;
}

// Ten records a rank; slower makes communication longer.
export function metrics(folder, slower) {
    mkdirSync(folder, { recursive: true });
    for (const rank of [0, 1]) {
        const lines = [];
        for (let step = 0; step < 40; step += 1)
            lines.push(
                JSON.stringify({
                    world_size: 2,
                    global_step: step,
                    loss: 0.5,
                    profile: {
                        total_ms: 10 + slower,
                        ranges: [
                            { stream: 'compute', tag: 'f', start_ms: 0, end_ms: 6 },
                            { stream: 'aux', tag: 'all_reduce', start_ms: 4, end_ms: 8 + rank + slower },
                        ],
                    },
                }),
            );
        writeFileSync(join(folder, `rank_${rank}_metrics.jsonl`), `${lines.join('\n')}\n`);
    }
    return folder;
}
