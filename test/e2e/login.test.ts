import { describe, expect, it } from 'vitest';
import { runCommand } from '../support/command-output.ts';
import { answeringJson, children, type JsonAnswer } from '../support/json-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { type ProxyOptions, type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { EventsClient, refusedWith, SSE } from '../support/stream-clients.ts';

const [USER, PASSWORD] = ['the-user', 'pass/wörd'];
const TOKEN = Buffer.from(`${USER}:${PASSWORD}`).toString('base64');
const LOGIN = `authorization: Basic ${TOKEN}`;
const OPERATION = `/api/v3/adjacentTransactions?hash=${'ab'.repeat(32)}`;
const REST = '/api/v3/message';
const CLIENTS = { Authorization: 'Bearer of-the-client' };

/** Each form in which a login may be shown. */
const FORMS = [USER, PASSWORD, encodeURIComponent(PASSWORD), TOKEN, TOKEN.replace(/=+$/, '')];

const withLogin = (url: string) => url.replace('//', `//${USER}:${encodeURIComponent(PASSWORD)}@`);

/** The credentials of requests, from their heads: `authorization` and `x-api-key`. */
const credentialsIn = (heads: readonly string[]) =>
  heads.map((head) =>
    head
      .split('\r\n')
      .filter((line) => /^(?:authorization|x-api-key):/i.test(line))
      .map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase())),
  );

const sentTo = ({ heads }: ScriptedUpstream, path: string) =>
  credentialsIn(heads.filter((head) => head.split(' ')[1]?.startsWith(path)));

const found = () => children('x');

/** An indexer with a login, and a proxy in front of it. */
async function startWorld({ answer = found, ...options }: Partial<ProxyOptions> & { answer?: () => JsonAnswer } = {}) {
  const indexer = await startScriptedUpstream(answeringJson(answer));
  const env = { UPSTREAM_URL: withLogin(indexer.url), PASSTHROUGH: 'on', UPSTREAM_TIMEOUT: '60s', ...options.env };
  const proxy = await startProxy({ ...options, upstreamUrl: '', env });
  return {
    indexer,
    proxy,
    env,
    [Symbol.asyncDispose]: async () => {
      await proxy.close();
      await indexer[Symbol.asyncDispose]();
    },
  };
}

describe('a login in UPSTREAM_URL', () => {
  it('is sent with an operation, next to an API key, and never replaced by that of a client', async () => {
    await using world = await startWorld({ env: { UPSTREAM_API_KEY: 'ours' } });
    expect((await world.proxy.ask(OPERATION, { headers: CLIENTS })).status).toBe(200);
    for (const sent of credentialsIn(world.indexer.heads)) expect(sent).toEqual(['x-api-key: ours', LOGIN]);
  });

  it('is that of its indexer alone: neither a backup nor another indexer gets it', async () => {
    await using other = await startScriptedUpstream(answeringJson(found));
    await using backup = await startScriptedUpstream(answeringJson(found));
    await using world = await startWorld();
    const env = {
      UPSTREAM_URL: `${other.url},${withLogin(world.indexer.url)}`,
      UPSTREAM_BACKUP_URL: backup.url.replace('//', '//b:c@'),
    };
    await runCommand(['check-config', '--connect'], { env });
    for (const each of [other, world.indexer, backup]) expect(each.heads.length).toBeGreaterThan(1);
    for (const sent of credentialsIn(world.indexer.heads)) expect(sent).toEqual([LOGIN]);
    for (const sent of credentialsIn(other.heads)) expect(sent).toEqual([]);
    for (const sent of credentialsIn(backup.heads)) expect(sent).toEqual(['authorization: Basic Yjpj']);
  });

  /** Sends the rest of the API in all its ways. */
  async function passAll(proxy: RunningProxy, headers: Readonly<Record<string, string>>) {
    await proxy.ask(REST, { headers });
    await proxy.ask(REST, { headers, method: 'POST', body: '{}' });
    await refusedWith(proxy.url, headers);
    using _events = await EventsClient.open(proxy.url, {}, headers);
  }

  describe.each([
    ['passed', {}],
    ['joined', { CACHE_OPERATIONS: 'all,passthrough' }],
  ])('and the rest of the API (%s) and streams', (_, more) => {
    it.each<[string, Record<string, string>, Record<string, string>, string[]]>([
      ['is not sent without PASSTHROUGH_SHARED_KEY', {}, {}, []],
      ['is not sent with it off, nor is the Authorization of a client', { PASSTHROUGH_SHARED_KEY: 'off' }, CLIENTS, []],
      ['is sent with it on', { PASSTHROUGH_SHARED_KEY: 'on' }, {}, [LOGIN]],
      ['is sent instead of that of a client', { PASSTHROUGH_SHARED_KEY: 'on' }, CLIENTS, [LOGIN]],
      [
        'is sent next to our key',
        { PASSTHROUGH_SHARED_KEY: 'on', UPSTREAM_API_KEY: 'ours' },
        { 'X-Api-Key': ' ' },
        ['x-api-key: ours', LOGIN],
      ],
      [
        'is not sent next to the key of a client, nor is its Authorization',
        { PASSTHROUGH_SHARED_KEY: 'on', UPSTREAM_API_KEY: 'ours' },
        { 'X-Api-Key': 'its-own', ...CLIENTS },
        ['x-api-key: its-own'],
      ],
    ])('%s', async (_name, env, headers, expected) => {
      await using world = await startWorld({ env: { ...more, ...env } });
      await passAll(world.proxy, headers);
      for (const path of [REST, '/api/streaming/']) {
        const sent = sentTo(world.indexer, path);
        expect(sent).toHaveLength(2);
        for (const each of sent) expect(each).toEqual(expected);
      }
    });
  });

  it('is sent to a STREAM_URL of its origin, and to no other', async () => {
    await using other = await startScriptedUpstream(answeringJson(found));
    await using world = await startWorld();
    const shared = { ...world.env, PASSTHROUGH_SHARED_KEY: 'on', STREAM_API_KEY: 'of-stream' };
    for (const { url } of [world.indexer, other]) {
      const env = { ...shared, STREAM_URL: `${url.replace('http', 'ws')}/deep/streaming/v2/ws` };
      await using proxy = await startProxy({ upstreamUrl: '', env });
      await refusedWith(proxy.url);
      await proxy.ask(SSE, { method: 'POST', body: '{}', headers: CLIENTS });
    }
    const ours = ['x-api-key: of-stream', LOGIN];
    expect(sentTo(world.indexer, '/deep/')).toEqual([ours, ours]);
    expect(sentTo(other, '/deep/')).toEqual([['x-api-key: of-stream'], ['x-api-key: of-stream']]);
  });

  it('keeps the Authorization of a client from no other indexer', async () => {
    await using other = await startScriptedUpstream(answeringJson(found));
    await using proxy = await startProxy({ upstreamUrl: other.url, env: { PASSTHROUGH: 'on' } });
    await proxy.ask(REST, { headers: CLIENTS });
    expect(sentTo(other, REST)).toEqual([['authorization: Bearer of-the-client']]);
  });

  it('counts as our key in the warning about PASSTHROUGH_SHARED_KEY', async () => {
    await using world = await startWorld();
    const warning = /PASSTHROUGH_SHARED_KEY is not set: .* never the login in UPSTREAM_URL/;
    const { stdout } = await runCommand(['check-config'], { env: world.env });
    expect(stdout).toMatch(warning);
    const { stdout: both } = await runCommand(['check-config'], { env: { ...world.env, UPSTREAM_API_KEY: 'a' } });
    expect(both).toMatch(/never UPSTREAM_API_KEY or the login in UPSTREAM_URL/);
  });

  it('is sent by check-config --connect, with head polls, and by verify', async () => {
    await using world = await startWorld();
    const env = { ...world.env, STREAM_URL: world.indexer.url.replace('http', 'ws') };
    const checked = await runCommand(['check-config', '--connect'], { env });
    expect(checked.stdout).toContain('answers; newest masterchain block');
    const { code } = await runCommand(['verify', withLogin(world.indexer.url), '--rate', '1000', '--samples', '1']);
    expect(code).not.toBe(0);
    const sent = credentialsIn(world.indexer.heads.filter((head) => !head.includes('/streaming/')));
    expect(sent.length).toBeGreaterThan(5);
    expect(sentTo(world.indexer, '/api/v3/masterchainInfo').length).toBeGreaterThan(1);
    for (const each of sent) expect(each).toEqual([LOGIN]);
    expect(sentTo(world.indexer, '/api/streaming/')).toEqual([[LOGIN]]);
  });
});

describe('no output shows a login', () => {
  const answers: readonly [string, JsonAnswer][] = [
    ['refuses it and repeats it', { status: 401, body: { error: `no ${FORMS.join(' no ')}` } }],
    ['fails and repeats it', { status: 500, body: { error: FORMS.join(' ') } }],
    ['limits the rate and repeats it', { status: 429, body: { detail: `${TOKEN} of ${USER}: ${PASSWORD}` } }],
    ['is no indexer', { status: 200, body: `Basic ${TOKEN}, ${USER}` }],
    ['answers', found()],
  ];

  it.each(answers)('of an indexer that %s', async (_, said) => {
    await using world = await startWorld({
      answer: () => said,
      env: { CACHE_OPERATIONS: 'all,passthrough', PASSTHROUGH_SHARED_KEY: 'on', LOG_REQUESTS: 'all' },
    });
    const { proxy, env } = world;
    const passed = [
      await proxy.ask(OPERATION),
      await proxy.ask(REST),
      await proxy.ask(`/api/v3/pendingTraces?account=0:${'1'.repeat(64)}`),
    ];
    // The body of an indexer's own error is for its clients.
    const heads = passed.map(({ status, headers, text }) => [status, headers, status === said.status ? '' : text]);
    const asked = [
      await proxy.ask('/api/v3/masterchainInfo'),
      await proxy.ask('/no/such/path'),
      await proxy.askAdmin('/'),
      await proxy.askAdmin('/status.json'),
      await proxy.askAdmin('/metrics'),
      await proxy.askAdmin('/healthz'),
      await proxy.askAdmin('/readyz'),
      await proxy.askAdmin(`/explain?target=${encodeURIComponent(OPERATION)}`),
      await proxy.askAdmin(`/explain?target=${encodeURIComponent(REST)}`),
    ];
    const commands = [
      await runCommand(['check-config'], { env }),
      await runCommand(['check-config', '--all', '--connect'], { env }),
      await runCommand(['check-config', '--all', '--connect', '--json'], { env }),
      await runCommand(['explain', OPERATION, '--admin', proxy.adminUrl], { env }),
      await runCommand(['purge', '--all', '--admin', proxy.adminUrl], { env }),
    ];
    const shown = JSON.stringify([heads, asked.map(({ text, headers }) => [text, headers]), commands, proxy.log]);
    for (const form of FORMS) expect(shown).not.toContain(form);
    expect(shown).toContain('(secret)@');
  });

  it.each([
    ['an indexer that cannot be reached', 'http://127.0.0.1:1'],
    ['a host without an address', 'http://no-such-host.invalid'],
    ['an address that leads to an API of another version', 'http://127.0.0.1:1/api/v2'],
    ['an address with a query', 'http://127.0.0.1:1/?a'],
  ])('for %s', async (_, url) => {
    const env = { UPSTREAM_URL: withLogin(url), UPSTREAM_BACKUP_URL: withLogin('http://127.0.0.1:2') };
    const commands = [
      await runCommand(['check-config', '--connect'], { env }),
      await runCommand(['check-config', '--connect', '--json'], { env }),
      await runCommand(['verify', env.UPSTREAM_URL]),
    ];
    for (const { code } of commands) expect(code).not.toBe(0);
    for (const form of FORMS) expect(JSON.stringify(commands)).not.toContain(form);
  });
});
