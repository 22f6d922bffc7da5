import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/**
 * What is wrong with a page for somebody who cannot see well, or uses a keyboard: the violations that axe finds, with its
 * default rules. And whether the page scrolls sideways.
 */
export async function faultsOf(page: Page): Promise<string[]> {
  // Not as a script of the page, which its Content-Security-Policy would refuse.
  await page.evaluate(AXE);
  return (await page.evaluate(`axe.run().then(({ violations }) => [
    ...violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))),
    ...(document.documentElement.scrollWidth > innerWidth ? ['scrolls sideways'] : []),
  ])`)) as string[];
}
