import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Chain } from '../../src/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../src/simulator/indexer.ts';
import { readOptions } from '../bench/overload/options.ts';
import { codeBlocksOf, commandsOf, PAGES, readPage } from '../support/documented-commands.ts';
import { type Answered, ask } from '../support/http-client.ts';
import { runCommand, ShellCommand } from '../support/shell-command.ts';
import { parseCacheStatus } from './cache-status.ts';

/** Commands that a test runs, here or in a file of its own; addresses and durations are replaced. */
const RUN = [
  'npm run demo',
  'npm run demo -- --for 10s',
  'UPSTREAM_URL=http://indexer:8081 npm start',
  "curl -i 'http://127.0.0.1:8080/api/v3/masterchainBlockShards?seqno=62000000'",
  ...commandsOf(readPage('docs/operations.md')).filter((command) => command.startsWith('curl -X POST ')),
  'npm run verify -- https://indexer.example/api/v3',
  'npm run toncache -- --help',
  // In docs-commands.slow.test.ts.
  'npm run bench:overload',
  'npm run test:hostile',
];

/** Commands that no test runs, and what holds them right instead. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm ci': 'would replace what the tests run on; the first step of .ci/run',
  'npm test': 'runs this test',
  'npm test -- test/unit/ton': 'the folder exists (below)',
  'npm run test:slow': 'a step of .ci/run (below)',
  'npm run check': 'a step of .ci/run (below)',
  'curl -i "$UPSTREAM_URL/api/v3/masterchainInfo"': 'asks an indexer of the reader',
  'npm run docs': 'test/unit/config/render-docs.test.ts compares what it writes',
  '.ci/run': 'runs this test; it can be executed (below)',
  'npm run bench': 'takes a minute of the whole machine',
  'npm run bench:fleet': 'takes three minutes of the whole machine',
  'npm run bench:memory': 'takes minutes of the whole machine',
  'npm run bench:peers': 'takes minutes of the whole machine',
  'npm run bench:peers -- --rounds 2 --seconds 1': 'needs other caches, which may not be installed',
  'npm run truth': 'a step of .ci/run',
  'npm run truth -- --minutes 10 --faults all': 'takes ten minutes; .ci/run runs it with fewer',
  'npm run bench:workload': 'takes minutes of the whole machine',
  'npm run bench:overload -- --scenario steady,burst,closed-loop,pages,slow,hang,wallets --mode shipped --seconds 6 --loads 0.5,5,10':
    'takes minutes; its options are read (below)',
  'npm run bench:overload -- --scenario burst,closed-loop': 'takes minutes; its options are read (below)',
  'docker build -t toncache .': 'needs Docker; test/integration/healthcheck.test.ts and the tests of production files',
  'docker run -e UPSTREAM_URL=http://indexer:8081 -e REDIS_URL=redis://redis:6379 -e NETWORK=mainnet -p 8080:8080 toncache':
    'needs Docker; its variables and its port exist (test/unit/docs-examples.test.ts)',
};

const PACKAGED = 'test/integration/package.slow.test.ts packs, installs the tarball and runs it';
const FOLLOWED = 'needs Docker; test/integration/image.slow.test.ts follows the Dockerfile without it';
const NEEDS_DOCKER = 'needs Docker; docs/deployment.md says what is tested instead';

/** The same of deployment and of the command line tool. */
const NOT_RUN_DEPLOYMENT: Readonly<Record<string, string>> = {
  'npm install --global toncache': PACKAGED,
  'npm pack': PACKAGED,
  'npm publish': PACKAGED,
  'npm run build': PACKAGED,
  'npx toncache <command>': PACKAGED,
  'UPSTREAM_URL=http://indexer:8081 toncache start': PACKAGED,
  'npm start': 'run with its address (above)',
  'npm run toncache -- <command>': 'stands for the commands of test/e2e/command-line.test.ts',
  'docker exec <container> node dist/cli/main.js <command>': FOLLOWED,
  'docker run --read-only -e UPSTREAM_URL=http://indexer:8081 -p 8080:8080 toncache': FOLLOWED,
  "docker run toncache explain --offline 'masterchainBlockShards?seqno=62000000'": FOLLOWED,
  'docker compose up': NEEDS_DOCKER,
  'UPSTREAM_URL=http://indexer:8081 docker compose -f config/deploy/compose.yaml up --build': NEEDS_DOCKER,
  'kubectl apply -n ton -f config/deploy/kubernetes/shared.yaml':
    'needs a cluster; test/unit/deploy/kubernetes.test.ts',
  'cp config/deploy/systemd/toncache.service /etc/systemd/system/': 'changes the machine; the file exists',
  'systemctl enable --now toncache': 'changes the machine; test/integration/deploy.slow.test.ts verifies the unit',
};

const DOCUMENTED = [...new Set(PAGES.flatMap((page) => commandsOf(readPage(page))))];

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

/** A pattern for a printed line: its numbers can be any, and so can its width. */
function inForm(line: string): RegExp {
  const escaped = line.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^ *${escaped.replaceAll(/\d+(?:(?:\\\.|,)\d+)*/g, '[\\d.,]+').replaceAll(/ +/g, ' +')}$`, 'm');
}

describe('the documented commands', () => {
  it('are all run by a test, or listed here with a reason', () => {
    expect(DOCUMENTED.toSorted()).toEqual(
      [...new Set([...RUN, ...Object.keys(NOT_RUN), ...Object.keys(NOT_RUN_DEPLOYMENT)])].toSorted(),
    );
  });

  it('name files and steps that exist', () => {
    expect(existsSync('test/unit/ton')).toBe(true);
    accessSync('.ci/run', constants.X_OK);
    expect(() => execFileSync('bash', ['-n', '.ci/run'])).not.toThrow();
    for (const step of ['npm ci', 'npm run check', 'npm run truth', ' test\n', ' test:slow\n'])
      expect(readPage('.ci/run')).toContain(step);
  });

  it('give bench:overload options that it knows', () => {
    const benches = DOCUMENTED.filter((command) => command.startsWith('npm run bench:overload -- '));
    expect(benches.length).toBeGreaterThan(0);
    for (const bench of benches) {
      const [, options = ''] = bench.split(' -- ');
      expect(readOptions(options.split(' ')).trials.length).toBeGreaterThan(0);
    }
  });
});

it('`npm run demo -- --for` prints what README.md shows, in the same form', async () => {
  const shown = codeBlocksOf(readPage('README.md')).find(({ text }) => text.includes('fwd=miss'))?.text ?? '';
  const lines = shown.split('\n').filter((line) => line !== '' && line !== '...');
  expect(lines.length).toBeGreaterThan(4);
  const { exitCode, output } = await runCommand('npm run demo -- --for 2s', { PORT: '0', ADMIN_PORT: '0' });
  expect(exitCode, output).toBe(0);
  for (const line of lines) expect(output).toMatch(inForm(line));
});

it('`npm start` and the curl commands work as README.md and docs/operations.md say', async () => {
  const command = `UPSTREAM_URL=${indexer.url} npm start`;
  await using running = new ShellCommand(command, { PORT: '0', ADMIN_PORT: '0' });
  await expect.poll(() => running.output).toContain('toncache is ready');
  const [, publicUrl = '', adminUrl = ''] = /"publicUrl":"([^"]+)".*"adminUrl":"([^"]+)"/.exec(running.output) ?? [];
  const [get = ''] = RUN.filter((known) => known.startsWith('curl -i '));
  const seqno = `seqno=${indexer.chain.headSeqno - 1}`;
  const requests = [1, 2].map(() => get.replace('seqno=62000000', seqno));
  const answers: Answered[] = [];
  for (const request of requests) answers.push(await curl(request, publicUrl));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(parseCacheStatus(answers[1]?.headers['cache-status'])).toMatchObject({ hit: true });
  const purges = RUN.filter((known) => known.startsWith('curl -X POST '));
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

it('`npm run verify` checks an indexer, and prints a table', async () => {
  const { exitCode, output } = await runCommand(`npm run verify -- ${indexer.url}/api/v3 --rate 500 --samples 3`);
  expect(exitCode, output).toBe(0);
  expect(output).toMatch(/^bad input +pendingTraces .* ok /m);
});
