// Hands the trace to the viewer's window. A window that is still loading drops messages, so PING goes out until
// the viewer says PONG; only its origin and only that very window is spoken to and heard.
'use strict';
(() => {
  const PING_MS = 100;
  const PATIENCE_MS = 60000;
  const { viewer: address, origin, title, file } = document.body.dataset;
  const button = document.getElementById('open');
  const status = document.getElementById('status');

  function say(text, failed = false) {
    status.textContent = text;
    status.classList.toggle('failed', failed);
  }

  async function load() {
    const answer = await fetch(file);
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    return answer.arrayBuffer();
  }

  // Fetched before it is asked for: a window may be opened only right after a click.
  let trace = null;
  function fetchTrace() {
    trace = trace || load().catch((error) => {
      trace = null;
      throw new Error(`the trace cannot be fetched (${error.message}): does rankscope view still run?`);
    });
    return trace;
  }

  function ready(viewer) {
    return new Promise((resolve, reject) => {
      const begin = performance.now();
      const timer = setInterval(() => {
        if (viewer.closed) end(reject, new Error('the viewer was closed before it was ready'));
        else if (performance.now() - begin > PATIENCE_MS)
          end(reject, new Error(`${origin} does not answer: can this browser reach it?`));
        else viewer.postMessage('PING', origin);
      }, PING_MS);
      function hear(event) {
        if (event.source === viewer && event.origin === origin && event.data === 'PONG') end(resolve);
      }
      function end(settle, value) {
        clearInterval(timer);
        window.removeEventListener('message', hear);
        settle(value);
      }
      window.addEventListener('message', hear);
    });
  }

  async function handOver(viewer) {
    button.disabled = true;
    try {
      say('Waiting for the viewer ...');
      const [buffer] = await Promise.all([fetchTrace(), ready(viewer)]);
      viewer.postMessage({ perfetto: { buffer, title, fileName: file } }, origin);
      say('The viewer has the trace.');
    } catch (error) {
      say(`Not handed over: ${error.message}`, true);
    }
    button.disabled = false;
  }

  button.addEventListener('click', () => {
    const viewer = window.open(address, '_blank');
    if (viewer) handOver(viewer);
    else say('The browser keeps the window from opening: allow pop-ups for this page, then press again.', true);
  });
  fetchTrace().catch((error) => say(error.message, true));
})();
