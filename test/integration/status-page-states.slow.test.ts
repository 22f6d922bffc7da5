import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failed, refusedKey } from '../../src/tools/simulator/faults.ts';
import { newestBlock, unknownTransaction } from '../e2e/questions.ts';
import { World } from '../e2e/world.ts';
import { debianProgram } from '../support/apt.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { faultsOf } from './status-page-rules.ts';

const PATIENT = { timeout: 30_000 };

/** The states, by what the page says, with their causes. */
const STATES = [
  { words: /OK: serving as usual .*Nothing (has been|was) answered/, requests: false },
  { words: /OK: serving as usual .*Saved/ },
  {
    words: /DEGRADED for .*: served from memory alone\. Redis is unreachable \(ECONNREFUSED\)\. .*Redis is unreachable/,
    env: { REDIS_URL: 'redis://127.0.0.1:1' },
  },
  { words: /FAILING for .*: \d+ % of requests fail\. The indexer answers 500.* What to do/, fault: failed(500) },
  {
    words: /FAILING for .*he indexer refuses our API key \(401.* What to do/,
    fault: refusedKey(401),
  },
];

async function load(world: World, proxy: RunningProxy = world.proxy): Promise<void> {
  for (let time = 0; time < 8; time++) {
    await Promise.all(Array.from({ length: 4 }, () => proxy.ask(newestBlock(world))));
    await proxy.ask(unknownTransaction());
  }
}

describe('the status page in each state', () => {
  let browser: Browser;
  let world: World;
  let page: Page;

  beforeAll(async () => {
    const executablePath = await debianProgram('chromium', 'chromium');
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    // Chromium may have to be installed first.
  }, 600_000);
  afterAll(() => browser?.close());

  beforeEach(async () => {
    world = await World.start({ dialect: '1.3', tiers: 'memory and Redis' });
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(world.proxy.adminUrl);
  });
  afterEach(async () => {
    await page?.close();
    await world?.[Symbol.asyncDispose]();
  });

  /** Until the page shows these words. */
  async function shows(words: RegExp, between: () => Promise<unknown> | undefined = () => undefined): Promise<void> {
    const text = async () => {
      await between();
      return (await page.locator('body').innerText()).replaceAll('\n', ' ');
    };
    await expect.poll(text, PATIENT).toMatch(words);
  }

  const openSteps = async () => {
    const [steps] = await Promise.all([page.context().waitForEvent('page'), page.click('#steps a')]);
    await steps.waitForLoadState();
    return steps;
  };

  it.each(STATES)(
    'can be read by everybody, at three widths, light and dark: $words',
    async ({ words, requests = true, env = {}, fault }) => {
      await using proxy = await startProxy({ upstreamUrl: world.indexer.url, env });
      if (fault !== undefined) world.indexer.faults.inject(fault);
      await page.goto(proxy.adminUrl);
      await shows(words, async () => requests && (await load(world, proxy)));
      await page.fill('#target', 'masterchainBlockShards?seqno=7');
      await page.locator('#explain button').click();
      await expect.poll(() => page.locator('#explanation').textContent(), PATIENT).toContain('seqno=7');
      for (const width of [390, 1280, 1920]) {
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 900 });
          await page.emulateMedia({ colorScheme });
          expect(await faultsOf(page), `${width} ${colorScheme}`).toEqual([]);
        }
      }
    },
  );

  it('shows another fault in what happened, below the first line, which is not repeated', async () => {
    await using proxy = await startProxy({ upstreamUrl: world.indexer.url, env: { REDIS_URL: 'redis://127.0.0.1:1' } });
    world.indexer.faults.inject(failed(500));
    await page.goto(proxy.adminUrl);
    await shows(/FAILING for .*since \d\d:\d\d, DEGRADED: Redis is unreachable/, () => load(world, proxy));
    const items = await page.locator('#happened li').allTextContents();
    expect(items.filter((item) => item.includes('FAILING'))).toEqual([]);
    expect(items[0]).toMatch(/^since \d\d:\d\d, DEGRADED: Redis is unreachable \(ECONNREFUSED\)\. What to do$/);
    expect(items.at(-1)).toMatch(/^\d\d:\d\d, \S+ started$/);
  });

  it('shows the first line, the last hour and the first column of the flow on the first screen of a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    world.indexer.faults.inject(failed(500));
    await shows(/FAILING for .*measuring/, () => load(world));
    const bottom = async (selector: string) => {
      const box = await page.locator(selector).first().boundingBox();
      return (box?.y ?? Number.NaN) + (box?.height ?? Number.NaN);
    };
    for (const part of ['#verdict', '.strip', '#flow .column']) expect(await bottom(part), part).toBeLessThan(844);
    const flow = await page.locator('#flow').boundingBox();
    expect(flow?.height).toBeLessThanOrEqual(420);
    const cells = await Promise.all((await page.locator('.strip i').all()).map((cell) => cell.boundingBox()));
    expect(cells).toHaveLength(60);
    const widths = cells.map((box) => box?.width ?? 0);
    expect(Math.max(...widths) - Math.min(...widths)).toBeLessThan(0.5);
    expect(new Set(cells.map((box) => box?.height))).toEqual(new Set([20]));
  });

  it('has the first line, the last hour and what happened without JavaScript', async () => {
    world.indexer.faults.inject(failed(500));
    await shows(/FAILING for /, () => load(world));
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(world.proxy.adminUrl);
    expect(await plain.locator('#verdict').textContent()).toMatch(
      /^FAILING for .* fail\. The indexer answers 500.* What to do$/,
    );
    expect(await plain.locator('html').getAttribute('class')).toBe('failing');
    expect(await plain.title()).toMatch(/^FAILING: .* – toncache$/);
    expect(await plain.locator('.strip').getAttribute('aria-label')).toMatch(/^Last hour: FAILING since .*; else OK$/);
    expect(await plain.locator('#happened li').allTextContents()).toEqual([expect.stringMatching(/ started$/)]);
    expect(await plain.locator('noscript').textContent()).toContain('toncache status');
    await context.close();
  });

  it('aligns numbers right, with their digits below each other', async () => {
    await load(world);
    await expect.poll(() => page.locator('#keys tbody tr').count(), PATIENT).toBeGreaterThan(0);
    const wrong = await page.evaluate(`[...document.querySelectorAll('td')].filter((cell) => {
      const { textAlign, fontVariantNumeric } = getComputedStyle(cell);
      const isNumber = /^\\d[\\d.,]*( (of|%|ms|s|min|h|blocks?).*)?$/.test(cell.textContent);
      return isNumber && (textAlign !== 'right' || fontVariantNumeric !== 'tabular-nums');
    }).map((cell) => cell.dataset.name)`);
    expect(wrong).toEqual([]);
  });

  it('shows the limit of slots as a number, and the status codes of a single indexer', async () => {
    await load(world);
    await expect
      .poll(() => page.locator('#slots-title').textContent(), PATIENT)
      .toBe('Slots in use, of 64, and queued requests');
    const cell = (name: string) => page.locator(`#indexers td[data-name="${name}"]`).textContent();
    await expect.poll(() => cell('Slots in use'), PATIENT).toMatch(/^\d+ of 64$/);
    await expect.poll(() => cell('Status codes/s'), PATIENT).toMatch(/200: \d+\.\d/);
    const label = () => page.locator('#chart-slots').getAttribute('aria-label');
    await expect.poll(label, PATIENT).toMatch(/in use \d+, queued \d+ now$/);
  });

  it('shows the failing operation first on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 900 });
    world.indexer.faults.inject(failed(500), { operation: 'adjacentTransactions' });
    await load(world);
    const first = () => page.locator('#operations tbody tr').first().locator('td').first().textContent();
    await expect.poll(first, PATIENT).toBe('adjacentTransactions');
  });

  it('asks before a purge whether to purge in this instance, without Redis', async () => {
    await using proxy = await startProxy({ upstreamUrl: world.indexer.url });
    await page.goto(proxy.adminUrl);
    const questions: string[] = [];
    page.on('dialog', (dialog) => {
      questions.push(dialog.message());
      void dialog.dismiss();
    });
    const row = page.locator('#keys tbody tr').filter({ hasText: 'masterchainBlockShards' }).first();
    await expect
      .poll(async () => {
        await load(world, proxy);
        return row.count();
      }, PATIENT)
      .toBe(1);
    await row.getByRole('button', { name: 'Purge' }).click();
    expect(questions).toEqual([expect.stringMatching(/^Purge in this instance: \{"seqno":\d+\}\?$/)]);
  });

  it('opens the one section with the steps, as a page with a table and with links that work', async () => {
    world.indexer.faults.inject(failed(500));
    await shows(/What to do/, () => load(world));
    const steps = await openSteps();
    expect(await steps.locator('h1').allTextContents()).toEqual(['The indexer fails']);
    expect(await steps.locator('h2').count()).toBe(0);
    expect(await steps.locator('td').first().textContent()).toBe('unreachable');
    expect(await steps.locator('body').textContent()).not.toContain('| ---');
    for (const width of [390, 1280]) {
      await steps.setViewportSize({ width, height: 900 });
      expect(await faultsOf(steps)).toEqual([]);
    }
    await steps.getByRole('link', { name: 'a quota' }).first().click();
    await steps.waitForURL('**/a-quota-is-used-up');
    expect(await steps.locator('h1').allTextContents()).toEqual(['A quota is used up']);
    await steps.locator('main a[href*=".md"]').first().click();
    await steps.waitForURL(/\/status\/docs\/.*\.md/);
    expect(await steps.locator('h1').count()).toBe(1);
    await steps.close();
  });
});
