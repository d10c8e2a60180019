// What is true of every page: the commands' numbers, and its form at any width and in both colours.
import { check, openPage, readTable, visible } from './harness.mjs';

// ---- numbers -------------------------------------------------------------------------------------------

// Caption on the page, command, table; what the page holds fewer rows of than the command prints is cut by order.
const TABLES = [
    ['Time of each rank', 'breakdown', 'breakdown'],
    ['Communication of each rank', 'overlap', 'overlap'],
    ['Steps', 'steps', 'steps'],
    ['Slowdown of each rank', 'whatif', 'workers', ['--map']],
    ['Idle time of each rank', 'summary', 'ranks'],
    ['Gaps on each stream', 'idle', 'idle'],
    ['Kernels of each rank', 'kernels', 'kernels', ['--top', '40', '--duration-ratio', '1']],
    ['Operators over ranks', 'ops', 'across'],
    ['Operators of each rank', 'ops', 'ops'],
    ['Phases of each rank', 'modules', 'phases'],
    ['Short kernels and gaps of each rank', 'fragments', 'fragments'],
    ['Operators under the roofline', 'roofline', 'args'],
    ['Matrix products at their best rate', 'roofline', 'gemms'],
    ['Rates of the devices', 'roofline', 'roofs'],
    ['MFU of each step', 'mfu', 'mfu'],
    ['Launching calls of each rank', 'launches', 'launches'],
    ['Queue of each stream', 'queue', 'queue'],
    ['Collectives by kind and size', 'collectives', 'summary'],
    ['Collectives with their late ranks', 'collectives', 'collectives'],
    ['Lateness of each rank', 'collectives', 'lateness'],
    ['Waits of ranks for ranks', 'collectives', 'waits'],
    ['Paths of calls', 'tree', 'across', ['--across', '--depth', '24']],
    ['Waiting by kind', 'blame', 'totals'],
    ['Shares of the waiting', 'blame', 'blame'],
    ['Clocks of the ranks', 'clocks', 'clocks'],
    ['Ranks and their files', 'info', 'ranks'],
];

// The same rows, whatever their order: compared over the columns that the page shows.
export function sameRows(shown, rows) {
    const columns = Object.keys(shown[0] ?? {});
    const key = (row) =>
        JSON.stringify(
            columns.map((c) =>
                typeof row[c] === 'string'
                    ? visible(row[c]).replace(/ \([\d\u202f]+ more names\)$/, '')
                    : (row[c] ?? null),
            ),
        );
    const left = new Map();
    for (const row of rows) left.set(key(row), (left.get(key(row)) ?? 0) + 1);
    for (const row of shown) {
        const k = key(row);
        if (!left.get(k)) return `not among the command's rows: ${k}`;
        left.set(k, left.get(k) - 1);
    }
    return null;
}

export async function numbers(page, answer, paths, wanted) {
    for (const [caption, command, table, options] of TABLES) {
        const rows = answer(command, paths, options).tables[table];
        const shown = await readTable(page, caption);
        if (!wanted(caption, rows)) continue;
        if (!check(`${caption}: is on the page`, shown !== null)) continue;
        const difference = sameRows(shown, rows);
        check(`${caption}: the command's numbers`, difference === null, difference ?? '');
        const cut = await page.evaluate(
            (c) =>
                [...document.querySelectorAll('.scroll')]
                    .find((r) => r.getAttribute('aria-label') === c)
                    .closest('.table')
                    .querySelector('.cut')?.textContent ?? null,
            caption,
        );
        if (cut === null)
            check(`${caption}: all rows`, shown.length === rows.length, `${shown.length} of ${rows.length}`);
        else {
            const digits = cut.replaceAll('\u202f', '');
            check(`${caption}: says that it is cut`, digits.includes(`${shown.length} of ${rows.length}`), cut);
            const least = Math.min(...shown.map((row) => row.sum_wait_us));
            check(
                `${caption}: keeps the largest`,
                rows.filter((row) => row.sum_wait_us > least).length < shown.length + 1,
            );
        }
    }
    const findings = answer('summary', paths).tables.findings.map((row) => visible(row.finding));
    const seen = await page.$$eval('.findings li > .sentence', (items) => items.map((item) => item.textContent));
    check('findings of summary', JSON.stringify(findings) === JSON.stringify(seen), { findings, seen });
    const text = await page.textContent('#recording');
    for (const row of answer('doctor', paths)
        .tables.findings.filter((r) => r.severity !== 'ok')
        .slice(0, 20))
        check(`doctor: ${row.finding}`, text.includes(visible(row.finding)));
}

// ---- every page ----------------------------------------------------------------------------------------

const structure = () => {
    const wrong = [];
    const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
    if (new Set(ids).size !== ids.length) wrong.push('an id stands twice');
    if (document.querySelectorAll('h1').length !== 1) wrong.push('not one h1');
    let level = 1;
    for (const heading of document.querySelectorAll('h1, h2, h3, h4')) {
        if (Number(heading.tagName[1]) > level + 1) wrong.push(`heading skips a level: ${heading.textContent}`);
        level = Number(heading.tagName[1]);
    }
    for (const table of document.querySelectorAll('table')) {
        if (!table.caption?.textContent) wrong.push('a table without a caption');
        if ([...table.querySelectorAll('th')].some((th) => !th.scope)) wrong.push('a table head without a scope');
    }
    for (const chart of document.querySelectorAll('.chart')) {
        if (chart.getAttribute('role') !== 'img' || !(chart.getAttribute('aria-label')?.length > 20))
            wrong.push('a chart without a description');
        if (!chart.closest('section').querySelector('details.fold, table'))
            wrong.push(`a chart without its table: ${chart.getAttribute('aria-label')}`);
    }
    for (const control of document.querySelectorAll('button, select, input, a'))
        if (!control.hidden && !(control.textContent.trim() || control.getAttribute('aria-label')))
            wrong.push(`a nameless ${control.tagName}`);
    for (const part of document.querySelectorAll('main > section'))
        if (!document.getElementById(part.getAttribute('aria-labelledby')))
            wrong.push(`section ${part.id} has no name`);
    for (const link of document.querySelectorAll('a[href^="#"]'))
        if (!document.querySelector(link.getAttribute('href')))
            wrong.push(`a link to nowhere: ${link.getAttribute('href')}`);
    const text = ['head', 'main', 'foot'].map((id) => document.getElementById(id).textContent).join(' ');
    if (/undefined|NaN|\[object|Infinity/.test(text)) wrong.push('a value that is none');
    if (!document.documentElement.lang || !document.title) wrong.push('no language or title');
    return wrong;
};

// Contrast of text with what is behind it, for every text that is seen; the worst of them.
const worstContrast = () => {
    const parse = (c) => c.match(/[\d.]+/g).map(Number);
    const light = (c) =>
        c
            .slice(0, 3)
            .map((v) => v / 255)
            .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    let worst = [99, ''];
    for (const element of document.querySelectorAll('header *, main *, footer *')) {
        if (
            element.closest('.chart') ||
            !element.checkVisibility() ||
            ![...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim())
        )
            continue;
        let behind = element;
        while (behind && parse(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
        const [a, b] = [
            light(parse(getComputedStyle(element).color)),
            light(parse(getComputedStyle(behind ?? document.documentElement).backgroundColor)),
        ];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < worst[0]) worst = [ratio, `${element.className} "${element.textContent.slice(0, 40)}"`];
    }
    return worst;
};

export async function settle(page) {
    await page.waitForFunction(() => [...document.querySelectorAll('.chart')].every((c) => c.firstElementChild), null, {
        timeout: 20000,
    });
}

export async function everyWidth(browser, name, file) {
    for (const [width, colorScheme] of [
        [1280, 'light'],
        [1280, 'dark'],
        [390, 'light'],
        [320, 'dark'],
    ]) {
        const opened = await openPage(browser, file, { viewport: { width, height: 800 }, colorScheme });
        const { page } = opened;
        await settle(page);
        const label = `${name}, ${width} px, ${colorScheme}`;
        check(
            `${label}: nothing is wider than the screen`,
            await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
            await page.evaluate(() => document.documentElement.scrollWidth),
        );
        check(`${label}: colours`, (await page.evaluate(() => document.documentElement.dataset.theme)) === colorScheme);
        const [ratio, where] = await page.evaluate(worstContrast);
        check(`${label}: contrast`, ratio >= 4.5, `${ratio.toFixed(2)} ${where}`);
        const wrong = await page.evaluate(structure);
        check(`${label}: structure`, wrong.length === 0, wrong);
        check(
            `${label}: charts fit`,
            await page.evaluate(() =>
                [...document.querySelectorAll('.chart')].every(
                    (c) => c.clientWidth > 100 && c.scrollWidth <= c.clientWidth + 1,
                ),
            ),
        );
        check(`${label}: nothing complained, nothing fetched`, opened.complaints.length === 0, opened.complaints);
        await opened.close();
    }
}
