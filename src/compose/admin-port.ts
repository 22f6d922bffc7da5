import { hostname } from 'node:os';
import { adminExplain } from '../http/admin/admin-explain.ts';
import { adminPurge } from '../http/admin/admin-purge.ts';
import { createAdminServer } from '../http/admin/admin-server.ts';
import { describeExplanation } from '../operate/describe-explanation.ts';
import { metricsPage } from '../operate/metrics.ts';
import { loopLagSeconds } from '../operate/process-metrics.ts';
import { StatusHistory, type StatusHistoryDependencies } from '../operate/status/history.ts';
import { type StatusPagesDependencies, statusPages } from '../operate/status/status-pages.ts';
import { VERSION } from '../version.ts';
import type { AppContext } from './context.ts';
import type { OpenIndexers } from './indexers.ts';
import type { OpenPublicPort } from './public-port.ts';
import type { Tiers } from './tiers.ts';

export interface AdminPortDependencies
  extends Pick<StatusPagesDependencies, 'topKeys' | 'topClients' | 'waitingClients' | 'shownClient'> {
  readonly indexers: OpenIndexers;
  readonly tiers: Tiers;
  readonly explain: OpenPublicPort['explain'];
  readonly sources: Omit<StatusHistoryDependencies['sources'], 'operations' | 'memory' | 'maxMemoryBytes' | 'indexers'>;
  readonly episodes: StatusHistoryDependencies['episodes'];
  /** Brings conditions and episodes up to date. */
  readonly tell: () => void;
}

/** Builds the admin port, which does not listen yet: metrics, status page, purge, explain. */
export function openAdminPort(context: AppContext, parts: AdminPortDependencies) {
  const { settings, constants, operations, events, metrics, conditions, now, monotonic } = context;
  const { http, network, memory: bounds } = settings;
  const { indexers, tiers, explain, sources, episodes, tell, ...shown } = parts;
  const { memory, purges } = tiers;
  const { adminToken: token, adminAllowedHosts: allowedHosts, adminHost: listensOn } = http;
  const access = { token, allowedHosts, listensOn };
  const history: StatusHistory = new StatusHistory({
    sources: { operations: operations.names, memory, maxMemoryBytes: bounds.maxSize, indexers, ...sources },
    loopLag: loopLagSeconds,
    now,
    monotonic,
    onBug: events.reportBug,
    conditions,
    episodes,
    tell,
  });
  const about = { version: VERSION, host: hostname(), network, upstreams: indexers.all.map(({ name }) => name) };
  const status = statusPages({
    history,
    about: { ...about, startedAt: now(), breakerMinimumKeys: constants.breaker.minimumThroughput },
    ...shown,
    inMemory: (key) => memory.peek(key),
    now,
    access,
  });
  let ready = false;
  const server = createAdminServer({
    isReady: () => ready,
    metrics: metricsPage(metrics),
    paths: {
      ...status,
      '/purge': adminPurge(purges.purge, monotonic),
      '/explain': adminExplain(explain, describeExplanation),
    },
    access,
    onBug: events.reportBug,
    requestTimeoutMs: http.requestTimeout,
  });
  return {
    server,
    /** Sets the answer of `/readyz`: true while the public port listens and is not about to close. */
    setReady: (isReady: boolean): void => {
      ready = isReady;
    },
    close: (): void => {
      history.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
