import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { debianProgram } from '../support/apt.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { environmentOfHowTo, firstRequests, type PageRequest } from './page.ts';
import { answerUnknown, valuesOf } from './values.ts';

describe("AppKit's wallet page in Chromium, with the limits of docs/how-to/hide-a-key.md", () => {
  const pages = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<title>wallet'));
  let browser: Browser;
  let indexer: Indexer;
  let proxy: RunningProxy;
  /** Everything that Chromium shows in red. */
  const red: string[] = [];
  let origin: string;

  beforeAll(async () => {
    const executablePath = await debianProgram('chromium', 'chromium');
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    // Chromium may have to be installed first.
  }, 600_000);
  afterAll(async () => {
    await browser?.close();
    await proxy?.[Symbol.asyncDispose]();
    await indexer?.close();
    pages.close();
  });

  async function openPage(): Promise<Page> {
    const page = await browser.newPage();
    page.on('console', (message) => void (message.type() === 'error' && red.push(message.text())));
    page.on('pageerror', (error) => red.push(error.message));
    // A page without an icon has a 404 for it in its console.
    await page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }));
    await page.goto(origin);
    return page;
  }

  function statusesIn(page: Page, requests: readonly PageRequest[]): Promise<unknown> {
    const asked = requests.map(({ target, init }) => [proxy.url + target, init]);
    return page.evaluate(`Promise.all(${JSON.stringify(asked)}.map((each) => fetch(...each).then(
      async (answer) => (await answer.text(), answer.status), (error) => error.message)))`);
  }

  it('opens with a cold cache, then twice at once from one address, without a 429', async () => {
    await using cleanup = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), 'toncache-page-'));
    cleanup.defer(() => rm(folder, { recursive: true }));
    const startAt = Date.now() - 60_000;
    const idle = { count: 3, everyMs: Number.POSITIVE_INFINITY };
    const chain = new Chain({ startAt, idle, jettons: { owners: 20, everyMs: 5000 } });
    chain.advanceTo(Date.now());
    indexer = await startIndexer({ chain, now: Date.now });
    answerUnknown(indexer);
    proxy = await startProxy({ upstreamUrl: indexer.url, env: environmentOfHowTo(origin, folder) });
    const [master] = chain.jettons.masters;
    const requestsOf = (nth: number) => {
      const account = chain.idle.all[nth];
      if (account === undefined || master === undefined) throw new Error('too few accounts');
      return firstRequests(valuesOf(chain, account, master, nth));
    };
    const two = [await openPage(), await openPage()] as const;
    const answered = requestsOf(0).map(() => 200);
    expect(await statusesIn(two[0], requestsOf(0))).toEqual(answered);
    const both = await Promise.all(two.map((page, nth) => statusesIn(page, requestsOf(1 + nth))));
    expect(both).toEqual([answered, answered]);
    expect(red).toEqual([]);
  });
});
