import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { STATUS_CODES } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerUnknown } from '../clients/values.ts';
import { codeBlocksOf, commandsOf, PAGES, readPage } from '../support/documented-commands.ts';
import { curl } from '../support/documented-curl.ts';
import type { Answered } from '../support/http-client.ts';
import { ANY_WORLD, World } from './world.ts';

/** Requests of a page to the public port, each with the output that the page shows for it. */
interface Trial {
  readonly command: string;
  readonly prints: readonly string[];
}

function trialsOf(page: string): Trial[] {
  const blocks = codeBlocksOf(readPage(page));
  return blocks.flatMap(({ language, text }, at) => {
    const command = text.replaceAll('\\\n', '').trim();
    // A stream has no end: client-streams.test.ts opens some.
    if (language !== 'sh' || !/^curl .*:8080\/api\/v3\//.test(command)) return [];
    const shown = blocks[at + 1];
    const prints =
      shown?.language === ''
        ? shown.text
            .trim()
            .split('\n')
            .map((line) => line.trim())
        : [];
    return [{ command, prints }];
  });
}

/** docs-commands.test.ts runs its commands, which compare two servers. */
const COMPARES = 'docs/how-to/wrong-balance.md';

const TRIED = PAGES.filter((page) => page.startsWith('docs/how-to/') && page !== COMPARES && trialsOf(page).length > 0);

/** The environment of the first `npm start` of a page, and its settings file. */
function environmentOf(page: string, folder: string): Record<string, string> {
  const start = commandsOf(readPage(page)).find((command) => command.endsWith(' npm start')) ?? '';
  const { UPSTREAM_URL: _, ...env } = Object.fromEntries(
    [...start.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  );
  if (env['CONFIG_FILE'] === undefined) return env;
  const file = join(folder, env['CONFIG_FILE']);
  writeFileSync(file, codeBlocksOf(readPage(page)).find(({ language }) => language === 'json')?.text ?? '');
  return { ...env, CONFIG_FILE: file };
}

/** The lines that `curl -i` prints, without the headers that a page may leave out. */
function printed({ status, headers, text }: Answered, prints: readonly string[]): string[] {
  const shown = Object.entries(headers).flatMap(([name, value]) => {
    const inPage = prints.find((line) => line.toLowerCase().startsWith(`${name}: `));
    // A page must show an origin that may read the answer.
    const mustShow = name === 'access-control-allow-origin' && value !== '*';
    if (inPage === undefined && !mustShow) return [];
    return [`${inPage?.split(': ')[0] ?? name}: ${value}`];
  });
  const last = prints.at(-1) ?? '';
  const body = last.endsWith('...') ? `${text.slice(0, last.length - 3)}...` : text;
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...shown, ...(last.startsWith('{') ? [body] : [])];
}

test.each(TRIED)('the requests in %s get the answers that it shows, with its settings', async (page) => {
  await using cleanup = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'toncache-how-to-'));
  cleanup.defer(() => rm(folder, { recursive: true }));
  const world = cleanup.use(await World.start({ ...ANY_WORLD, proxy: { env: environmentOf(page, folder) } }));
  answerUnknown(world.indexer);
  for (const { command, prints } of trialsOf(page)) {
    expect([command, ...printed(await curl(command, world.proxy.url), prints)]).toEqual([command, ...prints]);
  }
});

test('the requests of every how-to to the public port are among them', () => {
  expect(TRIED).toEqual(['docs/how-to/cache-balances.md', 'docs/how-to/hide-a-key.md']);
});
