import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { commandsOf, readPage } from '../support/documented-commands.ts';
import { type Answered, ask } from '../support/http-client.ts';
import { parseCacheStatus } from './cache-status.ts';
import { runCommand, ShellCommand } from './shell-command.ts';

// Of long commands the smallest load. docs-commands.test.ts holds the list of all that README and docs name.

let indexer: Indexer;

beforeAll(async () => {
  // With a history in which verify finds transactions with children.
  indexer = await startIndexer({ chain: new Chain({ startAt: Date.now() - 80_000 }) });
});

afterAll(() => indexer.close());

/** The arguments as the shell hands them to curl, which not every machine has. */
function curlArguments(command: string): string[] {
  const shell = `curl() { printf '%s\\n' "$@"; }\n${command}`;
  return execFileSync('/bin/sh', ['-c', shell], { encoding: 'utf8' }).trimEnd().split('\n');
}

/** Sends what a documented curl command sends, to this port instead of the one that it names. */
function curl(command: string, origin: string): Promise<Answered> {
  const rest = curlArguments(command);
  let [method, target, body]: [string, string | undefined, string | undefined] = ['GET', undefined, undefined];
  const headers: Record<string, string> = {};
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '-i') continue;
    if (word === '-X') method = rest.shift() ?? '';
    else if (word === '-d') body = rest.shift() ?? '';
    else if (word === '-H') {
      const [name = '', value = ''] = (rest.shift() ?? '').split(': ');
      headers[name] = value;
    } else {
      const { pathname, search } = new URL(word);
      target = pathname + search;
    }
  }
  if (target === undefined) throw new Error(`no URL in ${command}`);
  return ask(origin, target, { method, headers, ...(body === undefined ? {} : { body }) });
}

it('`npm start` and the curl commands work as README.md and docs/operations.md say', async () => {
  const command = `UPSTREAM_URL=${indexer.url} npm start`;
  await using running = new ShellCommand(command, { PORT: '0', ADMIN_PORT: '0' });
  await expect.poll(() => running.output).toContain('toncache is ready');
  const [, publicUrl = '', adminUrl = ''] = /"publicUrl":"([^"]+)".*"adminUrl":"([^"]+)"/.exec(running.output) ?? [];
  const [get = ''] = commandsOf(readPage('README.md')).filter((command) => command.startsWith("curl -i 'http"));
  const seqno = `seqno=${indexer.chain.headSeqno - 1}`;
  const requests = [1, 2].map(() => get.replace('seqno=62000000', seqno));
  const answers: Answered[] = [];
  for (const request of requests) answers.push(await curl(request, publicUrl));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(parseCacheStatus(answers[1]?.headers['cache-status'])).toMatchObject({ hit: true });
  const documented = commandsOf(readPage('docs/operations.md'));
  const purges = documented.filter((command) => command.startsWith('curl -X POST '));
  expect(purges.length).toBeGreaterThan(2);
  for (const purge of purges) expect((await curl(purge, adminUrl)).status, purge).toBe(200);
});

it('`npm run toncache -- --help` lists the commands that docs/cli.md describes', async () => {
  const { exitCode, output } = await runCommand('npm run toncache -- --help');
  expect(exitCode, output).toBe(0);
  const described = [...readPage('docs/cli.md').matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
  const listed = [...output.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name]) => name);
  expect(described.toSorted()).toEqual(listed.toSorted());
});
