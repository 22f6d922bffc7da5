import { Chain } from './src/tools/simulator/chain.ts';
import { startIndexer } from './src/tools/simulator/indexer.ts';

const chain = new Chain({ startAt: Date.now() - 60_000 });
const ix = await startIndexer({ chain, port: 18081 });
console.log(ix.url);
