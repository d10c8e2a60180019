// Counts checks and opens pages in a browser that may reach nothing.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const CHROMIUM = process.env.RANKSCOPE_CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-dev-shm-usage',
];

let passed = 0;
let failed = 0;

export function check(what, good, detail) {
    if (good) passed += 1;
    else {
        failed += 1;
        console.log(
            `FAILED: ${what}${detail === undefined ? '' : `: ${typeof detail === 'string' ? detail : JSON.stringify(detail)}`.slice(0, 1500)}`,
        );
    }
    return good;
}

// Runs a group of checks; one that breaks off is a failure, not the end.
export async function group(name, work) {
    console.log(`== ${name}`);
    try {
        await work();
    } catch (error) {
        check(`${name} runs to its end`, false, error.stack ?? String(error));
    }
}

// Reads until the value is good, and returns the last one: what a page shows a little later is no failure, whatever else the machine does.
export async function until(read, good, patience = 20000) {
    const end = Date.now() + patience;
    for (;;) {
        const value = await read();
        if (good(value) || Date.now() > end) return value;
        await new Promise((done) => setTimeout(done, 50));
    }
}

export function finish() {
    console.log(`${passed} passed, ${failed} failed`);
    process.exitCode = failed ? 1 : 0;
}

export async function openBrowser(modules) {
    const { chromium } = createRequire(pathToFileURL(join(modules, 'package.json')))('playwright-core');
    return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

// A page of the file in a fresh context. complaints: console errors, exceptions, dialogs and requests.
export async function openPage(browser, file, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    const complaints = [];
    page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`));
    page.on('request', (request) => {
        if (request.url() !== pathToFileURL(file).href) complaints.push(`request: ${request.url().slice(0, 200)}`);
    });
    page.on('dialog', (dialog) => {
        complaints.push(`dialog: ${dialog.message()}`);
        dialog.dismiss();
    });
    await page.goto(pathToFileURL(file).href);
    await page.waitForFunction(() => document.documentElement.dataset.ready !== undefined, null, { timeout: 20000 });
    return { page, complaints, close: () => context.close() };
}

// All rows of the table with that caption, as the page has them: [{column: value}]. Opens what is folded, takes
// every rank and shows every row.
export async function readTable(page, caption) {
    await page.evaluate((wanted) => {
        for (const fold of document.querySelectorAll('details.fold')) fold.open = true;
        return wanted;
    }, caption);
    await page.waitForTimeout(0);
    return page.evaluate(async (wanted) => {
        await new Promise((done) => setTimeout(done, 0));
        const region = [...document.querySelectorAll('.scroll')].find((r) => r.getAttribute('aria-label') === wanted);
        if (!region) return null;
        const block = region.closest('.table');
        const rank = block.querySelector('.tools select');
        if (rank && rank.value !== '') {
            rank.value = '';
            rank.dispatchEvent(new Event('change'));
        }
        const all = [...block.querySelectorAll('.tools button')].find((b) => /^Show all/.test(b.textContent));
        if (all && !all.hidden) all.click();
        const names = [...region.querySelectorAll('thead th')].map((th) => th.dataset.column);
        const texts = [...region.querySelectorAll('thead th')].map((th) => th.classList.contains('text'));
        const rows = [];
        for (const tr of region.querySelectorAll('tbody tr')) {
            const row = {};
            [...tr.children].forEach((cell, i) => {
                const long = cell.querySelector('details.long');
                if (cell.dataset.v === '') row[names[i]] = null;
                else if (!texts[i]) row[names[i]] = Number(cell.dataset.v);
                else if (cell.querySelector('.unknown')) row[names[i]] = '';
                else row[names[i]] = long ? null : cell.textContent;
                if (long) row[names[i]] = { long };
            });
            rows.push(row);
        }
        // Long names give their text when they are opened.
        for (const row of rows) for (const [key, value] of Object.entries(row)) if (value?.long) value.long.open = true;
        await new Promise((done) => setTimeout(done, 20));
        for (const row of rows)
            for (const [key, value] of Object.entries(row))
                if (value?.long) row[key] = value.long.querySelector('.full').textContent;
        return rows;
    }, caption);
}

// As the page shows characters that turn or hide text.
export const visible = (text) =>
    text.replace(
        /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
        (c) => `\u2039U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}\u203a`,
    );
