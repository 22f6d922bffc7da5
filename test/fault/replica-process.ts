import { Chain } from '../../src/tools/simulator/chain.ts';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';

// A simulated indexer in a process of its own. Arguments: when its chain began, epoch ms, and its port or 0. It says its
// address, and ends at SIGTERM after what is under way, as the real one does.
const [, , startAt, port] = process.argv.map(Number);
const indexer = await startIndexer({ chain: new Chain({ startAt: startAt ?? 0 }), port: port ?? 0 });
indexer.faults.latencyMs = 5;
console.log(JSON.stringify({ port: indexer.port }));
process.on('SIGTERM', () => process.exit(0));
