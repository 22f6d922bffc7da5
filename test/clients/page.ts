import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeBlocksOf, commandsOf, readPage } from '../support/documented-commands.ts';
import { CENSUS, type CensusRow, filled } from './census.ts';

const PAGE = 'docs/how-to/hide-a-key.md';

/** The first requests of AppKit's wallet page, which it sends in parallel. */
const FIRST_REQUESTS = [
  'balance',
  'jettons',
  'history',
  'nfts',
  'states',
  'jettonMaster',
  'names',
  'pendingTransactions',
  'trace',
  'headOfChain',
  'stakingPool',
] as const satisfies readonly (keyof typeof CENSUS)[];

/** A request of a page, as `fetch` takes it. */
export interface PageRequest {
  readonly target: string;
  readonly init: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  };
}

/** The first requests of the page, with these words of the census. */
export function firstRequests(words: Readonly<Record<string, string>>): PageRequest[] {
  return FIRST_REQUESTS.map((name) => {
    const { path, body }: CensusRow = CENSUS[name];
    const target = `/api/v3/${filled(path, words)}`;
    if (body === undefined) return { target, init: {} };
    return {
      target,
      init: { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: filled(body, words) },
    };
  });
}

/**
 * The environment with which docs/how-to/hide-a-key.md starts toncache for a page of AppKit at an origin. Writes its
 * settings file into a folder.
 */
export function environmentOfHowTo(origin: string, folder: string): Record<string, string> {
  const text = readPage(PAGE);
  const start = commandsOf(text).find((command) => command.endsWith(' npm start')) ?? '';
  const given = Object.fromEntries(
    [...start.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  );
  const { UPSTREAM_URL: _, ...env } = given;
  const [, paths = ''] = /^\| AppKit, walletkit \| `(.*)` \|$/m.exec(text) ?? [];
  const file = join(folder, 'settings.json');
  writeFileSync(file, codeBlocksOf(text).find(({ language }) => language === 'json')?.text ?? '');
  // At the rate of the how-to, which is that of a small plan, it refuses requests of the second page.
  return { ...env, CONFIG_FILE: file, PASSTHROUGH: paths, ALLOWED_ORIGINS: origin, UPSTREAM_RPS: '100' };
}
