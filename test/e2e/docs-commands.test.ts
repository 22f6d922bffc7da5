import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { readOptions } from '../bench/overload/options.ts';
import { runCommand } from '../support/command-output.ts';
import { commandsOf, PAGES, readPage } from '../support/documented-commands.ts';
import { type Answered, ask } from '../support/http-client.ts';
import { ANY_WORLD, World } from './world.ts';

/** Commands of npm that are not scripts of the project. */
const OF_NPM = ['ci', 'install', 'pack', 'publish', 'version'];

const documented = [...new Set(PAGES.flatMap((page) => commandsOf(readPage(page))))];

/** The arguments as the shell passes them to curl, which not every machine has. */
function curlArguments(command: string): string[] {
  const shell = `curl() { printf '%s\\n' "$@"; }\n${command}`;
  return execFileSync('/bin/sh', ['-c', shell], { encoding: 'utf8' }).trimEnd().split('\n');
}

/** The path in a documented command of curl. */
function curlTarget(command: string): string {
  return new URL(/http:\S+/.exec(command)?.[0] ?? '').pathname;
}

/** Sends the request of a documented curl command, to this port instead of its own. */
function curl(command: string, origin: string): Promise<Answered> {
  const rest = curlArguments(command);
  let [method, target, body]: [string, string, string | undefined] = ['GET', '', undefined];
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
  return ask(origin, target, { method, headers, ...(body === undefined ? {} : { body }) });
}

describe('the documented commands', () => {
  it('are scripts of the project', () => {
    const scripts = documented.flatMap((command) => /\bnpm (?:run )?([\w:-]+)/.exec(command)?.slice(1) ?? []);
    expect(scripts.length).toBeGreaterThan(20);
    expect(scripts.filter((name) => !OF_NPM.includes(name) && !Object.hasOwn(manifest.scripts, name))).toEqual([]);
  });

  it('name files that exist', () => {
    const files = documented.flatMap((command) => command.match(/(?<=^| )(?:test|config|src|\.ci)\/[\w./-]+/g) ?? []);
    expect(files.length).toBeGreaterThan(3);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
  });

  it('give bench:overload options that it knows', () => {
    const benches = documented.filter((command) => command.startsWith('npm run bench:overload -- '));
    expect(benches.length).toBeGreaterThan(0);
    for (const bench of benches) {
      const [, options = ''] = bench.split(' -- ');
      const { trials, measuresOutages } = readOptions(options.split(' '));
      expect(trials.length > 0 || measuresOutages).toBe(true);
    }
  });

  it('of curl in docs/start/demo.md and docs/how-to/purge.md work', async () => {
    await using world = await World.start(ANY_WORLD);
    const commands = commandsOf(readPage('docs/start/demo.md'));
    const askHead = commands.find((command) => command.startsWith('seqno=$(curl ')) ?? '';
    const { text } = await ask(world.indexer.url, curlTarget(askHead));
    const shell = `curl() { printf '%s' "$HEAD"; }\n${askHead}\nprintf '%s' "$seqno"`;
    const seqno = execFileSync('/bin/sh', ['-c', shell], { encoding: 'utf8', env: { ...process.env, HEAD: text } });
    expect(seqno).toBe(String(world.indexer.chain.headSeqno));
    const request = (commands.find((command) => command.startsWith('curl -i "http')) ?? '').replace('$seqno', seqno);
    const answers = [await curl(request, world.proxy.url), await curl(request, world.proxy.url)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[1]?.headers['cache-status']).toContain('; hit;');
    const purges = documented.filter((command) => command.startsWith('curl -X POST '));
    expect(purges.length).toBeGreaterThan(2);
    for (const purge of purges) expect((await curl(purge, world.proxy.adminUrl)).status, purge).toBe(200);
  });

  it('in docs/reference/cli.md are those that `--help` lists', async () => {
    const { code, stdout } = await runCommand(['--help']);
    const described = [...readPage('docs/reference/cli.md').matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
    const listed = [...stdout.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name]) => name);
    expect([code, described.toSorted()]).toEqual([0, listed.toSorted()]);
  });
});

/** Commands of docs/how-to/ that other tests run, with the name of the test. */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  "redis-cli ACL SETUSER toncache '>new-password'": 'test/e2e/rotate-keys.test.ts',
  "redis-cli ACL SETUSER toncache '<old-password'": 'test/e2e/rotate-keys.test.ts',
  'UPSTREAM_URL=http://indexer:8081 UPSTREAM_API_KEY=new-key REDIS_URL=redis://toncache:new-password@redis:6379 npm run toncache -- check-config --connect':
    'test/e2e/rotate-keys.test.ts',
  'npm run toncache -- verify http://indexer:8081/api/v3': 'test/integration/verify.test.ts',
  'REUSE_PORT=on ADMIN_PORT=9464 UPSTREAM_URL=http://indexer:8081 REDIS_URL=redis://redis:6379 npm start':
    'test/e2e/reuse-port.slow.test.ts',
  'REUSE_PORT=on ADMIN_PORT=9465 UPSTREAM_URL=http://indexer:8081 REDIS_URL=redis://redis:6379 npm start':
    'test/e2e/reuse-port.slow.test.ts',
};

/** Commands that no test runs, with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm run bench:peers': 'takes fifteen minutes',
  'npm run verify -- https://indexer.example/api/v3': 'needs an indexer; test/integration/verify.test.ts runs it',
  'kubectl rollout restart -n ton deployment/toncache': 'needs a cluster',
  'kubectl rollout undo -n ton deployment/toncache': 'needs a cluster',
  'helm upgrade toncache config/deploy/helm --namespace ton --reset-then-reuse-values': 'needs a cluster',
  'helm rollback toncache --namespace ton': 'needs a cluster',
  'docker run --env-file toncache.env toncache check-config': 'needs Docker and the image',
  'docker compose -f config/deploy/compose.yaml up -d --build toncache': 'needs Docker and a registry',
  'systemctl restart toncache@9464': 'needs systemd as the first process',
};

describe('the commands of docs/how-to/', () => {
  const commands = PAGES.filter((page) => page.startsWith('docs/how-to/')).flatMap((page) =>
    commandsOf(readPage(page)),
  );
  const isHere = (command: string) => command.startsWith('curl ') && !command.startsWith('curl -X POST ');

  it('are run by a test, or listed with the reason why they are not', () => {
    const known = [...Object.keys(RUN_ELSEWHERE), ...Object.keys(NOT_RUN)];
    const others = commands.filter((command) => !command.startsWith('curl '));
    expect(others.toSorted()).toEqual(known.toSorted());
    for (const file of Object.values(RUN_ELSEWHERE)) expect(existsSync(file), file).toBe(true);
  });

  it('of curl work', async () => {
    await using world = await World.start(ANY_WORLD);
    const asked = commands.filter(isHere);
    expect(asked.length).toBeGreaterThan(0);
    for (const command of asked) {
      const { status, text } = await ask(world.proxy.adminUrl, curlTarget(command));
      expect([command, status]).toEqual([command, 200]);
      expect(JSON.parse(text).hour).toMatchObject({ requests: expect.any(Number), saved: expect.any(Number) });
    }
  });

  it('and their expressions name only metrics that docs/reference/metrics.md describes', () => {
    const described = readPage('docs/reference/metrics.md');
    for (const page of PAGES.filter((each) => each.startsWith('docs/how-to/'))) {
      // The table of names that are gone is about names that are gone.
      const [present = ''] = readPage(page).split('## Renamed and removed names');
      const named = present.match(/\b(?:toncache|nodejs)_[a-z0-9_]+/g) ?? [];
      expect(named.filter((name) => !described.includes(`\`${name}\``))).toEqual([]);
    }
  });
});
