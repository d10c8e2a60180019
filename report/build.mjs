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

const script = checked(
    (await bundle('src/main.js')).replaceAll('<!--', '<\\!--').replaceAll('</script', '<\\/script'),
    'script',
);
const style = checked(await bundle('src/style.css'), 'style');
const hash = createHash('sha256').update(script).digest('base64');
const page = replaceAllIn(await readFile(join(sources, 'page.html'), 'utf8'), {
    '/*STYLE*/': style,
    '/*SCRIPT*/': script,
    SCRIPT_HASH: `'sha256-${hash}'`,
    LICENCES: await licences(),
});

const at = page.indexOf(DATA);
if (at < 0) throw new Error(`page.html has no ${DATA}`);
const head = Buffer.from(page.slice(0, at));
const bytes = Buffer.concat([head, Buffer.from(page.slice(at + DATA.length))]);
const rows = [];
for (let i = 0; i < bytes.length; i += 64) rows.push(bytes.subarray(i, i + 64).join(','));
await writeFile(
    output,
    `/* Made by report/build.mjs. */
#include "report/page.h"

const size_t rs_report_head_size = ${head.length}, rs_report_page_size = ${bytes.length};
const unsigned char rs_report_page[] = {
${rows.join(',\n')}};
`,
);
