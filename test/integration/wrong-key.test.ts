import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { refusedKey } from '../../src/tools/simulator/faults.ts';
import { ask } from '../support/http-client.ts';
import type { ProxyProcess } from '../support/proxy-process.ts';
import { ProcessWorld, TARGET } from './process-world.ts';

const REFUSED = 'the indexer refuses our API key (401: API key does not exist): check UPSTREAM_API_KEY';

const statusOf = async (proxy: ProxyProcess) => JSON.parse((await ask(proxy.adminUrl, '/status.json')).text);

/** The first lines of the page one after the other, until it names the key. */
async function saidUntilRefused(proxy: ProxyProcess) {
  for (const said = new Set<string>(); ; await delay(20)) {
    const { level, says } = await statusOf(proxy);
    if (level !== 'OK') said.add(says.replace(/ for \S+ \S+?:/, ':'));
    if (says.includes(REFUSED)) return [...said];
  }
}

describe('if the only indexer refuses the key of a process that has just started', () => {
  it.each([0, 1])('the page reports this as the first cause, after %d requests', async (requests) => {
    await using world = await ProcessWorld.start();
    world.indexer.faults.inject(refusedKey(401));
    await using proxy = await world.startProcess({ UPSTREAM_API_KEY: 'of-another' });
    for (let asked = 0; asked < requests; asked++) await ask(proxy.url, TARGET);
    expect(await saidUntilRefused(proxy)).toEqual([`FAILING: ${REFUSED}.`]);
  });

  it('clients get 502, and the log names the setting once', async () => {
    await using world = await ProcessWorld.start();
    world.indexer.faults.inject(refusedKey(401));
    await using proxy = await world.startProcess({ UPSTREAM_API_KEY: 'of-another' });
    const { status, text } = await ask(proxy.url, TARGET);
    expect([status, text]).toEqual([502, '{"error":"the indexer refuses the API key of this proxy"}']);
    await proxy.untilLogged(REFUSED);
    const bad = proxy.log.filter(({ level }) => level >= 40).map((line) => ({ ...line }));
    for (const { msg } of bad) expect(msg).toContain(REFUSED);
    // One more if it proved to be worse.
    expect(bad.length).toBeLessThanOrEqual(2);
    expect(proxy.output).not.toContain('of-another');
  });
});
