// Bundles the page: node build.mjs SOURCES OUTPUT.c
//
// Script and styles are bundled into page.html; where its data marker stands the page is parted. What comes out
// is a C file with the bytes of both parts. The script's hash goes into the page's content security policy, so
// nothing else can run in it. Runs in the folder that holds node_modules.
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const [sources, output] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const DATA = '<!--DATA-->';

async function bundle(entry, loader) {
    const result = await build({
        absWorkingDir: sources,
        entryPoints: [entry],
        bundle: true,
        minify: true,
        write: false,
        format: 'iife',
        target: ['chrome100', 'firefox100', 'safari15'],
        charset: 'utf8',
        legalComments: 'none', // the licences stand in the page by themselves
        nodePaths: [join(here, 'node_modules')],
        define: { 'process.env.NODE_ENV': '"production"' },
        loader,
        logLevel: 'warning',
    });
    return result.outputFiles[0].text.trim();
}

// Must not end the element it stands in.
function checked(text, element) {
    if (new RegExp(`</${element}|<!--`, 'i').test(text)) throw new Error(`the ${element} holds what would end it`);
    return text;
}

async function licences() {
    const parts = [];
    for (const [name, files] of [
        ['echarts', ['NOTICE']],
        ['zrender', ['LICENSE']],
    ]) {
        for (const file of files) {
            const text = await readFile(join(here, 'node_modules', name, file), 'utf8');
            parts.push(`${name}\n${text.trim()}`);
        }
    }
    return parts.join('\n\n').replaceAll('--', '- -');
}

const replaceAllIn = (text, values) =>
    Object.entries(values).reduce((page, [mark, value]) => {
        if (page.split(mark).length !== 2) throw new Error(`page.html: ${mark} must stand in it once`);
        return page.split(mark).join(value);
    }, text);

// A page with its script and style in it.
async function assemble(template, entry, css, more = {}) {
    const script = checked(
        (await bundle(entry)).replaceAll('<!--', '<\\!--').replaceAll('</script', '<\\/script'),
        'script',
    );
    return replaceAllIn(await readFile(join(sources, template), 'utf8'), {
        '/*STYLE*/': checked(await bundle(css), 'style'),
        '/*SCRIPT*/': script,
        SCRIPT_HASH: `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
        ...more,
    });
}

function asRows(bytes) {
    const rows = [];
    for (let i = 0; i < bytes.length; i += 64) rows.push(bytes.subarray(i, i + 64).join(','));
    return rows.join(',\n');
}

const page = await assemble('page.html', 'src/main.js', 'src/style.css', { LICENCES: await licences() });
const explorer = Buffer.from(await assemble('explorer.html', 'src/explorer/main.js', 'src/explorer/style.css'));
const at = page.indexOf(DATA);
if (at < 0) throw new Error(`page.html has no ${DATA}`);
const head = Buffer.from(page.slice(0, at));
const bytes = Buffer.concat([head, Buffer.from(page.slice(at + DATA.length))]);
await writeFile(
    output,
    `/* Made by report/build.mjs. */
#include "report/page.h"

const size_t rs_report_head_size = ${head.length}, rs_report_page_size = ${bytes.length};
const unsigned char rs_report_page[] = {
${asRows(bytes)}};
const size_t rs_explorer_page_size = ${explorer.length};
const unsigned char rs_explorer_page[] = {
${asRows(explorer)}};
`,
);
