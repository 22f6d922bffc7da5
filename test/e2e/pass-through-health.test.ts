import { expect, it } from 'vitest';
import { someParent } from '../support/fleet.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

it('passed-through requests that fail do not send the misses of others to the backup', async () => {
  const answer = (target: string) =>
    target.includes('runGetMethod') ? { status: 500, body: { error: 'bad input' } } : children('a');
  await using indexer = await startScriptedUpstream(answeringJson(answer));
  await using backup = await startScriptedUpstream(answeringJson(answer));
  const env = { UPSTREAM_BACKUP_URL: backup.url, PASSTHROUGH: 'on' };
  await using proxy = await startProxy({ upstreamUrl: indexer.url, env });
  for (let time = 0; time < 10; time++) {
    const passed = await proxy.ask('/api/v3/runGetMethod', { headers: { 'X-Api-Key': 'mine' } });
    expect(passed.status).toBe(500);
  }
  expect((await proxy.ask(someParent())).status).toBe(200);
  expect(backup.asked).toEqual([]);
});
