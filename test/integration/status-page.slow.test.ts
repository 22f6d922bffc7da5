import { once } from 'node:events';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failed, refusedKey } from '../../src/tools/simulator/faults.ts';
import { newestBlock, unknownTransaction } from '../e2e/questions.ts';
import { World } from '../e2e/world.ts';
import { debianProgram } from '../support/apt.ts';
import { startProxy } from '../support/start-proxy.ts';

const PATIENT = { timeout: 30_000 };

describe('the status page in Chromium', () => {
  let browser: Browser;
  let world: World;
  let page: Page;
  let complaints: string[];
  let hosts: Set<string>;

  beforeAll(async () => {
    const executablePath = await debianProgram('chromium', 'chromium');
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    // Chromium may have to be installed first.
  }, 600_000);
  afterAll(() => browser?.close());

  beforeEach(async () => {
    world = await World.start({ dialect: '1.3', tiers: 'memory and Redis' });
    page = await browser.newPage({ viewport: { width: 1200, height: 1000 } });
    complaints = [];
    hosts = new Set();
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => hosts.add(new URL(request.url()).host));
    await page.goto(world.proxy.adminUrl);
  });
  afterEach(async () => {
    await page?.close();
    await world?.[Symbol.asyncDispose]();
  });

  async function load(times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      await Promise.all(Array.from({ length: 8 }, () => world.ask(newestBlock(world))));
      await world.ask(unknownTransaction());
    }
  }

  it('updates its numbers under load, without errors and without requests to other hosts', async () => {
    const tile = (name: string) => page.locator('#tiles div', { hasText: name }).locator('dd').textContent();
    const before = await tile('Entries');
    await load(20);
    await expect.poll(() => page.locator('#connection').textContent(), PATIENT).toBe('live');
    await expect.poll(() => tile('Entries'), PATIENT).not.toBe(before);
    await expect.poll(() => tile('Hit ratio'), PATIENT).toMatch(/^[1-9][0-9]?\.\d %$/);
    await expect.poll(() => page.locator('#keys tbody tr').count(), PATIENT).toBeGreaterThan(0);
    await expect.poll(() => page.locator('#keys').textContent(), PATIENT).toContain('masterchainBlockShards?seqno=');
    await expect.poll(() => tile('Redis'), PATIENT).toBe('connected');
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(world.proxy.adminUrl).host]);
  });

  it('shows the first line, the last hour, what happened, the flow, indexers, operations, tiles and charts', async () => {
    const { url } = world.indexer;
    await using second = await startProxy({ upstreamUrl: `${url},${url.replace('127.0.0.1', 'localhost')}` });
    await page.goto(second.adminUrl);
    await expect.poll(() => page.locator('#indexers tbody tr').count(), PATIENT).toBe(2);
    const parts = [
      '#verdict',
      '#hour',
      '#happened',
      '#flow',
      '#saved',
      '#indexers',
      '#operations',
      '#tiles',
      '#chart-requests',
      '#explain',
    ];
    const tops = [];
    for (const part of parts) tops.push((await page.locator(part).boundingBox())?.y ?? Number.NaN);
    expect(tops).toEqual(tops.toSorted((a, b) => a - b));
    const columns = await page.locator('#flow h2').allTextContents();
    expect(columns).toEqual(['Clients', 'toncache', 'Indexers']);
    await expect.poll(() => page.locator('#flow-indexers .box').count(), PATIENT).toBe(2);
  });

  it('has all its texts inside a landmark', async () => {
    await expect.poll(() => page.locator('#saved').textContent(), PATIENT).toMatch(/^Nothing (has been|was) answered/);
    await load(5);
    await expect.poll(() => page.locator('#keys tbody tr').count(), PATIENT).toBeGreaterThan(0);
    const outside = await page.evaluate(
      `[...document.querySelectorAll('body *')].filter((each) => each.childElementCount === 0 && each.textContent.trim() !== '' && each.closest('header, main, script') === null).map((each) => each.id || each.tagName)`,
    );
    expect(outside).toEqual([]);
    await expect
      .poll(() => page.locator('main #saved').textContent(), PATIENT)
      .toMatch(/^Saved [\d,]+ of [\d,]+ requests in the last [\d.]+ \w+; no response was older than an earlier one\.$/);
  });

  it.each([1280, 1920])('fills a width of %i with one row of the flow and one of tiles', async (width) => {
    await page.setViewportSize({ width, height: 900 });
    await load(5);
    await expect.poll(() => page.locator('#tiles dd').count(), PATIENT).toBeGreaterThan(6);
    for (const [row, count] of [
      ['#flow .column', 3],
      ['#tiles > div', 8],
    ] as const) {
      const boxes = await Promise.all((await page.locator(row).all()).map((each) => each.boundingBox()));
      expect(boxes.length, row).toBe(count);
      expect(new Set(boxes.map((box) => box?.y)).size, row).toBe(1);
      const ends = boxes.map((box) => (box?.x ?? Number.NaN) + (box?.width ?? Number.NaN));
      // The padding of the page.
      expect(boxes[0]?.x, row).toBeLessThan(20);
      expect(Math.max(...ends), row).toBeGreaterThan(width - 20);
    }
    const lines = await page.evaluate(
      `[...document.querySelectorAll('#tiles dd')].map((each) => Math.round(each.clientHeight / parseFloat(getComputedStyle(each).lineHeight)))`,
    );
    expect(lines).toEqual(Array(8).fill(1));
  });

  it('shows labels of the y axis whole on a phone, however large they are', async () => {
    await page.setViewportSize({ width: 390, height: 900 });
    await page.route('**/status.json*', async (route) => {
      const response = await route.fetch();
      const message = await response.json();
      for (const moment of message.history ?? []) moment.upstream.p99Seconds = 123_456;
      await route.fulfill({ response, json: message });
    });
    // A canvas shows nothing left of its edge: only its drawing calls reveal it.
    await page.addInitScript(`
      globalThis.leftmost = Infinity;
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        const at = this.getTransform().transformPoint({ x, y }).x;
        const { actualBoundingBoxLeft } = this.measureText(text);
        if (text.includes(',000,000')) leftmost = Math.min(leftmost, at - actualBoundingBoxLeft);
        return fillText.call(this, text, x, y);
      };
    `);
    await page.reload();
    await expect.poll(() => page.evaluate('leftmost'), PATIENT).toBeLessThan(390);
    expect(await page.evaluate('leftmost')).toBeGreaterThanOrEqual(0);
  });

  it('shows a failing operation in red, and why its circuit breaker is closed', async () => {
    await load(5);
    const cells = (operation: string) => page.locator('#operations tr', { hasText: operation }).locator('td');
    const colors = () =>
      page.evaluate(
        `Object.fromEntries([...document.querySelectorAll('#operations td:first-child')].map((cell) => [cell.textContent, getComputedStyle(cell.firstElementChild ?? cell).color]))`,
      );
    await expect.poll(() => cells('adjacentTransactions').last().textContent(), PATIENT).toBe('closed');
    world.indexer.faults.inject(failed(500), { operation: 'adjacentTransactions' });
    const target = unknownTransaction();
    const breaker = async () => {
      await world.ask(target);
      return await cells('adjacentTransactions').last().textContent();
    };
    await expect.poll(breaker, PATIENT).toBe('closed, fewer than 20 keys');
    expect(await cells('adjacentTransactions').nth(2).textContent()).toMatch(/^\d+\.\d \(\d+(\.\d)? %\)$/);
    expect(await colors()).toMatchObject({
      adjacentTransactions: 'rgb(180, 35, 24)',
      masterchainBlockShards: 'rgb(27, 31, 36)',
    });
  });

  it('explains a pasted URL, and shows markup in it as text', async () => {
    await page.fill('#target', 'https://ton.example/api/v3/masterchainBlockShards?SEQNO=7&_=<img src=x>');
    await page.locator('#explain button').click();
    const explanation = () => page.locator('#explanation').textContent();
    await expect.poll(explanation, PATIENT).toContain('masterchainBlockShards?seqno=7');
    await expect.poll(explanation, PATIENT).toContain('<img src=x>');
    expect(complaints).toEqual([]);
  });

  it('gives every control and chart a name', async () => {
    await expect.poll(() => page.locator('#connection').textContent(), PATIENT).toBe('live');
    await expect.poll(() => page.locator('[role=img][aria-label]').count(), PATIENT).toBe(5);
    for (const chart of await page.locator('figure [role=img]').all()) {
      expect(await chart.getAttribute('aria-label')).toMatch(/: .*now/);
    }
    for (const control of await page.locator('input, button').all()) {
      const id = await control.getAttribute('id');
      const label = id === null ? control : page.locator(`label[for="${id}"]`);
      expect(await label.textContent()).toMatch(/\w{3}/);
    }
  });

  it.each([390, 1280, 1920])('has no part that is cut off at a width of %i, in dark mode', async (width) => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width, height: 900 });
    await load(5);
    await expect.poll(() => page.locator('#keys tbody tr').count(), PATIENT).toBeGreaterThan(0);
    const cut = await page.evaluate(
      `[...document.querySelectorAll('body, section, td, dd, figure')].filter((each) => each.offsetParent !== null && each.scrollWidth > each.clientWidth + 1).map((each) => each.id || each.tagName)`,
    );
    expect(cut).toEqual([]);
    const [ground, text] = (await page.evaluate(
      '[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]',
    )) as [string, string];
    expect(ground).toBe('rgb(21, 25, 29)');
    expect(text).toBe('rgb(230, 233, 236)');
    expect(complaints).toEqual([]);
  });

  it('shows at the top how clients are served, for how long and why, and the last minutes after a reload', async () => {
    const verdict = () => page.locator('#verdict').textContent();
    await load(5);
    await expect.poll(verdict, PATIENT).toBe('OK: serving as usual');
    world.indexer.faults.inject(refusedKey(401));
    // An indexer that has just answered other requests does not refuse the key.
    const verdictOfNow = async () => {
      for (let time = 0; time < 20; time++) await world.ask(unknownTransaction());
      return verdict();
    };
    await expect
      .poll(verdictOfNow, PATIENT)
      .toMatch(/^FAILING for [\d.]+ m?s: .*he indexer refuses our API key \(401: .+\).* What to do$/);
    expect(await page.title()).toMatch(/^FAILING: .* – toncache$/);
    await page.reload();
    const outcomes = () => page.locator('#chart-requests').getAttribute('aria-label');
    await expect.poll(outcomes, PATIENT).toMatch(/hit-memory .*failed/);
  });

  it('explains and purges one of the most requested keys by a click in its row', async () => {
    await load(20);
    const questions: string[] = [];
    page.on('dialog', (dialog) => {
      questions.push(dialog.message());
      void dialog.accept();
    });
    const row = page.locator('#keys tbody tr').filter({ hasText: 'masterchainBlockShards' }).first();
    await row.getByRole('button', { name: 'Explain' }).click();
    const explanation = () => page.locator('#explanation').textContent();
    await expect.poll(explanation, PATIENT).toMatch(/memory.*final, fresh for/);
    await row.getByRole('button', { name: 'Purge' }).click();
    await expect.poll(explanation, PATIENT).toMatch(/^purged.*seqno/);
    expect(questions).toEqual([expect.stringMatching(/^Purge in all instances: \{"seqno":\d+\}\?$/)]);
    expect(world.proxy.log.map(({ msg }) => msg)).toContain('purged');
  });

  it('works below a path prefix that a proxy strips', async () => {
    const admin = new URL(world.proxy.adminUrl);
    const prefix = '/api/v1/namespaces/ton/services/toncache:9464/proxy/';
    const stripping = createServer((request, response) => {
      if (!request.url?.startsWith(prefix)) {
        response.writeHead(404).end();
        return;
      }
      const { method, headers } = request;
      const path = `/${request.url.slice(prefix.length)}`;
      const asked = ask({ host: admin.hostname, port: admin.port, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      request.pipe(asked);
    });
    await once(stripping.listen(0, '127.0.0.1'), 'listening');
    const { port } = stripping.address() as AddressInfo;
    await page.goto(`http://127.0.0.1:${port}${prefix}`);
    await load(20);
    await expect.poll(() => page.locator('#connection').textContent(), PATIENT).toBe('live');
    await expect.poll(() => page.locator('#keys tbody tr').count(), PATIENT).toBeGreaterThan(0);
    page.on('dialog', (dialog) => void dialog.accept());
    const row = page.locator('#keys tbody tr').filter({ hasText: 'masterchainBlockShards' }).first();
    const explanation = () => page.locator('#explanation').textContent();
    await row.getByRole('button', { name: 'Explain' }).click();
    await expect.poll(explanation, PATIENT).toMatch(/memory.*final, fresh for/);
    await row.getByRole('button', { name: 'Purge' }).click();
    await expect.poll(explanation, PATIENT).toMatch(/^purged.*seqno/);
    expect(complaints).toEqual([]);
    await page.goto('about:blank');
    stripping.closeAllConnections();
    stripping.close();
  });

  it('shows that the instance is gone, and dims its numbers', async () => {
    await expect.poll(() => page.locator('#connection').textContent(), PATIENT).toBe('live');
    await world.proxy.close();
    await expect.poll(() => page.locator('#connection').textContent(), PATIENT).toMatch(/again/);
    expect(await page.title()).toBe('No connection – toncache');
    expect(await page.locator('#verdict').textContent()).toMatch(/^Connection lost; last update \d\d:\d\d:\d\d$/);
    expect(await page.evaluate("getComputedStyle(document.querySelector('main')).opacity")).toBe('0.4');
  });
});
