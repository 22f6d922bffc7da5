import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newestBlock, unknownTransaction } from '../e2e/questions.ts';
import { World } from '../e2e/world.ts';
import { debianProgram } from '../support/apt.ts';

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

  it('moves its numbers under load, without an error and without a request to elsewhere', async () => {
    const entries = page.locator('#entries');
    const before = await entries.textContent();
    await load(20);
    await expect.poll(() => page.locator('#connection').textContent(), PATIENT).toBe('live');
    await expect.poll(() => entries.textContent(), PATIENT).not.toBe(before);
    await expect.poll(() => page.locator('#hit-ratio').textContent(), PATIENT).toMatch(/^[1-9][0-9]?\.\d %$/);
    await expect.poll(() => page.locator('#keys tr').count(), PATIENT).toBeGreaterThan(0);
    await expect.poll(() => page.locator('#keys').textContent(), PATIENT).toContain('masterchainBlockShards?seqno=');
    await expect.poll(() => page.locator('#redis').textContent(), PATIENT).toBe('used');
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(world.proxy.adminUrl).host]);
  });

  it('explains a pasted URL, whatever is in it', async () => {
    await page.fill('#target', 'https://ton.example/api/v3/masterchainBlockShards?SEQNO=7&_=<img src=x>');
    await page.getByRole('button', { name: 'Explain' }).click();
    const explanation = () => page.locator('#explanation').textContent();
    await expect.poll(explanation, PATIENT).toContain('masterchainBlockShards?seqno=7');
    await expect.poll(explanation, PATIENT).toContain('<img src=x>');
    expect(complaints).toEqual([]);
  });

  it('gives every control and chart a name', async () => {
    await expect.poll(() => page.locator('#connection').textContent(), PATIENT).toBe('live');
    await expect.poll(() => page.locator('[role=img][aria-label]').count(), PATIENT).toBe(4);
    for (const chart of await page.getByRole('img').all()) {
      expect(await chart.getAttribute('aria-label')).toMatch(/: .*now/);
    }
    for (const control of await page.locator('input, button').all()) {
      const id = await control.getAttribute('id');
      const label = id === null ? control : page.locator(`label[for="${id}"]`);
      expect(await label.textContent()).toMatch(/\w{3}/);
    }
  });

  it('fits a phone, in the dark too', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 640 });
    await load(5);
    await expect.poll(() => page.locator('#keys tr').count(), PATIENT).toBeGreaterThan(0);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(360);
    const [ground, text] = (await page.evaluate(
      '[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]',
    )) as [string, string];
    expect(ground).toBe('rgb(21, 25, 29)');
    expect(text).toBe('rgb(230, 233, 236)');
    expect(complaints).toEqual([]);
  });

  it('says that it has no connection when the proxy ends', async () => {
    await expect.poll(() => page.locator('#connection').textContent(), PATIENT).toBe('live');
    await world.proxy.close();
    await expect.poll(() => page.locator('#connection').textContent(), PATIENT).toMatch(/again/);
  });
});
