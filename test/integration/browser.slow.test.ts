import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newestBlock } from '../e2e/questions.ts';
import { INFO, MESSAGE } from '../e2e/raw-requests.ts';
import { ANY_WORLD, World } from '../e2e/world.ts';
import { debianProgram } from '../support/apt.ts';
import { HEADERS_OF_PAGES } from '../support/headers-of-pages.ts';

describe('a page of another origin in Chromium', () => {
  const pages = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<title>wallet'));
  let browser: Browser;
  let world: World;
  let page: Page;

  beforeAll(async () => {
    const executablePath = await debianProgram('chromium', 'chromium');
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    world = await World.start({ ...ANY_WORLD, proxy: { env: { PASSTHROUGH: 'on' } } });
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}`);
    // Chromium may have to be installed first.
  }, 600_000);
  afterAll(async () => {
    await browser?.close();
    await world?.[Symbol.asyncDispose]();
    pages.close();
  });

  /** The page's result of `fetch`: a status and a header, or the failure. */
  function fetchInPage(target: string, init: object): Promise<unknown> {
    const asked = JSON.stringify([world.proxy.url + target, init]);
    return page.evaluate(`fetch(...${asked}).then(
      (answer) => [answer.status, answer.headers.has('Cache-Status')], (error) => error.message)`);
  }

  const values: Readonly<Record<string, string>> = { authorization: 'Bearer x', 'content-type': 'application/json' };
  it.each(Object.entries(HEADERS_OF_PAGES))('can send the headers of %s', async (_, names) => {
    const headers = Object.fromEntries(names.map((name) => [name, values[name] ?? 'x']));
    expect(await fetchInPage(newestBlock(world), { headers })).toEqual([200, true]);
    expect(await fetchInPage(INFO, { headers })).toEqual([200, true]);
    expect(await fetchInPage(MESSAGE, { headers, method: 'POST', body: '{}' })).toEqual([200, true]);
  });

  it('cannot send cookies with a request, because no answer is specific to a user', async () => {
    expect(await fetchInPage(newestBlock(world), { credentials: 'include' })).toBe('Failed to fetch');
  });
});
