import { it } from 'vitest';
import { World } from './world.ts';
import { targetOf, unknownTransaction } from './questions.ts';
it('times', async () => {
  const tally: Record<string, number> = {};
  for (let k = 0; k < 25; k++) {
  const w=await World.start({dialect: '1.2', tiers: 'memory and Redis'});
  const seqno = w.indexer.chain.headSeqno;
  const ts = [...Array.from({length:20},(_, b) => targetOf('masterchainBlockShards', { seqno: seqno - b })), unknownTransaction(), unknownTransaction(), unknownTransaction()];
  for (const r of await Promise.all(ts.map(t => w.ask(t)))) { const k = `${r.status} ${r.headers['cache-status']}`; tally[k] = (tally[k]??0)+1; }
  await w[Symbol.asyncDispose]();
  }
  console.log(tally);
}, 60000);
