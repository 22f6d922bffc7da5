import { vi } from 'vitest';

// The slow property tests, with five times as many cases as in the fast suite. The modules are loaded anew: a worker
// that has loaded one of them before would find no test in it.
vi.resetModules();
const { runEveryCase } = await import('../support/property-runs.ts');
runEveryCase();
await import('./http/passable-target.test.ts');
await import('./purge/bans.test.ts');
await import('./ton/cache-key.test.ts');
await import('./ton/finality.test.ts');
await import('./ton/hostile-requests.test.ts');
await import('./ton/purge-selector.test.ts');
