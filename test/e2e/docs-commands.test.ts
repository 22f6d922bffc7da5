import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { failed } from '../../src/tools/simulator/faults.ts';
import { readOptions } from '../bench/overload/options.ts';
import { runCommand } from '../support/command-output.ts';
import { codeBlocksOf, commandsOf, PAGES, readPage } from '../support/documented-commands.ts';
import { curl } from '../support/documented-curl.ts';
import { ask } from '../support/http-client.ts';
import { GUARD_MS } from '../support/patience.ts';
import { ANY_WORLD, World } from './world.ts';

/** Commands of npm that are not scripts of the project. */
const OF_NPM = ['ci', 'install', 'pack', 'publish', 'version'];

const documented = [...new Set(PAGES.flatMap((page) => commandsOf(readPage(page))))];

/** The path in a documented command of curl. */
function curlTarget(command: string): string {
  return new URL(/http:\S+/.exec(command)?.[0] ?? '').pathname;
}

describe('the documented commands', () => {
  it('are scripts of the project', () => {
    const scripts = documented.flatMap((command) => /\bnpm (?:run )?([\w:-]+)/.exec(command)?.slice(1) ?? []);
    expect(scripts.length).toBeGreaterThan(20);
    expect(scripts.filter((name) => !OF_NPM.includes(name) && !Object.hasOwn(manifest.scripts, name))).toEqual([]);
  });

  it('name files that exist', () => {
    const files = documented.flatMap((command) => command.match(/(?<=^| )(?:test|config|src|\.ci)\/[\w./@-]+/g) ?? []);
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

const BALANCE = readPage('docs/how-to/wrong-balance.md');
const [EXPLAIN_BALANCE = '', PURGE_BALANCE = ''] = commandsOf(BALANCE).filter((line) => line.startsWith('toncache '));

/** Commands of README.md and docs/how-to/ that other tests run, with the name of the test. */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  'UPSTREAM_URL=https://provider.example/api/v3 UPSTREAM_API_KEY=change-me UPSTREAM_RPS=10 CONFIG_FILE=settings.json CACHE_OPERATIONS=all,passthrough PASSTHROUGH=message,estimateFee,jetton/wallets,runGetMethod PASSTHROUGH_SHARED_KEY=on ALLOWED_ORIGINS=https://app.example TRUSTED_PROXIES=127.0.0.1 npm start':
    'test/e2e/how-to.test.ts',
  'UPSTREAM_URL=http://indexer:8081 CACHE_OPERATIONS=transactions,addressInformation,walletInformation PASSTHROUGH=on npm start':
    'test/e2e/how-to.test.ts',
  'UPSTREAM_URL=http://a:8081,http://b:8081 npm run toncache -- check-config --connect':
    'test/e2e/check-connect.test.ts',
  'UPSTREAM_URL=http://a:8081,http://b:8081 npm start': 'test/fault/replicas.test.ts',
  'UPSTREAM_URL=http://indexer:8081 PASSTHROUGH=on STREAM_URL=ws://indexer:8085 npm start':
    'test/e2e/client-streams.test.ts',
  'UPSTREAM_URL=http://indexer:8081 REDIS_URL=redis://redis:6379 PORT=8082 ADMIN_PORT=9465 npm start':
    'test/e2e/shared-redis.test.ts',
  'npm run toncache -- explain runGetMethod --body \'{"address":"EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N","method":"get_wallet_data","stack":[]}\'':
    'test/e2e/admin-explain.test.ts',
  'npm run toncache -- explain "/api/v3/addressInformation?address=0:$(printf %064d 7)"':
    'test/e2e/admin-explain.test.ts',
  "redis-cli ACL SETUSER toncache '>new-password'": 'test/e2e/rotate-keys.test.ts',
  "redis-cli ACL SETUSER toncache '<old-password'": 'test/e2e/rotate-keys.test.ts',
  'UPSTREAM_URL=http://indexer:8081 UPSTREAM_API_KEY=new-key REDIS_URL=redis://toncache:new-password@redis:6379 npm run toncache -- check-config --connect':
    'test/e2e/rotate-keys.test.ts',
  'toncache verify http://indexer:8081/api/v3': 'test/integration/verify.test.ts',
  'promtool check rules config/prometheus/alerts.yml': 'test/integration/promtool.slow.test.ts',
  'npm run demo': 'test/integration/demo.slow.test.ts',
  'npm run simulator': 'test/e2e/command-line.test.ts',
  'UPSTREAM_URL=http://indexer:8081 CACHE_OPERATIONS=all,passthrough PASSTHROUGH=on npm start':
    'test/e2e/docs-commands.test.ts',
  [EXPLAIN_BALANCE]: 'test/e2e/docs-commands.test.ts',
  [PURGE_BALANCE]: 'test/e2e/docs-commands.test.ts',

  'REUSE_PORT=on ADMIN_PORT=9464 UPSTREAM_URL=http://indexer:8081 REDIS_URL=redis://redis:6379 npm start':
    'test/e2e/reuse-port.slow.test.ts',
  'REUSE_PORT=on ADMIN_PORT=9465 UPSTREAM_URL=http://indexer:8081 REDIS_URL=redis://redis:6379 npm start':
    'test/e2e/reuse-port.slow.test.ts',
};

/** Commands that no test runs, with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'UPSTREAM_URL=https://testnet.provider.example/api/v3 UPSTREAM_API_KEY=change-me UPSTREAM_RPS=10 CONFIG_FILE=settings.json NETWORK=testnet PORT=8082 ADMIN_PORT=9465 CACHE_OPERATIONS=all,passthrough PASSTHROUGH=message,estimateFee,jetton/wallets,runGetMethod PASSTHROUGH_SHARED_KEY=on ALLOWED_ORIGINS=https://app.example TRUSTED_PROXIES=127.0.0.1 npm start':
    'is the command for mainnet with other ports',
  'UPSTREAM_URL=http://a:8081,http://b:8081 UPSTREAM_BACKUP_URL=https://provider.example/api/v3 UPSTREAM_BACKUP_API_KEY=change-me UPSTREAM_BACKUP_RPS=10 npm start':
    'needs a provider',
  'for round in $(seq 60); do for n in $(seq 40); do curl -s "http://127.0.0.1:8080/api/v3/addressInformation?address=0:$(printf %064d $n)" > /dev/null; done; sleep 0.5; done':
    'takes a minute; test/e2e/block-proof.test.ts has such a crowd',
  'npm ci': 'is the first step of .ci/run',
  'npm run bench:peers': 'takes fifteen minutes',
  'kubectl rollout restart -n ton deployment/toncache': 'needs a cluster',
  'kubectl rollout undo -n ton deployment/toncache': 'needs a cluster',
  'helm upgrade toncache config/deploy/helm --namespace ton --reset-then-reuse-values --set image.tag=0.2.0':
    'needs a cluster',
  'helm rollback toncache --namespace ton': 'needs a cluster',
  'docker build -t toncache:0.2.0 .': 'needs Docker; test/integration/image.slow.test.ts builds the image',
  'docker run --env-file toncache.env toncache:0.2.0 check-config': 'needs Docker and the image',
  'UPSTREAM_URL=http://indexer:8081 docker compose -f config/deploy/compose.yaml up -d --build toncache':
    'needs Docker and a registry',
  'systemctl restart toncache@9464': 'needs systemd as the first process',
};

it('the commands of docs/how-to/wrong-balance.md show one balance, explain it and purge it', async () => {
  await using world = await World.start(ANY_WORLD);
  const proxy = await world.addProxy({ env: { CACHE_OPERATIONS: 'addressInformation' } });
  const [atToncache = '', atIndexer = ''] = commandsOf(BALANCE).filter((line) => line.startsWith('curl '));
  const answer = await curl(atToncache, proxy.url);
  expect([answer.status, answer.headers['cache-status']]).toEqual([200, expect.stringContaining('fwd=miss')]);
  expect(answer.text).toBe((await curl(atIndexer, world.indexer.url)).text);
  const env = { ADMIN_PORT: new URL(proxy.adminUrl).port };
  const run = (command: string) => runCommand(command.replaceAll("'", '').split(' ').slice(1), { env });
  expect(await run(EXPLAIN_BALANCE)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^memory +live/m) });
  expect((await run(PURGE_BALANCE)).code).toBe(0);
  expect((await run(EXPLAIN_BALANCE)).stdout).toMatch(/^memory +absent/m);
});

it('the curl of README.md prints what the page shows for its second request', async () => {
  const readme = readPage('README.md');
  const start = commandsOf(readme).find((command) => command.endsWith(' npm start'));
  const [, ...settings] = [...(start ?? '').matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]);
  await using world = await World.start({ ...ANY_WORLD, proxy: { env: Object.fromEntries(settings) } });
  const [request = ''] = commandsOf(readme).filter((command) => command.startsWith('curl '));
  const shown = codeBlocksOf(readme).find(({ language, text }) => language === '' && text.startsWith('HTTP/1.1 '));
  const [status, ...lines] = shown?.text.trim().split('\n') ?? [];
  const body = lines.pop()?.replace('...', '');
  await curl(request, world.proxy.url);
  const answer = await curl(request, world.proxy.url);
  expect([`HTTP/1.1 ${answer.status} OK`, answer.text.startsWith(`${body}`)]).toEqual([status, true]);
  // The lifetime is random within a tenth.
  const plain = (header: string) => header.replace(/(?<=ttl=)\d+/, 'N');
  const headers = lines.map((line) => {
    const [name = ''] = line.split(': ');
    return plain(`${name}: ${answer.headers[name.toLowerCase()]}`);
  });
  expect(headers).toEqual(lines.map(plain));
});

it.each([
  ['transactions?limit=5', 'on', 'not cached: passed through'],
  ['transactions?limit=5', 'off', 'nothing is cached for it'],
  ['masterchainBlockShards?seqno=x', 'on', 'the request would be refused'],
])('the pages about `explain` show the first words that it prints for %s with PASSTHROUGH=%s', async (...row) => {
  const [target, PASSTHROUGH, words] = row;
  await using world = await World.start({ ...ANY_WORLD, proxy: { env: { PASSTHROUGH } } });
  const env = { ADMIN_PORT: new URL(world.proxy.adminUrl).port };
  const { code, stdout, stderr } = await runCommand(['explain', target], { env });
  expect([code, `${stdout}${stderr}`.startsWith(words)]).toEqual([1, true]);
  expect(readPage('docs/start/your-clients.md')).toContain(`| \`${words}\``);
});

it('docs/reference/status-page.md names every member of a condition in /status.json', async () => {
  await using world = await World.start(ANY_WORLD);
  world.indexer.faults.inject(failed(500));
  const conditions = await vi.waitFor(async () => {
    await ask(world.proxy.url, '/api/v3/masterchainBlockShards?seqno=1');
    const present = JSON.parse((await ask(world.proxy.adminUrl, '/status.json')).text).conditions;
    expect(present).not.toEqual([]);
    return present;
  }, GUARD_MS);
  const [, described = ''] = /^\* `conditions`: ([\s\S]*?)^\* /m.exec(readPage('docs/reference/status-page.md')) ?? [];
  const members = Object.keys(Object.assign({}, ...conditions)).filter((name) => name !== 'section');
  expect(members.filter((name) => !described.includes(`\`${name}\``))).toEqual([]);
});

it('`toncache start --help` names the signals of docs/reference/process.md', async () => {
  const signalsIn = (text: string) => [...text.matchAll(/SIG[A-Z]+/g)].map(([name]) => name);
  const [, described = ''] = /^1\. After (.*?), `\/readyz`/m.exec(readPage('docs/reference/process.md')) ?? [];
  const { stdout } = await runCommand(['start', '--help']);
  expect(signalsIn(described).length).toBeGreaterThan(0);
  expect(signalsIn(stdout)).toEqual(signalsIn(described));
});

describe('the commands of README.md and docs/how-to/', () => {
  const pages = PAGES.filter((page) => page === 'README.md' || page.startsWith('docs/how-to/'));
  const commands = pages.flatMap((page) => commandsOf(readPage(page)));
  const isStatus = (command: string) => command.startsWith('toncache status');

  it('are run by a test, or listed with the reason why they are not', () => {
    const known = [...Object.keys(RUN_ELSEWHERE), ...Object.keys(NOT_RUN)];
    const others = commands.filter((command) => !command.startsWith('curl ') && !isStatus(command));
    expect([...new Set(others)].toSorted()).toEqual(known.toSorted());
    for (const file of Object.values(RUN_ELSEWHERE)) expect(existsSync(file), file).toBe(true);
  });

  it('of `toncache status` work: none reads /status.json with curl', async () => {
    await using world = await World.start(ANY_WORLD);
    const { port } = new URL(world.proxy.adminUrl);
    const asked = commands.filter(isStatus);
    expect(asked.length).toBeGreaterThan(4);
    expect(PAGES.filter((page) => /curl .*status\.json/.test(readPage(page)))).toEqual([]);
    for (const command of asked) {
      const args = command
        .replace(/:946[45]/, `:${port}`)
        .split(' ')
        .slice(1);
      const { code, stdout } = await runCommand(args, { env: { ADMIN_PORT: port } });
      expect([command, code]).toEqual([command, 0]);
      expect(stdout).toMatch(/^OK: .*\n0\.1\.0 on \S+, \S+, up .*; saved \d+ of \d+ requests in the last \d.*\n/);
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
