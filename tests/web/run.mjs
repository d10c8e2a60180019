// The report page in a browser: node run.mjs BUILD
//
// BUILD is a build folder: rankscope and rankscope-synth in it, and web/node_modules with playwright-core.
// The last line is "N passed, N failed". RANKSCOPE_CHROMIUM names another browser than /usr/bin/chromium.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { gunzipSync } from 'node:zlib';
import { join, resolve } from 'node:path';
import { everyWidth, numbers, sameRows, settle } from './checks.mjs';
import { check, finish, group, openBrowser, openPage, readTable, until, visible } from './harness.mjs';
import { dumps, hostile, HOSTILE, hostOnly, metrics, synth } from './inputs.mjs';

const build = resolve(process.argv[2] ?? 'build');
const rankscope = join(build, 'rankscope');
const root = resolve(import.meta.dirname, '..', '..');
const work = mkdtempSync(join(tmpdir(), 'rankscope-web-'));
const browser = await openBrowser(join(build, 'web'));

function report(name, paths, options = []) {
    const file = join(work, `${name}.html`);
    const done = spawnSync(rankscope, ['report', '-o', file, ...options, ...paths], { encoding: 'utf8' });
    check(`${name}: exit code`, done.status === 0, `${done.status} ${done.stderr}`);
    return file;
}

const answer = (command, paths, options = []) =>
    JSON.parse(
        execFileSync(rankscope, [command, '--format', 'json', ...options, ...paths], {
            encoding: 'utf8',
            maxBuffer: 1 << 28,
        }),
    );

// ---- groups --------------------------------------------------------------------------------------------

const job = synth(join(build, 'rankscope-synth'), join(work, 'job'), [
    '--dp',
    '2',
    '--tp',
    '2',
    '--steps',
    '4',
    '--straggler',
    '3:1.35',
    '--stall',
    '1:11:20',
]);
const jobPage = report('job', [job]);

await group('the job on one picture', async () => {
    const { page, complaints, close } = await openPage(browser, jobPage);
    const { map } = JSON.parse(await page.locator('#data').textContent());
    const bytes = gunzipSync(Buffer.from(map.data, 'base64'));
    const k = map.classes.length;
    check('a byte a rank, column and class', bytes.length === map.ranks.length * map.width * k && map.width === 16384, [bytes.length, map.width, k]);
    check('the map keeps to its size', map.data.length <= 200 << 10, map.data.length);
    check('waiting is told from transfer', map.classes.includes('exposed_wait'), map.classes);
    for (const row of answer('breakdown', [job]).tables.breakdown) {
        const at = map.ranks.indexOf(row.rank);
        const sum = (name) => {
            let all = 0;
            for (let c = 0; c < map.width; c += 1) all += bytes[(at * map.width + c) * k + map.classes.indexOf(name)];
            return ((all / 255) * map.to) / map.width / 1000;
        };
        const off = [['compute', row.compute_us], ['exposed_copy', row.exposed_copy_us]].map(([name, us]) => Math.abs(sum(name) - us));
        const comm = Math.abs(sum('exposed_comm') + sum('exposed_wait') - row.exposed_comm_us);
        check(`the shares of rank ${row.rank} are breakdown's`, Math.max(...off, comm) < row.span_us / 200, [...off, comm, row]);
    }
    await page.locator('.jobmap [data-ready]').waitFor({ timeout: 20000 });
    const inks = (selector) => page.locator(selector).first().evaluate((canvas) => {
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
        copy.drawImage(canvas, 0, 0);
        const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
        const seen = {};
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 250) seen[`${data[i]},${data[i + 1]},${data[i + 2]}`] = (seen[`${data[i]},${data[i + 1]},${data[i + 2]}`] ?? 0) + 1;
        return Object.entries(seen).filter(([, n]) => n > 40).map(([ink]) => ink).sort().join(' ');
    });
    const before = await inks('.jobmap canvas');
    check('it has its colours', before.split(' ').length >= 5, before);
    check('the path runs along rank 3', /66\.\d % rank 3\u2019s computation/.test((await page.textContent('#job .lede')).replaceAll('\u00a0', ' ')), await page.textContent('#job .lede'));
    await page.locator('.jobmap canvas').focus();
    for (let i = 0; i < 5; i += 1) await page.keyboard.press('+');
    check('it zooms by the keyboard', (await until(() => inks('.jobmap canvas'), (now) => now !== before)) !== before);
    const flame = page.locator('canvas.flame').first();
    await flame.scrollIntoViewIfNeeded();
    const gpu = answer('tree', [job], ['--across', '--depth', '1']).tables.across.reduce((sum, row) => sum + row.gpu_us, 0);
    check('the flame graph is the tree of all ranks', Math.abs(Number(await page.locator('.flamebox').first().getAttribute('data-total')) / 1000 - gpu) < 1, gpu);
    await flame.click({ position: { x: 100, y: 30 } });
    check('a click makes a call the whole', /AddmmBackward0/.test(await page.locator('.flame-facts').first().textContent()), await page.locator('.flame-facts').first().textContent());
    await page.keyboard.press('Escape');
    check('Esc goes back', /all ranks/.test(await page.locator('.flame-facts strong').first().textContent()));
    check('who waits most for whom', /Rank 1 waits .* for rank 3/.test(await page.locator('.matrix-facts').first().textContent()), await page.locator('.matrix-facts').first().textContent());
    check('nothing complained', complaints.length === 0, complaints);
    await close();
});

await group('numbers of a small job', async () => {
    const opened = await openPage(browser, jobPage);
    await numbers(opened.page, answer, [job], () => true);
    const whole = answer('replay', [job]).tables.replay.filter((row) => row.step === null);
    const replayed = await readTable(opened.page, 'Replay of each rank');
    const difference = replayed && sameRows(replayed, whole);
    check('replay of each rank', replayed?.length === 4 && difference === null, difference ?? '');
    const most = answer('blame', [job], ['--wait', 'communication']).tables.blame[0];
    check(
        'the greatest share of the waiting is told',
        (await opened.page.textContent('#waits .lede')).includes(`rank ${most.waiting_rank} waited`),
    );
    check('nothing complained', opened.complaints.length === 0, opened.complaints);
    await opened.close();
});

await group('widths and colours', async () => everyWidth(browser, 'job', jobPage));

await group('sorting, searching, choosing a rank', async () => {
    const { page, close } = await openPage(browser, jobPage);
    const table = page.locator('.table', { has: page.locator('[aria-label="Kernels of each rank"]') });
    const column = (name) => table.locator(`th[data-column="${name}"]`);
    const values = async (name) => {
        const at = await column(name).evaluate((th) => [...th.parentElement.children].indexOf(th));
        return table
            .locator('tbody tr')
            .evaluateAll((rows, i) => rows.map((row) => row.children[i].dataset.v ?? row.children[i].textContent), at);
    };
    const ordered = (list, sign) => list.every((v, i) => i === 0 || sign * (Number(v) - Number(list[i - 1])) >= 0);
    await table.locator('.tools select').selectOption('');
    check(
        'first the largest sum',
        (await column('sum_us').getAttribute('aria-sort')) === 'descending' && ordered(await values('sum_us'), -1),
    );
    await column('mean_us').locator('button').click();
    check(
        'a click sorts, the largest first',
        (await column('mean_us').getAttribute('aria-sort')) === 'descending' && ordered(await values('mean_us'), -1),
    );
    check('one column is sorted', (await table.locator('[aria-sort]').count()) === 1);
    await column('mean_us').locator('button').focus();
    await page.keyboard.press('Enter');
    check(
        'Enter turns the order',
        (await column('mean_us').getAttribute('aria-sort')) === 'ascending' && ordered(await values('mean_us'), 1),
    );
    await page.keyboard.press('Space');
    check('Space turns it back', (await column('mean_us').getAttribute('aria-sort')) === 'descending');
    await column('name').locator('button').click();
    const names = await table
        .locator('tbody th[scope="row"] > *')
        .evaluateAll((list) => list.map((e) => e.textContent));
    check(
        'texts sort by the alphabet',
        JSON.stringify(names) === JSON.stringify([...names].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))),
        names,
    );
    await table.locator('input[type="search"]').fill('NCCL communication');
    const found = await table.locator('tbody tr').allTextContents();
    check(
        'searching keeps the rows with all words',
        found.length > 0 && found.every((text) => /nccl/i.test(text) && /communication/.test(text)),
        found,
    );
    check(
        'and says how many',
        /^\d+ rows?$/.test(await table.locator('[role="status"]').textContent()),
        await table.locator('[role="status"]').textContent(),
    );
    await table.locator('input[type="search"]').fill('no such kernel');
    check(
        'no match is said',
        (await table.locator('[role="status"]').textContent()) === 'No row matches' &&
            (await table.locator('tbody tr').count()) === 0,
    );
    await table.locator('input[type="search"]').fill('');
    await table.locator('.tools select').selectOption('2');
    check(
        'only the rank that was chosen',
        new Set(await values('rank')).size === 1 && (await values('rank'))[0] === '2',
    );
    await table.locator('.tools select').selectOption('');
    const before = await table.locator('tbody tr').count();
    const total = answer('kernels', [job], ['--top', '40', '--duration-ratio', '1']).tables.kernels.length;
    await table.locator('button', { hasText: 'Show all' }).click();
    check(
        'all rows on demand',
        before < total && (await table.locator('tbody tr').count()) === total,
        `${before} ${total}`,
    );
    const shown = await column('sum_us').locator('.unit').textContent();
    check('a unit stands in the head', /^(ns|\u00b5s|ms|s)$/.test(shown), shown);
    await close();
});

await group('charts', async () => {
    const { page, complaints, close } = await openPage(browser, jobPage);
    await settle(page);
    const chart = page.locator('#time .chart');
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    const row = answer('breakdown', [job]).tables.breakdown;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height * 0.35);
    const tip = page.locator('.tip').first();
    await tip.waitFor();
    const text = await tip.textContent();
    const rank = Number(/^rank (\d+)/.exec(text)[1]);
    check(
        'hovering tells the rank\u2019s numbers',
        text.includes(`${row.find((r) => r.rank === rank).busy_pct.toFixed(1)}\u00a0%`),
        text,
    );
    const before = await chart.innerHTML();
    await page.locator('#time select').first().selectOption('compute_us');
    await page.waitForFunction(
        (html) =>
            document.querySelector('#time .chart')?.firstElementChild &&
            document.querySelector('#time .chart').innerHTML !== html,
        before,
    );
    const labels = await page.locator('#time .chart svg text').allTextContents();
    const first = row.reduce((a, b) => (b.compute_us > a.compute_us ? b : a)).rank;
    check('ranks in the chosen order', labels.filter((t) => /^rank \d/.test(t))[0] === `rank ${first}`, labels);
    const map = page.locator('#steps .chart');
    check(
        'the heat map has a cell for each step and rank',
        (await map.locator('svg path[fill^="#"], svg path[fill^="rgb"]').count()) >= 16,
    );
    await page.locator('#steps select').first().selectOption('idle_us');
    await settle(page);
    check(
        'another measure, another description',
        (await page.locator('#steps .chart').getAttribute('aria-label')).includes('idle'),
    );
    const roofs = answer('roofline', [job]).tables;
    const roof = page.locator('#roofline .chart');
    await roof.scrollIntoViewIfNeeded();
    await page.locator('#roofline .choice select').selectOption('1');
    await roof.scrollIntoViewIfNeeded();
    await settle(page);
    const drawn = roofs.args.filter((r) => r.rank === 1 && r.flops_per_byte > 0 && r.tflops_per_s > 0).length;
    const lines = roofs.roofs.filter((r) => r.rank === 1).length;
    const described = await roof.getAttribute('aria-label');
    check(
        'the roofline chart has the operators of the chosen rank and the rates that bound them',
        described.startsWith(`Roofline chart of rank 1: ${drawn} operators`) && described.includes(`under ${lines} rates`),
        described,
    );
    const marks = (await roof.locator('svg path[fill-opacity="0.75"]').count()) - drawn; // and those of the legend
    check('a mark for each operator', marks >= 1 && marks <= 4, `${marks} more than ${drawn}`);
    check('nothing complained', complaints.length === 0, complaints);
    await close();
});

await group('keyboard', async () => {
    const { page, close } = await openPage(browser, jobPage);
    await page.keyboard.press('Tab');
    check(
        'the first stop skips to the findings',
        (await page.evaluate(() => document.activeElement.className)) === 'skip',
    );
    await page.keyboard.press('Enter');
    check('and goes there', (await page.evaluate(() => document.activeElement.id)) === 'main');
    const stops = [];
    for (let i = 0; i < 400; i += 1) {
        await page.keyboard.press('Tab');
        const stop = await page.evaluate(() => {
            const e = document.activeElement;
            if (e === document.body) return null;
            const style = getComputedStyle(e);
            return {
                tag: e.tagName,
                ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
                text: (e.getAttribute('aria-label') ?? e.textContent).slice(0, 40),
            };
        });
        if (stop === null) break;
        stops.push(stop);
    }
    check(
        'every stop has a ring',
        stops.length > 50 && stops.every((s) => s.ring),
        stops.filter((s) => !s.ring).slice(0, 5),
    );
    const controls = await page.evaluate(
        () =>
            [...document.querySelectorAll('main button, main select, main input, main summary, main a')].filter((e) =>
                e.checkVisibility(),
            ).length,
    );
    const reached = stops.filter((s) => ['BUTTON', 'SELECT', 'INPUT', 'SUMMARY', 'A'].includes(s.tag)).length;
    check('every control can be reached', reached >= controls, `${reached} of ${controls}`);
    const fold = page.locator('#time details.fold > summary').first();
    await fold.focus();
    await page.keyboard.press('Enter');
    await page.locator('#time details.fold table').waitFor({ timeout: 2000 });
    check('the table of a chart opens by keyboard', (await page.locator('#time details.fold table').count()) === 1);
    await close();
});

await group('colours and paper', async () => {
    const { page, complaints, close } = await openPage(browser, jobPage, { colorScheme: 'light' });
    await settle(page);
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.locator('button.theme').click();
    check('the button turns to dark', (await theme()) === 'dark' && (await ground()) !== light);
    check('charts, too', (await page.locator('#time .chart svg').innerHTML()).includes('#4aa3ea'));
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    check(
        'paper is light',
        (await theme()) === 'light' && !(await page.locator('#time .chart svg').innerHTML()).includes('#4aa3ea'),
    );
    check(
        'controls are not printed',
        await page.evaluate(() =>
            [...document.querySelectorAll('#sections, .theme, .tools input')].every((e) => !e.checkVisibility()),
        ),
    );
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    await page.emulateMedia({ media: 'screen' });
    check('and the choice is back', (await theme()) === 'dark');
    const pdf = await page.pdf({ format: 'A4' });
    check('prints', pdf.length > 20000 && pdf.subarray(0, 5).toString() === '%PDF-', pdf.length);
    await page.locator('button.theme').click();
    await page.locator('button.theme').click();
    check('round to the system\u2019s choice', (await theme()) === 'light' || (await theme()) === 'dark');
    check('nothing complained', complaints.length === 0, complaints);
    await close();
});

await group('a comparison', async () => {
    const other = synth(join(build, 'rankscope-synth'), join(work, 'other'), ['--dp', '2', '--tp', '2', '--steps', '4']);
    const file = join(work, 'comparison.html');
    const options = ['--by', 'op', '--per', 'step'];
    execFileSync(rankscope, ['compare', ...options, '-q', '--page', file, '-o', join(work, 'text'), job, other, job]);
    const { tables } = answer('compare', [job, other, job], options);
    const { page, complaints, close } = await openPage(browser, file);
    for (const [caption, name] of [
        ['Inputs', 'inputs'],
        ['All differences', 'names'],
    ]) {
        const shown = await readTable(page, caption);
        const difference = shown && sameRows(shown, tables[name]);
        check(`comparison: ${caption}`, shown?.length === tables[name].length && difference === null, difference ?? '');
    }
    const changed = tables.names.filter((row) => row.variant === 1 && row.time_diff_us !== 0);
    const first = async () => page.locator('ol.bars li .name').first().textContent();
    check('the largest difference comes first', (await first()) === changed[0].name, await first());
    check('a dozen differences at most', (await page.locator('ol.bars li').count()) === Math.min(12, changed.length));
    check(
        'the change is told',
        (await page.locator('#comparison figure p').first().textContent()).includes('GPU time than the first input'),
    );
    await page.locator('#comparison select').first().selectOption('2');
    check('equal inputs differ in nothing', (await page.locator('#comparison').textContent()).includes('No row differs.'));
    check('a comparison has one section', (await page.locator('#main > section').count()) === 1);
    check('nothing complained', complaints.length === 0, complaints);
    await close();
    await everyWidth(browser, 'comparison', file);
});

await group('hostile names', async () => {
    const paths = hostile(join(work, 'hostile'));
    const file = report('hostile', paths);
    await everyWidth(browser, 'hostile', file);
    const opened = await openPage(browser, file);
    const { page } = opened;
    await settle(page);
    await numbers(
        page,
        answer,
        paths,
        (caption, rows) => rows.length > 0 && !['Operators over ranks'].includes(caption),
    );
    const kernels = await readTable(page, 'Kernels of each rank');
    for (const text of HOSTILE)
        check(
            `is shown as text: ${JSON.stringify(text.slice(0, 50))}`,
            kernels.some((row) => row.name === visible(text)),
        );
    const box = page.locator('input[aria-label="Search Kernels of each rank"]');
    await box.fill('<img src=x');
    check('can be searched', (await page.locator('[aria-label="Kernels of each rank"] tbody tr').count()) === 2);
    check(
        'no element of theirs',
        (await page.evaluate(
            () => document.querySelectorAll('main img, main b, main script, main i, main u, body > b, iframe').length,
        )) === 0,
    );
    check('no script of theirs ran', await page.evaluate(() => window.pwned === undefined));
    check(
        'each is kept apart from the direction around it',
        await page.evaluate(() =>
            [...document.querySelectorAll('.name, .sentence')].every((e) =>
                getComputedStyle(e).unicodeBidi.includes('isolate'),
            ),
        ),
    );
    check('nothing complained, nothing fetched', opened.complaints.length === 0, opened.complaints);
    await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'window.pwned = 5';
        document.body.append(script);
    });
    check('another script may not run at all', await page.evaluate(() => window.pwned === undefined));
    await opened.close();
});

await group('what is absent', async () => {
    const path = hostOnly(join(work, 'host'));
    const file = report('host', [path]);
    await everyWidth(browser, 'host events only', file);
    const { page, complaints, close } = await openPage(browser, file);
    for (const id of ['time', 'steps', 'communication', 'idle', 'kernels', 'operators', 'launches', 'queue'])
        check(
            `${id} says why it is empty`,
            ((await page.locator(`#${id} .empty`).first().textContent()) ?? '').length > 10,
        );
    check('one rank waits for no other', (await page.locator('#waits, #trust').count()) === 0);
    check(
        'the notes of the commands are there',
        answer('kernels', [path]).notes.every((note) => note.replace(/^rank \d+: /, '').length > 3),
    );
    check('nothing complained', complaints.length === 0, complaints);
    await close();
});

await group('serving', async () => {
    const trace = join(root, 'tests', 'data', 'serving', 'trace.json.gz');
    const file = report('serving', [trace]);
    const tables = answer('serving', [trace]).tables;
    const { page, complaints, close } = await openPage(browser, file);
    const lede = await page.locator('#serving .lede').textContent();
    const slow = tables.latency.find((r) => r.metric === 'between_tokens' && r.percentile === 99);
    check('the slow tokens lead', lede.includes('99th percentile') && slow.host_us > slow.compute_us && lede.includes('is host'), lede);
    const rows = await readTable(page, 'Latencies by percentile');
    check(
        'latencies are those of the command',
        JSON.stringify(rows?.map((r) => [r.metric, r.percentile, r.time_us, r.host_us])) ===
            JSON.stringify(tables.latency.map((r) => [r.metric, r.percentile, r.time_us, r.host_us])),
        rows,
    );
    const host = await readTable(page, 'The host in its part of the steps');
    check('what the host does, the longest first', host[0].time_us === tables.host[0].time_us && host[0].class === tables.host[0].class, host);
    const more = await readTable(page, 'Slow steps against typical ones');
    check('slow steps have more of the host', more.some((r) => r.phase === 'decode' && r.name === 'host' && r.more_us > 1000), more);
    check('nothing complained', complaints.length === 0, complaints);
    await close();
    const training = await openPage(browser, jobPage);
    check('a training job has no such section', (await training.page.locator('#serving').count()) === 0);
    await training.close();
});

await group('memory', async () => {
    const folder = join(work, 'snapshots');
    mkdirSync(folder, { recursive: true });
    for (const [rank, events] of [
        [0, 300],
        [1, 3000],
    ])
        spawnSync('python3', [
            join(root, 'bench', 'make_snapshot.py'),
            join(folder, `rank${rank}.pickle`),
            '--events',
            `${events}`,
            '--layers',
            `${rank + 2}`,
            '--fail',
        ]);
    const file = report('memory', [job], ['--memory', folder]);
    const { tables } = JSON.parse(
        spawnSync(rankscope, ['memory', '--no-store', '--format', 'json', folder], { encoding: 'utf8' }).stdout,
    );
    const { page, complaints, close } = await openPage(browser, file);
    check(
        'the first finding leads',
        (await page.locator('#memory .lede').textContent()).startsWith(tables.findings[0].finding),
    );
    for (const [name, caption] of [
        ['ranks', 'Memory: Ranks'],
        ['oom', 'Memory: Allocations that failed'],
        ['fragmentation', 'Memory: Fragmentation at the end'],
    ]) {
        const rows = await readTable(page, caption);
        check(
            `${name} are those of the command`,
            JSON.stringify(rows?.map((r) => r.reserved_bytes ?? r.peak_active_bytes)) ===
                JSON.stringify(tables[name].map((r) => r.reserved_bytes ?? r.peak_active_bytes)),
            rows,
        );
    }
    const timeline = await readTable(page, 'Timeline');
    const peaks = tables.ranks[1];
    const drawn = (kind) => page.locator(`#memory .heldbox[data-${kind}]`).getAttribute(`data-${kind}`).then(Number);
    await page.locator('#memory canvas.flame').scrollIntoViewIfNeeded();
    check('the picture over time has its peak', (await drawn('most')) === peaks.peak_active_bytes);
    check('the blocks at the peak add up to it', (await drawn('active')) === peaks.peak_active_bytes, await drawn('active'));
    check('so do the stacks', Number(await page.locator('#memory .flamebox').getAttribute('data-total')) === peaks.peak_active_bytes);
    check(
        'the timeline of the fullest device keeps its extremes',
        timeline.length <= 1200 &&
            timeline.every((r) => r.rank === 1) &&
            Math.max(...timeline.map((r) => r.active_bytes)) === peaks.peak_active_bytes &&
            Math.max(...timeline.map((r) => r.reserved_bytes)) === peaks.peak_reserved_bytes,
        [timeline.length, peaks],
    );
    check('nothing complained', complaints.length === 0, complaints);
    await close();
});

await group('flight recorder and metrics', async () => {
    const folder = dumps(join(work, 'dumps'));
    const runs = [metrics(join(work, 'old'), 0), metrics(join(work, 'new'), 3)];
    const file = report(
        'extras',
        [job],
        ['--flight', folder, '--metrics', `old<b>=${runs[0]}`, '--metrics', `new=${runs[1]}`],
    );
    const flight = JSON.parse(
        spawnSync(rankscope, ['flight', '--format', 'json', folder], { encoding: 'utf8' }).stdout,
    );
    await everyWidth(browser, 'extras', file);
    const { page, complaints, close } = await openPage(browser, file);
    check('the dumps accuse rank 2', flight.verdict === 'rank_missing' && flight.culprits[0] === 2, flight.verdict);
    for (const id of ['verdict', 'flight'])
        check(
            `the verdict stands in ${id}`,
            (await page.locator(`#${id} .alarm`).textContent()).includes(flight.summary),
        );
    const proof = await page.locator('#flight .proof').textContent();
    check(
        'with its proof',
        flight.evidence.every((e) => proof.includes(e.text)),
    );
    const labels = [
        '--log-dir',
        runs[0],
        '--label',
        'old<b>',
        '--log-dir',
        runs[1],
        '--label',
        'new',
        '--reference',
        'old<b>',
        '--candidate',
        'new',
    ];
    const told = JSON.parse(
        execFileSync(
            rankscope,
            ['metrics', ...labels, '--output', join(work, 'out'), '--no-plots', '--format', 'json'],
            { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
        ),
    );
    for (const [caption, table] of [
        ['Comparison', 'comparison'],
        ['Runs', 'datasets'],
        ['Percentiles', 'percentiles'],
    ]) {
        const shown = await readTable(page, `Metrics: ${caption}`);
        const difference = sameRows(shown, told.tables[table]);
        check(
            `metrics, ${caption}: the command's numbers`,
            shown.length === told.tables[table].length && difference === null,
            difference ?? '',
        );
    }
    check('nothing complained', complaints.length === 0, complaints);
    await close();
});

await group('64 ranks', async () => {
    const folder = synth(join(build, 'rankscope-synth'), join(work, 'large'), [
        '--dp',
        '16',
        '--tp',
        '4',
        '--steps',
        '5',
        '--straggler',
        '3:1.35',
    ]);
    const file = report('large', [folder]);
    const size = statSync(file).size;
    check('less than 2 MB', size < 2e6, size);
    const once = readFileSync(file);
    for (const jobs of ['1', '3']) {
        const again = report(`large-${jobs}`, [folder], ['--jobs', jobs]);
        check(`the same bytes with --jobs ${jobs}`, once.equals(readFileSync(again)));
    }
    // The best of a few: other work on the machine is not the page's.
    let best = Infinity;
    for (let i = 0; i < 5; i += 1) {
        const { page, close } = await openPage(browser, file);
        const ready = await page.evaluate(() => Number(document.documentElement.dataset.ready));
        const click = await page.evaluate(async () => {
            const begin = performance.now();
            document.querySelector('#kernels th[data-column="count"] button').click();
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
            return performance.now() - begin;
        });
        best = Math.min(best, ready + click);
        await close();
    }
    check('interactive within a second', best < 1000, best);
    console.log(`64 ranks: ${size} bytes, from navigation to the answer to a click ${Math.round(best)} ms`);
    const { page, complaints, close } = await openPage(browser, file);
    await settle(page);
    await numbers(page, answer, [folder], () => true);
    check('nothing complained', complaints.length === 0, complaints);
    await close();
    await everyWidth(browser, '64 ranks', file);
});

// The recorded gloo job: rank 1 takes half as long again in the windows 16 to 21.
await group('a watched job', async () => {
    const traces = join(work, `watched ${HOSTILE[1].replaceAll('/', '')}`);
    const history = join(work, 'watched.db');
    mkdirSync(traces);
    execFileSync('tar', ['xzf', join(root, 'src/packs/watch/tests/data/gloo_slow.tgz'), '-C', traces, '--strip-components', '1']);
    const watch = (...more) => spawnSync(rankscope, ['watch', traces, '--history', history, '--once', '--settle', '0s', '--quiet', ...more], { encoding: 'utf8' });
    check('the change is found', watch().status === 1);
    const gone = join(traces, 'w020.rank3.json');
    rmSync(gone);
    const file = report('watched', [traces], ['--history', history]);
    const { page, complaints, close } = await openPage(browser, file);
    await settle(page);
    const tables = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).watch.tables);
    const rows = (name) => tables[name].rows.map((row) => Object.fromEntries(row.map((cell, i) => [tables[name].columns[i][0], cell])));
    const cells = rows('map');
    check('a cell a rank and window', cells.length === 4 * 26 && rows('columns').length === 26, cells.length);
    const late = cells.filter((c) => c.late_pct > 20);
    check('rank 1 is late in six windows', late.length === 6 && late.every((c) => c.rank === 1 && c.place >= 15 && c.place <= 20), late);
    const { ranks } = answer('summary', [0, 1, 2, 3].map((r) => join(traces, `w017.rank${r}.json`))).tables;
    const owns = ranks.map((r) => r.own_time_us).sort((a, b) => a - b);
    const expected = 100 * (ranks.find((r) => r.rank === 1).own_time_us / ((owns[1] + owns[2]) / 2) - 1);
    check('by as much as summary has it', Math.abs(cells.find((c) => c.place === 17 && c.rank === 1).late_pct - expected) < 0.01, expected);
    check('two maps', (await page.locator('#watch .chart[aria-label^="Map: "]').count()) === 2);
    const kept = rows('kept');
    check('windows with traces', kept.length === 26 && kept.every((k) => k.files === (k.window === 21 ? 3 : 4)), kept);
    const links = await page.locator('#watch a[href^="file://"]').evaluateAll((all) => all.map((a) => decodeURI(new URL(a.href).pathname)));
    check('a link to their folder', links.length === 1 && decodeURIComponent(links[0]) === `${traces}/`, links);
    const causes = await page.locator('#watch td', { hasText: 'Rank 1\u2019s host code' }).or(page.locator('#watch td', { hasText: "Rank 1's host code" })).count();
    check('the cause', causes === 3, causes);
    check('nothing complained', complaints.length === 0, complaints);
    await close();
    await everyWidth(browser, 'a watched job', file);
    check('a history that is not there is no new one', spawnSync(rankscope, ['report', '-o', file, '--history', `${history}.none`]).status === 3);
});

await group('three months of 4096 ranks', async () => {
    const history = join(work, 'months.db');
    execFileSync('python3', [join(root, 'src/packs/watch/tests/live/make_history.py'), rankscope, history, '4096', '360', '21600', '777', '200', '240']);
    const file = report('months', [], ['--history', history]);
    const size = statSync(file).size;
    check('less than 2 MB', size < 2e6, size);
    const { page, complaints, close } = await openPage(browser, file);
    const tables = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).watch.tables);
    check('a column a day', tables.columns.rows.length === 91, tables.columns.rows.length);
    check('128 rows', tables.map.rows.length === 91 * 128 && tables.map.total === 91 * 128, tables.map.total);
    const late = tables.map.rows.filter((row) => row[3] > 20);
    check('the slow rank, while it was slow', late.length === 11 && late.every((row) => row[1] === 768 && row[2] === 777), late);
    check('nothing complained', complaints.length === 0, complaints);
    await close();
    console.log(`4096 ranks, 360 windows: ${size} bytes`);
});

await browser.close();
rmSync(work, { recursive: true, force: true });
finish();
