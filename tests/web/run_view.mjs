// The entry page of `rankscope view` in a browser, with a stand-in for the viewer: node run_view.mjs BUILD
//
// BUILD is a build folder: rankscope and rankscope-synth in it, and web/node_modules with playwright-core.
// The last line is "N passed, N failed". RANKSCOPE_CHROMIUM names another browser than /usr/bin/chromium.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { check, finish, group, openBrowser } from './harness.mjs';

const build = resolve(process.argv[2] ?? 'build');
const work = mkdtempSync(join(tmpdir(), 'rankscope-view-'));
const job = join(work, 'job');
const browser = await openBrowser(join(build, 'web'));
const PATIENCE = 30000;

// ---- the stand-in ------------------------------------------------------------------------------------------

// Behaves as Perfetto's UI does: answers PING with PONG once it has loaded, to who opened it, and takes one trace.
// ?late: as if loading took long; ?mute: never answers; ?chatty: answers each PING thrice.
const STAND_IN = `<!DOCTYPE html><title>stand-in</title><link rel="icon" href="data:,"><script>
const mode = location.search;
window.heard = []; window.traces = [];
const listen = () => addEventListener('message', async (event) => {
  heard.push({ origin: event.origin, data: typeof event.data === 'string' ? event.data : Object.keys(event.data) });
  if (event.source !== window.opener || mode === '?mute') return;
  if (event.data === 'PING') {
    for (let i = 0; i < (mode === '?chatty' ? 3 : 1); i += 1) event.source.postMessage('PONG', event.origin);
    return;
  }
  if (!event.data.perfetto) return;
  const { buffer, ...rest } = event.data.perfetto;
  const bytes = new Uint8Array(buffer);
  let text = '';
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  traces.push({ ...rest, isBuffer: buffer instanceof ArrayBuffer, base64: btoa(text) });
});
if (mode === '?late') setTimeout(listen, 700); else listen();
// by its address: #!/?url=..., as the UI fetches a trace itself
const url = new URLSearchParams(location.hash.replace(/^#!\\//, '')).get('url');
if (url) fetch(url).then((r) => r.arrayBuffer()).then((b) => { window.fetched = b.byteLength; }, (e) => { window.fetched = String(e); });
</script>`;

const standIn = createServer((request, response) => {
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(STAND_IN);
});
standIn.listen(0, '127.0.0.1');
await once(standIn, 'listening');
const ORIGIN = `http://127.0.0.1:${standIn.address().port}`;

// ---- the server --------------------------------------------------------------------------------------------

const env = { ...process.env };
delete env.DISPLAY;
delete env.WAYLAND_DISPLAY;

async function serve(words, work_) {
  const child = spawn(join(build, 'rankscope'), ['view', '--perfetto', '--no-open', ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (part) => { errors += part; });
  const ended = once(child, 'exit');
  const first = await Promise.race([once(child.stdout, 'data').then(([part]) => String(part)), ended.then(() => '')]);
  try {
    if (check('view starts', first !== '', errors)) await work_(first.trim(), errors);
  } finally {
    child.kill('SIGTERM'); // SIGINT stays ignored where a shell runs these tests in the background
    const [code] = await ended;
    check('it ends with 0', code === 0, code);
  }
}

async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  const listen = (p) => {
    p.on('console', (message) => {
      // said by the browser while the viewer's window is still empty
      if (['error', 'warning'].includes(message.type()) && !/target origin provided/.test(message.text()))
        complaints.push(`${message.type()}: ${message.text()}`);
    });
    p.on('pageerror', (error) => complaints.push(`exception: ${error.message}`));
    p.on('dialog', (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  };
  listen(page);
  await page.goto(address);
  return { page, context, complaints, close: () => context.close() };
}

async function press(page, context) {
  const [viewer] = await Promise.all([context.waitForEvent('page'), page.getByRole('button', { name: 'Open in the trace viewer' }).click()]);
  return viewer;
}

const says = (page, wanted) => page.waitForFunction((text) => document.getElementById('status').textContent.includes(text), wanted, { timeout: PATIENCE });
const unpack = (base64) => JSON.parse(gunzipSync(Buffer.from(base64, 'base64')));

// ---- checks ------------------------------------------------------------------------------------------------

spawnSync(join(build, 'rankscope-synth'), ['--out', job, '--dp', '2', '--tp', '1', '--no-truth']);
const canServe = !/libevent/.test(spawnSync(join(build, 'rankscope'), ['view', '--perfetto', '--port', '0', join(work, 'nothing')], { encoding: 'utf8' }).stderr);

async function everything() {
  await group('the trace is handed over', () => serve(['--port', '0', '--ui', `${ORIGIN}/`, job], async (address) => {
    const { page, context, complaints, close } = await open(address);
    check('title', (await page.title()) === 'job - rankscope view', await page.title());
    check('what it is', /^2 ranks, [\d ]+ events in the trace\.$/.test(await page.locator('.lead').textContent()), await page.locator('.lead').textContent());
    const viewer = await press(page, context);
    await says(page, 'The viewer has the trace.');
    await viewer.waitForFunction(() => window.traces.length > 0);
    const [trace] = await viewer.evaluate(() => window.traces);
    check('an ArrayBuffer', trace.isBuffer);
    check('its title and file name', trace.title === 'job' && trace.fileName === 'trace.json.gz', [trace.title, trace.fileName]);
    check('nothing that could be shared', trace.url === undefined);
    const json = unpack(trace.base64);
    check('a trace of both ranks', new Set(json.traceEvents.map((e) => e.args.rank)).size === 2 && json.traceEvents.length > 1000, json.traceEvents.length);
    const heard = await viewer.evaluate(() => window.heard);
    check('everything comes from our origin', heard.every((h) => h.origin === new URL(address).origin), heard);
    await page.waitForTimeout(500);
    const after = await viewer.evaluate(() => window.heard.length);
    check('nothing is sent afterwards', after === heard.length, [after, heard.length]);
    // once more, into another window
    const second = await press(page, context);
    await second.waitForFunction(() => window.traces.length > 0);
    check('it can be opened again', (await second.evaluate(() => window.traces[0].base64)) === trace.base64);
    check('nothing complained', complaints.length === 0, complaints);
    await close();
  }));

  for (const mode of ['late', 'chatty'])
    await group(`a viewer that is ${mode}`, () => serve(['--port', '0', '--no-report', '--ui', `${ORIGIN}/?${mode}`, job], async (address) => {
      const { page, context, complaints, close } = await open(address);
      const viewer = await press(page, context);
      await says(page, 'The viewer has the trace.');
      await viewer.waitForFunction(() => window.traces.length > 0);
      await page.waitForTimeout(300);
      check('one trace', (await viewer.evaluate(() => window.traces.length)) === 1);
      check('nothing complained', complaints.length === 0, complaints);
      await close();
    }));

  await group('a viewer that is closed', () => serve(['--port', '0', '--no-report', '--ui', `${ORIGIN}/?mute`, job], async (address) => {
    const { page, context, close } = await open(address);
    const viewer = await press(page, context);
    await viewer.waitForFunction(() => window.heard.length > 1);
    check('no trace without PONG', (await viewer.evaluate(() => window.traces.length)) === 0);
    await says(page, 'Waiting for the viewer');
    check('the button rests', await page.locator('#open').isDisabled());
    await viewer.close();
    await says(page, 'closed before it was ready');
    check('the button works again', await page.locator('#open').isEnabled());
    await close();
  }));

  await group('only the viewer gets it', () => serve(['--port', '0', '--no-report', '--ui', `${ORIGIN}/?mute`, job], async (address) => {
    const { page, context, close } = await open(address);
    // a frame of the viewer's origin is not the viewer's window, and a PONG of another origin is none
    const viewer = await press(page, context);
    await viewer.waitForFunction(() => window.heard.length > 0);
    await page.evaluate(() => window.postMessage('PONG', '*'));
    await page.waitForTimeout(400);
    check('our own PONG is none', (await viewer.evaluate(() => window.traces.length)) === 0);
    await viewer.goto(`http://localhost:${standIn.address().port}/`);
    await page.waitForTimeout(600);
    check('a window that went elsewhere hears nothing', (await viewer.evaluate(() => window.heard.length)) === 0);
    await close();
  }));

  await group('pop-ups that are blocked, a server that is gone', () => serve(['--port', '0', '--no-report', '--ui', `${ORIGIN}/`, job], async (address) => {
    const { page, complaints, close } = await open(address);
    await page.evaluate(() => { window.open = () => null; });
    await page.locator('#open').click();
    await says(page, 'allow pop-ups');
    check('nothing complained', complaints.length === 0, complaints);
    await close();
    const context = await browser.newContext();
    const other = await context.newPage();
    await other.route('**/trace.json.gz', (route) => route.abort());
    await other.goto(address);
    await says(other, 'does rankscope view still run?');
    await other.unroute('**/trace.json.gz');
    const viewer = await press(other, context);
    await viewer.waitForFunction(() => window.traces.length > 0);
    check('it is fetched again', true);
    await context.close();
  }));

  await group('the report', () => serve(['--port', '0', job], async (address) => {
    const { page, complaints, close } = await open(address);
    const link = page.getByRole('link', { name: 'Read the report' });
    if (check('a link to it', (await link.count()) === 1)) {
      await link.click();
      await page.waitForFunction(() => document.documentElement.dataset.ready !== undefined, null, { timeout: PATIENCE });
      await page.getByRole('link', { name: /open the trace/i }).first().click();
      await page.waitForURL(address);
      check('and back', true);
    }
    check('nothing complained under its policy', complaints.length === 0, complaints);
    await close();
  }));

  await group('other origins', () => serve(['--port', '0', '--no-report', '--ui', ORIGIN, job], async (address) => {
    const trace = `${address}trace.json.gz`;
    const ui = await open(`${ORIGIN}/#!/?url=${encodeURIComponent(trace)}`);
    await ui.page.waitForFunction(() => window.fetched !== undefined);
    check('the viewer can fetch it by its address', (await ui.page.evaluate(() => window.fetched)) > 1000, await ui.page.evaluate(() => window.fetched));
    await ui.close();
    const other = await open(`http://localhost:${standIn.address().port}/#!/?url=${encodeURIComponent(trace)}`);
    await other.page.waitForFunction(() => window.fetched !== undefined);
    check('nobody else can', typeof (await other.page.evaluate(() => window.fetched)) === 'string');
    const framed = await other.page.evaluate((src) => new Promise((done) => {
      const frame = document.createElement('iframe');
      frame.onload = () => setTimeout(() => { try { done(frame.contentDocument ? 'readable' : 'opaque'); } catch { done('opaque'); } }, 200);
      frame.src = src;
      document.body.append(frame);
    }), address);
    check('nobody can frame it', framed === 'opaque', framed);
    await other.close();
  }));

  await group('looks', async () => {
    const name = `${'<b onclick="alert(1)">&amp;'.replace(/[/]/g, '')}${'long'.repeat(40)}.json`;
    const path = join(work, name);
    writeFileSync(path, JSON.stringify({ traceEvents: [{ ph: 'X', cat: 'kernel', name: '<img src=x onerror=alert(1)>', pid: 0, tid: 7, ts: 1, dur: 2 }] }));
    for (const [kind, paths] of [['job', [job]], ['hostile', [path]]])
      await serve(['--port', '0', '--max-events', '3000', '--ui', `${ORIGIN}/`, ...paths], async (address) => {
        for (const colorScheme of ['light', 'dark'])
          for (const width of [360, 1280]) {
            const { page, complaints, close } = await open(address, { colorScheme, viewport: { width, height: 800 } });
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            check(`${kind}, ${width} wide: nothing sticks out`, wide <= width, wide);
            if (kind === 'hostile') check('a name is text', (await page.locator('h1').textContent()).startsWith('<b onclick="alert(1)">&amp;long'));
            check(`${kind}, ${width} wide: nothing complained`, complaints.length === 0, complaints);
            if (process.env.RANKSCOPE_SHOTS) await page.screenshot({ path: join(process.env.RANKSCOPE_SHOTS, `view-${kind}-${colorScheme}-${width}.png`) });
            await close();
          }
        const { page, close } = await open(address);
        await page.keyboard.press('Tab');
        check(`${kind}: the keyboard reaches the button first`, (await page.evaluate(() => document.activeElement.id)) === 'open');
        check(`${kind}: news are announced`, (await page.locator('#status').getAttribute('aria-live')) === 'polite');
        await close();
      });
  });
}

if (canServe) await everything();
else console.log('left out: this build has no libevent');
await browser.close();
standIn.close();
rmSync(work, { recursive: true, force: true });
finish();
