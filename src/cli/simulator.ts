import { reachable } from '../config/http-settings.ts';
import { duration, integer, listenHost } from '../config/values.ts';
import { failed, rateLimited } from '../tools/simulator/faults.ts';
import { startIndexer } from '../tools/simulator/indexer.ts';
import { type Command, EXIT, UnavailableError, UsageError } from './command.ts';
import { optionOf, readOptions } from './options.ts';

const FAULTS = ['500', '429', 'hang', 'reset'] as const;

export const simulator: Command = {
  help: `usage: npm run simulator -- [--host 127.0.0.1] [--port 8081] [--latency 0ms] [--workers N] [--fault KIND]

A simulated TON indexer with a chain that makes a block every 0.4 s. It runs until Ctrl-C.

  --host      the address to listen on: 127.0.0.1 by default, for this machine only; 0.0.0.0 for containers
  --port      8081 by default; 0 for any free one
  --latency   the time that each response takes, such as 50ms
  --workers   the maximum number of concurrent requests; others wait. Unlimited by default
  --fault     the failure of every request: 500, 429, hang or reset

example:
  npm run simulator -- --latency 50ms --workers 20
  UPSTREAM_URL=http://127.0.0.1:8081 npm start

exit codes: 0 ended, 64 wrong command line, 69 not in this installation, or the port is in use`,

  async run(args, { stdout, signal }) {
    const { values } = readOptions(args, {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '8081' },
      latency: { type: 'string', default: '0ms' },
      workers: { type: 'string' },
      fault: { type: 'string' },
    });
    const host = optionOf('--host', values.host, listenHost);
    const port = optionOf('--port', values.port, integer(0, 65_535));
    const latencyMs = optionOf('--latency', values.latency, duration('0ms', '1min'));
    const workers =
      values.workers === undefined ? undefined : optionOf('--workers', values.workers, integer(1, 10_000));
    const fault = FAULTS.find((each) => each === values.fault);
    if (fault !== values.fault) throw new UsageError(`--fault is not valid; accepted: ${FAULTS.join(', ')}`);
    const indexer = await startIndexer({ port, host }).catch((error: unknown) => {
      throw new UnavailableError(
        `port ${port} of ${host} cannot be listened on: ${error instanceof Error ? error.message : error}`,
      );
    });
    if (workers === undefined) indexer.faults.latencyMs = latencyMs;
    else indexer.faults.workers = { count: workers, serviceMs: latencyMs };
    if (fault === '500') indexer.faults.inject(failed(500));
    else if (fault === '429') indexer.faults.inject(rateLimited('json', '1'));
    else if (fault !== undefined) indexer.faults.inject({ kind: fault });
    const url = `http://${reachable(host)}:${indexer.port}`;
    stdout.write(`a simulated indexer listens on ${url}${host === '127.0.0.1' ? '' : ` (--host ${host})`}\n`);
    stdout.write(`  curl ${url}/api/v3/masterchainInfo\n`);
    stdout.write(`  UPSTREAM_URL=${url} CACHE_OPERATIONS=all,passthrough PASSTHROUGH=on npm start\n`);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await indexer.close();
    return EXIT.ok;
  },
};
