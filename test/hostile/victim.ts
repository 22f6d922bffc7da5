import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask } from '../support/http-client.ts';
import type { MetricName } from '../support/metric.ts';
import { type Ended, ProxyProcess } from '../support/proxy-process.ts';
import type { Arena } from './attack.ts';

/** The settings of an attack: the environment, and settings that only a file can hold. */
export interface VictimSettings {
  readonly env: Readonly<Record<string, string>>;
  readonly config?: object;
}

/** The most that a process may take to start, to finish requests and to stop. */
const LONGEST_START_AND_END_MS = 120_000;
const SETTLE_MS = 15_000;
const GAUGES = ['requestsInFlight', 'upstreamInFlight', 'upstreamQueued'] as const;

/** Starts toncache in its own process, runs `attack` against it, and checks its health afterwards. */
export async function withVictim(
  arena: Arena,
  { env, config = {} }: VictimSettings,
  attack: (proxy: ProxyProcess) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'toncache-hostile-'));
  try {
    const file = join(directory, 'config.json');
    await writeFile(file, JSON.stringify(config));
    const guardMs = arena.seconds * 1000 + LONGEST_START_AND_END_MS;
    await using proxy = await ProxyProcess.start({ CONFIG_FILE: file, ...env }, guardMs);
    arena.begin();
    try {
      await attack(proxy);
      await expectWell(arena, proxy);
    } catch (error) {
      arena.tally.violation('the attack could not go on', `${error}\n${await lastWords(proxy)}`);
    }
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function expectWell({ tally }: Arena, proxy: ProxyProcess): Promise<void> {
  const health = await ask(proxy.adminUrl, '/healthz');
  if (health.status !== 200) tally.violation('/healthz is not 200', `${health.status} ${health.text}`);
  for (const gauge of GAUGES) {
    const value = await settled(proxy, gauge);
    if (value !== 0) tally.violation(`${gauge} does not return to 0`, String(value));
  }
  proxy.signal('SIGTERM');
  const { code, signal } = await proxy.ended;
  if (code !== 0)
    tally.violation('the process does not end with code 0', `code ${code}, signal ${signal}\n${proxy.errors}`);
  for (const { msg, err } of proxy.log) {
    if (msg.includes('should not happen')) tally.violation('logged as a bug', `${msg}: ${JSON.stringify(err)}`);
  }
  if (proxy.errors !== '') tally.violation('something on standard error', proxy.errors);
}

/** Waits until a gauge is 0: the deadlines end what the attack has left. */
async function settled(proxy: ProxyProcess, gauge: MetricName): Promise<number> {
  const giveUpAt = performance.now() + SETTLE_MS;
  for (;;) {
    const value = await proxy.metric(gauge);
    if (value === 0 || performance.now() > giveUpAt) return value;
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
}

/** How the process ended, if it has, and its output. */
async function lastWords(proxy: ProxyProcess): Promise<string> {
  const soon = new Promise<Ended | undefined>((resolve) => void setTimeout(resolve, 1000, undefined));
  const ended = await Promise.race([proxy.ended, soon]);
  return `${ended === undefined ? 'it still runs' : JSON.stringify(ended)}\n${proxy.errors}${proxy.output.slice(-1000)}`;
}
